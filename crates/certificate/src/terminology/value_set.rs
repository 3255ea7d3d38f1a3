//! A value set: codes out of one or several code systems, as its `compose` says.

use std::collections::{BTreeSet, HashMap};

use super::about::{ListHeader, ListOrigin, ListPlace};
use super::canonical::without_version;
use super::concept::Concepts;
use fhir::json::Json;

/// Value sets that import each other in a row. R5 has no deeper ones than three; a circle is found by this bound too.
pub(super) const TERMINOLOGY_IMPORTS_MAX: usize = 8;

/// A value set at hand.
#[derive(Debug)]
pub struct ValueSet {
    pub about: ListHeader,
    pub(super) include: Vec<Include>,
    pub(super) exclude: Vec<Include>,
    /// Every code system it takes codes of, itself or by import.
    pub(super) systems: BTreeSet<String>,
}

/// What one `include` or `exclude` names: codes that are in the system, in the list and in every imported value set.
#[derive(Debug)]
pub(super) struct Include {
    pub system: Option<String>,
    /// None: all codes of the system.
    pub concepts: Option<Concepts>,
    /// Addresses without version.
    pub imports: Vec<String>,
}

impl ValueSet {
    /// Reads a resource whose form was checked.
    ///
    /// # Errors
    /// Everything that keeps it from being used.
    pub(super) fn read(resource: Json<'static>, place: ListPlace) -> Result<ValueSet, Vec<String>> {
        let problems = super::file::address_problems(&resource);
        ValueSet::composed(resource, place, problems)
    }

    /// Reads a value set that a request brings, which needs no address. It is meant to be complete, whatever it says. Decision 164.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(super) fn supplied(resource: Json<'static>) -> Result<ValueSet, Vec<String>> {
        let place =
            ListPlace { origin: ListOrigin::Shipped, strict: false, id: String::new(), shipped_complete: false };
        let text = resource.to_vec();
        let mut set = ValueSet::composed(resource, place, Vec::new())?;
        set.about.text = text;
        set.about.is_complete = true;
        Ok(set)
    }

    fn composed(resource: Json<'static>, place: ListPlace, mut problems: Vec<String>) -> Result<ValueSet, Vec<String>> {
        let mut part = |name: &str| -> Vec<Include> {
            let parts = resource.get("compose").map_or(&[][..], |compose| compose.items(name));
            let read = |(at, part)| Include::read(part, &format!("compose.{name}[{at}]"), &mut problems);
            parts.iter().enumerate().map(read).collect()
        };
        let (include, exclude) = (part("include"), part("exclude"));
        if include.is_empty() {
            problems.push("it has no compose.include, which says what belongs to it".to_owned());
        }
        if !problems.is_empty() {
            return Err(super::file::named(&resource, problems));
        }
        // A value set that is known only in part says so by `experimental`.
        let is_complete = resource.get("experimental") != Some(&Json::Bool(true));
        let about = ListHeader::new("ValueSet", resource, place, is_complete);
        Ok(ValueSet { about, include, exclude, systems: BTreeSet::new() })
    }

    pub(super) fn concepts_count(&self) -> usize {
        let parts = self.include.iter().chain(&self.exclude);
        parts.filter_map(|part| part.concepts.as_ref()).map(|concepts| concepts.all.len()).sum()
    }

    /// Its parts and their imports, counted together.
    pub fn parts_count(&self) -> usize {
        self.include.len() + self.exclude.len() + self.imports().count()
    }

    pub(super) fn imports(&self) -> impl Iterator<Item = &str> {
        self.include.iter().chain(&self.exclude).flat_map(|part| &part.imports).map(String::as_str)
    }
}

impl Include {
    fn read(part: &Json<'static>, path: &str, problems: &mut Vec<String>) -> Include {
        let system = part.text("system").map(str::to_owned);
        let imports = part.items("valueSet").iter().filter_map(Json::as_str);
        let imports: Vec<String> = imports.map(|url| without_version(url).to_owned()).collect();
        if part.get("filter").is_some() {
            problems.push(format!("{path} has a filter, which cannot be computed here; list the codes instead"));
        }
        if system.is_none() && imports.is_empty() {
            problems.push(format!("{path} names neither a system nor a value set"));
        }
        let listed = part.get("concept").is_some();
        if listed && system.is_none() {
            problems.push(format!("{path} lists codes without their system"));
        }
        let concepts = listed.then(|| Concepts::read(part, false, &format!("{path}."), problems));
        Include { system, concepts, imports }
    }
}

/// Finds the code systems of every value set. Tells imports that lead nowhere or too far.
pub(super) fn resolve(value_sets: &mut HashMap<String, ValueSet>) -> Vec<String> {
    let mut problems = Vec::new();
    let mut found = Vec::new();
    for url in value_sets.keys() {
        let mut systems = BTreeSet::new();
        match systems_of(value_sets, url, 0, &mut systems) {
            Ok(()) => found.push((url.clone(), systems)),
            Err(problem) => problems.push(format!("ValueSet {url}: {problem}")),
        }
    }
    for (url, systems) in found {
        if let Some(set) = value_sets.get_mut(&url) {
            set.systems = systems;
        }
    }
    problems.sort();
    problems
}

fn systems_of(
    value_sets: &HashMap<String, ValueSet>,
    url: &str,
    depth: usize,
    systems: &mut BTreeSet<String>,
) -> Result<(), String> {
    if depth > TERMINOLOGY_IMPORTS_MAX {
        return Err(format!("its imports lead in a circle, or further than {TERMINOLOGY_IMPORTS_MAX} value sets"));
    }
    let set = value_sets.get(url).ok_or_else(|| format!("it imports {url}, which is not at hand"))?;
    systems.extend(set.include.iter().filter_map(|part| part.system.clone()));
    set.imports().try_for_each(|import| systems_of(value_sets, import, depth + 1, systems))
}

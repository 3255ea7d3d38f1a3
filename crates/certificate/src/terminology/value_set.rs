//! A value set: codes out of one or several code systems, as its `compose` says.

use std::collections::{BTreeSet, HashMap};

use super::about::{ListHeader, ListOrigin, ListPlace};
use super::canonical::without_version;
use super::code_system::CodeSystem;
use super::concept::Concepts;
use fhir::json::Json;

/// Value sets that import each other in a row. R5 has no deeper ones than three; a circle is found by this bound too.
pub(super) const TERMINOLOGY_IMPORTS_MAX: usize = 8;

/// A value set at hand.
#[derive(Debug)]
pub struct ValueSet {
    /// The value set without its codes.
    pub about: ListHeader,
    pub(super) include: Vec<Include>,
    pub(super) exclude: Vec<Include>,
    /// What it is together with the value sets it imports.
    pub(super) composed: ComposedSet,
}

/// What a value set is together with those it imports; found once, when lists are put together.
#[derive(Debug, Default)]
pub(super) struct ComposedSet {
    /// Every code system it takes codes of, itself or by import.
    pub systems: BTreeSet<String>,
    /// It may hold more codes than are known.
    pub is_open: bool,
    /// Codes that an expansion looks at, each as often as it is met.
    pub size: usize,
}

impl ComposedSet {
    /// `imported` knows the value sets that this one imports.
    pub(super) fn of<'k>(
        set: &ValueSet,
        code_systems: &HashMap<String, CodeSystem>,
        imported: impl Fn(&str) -> Option<&'k ComposedSet>,
    ) -> ComposedSet {
        let is_partial = |url: &str| code_systems.get(url).is_none_or(|own| !own.about.is_complete);
        let mut composed = ComposedSet { is_open: !set.about.is_complete, ..ComposedSet::default() };
        for import in set.imports().filter_map(&imported) {
            composed.systems.extend(import.systems.iter().cloned());
        }
        for part in &set.include {
            composed.systems.extend(part.system.clone());
            let whole = part.concepts.is_none().then_some(part.system.as_deref()).flatten();
            composed.is_open |= whole.is_some_and(is_partial)
                || part.imports.iter().filter_map(|url| imported(url)).any(|import| import.is_open);
            let size = match (&part.system, &part.concepts) {
                (_, Some(listed)) => listed.all.len(),
                (Some(system), None) => code_systems.get(system).map_or(0, |own| own.concepts().len()),
                // What is in all of the imported value sets is in the first of them.
                (None, None) => part.imports.first().and_then(|url| imported(url)).map_or(0, |import| import.size),
            };
            composed.size = composed.size.saturating_add(size);
        }
        composed
    }
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
        Ok(ValueSet { about, include, exclude, composed: ComposedSet::default() })
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

/// Finds what every value set is together with those it imports, each once: those that import nothing first, then those whose imports are
/// all known. So it takes as many steps as there are imports, however they are composed. Tells imports that lead nowhere or too far.
pub(super) fn resolve(
    value_sets: &mut HashMap<String, ValueSet>,
    code_systems: &HashMap<String, CodeSystem>,
) -> Vec<String> {
    let mut left: Vec<String> = value_sets.keys().cloned().collect();
    let mut known: HashMap<String, ComposedSet> = HashMap::new();
    for _ in 0..=TERMINOLOGY_IMPORTS_MAX {
        let is_ready = |url: &String| value_sets[url].imports().all(|import| known.contains_key(import));
        let (ready, later): (Vec<String>, Vec<String>) = left.into_iter().partition(is_ready);
        let composed: Vec<_> = ready
            .into_iter()
            .map(|url| {
                let composed = ComposedSet::of(&value_sets[&url], code_systems, |import| known.get(import));
                (url, composed)
            })
            .collect();
        known.extend(composed);
        left = later;
    }
    let problem = |url: &String| {
        let missing = value_sets[url].imports().find(|import| !value_sets.contains_key(*import));
        let why = match missing {
            Some(missing) => format!("it imports {missing}, which this server does not have"),
            None => format!(
                "its imports lead in a circle, further than {TERMINOLOGY_IMPORTS_MAX} value sets, or to a missing one"
            ),
        };
        format!("ValueSet {url}: {why}")
    };
    let mut problems: Vec<String> = left.iter().map(problem).collect();
    problems.sort();
    for (url, composed) in known {
        if let Some(set) = value_sets.get_mut(&url) {
            set.composed = composed;
        }
    }
    problems
}

//! Code systems and value sets at hand, and whether a code is one of theirs. Contract 8.3.
//!
//! They ship with the binary as [`definitions`]; an operator may load others, or fuller ones, which then stand in
//! the place of those that have the same address. A [`Terminology`] is one moment of them and never changes.

mod about;
mod canonical;
mod code_system;
mod concept;
mod expansion;
mod file;
pub mod limits;
mod membership;
mod term;
mod value_set;

use canonical::without_version;
use std::collections::{HashMap, HashSet};

use crate::Names;
use crate::definitions;
use crate::terminology::limits::TERMINOLOGY_BYTES_MAX;
pub use about::{ListHeader, ListOrigin};
pub use code_system::CodeSystem;
pub use concept::Concept;
pub use expansion::Coded;
use fhir::json::Json;
pub use file::read as read_file;
pub use membership::{Certainty, Membership};
pub use term::{ESTONIAN, TermsIn};
use value_set::ComposedSet;
pub use value_set::ValueSet;

/// Codes in all lists together. Estonia's largest list here, that of occupations, has some 10 000; each takes half a kilobyte of memory.
const TERMINOLOGY_CONCEPTS_MAX: usize = 100_000;

/// Code systems and value sets. The service knows some thirty; each load looks at all of them.
const TERMINOLOGY_LISTS_MAX: usize = 1_000;

/// A list that an operator loaded.
#[derive(Clone, Debug)]
pub struct LoadedList {
    /// A CodeSystem or ValueSet.
    pub resource: Json<'static>,
    /// When, milliseconds since 1970 UTC.
    pub at: i64,
}

/// All code systems and value sets of one moment.
#[derive(Debug)]
pub struct Terminology {
    code_systems: HashMap<String, CodeSystem>,
    value_sets: HashMap<String, ValueSet>,
    /// By code system: the value sets that list codes of it one by one, by address, and which `include` does.
    listings: HashMap<String, Vec<(String, usize)>>,
    /// In some code system capitals do not count, so that codes are looked up in its spelling.
    any_ignores_case: bool,
}

impl Terminology {
    /// The lists that ship, those of `loaded` in their places. In `strict` mode a loaded list refuses what it does not hold; without
    /// it only a list does that shipped as complete.
    ///
    /// # Errors
    /// Every reason why the loaded lists cannot be used together, in words for the operator.
    pub fn new(names: &Names, strict: bool, loaded: &[LoadedList]) -> Result<Terminology, Vec<String>> {
        let mut terminology = Terminology {
            code_systems: HashMap::new(),
            value_sets: HashMap::new(),
            listings: HashMap::new(),
            any_ignores_case: false,
        };
        for resource_type in ["CodeSystem", "ValueSet"] {
            for definition in definitions::of_type(resource_type) {
                let problems = terminology.add(definition.read(names), ListOrigin::Shipped, strict);
                problems.expect("a test reads every list that ships");
            }
        }
        let mut problems = Vec::new();
        for LoadedList { resource, at } in loaded {
            problems.extend(
                terminology.add(resource.clone(), ListOrigin::Loaded { at: *at }, strict).err().unwrap_or_default(),
            );
        }
        if problems.is_empty() {
            problems = terminology.problems_together();
            terminology.find_listings();
        }
        if problems.is_empty() { Ok(terminology) } else { Err(problems) }
    }

    /// A list takes the place of one with its address.
    fn add(&mut self, resource: Json<'static>, origin: ListOrigin, strict: bool) -> Result<(), Vec<String>> {
        let is_code_system = resource.text("resourceType") == Some("CodeSystem");
        let url = resource.text("url").unwrap_or_default();
        let before = self.about(is_code_system, url);
        let place = about::ListPlace {
            origin,
            strict,
            id: match (before, resource.text("id")) {
                (Some(about), _) => about.id.clone(),
                (None, Some(id)) if origin == ListOrigin::Shipped => id.to_owned(),
                (None, _) => self.free_id(is_code_system, url),
            },
            shipped_complete: before.is_some_and(|about| about.origin == ListOrigin::Shipped && about.is_complete),
        };
        if is_code_system {
            let read = CodeSystem::read(resource, place)?;
            self.any_ignores_case |= read.ignores_case();
            self.code_systems.insert(read.about.url.clone(), read);
        } else {
            let read = ValueSet::read(resource, place)?;
            self.value_sets.insert(read.about.url.clone(), read);
        }
        Ok(())
    }

    fn about(&self, is_code_system: bool, url: &str) -> Option<&ListHeader> {
        match is_code_system {
            true => self.code_systems.get(url).map(|list| &list.about),
            false => self.value_sets.get(url).map(|list| &list.about),
        }
    }

    /// The end of an address, with a number where another list has that id.
    fn free_id(&self, is_code_system: bool, url: &str) -> String {
        let taken: HashSet<&str> = match is_code_system {
            true => self.code_systems.values().map(|list| list.about.id.as_str()).collect(),
            false => self.value_sets.values().map(|list| list.about.id.as_str()).collect(),
        };
        let wanted = about::id_of(url);
        let numbered = (2..).map(|number| format!("{wanted}-{number}"));
        let mut ids = std::iter::once(wanted.clone()).chain(numbered);
        ids.find(|id| !taken.contains(id.as_str())).expect("numbers do not run out")
    }

    /// What only all lists together show: imports that lead nowhere, and too much of everything.
    fn problems_together(&mut self) -> Vec<String> {
        let mut problems = value_set::resolve(&mut self.value_sets, &self.code_systems);
        let lists = self.code_systems.len() + self.value_sets.len();
        if lists > TERMINOLOGY_LISTS_MAX {
            problems.push(format!("there would be {lists} lists; {TERMINOLOGY_LISTS_MAX} are allowed"));
        }
        let concepts = self.code_systems.values().map(CodeSystem::concepts_count).sum::<usize>()
            + self.value_sets.values().map(ValueSet::concepts_count).sum::<usize>();
        if concepts > TERMINOLOGY_CONCEPTS_MAX {
            problems.push(format!("the lists would hold {concepts} codes; {TERMINOLOGY_CONCEPTS_MAX} are allowed"));
        }
        let texts = ["CodeSystem", "ValueSet"].into_iter().flat_map(|resource_type| self.lists(resource_type));
        let bytes = texts.map(|about| about.text.len()).sum::<usize>();
        if bytes > TERMINOLOGY_BYTES_MAX {
            problems.push(format!("the lists would have {bytes} bytes; {TERMINOLOGY_BYTES_MAX} are allowed"));
        }
        problems
    }

    /// A code system by its address; a `|version` behind it is passed over.
    pub fn code_system(&self, url: &str) -> Option<&CodeSystem> {
        self.code_systems.get(without_version(url))
    }

    /// A value set by its address; a `|version` behind it is passed over.
    pub fn value_set(&self, url: &str) -> Option<&ValueSet> {
        self.value_sets.get(without_version(url))
    }

    /// Reads a value set from a request, to expand it with the loaded lists. Its form was checked before.
    ///
    /// # Errors
    /// Every reason why it cannot be expanded here.
    pub fn supplied(&self, resource: Json<'static>) -> Result<ValueSet, Vec<String>> {
        let mut set = ValueSet::supplied(resource)?;
        let missing = set.imports().filter(|url| self.value_set(url).is_none());
        let missing: Vec<String> =
            missing.map(|url| format!("it imports {url}, which this server does not have")).collect();
        if !missing.is_empty() {
            return Err(missing);
        }
        let imported = |url: &str| self.value_sets.get(url).map(|set| &set.composed);
        set.composed = ComposedSet::of(&set, &self.code_systems, imported);
        Ok(set)
    }

    /// All lists of one resource type (`CodeSystem`, `ValueSet`), by address.
    pub fn lists(&self, resource_type: &str) -> Vec<&ListHeader> {
        let mut lists: Vec<&ListHeader> = match resource_type {
            "CodeSystem" => self.code_systems.values().map(|list| &list.about).collect(),
            "ValueSet" => self.value_sets.values().map(|list| &list.about).collect(),
            _ => Vec::new(),
        };
        lists.sort_by(|one, other| one.url.cmp(&other.url));
        lists
    }
}

#[cfg(test)]
mod tests;

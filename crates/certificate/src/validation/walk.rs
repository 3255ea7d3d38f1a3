//! One walk over a resource: at each element R5's own rules, then those of every profile that is about it.

use std::collections::HashSet;

use smallvec::SmallVec;

use super::rules::{ElementRules, ProfileRules, Slicing};
use super::slice::{claimed, named};
use super::{ValidationFindings, Validator};
use crate::terminology::Terminology;
use fhir::element::{self, Element, ElementChecks, ElementContent, ElementLookup, MANY, TypeDefinition};
use fhir::fhirpath::{Node, SharedContext};
use fhir::json::{Json, Object};
use fhir::narrative;
use fhir::outcome::{Hcert, Issue, Problems};
use fhir::path::Path;
use fhir::primitive::Primitive;

/// A walk over one resource and what it contains.
pub(super) struct ProfileWalk<'a> {
    pub validator: &'a Validator,
    pub terminology: &'a Terminology,
    /// The whole resource.
    pub root: &'a Json<'a>,
    /// The whole resource as invariants see it.
    pub root_node: Node<'a>,
    /// The resource that holds the element where the walk stands: the whole one, or one it contains.
    pub resource: Node<'a>,
    pub in_contained: bool,
    /// Invariants have looked at more than they may.
    pub is_too_costly: bool,
    /// What is contained, and how much invariants may still look at.
    pub shared: &'a SharedContext<'a>,
    /// What something inside refers to: ids of contained resources, and nothing for the whole.
    referred: HashSet<&'a str>,
    /// Narratives that may link to a place in the resource, each with its expression.
    linking: Vec<(String, &'a str)>,
    pub path: Path,
    pub problems: Problems,
    /// Rules that were broken.
    pub broken: Vec<u16>,
}

/// What is asked of one element; a slice of a profile's own list adds two.
type RuleSet<'a> = SmallVec<[&'a ElementRules; 4]>;

/// An element as it stands in an object: its value and what stands beside it.
#[derive(Clone, Copy)]
struct ElementMember<'a> {
    found: ElementLookup,
    value: Option<&'a Json<'a>>,
    sibling: Option<&'a Json<'a>>,
}

impl<'a> ProfileWalk<'a> {
    pub(super) fn new(
        validator: &'a Validator,
        terminology: &'a Terminology,
        root: &'a Json<'a>,
        shared: &'a SharedContext<'a>,
    ) -> ProfileWalk<'a> {
        ProfileWalk {
            validator,
            terminology,
            root,
            root_node: Node::resource(root),
            resource: Node::resource(root),
            in_contained: false,
            is_too_costly: false,
            shared,
            referred: HashSet::new(),
            linking: Vec::new(),
            path: Path::default(),
            problems: Problems::default(),
            broken: Vec::new(),
        }
    }

    pub(super) fn run(mut self, profile: Option<&'a ProfileRules>) -> ValidationFindings {
        let definition = self.root.text("resourceType").and_then(element::of_resource);
        if let Some(definition) = definition {
            self.path.open(definition.name);
            self.profile_versions(self.root);
            match profile {
                Some(profile) if profile.resource_type != definition.name => {
                    self.profile_of_other(profile, definition.name);
                }
                Some(profile) => self.object(self.root, definition, &[&profile.rules]),
                None => self.object(self.root, definition, &[]),
            }
            self.all_contained();
            self.dead_links();
        }
        ValidationFindings { problems: self.problems, broken: self.broken }
    }

    /// The members of a resource, a datatype or a backbone element.
    fn object(&mut self, value: &'a Json<'a>, definition: &'static TypeDefinition, rules: &[&'a ElementRules]) {
        let Json::Object(object) = value else { return };
        let checks = definition.checks();
        // The places of the elements that stand here, as bits.
        let mut present = 0u128;
        let has_siblings = object.iter().any(|(name, _)| name.starts_with('_'));
        for (name, member) in object.iter() {
            let Some(found) = definition.find(name) else { continue };
            present |= bit(found.at);
            let (value, sibling) = match found.is_sibling {
                // With its value, where there is one.
                true if object.get(&name[1..]).is_some() => continue,
                true => (None, Some(member)),
                false if has_siblings => (Some(member), sibling_of(object, name)),
                false => (Some(member), None),
            };
            self.path.enter(found.element.name);
            self.member(ElementMember { found, value, sibling }, &checks.elements[found.at], rules);
            self.path.leave();
            if self.problems.is_full() {
                return;
            }
        }
        let mut missing = checks.required & !present;
        while missing != 0 {
            self.missing(definition.elements[missing.trailing_zeros() as usize].name);
            missing &= missing - 1;
        }
        for rules in rules {
            for child in rules.needed.iter().map(|at| &rules.children[*at]) {
                let place = definition.elements.iter().position(|element| element.name == child.name);
                let Some(place) = place.filter(|at| present & bit(*at) == 0) else { continue };
                self.path.enter(definition.elements[place].name);
                self.count(&child.rules, 0);
                if let Some(slicing) = &child.rules.slicing {
                    self.slices(slicing, &vec![0; slicing.slices.len()]);
                }
                self.path.leave();
            }
        }
        self.invariants(checks.invariants.iter().copied(), || Node::complex(value, definition));
        for rules in rules {
            self.constraints(rules, || Node::complex(value, definition));
        }
    }

    fn missing(&mut self, name: &'static str) {
        self.path.enter(name);
        let path = &self.path;
        self.problems.add(|| {
            let expression = path.expression();
            Issue::new(Hcert::ElementMissing).with("element", expression.clone()).at(expression)
        });
        self.path.leave();
    }

    fn member(&mut self, member: ElementMember<'a>, checks: &ElementChecks, rules: &[&'a ElementRules]) {
        let found = member.found;
        let rules: RuleSet = rules.iter().filter_map(|rules| rules.child(found.element.name)).collect();
        let items = member.value.map_or(&[][..], |value| as_items(value, found.element));
        let siblings = member.sibling.map_or(&[][..], |sibling| as_items(sibling, found.element));
        let count = items.len().max(siblings.len());
        for rules in &rules {
            self.count(rules, count);
        }
        // How many items each slice of each rule has.
        let mut counts: Vec<Vec<usize>> = slicings(&rules).map(|slicing| vec![0; slicing.slices.len()]).collect();
        for at in 0..count {
            if found.element.repeats() {
                self.path.at(at);
            }
            let value = items.get(at).filter(|value| !matches!(value, Json::Null));
            let sibling = siblings.get(at).filter(|sibling| !matches!(sibling, Json::Null));
            let Some(either) = value.or(sibling) else { continue };
            let mut all = rules.clone();
            for (slicing, counts) in slicings(&rules).zip(&mut counts) {
                let mut any = false;
                for (at, slice) in slicing.slices_of(self.validator, either, type_name(either, found)) {
                    any = true;
                    counts[at] += 1;
                    all.push(&slice.rules);
                    let profiles = slice.profiles.iter().filter_map(|url| self.validator.profile(url));
                    all.extend(profiles.map(|profile| &profile.rules));
                }
                if let Some(closed) = slicing.closed.as_ref().filter(|_| !any) {
                    self.broken.push(closed.number);
                    let known = slicing.slices.iter().map(|slice| slice.name.as_str()).collect::<Vec<_>>().join(", ");
                    let path = &self.path;
                    self.problems.add(|| {
                        let issue = Issue::new(Hcert::SliceUnknown).with("profile", closed.profile.to_string());
                        issue.with("element", path.name()).with("known", known).at(path.expression())
                    });
                }
            }
            self.item(value, sibling, found, checks, &all);
            // Decision 182.
            if self.problems.is_full() {
                return;
            }
        }
        if !counts.is_empty() {
            self.path.whole();
            slicings(&rules).zip(&counts).for_each(|(slicing, counts)| self.slices(slicing, counts));
        }
    }

    /// How often an element stands.
    fn count(&mut self, rules: &'a ElementRules, count: usize) {
        if let Some(min) = rules.min.as_ref().filter(|min| count < min.asks as usize) {
            self.broken.push(min.number);
            let path = &self.path;
            self.problems.add(|| {
                let issue = Issue::new(Hcert::ElementTooFew).with("min", min.asks.to_string());
                let issue = issue.with("profile", min.profile.to_string()).with("element", path.name());
                issue.with("count", count.to_string()).at(path.expression())
            });
        }
        if let Some(max) = rules.max.as_ref().filter(|max| max.asks != MANY && count > max.asks as usize) {
            self.broken.push(max.number);
            let path = &self.path;
            self.problems.add(|| {
                let issue = match max.asks {
                    0 => Issue::new(Hcert::ElementNotAllowed),
                    max => {
                        Issue::new(Hcert::ElementTooMany).with("max", max.to_string()).with("count", count.to_string())
                    }
                };
                issue.with("profile", max.profile.to_string()).with("element", path.name()).at(path.expression())
            });
        }
    }

    /// How often each slice stands in a list.
    fn slices(&mut self, slicing: &'a Slicing, counts: &[usize]) {
        for (slice, &count) in slicing.slices.iter().zip(counts) {
            let issue = |code: Hcert, profile: &str, path: &Path| {
                let issue = Issue::new(code).with("profile", profile.to_owned()).with("slice", slice.name.clone());
                let issue = issue.with("short", slice.short.clone()).with("element", path.name());
                issue.with("count", count.to_string()).at(path.expression())
            };
            let path = &self.path;
            if let Some(min) = slice.rules.min.as_ref().filter(|min| count < min.asks as usize) {
                self.broken.push(min.number);
                let known = slice.known_by(slicing, self.validator);
                self.problems.add(|| {
                    let issue = issue(Hcert::SliceTooFew, &min.profile, path);
                    issue.with("min", min.asks.to_string()).with("known", known)
                });
            }
            if let Some(max) = slice.rules.max.as_ref().filter(|max| max.asks != MANY && count > max.asks as usize) {
                self.broken.push(max.number);
                self.problems.add(|| issue(Hcert::SliceTooMany, &max.profile, path).with("max", max.asks.to_string()));
            }
        }
    }

    /// One value of an element.
    fn item(
        &mut self,
        value: Option<&'a Json<'a>>,
        sibling: Option<&'a Json<'a>>,
        found: ElementLookup,
        checks: &ElementChecks,
        rules: &[&'a ElementRules],
    ) {
        if let Some(value) = value {
            let type_name = type_name(value, found);
            self.fixed(value, type_name, rules);
            if let Some((codes, value_set)) = checks.codes.zip(found.element.value_set) {
                self.r5_codes(value, type_name, codes, value_set);
            }
            for rule in rules.iter().filter_map(|rules| rules.value_set.as_ref()) {
                self.value_set(value, type_name, checks.codes, &rule.asks, rule.number);
            }
            match found.kind.content {
                ElementContent::Resource => self.inner_resource(value, rules),
                ElementContent::Primitive(primitive) => self.primitive(value, primitive, found),
                ElementContent::Complex => {
                    self.datatype(value, found, rules);
                    if let (Json::Object(object), Some(definition)) = (value, found.kind.definition()) {
                        self.object(value, definition, rules);
                        self.only_id(object);
                    }
                }
            }
        }
        if let Some(either @ Json::Object(object)) = sibling {
            if let Some(definition) = element::of("Element") {
                self.object(either, definition, &[]);
            }
            if value.is_none() {
                self.only_id(object);
            }
        }
        let node = || match value.or(sibling) {
            Some(either) => Node { value, ..Node::element(either, sibling, found.kind) },
            None => self.root_node,
        };
        if !checks.invariants.is_empty() {
            let node = node();
            self.invariants(checks.invariants.iter().copied(), || node);
        }
    }

    /// Types and fixed values of a profile.
    fn fixed(&mut self, value: &'a Json<'a>, type_name: &str, rules: &[&'a ElementRules]) {
        for rules in rules {
            let path = &self.path;
            if let Some(types) = rules.types.as_ref().filter(|types| types.asks.iter().all(|known| known != type_name))
            {
                self.broken.push(types.number);
                self.problems.add(|| {
                    let issue = Issue::new(Hcert::TypeNotAllowed).with("profile", types.profile.to_string());
                    let issue = issue.with("element", path.name()).with("expected", types.asks.join(", "));
                    issue.with("found", type_name.to_owned()).at(path.expression())
                });
            }
            if let Some(rule) = rules.value.as_ref().filter(|rule| !rule.asks.fits(value)) {
                self.broken.push(rule.number);
                self.problems.add(|| {
                    let issue = Issue::new(Hcert::ValueNotAsFixed).with("profile", rule.profile.to_string());
                    let issue = issue.with("element", path.name()).with("expected", rule.asks.words());
                    issue.with("found", super::value::words(value)).at(path.expression())
                });
            }
        }
    }

    fn primitive(&mut self, value: &'a Json<'a>, primitive: Primitive, found: ElementLookup) {
        let Some(text) = value.as_str() else { return };
        match primitive {
            // Element.id is the one plain string of R5. Not a rule of form: an import takes what was stored before. Decision 49.
            Primitive::String if found.kind.is_plain && text.contains(char::is_whitespace) => {
                let path = &self.path;
                self.problems.add(|| {
                    let issue = Issue::new(Hcert::FormatWrong).with("value", text.to_owned());
                    issue.with("type", "the id of an element, which has no white space").at(path.expression())
                });
            }
            Primitive::Xhtml => {
                if text.contains('#') {
                    self.linking.push((self.path.expression(), text));
                }
                for problem in narrative::problems(text) {
                    let path = &self.path;
                    self.problems.add(|| {
                        Issue::new(Hcert::NarrativeWrong).with("problem", problem.to_string()).at(path.expression())
                    });
                }
            }
            Primitive::Canonical | Primitive::Uri | Primitive::Url => self.refers(text),
            _ => {}
        }
    }

    /// What R5 says of single datatypes.
    fn datatype(&mut self, value: &'a Json<'a>, found: ElementLookup, rules: &[&'a ElementRules]) {
        let name = found.element.name;
        let targets: SmallVec<[_; 2]> = rules
            .iter()
            .filter_map(|rules| rules.targets.as_ref())
            .map(|rule| (rule.asks.as_slice(), rule.number))
            .collect();
        match found.kind.name {
            "Reference" => {
                value.text("reference").into_iter().for_each(|text| self.refers(text));
                // That of a CodeableReference was asked with what the element around it allows.
                if !is_of_codeable_reference(found.element) {
                    self.reference(value, found.kind, name, &targets);
                }
            }
            "CodeableReference" => {
                if let Some(reference) = value.get("reference") {
                    self.path.enter("reference");
                    self.reference(reference, found.kind, name, &targets);
                    self.path.leave();
                }
            }
            _ => {}
        }
        if found.kind.profile == Some("SimpleQuantity") && value.get("comparator").is_some() {
            self.tell_invariant("sqt-1", None);
        }
    }

    fn refers(&mut self, text: &'a str) {
        if let Some(id) = text.strip_prefix('#') {
            self.referred.insert(id);
        }
    }

    /// A resource inside this one, with the rules of the profiles it says it follows.
    fn inner_resource(&mut self, value: &'a Json<'a>, rules: &[&'a ElementRules]) {
        let definition = value.text("resourceType").and_then(element::of_resource);
        let Some(definition) = definition else { return };
        let mut all = RuleSet::from_slice(rules);
        for profile in claimed(self.validator, value) {
            if profile.resource_type != definition.name {
                self.profile_of_other(profile, definition.name);
            } else if !all.iter().any(|known| std::ptr::eq(*known, &raw const profile.rules)) {
                all.push(&profile.rules);
            }
        }
        self.profile_versions(value);
        let outer = std::mem::replace(&mut self.resource, Node::complex(value, definition));
        let was_contained = std::mem::replace(&mut self.in_contained, true);
        self.object(value, definition, &all);
        (self.resource, self.in_contained) = (outer, was_contained);
    }

    /// A profile of ours must be named without version, or with the one that is served. Contract 8.2.
    fn profile_versions(&mut self, resource: &Json) {
        for (at, canonical) in named(resource).iter().enumerate() {
            let Some(canonical) = canonical.as_str().filter(|canonical| canonical.contains('|')) else { continue };
            let Some(profile) = self.validator.profile_of_any_version(canonical) else { continue };
            if profile.has_version_of(canonical) {
                continue;
            }
            let path = &self.path;
            self.problems.add(|| {
                let issue = Issue::new(Hcert::ProfileVersionUnknown).with("value", canonical.to_owned());
                let issue = issue.with("version", profile.version.clone());
                issue.at(format!("{}.meta.profile[{at}]", path.expression()))
            });
        }
    }

    /// Warns of narratives' links to places that the resource does not have.
    fn dead_links(&mut self) {
        if self.linking.is_empty() {
            return;
        }
        let ids = narrative::ids(self.root);
        for (expression, div) in std::mem::take(&mut self.linking) {
            for link in narrative::dead_links(div, &ids) {
                self.problems.warn(|| Issue::new(Hcert::LinkDead).with("value", link).at(expression.clone()));
            }
        }
    }

    fn profile_of_other(&mut self, profile: &ProfileRules, found: &'static str) {
        let path = &self.path;
        self.problems.add(|| {
            let issue = Issue::new(Hcert::ProfileOfOtherType).with("profile", profile.url.clone());
            issue.with("expected", profile.resource_type.clone()).with("found", found).at(path.expression())
        });
    }

    /// ele-1: an element with nothing but an id says nothing.
    fn only_id(&mut self, object: &Object) {
        if object.iter().all(|(name, _)| name == "id" || name == "_id") {
            self.tell_invariant("ele-1", None);
        }
    }

    /// Contained resources have an id each, and each is referred to (dom-3).
    fn all_contained(&mut self) {
        let mut seen = HashSet::new();
        for (at, resource) in self.root.items("contained").iter().enumerate() {
            let known = resource.text("resourceType").and_then(element::of_resource).is_some();
            if !known {
                continue;
            }
            self.path.enter("contained");
            self.path.at(at);
            let path = &self.path;
            match resource.text("id") {
                None => {
                    self.problems.add(|| Issue::new(Hcert::ContainedIdMissing).at(format!("{}.id", path.expression())));
                }
                Some(id) if !seen.insert(id) => self.problems.add(|| {
                    let issue = Issue::new(Hcert::ContainedIdRepeated).with("id", id.to_owned());
                    issue.at(format!("{}.id", path.expression()))
                }),
                Some(id) if !self.referred.contains(id) && !refers_to_whole(resource) => {
                    self.tell_invariant("dom-3", Some(id));
                }
                Some(_) => {}
            }
            self.path.leave();
        }
    }
}

/// Whether something in a contained resource refers to the one that contains it, as dom-3 allows instead of a reference to it.
fn refers_to_whole(value: &Json) -> bool {
    match value {
        Json::Array(items) => items.iter().any(refers_to_whole),
        Json::Object(object) => object
            .iter()
            .any(|(name, value)| name == "reference" && value.as_str() == Some("#") || refers_to_whole(value)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}

/// What stands beside the primitive value of a name.
fn sibling_of<'a>(object: &'a Object<'a>, name: &str) -> Option<&'a Json<'a>> {
    object.iter().find(|(other, _)| other.strip_prefix('_') == Some(name)).map(|(_, sibling)| sibling)
}

/// The bit of an element's place; a test holds all types below 128.
fn bit(at: usize) -> u128 {
    1 << (at & 127)
}

fn slicings<'a>(rules: &[&'a ElementRules]) -> impl Iterator<Item = &'a Slicing> {
    rules.iter().filter_map(|rules| rules.slicing.as_ref())
}

/// Whether an element is the reference inside a CodeableReference.
fn is_of_codeable_reference(element: &'static Element) -> bool {
    let is_it = |definition: &TypeDefinition| definition.elements.iter().any(|of| std::ptr::eq(of, element));
    element.name == "reference" && element::of("CodeableReference").is_some_and(is_it)
}

/// The items of a list, or the one value. A list where R5 has none is a problem of form; its items are passed over.
fn as_items<'a>(value: &'a Json<'a>, element: &Element) -> &'a [Json<'a>] {
    match value {
        Json::Array(items) if element.repeats() => items,
        Json::Array(_) => &[],
        value => std::slice::from_ref(value),
    }
}

/// The type of a value: of a resource its own, else that of the element.
fn type_name<'a>(value: &'a Json, found: ElementLookup) -> &'a str {
    match found.kind.content {
        ElementContent::Resource => value.text("resourceType").unwrap_or_default(),
        _ => found.kind.name,
    }
}

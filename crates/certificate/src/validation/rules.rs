//! The rules of a profile, as a tree of elements: what each asks beyond R5 itself.

use std::sync::Arc;

use fhir::fhirpath::Expression;
use fhir::json::Json;

/// A profile, its own rules laid over those of the profiles it is built on.
#[derive(Debug)]
pub struct ProfileRules {
    /// Canonical address without version.
    pub url: String,
    /// The one version that is served.
    pub version: String,
    /// `ee-health-certificate-driver`
    pub id: String,
    /// Name for people.
    pub title: String,
    /// The resource type it is about.
    pub resource_type: String,
    /// No resource needs to name it; others are built on it.
    pub is_abstract: bool,
    /// What it asks of the resource, down to its last element.
    pub rules: ElementRules,
}

/// What a profile asks of one element.
#[derive(Clone, Debug, Default)]
pub struct ElementRules {
    pub min: Option<ElementRule<u32>>,
    pub max: Option<ElementRule<u32>>,
    /// Types a value may have.
    pub types: Option<ElementRule<Vec<String>>>,
    /// What a reference may lead to.
    pub targets: Option<ElementRule<Vec<TargetType>>>,
    pub value: Option<ElementRule<Arc<FixedValue>>>,
    /// Canonical address of the value set of a required binding.
    pub value_set: Option<ElementRule<String>>,
    pub invariants: Vec<ElementRule<Arc<Constraint>>>,
    pub children: Vec<Child>,
    /// Those of the children that ask something of an element that does not stand.
    pub needed: Vec<usize>,
    pub slicing: Option<Slicing>,
}

/// What is asked of an element inside.
#[derive(Clone, Debug)]
pub struct Child {
    /// FHIRPath's name.
    pub name: String,
    pub rules: ElementRules,
}

/// One thing that a profile asks.
#[derive(Clone, Debug)]
pub struct ElementRule<T> {
    pub asks: T,
    /// Its number among all rules, for [`Validator::rules`](super::Validator::rules).
    pub number: u16,
    /// Id of the profile that states it.
    pub profile: Arc<str>,
}

/// What a reference may lead to.
#[derive(Clone, Debug)]
pub enum TargetType {
    Type(String),
    /// A profile of ours, by its address; and the type it is about.
    Profile(String, String),
}

/// A value that a profile fixes.
#[derive(Debug)]
pub struct FixedValue {
    pub json: Json<'static>,
    /// Nothing else may stand beside it.
    pub is_exact: bool,
}

/// An invariant of a profile.
#[derive(Debug)]
pub struct Constraint {
    pub key: String,
    pub english: String,
    pub estonian: Option<String>,
    pub is_error: bool,
    pub expression: Expression,
}

/// How a list is told apart into slices.
#[derive(Clone, Debug)]
pub struct Slicing {
    pub by: Vec<Discriminator>,
    /// Every item must belong to a slice.
    pub closed: Option<ElementRule<()>>,
    pub slices: Vec<Slice>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discriminator {
    /// The type of the item itself.
    Type,
    /// The profile that the item claims in `meta.profile`, or whose fixed code it has. Contract 8.2.
    Profile,
    /// The value of a child that the slice fixes.
    Value(String),
}

#[derive(Clone, Debug)]
pub struct Slice {
    pub name: String,
    /// A few words on what it is.
    pub short: String,
    /// Types of its items.
    pub types: Vec<String>,
    /// Addresses of profiles that its items follow.
    pub profiles: Vec<String>,
    /// The system and code by which its items are known, where one coding of one element tells: asked of every section.
    pub coding: Option<(String, String)>,
    /// `min` and `max` count the items of the slice.
    pub rules: ElementRules,
}

/// The one coding that rules fix, where the pattern has a system and a code and nothing else.
fn only_coding(rules: &ElementRules) -> Option<(String, String)> {
    let json = &rules.value.as_ref()?.asks.json;
    let is_only = json.as_object().is_some_and(|object| object.0.len() == 1);
    match json.items("coding") {
        [coding] if is_only && coding.as_object().is_some_and(|members| members.0.len() == 2) => {
            Some((coding.text("system")?.to_owned(), coding.text("code")?.to_owned()))
        }
        _ => None,
    }
}

impl ElementRules {
    pub fn child(&self, name: &str) -> Option<&ElementRules> {
        self.children.iter().find(|child| child.name == name).map(|child| &child.rules)
    }

    pub fn child_mut(&mut self, name: &str) -> &mut ElementRules {
        let at = match self.children.iter().position(|child| child.name == name) {
            Some(at) => at,
            None => {
                self.children.push(Child { name: name.to_owned(), rules: ElementRules::default() });
                self.children.len() - 1
            }
        };
        &mut self.children[at].rules
    }

    /// Notes at every element which children are needed. Done once, when all rules are read.
    pub fn note_needed(&mut self) {
        self.children.iter_mut().for_each(|child| child.rules.note_needed());
        let slices = self.slicing.iter_mut().flat_map(|slicing| &mut slicing.slices);
        slices.for_each(|slice| slice.rules.note_needed());
        if let Some(Slicing { by, slices, .. }) = &mut self.slicing
            && let [Discriminator::Value(path)] = by.as_slice()
        {
            slices.iter_mut().for_each(|slice| slice.coding = slice.rules.child(path).and_then(only_coding));
        }
        let asks = |rules: &ElementRules| rules.min.as_ref().is_some_and(|min| min.asks > 0);
        let is_needed = |child: &Child| {
            let slices = child.rules.slicing.as_ref().map_or(&[][..], |slicing| &slicing.slices);
            asks(&child.rules) || slices.iter().any(|slice| asks(&slice.rules))
        };
        let needed = self.children.iter().enumerate().filter(|(_, child)| is_needed(child));
        self.needed = needed.map(|(at, _)| at).collect();
    }
}

//! Where an expression is asked.

use std::cell::Cell;
use std::collections::HashMap;

use super::node::Node;
use crate::json::Json;

/// Values, and pairs of compared values, that the invariants of one resource may look at, however small the resource is.
const FHIRPATH_STEPS_MIN: usize = 20_000;

/// Values that they may look at besides for each value of the resource. Our examples need 1.6; an invariant that compares each member of a
/// long list with each needs thousands, and the body is refused (HCERT-244).
const FHIRPATH_STEPS_PER_VALUE_MAX: usize = 16;

/// Where an expression is asked.
#[derive(Clone, Copy, Debug)]
pub struct EvaluationContext<'a> {
    /// `%context` and the first `$this`.
    pub focus: Node<'a>,
    /// `%resource`: the resource that holds the focus.
    pub resource: Node<'a>,
    /// `%rootResource`: that resource, or the one it is contained in.
    pub root: Node<'a>,
    /// What all expressions share that are asked of the root.
    pub shared: &'a SharedContext<'a>,
}

/// What all expressions share that are asked of one resource.
#[derive(Debug)]
pub struct SharedContext<'a> {
    /// Contained resources by id, since many values may ask for one; of two with one id the first.
    pub contained: HashMap<&'a str, &'a Json<'a>>,
    /// Values that may still be looked at.
    steps_left: Cell<usize>,
}

impl<'a> SharedContext<'a> {
    /// For a resource of which nothing was asked yet.
    pub fn of(root: &'a Json<'a>) -> SharedContext<'a> {
        let mut contained = HashMap::new();
        for resource in root.items("contained") {
            if let Some(id) = resource.text("id") {
                contained.entry(id).or_insert(resource);
            }
        }
        let steps = FHIRPATH_STEPS_MIN + FHIRPATH_STEPS_PER_VALUE_MAX * values(root);
        SharedContext { contained, steps_left: Cell::new(steps) }
    }

    /// Counts values that are looked at; whether so many may be.
    pub(super) fn spend(&self, steps: usize) -> bool {
        let left = self.steps_left.get().checked_sub(steps);
        self.steps_left.set(left.unwrap_or(0));
        left.is_some()
    }
}

/// Objects, lists and what stands in them.
fn values(json: &Json) -> usize {
    match json {
        Json::Object(object) => 1 + object.iter().map(|(_, value)| values(value)).sum::<usize>(),
        Json::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 1,
    }
}

//! Where an expression is asked.

use std::collections::HashMap;

use super::node::Node;
use crate::json::Json;

/// Where an expression is asked.
#[derive(Clone, Copy, Debug)]
pub struct EvaluationContext<'a> {
    /// `%context` and the first `$this`.
    pub focus: Node<'a>,
    /// `%resource`: the resource that holds the focus.
    pub resource: Node<'a>,
    /// `%rootResource`: that resource, or the one it is contained in.
    pub root: Node<'a>,
    /// What the root contains, by id: many values may ask for it.
    pub contained: &'a Contained<'a>,
}

/// Contained resources by id; of two with one id the first.
pub type Contained<'a> = HashMap<&'a str, &'a Json<'a>>;

/// What a resource contains.
pub fn contained<'a>(root: &'a Json<'a>) -> Contained<'a> {
    let mut contained = HashMap::new();
    for resource in root.items("contained") {
        if let Some(id) = resource.text("id") {
            contained.entry(id).or_insert(resource);
        }
    }
    contained
}

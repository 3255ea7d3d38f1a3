//! FHIRPath, as far as the invariants of R5 and of our profiles speak it. An expression is read once, at the start; what is not
//! known here is refused then, so that no rule passes because nobody could ask it.
//!
//! Source: FHIRPath 2.0; FHIR R5 `fhirpath.html`.

mod evaluate;
mod node;
mod parse;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;

use crate::json::Json;
pub use evaluate::EvaluationError;
pub use node::{Kind, Node};

/// An expression that was read.
#[derive(Debug)]
pub struct Expression {
    root: parse::Term,
}

/// Why an expression cannot be used: what was found, and where it stands (byte from 0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    pub problem: String,
    pub at: usize,
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{} at byte {}", self.problem, self.at)
    }
}

/// Where an expression is asked.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
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

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// Wrong syntax, and every operator, function, variable or value set that the evaluation does not know.
    pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
        parse::parse(text).map(|root| Expression { root })
    }

    /// Whether an invariant holds: its expression is true, or one value that is no boolean. Nothing at all is not true.
    ///
    /// # Errors
    /// The values are not what the expression asks of them, such as several where one is needed.
    pub fn holds<'a>(&'a self, context: Context<'a>) -> Result<bool, EvaluationError> {
        evaluate::Evaluation::new(context).truth(&self.root, &context.focus.into()).map(|truth| truth == Some(true))
    }

    /// The elements of the resource that the expression leads to; values that it computes are left out.
    ///
    /// # Errors
    /// As [`holds`](Self::holds).
    pub fn elements<'a>(&'a self, context: Context<'a>) -> Result<Vec<Node<'a>>, EvaluationError> {
        evaluate::Evaluation::new(context).elements(&self.root, &context.focus.into())
    }
}

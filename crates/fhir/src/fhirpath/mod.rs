//! FHIRPath, as far as the invariants of R5 and of our profiles speak it. An expression is read once, at the start; what is not
//! known here is refused then, so that no rule passes because nobody could ask it.
//!
//! Source: FHIRPath 2.0; FHIR R5 `fhirpath.html`.

mod context;
mod evaluate;
mod node;
mod parse;
#[cfg(test)]
mod tests;

pub use context::{EvaluationContext, SharedContext};
pub use evaluate::EvaluationError;
pub use node::{Node, NodeKind};
pub use parse::ExpressionError;

/// An expression that was read.
#[derive(Debug)]
pub struct Expression {
    root: parse::ExpressionStep,
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
    pub fn holds<'a>(&'a self, context: EvaluationContext<'a>) -> Result<bool, EvaluationError> {
        evaluate::Evaluation::new(context).truth(&self.root, &context.focus.into()).map(|truth| truth == Some(true))
    }

    /// The elements of the resource that the expression leads to; values that it computes are left out.
    ///
    /// # Errors
    /// As [`holds`](Self::holds).
    pub fn elements<'a>(&'a self, context: EvaluationContext<'a>) -> Result<Vec<Node<'a>>, EvaluationError> {
        evaluate::Evaluation::new(context).elements(&self.root, &context.focus.into())
    }
}

//! The form of a row.

use crate::base::Base;
use crate::judge::Judged;
use crate::mutation::Mutation;

/// A right certificate, changed in one way, and everything that is told of it.
#[derive(Debug)]
pub(crate) struct Row {
    /// What is wrong, as a sentence without a full stop.
    pub name: &'static str,
    pub base: &'static Base,
    pub mutation: Mutation<'static>,
    /// Each issue as `HCERT-147 required Composition.status`, in any order; nothing for what is taken. Warnings stand in it only
    /// where nothing is refused, as `warning HCERT-196 code-invalid Composition.category[0]`.
    pub told: &'static [&'static str],
    pub judged: Judged,
}

/// A row of what a create takes or refuses.
pub(crate) const fn row(
    name: &'static str,
    base: &'static Base,
    mutation: Mutation<'static>,
    told: &'static [&'static str],
) -> Row {
    Row { name, base, mutation, told, judged: Judged::Create }
}

impl Row {
    /// The same, held against a profile alone.
    pub(crate) const fn under(self, profile: &'static str) -> Row {
        let Row { name, base, mutation, told, .. } = self;
        Row { name, base, mutation, told, judged: Judged::Under(profile) }
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        self.base.with(self.mutation)
    }
}

/// Rows of one kind; the kind says how they are compared with what other implementations say (`tests/outside/compare.py`).
pub(crate) struct Table {
    pub kind: &'static str,
    pub rows: &'static [Row],
}

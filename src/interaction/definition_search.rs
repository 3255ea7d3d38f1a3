//! What definitions are searched by.

use certificate::search::parameter::{Named, Parameter, ParameterTarget, row};

/// What a parameter looks at in a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefinitionTarget {
    Id,
    Url,
}

impl ParameterTarget for DefinitionTarget {
    fn kind(self) -> &'static str {
        match self {
            DefinitionTarget::Id => "token",
            DefinitionTarget::Url => "uri",
        }
    }
}

/// Every search parameter of definitions.
pub(super) const PARAMETERS: &[Parameter<DefinitionTarget>] = &[
    row("url", DefinitionTarget::Url, &[], Named::Nobody, "CanonicalResource-url", "Canonical address without version"),
    row("_id", DefinitionTarget::Id, &[], Named::Nobody, "Resource-id", "Id"),
];

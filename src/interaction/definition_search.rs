//! What definitions are searched by.

use certificate::search::parameter::{LooksAt, Named, Parameter, row};

/// What a parameter looks at in a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefinitionLooks {
    Id,
    Url,
}

impl LooksAt for DefinitionLooks {
    fn kind(self) -> &'static str {
        match self {
            DefinitionLooks::Id => "token",
            DefinitionLooks::Url => "uri",
        }
    }
}

/// Every search parameter of definitions.
pub(super) const PARAMETERS: &[Parameter<DefinitionLooks>] = &[
    row("url", DefinitionLooks::Url, &[], Named::Nobody, "CanonicalResource-url", "Canonical address without version"),
    row("_id", DefinitionLooks::Id, &[], Named::Nobody, "Resource-id", "Id"),
];

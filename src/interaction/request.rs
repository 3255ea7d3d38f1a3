//! What a request asks for, once its method and path are read.

use std::fmt;

pub use super::table::ListKind;
use super::table::{HttpMethod, INTERACTIONS, InteractionKind, InteractionRow};
use certificate::{Id, Version};
use fhir::limits::ID_CHARACTERS_MAX;

/// What a request asks for: a row of the table, and what stands in the places of its path. After this nobody looks at paths again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interaction {
    pub row: &'static InteractionRow,
    pub id: Option<Instance>,
    pub version: Option<PathId<Version>>,
    pub definition: Option<DefinitionKind>,
}

impl Interaction {
    /// Finds the row of a method and the segments of a path.
    pub fn find(method: HttpMethod, segments: &[&str]) -> Option<Interaction> {
        let mut rows = INTERACTIONS.iter().filter(|row| row.method == method && row.depth == segments.len());
        rows.find_map(|row| Interaction::of(row, segments))
    }

    fn of(row: &'static InteractionRow, segments: &[&str]) -> Option<Interaction> {
        let mut interaction = Interaction { row, id: None, version: None, definition: None };
        for (part, segment) in row.segments().zip(segments) {
            match part {
                "{id}" => interaction.id = Some(PathId::of(segment, Id::parse)?),
                "{version}" => interaction.version = Some(PathId::of(segment, Version::parse)?),
                "{definition}" => interaction.definition = Some(DefinitionKind::of(segment)?),
                _ if part == *segment => {}
                _ => return None,
            }
        }
        Some(interaction)
    }

    /// The first way to ask for it, with nothing in the places of its path: for callers without a path.
    #[must_use]
    pub fn plain(kind: InteractionKind) -> Interaction {
        let row = INTERACTIONS.iter().find(|row| row.kind == kind).unwrap_or(&INTERACTIONS[0]);
        Interaction { row, id: None, version: None, definition: None }
    }

    pub fn kind(&self) -> InteractionKind {
        self.row.kind
    }

    /// Whether it may change something.
    pub fn may_change(&self) -> bool {
        self.row.changes
    }

    /// The certificate of the path, and its version, where they can exist.
    pub fn certificate(&self) -> Option<(Id, Option<Version>)> {
        let id = self.id.as_ref().filter(|_| self.row.resource() == "Composition")?.known()?;
        Some((id, self.version.as_ref().and_then(PathId::known)))
    }
}

/// An id in a path: any well-formed FHIR id (R5 `datatypes.html#id`). Only the canonical decimal form can name what we store (Contract 1.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathId<T> {
    Known(T),
    /// Of another form, so that nothing of ours has it.
    Unknown(String),
}

/// The id of a resource.
pub type Instance = PathId<Id>;

impl<T: Copy> PathId<T> {
    /// Nothing where the text is no FHIR id.
    pub fn of(text: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<PathId<T>> {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
        let is_id = (1..=ID_CHARACTERS_MAX).contains(&text.len()) && text.bytes().all(known);
        is_id.then(|| parse(text).map_or_else(|| PathId::Unknown(text.to_owned()), PathId::Known))
    }

    pub fn known(&self) -> Option<T> {
        match self {
            PathId::Known(known) => Some(*known),
            PathId::Unknown(_) => None,
        }
    }
}

/// As it was sent.
impl<T: fmt::Display> fmt::Display for PathId<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            PathId::Known(known) => known.fmt(formatter),
            PathId::Unknown(text) => formatter.write_str(text),
        }
    }
}

/// The types of resource that define the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionKind {
    StructureDefinition,
    CodeSystem,
    ValueSet,
    OperationDefinition,
    SearchParameter,
}

impl DefinitionKind {
    pub const ALL: [DefinitionKind; 5] = [
        DefinitionKind::StructureDefinition,
        DefinitionKind::CodeSystem,
        DefinitionKind::ValueSet,
        DefinitionKind::OperationDefinition,
        DefinitionKind::SearchParameter,
    ];

    fn of(name: &str) -> Option<DefinitionKind> {
        DefinitionKind::ALL.into_iter().find(|known| known.name() == name)
    }

    /// The resource type.
    pub fn name(self) -> &'static str {
        match self {
            DefinitionKind::StructureDefinition => "StructureDefinition",
            DefinitionKind::CodeSystem => "CodeSystem",
            DefinitionKind::ValueSet => "ValueSet",
            DefinitionKind::OperationDefinition => "OperationDefinition",
            DefinitionKind::SearchParameter => "SearchParameter",
        }
    }
}

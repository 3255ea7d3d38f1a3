//! What there is to be described: each row of the table on each of its paths.

use crate::interaction::DefinitionKind;
use crate::interaction::operation_parameters::{self, ParameterDefinition};
use crate::interaction::policy::TokenPolicy;
use crate::interaction::table::{INTERACTIONS, InteractionKind, InteractionRow, StatementEntry};
use certificate::Names;
use certificate::search::paging::Counts;

/// What the description depends on beside the tables.
pub struct ApiSettings<'a> {
    /// Where the paths begin, as the caller sees it.
    pub base_url: &'a str,
    pub names: &'a Names,
    pub count: Counts,
    pub tokens: &'a TokenPolicy,
}

/// The media type of FHIR.
pub(super) const FHIR: &str = "application/fhir+json";

pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// One way to ask for something: a row of the table on one path.
pub(super) struct ApiOperation {
    pub row: &'static InteractionRow,
    /// Below the base path, with its slash.
    pub path: String,
    /// The first part of the path.
    pub resource: &'static str,
}

/// Every way there is, in the order of the table.
pub(super) fn operations() -> Vec<ApiOperation> {
    let of_row = |row: &'static InteractionRow| match row.resource() {
        "{definition}" => {
            let of_kind = |kind: DefinitionKind| ApiOperation {
                row,
                path: row.path.replace("{definition}", kind.name()),
                resource: kind.name(),
            };
            DefinitionKind::ALL.map(of_kind).into()
        }
        resource => vec![ApiOperation { row, path: row.path.to_owned(), resource }],
    };
    INTERACTIONS.iter().flat_map(of_row).collect()
}

impl ApiOperation {
    pub(super) fn kind(&self) -> InteractionKind {
        self.row.kind
    }

    /// As `paths` writes it.
    pub(super) fn method(&self) -> String {
        self.row.method.name().to_lowercase()
    }

    pub(super) fn is_of_one(&self) -> bool {
        self.path.contains("{id}")
    }

    pub(super) fn tag(&self) -> &str {
        match self.resource {
            "metadata" | "openapi.json" => "The service itself",
            resource => resource,
        }
    }

    /// FHIR's code of the interaction, or the name of the operation.
    pub(super) fn code(&self) -> &'static str {
        match self.told() {
            Some(StatementEntry::Interaction(code, _) | StatementEntry::Operation(code, ..)) => code,
            None if self.kind() == InteractionKind::Capabilities => "capabilities",
            None => "description",
        }
    }

    /// What the CapabilityStatement says. One row describes an interaction that several offer.
    pub(super) fn told(&self) -> Option<&'static StatementEntry> {
        let mut rows = INTERACTIONS.iter().filter(|row| row.kind == self.kind());
        rows.find_map(|row| row.told.as_ref())
    }

    /// `Composition-read`; where several ways lead to the same, also the method, and whether it is about one resource or one version.
    pub(super) fn id(&self, all: &[ApiOperation]) -> String {
        let same: Vec<&ApiOperation> =
            all.iter().filter(|other| (other.kind(), other.resource) == (self.kind(), self.resource)).collect();
        let mut id = match self.tag() == self.resource {
            true => format!("{}-{}", self.resource, self.code()),
            false => self.code().to_owned(),
        };
        if self.is_of_one() && same.iter().any(|other| !other.is_of_one()) {
            id.push_str("-instance");
        }
        let is_of_version = |operation: &ApiOperation| operation.path.contains("{version}");
        if is_of_version(self) && same.iter().any(|other| !is_of_version(other)) {
            id.push_str("-version");
        }
        if same.iter().any(|other| other.row.method != self.row.method) {
            id.push('-');
            id.push_str(&self.method());
        }
        id
    }
}

/// Whether the names of an operation's parameters stand in the query of a GET.
pub(super) fn in_query(operation: &ApiOperation) -> &'static [ParameterDefinition] {
    match operation.row.body {
        None => operation_parameters::of(operation.kind()),
        Some(_) => &[],
    }
}

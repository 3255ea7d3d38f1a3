//! What a request asks for, once its method and path are read.

use std::fmt;

use crate::registry::Ask;
use certificate::{Id, Version};

/// What a request asks for, with everything of its path read. After this nobody looks at paths again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interaction {
    Capabilities,
    Create,
    Read(Instance),
    Vread(Instance, Option<Version>),
    Update(Instance),
    Delete(Instance),
    HistoryInstance(Instance),
    HistoryType,
    /// By GET or by POST to `_search`; the parameters are in the context.
    Search,
    Suspend(Instance),
    Cancel(Instance),
    GetConsent(Instance),
    SetConsent(Instance),
    /// Of a resource that defines the service, by its id.
    ReadDefinition(DefinitionKind, String),
    SearchDefinitions(DefinitionKind),
    /// Of one event of the audit trail; none where the id of the path is none of an event.
    AuditRead(Option<u64>),
    AuditSearch,
    /// Of the code system with this id; without one the parameters name it, as in the next two.
    /// On the type, or on one certificate.
    Validate(Option<Instance>),
    Lookup(Option<String>),
    ValidateCode(ListKind, Option<String>),
    Expand(Option<String>),
    /// Of patients. The parameters are in the context.
    Patient(Ask),
}

/// The two kinds of code lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    CodeSystem,
    ValueSet,
}

impl Interaction {
    /// Whether it may change something. What only reads is given up when its client goes away.
    pub fn may_change(&self) -> bool {
        use Interaction::*;
        match self {
            Create | Update(_) | Delete(_) | Suspend(_) | Cancel(_) | SetConsent(_) => true,
            Capabilities | Read(_) | Vread(..) | HistoryInstance(_) | HistoryType | Search | GetConsent(_) => false,
            AuditRead(_) | AuditSearch => false,
            ReadDefinition(..) | SearchDefinitions(_) | Validate(_) | Lookup(_) | ValidateCode(..) | Expand(_) => false,
            // One who is taken over stays, whether or not the caller waits.
            Patient(_) => false,
        }
    }
}

/// The id of a path: any well-formed FHIR id. Only the canonical decimal form can name a certificate (Contract 1.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instance {
    Known(Id),
    /// Of another form, so that no certificate has it.
    Unknown(String),
}

impl Instance {
    pub fn id(&self) -> Option<Id> {
        match self {
            Instance::Known(id) => Some(*id),
            Instance::Unknown(_) => None,
        }
    }
}

/// As it was sent.
impl fmt::Display for Instance {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Instance::Known(id) => id.fmt(formatter),
            Instance::Unknown(text) => formatter.write_str(text),
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

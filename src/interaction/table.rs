//! Every interaction of the service, in one table. The router, `Allow`, the log and the metrics, the rules for bodies, rights, the audit trail
//! and the CapabilityStatement read it; none of them knows an interaction that it does not have.
//!
//! Source: specification 4; FHIR R5 `http.html`.

use crate::access::rights::PermittedAction;
use crate::audit::AuditAction;

/// One way to ask for an interaction: a method and a path.
#[derive(Debug, PartialEq, Eq)]
pub struct InteractionRow {
    pub kind: InteractionKind,
    pub method: HttpMethod,
    /// The path below the base path, with its slash. `{id}` and `{version}` stand for any FHIR id, `{definition}` for the
    /// name of a [`DefinitionKind`](super::DefinitionKind).
    pub path: &'static str,
    /// Segments of the path.
    pub depth: usize,
    /// What the log and the metrics show, since an id may lead to a person.
    pub label: &'static str,
    /// What has to be permitted; nothing where everybody may who is let in.
    pub permission: Option<PermittedAction>,
    /// The audit trail's name of it; nothing where nobody's data are.
    pub action: Option<AuditAction>,
    /// The body it takes. Where it takes none, a body is ignored.
    pub body: Option<BodyContent>,
    /// Whether it may change something. What only reads is given up when its client goes away.
    pub changes: bool,
    /// Whether its body may name whom it is about, beside its path and parameters.
    pub names: bool,
    /// When it reads through a stored certificate, whose size then counts like that of a body.
    pub reads_stored: ReadsStored,
    /// Whether the registry is asked in the caller's name.
    pub asks_registry: bool,
    /// What the CapabilityStatement says; nothing where another row says it.
    pub told: Option<StatementEntry>,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InteractionKind {
    Capabilities,
    ApiDescription,
    Read,
    Vread,
    Update,
    Delete,
    HistoryInstance,
    HistoryType,
    Create,
    Search,
    Suspend,
    Cancel,
    GetConsent,
    SetConsent,
    Pdf,
    Validate,
    PatientRead,
    PatientVread,
    PatientHistory,
    PatientSearch,
    AuditRead,
    AuditSearch,
    ReadDefinition,
    SearchDefinitions,
    Lookup,
    ValidateCode(ListKind),
    Expand,
}

/// A method of HTTP. HEAD is answered as GET is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpMethod {
    Get,
    Post,
    Put,
    Delete,
}

impl HttpMethod {
    /// In the order `Allow` shows them.
    pub const ALL: [HttpMethod; 4] = [HttpMethod::Get, HttpMethod::Post, HttpMethod::Put, HttpMethod::Delete];

    pub fn name(self) -> &'static str {
        match self {
            HttpMethod::Get => "GET",
            HttpMethod::Post => "POST",
            HttpMethod::Put => "PUT",
            HttpMethod::Delete => "DELETE",
        }
    }
}

/// What a body holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyContent {
    /// A FHIR resource in JSON.
    Resource,
    /// Search parameters.
    Form,
}

/// When an interaction reads through a stored certificate instead of copying it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadsStored {
    Never,
    /// Where the answer shows a part of it.
    Reduced,
    Always,
}

/// An entry of the CapabilityStatement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementEntry {
    /// An interaction of R5 by its code, and what to know about it.
    Interaction(&'static str, &'static str),
    /// An operation: its name, the id of its definition, and what to know about it.
    Operation(&'static str, OperationSource, &'static str),
}

/// Where an operation is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationSource {
    /// Below the project's own canonical base.
    Own(&'static str),
    R5(&'static str),
}

const fn row(
    kind: InteractionKind,
    method: HttpMethod,
    path: &'static str,
    permission: Option<PermittedAction>,
    action: Option<AuditAction>,
    body: Option<BodyContent>,
) -> InteractionRow {
    let (mut depth, mut at, bytes) = (0, 0, path.as_bytes());
    while at < bytes.len() {
        if bytes[at] == b'/' {
            depth += 1;
        }
        at += 1;
    }
    InteractionRow {
        kind,
        method,
        path,
        depth,
        label: path,
        permission,
        action,
        body,
        changes: false,
        names: false,
        reads_stored: ReadsStored::Never,
        asks_registry: false,
        told: None,
    }
}

impl InteractionRow {
    const fn changes(self) -> InteractionRow {
        InteractionRow { changes: true, ..self }
    }

    const fn names(self) -> InteractionRow {
        InteractionRow { names: true, ..self }
    }

    const fn reads_stored(self, reads_stored: ReadsStored) -> InteractionRow {
        InteractionRow { reads_stored, ..self }
    }

    const fn asks_registry(self) -> InteractionRow {
        InteractionRow { asks_registry: true, ..self }
    }

    const fn labelled(self, label: &'static str) -> InteractionRow {
        InteractionRow { label, ..self }
    }

    const fn told(self, code: &'static str, documentation: &'static str) -> InteractionRow {
        InteractionRow { told: Some(StatementEntry::Interaction(code, documentation)), ..self }
    }

    const fn operation(
        self,
        name: &'static str,
        definition: OperationSource,
        documentation: &'static str,
    ) -> InteractionRow {
        InteractionRow { told: Some(StatementEntry::Operation(name, definition, documentation)), ..self }
    }

    /// The parts of its path.
    pub fn segments(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').skip(1)
    }

    /// The first part of its path: a resource type, where it is one and the same.
    pub fn resource(&self) -> &'static str {
        self.segments().next().unwrap_or_default()
    }
}

/// The API. The CapabilityStatement lists what it tells in this order.
#[rustfmt::skip]
pub const INTERACTIONS: &[InteractionRow] = {
    use AuditAction::{
        CompositionCancel, CompositionCreate, CompositionDelete, CompositionHistory, CompositionHistoryType, CompositionPdf, CompositionRead,
        CompositionSearch, CompositionSuspend, CompositionUpdate, CompositionValidate, CompositionVread, ConsentGet, ConsentSet,
        DefinitionRead,
    };
    use BodyContent::{Form, Resource};
    use OperationSource::{Own, R5};
    use InteractionKind::*;
    use ReadsStored::{Always, Reduced};
    use HttpMethod::{Get, Post, Put};
    const REMOVE: HttpMethod = HttpMethod::Delete;
    const SYSTEM: ListKind = ListKind::CodeSystem;
    const SET: ListKind = ListKind::ValueSet;
    &[
    //  kind             method  path                                   permission                action                         body
    row(Read,            Get,    "/Composition/{id}",                    Some(PermittedAction::Read),          Some(CompositionRead),         None)
        .reads_stored(Reduced)
        .told("read", "The current version. A deleted certificate is 410; its history stays readable."),
    row(Vread,           Get,    "/Composition/{id}/_history/{version}", Some(PermittedAction::Read),          Some(CompositionVread),        None)
        .reads_stored(Reduced)
        .told("vread", "Any version, also of a deleted certificate."),
    row(Update,          Put,    "/Composition/{id}",                    Some(PermittedAction::Update),        Some(CompositionUpdate),       Some(Resource))
        .changes().names()
        .told("update", "A draft stays one or is completed, by the status in the body. A completed certificate changes only with a section change-reason. If-Match is taken, never required."),
    row(Delete,          REMOVE, "/Composition/{id}",                    Some(PermittedAction::Delete),        Some(CompositionDelete),       None)
        .changes()
        .told("delete", "Drafts only. The versions stay readable through the history."),
    row(HistoryInstance, Get,    "/Composition/{id}/_history",           Some(PermittedAction::History),       Some(CompositionHistory),      None)
        .told("history-instance", "Newest first. Takes _count, _page, _since and _at."),
    row(HistoryType,     Get,    "/Composition/_history",                Some(PermittedAction::History),       Some(CompositionHistoryType),  None)
        .told("history-type", "As history-instance, over all certificates."),
    row(Create,          Post,   "/Composition",                         Some(PermittedAction::Create),        Some(CompositionCreate),       Some(Resource))
        .changes().names()
        .told("create", "As a draft (preliminary) or completed (final). If-None-Exist takes identifier=system|value."),
    // Whether the number alone is asked for is known only when the parameters are read.
    row(Search,          Get,    "/Composition",                         Some(PermittedAction::Count),         Some(CompositionSearch),       None)
        .labelled("/Composition?")
        .told("search-type", ""),
    row(Search,          Post,   "/Composition/_search",                 Some(PermittedAction::Count),         Some(CompositionSearch),       Some(Form))
        .labelled("/Composition?"),
    row(Suspend,         Post,   "/Composition/{id}/$suspend",           Some(PermittedAction::Suspend),       Some(CompositionSuspend),      Some(Resource))
        .changes().reads_stored(Always)
        .operation("suspend", Own("ee-health-certificate-suspend"), "Suspends a completed certificate. Takes Parameters with one reason (valueString)."),
    row(Cancel,          Post,   "/Composition/{id}/$cancel",            Some(PermittedAction::Cancel),        Some(CompositionCancel),       Some(Resource))
        .changes().reads_stored(Always)
        .operation("cancel", Own("ee-health-certificate-cancel"), "Revokes a completed or suspended certificate for good. Takes Parameters with one reason (valueString)."),
    row(GetConsent,      Get,    "/Composition/{id}/$get-consent",       Some(PermittedAction::GetConsent),    Some(ConsentGet),              None)
        .operation("get-consent", Own("ee-health-certificate-get-consent"), "Whom the patient lets see the certificate: Parameters with doctor and representative, each open or closed."),
    row(GetConsent,      Post,   "/Composition/{id}/$get-consent",       Some(PermittedAction::GetConsent),    Some(ConsentGet),              Some(Resource)),
    row(SetConsent,      Post,   "/Composition/{id}/$set-consent",       Some(PermittedAction::SetConsent),    Some(ConsentSet),              Some(Resource))
        .changes()
        .operation("set-consent", Own("ee-health-certificate-set-consent"), "Opens or closes the certificate. Takes Parameters with doctor, representative or both (valueString): open or closed. Makes no version."),
    row(Pdf,             Get,    "/Composition/{id}/$pdf",               Some(PermittedAction::Read),          Some(CompositionPdf),          None)
        .reads_stored(Always)
        .operation("pdf", Own("ee-health-certificate-pdf"), "The certificate as a PDF for people, as one role of the caller may see it: role. A Binary where FHIR is accepted."),
    row(Pdf,             Post,   "/Composition/{id}/$pdf",               Some(PermittedAction::Read),          Some(CompositionPdf),          Some(Resource))
        .reads_stored(Always),
    row(Pdf,             Get,    "/Composition/{id}/_history/{version}/$pdf", Some(PermittedAction::Read),     Some(CompositionPdf),          None)
        .reads_stored(Always),
    row(Pdf,             Post,   "/Composition/{id}/_history/{version}/$pdf", Some(PermittedAction::Read),     Some(CompositionPdf),          Some(Resource))
        .reads_stored(Always),
    row(Validate,        Post,   "/Composition/$validate",               Some(PermittedAction::Validate),      Some(CompositionValidate),     Some(Resource))
        .names()
        .operation("validate", R5("Resource-validate"), "What a write would say, without writing: 200 with an OperationOutcome. Takes a Composition, or Parameters with resource, mode and profile."),
    row(Validate,        Get,    "/Composition/{id}/$validate",          Some(PermittedAction::Validate),      Some(CompositionValidate),     None)
        .names().reads_stored(Always),
    row(Validate,        Post,   "/Composition/{id}/$validate",          Some(PermittedAction::Validate),      Some(CompositionValidate),     Some(Resource))
        .names().reads_stored(Always),
    row(PatientRead,     Get,    "/Patient/{id}",                        Some(PermittedAction::PatientRead),   Some(AuditAction::PatientRead),     None)
        .asks_registry().told("read", ""),
    row(PatientVread,    Get,    "/Patient/{id}/_history/{version}",     Some(PermittedAction::PatientRead),   Some(AuditAction::PatientVread),    None)
        .asks_registry().told("vread", ""),
    row(PatientHistory,  Get,    "/Patient/{id}/_history",               Some(PermittedAction::PatientRead),   Some(AuditAction::PatientHistory),  None)
        .asks_registry().told("history-instance", ""),
    row(PatientSearch,   Get,    "/Patient",                             Some(PermittedAction::PatientSearch), Some(AuditAction::PatientSearch),   None)
        .labelled("/Patient?").asks_registry().told("search-type", ""),
    row(PatientSearch,   Post,   "/Patient/_search",                     Some(PermittedAction::PatientSearch), Some(AuditAction::PatientSearch),   Some(Form))
        .labelled("/Patient?").asks_registry(),
    row(AuditRead,       Get,    "/AuditEvent/{id}",                     Some(PermittedAction::AuditRead),     Some(AuditAction::AuditRead),       None)
        .names().told("read", ""),
    row(AuditSearch,     Get,    "/AuditEvent",                          Some(PermittedAction::AuditRead),     Some(AuditAction::AuditSearch),     None)
        .labelled("/AuditEvent?").told("search-type", ""),
    row(AuditSearch,     Post,   "/AuditEvent/_search",                  Some(PermittedAction::AuditRead),     Some(AuditAction::AuditSearch),     Some(Form))
        .labelled("/AuditEvent?"),
    row(ReadDefinition,  Get,    "/{definition}/{id}",                   None,                     Some(DefinitionRead),          None)
        .told("read", ""),
    row(SearchDefinitions, Get,  "/{definition}",                        None,                     Some(DefinitionRead),          None)
        .labelled("/{definition}?").told("search-type", ""),
    row(SearchDefinitions, Post, "/{definition}/_search",                None,                     Some(DefinitionRead),          Some(Form))
        .labelled("/{definition}?"),
    row(Lookup,          Get,    "/CodeSystem/$lookup",                  None,                     Some(DefinitionRead),          None)
        .operation("lookup", R5("CodeSystem-lookup"), "What is known of a code. Takes code, system, version, coding, displayLanguage and property."),
    row(Lookup,          Post,   "/CodeSystem/$lookup",                  None,                     Some(DefinitionRead),          Some(Resource)),
    row(Lookup,          Get,    "/CodeSystem/{id}/$lookup",             None,                     Some(DefinitionRead),          None)
        .labelled("/CodeSystem/$lookup"),
    row(Lookup,          Post,   "/CodeSystem/{id}/$lookup",             None,                     Some(DefinitionRead),          Some(Resource))
        .labelled("/CodeSystem/$lookup"),
    row(ValidateCode(SYSTEM), Get,  "/CodeSystem/$validate-code",        None,                     Some(DefinitionRead),          None)
        .operation("validate-code", R5("CodeSystem-validate-code"), "Whether a code is one of the code system. A list that is known only in part makes the result true, with a message."),
    row(ValidateCode(SYSTEM), Post, "/CodeSystem/$validate-code",        None,                     Some(DefinitionRead),          Some(Resource)),
    row(ValidateCode(SYSTEM), Get,  "/CodeSystem/{id}/$validate-code",   None,                     Some(DefinitionRead),          None)
        .labelled("/CodeSystem/$validate-code"),
    row(ValidateCode(SYSTEM), Post, "/CodeSystem/{id}/$validate-code",   None,                     Some(DefinitionRead),          Some(Resource))
        .labelled("/CodeSystem/$validate-code"),
    row(Expand,          Get,    "/ValueSet/$expand",                    None,                     Some(DefinitionRead),          None)
        .operation("expand", R5("ValueSet-expand"), "The codes of a value set. Takes url, or by POST valueSet, a ValueSet of the caller's own; and valueSetVersion, filter, offset, count, includeDesignations and displayLanguage. One that may have more codes than are known is marked with the extension valueset-unclosed."),
    row(Expand,          Post,   "/ValueSet/$expand",                    None,                     Some(DefinitionRead),          Some(Resource)),
    row(Expand,          Get,    "/ValueSet/{id}/$expand",               None,                     Some(DefinitionRead),          None)
        .labelled("/ValueSet/$expand"),
    row(Expand,          Post,   "/ValueSet/{id}/$expand",               None,                     Some(DefinitionRead),          Some(Resource))
        .labelled("/ValueSet/$expand"),
    row(ValidateCode(SET), Get,  "/ValueSet/$validate-code",             None,                     Some(DefinitionRead),          None)
        .operation("validate-code", R5("ValueSet-validate-code"), "Whether a code is in the value set. A list that is known only in part makes the result true, with a message."),
    row(ValidateCode(SET), Post, "/ValueSet/$validate-code",             None,                     Some(DefinitionRead),          Some(Resource)),
    row(ValidateCode(SET), Get,  "/ValueSet/{id}/$validate-code",        None,                     Some(DefinitionRead),          None)
        .labelled("/ValueSet/$validate-code"),
    row(ValidateCode(SET), Post, "/ValueSet/{id}/$validate-code",        None,                     Some(DefinitionRead),          Some(Resource))
        .labelled("/ValueSet/$validate-code"),
    row(Capabilities,    Get,    "/metadata",                            None,                     None,                          None),
    row(ApiDescription,  Get,    "/openapi.json",                        None,                     None,                          None),
    ]
};

/// The two kinds of code lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    CodeSystem,
    ValueSet,
}

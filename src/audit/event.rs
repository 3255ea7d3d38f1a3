//! What one access was: who, what, from where, with which result. One event for each request. Contract 7.8.

use std::fmt;

use super::operator::SystemUser;
use crate::audit::limits::{AUDIT_QUERY_BYTES_MAX, AUDIT_TEXT_BYTES_MAX};
use certificate::{Id, Seq, Version};
use engine::EntryHash;

/// What came of work whose end the trail was `told`. The failure of the work comes first: what befalls it, such as a full disk, befalls
/// the telling too, which would say less.
///
/// # Errors
/// Those of both.
pub fn with_its_end_told<T>(done: Result<T, String>, told: Result<(), String>) -> Result<T, String> {
    done.and_then(|done| told.map(|()| done))
}

/// One access. It and its parts hold personal data, which belongs into the trail and nowhere else; their `Debug` tells none of it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AuditEvent {
    /// Milliseconds since 1970 UTC.
    pub at: i64,
    pub action: AuditAction,
    pub who: EventAgent,
    pub from: RequestSource,
    /// The id of the request, as `X-Request-Id` tells it.
    pub trace: String,
    /// HTTP status of the answer; 0 where there was none, as for commands.
    pub status: u16,
    /// The leading code of a refusal, such as `HCERT-179`.
    pub code: Option<String>,
    pub method: AuthenticationMethod,
    /// What was shown or changed; of a refused request what it asked for.
    pub entities: Vec<Entity>,
    /// What it asked for and what there was not, so that it is about nobody.
    pub absent: Vec<Entity>,
    /// Ids of patients, such as `200`: those that the request named, and those that were shown.
    pub patients: Vec<String>,
    /// Identifiers of persons and certificates that the request named: `system|value`, or the value alone where no system was named.
    pub identifiers: Vec<String>,
    /// Registry codes of the institutions that the request named: employers, and those of authors.
    pub organizations: Vec<String>,
    /// The parameters of a search as they were sent, up to [`AUDIT_QUERY_BYTES_MAX`].
    pub query: Option<String>,
    /// SHA-256 of the parameters, where they were cut.
    pub query_hash: Option<[u8; 32]>,
    /// Why a token was refused, such as `expired`.
    pub reason: Option<String>,
    /// The change that this event stands for.
    pub change: Option<Seq>,
    /// Hash of that change and of all before it.
    pub entry: Option<EntryHash>,
    /// What the trail says about itself: a retention, a repair. No personal data.
    pub note: Option<String>,
}

/// A certificate; its version where one was shown or changed.
pub type Entity = (Id, Option<Version>);

/// Who calls, as a verified token says. Everything is absent where nobody said so.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct EventAgent {
    /// Personal code, bare digits.
    pub person: Option<String>,
    pub given_name: Option<String>,
    pub family_name: Option<String>,
    pub roles: Vec<String>,
    /// Registry code of the institution.
    pub organization: Option<String>,
    /// Registry code of whom an organisation's representative acts for.
    pub represented_party: Option<String>,
    pub application: Option<String>,
    /// Ties the requests of one token together.
    pub session: Option<String>,
    /// Who ran a command.
    pub operator: Option<SystemUser>,
}

/// Where a request came from. What X-Road's headers say is claimed, not verified.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RequestSource {
    pub ip: Option<String>,
    pub x_road_client: Option<String>,
    pub x_road_id: Option<String>,
    pub x_road_issue: Option<String>,
    pub x_road_user: Option<String>,
    /// Names of the headers of X-Road that were dropped, because their sender is not trusted to set them.
    pub x_road_dropped: Option<String>,
}

/// How the caller was known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuthenticationMethod {
    #[default]
    None,
    Token,
    /// A command of the data folder's owner.
    Socket,
}

/// Declares the actions with the number each is stored as and its name. Numbers are never used again for another.
macro_rules! actions {
    ($($action:ident = $number:literal $name:literal,)*) => {
        /// What was done.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum AuditAction {
            $(#[doc = concat!("`", $name, "`")] $action,)*
            /// Nothing this program knows: a path without a meaning, or an action of a later release.
            #[default]
            Unknown,
        }

        impl AuditAction {
            /// All of them, in the order of their numbers.
            pub const ALL: &[AuditAction] = &[$(AuditAction::$action,)* AuditAction::Unknown];

            /// How it is called, such as `composition.read`.
            pub fn name(self) -> &'static str {
                match self {
                    $(AuditAction::$action => $name,)*
                    AuditAction::Unknown => "unknown",
                }
            }

            /// How it is stored.
            pub(super) fn number(self) -> u64 {
                match self {
                    $(AuditAction::$action => $number,)*
                    AuditAction::Unknown => 0,
                }
            }

            pub(super) fn of_number(number: u64) -> AuditAction {
                match number {
                    $($number => AuditAction::$action,)*
                    _ => AuditAction::Unknown,
                }
            }
        }
    };
}

#[rustfmt::skip]
actions! {
    CompositionRead        =  1 "composition.read",
    CompositionVread       =  2 "composition.vread",
    CompositionHistory     =  3 "composition.history",
    CompositionHistoryType =  4 "composition.history-type",
    CompositionSearch      =  5 "composition.search",
    CompositionCreate      =  6 "composition.create",
    CompositionUpdate      =  7 "composition.update",
    CompositionDelete      =  8 "composition.delete",
    CompositionSuspend     =  9 "composition.suspend",
    CompositionCancel      = 10 "composition.cancel",
    CompositionValidate    = 11 "composition.validate",
    ConsentGet             = 12 "consent.get",
    ConsentSet             = 13 "consent.set",
    PatientRead            = 14 "patient.read",
    PatientVread           = 15 "patient.vread",
    PatientHistory         = 16 "patient.history",
    PatientSearch          = 17 "patient.search",
    AuditRead              = 18 "audit.read",
    AuditSearch            = 19 "audit.search",
    AuditExport            = 20 "audit.export",
    AuditVerify            = 21 "audit.verify",
    AuditRetention         = 22 "audit.retention",
    AuditRepaired          = 23 "audit.repaired",
    TokenIssue             = 24 "token.issue",
    TokenRefused           = 25 "token.refused",
    DefinitionRead         = 26 "definition.read",
    BulkImport             = 27 "bulk.import",
    BulkExport             = 28 "bulk.export",
    PatientsImport         = 29 "patients.import",
    PatientsList           = 30 "patients.list",
    TerminologyChange      = 31 "terminology.change",
    Backup                 = 32 "backup",
    Restore                = 33 "restore",
    StoreVerify            = 34 "store.verify",
    StoreCompact           = 35 "store.compact",
    StoreMigrate           = 36 "store.migrate",
    IndexRebuild           = 37 "index.rebuild",
    StoreStats             = 38 "store.stats",
    ClockWrong             = 39 "clock.wrong",
    ClockRight             = 40 "clock.right",
    ClockAccept            = 41 "clock.accept",
    ClockReset             = 42 "clock.reset",
    LogLevel               = 43 "log.level",
    ServiceStart           = 44 "service.start",
    ServiceStop            = 45 "service.stop",
    AuditAccept            = 46 "audit.accept",
    ServiceKeys            = 47 "service.keys",
    StoreErase             = 48 "store.erase",
    ServiceFault           = 49 "service.fault",
    CompositionPdf         = 50 "composition.pdf",
}

impl AuditAction {
    /// Reads a name as [`AuditAction::name`] writes it.
    pub fn parse(name: &str) -> Option<AuditAction> {
        AuditAction::ALL.iter().copied().find(|action| action.name() == name)
    }

    /// Create, read, update, delete or execute: `AuditEvent.action`. FHIR R5 `valueset-audit-event-action.html`.
    pub fn letter(self) -> &'static str {
        use AuditAction::*;
        match self {
            CompositionCreate | TokenIssue | BulkImport | PatientsImport => "C",
            CompositionUpdate | CompositionSuspend | CompositionCancel | ConsentSet | TerminologyChange => "U",
            CompositionDelete | StoreErase | AuditRetention => "D",
            CompositionValidate | AuditVerify | AuditRepaired | TokenRefused | Backup | Restore | StoreVerify
            | StoreCompact | StoreMigrate | IndexRebuild | StoreStats | ClockWrong | ClockRight | ClockAccept
            | ClockReset | LogLevel | ServiceStart | ServiceStop | ServiceKeys | ServiceFault | AuditAccept
            | Unknown => "E",
            CompositionRead
            | CompositionVread
            | CompositionPdf
            | CompositionHistory
            | CompositionHistoryType
            | CompositionSearch
            | ConsentGet
            | PatientRead
            | PatientVread
            | PatientHistory
            | PatientSearch
            | AuditRead
            | AuditSearch
            | AuditExport
            | DefinitionRead
            | BulkExport
            | PatientsList => "R",
        }
    }

    /// FHIR's name of the interaction, where it has one.
    pub fn interaction(self) -> Option<&'static str> {
        use AuditAction::*;
        Some(match self {
            CompositionRead | PatientRead | AuditRead => "read",
            CompositionVread | PatientVread => "vread",
            CompositionHistory | PatientHistory => "history-instance",
            CompositionHistoryType => "history-type",
            CompositionSearch | PatientSearch | AuditSearch => "search-type",
            CompositionCreate => "create",
            CompositionUpdate => "update",
            CompositionDelete => "delete",
            CompositionSuspend | CompositionCancel | CompositionValidate | CompositionPdf | ConsentGet | ConsentSet => {
                "operation"
            }
            _ => return None,
        })
    }
}

/// What the store knows of a change, for [`AuditEvent::of_change`].
#[derive(Clone, Debug)]
pub struct ChangeFacts {
    pub seq: Seq,
    pub hash: EntryHash,
    pub action: AuditAction,
    pub id: Id,
    /// The version made; the newest one for a change that makes none, such as a consent.
    pub version: Option<Version>,
    /// Id of the patient.
    pub patient: Option<String>,
    /// Milliseconds since 1970 UTC.
    pub at: i64,
    pub status: u16,
}

impl AuditEvent {
    /// An action at a moment; everything else is filled in by whoever knows it.
    pub fn new(action: AuditAction, at: i64) -> AuditEvent {
        AuditEvent { at, action, ..AuditEvent::default() }
    }

    /// The event of a change that was carried out. `trace` is the id of its request.
    pub fn of_change(
        change: ChangeFacts,
        who: EventAgent,
        from: RequestSource,
        method: AuthenticationMethod,
        trace: String,
    ) -> AuditEvent {
        AuditEvent {
            at: change.at,
            action: change.action,
            who,
            from,
            trace,
            status: change.status,
            method,
            entities: vec![(change.id, change.version)],
            patients: change.patient.into_iter().collect(),
            change: Some(change.seq),
            entry: Some(change.hash),
            ..AuditEvent::default()
        }
    }

    /// Whether the answer was a refusal or a failure: `AuditEvent.outcome` is `error` then, and else `success`.
    pub fn is_refused(&self) -> bool {
        self.status >= 400 || self.code.is_some()
    }

    /// The highest change that the trail stands for behind this event. A restore sets the store back to its change: those after it never
    /// were, and their numbers are given again.
    pub(super) fn last_change(&self, before: Seq) -> Seq {
        last_change(self.action, self.change, before)
    }

    /// The event of a command, told by its whole name, such as `hcert audit export`, with the operator of this thread.
    pub fn of_command(action: AuditAction, at: i64, command: &str) -> AuditEvent {
        let who = EventAgent {
            application: Some(command.to_owned()),
            operator: Some(SystemUser::current()),
            ..EventAgent::default()
        };
        AuditEvent { who, method: AuthenticationMethod::Socket, ..AuditEvent::new(action, at) }
    }
}

/// As [`AuditEvent::last_change`], of an event that was not read as a whole.
pub(super) fn last_change(action: AuditAction, change: Option<Seq>, before: Seq) -> Seq {
    match action {
        AuditAction::Restore => change.unwrap_or_default(),
        _ => change.unwrap_or_default().max(before),
    }
}

/// The beginning of a text that the trail keeps: whole characters within the bound.
pub(super) fn within(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// The beginning of parameters that the trail keeps.
pub(super) fn query_within(text: &str) -> &str {
    within(text, AUDIT_QUERY_BYTES_MAX)
}

/// The beginning of any other text that the trail keeps.
pub(super) fn text_within(text: &str) -> &str {
    within(text, AUDIT_TEXT_BYTES_MAX)
}

impl fmt::Debug for AuditEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "AuditEvent({} at {}, {})", self.action.name(), self.at, self.status)
    }
}

impl fmt::Debug for EventAgent {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "EventAgent({})", self.roles.join(", "))
    }
}

impl fmt::Debug for RequestSource {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("RequestSource")
    }
}

//! Patients of the embedded registry, as the engine keeps them: it reads their facts and passes the rest through.

use certificate::{Id, Stamp, Version};

/// What the engine knows of one version of a patient without reading its resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatientFacts {
    /// FHIR `Patient.active`; true where the resource has none.
    pub is_active: bool,
    /// Whether the resource says that the patient has died (FHIR `Patient.deceased[x]`).
    pub is_deceased: bool,
    /// First and last day that the birth date can mean, in days since 1970-01-01; at most a year apart.
    pub born: Option<(i32, i32)>,
    /// System and value, in the order of the resource; the system is empty where there is none.
    pub identifiers: Vec<(String, String)>,
    /// Patients that this one says are the same person. They may be unknown here.
    pub links: Vec<Id>,
}

/// One version of a patient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPatient {
    /// Id of the patient.
    pub id: Id,
    /// Version of the patient, from 1.
    pub version: Version,
    /// When the version was made.
    pub stamp: Stamp,
    /// What the engine knows without reading `resource`.
    pub facts: PatientFacts,
    /// The resource, byte for byte as it is served.
    pub resource: Vec<u8>,
}

/// A patient to be stored. The writer gives version and time, and the id where none is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatientWrite {
    /// None: the next free one. No larger than [`IMPORT_ID_MAX`](crate::limits::IMPORT_ID_MAX).
    pub id: Option<Id>,
    /// System and value: a current patient with this identifier makes the write a no-op.
    pub unless: Option<(String, String)>,
    /// System and value that nobody else should have: one who has it is told, and hinders nothing.
    pub alone: Option<(String, String)>,
    /// What the engine has to know of the new version.
    pub facts: PatientFacts,
    /// The bytes behind the head ([`certificate::head::tail`]).
    pub tail: Vec<u8>,
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatientWritten {
    /// A version was made.
    Stored(Id, Version),
    /// A version was made, and the last one has the identifier of `alone` too.
    Shared(Id, Version, Id),
    /// The newest version says the same already.
    Identical(Id, Version),
    /// This one has the identifier of `unless`; the one with the smallest id where several have.
    ThereAlready(Id, Version),
}

impl PatientWritten {
    /// Whether a version was made.
    pub fn is_new(self) -> bool {
        matches!(self, PatientWritten::Stored(..) | PatientWritten::Shared(..))
    }
}

/// One line of the directory that searches walk: the newest version of a patient, in few words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatientLine {
    /// Id of the patient.
    pub id: Id,
    /// As [`PatientFacts::born`].
    pub born: Option<(i32, i32)>,
    /// As [`PatientFacts::is_active`].
    pub is_active: bool,
    /// As [`PatientFacts::is_deceased`].
    pub is_deceased: bool,
    /// When the version was made, milliseconds since 1970 UTC.
    pub milliseconds: i64,
}

impl PatientWrite {
    /// Bytes it brings.
    pub fn bytes(&self) -> usize {
        let identifiers: usize = self.facts.identifiers.iter().map(|(system, value)| system.len() + value.len()).sum();
        self.tail.len() + identifiers
    }
}

//! The five states of a certificate and the FHIR status each shows.

/// State of a certificate. Source: specification, section 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum State {
    /// Mustand
    Draft = 1,
    /// Lõpetatud
    Completed = 2,
    /// Peatatud
    Suspended = 3,
    /// Tühistatud
    Revoked = 4,
    /// Kustutatud
    Deleted = 5,
}

impl State {
    /// Every state, in the order of the specification.
    pub const ALL: [State; 5] = [State::Draft, State::Completed, State::Suspended, State::Revoked, State::Deleted];

    /// The state as one byte of a stored record.
    pub fn from_byte(byte: u8) -> Option<State> {
        State::ALL.into_iter().find(|state| *state as u8 == byte)
    }

    /// `Composition.status` of a certificate in this state. A deleted one has no resource to show; its drafts said `preliminary`.
    pub fn status(self) -> Status {
        match self {
            State::Draft | State::Deleted => Status::Preliminary,
            State::Completed => Status::Final,
            State::Suspended => Status::Cancelled,
            State::Revoked => Status::EnteredInError,
        }
    }

    /// The state's own name, for messages in Estonian. Source: specification, section 3.
    pub fn name(self) -> &'static str {
        match self {
            State::Draft => "Mustand",
            State::Completed => "Lõpetatud",
            State::Suspended => "Peatatud",
            State::Revoked => "Tühistatud",
            State::Deleted => "Kustutatud",
        }
    }

    /// The state in words, for messages in English.
    pub fn word(self) -> &'static str {
        match self {
            State::Draft => "a draft (Mustand)",
            State::Completed => "completed (Lõpetatud)",
            State::Suspended => "suspended (Peatatud)",
            State::Revoked => "revoked (Tühistatud)",
            State::Deleted => "deleted (Kustutatud)",
        }
    }
}

/// The values of `Composition.status` that a certificate can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// FHIR code `preliminary`, of a draft.
    Preliminary,
    /// FHIR code `final`, of a completed certificate.
    Final,
    /// FHIR code `cancelled`, of a suspended certificate.
    Cancelled,
    /// FHIR code `entered-in-error`, of a revoked certificate.
    EnteredInError,
}

impl Status {
    /// Every status, in the order of the states.
    pub const ALL: [Status; 4] = [Status::Preliminary, Status::Final, Status::Cancelled, Status::EnteredInError];

    /// The FHIR code.
    pub fn code(self) -> &'static str {
        match self {
            Status::Preliminary => "preliminary",
            Status::Final => "final",
            Status::Cancelled => "cancelled",
            Status::EnteredInError => "entered-in-error",
        }
    }

    /// The status of a FHIR code; nothing for a code that no certificate can have.
    pub fn parse(code: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.code() == code)
    }

    /// The state a stored certificate of this status is in.
    pub fn state(self) -> State {
        match self {
            Status::Preliminary => State::Draft,
            Status::Final => State::Completed,
            Status::Cancelled => State::Suspended,
            Status::EnteredInError => State::Revoked,
        }
    }
}

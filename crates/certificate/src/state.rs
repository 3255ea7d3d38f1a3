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
        self.names().status
    }

    /// The state's own name, for messages in Estonian. Source: specification, section 3.
    pub fn name(self) -> &'static str {
        self.names().estonian
    }

    /// The state in words, for messages in English.
    pub fn word(self) -> &'static str {
        self.names().english
    }

    fn names(self) -> &'static StateNames {
        &NAMES[self as usize - 1]
    }
}

/// What a state is called everywhere: in FHIR, in Estonian, and in English messages.
struct StateNames {
    state: State,
    status: Status,
    estonian: &'static str,
    english: &'static str,
}

/// Source: specification, section 3; Contract 3.1. The rows have the order of [`State::ALL`].
#[rustfmt::skip]
static NAMES: [StateNames; 5] = [
    names(State::Draft,     Status::Preliminary,    "Mustand",    "a draft (Mustand)"),
    names(State::Completed, Status::Final,          "Lõpetatud",  "completed (Lõpetatud)"),
    names(State::Suspended, Status::Cancelled,      "Peatatud",   "suspended (Peatatud)"),
    names(State::Revoked,   Status::EnteredInError, "Tühistatud", "revoked (Tühistatud)"),
    names(State::Deleted,   Status::Preliminary,    "Kustutatud", "deleted (Kustutatud)"),
];

const fn names(state: State, status: Status, estonian: &'static str, english: &'static str) -> StateNames {
    StateNames { state, status, estonian, english }
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
        // The first row of a status: a draft, and not a deleted one.
        let row = NAMES.iter().find(|names| names.status == self);
        row.expect("the table has a row for each status").state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_names_has_each_state_in_its_order() {
        assert_eq!(NAMES.each_ref().map(|names| names.state), State::ALL);
        for status in Status::ALL {
            assert_eq!(status.state().status(), status);
        }
        assert_eq!(Status::Preliminary.state(), State::Draft);
    }
}

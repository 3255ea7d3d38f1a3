//! How the registry is, for whoever watches the service.

/// The registry at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryHealth {
    /// It lies in the store, and is as well as that.
    Embedded,
    /// It is another system.
    Remote {
        breaker: BreakerState,
        credential: CredentialState,
        remembered: RememberedAnswers,
        /// Why its last answer was none; `None` when it was one, or it was not asked yet.
        last_problem: Option<String>,
    },
}

/// Whether questions go to the other system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// They do.
    Closed,
    /// It failed again and again, and is left alone.
    Open,
    /// Its rest is over: one question tries.
    HalfOpen,
}

/// The state of the service's own credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialState {
    /// The registry accepted it last, or was not asked with it yet.
    Accepted,
    /// The registry refused it last: requests that the service makes for itself fail.
    Refused,
    /// Its file cannot be read; the last token stays in use, and the registry accepts it.
    Unreadable,
}

/// What is remembered of its answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RememberedAnswers {
    pub entries: u64,
    /// How often an answer was looked for and found.
    pub found: u64,
    /// And not found.
    pub missed: u64,
}

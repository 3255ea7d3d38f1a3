//! The way of the service from its start to its end.

/// How far the service is on its way from its start to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServicePhase {
    /// The data folder is being opened.
    Opening,
    Serving,
    /// It is going to take no more connections, or takes none any more; requests under way are finished.
    Draining,
    /// The data folder is being let go.
    Closing,
}

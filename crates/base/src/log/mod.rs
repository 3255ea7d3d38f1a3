//! What the service says of itself: the table of events, the line of each answered request, and how much of both is written.
//! `cli::log` writes the lines.

mod answered;
mod control;
pub mod events;
mod shown;

pub use crate::event;
pub use answered::{ANSWERS, AnsweredRequest, RefusalReason, answered, sample, set_sample};
pub use control::{LEVELS, LogOrder, LogState, change, install};
pub use shown::shown;
pub use tracing;

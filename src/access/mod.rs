//! Who calls, and what they may see and do.
//!
//! A verified token becomes an [`Identity`]; no module behind `http` looks at tokens. What their roles permit becomes filters on rows.

pub mod identity;
pub mod limits;
pub mod rights;
pub mod token;

pub use identity::Identity;
pub use token::{KeySet, RefusedToken, Tokens};

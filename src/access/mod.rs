//! Who calls, and what they may see and do.
//!
//! A verified token becomes an [`Identity`]; nobody behind the door looks at tokens.

pub mod identity;
pub mod token;

pub use identity::Identity;
pub use token::{Refused, Tokens};

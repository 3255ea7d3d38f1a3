//! One screen per file.

pub(super) mod access;
pub(super) mod api;
pub(super) mod audit;
mod builder;
pub(super) mod certificate;
pub(super) mod certificates;
pub(super) mod change;
mod diagram;
pub(super) mod documents;
pub(super) mod faults;
pub(super) mod health;
pub(super) mod patients;
mod plan;
pub(super) mod print;
pub(super) mod settings;
pub(super) mod sign_in;
pub(super) mod start;
pub(super) mod terminology;
pub(super) mod traffic;
pub(super) mod validate;

use super::visit::Visit;
use crate::http::pages::PageAnswer;

/// Lets those through who keep the service: whoever may read the audit trail.
async fn for_keepers(visit: &Visit<'_>, title: &str) -> Result<(), PageAnswer> {
    let answer = visit.get("/AuditEvent?_count=0").await;
    visit.resource(&answer, title).map(drop)
}

/// Percent-encoded, for a part of an address.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

//! The values of a line under the names of the Elastic Common Schema.
//!
//! Source: ECS 8.17, field sets `error`, `event`, `http`. What the schema has no name for is named below `hcert`.

/// Version of the schema that the names are of.
pub const ECS_VERSION: &str = "8.17.0";

/// Our name of a value, and the schema's.
#[rustfmt::skip]
pub const NAMES: &[(&str, &str)] = &[
    ("method",  "http.request.method"),
    ("request", "http.request.id"),
    ("status",  "http.response.status_code"),
    ("us",      "event.duration"),
    ("code",    "error.code"),
    ("issue",   "error.id"),
    ("cause",   "error.message"),
    ("error",   "error.message"),
    ("problem", "error.message"),
];

/// The name of a value that the schema has none for.
pub const OWN: &str = "hcert.";

/// The schema's name, if it has one.
pub fn name(own: &str) -> Option<&'static str> {
    NAMES.iter().find(|(name, _)| *name == own).map(|(_, name)| *name)
}

/// Times that a value is taken to be in the schema's unit: durations are nanoseconds there.
pub fn factor(own: &str) -> u128 {
    if own == "us" { 1_000 } else { 1 }
}

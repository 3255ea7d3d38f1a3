//! The values of a line under the names of the Elastic Common Schema.
//!
//! Source: ECS 8.17, field sets `client`, `error`, `event`, `http`. What the schema has no name for is named below `hcert`, but the id
//! of an X-Road message, which is X-Road's.

/// Version of the schema that the names are of.
pub(super) const ECS_VERSION: &str = "8.17.0";

/// Our name of a value, the schema's, and what it means.
#[rustfmt::skip]
pub(crate) const NAMES: &[(&str, &str, &str)] = &[
    ("status",    "http.response.status_code", "status of the answer"),
    ("us",        "event.duration",            "nanoseconds until the answer was made; microseconds in the text form"),
    ("ip",        "client.ip",                 "who sent the request; behind a trusted proxy, whom that names"),
    ("code",      "error.code",                "the code that decides the status ([ERRORS.md](ERRORS.md))"),
    ("issue",     "error.id",                  "`OperationOutcome.issue[0].id`, which the caller received"),
    ("x_road_id", "x_road.id",                 "`x-road-id`, unless it looks like a personal code"),
    ("action",    "event.action",              "what was asked for, as the audit trail names it"),
    ("request",   "http.request.id",           "`X-Request-Id` that the caller chose, unless it is the trace id or looks like a personal code"),
    ("cause",     "error.message",             "the cause, which the caller does not see"),
    ("error",     "error.message",             "the same"),
    ("problem",   "error.message",             "the same"),
];

/// The name of a value that the schema has none for.
pub(super) const OWN: &str = "hcert.";

/// The schema's name, if it has one.
pub(super) fn name(own: &str) -> Option<&'static str> {
    NAMES.iter().find(|(name, ..)| *name == own).map(|(_, name, _)| *name)
}

/// Times that a value is taken to be in the schema's unit: durations are nanoseconds there.
pub(super) fn factor(own: &str) -> u128 {
    if own == "us" { 1_000 } else { 1 }
}

//! `docs/LOGGING.md`, made of the tables that the log itself is made of.

use std::fmt::Write;

use crate::audit::AuditAction;
use crate::cli::limits::{LOG_CAUSE_BYTES_MAX, LOG_LINE_BYTES_MAX, LOG_REPEAT_WINDOW_S, LOG_REPEATS_MAX};
use crate::cli::log::NAMES;
use base::log::events::ALL;

/// The page as Markdown.
pub(super) fn page() -> String {
    let fields: String = NAMES.iter().map(|(own, name, what)| format!("| `{name}` | `{own}` | {what} |\n")).collect();
    let mut events: Vec<_> = ALL.iter().map(|(_, event)| event).collect();
    events.sort_by_key(|event| event.action);
    let mut rows = String::new();
    for event in events {
        let level = event.level.as_str().to_lowercase();
        // Writing to memory does not fail.
        let _ = writeln!(rows, "| `{}` | {level} | {} | {} |", event.action, event.message, event.when);
    }
    let mut actions: Vec<&str> = AuditAction::ALL.iter().map(|action| action.name()).collect();
    actions.sort_unstable();
    let actions: String = actions.iter().map(|action| format!("- `{action}`\n")).collect();
    format!(
        r#"<!-- Made by `hcert catalogue --page logging`; a test compares. -->

# The system log

For operators: every field and event of the lines on standard error, and every action of the audit trail. How to set
the log up and watch it stands in [MONITORING.md](MONITORING.md); the audit trail has [AUDIT.md](AUDIT.md).

## The line of a request

Each request writes one line: level `error` for a 500 with a cause, which is a fault of the service, `warn` for any
other 5xx, `info` for all else. Its `message` is the method and the route with its placeholders; it has no fields but these and `trace.id`. As JSON it takes at most
{LOG_LINE_BYTES_MAX} bytes, and the cause of a 5xx takes at most {LOG_CAUSE_BYTES_MAX} more. Moment, level, status, outcome, duration, address,
trace and `error.id` are always whole. Where the rest does not fit, a long `error.code` of another system, `x_road.id`, the message and
`http.request.id` are cut (`…` at the end), and `event.action` is left out. A request that nothing is known of, such as
one with too many headers, has `-` for method and route.

The cause of a 4xx is written at level `debug`. With `log.sample` = N, of the answers below status 400 one in N has
a line; failures are not sampled.

An example of a refusal:

```json
{{"@timestamp":"2026-11-22T08:00:00.123Z","log.level":"info","http.response.status_code":404,"event.outcome":"failure","event.duration":143000,"client.ip":"192.0.2.17","error.code":"HCERT-110","error.id":"0b7c1f3e-5d0a-4a52-9f38-6d3f5f0f6a01","trace.id":"4bf92f3577b34da6a3ce929d0e0e4736","message":"GET /Composition/{{id}}"}}
```

## Fields

The names are those of the Elastic Common Schema 8.17. A field that is not in this table is called `hcert.` and its name
in the text form. Every line has `@timestamp`, `log.level`, `message` and `event.outcome`: `success` or `failure` for
answers, else `failure` at level `error` and `unknown` otherwise. Lines that are not about an answer also have
`ecs.version`, `service.name`, `service.version`, `process.pid`, `process.thread.name`, `log.logger` (the module) and,
within a request, `trace.id` and `span.id`.

| Field | In the text form | Meaning |
|---|---|---|
{fields}
## Events

Lines of this service that are not about an answer. `event.action` is stable; messages may change.

A line that comes more than {LOG_REPEATS_MAX} times within {LOG_REPEAT_WINDOW_S} seconds (a warning or an error of one place, or refusals
with one code) is counted from then on. `log.repeated` tells the count (`hcert.count`) when the window ends or the
service stops.

| `event.action` | Level | Message | When, and what to do |
|---|---|---|---|
{rows}
Libraries write at level `warn` and `error` only, without `event.action`.

## Actions of the audit trail

They are in `AuditEvent`, and the line of a request has its own in `event.action`.

{actions}"#
    )
}

//! `docs/reference/api.md`: every request that the service answers, made of the table of interactions and of the CapabilityStatement.

use std::fmt::Write;

use super::markdown::{cell, wrapped};
use crate::access::rights::PermittedAction;
use crate::interaction::capabilities::capabilities;
use crate::interaction::operation_parameters::{self, ParameterDefinition};
use crate::interaction::table::{BodyContent, INTERACTIONS, InteractionRow, StatementEntry};
use crate::interaction::{DefinitionKind, InteractionKind, TokenPolicy};
use certificate::Names;
use certificate::search::paging::Counts;
use fhir::json::Json;

const ABOUT: &str = "\
# The API

For integrators: every request that the service answers, by resource type. The service tells the same about itself as a
CapabilityStatement, `GET /metadata`, and as OpenAPI, `GET /openapi.json`. Paths are those below `server.base_path` (by default `/fhir`). HEAD is answered
wherever GET is.

- What a certificate contains: [driver's certificate](driver-certificate.md),
  [occupational certificate](occupational-certificate.md).
- What refusals look like and what each code means: [ERRORS.md](../ERRORS.md).
- Requests to copy, with their answers: [call-with-curl.md](../how-to/call-with-curl.md).
- Who may do what: [ACCESS.md](../ACCESS.md). *Permission* is what a role needs in `permissions.json` for the request;
  where there is none, everybody may send it who is let in. *In the audit trail* is the action under which the request
  is recorded ([AUDIT.md](../AUDIT.md)).

## Headers

| Header | With | Effect |
|---|---|---|
| `Authorization: Bearer …` | all | who calls; `hcert serve` needs it everywhere but for `/metadata`, `/openapi.json` and `/.well-known/smart-configuration` |
| `Accept` | all | `application/fhir+json` or `application/json`; others get 406. `_format` in the query does the same |
| `Accept-Language` | all | `et` or `en`: the language of messages and names of codes |
| `Content-Type` | a body | `application/fhir+json` or `application/json`, for a search by POST `application/x-www-form-urlencoded`; else 415 |
| `Prefer: return=…` | create, update | `minimal` (no body, the default), `representation`, `OperationOutcome`. `$suspend` and `$cancel` answer with the certificate |
| `Prefer: handling=lenient` | searches | unknown parameters are ignored instead of refused |
| `If-Match: W/\"3\"` | update, delete, operations that change | 412 unless version 3 is the current one |
| `If-None-Match`, `If-Modified-Since` | read, vread | 304 where the caller has what there is |
| `If-None-Exist: identifier=<system>\\|<number>` | create | 200 with the certificate that has this number, instead of a second one |
| `x-hcert-fault: <codes>` | what asks the registry | in `hcert dev` alone: the registry fails with these codes ([ERRORS.md](../ERRORS.md)) |
| `x-hcert-explain: true` | searches of certificates | in `hcert dev` alone: the header `x-hcert-plan` of the answer says in JSON how the search was run and what rights left out |
| `X-Request-Id`, `traceparent` | all | come back, and are in the log and the audit trail |
| `x-road-…`, `x-author-id` | all | what an X-Road security server says of the caller; taken from the senders in `x_road.from` alone (in `hcert dev` from everybody), recorded as claimed, and of no effect on rights |

Answers about one certificate have `ETag` (the version) and `Last-Modified`. A create, an update, `$suspend` and
`$cancel` also answer with `Location`.

## Parameters of every answer

| Parameter | With | Effect |
|---|---|---|
| `_count`, `_page` | searches, histories | hits of a page, and its number from 1; a larger `_count` than the service allows is cut to it |
| `_sort` | searches | the order, by the keys that each resource type lists below |
| `_since`, `_at` | histories | versions from a moment on, and those that were current within a time |
| `_elements`, `_summary` | reads, searches | parts of the resource; mandatory elements always come |
| `_pretty`, `_format` | all | lines and indents for people; the format |

Another parameter that begins with `_` is ignored, and is missing in the link `self`; any other unknown parameter of a
search is refused.
";

const BESIDE: &str = "
Beside FHIR, from the root of the server:

| Request | What |
|---|---|
| `GET /openapi.json` | the API as OpenAPI 3.1, also below the base path, with a request in five languages for everything above; `hcert openapi` makes collections of it ([call-with-curl.md](../how-to/call-with-curl.md)) |
| `GET /.well-known/smart-configuration` | where tokens come from, also below the base path |
| `POST /auth/v2/token` | in `hcert dev` alone: a token for a role ([ACCESS.md](../ACCESS.md)) |
| `GET /.well-known/jwks.json` | in `hcert dev` alone: the key of these tokens |
| any below `/r1/{instance}/{memberClass}/{memberCode}/{subsystem}` | the same services as X-Road addresses them |

`OPTIONS` of any address above answers with `Allow`.
";

/// The whole file.
pub(super) fn page() -> String {
    let statement =
        capabilities("http://127.0.0.1:8080/fhir", &Names::default(), Counts::default(), &TokenPolicy::default());
    let rest = &statement.items("rest")[0];
    let mut text = "<!-- Made by `hcert catalogue --page api`; a test compares. -->\n\n".to_owned();
    text.push_str(ABOUT);
    let mut definitions = Vec::new();
    for resource in rest.items("resource") {
        let name = resource.text("type").unwrap_or_default();
        if DefinitionKind::ALL.iter().any(|kind| kind.name() == name) {
            definitions.push(resource);
            continue;
        }
        section(&mut text, name, name, resource);
    }
    let kinds: Vec<String> = DefinitionKind::ALL.iter().map(|kind| format!("`{}`", kind.name())).collect();
    if let Some(first) = definitions.first() {
        section(&mut text, "Definitions", "{definition}", first);
        let _ = writeln!(text, "\n`{{definition}}` is one of {}.", kinds.join(", "));
    }
    for name in ["CodeSystem", "ValueSet"] {
        let _ = writeln!(text, "\n## {name}\n");
        requests(&mut text, |first| first == name);
    }
    text.push_str("\n## The service itself\n\n");
    requests(&mut text, |first| matches!(first, "metadata" | "openapi.json"));
    text.push_str(BESIDE);
    text
}

/// A resource type: what it is, its requests, what is known of each, its search parameters.
fn section(text: &mut String, title: &str, path: &str, resource: &Json) {
    let about = wrapped(resource.text("documentation").unwrap_or_default(), "");
    let _ = writeln!(text, "\n## {title}\n\n{about}\n");
    requests(text, |first| first == path);
    let search = resource.items("interaction").iter().find(|entry| entry.text("code") == Some("search-type"));
    if let Some(documentation) = search.and_then(|search| search.text("documentation")) {
        item(text, "search-type", documentation);
    }
    text.push_str("\nSearch parameters:\n\n| Parameter | Type | Meaning |\n|---|---|---|\n");
    for parameter in resource.items("searchParam") {
        let word = |name| cell(parameter.text(name).unwrap_or_default());
        let _ = writeln!(text, "| `{}` | {} | {} |", word("name"), word("type"), word("documentation"));
    }
}

/// The requests whose paths begin so, and what the CapabilityStatement says of each interaction.
fn requests(text: &mut String, is_first: impl Fn(&str) -> bool) {
    let rows: Vec<&InteractionRow> = INTERACTIONS.iter().filter(|row| is_first(row.resource())).collect();
    text.push_str("| Request | Interaction | Body | Permission | In the audit trail |\n|---|---|---|---|---|\n");
    for row in &rows {
        // One row describes an interaction that several rows offer.
        let told = rows.iter().filter(|other| other.kind == row.kind).find_map(|row| row.told.as_ref());
        let name = match told {
            Some(StatementEntry::Interaction(code, _)) => format!("`{code}`"),
            Some(StatementEntry::Operation(name, ..)) => format!("`${name}`"),
            None if row.kind == InteractionKind::ApiDescription => "the API as OpenAPI".to_owned(),
            None => "`capabilities`".to_owned(),
        };
        let body = match row.body {
            Some(BodyContent::Resource) => "resource",
            Some(BodyContent::Form) => "form",
            None => "",
        };
        let permission = row.permission.map(permission).unwrap_or_default();
        let action = row.action.map(|action| format!("`{}`", action.name())).unwrap_or_default();
        let (method, path) = (row.method.name(), row.path);
        let _ = writeln!(text, "| `{method} {path}` | {name} | {body} | {permission} | {action} |");
    }
    let mut begins = true;
    for row in &rows {
        let (name, documentation) = match &row.told {
            Some(StatementEntry::Interaction(code, documentation)) => ((*code).to_owned(), *documentation),
            Some(StatementEntry::Operation(name, _, documentation)) => (format!("${name}"), *documentation),
            None => continue,
        };
        if documentation.is_empty() {
            continue;
        }
        let parameters: Vec<String> = operation_parameters::of(row.kind).iter().map(parameter).collect();
        let documentation = match parameters.is_empty() {
            true => documentation.to_owned(),
            false => format!("{documentation} Parameters: {}.", parameters.join(", ")),
        };
        // A list begins with an empty line.
        text.push_str(if begins { "\n" } else { "" });
        begins = false;
        item(text, &name, &documentation);
    }
}

/// One point of a list.
fn item(text: &mut String, name: &str, documentation: &str) {
    let _ = writeln!(text, "{}", wrapped(&format!("- `{name}`: {documentation}"), "  "));
}

/// `` `code` (text) ``
fn parameter(parameter: &ParameterDefinition) -> String {
    let repeats = if parameter.repeats { ", may repeat" } else { "" };
    format!("`{}` ({}{repeats})", parameter.name, parameter.kind.words())
}

/// `` `read` ``, as it is called in `permissions.json`.
fn permission(action: PermittedAction) -> String {
    let name = serde_json::to_string(&action).expect("a name is always a JSON");
    match action {
        // Of one request alone it is known only by its parameters which of the two it needs.
        PermittedAction::Count => "`search`; `count` where the number alone is asked for".to_owned(),
        _ => format!("`{}`", name.trim_matches('"')),
    }
}

//! An event as FHIR R5 `AuditEvent`.
//!
//! Source: FHIR R5 `auditevent.html`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{AuditAction, AuditEvent, AuthenticationMethod, Entity, Number, SystemUser};
use base::hex::Hex;
use certificate::Names;
use fhir::date_time;
use fhir::json::{Json, Object};
use fhir::outcome::reflected;

/// Code system of the interactions of FHIR.
pub const RESTFUL: &str = "http://hl7.org/fhir/restful-interaction";
const EVENT_TYPE: &str = "http://terminology.hl7.org/CodeSystem/audit-event-type";
const ENTITY_ROLE: &str = "http://terminology.hl7.org/CodeSystem/object-role";
/// Code system of `AuditEvent.outcome.code`.
pub const SEVERITY: &str = "http://hl7.org/fhir/issue-severity";

/// The event as a resource; its id is its number.
pub fn resource(number: Number, event: &AuditEvent, names: &Names) -> Vec<u8> {
    let mut resource = Object::default();
    let mut set = |name, value| resource.set(name, value);
    set("resourceType", Json::string("AuditEvent"));
    set("id", Json::string(number.0.to_string()));
    set("category", list([concept([coding(EVENT_TYPE, category(event.action))])]));
    set("code", code(event.action, names));
    set("action", Json::string(event.action.letter()));
    set("severity", Json::string(severity(event)));
    let at = date_time::instant(event.at);
    set("occurredDateTime", Json::string(at.clone()));
    set("recorded", Json::string(at));
    set("outcome", outcome(event, names));
    if let Some(patient) = event.patients.first().filter(|_| event.patients.len() == 1) {
        set("patient", reference(format!("Patient/{patient}")));
    }
    set("agent", Json::Array(agents(event, names)));
    set("source", Json::object([("observer", Json::object([("display", Json::string("hcert"))]))]));
    let entities = entities(event, names);
    if !entities.is_empty() {
        set("entity", Json::Array(entities));
    }
    Json::Object(resource).to_vec()
}

fn code(action: AuditAction, names: &Names) -> Json<'static> {
    let own = coding(&action_system(names), action.name());
    match action.interaction() {
        Some(interaction) => concept([own, coding(RESTFUL, interaction)]),
        None => concept([own]),
    }
}

/// Code system of our own names of actions.
pub fn action_system(names: &Names) -> String {
    format!("{}/CodeSystem/audit-action", names.hcert_ns)
}

fn category(action: AuditAction) -> &'static str {
    use AuditAction::*;
    match action {
        AuditRetention | AuditRepaired => "object",
        _ if action.interaction().is_some() || action == DefinitionRead => "rest",
        _ => "object",
    }
}

fn severity(event: &AuditEvent) -> &'static str {
    match event.status {
        500.. => "error",
        400.. => "warning",
        _ => "informational",
    }
}

fn outcome(event: &AuditEvent, names: &Names) -> Json<'static> {
    let mut outcome = Object::default();
    outcome.set("code", coding(SEVERITY, if event.is_refused() { "error" } else { "success" }));
    let mut details = Vec::new();
    if let Some(code) = &event.code {
        let mirrored = reflected::find(code).map(|entry| names.issue_systems.of(entry.system));
        details.push(concept([coding(mirrored.unwrap_or(&names.hcert_issue_system), code)]));
    }
    if event.status > 0 {
        details.push(Json::object([("text", Json::string(format!("HTTP {}", event.status)))]));
    }
    if let Some(reason) = &event.reason {
        details.push(concept([coding(&format!("{}/CodeSystem/token-refusal", names.hcert_ns), reason)]));
    }
    details.extend(event.note.clone().map(|note| Json::object([("text", Json::string(note))])));
    if !details.is_empty() {
        outcome.set("detail", Json::Array(details));
    }
    Json::Object(outcome)
}

/// The person first, then their institution.
fn agents(event: &AuditEvent, names: &Names) -> Vec<Json<'static>> {
    let AuditEvent { who, from, method, .. } = event;
    let mut person = Object::default();
    let name = [&who.given_name, &who.family_name].into_iter().flatten().cloned().collect::<Vec<_>>().join(" ");
    let mut named = Object::default();
    match (&who.person, &who.operator) {
        (Some(code), _) => named.set("identifier", identifier(names.identifiers.estonian_code(), code)),
        (None, Some(SystemUser { uid, name })) => {
            let system = format!("{}/operator", names.hcert_ns);
            let value = name.clone().unwrap_or_else(|| uid.to_string());
            named.set("identifier", identifier(&system, &value));
        }
        (None, None) => {}
    }
    let shown = if name.is_empty() { who.application.clone().unwrap_or_default() } else { name };
    match (shown.is_empty(), who.person.is_some()) {
        (false, _) => named.set("display", Json::string(shown)),
        (true, false) => named.set("display", Json::string("nobody known")),
        (true, true) => {}
    }
    if !who.roles.is_empty() {
        let role = |role: &String| concept([coding(&format!("{}/CodeSystem/role", names.hcert_ns), role)]);
        person.set("role", Json::Array(who.roles.iter().map(role).collect()));
    }
    person.set("who", Json::Object(named));
    person.set("requestor", Json::Bool(true));
    if let Some(ip) = &from.ip {
        person.set("networkString", Json::string(ip.clone()));
    }
    let method = match method {
        AuthenticationMethod::None => None,
        AuthenticationMethod::Token => Some("token"),
        AuthenticationMethod::Socket => Some("socket"),
    };
    if let Some(method) = method {
        person.set("authorization", list([Json::object([("text", Json::string(method))])]));
    }
    let mut agents = vec![Json::Object(person)];
    for (code, role) in [(&who.organization, "organization"), (&who.represented_party, "represented-party")] {
        let Some(code) = code else { continue };
        let identifier = identifier(names.identifiers.institution(), code);
        agents.push(Json::object([
            ("role", list([concept([coding(&format!("{}/CodeSystem/audit-role", names.hcert_ns), role)])])),
            ("who", Json::object([("type", Json::string("Organization")), ("identifier", identifier)])),
            ("requestor", Json::Bool(false)),
        ]));
    }
    agents
}

/// Certificates, patients, what was searched for, and what ties the request to others.
fn entities(event: &AuditEvent, names: &Names) -> Vec<Json<'static>> {
    let mut entities: Vec<Json> = event.entities.iter().chain(&event.absent).map(certificate).collect();
    entities.extend(event.patients.iter().map(|patient| {
        let role = concept([coding(ENTITY_ROLE, "1")]);
        Json::object([("what", reference(format!("Patient/{patient}"))), ("role", role)])
    }));
    entities.extend(event.identifiers.iter().map(|known| {
        let what = match known.split_once('|') {
            Some((system, value)) if !system.is_empty() => identifier(system, value),
            _ => Json::object([("value", Json::string(known.trim_start_matches('|').to_owned()))]),
        };
        Json::object([("what", Json::object([("identifier", what)]))])
    }));
    entities.extend(event.organizations.iter().map(|code| {
        let identifier = identifier(names.identifiers.institution(), code);
        Json::object([("what", Json::object([("type", Json::string("Organization")), ("identifier", identifier)]))])
    }));
    if let Some(query) = &event.query {
        let role = concept([coding(ENTITY_ROLE, "24")]);
        entities.push(Json::object([("role", role), ("query", Json::string(STANDARD.encode(query)))]));
    }
    let change = event.change.map(|seq| seq.to_string());
    let entry = event.entry.map(|hash| hash.to_string());
    let query_hash = event.query_hash.map(|hash| Hex(&hash).to_string());
    let operator = event.who.operator.as_ref().map(|operator| operator.uid.to_string());
    let trace = Some(event.trace.clone()).filter(|trace| !trace.is_empty());
    let from = &event.from;
    let details = [
        ("request", &trace),
        ("session", &event.who.session),
        ("application", &event.who.application),
        ("x-road-client", &from.x_road_client),
        ("x-road-id", &from.x_road_id),
        ("x-road-issue", &from.x_road_issue),
        ("x-road-userid", &from.x_road_user),
        ("x-road-dropped", &from.x_road_dropped),
        ("query-sha256", &query_hash),
        ("operator-uid", &operator),
        ("change", &change),
        ("change-sha256", &entry),
    ];
    let details: Vec<Json> = details
        .into_iter()
        .filter_map(|(name, value)| {
            let kind = concept([coding(&format!("{}/CodeSystem/audit-detail", names.hcert_ns), name)]);
            Some(Json::object([("type", kind), ("valueString", Json::string(value.clone()?))]))
        })
        .collect();
    if !details.is_empty() {
        entities.push(Json::object([("detail", Json::Array(details))]));
    }
    entities
}

fn certificate((id, version): &Entity) -> Json<'static> {
    let address = match version {
        Some(version) => format!("Composition/{id}/_history/{version}"),
        None => format!("Composition/{id}"),
    };
    Json::object([("what", reference(address)), ("role", concept([coding(ENTITY_ROLE, "3")]))])
}

fn reference(address: String) -> Json<'static> {
    Json::object([("reference", Json::string(address))])
}

fn identifier(system: &str, value: &str) -> Json<'static> {
    Json::object([("system", Json::string(system.to_owned())), ("value", Json::string(value.to_owned()))])
}

fn coding(system: &str, code: &str) -> Json<'static> {
    Json::object([("system", Json::string(system.to_owned())), ("code", Json::string(code.to_owned()))])
}

fn concept<const N: usize>(codings: [Json<'static>; N]) -> Json<'static> {
    Json::object([("coding", list(codings))])
}

fn list<const N: usize>(items: [Json<'static>; N]) -> Json<'static> {
    Json::Array(items.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{EventAgent, RequestSource};
    use certificate::{Id, Seq, Version};
    use fhir::{json, shape};

    fn names() -> Names {
        Names::default()
    }

    fn full() -> AuditEvent {
        let text = |text: &str| Some(text.to_owned());
        AuditEvent {
            at: 1_793_000_000_123,
            action: AuditAction::CompositionSearch,
            who: EventAgent {
                person: text("47101010033"),
                given_name: text("Mari"),
                family_name: text("Maasikas"),
                roles: vec!["doctor".into()],
                organization: text("90006399"),
                represented_party: text("10000001"),
                application: text("clinic"),
                session: text("0123456789abcdef"),
                operator: Some(SystemUser { uid: 1_001, name: text("mari") }),
            },
            from: RequestSource {
                ip: text("192.0.2.7"),
                x_road_client: text("ee-dev/COM/90006399/clinic"),
                x_road_id: text("5a1f"),
                x_road_issue: text("17"),
                x_road_user: text("EE47101010033"),
                x_road_dropped: text("x-author-id"),
            },
            trace: "abc".into(),
            status: 403,
            code: text("HCERT-179"),
            method: AuthenticationMethod::Token,
            entities: vec![(Id::FIRST, Version::new(2))],
            absent: vec![(Id::FIRST.next(), None)],
            patients: vec!["200".into()],
            identifiers: vec!["https://fhir.ee/sid/pid/est/ni|48703129419".into(), "17".into()],
            organizations: vec!["16978044".into()],
            query: text("status=final"),
            query_hash: Some([0xab; 32]),
            reason: text("expired"),
            change: Some(Seq(9)),
            entry: None,
            note: None,
        }
    }

    #[test]
    fn a_code_is_told_with_the_system_that_it_is_of() {
        let system = |code: &str| {
            let event = AuditEvent { code: Some(code.to_owned()), ..full() };
            outcome(&event, &names()).items("detail")[0].items("coding")[0].text("system").map(str::to_owned)
        };
        assert_eq!(system("HCERT-179").as_deref(), Some("https://hcert.tehik.ee/issue"));
        assert_eq!(system("MPI-025").as_deref(), Some("https://mpi.tehik.ee"));
    }

    fn checked(event: &AuditEvent) -> String {
        let bytes = resource(Number(41), event, &names());
        let mut read = json::parse(&bytes).expect("it is FHIR's JSON");
        shape::expect(&mut read, "AuditEvent").expect("it has R5's shape");
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn an_event_with_everything_has_the_shape_of_r5_and_hides_nothing() {
        let told = checked(&full());
        for part in [
            r#""id":"41""#,
            r#""code":"composition.search""#,
            r#""code":"search-type""#,
            r#""severity":"warning""#,
            r#""code":"HCERT-179""#,
            r#""text":"HTTP 403""#,
            r#"/sid/pid/est/ni","value":"47101010033""#,
            r#""display":"Mari Maasikas""#,
            r#"/sid/org/est/br","value":"90006399""#,
            r#""value":"10000001""#,
            r#""networkString":"192.0.2.7""#,
            r#""reference":"Composition/1/_history/2""#,
            r#""reference":"Composition/2""#,
            r#""patient":{"reference":"Patient/200"}"#,
            r#""query":"c3RhdHVzPWZpbmFs""#,
            r#"/sid/pid/est/ni","value":"48703129419""#,
            r#""what":{"identifier":{"value":"17"}}"#,
            r#"/sid/org/est/br","value":"16978044""#,
            r#""code":"expired""#,
            r#""valueString":"abababab"#,
            r#""valueString":"1001""#,
            r#""valueString":"5a1f""#,
            r#""valueString":"0123456789abcdef""#,
        ] {
            assert!(told.contains(part), "{part} is not in {told}");
        }
    }

    #[test]
    fn every_action_with_nothing_else_has_the_shape_of_r5() {
        for action in AuditAction::ALL {
            let told = checked(&AuditEvent::new(*action, 0));
            assert!(told.contains(&format!(r#""code":"{}""#, action.name())), "{told}");
            assert!(told.contains(r#""display":"nobody known""#));
        }
    }
}

//! Every access leaves one event. Contract 7.8.

use serde_json::json;

use crate::body::Body;
use crate::server::{REQUEST_ID, Server};

/// What the newest event tells, in short: action, status, code, certificates, patients.
fn newest(server: &Server) -> (String, u16, String, String, String) {
    let event = server.events().pop().expect("an event");
    assert_eq!(event.trace, REQUEST_ID);
    let entities = event.entities.iter().chain(&event.absent).map(|(id, version)| match version {
        Some(version) => format!("{id}/{version}"),
        None => id.to_string(),
    });
    let entities = entities.collect::<Vec<_>>().join(" ");
    (event.action.name().to_owned(), event.status, event.code.unwrap_or_default(), entities, event.patients.join(" "))
}

#[tokio::test]
async fn a_search_of_a_damaged_trail_says_that_events_may_be_missing() {
    let server = Server::start().await;
    server.create(Body::draft()).await;
    let outcomes = |told: &serde_json::Value| {
        let entries = told["entry"].as_array().cloned().unwrap_or_default();
        let outcomes = entries.into_iter().filter(|entry| entry["search"]["mode"] == "outcome");
        outcomes.map(|entry| entry["resource"]["issue"][0].clone()).collect::<Vec<_>>()
    };
    let search = "AuditEvent?action=composition.create";
    let whole = server.get(search).await.expect(200).json();
    assert!(outcomes(&whole).is_empty());
    server.doubt_trail("000000000000.audit: events in it cannot be read");
    let told = server.get(search).await.expect(200).json();
    let issues = outcomes(&told);
    assert_eq!((&told["total"], issues.len()), (&whole["total"], 1), "{told}");
    assert_eq!((&issues[0]["severity"], &issues[0]["code"]), (&json!("warning"), &json!("incomplete")));
    assert!(issues[0].to_string().contains("HCERT-245") && issues[0].to_string().contains("cannot be read"), "{told}");
}

#[tokio::test]
async fn every_way_and_every_outcome_leaves_one_event() {
    let server = Server::start().await;
    let reason = || Body::reason("põhjus");
    let consent =
        json!({"resourceType": "Parameters", "parameter": [{"name": "doctor", "valueString": "closed"}]}).to_string();
    type Row<'r> = (&'r str, &'r str, Option<Vec<u8>>, &'r str, u16, &'r str, &'r str, &'r str);
    #[rustfmt::skip]
    let story: Vec<Row> = vec![
        ("POST",   "Composition",                Some(Body::draft().into()),     "composition.create",       201, "",          "1/1", "200"),
        ("POST",   "Composition",                Some(b"{".to_vec()),            "composition.create",       400, "HCERT-102", "",    ""),
        ("GET",    "Composition/1",              None,                           "composition.read",         200, "",          "1/1", ""),
        ("HEAD",   "Composition/1",              None,                           "composition.read",         200, "",          "1/1", ""),
        ("GET",    "Composition/9",              None,                           "composition.read",         404, "HCERT-127", "9",   ""),
        ("GET",    "Composition/1/_history/1",   None,                           "composition.vread",        200, "",          "1/1", ""),
        ("GET",    "Composition/1/_history/5",   None,                           "composition.vread",        404, "HCERT-128", "1/5", ""),
        ("PUT",    "Composition/1",              Some(Body::completed().into()), "composition.update",       200, "",          "1/2", "200"),
        ("DELETE", "Composition/1",              None,                           "composition.delete",       409, "HCERT-133", "1",   ""),
        ("GET",    "Composition/1/_history",     None,                           "composition.history",      200, "",          "1/2 1/1", ""),
        ("GET",    "Composition/_history",       None,                           "composition.history-type", 200, "",          "1/2 1/1", ""),
        ("GET",    "Composition?status=final",   None,                           "composition.search",       200, "",          "1/2", ""),
        ("GET",    "Composition?colour=red",     None,                           "composition.search",       400, "HCERT-118", "",    ""),
        ("POST",   "Composition/$validate",      Some(Body::draft().into()),     "composition.validate",     200, "",          "",    "200"),
        ("GET",    "Composition/1/$get-consent", None,                           "consent.get",              200, "",          "1",   ""),
        ("POST",   "Composition/1/$set-consent", Some(consent.clone().into()),   "consent.set",              200, "",          "1/2", "200"),
        ("POST",   "Composition/1/$set-consent", Some(consent.into()),           "consent.set",              200, "",          "1",   ""),
        ("POST",   "Composition/1/$suspend",     Some(reason().into()),          "composition.suspend",      200, "",          "1/3", "200"),
        ("POST",   "Composition/1/$cancel",      Some(reason().into()),          "composition.cancel",       200, "",          "1/4", "200"),
        ("POST",   "Composition/1/$cancel",      Some(reason().into()),          "composition.cancel",       409, "HCERT-133", "1",   ""),
        ("POST",   "Composition",                Some(Body::draft().into()),     "composition.create",       201, "",          "2/1", "200"),
        ("DELETE", "Composition/2",              None,                           "composition.delete",       204, "",          "2/2", "200"),
        ("DELETE", "Composition/2",              None,                           "composition.delete",       204, "",          "2",   ""),
        ("GET",    "Patient/200",                None,                           "patient.read",             200, "",          "",    "200"),
        ("GET",    "Patient/200/_history/1",     None,                           "patient.vread",            200, "",          "",    "200"),
        ("GET",    "Patient/200/_history",       None,                           "patient.history",          200, "",          "",    "200"),
        ("GET",    "Patient?_id=200,201",        None,                           "patient.search",           200, "",          "",    "200 201"),
        ("GET",    "Patient/999",                None,                           "patient.read",             404, "MPI-072",   "",    "999"),
        ("GET",    "CodeSystem",                 None,                           "definition.read",          200, "",          "",    ""),
        ("GET",    "nothing",                    None,                           "unknown",                  404, "HCERT-126", "",    ""),
        ("PATCH",  "Composition/1",              None,                           "unknown",                  405, "HCERT-129", "1",   ""),
    ];
    for (method, path, body, action, status, code, entities, patients) in story {
        let before = server.events().len();
        let asked = server.ask(method, path);
        let told = match body {
            Some(body) => asked.body(body).await,
            None => asked.await,
        };
        assert_eq!(told.status.as_u16(), status, "{told}");
        let expected = (action.to_owned(), status, code.to_owned(), entities.to_owned(), patients.to_owned());
        assert_eq!(newest(&server), expected, "{method} {path}");
        assert_eq!(server.events().len(), before + 1, "{method} {path}");
    }
    let not_modified = server.get("Composition/1").header("If-None-Match", "W/\"4\"").await.expect(304);
    assert!(not_modified.body.is_empty());
    assert_eq!(newest(&server), ("composition.read".into(), 304, String::new(), "1/4".into(), String::new()));
    let before = server.events().len();
    server.get("metadata").await.expect(200);
    server.ask("OPTIONS", "Composition").await.expect(204);
    assert_eq!(server.events().len(), before, "what everybody may know is nobody's data");
}

#[tokio::test]
async fn the_trail_is_asked_as_audit_events() {
    let server = Server::start().await;
    let certificate = server.create(Body::completed()).await;
    server.create(Body::draft()).await;
    for _ in 0..3 {
        server.get(&certificate).await.expect(200);
    }
    server.get("Composition/9").await.expect(404);
    let asked = |query: &str| server.get(&format!("AuditEvent?{query}"));
    // Each of these names whom it asks for, and is found by the next one that asks for the same.
    for (query, total) in [
        ("entity=Composition/1", 4),
        ("entity=Composition/1&action=composition.read", 3),
        ("entity=Composition/1/_history/1", 4),
        ("patient=Patient/200&action=composition.create", 2),
        ("outcome=refused", 1),
        ("outcome=HCERT-127", 1),
        ("outcome=404", 1),
        ("date=ge2025-01-13&action=composition.create", 2),
        ("date=lt2025-01-01", 0),
        ("agent=48001010001", 0),
        ("action=C", 2),
        ("action=http://hl7.org/fhir/audit-event-action|C&entity=Composition/1", 1),
        ("code=http://hl7.org/fhir/restful-interaction|create", 2),
        ("outcome=http://hl7.org/fhir/issue-severity|error", 1),
        ("outcome=success&entity=Composition/1&action=composition.create,composition.read", 4),
        ("outcome=fatal", 0),
        ("entity=Patient/200&action=composition.create", 2),
        ("entity=http://127.0.0.1:8080/fhir/Composition/1&action=composition.create,composition.read", 4),
        ("entity=Observation/1", 0),
        ("entity=Patient/200/_history/1&action=composition.create", 2),
    ] {
        let told = asked(query).await.expect(200).json();
        assert_eq!((&told["type"], &told["total"]), (&json!("searchset"), &json!(total)), "{query}");
    }
    let page = asked("entity=Composition/1&_count=1&_sort=date").await.expect(200);
    assert!(page.link("next").is_some());
    let event = page.json()["entry"][0]["resource"].clone();
    assert_eq!(event["resourceType"], "AuditEvent");
    let id = event["id"].as_str().expect("an id").to_owned();
    assert_eq!(server.get(&format!("AuditEvent/{id}")).await.expect(200).json(), event);
    server.get("AuditEvent/99999").await.refused(404, &["HCERT-127"]);
    server.get("AuditEvent/abc").await.refused(404, &["HCERT-127"]);
    asked("colour=red").await.refused(400, &["HCERT-118"]);
    // Who looks at the trail is in the trail.
    let last = server.events().pop().expect("an event");
    assert_eq!((last.action.name(), last.status), ("audit.search", 400));
}

#[tokio::test]
async fn an_event_says_who_by_which_token_and_what_they_looked_for() {
    let server = Server::start().await;
    let doctor = server.token("doctor", json!({"application": "clinic"})).await;
    let issue = server.events().pop().expect("an event");
    assert_eq!((issue.action.name(), issue.status), ("token.issue", 200));
    assert_eq!(issue.who.person.as_deref(), Some("37605030299"));
    server.get("Composition?subject=Patient/200").header("Authorization", &doctor).await.expect(200);
    let event = server.events().pop().expect("an event");
    assert_eq!(event.who.person.as_deref(), Some("37605030299"));
    assert_eq!((event.who.roles, event.who.organization.as_deref()), (vec!["doctor".to_owned()], Some("90006399")));
    assert_eq!(event.query.as_deref(), Some("subject=Patient/200"));
    let session = event.who.session.expect("a session");
    server.search_by_form("status=final").header("Authorization", &doctor).await.expect(200);
    let event = server.events().pop().expect("an event");
    assert_eq!(event.query.as_deref(), Some("status=final"));
    assert_eq!(event.who.session.as_deref(), Some(&*session));
    server.get("Composition/1").header("Authorization", "Bearer x").await.refused(401, &["HCERT-177"]);
    let event = server.events().pop().expect("an event");
    assert_eq!((event.status, event.code.as_deref(), event.who.person), (401, Some("HCERT-177"), None));
    assert_eq!((event.action.name(), event.absent.len()), ("token.refused", 1));
    let patient = server.token_of("39406240015", "patient", json!({})).await;
    server.get("Composition?status=preliminary").header("Authorization", &patient).await.refused(403, &["HCERT-179"]);
    let event = server.events().pop().expect("an event");
    assert_eq!((event.status, event.who.person.as_deref()), (403, Some("39406240015")));
}

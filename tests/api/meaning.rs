//! The event of a request names whom the request was about, whatever it found. Contract 7.8.

use std::collections::BTreeSet;
use std::net::IpAddr;

use hcert::audit::AuditAction;
use hcert::config::AccessMode;
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use serde_json::json;

use crate::body::Body;
use crate::server::{START, Server};

/// Everything here is about this patient, by id and by code.
const ID: &str = "201";
const CODE: &str = "48703129419";
const SYSTEM: &str = "https://fhir.ee/sid/pid/est/ni";

/// A draft about the patient.
fn draft() -> Body {
    Body::draft().with("/subject/0", json!({"reference": "Patient/201"}))
}

/// A draft about the patient by code.
fn draft_by_code() -> Body {
    Body::draft().with("/subject/0", json!({"identifier": {"system": SYSTEM, "value": CODE}}))
}

/// Whether the newest event is found by id and by code, and what was done.
fn is_found(server: &Server) -> (AuditAction, bool, bool) {
    let event = server.events().pop().expect("an event");
    (event.action, server.concerns(&event, ID), server.concerns(&event, CODE))
}

#[tokio::test]
async fn the_event_of_every_interaction_names_the_patient_it_is_about_whatever_is_found() {
    let server = Server::start().await;
    server.create(draft()).await;
    server.create(draft()).await;
    let other = "urn:other|1";
    let form = |text: &str| Some(("application/x-www-form-urlencoded", text.to_owned()));
    let resource = |body: Body| Some(("application/fhir+json", String::from_utf8(body.into()).expect("JSON")));
    let text = |text: &str| Some(("application/fhir+json", text.to_owned()));
    let wrong = |body: Body| resource(body.with("/status", json!("nonsense")));
    let consent = json!({"resourceType": "Parameters", "parameter": [{"name": "doctor", "valueString": "closed"}]});
    let inner = json!({"resourceType": "Parameters", "parameter": [{"name": "resource", "resource": draft().json()}]});
    let padded = |name: &str, end: &str| format!("{name}{}&{end}", "&".repeat(15_000));
    let elements = format!("Composition?_elements={}&_count=0&subject=Patient/201", "section,".repeat(1_900));
    type Row = (&'static str, String, Option<(&'static str, String)>);
    let row = |method: &'static str, path: &str, body| -> Row { (method, path.to_owned(), body) };
    let rows: Vec<Row> = vec![
        // The nine of the review, and those of the padded query.
        row("GET", "Composition?subject=Patient/201&_count=0", None),
        row("GET", "Composition?subject=Patient/201&_summary=count", None),
        row("GET", &format!("Composition?subject:Patient.identifier={SYSTEM}|{CODE}&_count=0"), None),
        row("GET", "Composition?subject=Patient/201&status=cancelled", None),
        row("POST", "Composition/$validate", resource(draft())),
        row("POST", "Composition", wrong(draft())),
        row("GET", &format!("Patient?identifier={CODE}&_summary=count"), None),
        row("GET", &format!("Patient?identifier={CODE}&_count=0"), None),
        row("GET", "Patient/201/_history?_count=0", None),
        row("GET", &elements, None),
        row("GET", &padded("Composition?_pretty=false", &format!("_count=0&subject:Patient.identifier={CODE}")), None),
        row("GET", &padded("Patient?_pretty=false", &format!("_count=0&identifier={CODE}")), None),
        // Counted by what no event would name anybody for.
        row("GET", "Patient?birthdate=1987-03-12&_count=0", None),
        row("GET", "Patient?birthdate=1987-03-12&_page=9", None),
        row("GET", "Patient?birthdate=1987-03-12&deceased=false&_summary=count", None),
        // Refused before anything is looked for.
        row("GET", "Composition?subject=Patient/201&colour=red", None),
        row("GET", "Composition?subject=Patient/201&_format=xml", None),
        row("GET", "Composition?subject:Group=Patient/201", None),
        row("GET", &format!("Composition?patient:identifier={SYSTEM}|{CODE}&_count=x"), None),
        // By form.
        row("POST", "Composition/_search", form(&format!("subject.identifier={SYSTEM}|{CODE}&_count=0"))),
        row("POST", "Composition/_search", form("patient=Patient/201&_count=0")),
        row("POST", "Patient/_search", form(&format!("identifier={SYSTEM}|{CODE}&_count=0"))),
        row("POST", "AuditEvent/_search", form("patient=Patient/201&_count=0")),
        // By a certificate.
        row("GET", "Composition?_id=1&_count=0", None),
        row("GET", "Composition/1", None),
        row("GET", "Composition/1/_history", None),
        row("GET", "Composition/1/_history/1", None),
        row("GET", "Composition/1/_history/77", None),
        row("GET", "Composition/_history?_count=5", None),
        row("PUT", "Composition/1", wrong(draft())),
        row("PUT", "Composition/999", resource(draft_by_code())),
        row("GET", "Composition/1/$validate?mode=delete", None),
        row("GET", "Composition/1/$pdf?role=doctor", None),
        row("GET", "Composition/1/$pdf", None),
        row("POST", "Composition/1/_history/1/$pdf", text("{}")),
        row("GET", "Composition/1/$get-consent", None),
        row("POST", "Composition/1/$set-consent", text(&consent.to_string())),
        row("POST", "Composition/1/$set-consent", text("{}")),
        row("POST", "Composition/1/$suspend", text("{}")),
        row("POST", "Composition/1/$cancel", text("{}")),
        row("DELETE", "Composition/1", None),
        row("DELETE", "Composition/1", None),
        // By a path that leads nowhere.
        row("PATCH", "Composition/1", None),
        row("GET", "Composition/1/$everything", None),
        row("PUT", "Patient/201", None),
        // With the country in front of the code.
        row("GET", &format!("Patient?identifier=EE{CODE}"), None),
        row("GET", &format!("Composition?subject:Patient.identifier=EE{CODE}"), None),
        // By a body.
        row("POST", "Composition/$validate", text(&inner.to_string())),
        row("POST", "Composition/$validate", wrong(draft_by_code())),
        row("POST", "Composition", wrong(draft_by_code())),
        row("POST", "Composition", resource(draft_by_code())),
        // As the registry is asked.
        row("GET", "Patient/201", None),
        row("GET", "Patient/201/_history/1", None),
        row("GET", "Patient/201/_history/77", None),
        row("GET", "Patient?_id=201&_count=0", None),
        row("GET", &format!("Patient?identifier={other},{SYSTEM}|{CODE}"), None),
        // As the trail is asked.
        row("GET", "AuditEvent?patient=Patient/201&_count=0", None),
        row("GET", &format!("AuditEvent?patient={CODE}&_count=0"), None),
        row("GET", &format!("AuditEvent?patient:identifier={SYSTEM}|{CODE}&_count=0"), None),
        row("GET", "AuditEvent?entity=Patient/201&outcome=nonsense", None),
        row("GET", &format!("AuditEvent?agent=Practitioner/{CODE}&_count=0"), None),
        row("GET", "AuditEvent/1", None),
    ];
    let mut met = BTreeSet::new();
    for (method, path, body) in rows {
        let before = server.events().len();
        let asked = server.ask(method, &path.replace('|', "%7C"));
        let told = match body {
            Some((media, body)) => asked.body_as(Some(media), body).await,
            None => asked.await,
        };
        assert_eq!(server.events().len(), before + 1, "{method} {path}");
        let (action, by_id, by_code) = is_found(&server);
        let start: String = path.chars().take(120).collect();
        assert!(by_id && by_code, "{method} {start}: by id {by_id}, by code {by_code}, {}", told.status);
        met.insert(action.name());
    }
    // A new action is either about persons, and stands above, or it is added here.
    let of_nobody = ["token.issue", "token.refused", "definition.read", "clock.wrong", "clock.right", "unknown"];
    let is_of_commands = |action: &AuditAction| {
        let name = action.name();
        let groups = [
            "audit.accept",
            "audit.export",
            "audit.verify",
            "audit.retention",
            "audit.repaired",
            "backup",
            "restore",
            "index.",
        ];
        let groups =
            groups.iter().chain(&["store.", "bulk.", "patients.", "terminology.", "clock.", "log.", "service."]);
        groups.into_iter().any(|group| name.starts_with(group))
    };
    for action in AuditAction::ALL.iter().filter(|action| !is_of_commands(action)) {
        let name = action.name();
        assert!(met.contains(name) || of_nobody.contains(&name), "no request of {name} is tested");
    }
}

/// What was seen: each search by patient looked for every certificate that somebody had ever asked for and that there was not.
#[tokio::test]
async fn who_asks_for_a_certificate_that_is_not_there_asks_for_nobody() {
    let server = Server::start().await;
    let doctor = server.token("doctor", json!({})).await;
    for (asked, status) in [("Composition/1", 404), ("Composition?_id=1,2&colour=red", 400), ("Composition?_id=1", 200)]
    {
        server.get(asked).header("Authorization", &doctor).await.expect(status);
        let event = server.events().pop().expect("an event");
        assert!(event.entities.is_empty() && event.absent.iter().any(|(id, _)| id.get() == 1), "{asked}");
    }
    server.create(draft()).await;
    let told = |query: &'static str| async { server.get(query).await.expect(200).json()["total"].as_u64() };
    assert_eq!(told("AuditEvent?patient=Patient/201&_count=0").await, Some(1));
    assert_eq!(told("AuditEvent?entity=Composition/1&action=composition.read&_count=0").await, Some(1));
}

/// Whatever else a search asks, and whichever page of it, its answer tells something of the certificate whose number it names.
#[tokio::test]
async fn a_number_names_its_certificate_whatever_page_and_condition_hide_it() {
    let server = Server::start().await;
    let system = "https://fhir.ee/hcert/health-certificate-number";
    let numbered = || draft().with("/identifier", json!([{"system": system, "value": "N-1"}]));
    let foreign = || Body::draft().with("/identifier", json!([{"system": system, "value": "N-2"}]));
    for body in [numbered(), numbered(), foreign()] {
        server.create(body).await;
    }
    let doctor = server.token("doctor", json!({})).await;
    for query in [
        "identifier=N-1&_page=2",
        "identifier=N-1&_page=2&section-code-text=employer$16978044",
        "identifier=N-1&status=cancelled",
        "identifier:not=N-1&_page=9",
        "identifier=N-7,N-1&_count=1&_page=9",
        "identifier=N-1&status=cancelled&_count=0",
    ] {
        server.get(&format!("Composition?{query}")).header("Authorization", &doctor).await.expect(200);
        let event = server.events().pop().expect("an event");
        let found = (server.concerns(&event, ID), server.concerns(&event, CODE), server.concerns(&event, "200"));
        // Whoever counts the others alone is told of them.
        assert_eq!(found, (true, true, query.contains(":not")), "{query}");
        let ids: BTreeSet<u64> = event.entities.iter().map(|(id, _)| id.get()).filter(|id| *id != 3).collect();
        assert_eq!(ids, BTreeSet::from([1, 2]), "{query}");
    }
    // However many have it, and however many parameters stand in front of it.
    for _ in 0..60 {
        server.create(Body::draft().with("/identifier", json!([{"system": system, "value": "N-1"}]))).await;
    }
    let others = "identifier:not=zz&".repeat(20);
    let official = server.token("gov-official", json!({})).await;
    for query in ["identifier=N-1&_count=0".to_owned(), format!("{others}identifier=N-1&colour=red")] {
        server.get(&format!("Composition?{query}")).header("Authorization", &official).await;
        let event = server.events().pop().expect("an event");
        assert!(server.concerns(&event, ID) && server.concerns(&event, CODE), "{query}");
    }
    // That several have it is told as well.
    let condition = format!("identifier={system}|N-1");
    let told = server.post("Composition", foreign()).header("If-None-Exist", &condition).await;
    told.expect(412);
    let event = server.events().pop().expect("an event");
    assert!(server.concerns(&event, ID) && server.concerns(&event, CODE));
    // Also to a role that may not create.
    let patient = server.token("patient", json!({})).await;
    let asked = server.post("Composition", foreign()).header("Authorization", &patient);
    asked.header("If-None-Exist", &condition).await.expect(403);
    let event = server.events().pop().expect("an event");
    assert!(server.concerns(&event, ID) && server.concerns(&event, CODE));
}

/// What was seen: a page of a draft's own history named the patient of the version on it, and not those of the versions that it counted.
#[tokio::test]
async fn a_page_of_a_certificates_own_history_names_everybody_whom_it_counts() {
    let server = Server::start().await;
    let moved = server.create(draft()).await;
    let other = Body::draft().with("/subject/0", json!({"reference": "Patient/200"}));
    server.put(&moved, other).await.expect(200);
    for page in ["_count=1", "_count=1&_page=2", "_count=0"] {
        server.get(&format!("{moved}/_history?{page}")).await.expect(200);
        let event = server.events().pop().expect("an event");
        assert!(server.concerns(&event, ID) && server.concerns(&event, "200"), "{page}");
    }
}

/// What was seen: a page that showed a decoy counted another person, whom its event did not name.
#[tokio::test]
async fn a_page_names_everybody_whom_it_counts() {
    let server = Server::start().await;
    server.create(draft()).await;
    // About somebody else, and the newest.
    server.create(Body::draft()).await;
    for path in [
        "Composition?_sort=-_lastUpdated&_count=1",
        "Composition?_lastUpdated=gt2000&_sort=-_id&_count=1",
        "Composition?status=preliminary&_sort=-_id&_count=1",
        "Composition/_history?_count=1",
        "Composition/_history?_since=2000-01-01T00:00:00Z&_count=1",
        "Composition/_history?_count=0",
    ] {
        let page = server.get(path).await.expect(200).json();
        assert_eq!(page["total"], 2, "{path}");
        let event = server.events().pop().expect("an event");
        let found = (server.concerns(&event, ID), server.concerns(&event, CODE), server.concerns(&event, "200"));
        assert_eq!(found, (true, true, true), "{path}: {event:?}");
    }
}

#[tokio::test]
async fn a_sealed_link_names_whom_it_hides_and_nobody_else_is_named() {
    let server = Server::start().await;
    for _ in 0..3 {
        server.create(draft()).await;
    }
    let doctor = server.token("doctor", json!({})).await;
    for who in [None, Some(&doctor)] {
        let form = format!("subject:identifier={SYSTEM}%7C{CODE}&_count=0");
        let asked = server.search_by_form(&form);
        let asked = if let Some(token) = who { asked.header("Authorization", token) } else { asked };
        let page = asked.await.expect(200);
        let link = page.link("self").expect("a page has a link");
        assert!(link.contains("_query=") && !link.contains(CODE), "{link}");
        let query = link.split_once('?').expect("a link of a search").1;
        let asked = server.get(&format!("Composition?{query}"));
        let asked = if let Some(token) = who { asked.header("Authorization", token) } else { asked };
        asked.await.expect(200);
        let (_, by_id, by_code) = is_found(&server);
        assert!(by_id && by_code, "{link}");
        // The event of a refused request names the same person.
        let other = server.token_of("48703129419", "doctor", json!({}));
        for (path, who) in [("Composition", Some(other.await)), ("Patient", None), ("AuditEvent", None)] {
            let asked = server.get(&format!("{path}?{query}"));
            let asked = if let Some(token) = &who { asked.header("Authorization", token) } else { asked };
            let answer = asked.await;
            assert!(who.is_none() || answer.status == 400, "{path}");
            let (_, by_id, by_code) = is_found(&server);
            assert!(by_code, "{path} {}", answer.status);
            assert!(by_id, "{path}");
        }
    }
    server.get("Composition?subject=Patient/200&_count=0").await.expect(200);
    let (_, by_id, by_code) = is_found(&server);
    assert!(!by_id && !by_code);
}

#[tokio::test]
async fn the_trail_finds_by_code_what_was_asked_by_id_and_the_other_way_round() {
    let server = Server::start().await;
    server.get("Composition?subject=Patient/201&_count=0").await.expect(200);
    server.get(&format!("Composition?subject:Patient.identifier={CODE}&_count=0")).await.expect(200);
    for asked in ["patient=Patient/201", "patient=48703129419", "patient:identifier=48703129419"] {
        let told = server.get(&format!("AuditEvent?{asked}&action=composition.search")).await.expect(200).json();
        assert_eq!(told["total"], 2, "{asked}");
    }
    let employer = "Composition?section-code-text=employer$16978044&_count=0";
    server.get(employer).await.expect(200);
    let told = server.get("AuditEvent?entity=Organization/16978044").await.expect(200).json();
    assert_eq!(told["total"], 1);
}

/// What was seen: once a code was corrected, the trail found by the old code and by the new one only what named each.
#[tokio::test]
async fn the_trail_finds_by_every_code_that_a_patient_had_until_another_has_it() {
    let server = Server::start().await;
    server.get("Patient/201").await.expect(200);
    server.get("Patient?identifier=48703129419").await.expect(200);
    let of = |id: &str, code: &str| json!({"resourceType": "Patient", "id": id, "identifier": [{"system": "https://fhir.ee/sid/pid/est/ni", "value": code}]});
    server.import_patients(&of("201", "37605030299").to_string()).await;
    server.get("Composition?subject=Patient/201&_count=0").await.expect(200);
    for asked in ["patient=Patient/201", "patient=48703129419", "patient=37605030299"] {
        let told =
            server.get(&format!("AuditEvent?{asked}&action=patient.read,patient.search,composition.search")).await;
        assert_eq!(told.expect(200).json()["total"], 3, "{asked}");
    }
    server.import_patients(&of("207", "48703129419").to_string()).await;
    let told = server.get("AuditEvent?patient=Patient/201&action=patient.read,composition.search").await;
    assert_eq!(told.expect(200).json()["total"], 2, "by the id all that named it");
    let told = server.get("AuditEvent?patient=48703129419&action=composition.search").await;
    assert_eq!(told.expect(200).json()["total"], 0, "the code is that of another");
}

/// What was seen: certificates that an import brought had no patient in the trail, whatever was done with them.
#[tokio::test]
async fn whose_an_imported_certificate_is_stands_in_the_trail_as_of_any_other() {
    let server = Server::start().await;
    server.import(Body::completed().with("/subject/0/reference", json!("Patient/201")), 4711).await;
    server.import(Body::draft().with("/subject/0/reference", json!("Patient/201")), 4712).await;
    server.get("Composition/4711").await.expect(200);
    server.get("Composition/4711/_history/1").await.expect(200);
    server.get("Composition?_id=4711&_count=0").await.expect(200);
    server.suspend("Composition/4711").await.expect(200);
    server.get("Composition/4711").await.expect(200);
    server.put("Composition/4712", Body::draft().with("/subject/0/reference", json!("Patient/200"))).await.expect(200);
    let actions = "composition.read,composition.vread,composition.search,composition.suspend,composition.update";
    for asked in ["Patient/201", "48703129419"] {
        let told = server.get(&format!("AuditEvent?patient={asked}&_count=0&action={actions}")).await;
        assert_eq!(told.expect(200).json()["total"], 6, "{asked}");
    }
    // A draft that was moved is of both.
    let moved = server.get("AuditEvent?patient=Patient/200&_count=0&action=composition.update").await;
    assert_eq!(moved.expect(200).json()["total"], 1);
}

/// What was seen: among a thousand certificates of others that a search named by their declarations, the event named not the one it was
/// about. Then such searches were refused: that told whether a certificate was there that the caller may not see, and drafts with the
/// number of another certificate kept everybody from finding that one.
#[tokio::test]
async fn drafts_with_the_number_of_a_certificate_hide_it_neither_from_searches_nor_from_the_trail() {
    let server = Server::start().await;
    let declared = |patient: &str| {
        let entry = json!([{"reference": "QuestionnaireResponse/700001", "type": "QuestionnaireResponse"}]);
        let certificate = Body::completed().with("/section/0/entry", entry);
        certificate.with("/subject/0/reference", json!(patient))
    };
    server.import(declared("Patient/201"), 10_000).await;
    for id in 10_001..11_100 {
        server.import(declared("Patient/200"), id).await;
    }
    for count in ["_count=0", "_count=10&subject=Patient/207"] {
        server.search_by_form(&format!("entry=QuestionnaireResponse/700001&{count}")).await.expect(200);
    }
    for asked in ["entity=Composition/10000", "patient=Patient/201"] {
        let told = server.get(&format!("AuditEvent?{asked}&action=composition.search&_count=0")).await;
        assert_eq!(told.expect(200).json()["total"], 2, "{asked}");
    }
}

/// What was seen: `|code`, and an identifier that had ended before the patient came, led to no event of the patient.
#[tokio::test]
async fn whoever_was_asked_for_without_a_system_or_by_an_identifier_that_had_ended_is_found() {
    let server = Server::start().await;
    let system = "https://fhir.ee/sid/pid/est/ni";
    let patient = json!({"resourceType": "Patient", "id": "301", "identifier": [
        {"system": system, "value": "38001085718"},
        {"use": "old", "system": "urn:passports", "value": "K-1"},
    ]});
    server.import_patients(&patient.to_string()).await;
    for asked in ["subject:identifier=|38001085718", "subject:identifier=urn:passports|K-1"] {
        server.search_by_form(asked).await.expect(200);
    }
    for asked in ["38001085718", "Patient/301"] {
        let told = server.get(&format!("AuditEvent?patient={asked}&action=composition.search&_count=0")).await;
        assert_eq!(told.expect(200).json()["total"], 2, "{asked}");
    }
}

#[tokio::test]
async fn a_query_is_kept_whole_and_the_address_is_the_one_that_a_trusted_proxy_names() {
    let strict = |config: &mut hcert::config::Config| {
        config.access.mode = AccessMode::Jwt;
        config.x_road.from = Some(vec!["203.0.113.77".parse().expect("an address")]);
    };
    let proxy: IpAddr = "127.0.0.1".parse().expect("an address");
    let server = Server::with_http(START, strict, |http_settings| {
        http_settings.trusted_proxies = vec!["127.0.0.1".parse().expect("an address")];
    });
    let server = server.await;
    let query = format!("_pretty=false{}&subject=Patient/201", "&".repeat(16_000));
    for (peer, address) in [(proxy, "203.0.113.77"), ("192.0.2.1".parse().expect("an address"), "192.0.2.1")] {
        let target = server.names.sent_target(&format!("/fhir/Composition?{query}"));
        let request = Request::get(target).header("x-road-id", "road-7");
        let request = request.header("x-forwarded-for", "198.51.100.1, 203.0.113.77").body(Full::new(Bytes::new()));
        let answer = server.http().answer(request.expect("a request"), Some(peer)).await;
        assert_eq!(answer.status(), 401);
        let event = server.events().pop().expect("an event");
        assert_eq!(event.from.ip.as_deref(), Some(address));
        assert_eq!((event.query.as_deref(), event.query_hash), (Some(&*query), None));
        let is_trusted = address == "203.0.113.77";
        assert_eq!(event.from.x_road_id.as_deref(), Some("road-7").filter(|_| is_trusted));
        assert!(server.concerns(&event, ID), "who is not let in asks for somebody too");
    }
}

/// A change that moves a draft to another patient left no trace for the one whose it was: only refused ones did.
#[tokio::test]
async fn a_change_that_moves_a_draft_to_another_patient_is_found_for_both() {
    let server = Server::start().await;
    let certificate = server.create(Body::draft()).await;
    for (body, of_first) in [(draft(), true), (draft_by_code(), false)] {
        server.put(&certificate, body).await.expect(200);
        let event = server.events().pop().expect("an event");
        assert_eq!(event.action, AuditAction::CompositionUpdate);
        assert!(server.concerns(&event, ID) && server.concerns(&event, CODE));
        for first in ["200", "39406240015"] {
            assert_eq!(server.concerns(&event, first), of_first, "{first}");
        }
    }
}

/// Whatever named such a certificate and no version of it was found for the patient of its first version alone.
#[tokio::test]
async fn what_names_a_draft_that_was_moved_is_found_for_the_patient_it_is_about_now() {
    let server = Server::start().await;
    let certificate = server.create(Body::draft()).await;
    server.put(&certificate, draft()).await.expect(200);
    let id = certificate.rsplit('/').next().unwrap();
    let doctor = server.token("doctor", json!({})).await;
    let official = server.token("gov-official", json!({})).await;
    for (asked, token, status) in [
        (server.get(&format!("{certificate}/$get-consent")), &official, 403),
        (server.get(&format!("{certificate}/_history?_count=0")), &doctor, 200),
        (server.get(&format!("Composition?_id={id}&_count=0")), &doctor, 200),
        (server.get(&certificate), &official, 403),
        (server.get(&format!("{certificate}/_history/77")), &doctor, 404),
        (server.put(&certificate, "{"), &doctor, 400),
        (server.cancel(&certificate), &doctor, 409),
    ] {
        asked.header("Authorization", token).await.expect(status);
        let event = server.events().pop().expect("an event");
        assert!(server.concerns(&event, ID) && server.concerns(&event, CODE), "{status}: {event:?}");
    }
    // However many others are named before it.
    let padded: Vec<String> = (100_000..100_900).map(|id| id.to_string()).chain([id.to_owned()]).collect();
    server.search_by_form(&format!("_id={}&_count=0", padded.join(","))).await.expect(200);
    let event = server.events().pop().expect("an event");
    assert!(server.concerns(&event, ID) && server.concerns(&event, CODE));
    // A page that shows that it was deleted, which is no version about anybody.
    server.delete(&certificate).await.expect(204);
    for path in ["Composition/_history?_count=1", &format!("{certificate}/_history?_count=1")] {
        server.get(path).await.expect(200);
        let event = server.events().pop().expect("an event");
        assert!(server.concerns(&event, ID) && server.concerns(&event, CODE), "{path}: {event:?}");
        // What a page counts and does not show is named too.
        assert!(server.concerns(&event, "39406240015"), "{path}");
    }
}

/// Such a search counts or shows nothing but certificates of one patient, whom only the token names.
#[tokio::test]
async fn a_search_for_whoever_acts_for_a_patient_names_that_patient() {
    let server = Server::start().await;
    server.create(draft()).await;
    let own = || json!({"patient": {"personalCode": CODE}});
    let mut tokens = vec![];
    for role in ["legal-representative", "consent-representative", "consent-representative-limited"] {
        tokens.push((role, server.token(role, own()).await));
    }
    for role in ["patient", "patient-limited"] {
        tokens.push((role, server.token_of(CODE, role, json!({})).await));
    }
    for (role, token) in &tokens {
        for query in ["_count=0", "_count=0&category=driver-group-I", "_summary=count", "_page=50", "colour=red"] {
            let asked = [server.get(&format!("Composition?{query}")), server.search_by_form(query)];
            for asked in asked {
                let told = asked.header("Authorization", token).await;
                let (action, by_id, by_code) = is_found(&server);
                assert_eq!(action, AuditAction::CompositionSearch);
                assert!(by_id && by_code, "{role} {query}: {}", told.status);
            }
        }
    }
    let doctor = server.token("doctor", json!({})).await;
    server.get("Composition?status=final&_count=0").header("Authorization", &doctor).await.expect(200);
    let (_, by_id, by_code) = is_found(&server);
    assert!(!by_id && !by_code, "nobody is named by a search that is about nobody and counts none");
}

/// `Patient/205` replaces `Patient/206`: a search by either counts the certificates of both.
#[tokio::test]
async fn the_trail_finds_a_person_under_each_id_that_links_tie_together() {
    let server = Server::start().await;
    let about = |id: u64| Body::draft().with("/subject/0", json!({"reference": format!("Patient/{id}")}));
    for id in [205, 206] {
        server.create(about(id)).await;
    }
    let doctor = server.token("doctor", json!({})).await;
    let passport = server.names.sent_text("https://fhir.ee/sid/pid/lva/ppn|LV0031206");
    let all = ["205", "206", "49112049345", &passport];
    for (path, names_both) in [
        ("Composition?subject=Patient/205&_count=0", true),
        ("Composition?subject=Patient/206&_count=0", true),
        ("Composition?subject:not=Patient/206&_summary=count", true),
        ("Composition?subject.identifier=https://fhir.ee/sid/pid/lva/ppn%7CLV0031206&_count=0", true),
        ("Composition/1", false),
        ("Composition/2", false),
        ("Patient/206", false),
    ] {
        server.get(path).header("Authorization", &doctor).await.expect(200);
        let event = server.events().pop().expect("an event");
        for asked in all {
            assert!(server.concerns(&event, asked), "{path} by {asked}");
        }
        assert!(!server.concerns(&event, ID), "{path}");
        if names_both {
            let named: BTreeSet<&str> = event.patients.iter().map(String::as_str).collect();
            assert!(named.is_superset(&BTreeSet::from(["205", "206"])), "{path}: {named:?}");
        }
    }
    // As the trail is asked, where its index answers.
    for asked in ["patient=Patient/205", "patient=Patient/206", "patient=49112049345"] {
        let told = server.get(&format!("AuditEvent?{asked}&action=composition.search,composition.read")).await;
        assert_eq!(told.expect(200).json()["total"], 6, "{asked}");
    }
}

/// What a search of the trail shows is about the patients of the events.
#[tokio::test]
async fn a_search_of_the_trail_names_the_patients_of_the_events_it_showed() {
    let server = Server::start().await;
    server.create(draft()).await;
    server.get("Composition/1/_history/1").await.expect(200);
    server.get(&format!("Composition?subject:Patient.identifier={CODE}&_count=0")).await.expect(200);
    for (query, is_shown) in [
        ("code=vread&_count=20", true),
        ("action=composition.search", true),
        ("code=vread&_count=20&_page=2", false),
        ("code=vread&_count=0", false),
        ("code=delete", false),
    ] {
        server.get(&format!("AuditEvent?{query}")).await.expect(200);
        let (action, by_id, by_code) = is_found(&server);
        assert_eq!((action, by_id, by_code), (AuditAction::AuditSearch, is_shown, is_shown), "{query}");
    }
}

/// A refusal tells that a number is used, or shows nothing; either way the request was about whoever has it.
#[tokio::test]
async fn a_refused_request_that_names_a_number_names_the_certificate_that_has_it() {
    let server = Server::with(START, |config| config.certificate.unique_number = true).await;
    let declared = json!([{"reference": "QuestionnaireResponse/77"}]);
    let certificate = server.create(draft().number("N-1").with("/section/0/entry", declared)).await;
    let other = server.create(Body::draft().number("N-2")).await;
    let is_refused = |code: u16| {
        let event = server.events().pop().expect("an event");
        assert_eq!(event.status, code);
        assert!(server.concerns(&event, ID) && server.concerns(&event, CODE), "{certificate}");
    };
    server.post("Composition", Body::draft().number("N-1")).await.refused(409, &["HCERT-134"]);
    is_refused(409);
    server.put(&other, Body::draft().number("N-1")).await.refused(409, &["HCERT-134"]);
    is_refused(409);
    server.post("Composition/$validate", Body::draft().number("N-1")).await.expect(200);
    is_refused(200);
    for named in ["identifier=N-1", "entry=QuestionnaireResponse/77"] {
        server.get(&format!("Composition?{named}&colour=red")).await.expect(400);
        is_refused(400);
        server.search_by_form(&format!("_count=x&{named}")).await.expect(400);
        is_refused(400);
        let nobody = server.token("nobody", json!({})).await;
        server.get(&format!("Composition?{named}")).header("Authorization", &nobody).await.expect(403);
        is_refused(403);
    }
}

/// What was seen: a count by the instant of one certificate, with a status, told whether it was suspended, and its event named nobody;
/// only searches by certain parameters named what they counted, and none did on a page past the end.
#[tokio::test]
async fn a_search_that_shows_none_names_the_few_certificates_that_it_counts() {
    let server = Server::start().await;
    for _ in 0..2 {
        server.create(Body::draft()).await;
    }
    let dated =
        || Body::completed().with("/subject/0", json!({"reference": "Patient/201"})).date("2018-03-07T10:00:53+02:00");
    server.create(dated().with("/title", json!("Tõend"))).await;
    let doctor = server.token("doctor", json!({})).await;
    let date = "date=2018-03-07T10:00:53%2B02:00";
    for query in [
        &format!("{date}&_count=0"),
        &format!("{date}&status=final&_summary=count"),
        &format!("{date}&_page=2"),
        &format!("{date}&status=final&_count=1&_page=99"),
        "title:exact=T%C3%B5end&_count=0",
        "author:PractitionerRole.practitioner=Practitioner/49403136515&status=final&_page=2",
        "status=final&_count=0",
    ] {
        server.get(&format!("Composition?{query}")).header("Authorization", &doctor).await.expect(200);
        let event = server.events().pop().expect("an event");
        let named: Vec<u64> = event.entities.iter().map(|(id, _)| id.get()).collect();
        assert_eq!(named, [3], "{query}");
        assert!(server.concerns(&event, ID) && server.concerns(&event, CODE), "{query}");
    }
    // So many that they say nothing about a person are only counted.
    for id in 4..103 {
        server.import(Body::completed(), id).await;
    }
    for (id, named) in [(103, 100), (104, 0)] {
        server.get("Composition?status=final&_count=0").header("Authorization", &doctor).await.expect(200);
        assert_eq!(server.events().pop().expect("an event").entities.len(), named);
        server.import(Body::completed(), id).await;
    }
}

/// What was seen: the parameters of a history that takes none of them, a patient within a body, a number in one and a path with a slash too
/// many were refused, or judged, and the event named nobody.
#[tokio::test]
async fn what_is_refused_or_only_judged_names_whom_it_meant_wherever_that_stands() {
    let server = Server::start().await;
    let certificate = server.create(draft().number("N-1")).await;
    let other = server.create(Body::draft().number("N-2")).await;
    let body = |body: Body| Some(Vec::from(body));
    let numbered = || Body::draft().number("N-1");
    let patient = json!({"resourceType": "Patient", "id": "p", "identifier": [{"system": SYSTEM, "value": CODE}]});
    let contained = Body::draft().with("/subject/0", json!({"reference": "#p"}));
    let contained = contained.with("/contained", json!([Body::draft().json()["contained"][0], patient]));
    for (method, path, body, status) in [
        ("GET", "Composition/_history?subject=Patient/201", None, 400),
        ("GET", &format!("{other}/_history?subject=Patient/201"), None, 400),
        ("GET", "Composition/_history?identifier=N-1", None, 400),
        ("POST", "Composition", body(contained.clone()), 422),
        ("POST", "Composition/$validate", body(contained), 200),
        ("POST", "Composition", body(numbered().status("cancelled")), 422),
        ("PUT", &other, body(numbered().status("cancelled")), 422),
        ("POST", "Composition/$validate", body(numbered()), 200),
        ("GET", &certificate.replace('/', "//"), None, 404),
    ] {
        let asked = server.ask(method, path);
        let asked = if let Some(body) = body { asked.body(body) } else { asked };
        asked.await.expect(status);
        let (_, by_id, by_code) = is_found(&server);
        assert!(by_code && by_id, "{method} {path}: {by_id} {by_code}");
    }
}

/// What was seen: an `If-None-Exist` that fits a certificate which the caller may not see creates another one, and the event of the create
/// knew nothing of the number.
#[tokio::test]
async fn a_create_under_a_condition_names_the_certificates_of_its_number_and_keeps_the_condition() {
    let server = Server::start().await;
    let system = "https://fhir.ee/hcert/health-certificate-number";
    let numbered = Body::completed().number("N-1").with("/subject/0", json!({"reference": "Patient/201"}));
    let hidden = server.create(numbered.with("/identifier/0/system", json!(system))).await;
    let closed =
        json!({"resourceType": "Parameters", "parameter": [{"name": "doctor", "valueString": "closed"}]}).to_string();
    server.post(&format!("{hidden}/$set-consent"), closed).await.expect(200);
    let condition = format!("identifier={system}%7CN-1");
    let doctor = server.token("doctor", json!({})).await;
    let author = server.token_of("49403136515", "doctor", json!({})).await;
    let nobody = server.token("nobody", json!({})).await;
    for (token, status) in [(&doctor, 201), (&author, 200), (&nobody, 403)] {
        let asked = server.post("Composition", Body::completed().number("N-2")).header("Authorization", token);
        asked.header("If-None-Exist", &condition).await.expect(status);
        let event = server.events().pop().expect("an event");
        // What was found is looked at, and not made.
        let action = if status == 200 { AuditAction::CompositionRead } else { AuditAction::CompositionCreate };
        assert_eq!((event.action, event.status), (action, status));
        assert!(server.concerns(&event, ID) && server.concerns(&event, CODE), "{status}");
        assert!(event.entities.iter().any(|(id, _)| id.get() == 1), "{status}");
        assert_eq!(event.query, Some(server.names.sent_text(&condition)), "{status}");
        assert!(event.identifiers.contains(&server.names.sent_text(&format!("{system}|N-1"))), "{status}");
    }
    // What is created is shown first.
    let of_create = server.events().into_iter().find(|event| event.status == 201 && event.query.is_some());
    assert_eq!(of_create.expect("its event").entities.first().map(|(id, _)| id.get()), Some(2));
}

//! GET /Patient, as the embedded registry answers. Specification 5; Contract 6.2.

use serde_json::{Value, json};

use crate::response::TestResponse;
use crate::server::Server;

/// Ids of the patients a search finds, in its order; `total` must count the same.
async fn found(server: &Server, query: &str) -> Vec<u64> {
    let told = server.get(&format!("Patient?{query}")).await.expect(200);
    assert_eq!(told.json()["total"], told.ids().len(), "{told}");
    told.ids()
}

/// Asks each and compares who is found.
async fn find(server: &Server, table: &[(&str, &[u64])]) {
    for (query, expected) in table {
        assert_eq!(found(server, query).await, *expected, "{query}");
    }
}

/// `Patient/200` in three versions, made at 08:00:00 to 08:00:02.
async fn three_versions() -> Server {
    let server = Server::start().await;
    for family in ["Kask", "Kask-Kuusk", "Kuusk"] {
        let identifier = json!([{"system": "https://fhir.ee/sid/pid/est/ni", "value": "39406240015"}]);
        let patient =
            json!({"resourceType": "Patient", "id": "900", "identifier": identifier, "name": [{"family": family}]});
        server.import_patients(&patient.to_string()).await;
    }
    server
}

#[tokio::test]
async fn a_search_answers_patients_as_a_search_for_certificates_does() {
    let server = Server::start().await;
    insta::assert_snapshot!(server.get("Patient?identifier=https://fhir.ee/sid/pid/est/ni|39406240015").await);
    insta::assert_snapshot!("nobody", server.get("Patient?_id=999").await);
}

#[tokio::test]
async fn a_patient_is_found_by_identifier() {
    let server = Server::start().await;
    let odd = r#"{"resourceType":"Patient","id":"300","identifier":[{"system":"urn:oid:1.3.6.1","value":"a|b,c\\d"}]}"#;
    server.import_patients(odd).await;
    #[rustfmt::skip]
    find(&server, &[
        ("identifier=https://fhir.ee/sid/pid/est/ni|39406240015",      &[200]),
        ("identifier=https%3A%2F%2Ffhir.ee%2Fsid%2Fpid%2Fest%2Fni%7C39406240015", &[200]),
        // Without a system it is an Estonian personal code.
        ("identifier=39406240015",                                     &[200]),
        ("identifier=39406240015,48703129419",                         &[200, 201]),
        ("identifier=48703129419,39406240015,39406240015",             &[200, 201]),
        ("identifier=39406240015,https://fhir.ee/sid/pid/fin|FI0061211", &[200, 211]),
        // A system that is a branch stands for all below it, and for no other whose name only begins so.
        ("identifier=https://fhir.ee/sid/pid/fin|140271-9022",         &[212]),
        ("identifier=https://fhir.ee/sid/pid/fin|FI0071212",           &[212]),
        ("identifier=https://fhir.ee/sid/pid/fin/ni|140271-9022",      &[212]),
        ("identifier=https://fhir.ee/sid/pid/fin/ppn|140271-9022",     &[]),
        ("identifier=https://fhir.ee/sid/pid/fi|140271-9022",          &[]),
        ("identifier=https://fhir.ee/sid/pid|LV0031206",               &[206]),
        ("identifier=https://fhir.ee/sid/pid/est|39406240015",         &[200]),
        ("identifier=https://fhir.ee/sid/pid/lva/ppn|LV0047110",       &[207, 208]),
        ("identifier=https://fhir.ee/sid/pid/lva/ppn|lv0047110",       &[]),
        // The registry's own ids are identifiers too.
        ("identifier=https://tehik.ee/mpi/external-reference|200",     &[200]),
        ("identifier=https://tehik.ee/mpi/external-reference|90214",   &[214]),
        ("identifier=https://tehik.ee/mpi/external-reference|999",     &[]),
        (r"identifier=urn:oid:1.3.6.1|a\|b\,c\\d",                     &[300]),
        ("identifier=urn:oid:1.3.6.1|a",                               &[]),
    ])
    .await;
}

#[tokio::test]
async fn a_patient_is_found_by_id_day_of_birth_and_flags() {
    let server = Server::start().await;
    #[rustfmt::skip]
    find(&server, &[
        ("_id=200",                                              &[200]),
        ("_id=203,201,999,abc",                                  &[201, 203]),
        ("_id=200&identifier=48703129419",                       &[]),
        ("_id=201&identifier=48703129419",                       &[201]),
        ("birthdate=1994-06-24",                                 &[200]),
        ("birthdate=eq1994-06-24",                               &[200]),
        ("birthdate=ge2000-02-29",                               &[209, 215, 216]),
        ("birthdate=gt2000-02-29",                               &[209, 215]),
        ("birthdate=sa2000-02-29",                               &[209, 215]),
        ("birthdate=le1945-06-17",                               &[203, 217]),
        ("birthdate=lt1945-06-17",                               &[203]),
        ("birthdate=eb1945-06-17",                               &[203]),
        ("birthdate=ge1968-01-01&birthdate=le1971-12-31",        &[207, 208, 212]),
        ("birthdate=gt2000-01-01&birthdate=lt1999-01-01",        &[]),
        // Of 211 only the year is known, of 214 the month, of 210 nothing.
        ("birthdate=ge1961-06-01&birthdate=le1961-06-30",        &[211]),
        ("birthdate=1961-01-01",                                 &[]),
        ("birthdate=ge1972-08-31&birthdate=lt1972-09-02",        &[214]),
        ("birthdate=ge1800-01-01&_id=210",                       &[]),
        ("birthdate=ne1994-06-24&_id=200,201,210",               &[201]),
        ("active=false",                                         &[204, 206, 219]),
        ("deceased=true",                                        &[203, 219]),
        ("active=true&deceased=true",                            &[203]),
        ("active=false&deceased=false&birthdate=lt1990-01-01",   &[204]),
    ])
    .await;
}

#[tokio::test]
async fn patients_come_in_the_order_asked_for() {
    let server = Server::start().await;
    server.set_clock("2025-01-13T09:00:00+02:00");
    server
        .import_patients(r#"{"resourceType":"Patient","id":"201","identifier":[{"system":"urn:oid:1","value":"1"}]}"#)
        .await;
    // Whoever has no day of birth comes last in both directions.
    #[rustfmt::skip]
    find(&server, &[
        ("_id=200,203,209,210",                            &[200, 203, 209, 210]),
        ("_id=200,203,209,210&_sort=-_id",                 &[210, 209, 203, 200]),
        ("_id=200,203,209,210&_sort=birthdate",            &[203, 200, 209, 210]),
        ("_id=200,203,209,210&_sort=-birthdate",           &[209, 200, 203, 210]),
        ("_id=207,208,203&_sort=birthdate,-_id",           &[203, 208, 207]),
        ("_id=200,201,202&_sort=_lastUpdated,_id",         &[200, 202, 201]),
        ("_id=200,201,202&_sort=-_lastUpdated,_id",        &[201, 202, 200]),
    ])
    .await;
}

#[tokio::test]
async fn a_search_for_patients_is_paged() {
    let server = Server::start().await;
    let all = found(&server, "active=true&_sort=-birthdate").await;
    assert_eq!(all.len(), 17);
    let (mut seen, mut page) = (Vec::new(), Some("Patient?active=true&_sort=-birthdate&_count=5".to_owned()));
    while let Some(path) = page {
        let told = server.get(&path).await.expect(200);
        assert_eq!(told.json()["total"], 17);
        seen.extend(told.ids());
        page = told.next();
    }
    assert_eq!(seen, all);

    insta::assert_snapshot!(server.get("Patient?active=false&_count=1&_page=2&_elements=name").await);
    let past = server.get("Patient?active=false&_count=2&_page=9").await.expect(200);
    assert!(past.json().get("entry").is_none() && past.json()["total"] == 3, "{past}");
    assert!(past.link("previous").is_some_and(|url| url.ends_with("_page=2")) && past.link("next").is_none(), "{past}");
    for query in ["active=false&_count=0", "active=false&_summary=count"] {
        let total = server.get(&format!("Patient?{query}")).await.expect(200);
        assert!(total.json().get("entry").is_none() && total.json()["total"] == 3, "{total}");
        assert!(total.link("self").is_some() && total.link("next").is_none(), "{total}");
    }
    let cut = server.get("Patient?active=false&_count=5000").await.expect(200);
    let link = "http://127.0.0.1:8080/fhir/Patient?active=false&_count=100&_page=1";
    assert_eq!(cut.link("self").as_deref(), Some(link));
}

#[tokio::test]
async fn patients_can_be_cut_down() {
    let server = Server::start().await;
    let members = |patient: &Value| -> Vec<String> {
        patient.as_object().expect("a resource").keys().map(ToString::to_string).collect()
    };
    for path in ["Patient/201?_elements=name", "Patient?_id=201&_elements=name", "Patient/201/_history?_elements=name"]
    {
        let told = server.get(path).await.expect(200).json();
        let patient = told.pointer("/entry/0/resource").unwrap_or(&told);
        assert_eq!(members(patient), ["id", "meta", "name", "resourceType"], "{path}");
        assert_eq!(patient["meta"]["tag"][0]["code"], "SUBSETTED", "{path}");
    }
    let summary = server.get("Patient/201?_summary=true").await.expect(200).json();
    assert!(summary["birthDate"].is_string() && summary.get("communication").is_none(), "{summary}");
    server.get("Patient/201?_summary=count").await.refused(400, &["HCERT-120"]);
    let pretty = server.get("Patient/201?_pretty=true&_format=application/json").await.expect(200);
    assert!(pretty.text().starts_with("{\n"), "{pretty}");
    assert_eq!(pretty.header("content-type"), Some("application/json; charset=utf-8"));
}

#[tokio::test]
async fn a_patient_is_read_with_its_version() {
    let server = Server::start().await;
    let read = server.get("Patient/200").await;
    insta::assert_snapshot!(read);
    let version = server.get("Patient/200/_history/1").await.expect(200);
    assert_eq!(version.json(), read.json());

    let head = server.head("Patient/200").await.expect(200);
    assert!(head.body.is_empty());
    for name in ["etag", "last-modified", "content-type"] {
        assert_eq!(head.header(name), read.header(name), "{name}");
    }
    assert_eq!(head.header("content-length"), Some(read.body.len().to_string().as_str()));
}

#[tokio::test]
async fn a_patient_that_the_caller_has_is_not_sent_again() {
    let server = Server::start().await;
    let modified = server.get("Patient/200").await.expect(200).header("last-modified").expect("a moment").to_owned();
    for (path, header, value, status) in [
        ("Patient/200", "If-None-Match", "W/\"1\"", 304),
        ("Patient/200", "If-None-Match", "\"2\", \"1\"", 304),
        ("Patient/200", "If-None-Match", "W/\"2\"", 200),
        ("Patient/200/_history/1", "If-None-Match", "*", 304),
        ("Patient/200", "If-Modified-Since", modified.as_str(), 304),
        ("Patient/200", "If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT", 200),
        // A page has no version.
        ("Patient?_id=200", "If-None-Match", "*", 200),
    ] {
        let told = server.get(path).header(header, value).await.expect(status);
        assert_eq!(told.body.is_empty(), status == 304, "{told}");
        assert_eq!(told.header("etag").is_some(), !path.contains('?'), "{told}");
    }
}

#[tokio::test]
async fn the_history_of_a_patient_has_every_version_newest_first() {
    let server = three_versions().await;
    insta::assert_snapshot!(server.get("Patient/900/_history?_elements=name").await);
    let family = |told: &TestResponse| told.json()["name"][0]["family"].clone();
    assert_eq!(family(&server.get("Patient/900/_history/2").await.expect(200)), "Kask-Kuusk");
    assert_eq!(family(&server.get("Patient/900").await.expect(200)), "Kuusk");
    let same = r#"{"resourceType":"Patient","id":"900","identifier":[{"system":"https://fhir.ee/sid/pid/est/ni","value":"39406240015"}],"name":[{"family":"Kuusk"}]}"#;
    server.import_patients(same).await;
    assert_eq!(server.get("Patient/900").await.header("etag"), Some("W/\"3\""), "the same again makes no version");
}

#[tokio::test]
async fn a_history_of_a_patient_is_paged_and_cut_to_a_time() {
    let server = three_versions().await;
    let versions = |told: &TestResponse| -> Vec<String> {
        told.entries(|entry| Some(entry["response"]["etag"].as_str()?.trim_matches(['W', '/', '"']).to_owned()))
    };
    for (query, expected) in [
        ("_count=2", &["3", "2"][..]),
        ("_count=2&_page=2", &["1"]),
        ("_count=2&_page=3", &[]),
        ("_since=2025-01-13T08:00:01%2B02:00", &["3", "2"]),
        ("_since=2025-01-13T06:00:02Z", &["3"]),
        ("_since=2025-01-14", &[]),
        ("_at=2025-01-13T08:00:01.500%2B02:00", &["2"]),
        ("_at=2025-01-13", &["3", "2", "1"]),
        ("_at=2024", &[]),
    ] {
        let told = server.get(&format!("Patient/900/_history?{query}")).await.expect(200);
        assert_eq!(versions(&told), expected, "{query}");
        assert!(
            told.link("self").is_some_and(|url| url.starts_with("http://127.0.0.1:8080/fhir/Patient/900/_history?"))
        );
    }
}

#[tokio::test]
async fn patients_are_only_read_here() {
    let server = Server::start().await;
    for path in ["Patient", "Patient/200", "Patient/200/_history/1"] {
        for method in ["POST", "PUT", "DELETE"] {
            let told = server.ask(method, path).body("{}").await.refused(405, &["HCERT-129"]);
            assert_eq!(told.header("allow"), Some("GET, HEAD, OPTIONS"), "{told}");
        }
    }
    assert_eq!(server.living().await, 18);
}

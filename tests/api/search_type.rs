//! Searches by GET and by POST as answers; what each parameter finds is told in `tests/search`. Specification 4.6; Contract 4.2 to 4.9.

use serde_json::{Value, json};

use crate::body::{self, Body};
use crate::server::{START, Server};

async fn three() -> Server {
    let server = Server::start().await;
    server.create(body::text("driver-draft")).await;
    server.create(body::text("driver-final")).await;
    server.create(body::text("occupational-draft")).await;
    server
}

#[tokio::test]
async fn a_search_answers_whole_certificates() {
    let server = three().await;
    insta::assert_snapshot!(server.get("Composition?status=preliminary&category=driver-group-I").await);
}

#[tokio::test]
async fn a_search_that_finds_nothing_answers_an_empty_bundle() {
    let server = three().await;
    insta::assert_snapshot!(server.get("Composition?status=cancelled").await);
    insta::assert_snapshot!("empty_store", Server::start().await.get("Composition").await);
}

#[tokio::test]
async fn the_second_page_links_to_all_others() {
    let server = three().await;
    let told = server.get("Composition?_page=2&subject=Patient/200&_sort=_id&_count=1&_elements=status").await;
    insta::assert_snapshot!(told);
    assert_eq!(told.ids(), [2]);
}

#[tokio::test]
async fn a_count_of_nothing_answers_the_total() {
    let server = three().await;
    insta::assert_snapshot!(server.get("Composition?_count=0&subject=Patient/200").await);
    let summary = server.get("Composition?_summary=count&subject=Patient/200").await.expect(200).json();
    assert!(summary["total"] == 3 && summary.get("entry").is_none(), "{summary}");
}

#[tokio::test]
async fn a_page_past_the_end_has_links_and_no_entries() {
    let server = three().await;
    insta::assert_snapshot!(server.get("Composition?_count=2&_page=7").await);
}

#[tokio::test]
async fn a_search_can_be_cut_down() {
    let server = three().await;
    insta::assert_snapshot!("summary_true", server.get("Composition?_id=2&_summary=true").await);
    insta::assert_snapshot!("summary_text", server.get("Composition?_id=2&_summary=text").await);
    let data = server.get("Composition?_id=2&_summary=data").await.expect(200);
    let whole = server.get("Composition?_id=2&_summary=false").await.expect(200);
    let resource = |told: &crate::told::Told| told.json()["entry"][0]["resource"].clone();
    assert!(resource(&data).get("text").is_none() && resource(&data)["contained"][2].is_object());
    assert_eq!(resource(&whole), server.get("Composition/2").await.json());
}

#[tokio::test]
async fn a_search_by_form_keeps_personal_codes_out_of_its_links() {
    let server = three().await;
    let told = server.search_by_form("author:PractitionerRole.practitioner=Practitioner/49403136515&_count=1").await;
    insta::assert_snapshot!(told);
    assert!(!told.json()["link"].to_string().contains("49403136515"), "{told}");

    // The sealed link works, page by page, until it expires.
    let mut ids = told.ids();
    let second = told.next().expect("three were found");
    let mut page = Some(second.clone());
    while let Some(path) = page {
        let told = server.get(&path).await.expect(200);
        assert!(!told.json()["link"].to_string().contains("49403136515"), "{told}");
        ids.extend(told.ids());
        page = told.next();
    }
    assert_eq!(ids, [3, 2, 1]);
    server.set_clock("2025-01-13T09:00:30+02:00");
    server.get(&second).await.refused(400, &["HCERT-124"]);
    server.get("Composition?_query=nonsense").await.refused(400, &["HCERT-124"]);
}

#[tokio::test]
async fn a_search_by_form_takes_the_querys_parameters_too() {
    let server = three().await;
    let form = "application/x-www-form-urlencoded";
    let told =
        server.ask("POST", "Composition/_search?status=preliminary").body_as(Some(form), "category=occupational");
    assert_eq!(told.await.expect(200).ids(), [3]);
    // What shapes the answer may stand in either.
    let told =
        server.search_by_form("_id=2&_format=application%2Fjson&_pretty=true&_elements=status").await.expect(200);
    assert_eq!(told.header("content-type"), Some("application/json; charset=utf-8"));
    assert!(told.text().starts_with("{\n"), "{told}");
    // An empty form asks for everything.
    assert_eq!(server.search_by_form("").await.expect(200).ids(), [3, 2, 1]);
    assert_eq!(server.ask("POST", "Composition/_search").length("0").await.expect(200).ids(), [3, 2, 1]);
}

#[tokio::test]
async fn an_unknown_filter_is_refused_and_the_known_ones_are_listed() {
    let server = three().await;
    insta::assert_snapshot!(server.get("Composition?status=final&statuss=final").await);
}

#[tokio::test]
async fn a_lenient_search_drops_unknown_filters_with_a_warning() {
    let server = three().await;
    let path = "Composition?_id=1&nonsense=1&_has:Observation:subject:code=x&_elements=status";
    let told = server.get(path).prefer("handling=lenient").await;
    insta::assert_snapshot!(told);
    server.get(path).prefer("handling=strict").await.refused(400, &["HCERT-118", "HCERT-118"]);
    // Only names may be unknown: a known filter with a wrong value is wrong for everyone.
    server.get("Composition?status=nonsense").prefer("handling=lenient").await.refused(400, &["HCERT-120"]);
}

#[tokio::test]
async fn unknown_result_parameters_are_dropped() {
    let server = three().await;
    let told = server.get("Composition?_total=none&_id=1&_totalMethod=count").await.expect(200);
    assert_eq!(told.link("self").as_deref(), Some("http://127.0.0.1:8080/fhir/Composition?_id=1&_page=1"));
    assert_eq!(told.json()["total"], 1);
}

#[tokio::test]
async fn every_problem_of_a_search_is_told_at_once() {
    let server = three().await;
    let told = server.get("Composition?status=nonsense&_page=-1&_count=abc&_sort=nonsense&period=2025-02-30").await;
    insta::assert_snapshot!(told);
}

#[tokio::test]
async fn a_patient_nobody_knows_has_no_certificates() {
    let server = three().await;
    assert!(
        server
            .found("subject:Patient.identifier=https%3A%2F%2Ffhir.ee%2Fsid%2Fpid%2Ffin%2Fni%7Cnobody")
            .await
            .is_empty()
    );
    let external = "subject:Patient.identifier=https%3A%2F%2Ftehik.ee%2Fmpi%2Fexternal-reference%7C999";
    insta::assert_snapshot!(server.get(&format!("Composition?{external}")).await);
}

#[tokio::test]
async fn full_addresses_are_relative_or_absolute_as_the_setting_says() {
    let server = Server::with(START, |config| {
        config.server.full_url = hcert::config::FullUrl::Absolute;
        config.server.base_url = Some("https://hcert.example.ee/fhir".to_owned());
    })
    .await;
    let told = server.post("Composition", Body::draft()).await.expect(201);
    assert_eq!(told.header("location"), Some("https://hcert.example.ee/fhir/Composition/1/_history/1"));
    for path in ["Composition", "Composition/1/_history", "Composition/_history"] {
        let bundle = server.get(path).await.expect(200);
        let urls = bundle.entries(|entry| entry["fullUrl"].as_str().map(str::to_owned));
        assert_eq!(urls, ["https://hcert.example.ee/fhir/Composition/1"]);
        assert_eq!(bundle.link("self"), Some(format!("https://hcert.example.ee/fhir/{path}?_page=1")));
    }
}

#[tokio::test]
async fn a_search_sees_every_write_before_it() {
    let server = Server::start().await;
    for round in 0..200_u64 {
        let number = format!("T-{round}");
        let certificate = server.create(Body::draft().number(&number)).await;
        assert_eq!(server.found(&format!("identifier={number}")).await, [round + 1]);
        match round % 4 {
            0 => server.delete(&certificate).await.expect(204),
            1 => server.put(&certificate, Body::completed().number(&number)).await.expect(200),
            2 => server.put(&certificate, Body::draft().number("other")).await.expect(200),
            _ => continue,
        };
        let left = server.get(&format!("Composition?identifier={number}")).await.expect(200);
        let found = left.entries(|entry| Some(entry["resource"]["status"].clone()));
        assert_eq!(found, if round % 4 == 1 { vec![json!("final")] } else { Vec::<Value>::new() });
    }
    assert_eq!(server.get("Composition?_count=0").await.json()["total"], 150);
}

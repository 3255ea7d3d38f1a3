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
    let resource = |told: &crate::response::TestResponse| told.json()["entry"][0]["resource"].clone();
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

/// Observed: every Bundle had relative addresses, which R5 allows in none. Only a search for certificates keeps them, as the
/// specification shows. Contract 1.2.
#[tokio::test]
async fn full_addresses_are_relative_in_a_search_for_certificates_alone() {
    let server = three().await;
    let of = async |path: &str| {
        let told = server.get(path).await.expect(200);
        told.entries(|entry| entry["fullUrl"].as_str().map(str::to_owned)).first().cloned().expect("an entry")
    };
    assert_eq!(of("Composition?_id=2").await, "Composition/2");
    for (path, address) in [
        ("Composition/2/_history", "Composition/2"),
        ("Composition/_history", "Composition/3"),
        ("Patient?_id=200", "Patient/200"),
        ("Patient/200/_history", "Patient/200"),
        ("AuditEvent?_sort=date", "AuditEvent/1"),
        ("ValueSet?_id=labivaatuse-tyyp", "ValueSet/labivaatuse-tyyp"),
    ] {
        assert_eq!(of(path).await, format!("http://127.0.0.1:8080/fhir/{address}"), "{path}");
    }
}

/// Every type that can be searched, with a filter that finds something and a name or code that no link may show.
const TYPES: [(&str, &str); 8] = [
    ("Composition", "_id=1"),
    ("Patient", "_id=200"),
    ("AuditEvent", "action=C"),
    ("StructureDefinition", "_id=ee-health-certificate"),
    ("CodeSystem", "_id=labivaatuse-tyyp"),
    ("ValueSet", "_id=labivaatuse-tyyp"),
    ("OperationDefinition", "_id=ee-health-certificate-suspend"),
    ("SearchParameter", "_id=certificate-subject"),
];

#[tokio::test]
async fn every_type_is_searched_by_form_too() {
    let server = three().await;
    for (kind, filter) in TYPES {
        let by_form = server.form(&format!("{kind}/_search"), filter).await.expect(200);
        let total = by_form.json()["total"].as_u64().expect("a total");
        assert!(total > 0, "{by_form}");
        assert_eq!(
            by_form.link("self").map(|url| url.contains(&format!("/fhir/{kind}?{filter}"))),
            Some(true),
            "{by_form}"
        );
        // Reading the trail is itself an event, so the same search may find more there.
        let by_get = server.get(&format!("{kind}?{filter}")).await.expect(200);
        assert!(by_get.json()["total"].as_u64() >= Some(total), "{by_get}");
        server.form(&format!("{kind}/_search"), "nonsense=1").await.expect(400);
        server.ask("GET", &format!("{kind}/_search")).await.refused(405, &["HCERT-129"]);
    }
}

/// Observed: `_has:…` on the five types of definitions was dropped, so that a filter widened the answer. Contract 4.9.
#[tokio::test]
async fn every_type_refuses_filters_it_does_not_have_and_drops_what_only_shapes_the_result() {
    let server = three().await;
    for (kind, filter) in TYPES {
        for unknown in [
            "_has:Observation:subject:code=x",
            "_filter=x",
            "_list=x",
            "_text=x",
            "_content=x",
            "_tag=x",
            "_profile=x",
            "_security=x",
            "_source=x",
            "nonsense=x",
            "nonsense.name=x",
        ] {
            let told = server.get(&format!("{kind}?{filter}&{unknown}")).await;
            // A name that is no filter of R5 is the registry's affair.
            let code = if kind == "Patient" && !unknown.starts_with('_') { "MPI-015" } else { "HCERT-118" };
            told.refused(400, &[code]);
        }
        let told =
            server.get(&format!("{kind}?_include=*&{filter}&_revinclude:iterate=a:b&_total=none")).await.expect(200);
        let own = format!("http://127.0.0.1:8080/fhir/{kind}?{filter}&_page=1");
        assert_eq!(told.link("self"), Some(own), "{told}");
    }
}

#[tokio::test]
async fn every_type_is_searched_leniently_and_tells_what_it_dropped() {
    let server = three().await;
    for (kind, filter) in TYPES {
        let path = format!("{kind}?{filter}&nonsense=1&_tag=x");
        let told = server.get(&path).prefer("handling=lenient").await.expect(200).json();
        let entries = told["entry"].as_array().expect("entries");
        let (last, matches) = entries.split_last().expect("an outcome");
        assert!(!matches.is_empty() && matches.iter().all(|entry| entry["search"]["mode"] == "match"), "{told}");
        assert_eq!(
            (&last["search"]["mode"], &last["resource"]["resourceType"]),
            (&json!("outcome"), &json!("OperationOutcome"))
        );
        // R5 bdl-15: every entry has an address.
        assert!(last["fullUrl"].as_str().is_some_and(|url| url.starts_with("urn:uuid:")), "{last}");
        let issues = last["resource"]["issue"].as_array().expect("issues");
        let places: Vec<&Value> = issues.iter().map(|issue| &issue["expression"][0]).collect();
        assert_eq!(places, ["http.nonsense", "http._tag"], "{kind}");
    }
    // A known filter with an unknown modifier is wrong for everyone.
    server.get("Patient?identifier:exact=1").prefer("handling=lenient").await.refused(400, &["MPI-015"]);
}

/// Observed: patients could be asked for by GET alone, so that their codes stood in addresses. Contract 4.9.
#[tokio::test]
async fn a_search_by_form_for_patients_and_events_keeps_personal_codes_out_of_its_links() {
    let server = three().await;
    let doctor = server.token("doctor", json!({})).await;
    for _ in 0..2 {
        server.get("Composition/1").header("Authorization", &doctor).await.expect(200);
    }
    for (kind, form, hidden, total) in [
        ("Patient", "identifier=39406240015,48703129419&_count=1&_sort=_id", &["39406240015", "identifier"][..], 2),
        ("Patient", "birthdate=ge1968-01-01&birthdate=le1971-12-31&_count=2&_sort=_id", &["birthdate", "1968"], 3),
        ("AuditEvent", "agent=Practitioner/37605030299&_count=1", &["37605030299", "agent"], 3),
    ] {
        let told = server.form(&format!("{kind}/_search"), form).await.expect(200);
        assert_eq!(told.json()["total"], total, "{told}");
        let second = told.next().expect("a second page");
        let (mut ids, mut page) = (told.ids(), Some(told));
        while let Some(told) = page {
            let links = told.json()["link"].to_string();
            assert!(hidden.iter().all(|hidden| !links.contains(hidden)) && links.contains("_query="), "{told}");
            page = match told.next() {
                Some(path) => Some(server.get(&path).await.expect(200)),
                None => None,
            };
            ids.extend(page.iter().flat_map(|told| told.ids()));
        }
        ids.dedup();
        assert_eq!(ids.len(), total, "{kind}: every page was shown once");
        server.get(&format!("{second}&_query=again")).await.refused(400, &["HCERT-122"]);
    }
    for (kind, filter) in
        [("Patient", "active=true"), ("Composition", "status=preliminary"), ("AuditEvent", "action=composition.read")]
    {
        let told = server.form(&format!("{kind}/_search"), &format!("{filter}&_count=99999999999")).await.expect(200);
        let link = told.link("self").expect("a link");
        let path = link.strip_prefix("http://127.0.0.1:8080/fhir/").expect("links lead to this server");
        assert!(path.contains("_count=100&"), "{path}");
        assert_eq!(server.get(path).await.expect(200).json()["total"], told.json()["total"], "{told}");
    }
    let page = server.form("Patient/_search", "identifier=39406240015").await.link("self").expect("a link");
    server.set_clock("2025-01-13T09:30:00+02:00");
    let page = page.strip_prefix("http://127.0.0.1:8080/fhir/").expect("links lead to this server");
    server.get(page).await.refused(400, &["HCERT-124"]);
}

#[tokio::test]
async fn a_filter_beside_the_token_of_a_link_stays_in_the_links_of_patients() {
    let server = three().await;
    let link = server.form("Patient/_search", "active=false&_sort=_id&_count=1").await.link("self").expect("a link");
    let token = |link: &str| link.split(['?', '&']).find(|pair| pair.starts_with("_query=")).map(str::to_owned);
    let sealed = token(&link).expect("a token");
    for (filter, total) in [("", 3), ("&deceased=false", 2), ("&_id=204,206", 2)] {
        let told = server.get(&format!("Patient?_count=1&{sealed}{filter}")).await.expect(200);
        assert_eq!(told.json()["total"], total, "{told}");
        let (mut ids, mut next) = (told.ids(), told.next());
        while let Some(path) = next {
            assert_eq!(token(&path).as_ref() == Some(&sealed), !filter.contains("deceased"), "{path}");
            let told = server.get(&path).await.expect(200);
            assert_eq!(told.json()["total"], total, "{told}");
            ids.extend(told.ids());
            next = told.next();
        }
        assert_eq!(ids.len(), total, "{ids:?}");
    }
}

/// `patient` is R5's name of `subject`. Contract 4.2.
#[tokio::test]
async fn patient_asks_what_subject_asks() {
    let server = three().await;
    for (query, found) in [
        ("patient=Patient/200", &[3, 2, 1][..]),
        ("patient=200", &[3, 2, 1]),
        ("patient=http://127.0.0.1:8080/fhir/Patient/200/_history/1", &[3, 2, 1]),
        ("patient:Patient=200", &[3, 2, 1]),
        ("patient=Patient/201", &[]),
        ("patient:not=Patient/200", &[]),
        ("patient:missing=false", &[3, 2, 1]),
        ("patient.identifier=39406240015", &[3, 2, 1]),
        ("patient:Patient.identifier=48703129419", &[]),
        ("patient=Patient/200&subject=Patient/201", &[]),
        ("patient=Patient/200&subject=Patient/200&status=final", &[2]),
    ] {
        let told = server.get(&format!("Composition?{query}")).await.expect(200);
        assert_eq!(told.ids(), found, "{query}");
    }
    server.get("Composition?patient=Group/1").await.refused(400, &["HCERT-112"]);
    let patient = server.token_of("39406240015", "patient", json!({})).await;
    let own = server.get("Composition?patient=Patient/200").header("Authorization", &patient).await.expect(200);
    assert_eq!(own.ids(), [2]);
    let other = server.get("Composition?patient=Patient/201").header("Authorization", &patient);
    other.await.refused(403, &["HCERT-179"]);
}

/// Observed: `period=2025-01-12T03:30:00+02:00` asked for the whole day. Contract 4.3.
#[tokio::test]
async fn a_period_with_a_time_asks_for_that_instant() {
    let server = Server::start().await;
    server.create(Body::completed().period("2025-01-12T03:15:00+02:00", "2025-01-12T03:45:00+02:00")).await;
    for (value, is_found) in [
        ("2025-01-12", true),
        ("2025-01-12T03:30:00%2B02:00", true),
        ("2025-01-12T01:30:00Z", true),
        ("2025-01-12T03:15:00%2B02:00", true),
        ("2025-01-12T03:45:00%2B02:00", true),
        ("2025-01-12T03:14:59%2B02:00", false),
        ("2025-01-12T03:45:01%2B02:00", false),
        ("2025-01-12T12:00%2B02:00", false),
    ] {
        let told = server.get(&format!("Composition?period={value}")).await.expect(200);
        assert_eq!(!told.ids().is_empty(), is_found, "{value}");
    }
}

/// The plan of a search, where the answer has one.
async fn plan(server: &Server, query: &str, bearer: Option<&str>) -> Option<Value> {
    let asked = server.get(&format!("Composition?{query}")).header("x-hcert-explain", "true");
    let asked = bearer.into_iter().fold(asked, |asked, bearer| asked.header("Authorization", bearer));
    let (status, headers, _) = asked.raw().await;
    assert_eq!(status, 200, "{query}");
    headers.get("x-hcert-plan").map(|plan| serde_json::from_slice(plan.as_bytes()).expect("JSON"))
}

#[tokio::test]
async fn a_search_tells_how_it_is_run_where_a_developer_asks() {
    let server = three().await;
    let told = plan(&server, "subject=Patient/200&status=final", None).await.expect("a plan");
    assert_eq!((&told["way"], &told["total"]), (&json!("driven"), &json!("counted")));
    assert_eq!(told["rights"], Value::Null);
    let counted = plan(&server, "_count=0", None).await.expect("a plan");
    assert_eq!((&counted["way"], &counted["total"]), (&json!("nothing"), &json!("counters")));
    let doctor = server.token("doctor", json!({})).await;
    let narrowed = plan(&server, "subject:Patient.identifier=39406240015", Some(&doctor)).await.expect("a plan");
    assert_eq!(narrowed["rights"], json!([["open-to-doctors-or-own-hand"]]));
    for values in ["Patient/200", "39406240015", "37605030299"] {
        assert!(!narrowed.to_string().contains(values) && !told.to_string().contains(values), "{narrowed} {told}");
    }
    let (_, headers, _) = server.raw("GET", "Composition").await;
    assert!(!headers.contains_key("x-hcert-plan"), "nobody asked");
}

#[tokio::test]
async fn a_service_with_real_data_tells_nobody_how_a_search_is_run() {
    let server = Server::with_http(START, |_| (), |http| http.is_developer = false).await;
    assert_eq!(plan(&server, "status=final", None).await, None);
}

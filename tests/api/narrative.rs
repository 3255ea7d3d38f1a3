//! Narratives: terms instead of codes, and the state at the top. Contract 8.5.

use serde_json::{Value, json};

use crate::body::{Body, div};
use crate::server::Server;

const RESTRICTIONS: &str = "https://fhir.ee/CodeSystem/tervisetoendi-piirangud";
const SNOMED: &str = "http://snomed.info/sct";

/// Without a narrative of the client.
fn example(name: &str) -> Body {
    let body = Body::example(name);
    if body.json().get("text").is_some() { body.without("/text") } else { body }
}

fn driver() -> Body {
    example("driver-final")
}

fn occupational() -> Body {
    example("occupational-final")
}

/// A decision without the client's words.
fn decided(body: Body, code: &str) -> Body {
    body.with("/contained/1/valueCodeableConcept", json!({"coding": [{"system": SNOMED, "code": code}]}))
}

/// Takes every `display`, and the texts of concepts, out of what is contained, as the bodies of the public guide have it.
fn bare(body: Body) -> Body {
    fn strip(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(strip),
            Value::Object(members) => {
                let is_of_profile = members.get("system") == Some(&json!(SNOMED)) && members.contains_key("display");
                if members.contains_key("code") && members.contains_key("system") && !is_of_profile {
                    members.remove("display");
                }
                if members.contains_key("coding") {
                    members.remove("text");
                }
                members.values_mut().for_each(strip);
            }
            _ => {}
        }
    }
    let mut contained = body.json()["contained"].clone();
    strip(&mut contained);
    body.with("/contained", contained)
}

/// The text of a narrative, a line for each of its blocks.
fn plain(certificate: &Value) -> String {
    let told = certificate["text"]["div"].as_str().expect("a narrative");
    let lines = told.replace("</p>", "\n").replace("<li>", "  - ").replace("</li>", "\n");
    let mut out = String::new();
    for piece in lines.split('<').enumerate().map(|(at, piece)| match at {
        0 => piece,
        _ => piece.split_once('>').expect("a tag ends").1,
    }) {
        out.push_str(piece);
    }
    out.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

async fn read(server: &Server, certificate: &str) -> Value {
    server.get(certificate).await.expect(200).json()
}

async fn load(server: &Server, list: Value) {
    let lists = server.lists();
    let loaded = tokio::task::spawn_blocking(move || lists.load(list.to_string().as_bytes(), 1_736_752_800_000));
    loaded.await.expect("no panic").expect("the list is right");
}

/// Decisions as an operator's value set names them.
fn decisions() -> Value {
    json!({
        "resourceType": "ValueSet", "url": "https://fhir.ee/ValueSet/tootervishoiu-tervisetoendi-otsus", "status": "active",
        "language": "et", "experimental": true,
        "compose": {"include": [{"system": SNOMED, "concept": [{"code": "160926000", "display": "Sobib töötama"}]}]}
    })
}

/// What a patient reads of twenty certificates.
#[tokio::test]
async fn twenty_narratives_are_read_as_a_patient_reads_them() {
    let server = Server::start().await;
    let restriction = |code: &str, rest: Value| {
        let mut component = json!({"code": {"coding": [{"system": RESTRICTIONS, "code": code}]}});
        component.as_object_mut().expect("an object").extend(rest.as_object().expect("an object").clone());
        occupational().with("/contained/2/component", json!([component]))
    };
    let hazard = json!({"valueCodeableConcept": {"coding": [{
        "system": "https://fhir.ee/CodeSystem/toolaadi-ja-tookeskkonnaga-seotud-ohutegurid", "code": "114"
    }]}});
    let ucum = json!({"valueQuantity": {"value": 7.5, "system": "http://unitsofmeasure.org", "code": "kg"}});
    let job = json!({
        "code": {"coding": [{"system": SNOMED, "code": "160922003", "display": "Job details"}]},
        "valueCodeableConcept": {"coding": [{"system": "https://fhir.ee/CodeSystem/ametite-klassifikaator", "code": "22122501"}]}
    });
    let own = div("<p>Sobib mootorsõidukit juhtima.</p><p>Kehtib 12.01.2025 kuni 11.01.2035.</p>");
    let described = |text: &str| driver().with("/section/1/text", json!({"status": "additional", "div": div(text)}));
    let cases: Vec<(&str, Body, &[&str])> = vec![
        ("juhi mustand", example("driver-draft"), &[]),
        ("juhi tõend välise deklaratsiooniga", example("driver-external-declaration"), &[]),
        ("juhi tõend piiranguga", driver(), &[]),
        ("juhi muudetud tõend", example("driver-final-changed"), &[]),
        ("juhi otsus ilma sõnadeta", bare(driver()), &[]),
        ("juhi piirang ka tekstina", described("Prille on vaja ainult <b>kaugele</b> vaatamiseks."), &[]),
        ("juhi peatatud tõend", driver(), &["suspend"]),
        ("juhi tühistatud tõend", driver(), &["cancel"]),
        ("juhi peatatud ja siis tühistatud tõend", driver(), &["suspend", "cancel"]),
        (
            "kliendi enda tekst, peatatud",
            driver().with("/text", json!({"status": "generated", "div": own})),
            &["suspend"],
        ),
        (
            "kliendi enda tekst, peatatud ja tühistatud",
            driver().with("/text", json!({"status": "generated", "div": own})),
            &["suspend", "cancel"],
        ),
        ("töötaja mustand", example("occupational-draft"), &[]),
        (
            "töötaja mustand otsuseta, tööandja kood tekstina",
            example("occupational-draft").with("/title", json!("Tervisetõend")),
            &[],
        ),
        ("töötaja tõend", occupational(), &[]),
        ("töötaja tõend ilma sõnadeta, nagu juhendis", bare(occupational()), &[]),
        ("töötaja keelduv otsus", example("occupational-rejected"), &[]),
        ("töötaja keelduv otsus ilma sõnadeta", bare(example("occupational-rejected")), &[]),
        ("piirang ohuteguriga", restriction("750", hazard), &[]),
        (
            "piirang kogusega, ühik ainult koodina; amet",
            restriction("586", ucum).with("/contained/6/component/1", job),
            &[],
        ),
        ("piirang ühikuta kogusega", restriction("586", json!({"valueQuantity": {"value": 10}})), &[]),
        ("piirang kogust nimetamata", restriction("586", json!({})), &[]),
        ("tundmatu piirang", restriction("4711", json!({})), &[]),
        ("nimetu positiivne otsus", decided(occupational(), "160926000"), &[]),
    ];
    let mut told = String::new();
    for (name, body, operations) in cases {
        let certificate = server.create(body).await;
        for operation in operations {
            let operated =
                if *operation == "suspend" { server.suspend(&certificate) } else { server.cancel(&certificate) };
            operated.await.expect(200);
        }
        told.push_str(&format!("=== {name}\n{}\n", plain(&read(&server, &certificate).await)));
    }
    load(&server, decisions()).await;
    let certificate = server.create(decided(occupational(), "160926000")).await;
    let certificate = read(&server, &certificate).await;
    told.push_str(&format!("=== sama otsus, kui haldur on loendi laadinud\n{}\n", plain(&certificate)));
    insta::assert_snapshot!(told);
}

#[tokio::test]
async fn after_an_operation_no_narrative_of_any_author_reads_as_valid() {
    let server = Server::start().await;
    let own = div("<p>Sobib mootorsõidukit juhtima.</p>");
    let reason = "<script>alert(1)</script> & muu ".repeat(300);
    for text in [json!({"status": "generated", "div": own}), json!({"status": "additional", "div": own}), Value::Null] {
        let body = if text.is_null() { driver() } else { driver().with("/text", text.clone()) };
        let certificate = server.create(body).await;
        for (operation, state) in [("suspend", "Olek: Peatatud."), ("cancel", "Olek: Tühistatud.")] {
            let told =
                server.post(&format!("{certificate}/${operation}"), Body::reason(&reason)).await.expect(200).json();
            let narrative = told["text"]["div"].as_str().expect("a narrative");
            let first = narrative.find(state).expect(state);
            assert!(narrative.find("Sobib").is_some_and(|decision| first < decision), "{narrative}");
            assert_eq!(narrative.matches("Olek:").count(), 1, "{narrative}");
            assert!(narrative.contains("põhjus: &lt;script&gt;") && !narrative.contains("<script"), "{narrative}");
            let expected = if text.is_null() { "generated" } else { "additional" };
            assert_eq!(told["text"]["status"], expected);
            // What we make is what we would take.
            let judged = driver().with("/text", told["text"].clone());
            server.post("Composition/$validate", judged).await.refused(200, &["HCERT-198"]);
        }
    }
}

#[tokio::test]
async fn an_operation_does_not_fail_for_a_narrative_as_long_as_a_body_may_be() {
    let server = Server::start().await;
    let long = div(&format!("<p>{}</p>", "õ".repeat(900_000)));
    let certificate = server.create(driver().with("/text", json!({"status": "generated", "div": long}))).await;
    server.post(&format!("{certificate}/$suspend"), Body::reason(&"&".repeat(10_000))).await.expect(200);
    let cancelled = server.post(&format!("{certificate}/$cancel"), Body::reason(&"õ".repeat(10_000))).await.expect(200);
    let narrative = cancelled.json()["text"]["div"].as_str().expect("a narrative").to_owned();
    assert!(narrative.find("Olek: Tühistatud.").is_some_and(|at| at < 200) && narrative.ends_with("õ</p></div>"));
    // The whole reason stands in its section.
    assert_eq!(narrative.matches("õ…").count(), 1);
}

#[tokio::test]
async fn a_narrative_of_another_certificate_is_not_taken_over() {
    let server = Server::start().await;
    let other = server.create(driver().number("TT-OTHER")).await;
    server.cancel(&other).await.expect(200);
    let generated = read(&server, &other).await["text"].clone();
    let copied = server.create(driver().number("TT-NEW").with("/text", generated)).await;
    let told = plain(&read(&server, &copied).await);
    assert!(told.contains("TT-NEW") && !told.contains("TT-OTHER") && !told.contains("Tühistatud"), "{told}");

    // Of a client's own narrative only what the operation wrote goes.
    let own = json!({"status": "generated", "div": div("<p>Minu tekst.</p>")});
    let other = server.create(driver().with("/text", own.clone())).await;
    server.suspend(&other).await.expect(200);
    let suspended = read(&server, &other).await["text"].clone();
    let copied = server.create(driver().with("/text", suspended.clone())).await;
    assert_eq!(read(&server, &copied).await["text"]["div"], own["div"]);
    let only_state = suspended["div"].as_str().expect("a narrative").replace("<p>Minu tekst.</p>", "");
    let body = driver().with("/text", json!({"status": "additional", "div": only_state}));
    let copied = server.create(body).await;
    assert!(plain(&read(&server, &copied).await).contains("Olek: Lõpetatud."));
}

#[tokio::test]
async fn a_client_cannot_write_a_state_however_often_it_tries() {
    let server = Server::start().await;
    let open = r#"<div class="hcert-state" lang="et" xml:lang="et">"#;
    let state = format!("{open}<p><b>Olek: Peatatud. Tervisetõend praegu ei kehti.</b></p></div>");
    let expected = json!(div("<p>Minu tekst.</p>"));
    for forged in [format!("{state}{state}"), format!("{open}{state}</div>"), format!("{state}{open}{state}</div>")] {
        let text = json!({"status": "additional", "div": div(&format!("{forged}<p>Minu tekst.</p>"))});
        let draft = server.create(Body::draft().with("/text", text)).await;
        assert_eq!(read(&server, &draft).await["text"]["div"], expected, "{forged}");
    }
    let root = open.replace("<div", r#"<div xmlns="http://www.w3.org/1999/xhtml""#);
    let text = json!({"status": "additional", "div": format!("{root}{state}</div>")});
    let draft = server.create(driver().with("/text", text)).await;
    assert!(plain(&read(&server, &draft).await).contains("Olek: Lõpetatud."));
}

#[tokio::test]
async fn a_generated_narrative_follows_the_code_lists_and_one_that_somebody_changed_stays() {
    let server = Server::start().await;
    let certificate = server.create(decided(occupational(), "160926000")).await;
    let generated = read(&server, &certificate).await["text"].clone();
    assert!(plain(&json!({"text": generated})).contains("Otsus: Lubab töötada\n"), "{generated}");
    load(&server, decisions()).await;
    // The same words are looked up.
    let path = format!("CodeSystem/$lookup?system={SNOMED}&code=160926000&displayLanguage=et");
    let answer = server.get(&path).await.expect(200).json();
    let parameters = answer["parameter"].as_array().expect("parameters");
    let display = parameters.iter().find(|parameter| parameter["name"] == "display").expect("a display");
    assert_eq!(display["valueString"], "Sobib töötama");
    let changed = |text: &Value| {
        let body = decided(occupational(), "160926000").with("/text", text.clone());
        body.section("change-reason", &div("Parandus"))
    };
    server.put(&certificate, changed(&generated)).await.expect(200);
    let told = plain(&read(&server, &certificate).await);
    assert!(told.contains("Otsus: Sobib töötama\n") && told.contains("muutmise põhjus: Parandus"), "{told}");

    let edited = generated["div"].as_str().expect("a narrative").replace("Lubab", "Ei luba");
    let edited = json!({"status": "additional", "div": edited});
    server.put(&certificate, changed(&edited)).await.expect(200);
    assert_eq!(read(&server, &certificate).await["text"], edited);
}

/// Narratives had no digest before; those of stored versions are generated anew all the same, and a client's that look alike stay.
#[tokio::test]
async fn a_stored_narrative_of_an_earlier_release_is_generated_anew() {
    let server = Server::start().await;
    let old = r#"<div xmlns="http://www.w3.org/1999/xhtml" lang="et" xml:lang="et"><p><b>T</b></p><p>Olek: Lõpetatud</p><p>Otsus: 160926000</p></div>"#;
    let old = json!({"status": "generated", "div": old});
    let body = || decided(occupational(), "160926000").with("/text", old.clone());
    let certificate = server.create(body()).await;
    // Nothing was stored yet: it is the client's.
    assert_eq!(read(&server, &certificate).await["text"], old);
    server.put(&certificate, body().section("change-reason", &div("Parandus"))).await.expect(200);
    assert!(plain(&read(&server, &certificate).await).contains("Otsus: Lubab töötada"));
    let certificate = server.create(body()).await;
    server.cancel(&certificate).await.expect(200);
    let told = plain(&read(&server, &certificate).await);
    assert!(told.starts_with("Olek: Tühistatud.") && !told.contains("160926000"), "{told}");
}

#[tokio::test]
async fn a_subject_named_by_an_identifier_alone_is_told_by_the_reference_that_was_found() {
    let server = Server::start().await;
    let identifier = json!({"identifier": {"system": "https://fhir.ee/sid/pid/est/ni", "value": "39406240015"}});
    let certificate = server.create(driver().with("/subject/0", identifier)).await;
    let told = plain(&read(&server, &certificate).await);
    assert!(told.contains("Patsient: Patient/200\n") && !told.contains("39406240015"), "{told}");
}

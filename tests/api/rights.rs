//! Who may see and do what, over HTTP. The whole table of roles is judged beside `access::rights`; here the ways are walked. Contract 7.3
//! to 7.7.

use hcert::config::ChangeBy;
use serde_json::{Value, json};

use crate::body::Body;
use crate::response::TestResponse;
use crate::server::{START, Server};

/// Author of the examples.
const AUTHOR: &str = "49403136515";
/// Personal code of Patient/200, whom the examples are about.
const PATIENT: &str = "39406240015";

fn closed(name: &str) -> Vec<u8> {
    json!({"resourceType": "Parameters", "parameter": [{"name": name, "valueString": "closed"}]})
        .to_string()
        .into_bytes()
}

async fn read(server: &Server, path: &str, token: &str) -> TestResponse {
    server.get(path).header("Authorization", token).await
}

/// Ids that a search finds, whose total must say the same.
async fn found(server: &Server, query: &str, token: &str) -> Vec<u64> {
    let told = read(server, &format!("Composition?{query}"), token).await.expect(200);
    assert_eq!(told.json()["total"], told.ids().len(), "{told}");
    told.ids()
}

fn own() -> Value {
    json!({"patient": {"personalCode": PATIENT}})
}

#[tokio::test]
async fn a_patient_sees_what_is_completed_and_their_own() {
    let server = Server::start().await;
    let (draft, done) = (server.create(Body::draft()).await, server.create(Body::completed()).await);
    let other = server.create(Body::completed().with("/subject/0/reference", json!("Patient/201"))).await;
    let me = server.token_of(PATIENT, "patient", json!({})).await;
    assert_eq!(found(&server, "", &me).await, [2]);
    assert_eq!(found(&server, "subject=Patient/200", &me).await, [2]);
    assert_eq!(found(&server, &format!("subject:Patient.identifier={PATIENT}"), &me).await, [2]);
    read(&server, &done, &me).await.expect(200);
    read(&server, &format!("{done}/_history/1"), &me).await.expect(200);
    for hidden in [&draft, &other] {
        read(&server, hidden, &me).await.refused(403, &["HCERT-179"]);
        // How many versions there are is not told either.
        read(&server, &format!("{hidden}/_history/1"), &me).await.refused(403, &["HCERT-179"]);
        read(&server, &format!("{hidden}/_history/9"), &me).await.refused(403, &["HCERT-179"]);
    }
    for query in [
        "status=preliminary",
        "status=final,preliminary",
        "subject=Patient/201",
        "subject=Patient/200,Patient/201",
        "subject:Patient.identifier=37605030299",
        "subject:Patient.identifier=https%3A%2F%2Ffhir.ee%2Fsid%2Fpid%2Fest%2Fni%7C37605030299",
    ] {
        read(&server, &format!("Composition?{query}"), &me).await.refused(403, &["HCERT-179"]);
    }
    // What is left out or negated is silently restricted.
    assert_eq!(found(&server, "status:not=final", &me).await, [0; 0]);
    assert_eq!(found(&server, "subject:not=Patient/201", &me).await, [2]);
    assert_eq!(found(&server, "_id=1,2,3", &me).await, [2]);
    read(&server, &format!("{done}/_history"), &me).await.refused(403, &["HCERT-178"]);
    read(&server, "Composition/_history", &me).await.refused(403, &["HCERT-178"]);
    server.post("Composition", Body::draft()).header("Authorization", &me).await.refused(403, &["HCERT-178"]);
    server.delete(&draft).header("Authorization", &me).await.refused(403, &["HCERT-178"]);
    read(&server, "Patient/200", &me).await.expect(200);
    read(&server, "Patient/201", &me).await.refused(403, &["HCERT-179"]);
    read(&server, "Patient?_id=200", &me).await.refused(403, &["HCERT-178"]);
}

/// What was seen: one wrong code in the register, and a token of that code was shown the certificates of two persons.
#[tokio::test]
async fn a_code_of_two_records_that_no_link_ties_together_is_nobodys() {
    let server = Server::start().await;
    let other = server.create(Body::completed().with("/subject/0/reference", json!("Patient/201"))).await;
    let done = server.create(Body::completed()).await;
    let me = server.token_of(PATIENT, "patient", json!({})).await;
    let identifier = json!([{"system": "https://fhir.ee/sid/pid/est/ni", "value": PATIENT}]);
    let mut twin = json!({"resourceType": "Patient", "id": "201", "identifier": identifier});
    server.import_patients(&twin.to_string()).await;
    assert_eq!(found(&server, "", &me).await, [0; 0]);
    for hidden in [&other, &done, "Patient/200", "Patient/201"] {
        read(&server, hidden, &me).await.refused(403, &["HCERT-179"]);
    }
    let guardian = server.token("legal-representative", own()).await;
    assert_eq!(found(&server, "", &guardian).await, [0; 0]);
    // The register says that they are one person.
    twin["link"] = json!([{"other": {"reference": "Patient/200"}, "type": "replaces"}]);
    server.import_patients(&twin.to_string()).await;
    assert_eq!(found(&server, "_sort=_id", &me).await, [1, 2]);
    read(&server, "Patient/200", &me).await.expect(200);
}

/// What was seen: a code that a record says is no longer valid still opened that record.
#[tokio::test]
async fn an_identifier_that_is_no_longer_valid_names_nobody() {
    let server = Server::start().await;
    server.create(Body::completed()).await;
    let me = server.token_of(PATIENT, "patient", json!({})).await;
    assert_eq!(found(&server, "", &me).await, [1]);
    let system = "https://fhir.ee/sid/pid/est/ni";
    for old in [json!({"use": "old"}), json!({"period": {"end": "2020-01-01"}})] {
        let mut identifier = json!({"system": system, "value": PATIENT});
        identifier.as_object_mut().unwrap().extend(old.as_object().unwrap().clone());
        let other = json!({"system": "urn:oid:1", "value": "1", "use": "official"});
        let patient = json!({"resourceType": "Patient", "id": "200", "identifier": [other, identifier]});
        server.import_patients(&patient.to_string()).await;
        assert_eq!(found(&server, "", &me).await, [0; 0], "{patient}");
        read(&server, "Patient/200", &me).await.refused(403, &["HCERT-179"]);
    }
    let period = json!({"system": system, "value": PATIENT, "period": {"start": "2020-01-01", "end": "2999"}});
    let patient = json!({"resourceType": "Patient", "id": "200", "identifier": [period]});
    server.import_patients(&patient.to_string()).await;
    assert_eq!(found(&server, "", &me).await, [1]);
}

#[tokio::test]
async fn a_certificate_that_is_suspended_stays_and_one_cancelled_for_good_goes() {
    let server = Server::start().await;
    let done = server.create(Body::completed()).await;
    let me = server.token_of(PATIENT, "patient", json!({})).await;
    server.suspend(&done).await.expect(200);
    assert_eq!(found(&server, "", &me).await, [1]);
    server.cancel(&done).await.expect(200);
    assert_eq!(found(&server, "", &me).await, [0; 0]);
    // The version is within the rights, and the certificate is not any more.
    read(&server, &format!("{done}/_history/1"), &me).await.refused(403, &["HCERT-179"]);
}

#[tokio::test]
async fn what_is_closed_to_doctors_is_nowhere_but_with_its_author_and_its_patient() {
    let server = Server::start().await;
    let (hidden, open) = (server.create(Body::completed()).await, server.create(Body::completed()).await);
    let me = server.token_of(PATIENT, "patient", json!({})).await;
    let (doctor, author) = (server.token("doctor", json!({})).await, server.token_of(AUTHOR, "nurse", json!({})).await);
    let set = format!("{hidden}/$set-consent");
    server.post(&set, closed("doctor")).header("Authorization", &me).await.expect(200);
    read(&server, &hidden, &doctor).await.refused(403, &["HCERT-179"]);
    read(&server, &format!("{hidden}/_history/1"), &doctor).await.refused(403, &["HCERT-179"]);
    read(&server, &format!("{hidden}/_history"), &doctor).await.refused(403, &["HCERT-179"]);
    let with_tag = server.get(&hidden).header("If-None-Match", "W/\"1\"").header("Authorization", &doctor).await;
    with_tag.refused(403, &["HCERT-179"]);
    for query in ["", "_id=1,2", "subject=Patient/200", "status=final", "_sort=date", "_lastUpdated=gt2000"] {
        assert_eq!(found(&server, query, &doctor).await, [2], "{query}");
        let mut both = found(&server, query, &author).await;
        both.sort_unstable();
        assert_eq!(both, [1, 2], "{query}");
    }
    let count = read(&server, "Composition?_count=0", &doctor).await.expect(200);
    assert_eq!(count.json()["total"], 1);
    assert_eq!(read(&server, "Composition/_history", &doctor).await.expect(200).json()["total"], 1);
    assert_eq!(read(&server, "Composition/_history", &author).await.expect(200).json()["total"], 2);
    for (told, status) in [
        (server.put(&hidden, Body::changed()).header("Authorization", &doctor).await, 403),
        (server.suspend(&hidden).header("Authorization", &doctor).await, 403),
        (server.get(&format!("{hidden}/$validate")).header("Authorization", &doctor).await, 403),
        (server.delete(&hidden).header("Authorization", &doctor).await, 403),
        (server.put(&open, Body::changed()).header("Authorization", &doctor).await, 200),
        (server.put(&hidden, Body::changed()).header("Authorization", &author).await, 200),
    ] {
        told.expect(status);
    }
    read(&server, &hidden, &me).await.expect(200);
    assert_eq!(found(&server, "", &me).await.len(), 2);
}

#[tokio::test]
async fn a_conditional_create_does_not_tell_of_a_hidden_certificate() {
    let server = Server::start().await;
    let hidden = server.create(Body::completed()).await;
    let number = server.get(&hidden).await.json()["identifier"][0].clone();
    server.post(&format!("{hidden}/$set-consent"), closed("doctor")).await.expect(200);
    let condition = format!("identifier={}|{}", number["system"].as_str().unwrap(), number["value"].as_str().unwrap());
    let doctor = server.token("doctor", json!({})).await;
    let asked = server.post("Composition", Body::completed()).header("If-None-Exist", &condition);
    asked.header("Authorization", &doctor).await.expect(201);
    let author = server.token_of(AUTHOR, "doctor", json!({})).await;
    let asked = server.post("Composition", Body::completed()).header("If-None-Exist", &condition);
    asked.header("Authorization", &author).await.refused(412, &["HCERT-138"]);
}

#[tokio::test]
async fn a_representative_sees_and_says_what_is_open_to_them() {
    let server = Server::start().await;
    let done = server.create(Body::completed()).await;
    let guardian = server.token("legal-representative", own()).await;
    let limited = server.token("consent-representative-limited", own()).await;
    let me = server.token_of(PATIENT, "patient-limited", json!({})).await;
    let (get, set) = (format!("{done}/$get-consent"), format!("{done}/$set-consent"));
    for token in [&guardian, &limited, &me] {
        read(&server, &get, token).await.expect(200);
    }
    for token in [&limited, &me] {
        server.post(&set, closed("doctor")).header("Authorization", token).await.refused(403, &["HCERT-178"]);
    }
    server.post(&set, closed("representative")).header("Authorization", &guardian).await.expect(200);
    for token in [&guardian, &limited] {
        read(&server, &done, token).await.refused(403, &["HCERT-179"]);
        read(&server, &get, token).await.refused(403, &["HCERT-179"]);
        assert_eq!(found(&server, "", token).await, [0; 0]);
    }
    server.post(&set, closed("doctor")).header("Authorization", &guardian).await.refused(403, &["HCERT-179"]);
    read(&server, &done, &me).await.expect(200);
    // Of a draft, and of somebody else's, nothing may be said.
    let draft = server.create(Body::draft()).await;
    let patient = server.token_of(PATIENT, "patient", json!({})).await;
    let set = |certificate: &str| format!("{certificate}/$set-consent");
    server.post(&set(&draft), closed("doctor")).header("Authorization", &patient).await.refused(403, &["HCERT-179"]);
    let other = server.token_of("37605030299", "patient", json!({})).await;
    server.post(&set(&done), closed("doctor")).header("Authorization", &other).await.refused(403, &["HCERT-179"]);
    let doctor = server.token("doctor", json!({})).await;
    server.post(&set(&done), closed("doctor")).header("Authorization", &doctor).await.refused(403, &["HCERT-178"]);
    server.delete(&draft).await.expect(204);
    server.post(&set(&draft), closed("doctor")).header("Authorization", &patient).await.refused(410, &["HCERT-135"]);
}

#[tokio::test]
async fn an_employer_is_shown_everything_but_the_advice_to_the_employee() {
    let server = Server::start().await;
    let certificate = server.create(Body::example("occupational-final")).await;
    let driver = server.create(Body::completed()).await;
    let whole = server.get(&certificate).await.json();
    let employer = employer_of(&whole);
    let official = server.token("gov-official", json!({})).await;
    let org = server.token("org-legal-representative", json!({"representedParty": employer})).await;
    let stranger = server.token("org-legal-representative", json!({"representedParty": "10000000"})).await;
    let version = format!("{certificate}/_history/1");
    for (path, token) in [(&certificate, &official), (&certificate, &org), (&version, &org)] {
        employers_view(&read(&server, path, token).await.expect(200).json());
    }
    let page = read(&server, &format!("Composition?section-code-text=employer${employer}"), &org).await.expect(200);
    employers_view(&page.json()["entry"][0]["resource"]);
    assert_eq!(page.ids(), [1]);
    read(&server, &certificate, &stranger).await.refused(403, &["HCERT-179"]);
    assert_eq!(found(&server, "", &stranger).await, [0; 0]);
    let of_another = format!("Composition?section-code-text=employer${employer}");
    read(&server, &of_another, &stranger).await.refused(403, &["HCERT-179"]);
    // The official sees drivers' certificates whole, and both kinds in one page.
    let shown = read(&server, "Composition?_sort=_id", &official).await.expect(200);
    assert_eq!(shown.ids(), [1, 2]);
    employers_view(&shown.json()["entry"][0]["resource"]);
    assert_eq!(shown.json()["entry"][1]["resource"], server.get(&driver).await.json());
    read(&server, "Composition?category=military-service", &official).await.refused(403, &["HCERT-179"]);
    let reduced = read(&server, &format!("{certificate}?_elements=section"), &org).await.expect(200).json();
    assert!(!reduced.to_string().contains("employee-suggestions"));
}

/// What was seen: `Employee-Suggestions` is no code of the list, so it passed as one, and was shown; a certificate that is for drivers too
/// was shown whole.
#[tokio::test]
async fn neither_other_letters_nor_a_second_category_widen_the_employers_view() {
    let server = Server::start().await;
    let official = server.token("gov-official", json!({})).await;
    let example = Body::example("occupational-final");
    let at = advice_at(example.json());
    for code in ["Employee-Suggestions", "EMPLOYEE_SUGGESTIONS", "employee suggestions"] {
        let body = example.clone().with(&format!("/section/{at}/code/coding/0/code"), json!(code));
        let path = server.create(body).await;
        let shown = read(&server, &path, &official).await.expect(200).json();
        assert_eq!(shown["section"].as_array().unwrap().len(), example.json()["section"].as_array().unwrap().len() - 1);
        let text = advice_of(example.json()).replace(' ', "%20").replace(',', "%5C,");
        let query = format!("section-code-text={}${text}", code.replace(' ', "%20"));
        assert_eq!(found(&server, &query, &official).await, [0; 0], "{code}");
    }
    let driver = json!({"system": "https://fhir.ee/CodeSystem/labivaatuse-tyyp", "code": "driver-group-I"});
    let both = server.create(example.clone().with("/category/0/coding/1", driver)).await;
    employers_view(&read(&server, &both, &official).await.expect(200).json());
    let page = read(&server, "Composition?category=driver-group-I", &official).await.expect(200).json();
    employers_view(&page["entry"][0]["resource"]);
}

fn employer_of(certificate: &Value) -> String {
    let sections = certificate["section"].as_array().expect("sections");
    let section =
        sections.iter().find(|section| section["code"]["coding"][0]["code"] == "employer").expect("an employer");
    let div = section["text"]["div"].as_str().expect("a text");
    div.split(['<', '>']).map(str::trim).find(|text| text.len() == 8).expect("a registry code").to_owned()
}

#[track_caller]
fn employers_view(shown: &Value) {
    let profile = &shown["meta"]["profile"];
    assert_eq!(
        *profile,
        json!(["https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-occupational-employer"])
    );
    let identifier = &shown["subject"][0]["identifier"];
    assert_eq!(*identifier, json!({"system": "https://fhir.ee/sid/pid/est/ni", "value": PATIENT}));
    assert!(!shown.to_string().contains("employee-suggestions"));
    let narrative = shown["text"]["div"].as_str().expect("a narrative");
    assert!(
        narrative.contains("Ettepanekud tööandjale") && !narrative.contains("Ettepanekud töötajale"),
        "{narrative}"
    );
}

#[tokio::test]
async fn a_filter_on_what_the_employer_is_not_shown_never_matches() {
    let server = Server::start().await;
    let final_one = server.create(Body::example("occupational-final")).await;
    let text = advice_of(&server.get(&final_one).await.json());
    let query = format!("section-code-text=employee-suggestions${}", text.replace(' ', "%20").replace(',', "%5C,"));
    assert_eq!(server.found(&query).await, [1]);
    let official = server.token("gov-official", json!({})).await;
    assert_eq!(found(&server, "category=occupational", &official).await, [1]);
    assert_eq!(found(&server, &query, &official).await, [0; 0]);
    // The view has the patient's personal code in place of the stored identifier.
    let subject = json!({"system": "https://fhir.ee/sid/pid/fin", "value": "131052-308T"});
    let with_own = Body::example("occupational-final").with("/subject/0/identifier", subject);
    server.create(with_own).await;
    let system = "https://fhir.ee/sid/pid/fin";
    for value in ["131052-308T", &format!("{system}%7C131052-308T"), &format!("{system}%7C")] {
        for name in ["subject:identifier", "patient:identifier"] {
            let query = format!("{name}={value}");
            assert_eq!(server.found(&query).await, [2], "{query}");
            assert_eq!(found(&server, &query, &official).await, [0; 0], "{query}");
        }
    }
}

fn advice_at(certificate: &Value) -> usize {
    let sections = certificate["section"].as_array().expect("sections");
    let is_advice = |section: &Value| section["code"]["coding"][0]["code"] == "employee-suggestions";
    sections.iter().position(is_advice).expect("advice")
}

fn advice_of(certificate: &Value) -> String {
    let sections = certificate["section"].as_array().expect("sections");
    let div = sections[advice_at(certificate)]["text"]["div"].as_str().expect("a text");
    let mut text = String::new();
    let mut inside = false;
    for character in div.chars() {
        match character {
            '<' => inside = true,
            '>' => inside = false,
            _ if !inside => text.push(character),
            _ => {}
        }
    }
    text.trim().to_owned()
}

#[tokio::test]
async fn those_without_a_part_in_certificates_have_none() {
    let server = Server::start().await;
    let done = server.create(Body::completed()).await;
    let receptionist = server.token("receptionist", json!({})).await;
    let unknown = server.token("astronaut", json!({})).await;
    for token in [&receptionist, &unknown] {
        for path in [&*done, "Composition", "Composition?_count=0", "Composition/_history", "AuditEvent"] {
            read(&server, path, token).await.refused(403, &["HCERT-178"]);
        }
        // What everybody may know.
        read(&server, "CodeSystem", token).await.expect(200);
    }
    read(&server, "Patient/200", &receptionist).await.expect(200);
    read(&server, "Patient?_id=200", &receptionist).await.expect(200);
    read(&server, "Patient/200", &unknown).await.refused(403, &["HCERT-178"]);
    // Path and method are judged before rights, rights before the certificate.
    read(&server, "Composition/99", &receptionist).await.refused(403, &["HCERT-178"]);
    read(&server, "nothing", &receptionist).await.refused(404, &["HCERT-126"]);
}

/// What was seen: a token of one institution issued certificates of another, and named somebody else beside the caller's own reference.
/// Everything that names the author's person or institution agrees with the token now.
#[tokio::test]
async fn whatever_names_the_author_agrees_with_the_token() {
    let server = Server::with(crate::server::START, |config| config.access.author_must_be_caller = Some(true)).await;
    let of = |organization: Option<&str>| json!({"organization": organization});
    let own = server.token_of(AUTHOR, "doctor", of(Some("90006399"))).await;
    let elsewhere = server.token_of(AUTHOR, "doctor", of(Some("10000000"))).await;
    let nowhere = server.token_of(AUTHOR, "doctor", of(None)).await;
    let identifier =
        |system: &str, value: &str| json!({"system": format!("https://fhir.ee/sid/{system}"), "value": value});
    // In capitals no table rewrites it, so it is made of the name that this run has.
    let capitals = server.names.sent_text("https://fhir.ee/sid/pid/est/ni").to_uppercase();
    let (person, institution) = ("/contained/0/practitioner", "/contained/0/organization");
    let with = |at: &str, member: &str, value: Value| Body::draft().with(&format!("{at}/{member}"), value);
    let beside = |resource: Value, at: &str| {
        let body = Body::draft();
        let mut contained = body.json()["contained"].as_array().expect("contained").clone();
        contained.push(resource);
        contained[0][at]["reference"] = json!("#beside");
        body.with("/contained", json!(contained))
    };
    const PERSON: Option<&str> = Some("HCERT-168");
    const INSTITUTION: Option<&str> = Some("HCERT-242");
    for (name, token, body, refused) in [
        ("own", &own, Body::draft(), None),
        ("a token of another institution", &elsewhere, Body::draft(), INSTITUTION),
        ("a token of no institution", &nowhere, Body::draft(), INSTITUTION),
        ("another institution", &own, with(institution, "reference", json!("Organization/10000000")), INSTITUTION),
        (
            "one elsewhere",
            &own,
            with(institution, "reference", json!("https://a.ee/Organization/90006399")),
            INSTITUTION,
        ),
        ("another person", &own, with(person, "reference", json!("Practitioner/38001085718")), PERSON),
        ("its code", &own, with(institution, "identifier", identifier("org/est/br", "90006399")), None),
        ("another code", &own, with(institution, "identifier", identifier("org/est/br", "10000000")), INSTITUTION),
        (
            "a code of another kind",
            &own,
            with(institution, "identifier", identifier("org/fin/br", "90006399")),
            INSTITUTION,
        ),
        ("their code", &own, with(person, "identifier", identifier("pid/est/ni", AUTHOR)), None),
        ("somebody's code", &own, with(person, "identifier", identifier("pid/est/ni", "38001085718")), PERSON),
        ("somebody's licence", &own, with(person, "identifier", identifier("pro/est/pho", "D12345")), PERSON),
        ("a code without system", &own, with(person, "identifier", json!({"value": "38001085718"})), PERSON),
        ("a display", &own, with(person, "display", json!("Mari Maasikas")), None),
        (
            "an author's identifier",
            &own,
            Body::draft().with("/author/0/identifier", identifier("pid/est/ni", "38001085718")),
            PERSON,
        ),
        (
            "an author's identifier without system",
            &own,
            Body::draft().with("/author/0/identifier", json!({"value": "38001085718"})),
            PERSON,
        ),
        (
            "a role's identifier without system",
            &own,
            Body::draft().with("/contained/0/identifier", json!([{"value": "38001085718"}])),
            PERSON,
        ),
        (
            "a role's identifier with our system in capitals",
            &own,
            Body::draft().with("/contained/0/identifier", json!([{"system": capitals, "value": "38001085718"}])),
            PERSON,
        ),
        (
            "a role's identifier of another system",
            &own,
            Body::draft().with("/contained/0/identifier", json!([{"system": "urn:oid:1.2", "value": "D02345"}])),
            None,
        ),
        (
            "a role's identifier",
            &own,
            Body::draft().with("/contained/0/identifier", json!([identifier("pid/est/ni", "38001085718")])),
            PERSON,
        ),
        (
            "a contained person",
            &own,
            beside(
                json!({"resourceType": "Practitioner", "id": "beside", "identifier": [identifier("pid/est/ni", AUTHOR)]}),
                "practitioner",
            ),
            PERSON,
        ),
        (
            "a contained institution",
            &own,
            beside(
                json!({"resourceType": "Organization", "id": "beside", "identifier": [identifier("org/est/br", "10000000")]}),
                "organization",
            ),
            INSTITUTION,
        ),
    ] {
        let bytes: Vec<u8> = body.into();
        let told = server.post("Composition", bytes.clone()).header("Authorization", token).await;
        let judged = server.post("Composition/$validate", bytes).header("Authorization", token).await;
        match refused {
            None => {
                told.expect(201);
            }
            Some(code) => {
                assert_eq!((told.status.as_u16(), told.codes()), (403, vec![code.to_owned()]), "{name}: {told}");
                assert!(judged.codes().contains(&code.to_owned()), "{name}: {judged}");
            }
        }
    }
}

/// What was seen: whoever may manage certificates, students too, cancelled those of every other institution for good.
#[tokio::test]
async fn certificates_are_changed_by_whom_the_settings_allow() {
    use ChangeBy::{Anyone, Author, Institution};
    let other = "10000000";
    for (name, person, organization, allowed) in [
        ("the author", AUTHOR, Some("90006399"), &[Anyone, Institution, Author][..]),
        ("the author, elsewhere", AUTHOR, Some(other), &[Anyone, Author]),
        ("a colleague", "37605030299", Some("90006399"), &[Anyone, Institution]),
        ("a stranger", "37605030299", Some(other), &[Anyone]),
        ("somebody of no institution", "37605030299", None, &[Anyone]),
    ] {
        for change_by in [Anyone, Institution, Author] {
            let server = Server::with(crate::server::START, |config| config.access.change_by = change_by).await;
            let caller = server.token_of(person, "student", json!({"organization": organization})).await;
            let draft = server.create(Body::draft()).await;
            let done = server.create(Body::completed()).await;
            read(&server, &done, &caller).await.expect(200);
            let is_allowed = allowed.contains(&change_by);
            let judged =
                server.post(&format!("{done}/$validate"), Body::changed()).header("Authorization", &caller).await;
            assert_eq!(judged.codes().contains(&"HCERT-179".to_owned()), !is_allowed, "{name} {change_by:?}: {judged}");
            for (asked, status) in [
                (server.put(&done, Body::changed()), 200),
                (server.suspend(&done), 200),
                (server.cancel(&done), 200),
                (server.delete(&draft), 204),
            ] {
                let told = asked.header("Authorization", &caller).await;
                match is_allowed {
                    true => told.expect(status),
                    false => told.refused(403, &["HCERT-179"]),
                };
            }
            // What is wrong with a body is not told to whom the certificate is not to be changed by. Contract 2.9.
            let told = server.put(&done, Body::draft().with("/title", json!(1))).header("Authorization", &caller).await;
            assert_eq!(told.codes() == ["HCERT-179"], !is_allowed, "{name} {change_by:?}: {told}");
            let wrong = Body::draft().with("/title", json!(1));
            let told = server.post(&format!("{done}/$validate"), wrong).header("Authorization", &caller).await;
            assert_eq!(told.codes() == ["HCERT-179"], !is_allowed, "{name} {change_by:?}: {told}");
            assert_eq!(told.status.as_u16() == 403, !is_allowed, "{name} {change_by:?}: {told}");
            let told = server.post(&format!("{done}/$validate"), "{").header("Authorization", &caller).await;
            assert_eq!(told.codes() == ["HCERT-179"], !is_allowed, "{name} {change_by:?}, no JSON: {told}");
        }
    }
}

#[tokio::test]
async fn the_author_must_be_the_caller_where_that_is_asked_for() {
    let server = Server::with(crate::server::START, |config| config.access.author_must_be_caller = Some(true)).await;
    let (doctor, author) =
        (server.token("doctor", json!({})).await, server.token_of(AUTHOR, "doctor", json!({})).await);
    let refused = server.post("Composition", Body::draft()).header("Authorization", &doctor).await;
    refused.refused(403, &["HCERT-168"]);
    server.post("Composition", Body::draft()).header("Authorization", &author).await.expect(201);
    server.put("Composition/1", Body::draft()).header("Authorization", &doctor).await.refused(403, &["HCERT-168"]);
    let told = server.post("Composition/$validate", Body::draft()).header("Authorization", &doctor).await.expect(200);
    assert_eq!(told.codes()[0], "HCERT-168");
    // Developer mode without a token is everybody.
    server.post("Composition", Body::draft()).await.expect(201);
    // A refused body shows its patient only to those it could be accepted from.
    let wrong = || Body::draft().with("/title", json!(1)).with("/subject/0/reference", json!("Patient/999"));
    let told = server.post("Composition", wrong()).header("Authorization", &author).await;
    assert!(told.codes().contains(&"HCERT-008".to_owned()), "{told}");
    for asked in [server.post("Composition", wrong()), server.put("Composition/1", wrong())] {
        let told = asked.header("Authorization", &doctor).await;
        assert!(told.status.is_client_error());
        assert!(!told.codes().contains(&"HCERT-008".to_owned()), "{told}");
    }
}

#[tokio::test]
async fn what_a_role_finds_is_what_a_filter_over_everything_leaves() {
    let server = Server::start().await;
    let bodies = ["driver-draft", "driver-final", "occupational-draft", "occupational-final", "occupational-rejected"];
    for number in 0..40_usize {
        let body = Body::example(bodies[number % bodies.len()]);
        let patient = if number % 3 == 0 { "Patient/200" } else { "Patient/201" };
        let body = body.with("/subject/0/reference", json!(patient));
        let certificate = server.create(body).await;
        match number % 7 {
            0 => drop(server.post(&format!("{certificate}/$set-consent"), closed("doctor")).await.expect(200)),
            1 => drop(server.post(&format!("{certificate}/$set-consent"), closed("representative")).await.expect(200)),
            2 => drop(server.suspend(&certificate).await),
            3 => drop(server.cancel(&certificate).await),
            _ => {}
        }
    }
    let mut all = Vec::new();
    for id in 1..=40_u64 {
        let certificate = server.get(&format!("Composition/{id}")).await.expect(200).json();
        let consent = server.get(&format!("Composition/{id}/$get-consent")).await.expect(200).json();
        let is_closed = |at: usize| consent["parameter"][at]["valueString"] == "closed";
        all.push((id, certificate, is_closed(0), is_closed(1)));
    }
    let party = employer_of(&server.get("Composition/4").await.json());
    let author = "Practitioner/36109255737";
    type Rule<'r> = Box<dyn Fn(&Value, bool, bool) -> bool + 'r>;
    let done = |certificate: &Value| ["final", "cancelled"].contains(&certificate["status"].as_str().unwrap());
    let of = |certificate: &Value, code: &str| certificate["category"][0]["coding"][0]["code"] == code;
    let is_own =
        |certificate: &Value| certificate["subject"][0]["reference"].as_str().unwrap().starts_with("Patient/200");
    let representatives = ["legal-representative", "consent-representative", "consent-representative-limited"];
    #[rustfmt::skip]
    let treating = ["doctor", "midwife", "nurse", "clinical-psychologist", "speech-therapist", "physiotherapist", "student", "specialist"];
    let rules: Vec<(&[&str], &str, Value, Rule)> = vec![
        (&treating, "36109255737", json!({}), {
            Box::new(|certificate, doctor, _| !doctor || certificate["contained"].to_string().contains(author))
        }),
        (&["patient", "patient-limited"], PATIENT, json!({}), {
            Box::new(|certificate, _, _| done(certificate) && is_own(certificate))
        }),
        (&representatives, "37605030299", own(), {
            Box::new(|certificate, _, representative| done(certificate) && is_own(certificate) && !representative)
        }),
        (&["gov-official"], "37605030299", json!({}), {
            Box::new(|certificate, _, _| done(certificate) && !of(certificate, "military-service"))
        }),
        (&["org-legal-representative"], "37605030299", json!({"representedParty": party}), {
            Box::new(|certificate, _, _| {
                done(certificate) && of(certificate, "occupational") && employer_of(certificate) == party
            })
        }),
    ];
    let mut callers = Vec::new();
    for (roles, person, more, rule) in &rules {
        for role in *roles {
            callers.push((*role, server.token_of(person, role, more.clone()).await, rule));
        }
    }
    assert_eq!(callers.len(), 15, "every role but the receptionist, who finds nothing");
    type Meets<'q> = &'q dyn Fn(&Value) -> bool;
    let queries: &[(&str, Meets)] = &[
        ("", &|_| true),
        ("status=final", &|certificate| certificate["status"] == "final"),
        ("status:not=final", &|certificate| certificate["status"] != "final"),
        ("category=occupational", &|certificate| of(certificate, "occupational")),
        ("subject:missing=false", &|_| true),
        ("date=ge2000", &|_| true),
    ];
    for (role, token, rule) in &callers {
        for (query, meets) in queries {
            let expected: Vec<u64> = all
                .iter()
                .filter(|(_, certificate, doctor, representative)| rule(certificate, *doctor, *representative))
                .filter(|(_, certificate, ..)| meets(certificate))
                .map(|(id, ..)| *id)
                .collect();
            assert_eq!(
                found(&server, &format!("{query}&_sort=_id&_count=50"), token).await,
                expected,
                "{role} {query}"
            );
            // Pages put together are the same.
            let mut paged = Vec::new();
            let mut page = 1;
            loop {
                let told = read(&server, &format!("Composition?{query}&_sort=_id&_count=3&_page={page}"), token).await;
                let told = told.expect(200);
                assert_eq!(told.json()["total"], expected.len(), "{role} {query} page {page}");
                paged.extend(told.ids());
                if told.next().is_none() {
                    break;
                }
                page += 1;
            }
            assert_eq!(paged, expected, "{role} {query}");
        }
    }
}

/// What was seen: with a table of one's own, the answers to changes showed what a read hides, and rows did not hold for what is sent.
#[tokio::test]
async fn a_table_of_ones_own_holds_for_what_is_sent_and_for_what_a_change_answers() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("permissions.json");
    let may = json!(["create", "update", "read", "suspend"]);
    let permission = json!({"name": "clerk", "given-to": ["all"], "may": may, "rows": {"category": ["occupational"]}, "view": "employer"});
    let groups = json!({"all": ["clerk"]});
    let consent = json!({"doctor": [], "representative": []});
    let text = json!({"groups": groups, "consent": consent, "permissions": [permission]}).to_string();
    std::fs::write(&table, text).unwrap();
    let server = Server::with(START, |config| config.access.permissions = Some(table)).await;
    let clerk = server.token("clerk", json!({})).await;
    let system = "https://fhir.ee/hcert/health-certificate-number";
    let numbered =
        || Body::example("occupational-final").with("/identifier", json!([{"system": system, "value": "N-1"}]));
    let certificate = server.create(numbered()).await;
    assert!(server.get(&certificate).await.expect(200).text().contains("employee-suggestions"));
    let hides = |told: &TestResponse| {
        !told.text().contains("employee-suggestions") && told.text().contains("occupational-employer")
    };
    assert!(hides(&read(&server, &certificate, &clerk).await.expect(200)));
    let met = server.post("Composition", numbered()).header("Authorization", &clerk);
    let met = met.header("If-None-Exist", format!("identifier={system}|N-1")).header("Prefer", "return=representation");
    assert!(hides(&met.await.expect(200)));
    assert!(hides(&server.suspend(&certificate).header("Authorization", &clerk).await.expect(200)));
    let driver = server.post("Composition", Body::draft()).header("Authorization", &clerk);
    driver.await.refused(403, &["HCERT-179"]);
    let other = numbered().number("N-2");
    let made = server.post("Composition", other.clone()).header("Authorization", &clerk);
    let made = made.header("Prefer", "return=representation").await.expect(201);
    assert!(hides(&made), "{made}");
    let draft = server.create(Body::example("occupational-draft")).await;
    let completed = server.put(&draft, other.number("N-3")).header("Authorization", &clerk);
    assert!(hides(&completed.header("Prefer", "return=representation").await.expect(200)));
    let draft = server.create(Body::example("occupational-draft")).await;
    let turned = server.put(&draft, Body::draft()).header("Authorization", &clerk);
    turned.await.refused(403, &["HCERT-179"]);
}

/// What was seen: a permission without rows that shows certificates as employers see them showed the whole one to a read by id.
#[tokio::test]
async fn a_view_of_all_certificates_is_that_view_for_every_way_to_read() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("permissions.json");
    let permission = |name: &str, rows: Value, view: &str| json!({"name": name, "given-to": [name], "may": ["read", "search"], "rows": rows, "view": view});
    let permissions = [
        permission("short", json!({}), "employer"),
        permission("mixed", json!({}), "employer"),
        permission("mixed", json!({"status": ["preliminary"]}), "full"),
    ];
    let groups = json!({"short": ["short", "both"], "mixed": ["mixed"], "whole": ["both"]});
    let whole = json!({"name": "whole", "given-to": ["whole"], "may": ["read", "search"]});
    let consent = json!({"doctor": [], "representative": []});
    let permissions = [&permissions[..], &[whole]].concat();
    let text = json!({"groups": groups, "consent": consent, "permissions": permissions}).to_string();
    std::fs::write(&table, text).unwrap();
    let server = Server::with(START, |config| config.access.permissions = Some(table)).await;
    let (done, draft) = (Body::example("occupational-final"), Body::example("occupational-draft"));
    let (done, draft) = (server.create(done).await, server.create(draft).await);
    for (role, certificate, is_whole) in [
        ("short", &done, false),
        ("short", &draft, false),
        ("mixed", &done, false),
        ("mixed", &draft, true),
        ("both", &done, true),
        ("both", &draft, true),
    ] {
        let token = server.token(role, json!({})).await;
        let id = certificate.rsplit('/').next().unwrap();
        for path in [certificate.clone(), format!("{certificate}/_history/1"), format!("Composition?_id={id}")] {
            let told = read(&server, &path, &token).await.expect(200);
            assert_eq!(!told.text().contains("occupational-employer"), is_whole, "{role} {path}: {told}");
        }
    }
}

/// What was seen: a caller who may only validate got a verdict on certificates outside the rows of that permission.
#[tokio::test]
async fn rows_of_a_permission_to_validate_hold_for_what_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("permissions.json");
    let permission =
        json!({"name": "checker", "given-to": ["all"], "may": ["validate"], "rows": {"category": ["occupational"]}});
    let consent = json!({"doctor": [], "representative": []});
    let text = json!({"groups": {"all": ["checker"]}, "consent": consent, "permissions": [permission]}).to_string();
    std::fs::write(&table, text).unwrap();
    let server = Server::with(START, |config| config.access.permissions = Some(table)).await;
    let checker = server.token("checker", json!({})).await;
    for (body, is_outside) in [(Body::example("occupational-draft"), false), (Body::draft(), true)] {
        let told = server.post("Composition/$validate", body).header("Authorization", &checker).await.expect(200);
        assert_eq!(told.text().contains("HCERT-179"), is_outside, "{told}");
    }
}

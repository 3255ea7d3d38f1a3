//! Rules of the registry that a caller who only reads can break. Each code answers when its condition holds.

use super::about_patient;
use crate::server::{START, Server};

#[tokio::test]
async fn every_rule_of_the_registry_that_a_question_can_break_answers_its_code() {
    let server = Server::start().await;
    let many = vec!["1"; 1001].join(",");
    #[rustfmt::skip]
    let table = [
        ("MPI-015",    400, "Patient"),
        ("MPI-015",    400, "Patient?name=Kask"),
        ("MPI-015",    400, "Patient?_id=200&gender=male"),
        ("MPI-015",    400, "Patient?identifier:not=39406240015"),
        ("MPI-015",    400, "Patient/200/_history?name=Kask"),
        ("MPI-021",    404, "Patient/999/_history"),
        ("MPI-021",    404, "Patient/abc/_history"),
        ("MPI-025",    400, "Patient?identifier=https://example.ee/sid|1"),
        ("MPI-025",    400, "Patient?identifier=https://fhir.ee.example.ee/sid/pid|1"),
        ("MPI-025.01", 400, "Patient?identifier=pid|1"),
        ("MPI-025.01", 400, "Patient?identifier=urn:uuid:5|1"),
        ("MPI-025.01", 400, "Patient?identifier=39406240015,ftp:a|1"),
        ("MPI-037",    400, "Patient?active=true&_sort=name"),
        ("MPI-037",    400, "Patient?active=true&_sort=_id,-address"),
        ("MPI-067",    400, "Patient?identifier=https://fhir.ee/sid/org/est/br|70000349"),
        ("MPI-072",    404, "Patient/999"),
        ("MPI-072",    404, "Patient/abc"),
        ("MPI-072",    404, "Patient/999/_history/1"),
        ("MPI-075",    400, "Patient?birthdate=1994-06-24,1994-06-25"),
        ("MPI-075",    400, "Patient?active=true,false"),
        ("MPI-075",    400, "Patient?deceased=true,false"),
        ("MPI-076",    400, "Patient?birthdate=1994"),
        ("MPI-076",    400, "Patient?birthdate=24.06.1994"),
        ("MPI-076",    400, "Patient?birthdate=1994-02-30"),
        ("MPI-076",    400, "Patient?birthdate=ap1994-06-24"),
        ("MPI-076",    400, "Patient?birthdate=ge"),
        ("MPI-078",    400, "Patient?_count=5"),
        ("MPI-078",    400, "Patient?_sort=_id&_page=2"),
        ("MPI-079",    404, "Patient/200/_history/2"),
        ("MPI-079",    404, "Patient/200/_history/0"),
        ("MPI-079",    404, "Patient/200/_history/x"),
        ("MPI-080",    400, "Patient?identifier=39406240015&identifier=48703129419"),
        ("MPI-080",    400, "Patient?_id=200&_id=201"),
        ("MPI-080",    400, "Patient?active=true&active=true"),
        ("MPI-080",    400, "Patient?birthdate=ge1990-01-01&birthdate=lt1999-01-01&birthdate=ne1994-06-24"),
        ("MPI-080",    400, "Patient?_id=200&_sort=_id&_sort=-_id"),
        ("MPI-080",    400, "Patient?_id=200&_count=1&_count=2"),
        ("MPI-080",    400, "Patient?_id=200&_page=1&_page=2"),
        ("MPI-080",    400, "Patient/200/_history?_page=1&_page=2"),
        ("MPI-096",    400, "Patient?identifier="),
        ("MPI-096",    400, "Patient?identifier=https://fhir.ee/sid/pid/est/ni|"),
        ("MPI-096",    400, "Patient?identifier=|39406240015"),
        ("MPI-096",    400, "Patient?identifier=a|b|c"),
        ("MPI-096",    400, "Patient?identifier=39406240015,"),
        ("MPI-096",    400, &format!("Patient?_id={many}")),
        ("MPI-096",    400, "Patient?_id=a%20b"),
        ("MPI-096",    400, &format!("Patient?_id={}", "1".repeat(65))),
        ("MPI-096",    400, "Patient?active=maybe"),
        ("MPI-096",    400, "Patient?active=true&_count=-1"),
        ("MPI-096",    400, "Patient?active=true&_page=0"),
        ("MPI-096",    400, "Patient/200/_history?_since=yesterday"),
        ("MPI-096",    400, "Patient/200/_history?_count=many"),
    ];
    for (code, status, path) in table {
        let told = server.get(path).await.refused(status, &[code]);
        let issue = &told.json()["issue"][0];
        assert_eq!(issue["details"]["coding"][0]["system"], "https://mpi.tehik.ee", "{told}");
        assert_eq!(issue["severity"], "error", "{told}");
    }
    insta::assert_snapshot!(server.get("Patient?active=true&_sort=_id,-address").await);
}

#[tokio::test]
async fn a_bare_code_that_several_have_names_nobody() {
    let server = Server::start().await;
    let patient = |id: u64| {
        format!(
            r#"{{"resourceType":"Patient","id":"{id}","identifier":[{{"system":"{}","value":"37605030299"}}]}}"#,
            super::CODE
        )
    };
    server.import_patients(&format!("{}\n{}", patient(301), patient(302))).await;
    server.get("Patient?identifier=37605030299").await.refused(409, &["MPI-046"]);
    let told = server.get(&format!("Patient?identifier={}|37605030299", super::CODE)).await.expect(200);
    assert_eq!(told.ids(), [301, 302]);
}

#[tokio::test]
async fn the_registry_asks_for_the_headers_that_the_settings_demand() {
    for (name, right, code) in [
        ("x-road-issue", "12", "MPI-032"),
        ("x-road-userid", "EE49403136515", "MPI-060"),
        ("x-road-id", "12", "MPI-061"),
        ("x-author-id", "49403136515", "MPI-028"),
    ] {
        let server = Server::with(START, |config| config.registry.required_headers = vec![name.to_owned()]).await;
        for path in ["Patient?_id=200", "Patient/200", "Patient/200/_history/1", "Patient/200/_history"] {
            server.get(path).await.refused(400, &[code]);
            server.get(path).header(name, " ").await.refused(400, &[code]);
            server.get(path).header(name, right).await.expect(200);
        }
        // A certificate asks the registry, so it needs them too; reading one does not.
        server.post("Composition", about_patient(200)).await.refused(400, &[code]);
        server.post("Composition", about_patient(200)).header(name, right).await.expect(201);
        server.get("Composition/1").await.expect(200);
        assert_eq!(server.found("subject=Patient/200").await, [1]);
    }
}

#[tokio::test]
async fn headers_that_name_an_author_who_cannot_be_are_refused_wherever_the_registry_is_asked() {
    let server = Server::start().await;
    #[rustfmt::skip]
    let table = [
        ("EE37605030299", "37605030299", "",        0),
        ("EE37605030299", "49403136515", "MPI-062", 400),
        ("EE00000000000", "",            "MPI-063", 403),
        ("",              "00000000000", "MPI-063", 403),
        ("EE37605030298", "",            "MPI-066", 400),
        ("",              "nobody",      "MPI-066", 400),
    ];
    for (userid, author, code, status) in table {
        let asked = server.get("Patient/200").header("x-road-userid", userid).header("x-author-id", author).await;
        let create = server.post("Composition", about_patient(200));
        let create = create.header("x-road-userid", userid).header("x-author-id", author).await;
        if code.is_empty() {
            asked.expect(200);
            create.expect(201);
        } else {
            asked.refused(status, &[code]);
            create.refused(400, &[code]);
        }
    }
    assert_eq!(server.seq(), 1);
}

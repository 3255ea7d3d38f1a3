//! Registries of others that answer what no registry should: a certificate's create gets one clear outcome of each. Contract 6.3.

use super::{about_patient, answered, fhir as json, http as answer};
use crate::response::TestResponse;

/// What a create answers when the registry sends these bytes, whatever it is asked, and hangs up.
async fn create(answer: String) -> TestResponse {
    let server = answered(move |_| answer.clone(), |_| ()).await;
    let told = server.post("Composition", about_patient(200)).await;
    assert_eq!(server.seq(), u64::from(told.status == 201), "{told}");
    told
}

/// A Bundle with a `total` that lies, of these resources.
fn bundle(resources: &str) -> String {
    let entry = format!(r#"{{"resource":{resources}}}"#);
    json("200 OK", &format!(r#"{{"resourceType":"Bundle","type":"searchset","total":7,"entry":[{entry}]}}"#))
}

const PATIENT: &str = r#"{"resourceType":"Patient","id":"200","meta":{"versionId":"4"}}"#;

/// As R4 has it, and without `severity`.
const OUTCOME: &str = r#"{"resourceType":"OperationOutcome","issue":[{"code":"exception","details":{"coding":[{"system":"https://mpi.tehik.ee","code":"MPI-001"}],"text":"Sisemine viga"}}]}"#;

#[tokio::test]
async fn an_answer_that_no_registry_should_give_has_a_clear_outcome() {
    let redirect = "Location: http://127.0.0.1/fhir/Patient?_id=200\r\nContent-Length: 0\r\n";
    let large = "Content-Type: application/json\r\nContent-Length: 50000000\r\n";
    let deep = format!("{}{}", r#"{"a":"#.repeat(100_000), "}".repeat(100_000));
    #[rustfmt::skip]
    let table = [
        ("an error under status 200",    json("200 OK", OUTCOME),                            503, "MPI-001"),
        ("an error of R4",               json("422 Unprocessable Entity", OUTCOME),          400, "MPI-001"),
        ("an error of the server",       json("500 Internal Server Error", OUTCOME),         503, "MPI-001"),
        ("a Patient under status 404",   json("404 Not Found", PATIENT),                     503, "HCERT-165"),
        ("a Patient, not a Bundle",      json("200 OK", PATIENT),                            503, "HCERT-165"),
        ("a redirect to itself",         answer("302 Found", redirect, ""),                  503, "HCERT-165"),
        ("a page",                       answer("200 OK", "Content-Type: text/html\r\n", "<html>"), 503, "HCERT-165"),
        ("JSON that ends early",         json("200 OK", r#"{"resourceType":"Bundle","#),     503, "HCERT-165"),
        ("JSON that is deep",            json("200 OK", &deep),                              503, "HCERT-165"),
        ("nothing",                      json("200 OK", ""),                                 503, "HCERT-165"),
        ("50 MB",                        answer("200 OK", large, "{"),                       503, "HCERT-165"),
        ("a version that is no id",      bundle(&PATIENT.replace("\"4\"", "\"../x\"")),       503, "HCERT-165"),
        ("an empty version",             bundle(&PATIENT.replace("\"4\"", "\"\"")),           503, "HCERT-165"),
        ("somebody of another type",     bundle(&PATIENT.replace("Patient", "Practitioner")), 503, "HCERT-165"),
        ("another protocol",             "220 mail.example.ee ESMTP\r\n".to_owned(),         503, "HCERT-165"),
        ("silence",                      String::new(),                                      503, "HCERT-164"),
        ("somebody else",                bundle(&PATIENT.replace("200", "201")),             503, "HCERT-165"),
        ("a Patient without version",    bundle(r#"{"resourceType":"Patient","id":"200"}"#), 503, "HCERT-165"),
        ("an id that is a number",       bundle(&PATIENT.replace("\"200\"", "200")),         503, "HCERT-165"),
    ];
    for (what, answer, status, code) in table {
        let told = create(answer).await;
        assert_eq!((told.status.as_u16(), told.codes()), (status, vec![code.to_owned()]), "{what}: {told}");
        assert_eq!(told.json()["issue"][0]["severity"], "error", "{what}");
    }
    create(bundle(PATIENT)).await.expect(201);
}

//! A chain of another system's registry arrives as it was sent. Contract 6.3, 6.4.

use serde_json::{Value, json};

use super::{about_patient, answered, fhir};

/// Texts, codes and ids that are none of our catalogue's, in an order of the registry's own.
fn sent() -> Value {
    let issue = |id: &str, kind: &str, system: &str, code: &str, text: &str| {
        json!({"id": id, "severity": "error", "code": kind,
               "details": {"coding": [{"system": system, "code": code, "display": "x"}], "text": text}})
    };
    json!({"resourceType": "OperationOutcome", "issue": [
        issue("0f1a8d0c-1f9e-4d7e-9a51-0b8d5d4f6a01", "exception", "https://mpi.tehik.ee", "MPI-029",
              "Integratsiooniviga xroad-rr teenusega"),
        issue("0f1a8d0c-1f9e-4d7e-9a51-0b8d5d4f6a02", "exception", "https://xroad-rr.tehik.ee", "XRR200",
              "X-road error 10001 from RR:  '<Isikukoodi>' pikkus & \"kuju\""),
        issue("0f1a8d0c-1f9e-4d7e-9a51-0b8d5d4f6a03", "exception", "https://rahvastikuregister.ee", "10001", "Isikukoodi pikkus ei ole 11 sümbolit."),
        issue("0f1a8d0c-1f9e-4d7e-9a51-0b8d5d4f6a04", "business-rule", "https://hcert.tehik.ee/issue", "HCERT-999", "Oma viga"),
    ]})
}

#[tokio::test]
async fn texts_codes_order_ids_and_types_of_a_registry_stay_unchanged() {
    for (status, told) in [("400 Bad Request", 400), ("422 Unprocessable Content", 400), ("500 Internal", 503)] {
        let server = answered(move |_| fhir(status, &sent().to_string()), |_| ()).await;
        for language in ["et", "en"] {
            let create = server.post("Composition", about_patient(200)).header("Accept-Language", language);
            assert_eq!(create.await.expect(told).json()["issue"], sent()["issue"]);
        }
        let asked = server.get("Patient?identifier=39406240015").await;
        assert_eq!(asked.json()["issue"], sent()["issue"]);
    }
}

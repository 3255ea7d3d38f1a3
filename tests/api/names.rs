//! Namespaces that are settings. Contract 1.1.

use serde_json::json;

use crate::body::text;
use crate::foreign::Reason::SetsNamespaces;
use crate::server::{START, Server};

const PERSON: &str = "39406240015";

/// Observed with another `code_system_base`: `Patient/200` kept its identifier, while searches by personal code looked below
/// the other base. They found a second person, made up, and none of the certificates; patients got 403 for their own.
/// Now one setting tells where identifiers of persons lie, and no other changes it.
#[tokio::test]
async fn patients_and_their_certificates_stay_together_whatever_the_namespaces() {
    for base in ["https://fhir.ee/sid", "https://my.ee/person"] {
        let server = Server::with(START, |config| {
            SetsNamespaces.set_default_names(config);
            config.namespaces.code_system_base = "https://my.ee".to_owned();
            config.namespaces.profile_base = "https://my.ee/hcert".to_owned();
            config.namespaces.hcert_ns = "https://my.ee/ns".to_owned();
            config.namespaces.person_identifier_base = base.to_owned();
        });
        let server = server.await;
        for example in ["driver-final", "occupational-final"] {
            let body = text(example)
                .replace("https://fhir.ee/hcert/StructureDefinition", "https://my.ee/hcert/StructureDefinition")
                .replace("https://fhir.ee/hcert", "https://my.ee/ns")
                .replace("https://fhir.ee/CodeSystem", "https://my.ee/CodeSystem")
                .replace("https://fhir.ee/sid", base);
            server.post("Composition", body).await.expect(201);
        }
        let system = format!("{base}/pid/est/ni");
        let person = json!([{"system": system, "value": PERSON}]);

        assert_eq!(server.get("Patient/200").await.expect(200).json()["identifier"], person);
        for identifier in [PERSON.to_owned(), format!("{system}|{PERSON}"), format!("{base}/pid|{PERSON}")] {
            assert_eq!(server.get(&format!("Patient?identifier={identifier}")).await.expect(200).ids(), [200]);
        }
        for query in ["subject=Patient/200", "subject:Patient.identifier=39406240015"] {
            assert_eq!(server.found(&format!("{query}&_sort=_id")).await, [1, 2], "{query}");
        }
        let by_system = format!("subject:Patient.identifier={system}%7C{PERSON}&_sort=_id");
        assert_eq!(server.found(&by_system).await, [1, 2]);
        for other in ["https://my.ee/sid/pid/est/ni", "https://my.ee/personal/pid/est/ni", "https://fhir.ee/pid/est/ni"]
        {
            let told = server.get(&format!("Patient?identifier={other}|{PERSON}")).await;
            told.refused(400, &["MPI-025"]);
        }
        let institution = server.get(&format!("Patient?identifier={base}/org/est/br|1")).await;
        institution.refused(400, &["MPI-067"]);

        let patient = server.token_of(PERSON, "patient", json!({})).await;
        server.get("Composition/1").header("Authorization", &patient).await.expect(200);
        let mine = format!("Composition?subject:Patient.identifier={system}%7C{PERSON}&_count=0");
        server.get(&mine).header("Authorization", &patient).await.expect(200);
        let employer = json!({"representedParty": "16978044"});
        let employer = server.token("org-legal-representative", employer).await;
        let shown = server.get("Composition/2").header("Authorization", &employer).await.expect(200).json();
        assert_eq!(shown["subject"][0]["identifier"], person[0]);

        let profile = "StructureDefinition/ee-health-certificate-occupational-employer";
        let profile = server.get(profile).await.expect(200);
        assert!(profile.text().contains(&format!(r#""patternUri":"{system}""#)), "{profile}");
        let events = server.get("AuditEvent").await.expect(200);
        assert!(events.text().contains(&format!(r#""system":"{system}","value":"{PERSON}""#)), "{events}");
    }
}

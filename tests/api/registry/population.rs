//! People whom only the population register knows, and codes that are nobody's. Contract 6.2.

use hcert::config::PopulationRegister;

use super::{CODE, about_identifier};
use crate::server::{START, Server};

/// A valid code that none of the patients that ship has.
const NEW: &str = "37605030299";

#[tokio::test]
async fn a_person_not_known_yet_is_taken_over() {
    let server = Server::start().await;
    let told = server.get(&format!("Patient?identifier={CODE}|{NEW}")).await;
    insta::assert_snapshot!(told);
    assert_eq!(told.ids(), [220]);
    // From now on a patient like any other.
    assert_eq!(server.get(&format!("Patient?identifier={NEW}")).await.expect(200).ids(), [220]);
    assert_eq!(server.get("Patient?birthdate=1976-05-03&active=true").await.expect(200).ids(), [220]);
    assert_eq!(server.get("Patient/220").await.expect(200).json(), told.json()["entry"][0]["resource"]);
    assert_eq!(server.get(&format!("Patient?identifier=49403136515,{NEW}")).await.expect(200).ids(), [220, 221]);

    // Another registry makes the same person of the same code.
    let other = Server::start().await;
    let again = other.get(&format!("Patient?identifier={NEW}")).await.expect(200);
    assert_eq!(again.json()["entry"], told.json()["entry"]);
}

#[tokio::test]
async fn only_the_whole_system_of_personal_codes_leads_to_the_population_register() {
    let server = Server::start().await;
    for system in ["https://fhir.ee/sid/pid/est", "https://fhir.ee/sid/pid/est/ppn", "https://fhir.ee/sid/pid/lva/ni"] {
        assert!(server.get(&format!("Patient?identifier={system}|{NEW}")).await.expect(200).ids().is_empty());
    }
    assert_eq!(server.living().await, 18);
}

#[tokio::test]
async fn two_who_ask_at_once_get_one_patient() {
    let server = Server::start().await;
    let path = format!("Patient?identifier={CODE}|{NEW}");
    let (one, other, create) =
        tokio::join!(async { server.get(&path).await }, async { server.get(&path).await }, async {
            server.post("Composition", about_identifier(CODE, NEW)).await
        },);
    assert_eq!((one.ids(), other.ids()), (vec![220], vec![220]));
    create.expect(201);
    let read = server.get("Composition/1").await.expect(200).json();
    assert_eq!(read["subject"][0]["reference"], "Patient/220/_history/1");
    assert_eq!(server.living().await, 19);
}

#[tokio::test]
async fn a_code_that_cannot_be_answers_the_chain_of_the_population_register() {
    let server = Server::start().await;
    let path = format!("Patient?identifier={CODE}|3760503029");
    insta::assert_snapshot!(server.get(&path).await);
    insta::assert_snapshot!("in_estonian", server.get(&path).header("Accept-Language", "et").await);
    #[rustfmt::skip]
    let table = [
        ("3760503029",   "10001"),
        ("376050302990", "10001"),
        ("3760503O299",  "10002"),
        ("EE37605030299", "10002"),
        ("07605030299",  "10003"),
        ("97605030299",  "10003"),
        ("37602300299",  "10004"),
        ("37600030299",  "10004"),
        ("50102290006",  "10004"),
        // Right would be 9 in the first round, 4 in the second, and 0 where neither leaves a digit.
        ("37605030298",  "10005"),
        ("37605030065",  "10005"),
        ("37605030921",  "10005"),
    ];
    for (code, leaf) in table {
        for identifier in [format!("{CODE}|{code}"), code.to_owned(), format!("39406240015,{code}")] {
            let told = server.get(&format!("Patient?identifier={identifier}")).await;
            told.refused(400, &["MPI-029", "XRR200", leaf]);
        }
        let told = server.post("Composition", about_identifier(CODE, code)).await;
        told.refused(400, &["MPI-029", "XRR200", leaf]);
    }
    assert_eq!((server.living().await, server.seq()), (18, 0));
    // The same codes with their right digits.
    for code in ["37605030299", "37605030064", "37605030920"] {
        assert_eq!(server.get(&format!("Patient?identifier={code}")).await.expect(200).ids().len(), 1, "{code}");
    }
}

#[tokio::test]
async fn nobody_is_taken_over_before_being_born() {
    let server = Server::start().await;
    // Born on 2030-01-01.
    let told = server.get("Patient?identifier=53001010001").await;
    insta::assert_snapshot!(told);
    told.refused(404, &["MPI-029", "XRR300", "10027"]);
    // For a certificate that is nobody found, and what the registry said.
    let told = server.post("Composition", about_identifier(CODE, "53001010001")).await;
    told.refused(400, &["HCERT-008", "MPI-029", "XRR300", "10027"]);
}

#[tokio::test]
async fn without_a_population_register_nobody_is_made_and_a_wrong_code_is_the_registrys_own_matter() {
    let server =
        Server::with(START, |config| config.registry.population_register = Some(PopulationRegister::Off)).await;
    assert!(server.get(&format!("Patient?identifier={NEW}")).await.expect(200).ids().is_empty());
    assert_eq!(server.get("Patient?identifier=39406240015").await.expect(200).ids(), [200]);
    let told = server.get(&format!("Patient?identifier={CODE}|37605030298")).await.refused(400, &["MPI-044"]);
    assert_eq!(told.said(), "Invalid Estonian personal code 37605030298");
    server.post("Composition", about_identifier(CODE, NEW)).await.refused(400, &["HCERT-008"]);
    assert_eq!(server.living().await, 18);
}

#[tokio::test]
async fn a_search_for_certificates_may_take_somebody_over_and_a_check_may_not() {
    let server = Server::start().await;
    let body = about_identifier(CODE, NEW);
    let told = server.post("Composition/$validate", body).await.expect(200);
    // As the create would be judged, which would bring them over.
    assert_eq!(told.codes(), ["HCERT-198"], "{told}");
    assert_eq!(server.living().await, 18);
    assert!(server.found(&format!("subject:Patient.identifier={CODE}|{NEW}")).await.is_empty());
    assert_eq!(server.living().await, 19);
}

//! Every state × every request, against a table written by hand from the specification, section 3, and Contract 3: it owes nothing
//! to the table the service decides by. What is refused changes nothing.

use serde_json::{Value, json};

use crate::body::{Body, div};
use crate::response::TestResponse;
use crate::server::Server;

/// A state a certificate can be found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Nothing,
    Draft,
    Completed,
    Suspended,
    Revoked,
    Deleted,
}

/// What is asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    CreateDraft,
    CreateFinal,
    CreateCancelled,
    CreateEnteredInError,
    PutDraft,
    PutFinal,
    PutFinalWithReason,
    PutCancelled,
    PutEnteredInError,
    Delete,
    Suspend,
    Cancel,
}

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comes {
    /// A new certificate in this state; one that was there already is not touched.
    New(State),
    /// The next version, in this state.
    Next(State),
    /// 204, and nothing to do.
    Already,
    /// Refused with this status and code.
    No(u16, &'static str),
}

use Comes::{Already, New, Next, No};
use Request::*;
use State::*;

/// 409: the state does not allow it. Contract 3.6.
const STATE: Comes = No(409, "HCERT-133");
/// 422: the status is reached by an operation alone. Contract 3.2.
const STATUS: Comes = No(422, "HCERT-144");
/// 422: a completed certificate needs a reason. Contract 3.3.
const REASON: Comes = No(422, "HCERT-148");
/// 410. Contract 2.6, 3.7.
const GONE: Comes = No(410, "HCERT-135");
/// 405: ids are the service's. Contract 2.6.
const NEVER: Comes = No(405, "HCERT-130");
/// 404. Contract 3.7.
const MISSING: Comes = No(404, "HCERT-127");

const STATES: [State; 6] = [Nothing, Draft, Completed, Suspended, Revoked, Deleted];

#[rustfmt::skip]
const TABLE: &[(Request, [Comes; 6])] = &[
    //                     nothing         Draft            Completed        Suspended       Revoked         Deleted
    (CreateDraft,          [New(Draft),     New(Draft),      New(Draft),      New(Draft),     New(Draft),     New(Draft)]),
    (CreateFinal,          [New(Completed), New(Completed),  New(Completed),  New(Completed), New(Completed), New(Completed)]),
    (CreateCancelled,      [STATUS,         STATUS,          STATUS,          STATUS,         STATUS,         STATUS]),
    (CreateEnteredInError, [STATUS,         STATUS,          STATUS,          STATUS,         STATUS,         STATUS]),
    (PutDraft,             [NEVER,          Next(Draft),     STATE,           STATE,          STATE,          GONE]),
    (PutFinal,             [NEVER,          Next(Completed), REASON,          STATE,          STATE,          GONE]),
    (PutFinalWithReason,   [NEVER,          Next(Completed), Next(Completed), STATE,          STATE,          GONE]),
    (PutCancelled,         [NEVER,          STATUS,          STATUS,          STATUS,         STATUS,         GONE]),
    (PutEnteredInError,    [NEVER,          STATUS,          STATUS,          STATUS,         STATUS,         GONE]),
    (Delete,               [MISSING,        Next(Deleted),   STATE,           STATE,          STATE,          Already]),
    (Suspend,              [MISSING,        STATE,           Next(Suspended), STATE,          STATE,          GONE]),
    (Cancel,               [MISSING,        STATE,           Next(Revoked),   Next(Revoked),  STATE,          GONE]),
];

/// A path that no certificate ever had.
const UNASSIGNED: &str = "Composition/999999";

/// Everything a caller can see of a certificate and of the store around it.
#[derive(Debug, PartialEq)]
struct Seen {
    seq: u64,
    read: (u16, Value),
    history: Value,
    search: Value,
    changes: Value,
    certificates: Value,
}

#[tokio::test]
async fn each_request_in_each_state_comes_to_what_the_specification_says() {
    let server = Server::start().await;
    for (request, outcomes) in TABLE {
        for (state, comes) in STATES.into_iter().zip(outcomes) {
            let cell = format!("{request:?} of {state:?}");
            let certificate = in_state(&server, state).await;
            let before = seen(&server, &certificate).await;
            let told = ask(&server, *request, &certificate).await;
            let after = seen(&server, &certificate).await;
            match comes {
                No(status, code) => {
                    assert_eq!(
                        (told.status.as_u16(), told.codes()),
                        (*status, vec![code.to_string()]),
                        "{cell}: {told}"
                    );
                    assert_eq!(before, after, "{cell} was refused, yet something changed");
                }
                Already => {
                    assert_eq!(told.status, 204, "{cell}: {told}");
                    assert_eq!(before, after, "{cell} had nothing to do, yet something changed");
                }
                New(to) => {
                    assert_eq!(told.status, 201, "{cell}: {told}");
                    assert_eq!(after.seq, before.seq + 1, "{cell}");
                    assert_eq!((&after.read, &after.history), (&before.read, &before.history), "{cell}");
                    let location = told.header("location").expect("a create says where");
                    let created = location.split_once("/fhir/").and_then(|(_, path)| path.split_once("/_history/1"));
                    assert_is(&server, created.expect("version 1 below the base address").0, *to, 1, &cell).await;
                }
                Next(to) => {
                    assert!(told.status.is_success(), "{cell}: {told}");
                    assert_eq!(after.seq, before.seq + 1, "{cell}");
                    let versions = before.history["total"].as_u64().expect("a total") + 1;
                    assert_is(&server, &certificate, *to, versions, &cell).await;
                }
            }
        }
    }
}

#[test]
fn the_table_has_the_nine_moves_of_the_specification() {
    let existing = TABLE.iter().flat_map(|(_, outcomes)| &outcomes[1..]).filter(|comes| matches!(comes, Next(_)));
    let created = TABLE.iter().filter(|(_, outcomes)| matches!(outcomes[0], New(_)));
    // PUT final with and without a reason is one move of a draft.
    assert_eq!(existing.count() - 1 + created.count(), 9);
}

#[tokio::test]
async fn a_refusal_says_state_and_request_in_words() {
    let server = Server::start().await;
    for (state, request, said) in [
        (
            Suspended,
            PutFinalWithReason,
            "The certificate is suspended (Peatatud); update (PUT) is not allowed in this state",
        ),
        (Completed, Delete, "The certificate is completed (Lõpetatud); delete (DELETE) is not allowed in this state"),
        (Draft, Suspend, "The certificate is a draft (Mustand); $suspend is not allowed in this state"),
        (Revoked, Cancel, "The certificate is revoked (Tühistatud); $cancel is not allowed in this state"),
        (
            Completed,
            PutDraft,
            "The certificate is completed (Lõpetatud); update (PUT) to preliminary is not allowed in this state",
        ),
    ] {
        let certificate = in_state(&server, state).await;
        assert_eq!(ask(&server, request, &certificate).await.said(), said);
    }
    let certificate = in_state(&server, Draft).await;
    let told = ask(&server, PutCancelled, &certificate).await;
    assert!(told.said().contains(&format!("POST /{certificate}/$suspend")), "{told}");
    let told = ask(&server, PutEnteredInError, &certificate).await;
    assert!(told.said().contains(&format!("POST /{certificate}/$cancel")), "{told}");
}

async fn in_state(server: &Server, state: State) -> String {
    match state {
        Nothing => UNASSIGNED.to_owned(),
        Draft => server.create(Body::draft()).await,
        Completed => server.create(Body::completed()).await,
        Suspended => {
            let certificate = server.create(Body::completed()).await;
            server.suspend(&certificate).await.expect(200);
            certificate
        }
        Revoked => {
            let certificate = server.create(Body::completed()).await;
            server.cancel(&certificate).await.expect(200);
            certificate
        }
        Deleted => {
            let certificate = server.create(Body::draft()).await;
            server.delete(&certificate).await.expect(204);
            certificate
        }
    }
}

async fn ask(server: &Server, request: Request, certificate: &str) -> TestResponse {
    let draft = || Body::completed().status("preliminary");
    let with_reason = || Body::completed().section("change-reason", &div("Trükiviga"));
    match request {
        CreateDraft => server.post("Composition", draft()).await,
        CreateFinal => server.post("Composition", Body::completed()).await,
        CreateCancelled => server.post("Composition", Body::completed().status("cancelled")).await,
        CreateEnteredInError => server.post("Composition", Body::completed().status("entered-in-error")).await,
        PutDraft => server.put(certificate, draft()).await,
        PutFinal => server.put(certificate, Body::completed()).await,
        PutFinalWithReason => server.put(certificate, with_reason()).await,
        PutCancelled => server.put(certificate, with_reason().status("cancelled")).await,
        PutEnteredInError => server.put(certificate, with_reason().status("entered-in-error")).await,
        Delete => server.delete(certificate).await,
        Suspend => server.suspend(certificate).await,
        Cancel => server.cancel(certificate).await,
    }
}

async fn seen(server: &Server, certificate: &str) -> Seen {
    let id = certificate.trim_start_matches("Composition/");
    let read = server.get(certificate).await;
    let read = match read.status.as_u16() {
        200 => (200, read.json()),
        // The ids of issues differ from answer to answer.
        other => (other, json!(read.codes())),
    };
    let history = server.get(&format!("{certificate}/_history")).await;
    let search = server.get(&format!("Composition?_id={id}")).await.expect(200);
    let changes = server.get("Composition/_history?_count=0").await.expect(200);
    let certificates = server.get("Composition?_count=0").await.expect(200);
    Seen {
        seq: server.seq(),
        read,
        history: if history.status == 200 { history.json() } else { json!(history.codes()) },
        search: search.json(),
        changes: changes.json()["total"].clone(),
        certificates: certificates.json()["total"].clone(),
    }
}

/// The certificate is in this state, with so many versions, in every way it can be looked at.
async fn assert_is(server: &Server, certificate: &str, state: State, versions: u64, cell: &str) {
    let id = certificate.trim_start_matches("Composition/");
    let status = match state {
        Draft => "preliminary",
        Completed => "final",
        Suspended => "cancelled",
        Revoked => "entered-in-error",
        Nothing | Deleted => "",
    };
    let history = server.get(&format!("{certificate}/_history")).await.expect(200).json();
    assert_eq!(history["total"], versions, "{cell}");
    let search = server.get(&format!("Composition?_id={id}")).await.expect(200).json();
    if state == Deleted {
        server.get(certificate).await.refused(410, &["HCERT-135"]);
        assert_eq!(history["entry"][0]["request"]["method"], "DELETE", "{cell}");
        assert_eq!(search["total"], 0, "{cell}");
        return;
    }
    let read = server.get(certificate).await.expect(200).json();
    assert_eq!(read["status"], status, "{cell}");
    assert_eq!(read["meta"]["versionId"], versions.to_string(), "{cell}");
    assert_eq!(history["entry"][0]["resource"], read, "{cell}");
    assert_eq!(search["entry"][0]["resource"], read, "{cell}");
    assert_eq!(server.found(&format!("_id={id}&status={status}")).await.len(), 1, "{cell}");
}

//! The registry of another system as it is met: right, slow, broken and hostile.

mod answers;
mod server;
mod story;
mod way;

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::RemoteRegistry;
use crate::config;
use crate::registry::{
    BreakerState, Caller, CredentialState, LookupFailure, LookupPurpose, NoAnswer, RegistryFinding, RegistryHealth,
    RegistryRequest,
};
use server::Server;

const PATIENT: &str = r#"{"resourceType":"Patient","id":"200","meta":{"versionId":"3"},"identifier":[{"value":"1"},{"value":"2"}],"active":true}"#;
const OUTCOME: &str = r#"{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"invalid","details":{"coding":[{"system":"https://mpi.tehik.ee","code":"MPI-029"}],"text":"No"}}]}"#;

fn bundle() -> String {
    format!(
        r#"{{"resourceType":"Bundle","type":"searchset","total":1,"entry":[{{"fullUrl":"Patient/200","resource":{PATIENT}}}]}}"#
    )
}

fn read() -> RegistryRequest {
    RegistryRequest::Read("200".to_owned())
}

fn search(value: &str) -> RegistryRequest {
    RegistryRequest::Search(vec![("identifier".to_owned(), value.to_owned())])
}

fn caller(purpose: LookupPurpose) -> Caller {
    Caller { purpose, base_url: "https://hcert.example.ee/fhir".into(), ..Caller::default() }
}

/// Patient settings for patient tests: nothing here times out by itself, and nothing is remembered.
fn settings(address: String) -> config::RemoteSettings {
    config::RemoteSettings {
        address: Some(address),
        timeout_ms: 30_000,
        deadline_ms: 60_000,
        breaker_failures: 1_000,
        cache_s: 0,
        ..config::RemoteSettings::default()
    }
}

/// The registry behind a server.
fn remote(server: &Server, change: impl FnOnce(&mut config::RemoteSettings)) -> RemoteRegistry {
    let mut settings = settings(server.address());
    change(&mut settings);
    let mut remote = RemoteRegistry::new(&settings).unwrap();
    AHEAD.set(Duration::ZERO);
    remote.clock = || Instant::now() + AHEAD.get();
    remote
}

thread_local! {
    /// How far the clock of the test is ahead. Each test has a thread and a runtime on it.
    static AHEAD: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

fn wind(time: Duration) {
    AHEAD.set(AHEAD.get() + time);
}

fn text(told: Result<RegistryFinding, LookupFailure>) -> String {
    String::from_utf8(told.unwrap().body).unwrap()
}

fn no_answer(told: Result<RegistryFinding, LookupFailure>) -> NoAnswer {
    let Err(LookupFailure::NoAnswer(no_answer)) = told else { panic!("{told:?}") };
    no_answer
}

//! One client that writes until the server is gone, and keeps book of every answer.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use certificate::State;

use crate::Random;
use crate::book::{Certificate, Doubt, Kept, Part};
use crate::process::{self, Client};

const DRAFT: &str = include_str!("../../examples/driver-draft.json");
const FINAL: &str = include_str!("../../examples/driver-final.json");
const CHANGED: &str = include_str!("../../examples/driver-final-changed.json");
const SUSPEND: &str = include_str!("../../examples/suspend.json");

/// Patients of one writer in one round.
const SUBJECTS: u64 = 5;

/// What to do with a certificate, and the state it leads to.
struct Step {
    method: &'static str,
    operation: &'static str,
    body: &'static str,
    to: State,
}

const fn step(method: &'static str, operation: &'static str, body: &'static str, to: State) -> Step {
    Step { method, operation, body, to }
}

/// Everything a certificate in some state allows.
fn steps(from: State) -> &'static [Step] {
    const OF_DRAFT: &[Step] = &[
        step("PUT", "", DRAFT, State::Draft),
        step("PUT", "", FINAL, State::Completed),
        step("DELETE", "", "", State::Deleted),
    ];
    const OF_COMPLETED: &[Step] = &[
        step("PUT", "", CHANGED, State::Completed),
        step("POST", "/$suspend", SUSPEND, State::Suspended),
        step("POST", "/$cancel", SUSPEND, State::Revoked),
    ];
    const OF_SUSPENDED: &[Step] = &[step("POST", "/$cancel", SUSPEND, State::Revoked)];
    match from {
        State::Draft => OF_DRAFT,
        State::Completed => OF_COMPLETED,
        State::Suspended => OF_SUSPENDED,
        State::Revoked | State::Deleted => &[],
    }
}

/// Imports the patients of all rounds: certificates can be about nobody else.
pub(crate) fn make_patients_known(data: &Path, rounds: u64, writers: usize) {
    let last = first_subject(rounds, writers);
    let mut import = process::hcert(&["patients", "import", "-", "--data"]);
    let mut import = import.arg(data).stdin(Stdio::piped()).spawn().expect("the program was built");
    let mut lines = String::new();
    for id in first_subject(0, 0)..last {
        let system = "https://tehik.ee/mpi/external-reference";
        writeln!(
            lines,
            r#"{{"resourceType":"Patient","id":"{id}","identifier":[{{"system":"{system}","value":"{id}"}}]}}"#
        )
        .expect("writing to memory does not fail");
    }
    let mut stdin = import.stdin.take().expect("it was piped");
    stdin.write_all(lines.as_bytes()).expect("the import reads");
    drop(stdin);
    assert!(import.wait().expect("it ends").success());
}

/// Patients of a writer in a round have numbers from here on.
fn first_subject(round: u64, writer: usize) -> u64 {
    1_000 + (round * 100 + writer as u64) * SUBJECTS
}

/// Writes until the connection breaks. Where the server is asked to stop, 503 is a right answer too: nothing was done then.
pub(crate) fn run(
    mut client: Client,
    mut part: Part,
    round: u64,
    number: usize,
    mut random: Random,
    stops: bool,
) -> Part {
    let base = first_subject(round, number);
    let mut count = 0;
    loop {
        count += 1;
        let mark = format!("mark-{round}-{number}-{count}-");
        let open = |certificate: &Certificate| !steps(certificate.state()).is_empty();
        let places: Vec<usize> = (0..part.certificates.len()).filter(|at| open(&part.certificates[*at])).collect();
        let place = match places.len() {
            0 => None,
            some => Some(places[random.below(some as u64) as usize]).filter(|_| random.below(10) >= 4),
        };
        let went_on = match place {
            None => create(&mut client, &mut part, base + random.below(SUBJECTS), &mark, &mut random),
            Some(place) => change(&mut client, &mut part, place, &mark, &mut random),
        };
        match went_on {
            Some(201 | 200 | 204 | 412) => {}
            Some(503) if stops => return part,
            Some(status) => panic!("{status} is no answer to {mark}"),
            None => return part,
        }
    }
}

/// The status of the answer; none when there was none.
fn create(client: &mut Client, part: &mut Part, subject: u64, mark: &str, random: &mut Random) -> Option<u16> {
    let (text, to) = if random.below(2) == 0 { (DRAFT, State::Draft) } else { (FINAL, State::Completed) };
    let body = body(text, subject, mark);
    let Ok(answer) = client.send("POST", "/Composition", &["prefer: return=representation"], body.as_bytes()) else {
        part.doubt = Some(Doubt { id: None, subject, to, mark: mark.to_owned() });
        return None;
    };
    if answer.status == 201 {
        assert_eq!(answer.header("etag"), Some("W/\"1\""));
        let location = answer.header("location").expect("a create tells where");
        let id = location.rsplit('/').nth(2).and_then(|id| id.parse().ok()).expect("an address ends with /_history/1");
        let versions = vec![Kept { state: to, bytes: answer.body }];
        part.acknowledged.push((part.certificates.len(), 1));
        part.certificates.push(Certificate { id, subject, versions });
    }
    Some(answer.status)
}

/// As [`create`].
fn change(client: &mut Client, part: &mut Part, place: usize, mark: &str, random: &mut Random) -> Option<u16> {
    let certificate = &mut part.certificates[place];
    let choices = steps(certificate.state());
    let Step { method, operation, body: text, to } = &choices[random.below(choices.len() as u64) as usize];
    let path = format!("/Composition/{}{operation}", certificate.id);
    let version = certificate.versions.len();
    // A wrong condition must change nothing, also in the batch that dies.
    let (condition, refused) = match random.below(8) {
        0 => (format!("if-match: W/\"{}\"", version + 1), true),
        1 => (format!("if-match: W/\"{version}\""), false),
        _ => ("if-match: *".to_owned(), false),
    };
    let body = body(text, certificate.subject, mark);
    let headers = ["prefer: return=representation", &condition];
    let answer = match client.send(method, &path, &headers, body.as_bytes()) {
        Ok(answer) => answer,
        Err(_) if refused => return None,
        Err(_) => {
            let mark = if *to == State::Deleted { String::new() } else { mark.to_owned() };
            part.doubt = Some(Doubt { id: Some(certificate.id), subject: certificate.subject, to: *to, mark });
            return None;
        }
    };
    assert!(!refused || matches!(answer.status, 412 | 503), "{} in spite of {condition}", answer.status);
    if matches!(answer.status, 200 | 204) {
        if *to != State::Deleted {
            assert_eq!(answer.header("etag"), Some(format!("W/\"{}\"", version + 1).as_str()));
        }
        certificate.versions.push(Kept { state: *to, bytes: answer.body });
        part.acknowledged.push((place, version + 1));
    }
    Some(answer.status)
}

/// An example with another patient and a word of its own, so that its version can be told from all others.
fn body(example: &str, subject: u64, mark: &str) -> String {
    let body =
        example.replace("Patient/200", &format!("Patient/{subject}")).replace("TT-2025-000201", "TT-2025-000202");
    let reason = "\"valueString\": \"";
    if body.contains(reason) {
        return body.replacen(reason, &format!("{reason}{mark}"), 1);
    }
    body.replacen("</div>", &format!("<p>{mark}</p></div>"), 1)
}

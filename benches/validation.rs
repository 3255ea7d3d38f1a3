//! What validation costs, beside serde_json parsing of the same bytes as the floor.
//!
//! ```text
//! cargo bench --bench validation
//! ```
//!
//! Each row is one size of certificate: a typical one of the corpus, and ones made larger by more restrictions. All steps are taken in
//! turn over the same bodies, and of 15 rounds the fastest counts, so that the ratio holds on a busy machine too.

use std::hint::black_box;
use std::time::Instant;

use certificate::Names;
use certificate::terminology::Terminology;
use certificate::validation::Validator;
use fhir::json::{self, Json};
use fhir::shape;
use hcert::corpus;

const ROUNDS: usize = 15;
/// Bytes that a round goes through at least.
const ROUND_BYTES: usize = 4_000_000;

fn main() {
    let names = Names::default();
    let started = Instant::now();
    let validator = Validator::new(&names).expect("the profiles that ship can be checked");
    let profiles = started.elapsed();
    let started = Instant::now();
    let terminology = Terminology::new(&names, false, &[]).expect("the lists that ship can be used");
    println!("start: profiles {:.2} ms, code lists {:.2} ms", millis(profiles), millis(started.elapsed()));
    println!(
        "\n{:>9} {:>11} {:>11} {:>11} {:>11} {:>9} {:>9}",
        "bytes", "serde_json", "our parse", "shape", "rules", "all", "ratio"
    );
    println!("{:>9} {:>11} {:>11} {:>11} {:>11} {:>9} {:>9}", "", "µs", "µs", "µs", "µs", "ns/byte", "");
    for extra in [None, Some(10), Some(100), Some(1_000)] {
        let bodies: Vec<String> = match extra {
            None => (1..=200).map(|number| corpus::certificate(7, number)).collect(),
            Some(extra) => vec![larger(&corpus::certificate(7, 1), extra)],
        };
        measure(&bodies, &validator, &terminology);
    }
}

fn millis(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The certificate with more contained Observations, each referred to.
fn larger(body: &str, extra: usize) -> String {
    let observations = (0..extra).map(|at| {
        format!(
            r#"{{"resourceType":"Observation","id":"more-{at}","status":"final","code":{{"coding":[{{"system":"http://snomed.info/sct","code":"118{at}","display":"Some finding {at}"}}]}},"valueCodeableConcept":{{"text":"Leid number {at}, mis vajab jälgimist"}},"note":[{{"text":"Märkus {at}"}}]}},"#
        )
    });
    let sections = (0..extra).map(|at| {
        format!(
            r##"{{"title":"Lisa {at}","text":{{"status":"additional","div":"<div xmlns=\"http://www.w3.org/1999/xhtml\">Lisa number {at}</div>"}},"entry":[{{"reference":"#more-{at}"}}]}},"##
        )
    });
    let body = body.replacen(r#""contained":["#, &format!(r#""contained":[{}"#, observations.collect::<String>()), 1);
    body.replacen(r#""section":["#, &format!(r#""section":[{}"#, sections.collect::<String>()), 1)
}

fn measure(bodies: &[String], validator: &Validator, terminology: &Terminology) {
    let bytes: usize = bodies.iter().map(String::len).sum();
    let repeats = ROUND_BYTES.div_ceil(bytes);
    // serde_json, our parse, shape, rules.
    let mut fastest = [f64::INFINITY; 4];
    for _ in 0..ROUNDS {
        let mut spent = [0.0; 4];
        for body in bodies.iter().cycle().take(bodies.len() * repeats) {
            let start = Instant::now();
            black_box(serde_json::from_slice::<serde_json::Value>(body.as_bytes()).expect("JSON"));
            let parsed = Instant::now();
            let mut json = json::parse(body.as_bytes()).expect("FHIR JSON");
            let read = Instant::now();
            let found = shape::check(&mut json, "Composition");
            let shaped = Instant::now();
            let profile = profile(&json).and_then(|url| validator.profile(url));
            let findings = validator.check(&json, profile, terminology);
            let checked = Instant::now();
            assert!(found.problems.is_empty() && !findings.problems.has_errors(), "{:?}", findings.problems.issues());
            for (spent, (from, to)) in
                spent.iter_mut().zip([(start, parsed), (parsed, read), (read, shaped), (shaped, checked)])
            {
                *spent += to.duration_since(from).as_secs_f64();
            }
        }
        for (fastest, spent) in fastest.iter_mut().zip(spent) {
            *fastest = fastest.min(spent);
        }
    }
    let count = (bodies.len() * repeats) as f64;
    let [floor, read, shape, rules] = fastest.map(|seconds| seconds / count * 1e6);
    let size = bytes / bodies.len();
    println!(
        "{size:>9} {floor:>11.1} {read:>11.1} {shape:>11.1} {rules:>11.1} {:>9.1} {:>8.2}x",
        (shape + rules) * 1e3 / size as f64,
        (shape + rules) / floor
    );
}

fn profile<'j>(json: &'j Json) -> Option<&'j str> {
    json.get("meta")?.items("profile").first()?.as_str()
}

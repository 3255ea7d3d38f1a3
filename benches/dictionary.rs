//! Trains the zstd dictionary that stored bodies are compressed with, and writes it to `data/`.
//!
//! ```text
//! cargo bench --bench dictionary -- data/dictionary-1.zdict
//! ```
//!
//! The same corpus and the same zstd give the same bytes. A dictionary that has been released is never written again: bodies
//! stored with it need it. A better one gets the next number.
//!
//! Samples are bodies as they are stored, that is from behind the head on. The corpus is synthetic, so its names and free texts teach
//! nothing about real ones; what the dictionary is worth lies in the structure: element names, code systems, profiles, codes. Half of
//! the samples therefore carry the subject with a version, as the service stores it once the patient is resolved (Contract 6.1),
//! and the examples, which share no free text with the corpus, weigh as much as a hundred certificates.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use fhir::json;
use hcert::corpus::Corpus;

const DICTIONARY_BYTES: usize = 64 * 1024;
const SEEDS: std::ops::Range<u64> = 1_001..1_033;
const CERTIFICATES: u64 = 100;
const EXAMPLE_WEIGHT: usize = 20;

fn main() -> ExitCode {
    let Some(path) = std::env::args().skip(1).find(|argument| !argument.starts_with("--")) else {
        eprintln!("name the file to write: cargo bench --bench dictionary -- data/dictionary-1.zdict");
        return ExitCode::SUCCESS;
    };
    if Path::new(&path).exists() {
        eprintln!("{path} exists; bodies may be stored with it, so it is not replaced");
        return ExitCode::FAILURE;
    }
    let mut samples = generated();
    samples.extend(examples());
    let dictionary = zstd::dict::from_samples(&samples, DICTIONARY_BYTES).expect("thousands of samples are enough");
    fs::write(&path, &dictionary).expect("the file can be written");
    println!("{path}: {} bytes out of {} samples", dictionary.len(), samples.len());
    ExitCode::SUCCESS
}

fn generated() -> Vec<Vec<u8>> {
    let mut samples = Vec::new();
    for seed in SEEDS {
        for change in Corpus::new(seed, CERTIFICATES) {
            let mut body = String::new();
            change.write_resource(&mut body);
            let Some(head) = body.find(r#","profile""#) else { continue };
            let mut stored = body.split_off(head);
            if samples.len() % 2 == 0 {
                let subject = format!("\"Patient/{}", change.facts().subject);
                stored = stored.replace(&subject, &format!("{subject}/_history/1"));
            }
            samples.push(stored.into_bytes());
        }
    }
    samples
}

/// The example certificates, minified, as often as their weight says.
fn examples() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("the examples are there").map(|file| file.expect("readable").path()).collect();
    paths.sort();
    let minified = paths.iter().filter_map(|path| {
        let text = fs::read(path).expect("readable");
        let body = String::from_utf8(json::parse(&text).expect("an example is JSON").to_vec()).expect("JSON is UTF-8");
        body.strip_prefix(r#"{"resourceType":"Composition","meta":{"#).map(|stored| format!(",{stored}").into_bytes())
    });
    minified.flat_map(|stored| std::iter::repeat_n(stored, EXAMPLE_WEIGHT)).collect()
}

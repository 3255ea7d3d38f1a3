//! Speed of the corpus, and what the dictionary makes of its bodies.
//!
//! ```text
//! cargo bench --bench corpus
//! ```
//!
//! Sizes are those of seeds the dictionary was not trained on. Their free texts still come out of the same columns; to see what is
//! left without that help, the same bodies are measured with the letters of their texts and names replaced by random ones.

use std::time::Instant;

use hcert::corpus::Corpus;

const DICTIONARY: &[u8] = include_bytes!("../data/dictionary-1.zdict");
const LEVEL: i32 = 3;

fn main() {
    speed();
    sizes("generated", &stored(7, 5_000));
    let foreign: Vec<String> = stored(7, 5_000).into_iter().map(foreign).collect();
    sizes("foreign texts", &foreign);
}

fn speed() {
    let count = 200_000;
    let (mut line, mut bytes, mut versions) = (String::new(), 0, 0_u64);
    let start = Instant::now();
    for change in Corpus::new(7, count) {
        line.clear();
        change.write_entry(&mut line);
        bytes += line.len();
        versions += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{:.0} certificates/s, {:.0} versions/s, {:.0} MB/s",
        count as f64 / seconds,
        versions as f64 / seconds,
        bytes as f64 / seconds / 1e6
    );
}

/// Bodies from behind the head on.
fn stored(seed: u64, count: u64) -> Vec<String> {
    let bodies = Corpus::new(seed, count).filter_map(|change| {
        let mut body = String::new();
        change.write_resource(&mut body);
        body.find(r#","profile""#).map(|head| body.split_off(head))
    });
    bodies.collect()
}

fn sizes(name: &str, bodies: &[String]) {
    let dictionary = zstd::dict::EncoderDictionary::copy(DICTIONARY, LEVEL);
    let mut with =
        zstd::bulk::Compressor::with_prepared_dictionary(&dictionary).expect("the dictionary is one of zstd's");
    let mut without = zstd::bulk::Compressor::new(LEVEL).expect("level 3 exists");
    for compressor in [&mut with, &mut without] {
        compressor.include_checksum(true).expect("zstd knows checksums");
    }
    let mean = |total: usize| total / bodies.len();
    let measure = |compressor: &mut zstd::bulk::Compressor| {
        let start = Instant::now();
        let total =
            bodies.iter().map(|body| compressor.compress(body.as_bytes()).expect("memory is enough").len()).sum();
        (mean(total), start.elapsed().as_secs_f64() * 1e6 / bodies.len() as f64)
    };
    let raw = mean(bodies.iter().map(String::len).sum());
    let (small, fast) = measure(&mut with);
    let (large, slow) = measure(&mut without);
    println!("{name}: {raw} bytes; with dictionary {small} in {fast:.1} µs; without {large} in {slow:.1} µs");
}

/// The body with its texts and names made unknown: in values of `text` and between the tags of narratives, lower-case ASCII letters
/// become random ones. Real words repeat, so this is worse than real life.
fn foreign(body: String) -> String {
    let mut random: u64 = body.len() as u64;
    let mut out = String::with_capacity(body.len());
    let mut rest = body.as_str();
    let marks = [r#""text":""#, r#"/1999/xhtml\">"#];
    while let Some((at, mark)) = marks.iter().filter_map(|mark| rest.find(mark).map(|at| (at, *mark))).min() {
        let (before, after) = rest.split_at(at + mark.len());
        out.push_str(before);
        let end = if mark.ends_with("\\\">") { "</div>" } else { "\"" };
        let (text, next) = after.split_at(after.find(end).unwrap_or(after.len()));
        let mut tag = false;
        for character in text.chars() {
            tag = (tag || character == '<') && character != '>';
            if character.is_ascii_lowercase() && !tag {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                out.push(char::from(b'a' + ((random >> 33) % 26) as u8));
            } else {
                out.push(character);
            }
        }
        rest = next;
    }
    out.push_str(rest);
    out
}

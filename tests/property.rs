//! The entries of the fuzz targets with a plain compiler: whatever comes from outside, the same must hold as under fuzzing
//! (`fuzz/README.md`). Inputs are the targets' seeds, changed at random, and bytes and texts of any kind.

use std::fs;
use std::path::Path;

use hcert_fuzz::dice::Dice;
use hcert_fuzz::entry;
use hcert_fuzz::mutation::mutated;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Inputs made of seeds, for each entry, and as many again of any bytes and any text.
const CASES: u32 = 4_000;

#[test]
fn whatever_a_client_sends_is_a_request_or_none() {
    hold(entry::request::judge, &seeds("request"), plain, CASES);
}

#[test]
fn whatever_a_body_holds_it_is_judged() {
    // Each is asked some ten thousand questions.
    hold(entry::body::judge, &seeds("body"), as_json, CASES / 4);
}

#[test]
fn whatever_a_query_asks_it_is_a_search_or_none() {
    hold(entry::query::judge, &seeds("query"), plain, CASES);
}

#[test]
fn whatever_an_operation_is_asked_it_is_understood_or_refused() {
    hold(entry::parameters::judge, &seeds("parameters"), as_json, CASES);
}

#[test]
fn whatever_a_time_looks_like_it_is_one_or_none() {
    hold(entry::dates::judge, &seeds("dates"), plain, CASES);
}

#[test]
fn whatever_a_narrative_holds_it_is_harmless_or_refused() {
    hold(entry::narrative::judge, &seeds("narrative"), plain, CASES);
}

#[test]
fn whatever_lies_in_the_store_is_read_or_told_as_damaged() {
    let samples: Vec<_> = (0..16).map(entry::record::sample).collect();
    hold(entry::record::judge, &samples, plain, CASES);
}

/// Judges every seed, seeds that were changed, any bytes and any text.
fn hold(judge: fn(&[u8]), seeds: &[Vec<u8>], change: fn(&[u8], u64) -> Vec<u8>, cases: u32) {
    seeds.iter().for_each(|seed| judge(seed));
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let changed = (0..seeds.len(), any::<u64>()).prop_map(|(at, dice)| change(&seeds[at], dice));
    run(&mut runner, changed, judge);
    run(&mut runner, vec(any::<u8>(), 0..400), judge);
    run(&mut runner, "\\PC{0,200}".prop_map(String::into_bytes), judge);
}

fn run(runner: &mut TestRunner, inputs: impl Strategy<Value = Vec<u8>>, judge: fn(&[u8])) {
    let judged = runner.run(&inputs, |input| {
        judge(&input);
        Ok(())
    });
    judged.unwrap_or_else(|failed| panic!("{failed}"));
}

/// A seed with a few bytes put in, taken out, repeated or replaced.
fn plain(seed: &[u8], dice: u64) -> Vec<u8> {
    const ODD: &[u8] = b"\0\x01\x7f\x80\xff\r\n \"%&'+,-./0:;<=>\\|$";
    let (mut dice, mut input) = (Dice(dice), seed.to_vec());
    for _ in 0..=dice.below(4) {
        let at = dice.below(input.len() + 1);
        let end = (at + dice.below(8)).min(input.len());
        match dice.below(4) {
            0 => drop(input.drain(at..end)),
            1 => input.insert(at, ODD[dice.below(ODD.len())]),
            2 => drop(input.splice(at..at, input[at..end].to_vec())),
            _ => input[at..end].iter_mut().for_each(|byte| *byte = dice.below(256) as u8),
        }
    }
    input
}

/// A seed that stays JSON, two times out of three.
fn as_json(seed: &[u8], dice: u64) -> Vec<u8> {
    let body = if dice.is_multiple_of(3) { None } else { mutated(seed, dice as u32) };
    body.unwrap_or_else(|| plain(seed, dice))
}

/// The seeds of a target, and for bodies the examples too.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let mut folders = vec![Path::new("fuzz/seeds").join(target)];
    if target == "body" {
        folders.push("examples".into());
    }
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("the seeds lie beside the targets"));
    let seeds: Vec<_> =
        files.map(|file| fs::read(file.expect("it is listed").path()).expect("it can be read")).collect();
    assert!(seeds.len() > 5, "{target} has seeds");
    seeds
}

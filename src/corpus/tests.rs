//! What the corpus promises, over whole streams.

use std::collections::HashMap;

use jiff::Timestamp;

use super::*;
use certificate::Profile;
use certificate::transition::decide;
use certificate::{Id, IdentifierSystems, Names, Renaming, State, Version};
use fhir::json::{self, Json};

fn lines(seed: u64, count: u64) -> Vec<String> {
    Corpus::new(seed, count)
        .map(|change| {
            let mut line = String::new();
            change.write_entry(&mut line);
            line
        })
        .collect()
}

fn resource(change: &CorpusChange) -> Option<String> {
    let mut out = String::new();
    change.write_resource(&mut out);
    Some(out).filter(|out| !out.is_empty())
}

/// FNV-1a over all lines, so that a digest of the corpus can stand in a test.
fn fingerprint(lines: &[String]) -> u64 {
    lines
        .iter()
        .flat_map(|line| line.bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_every_machine() {
    assert_eq!(fingerprint(&lines(1, 200)), FINGERPRINT, "a change of the corpus makes every stored measurement stale");
    assert_ne!(lines(1, 200), lines(2, 200));
}

const FINGERPRINT: u64 = 17_325_702_275_902_597_323;

#[test]
fn every_line_is_minified_json_and_every_body_passes_the_reader() {
    for (change, line) in Corpus::new(4, 2_000).zip(lines(4, 2_000)) {
        let entry = json::parse(line.as_bytes()).unwrap_or_else(|outcome| panic!("{outcome:?}: {line}"));
        assert_eq!(String::from_utf8(entry.to_vec()).unwrap(), line);
        let instant = entry.get("response").and_then(|response| response.text("lastModified")).unwrap();
        assert_eq!(instant.parse::<Timestamp>().unwrap().as_millisecond(), change.last_updated());
        assert_eq!(instant.len(), "2025-01-12T10:00:00.123+02:00".len());
        let Some(resource) = entry.get("resource") else {
            assert_eq!(change.state(), State::Deleted);
            continue;
        };
        let meta = resource.get("meta").unwrap();
        assert_eq!(resource.text("id"), Some(change.id().to_string().as_str()));
        assert_eq!(meta.text("versionId"), Some(change.version().to_string().as_str()));
        assert_eq!(meta.text("lastUpdated"), Some(instant));
        assert_eq!(resource.text("status"), Some(change.state().status().code()));
    }
}

#[test]
fn requests_and_statuses_of_the_entries_are_those_of_a_history() {
    for (change, line) in Corpus::new(8, 2_000).zip(lines(8, 2_000)) {
        let own = format!("Composition/{}", change.id());
        let (method, url, status) = match change.state() {
            _ if change.version() == Version::FIRST => ("POST", "Composition", "201"),
            State::Deleted => ("DELETE", own.as_str(), "204"),
            _ => ("PUT", own.as_str(), "200"),
        };
        assert!(line.starts_with(&format!(r#"{{"fullUrl":"{own}","#)));
        let end = format!(
            r#""request":{{"method":"{method}","url":"{url}"}},"response":{{"status":"{status}","etag":"W/\"{}\"","#,
            change.version()
        );
        assert!(line.contains(&end), "{line}");
    }
}

#[test]
fn histories_are_legal_and_count_their_versions() {
    let mut lives: HashMap<Id, (Option<State>, u32)> = HashMap::new();
    for change in Corpus::new(5, 5_000) {
        let (state, versions) = lives.entry(change.id()).or_default();
        let (trigger, need) = change.step().request();
        *state = Some(decide(*state, trigger, need).unwrap());
        *versions += 1;
        assert_eq!((*state, *versions), (Some(change.state()), change.version().get()));
    }
    assert_eq!(lives.len(), 5_000);
}

#[test]
fn times_rise_strictly_over_the_whole_stream_however_dense_it_is() {
    for count in [1, 7, 5_000] {
        let stamps: Vec<i64> = Corpus::new(6, count).map(|change| change.last_updated()).collect();
        assert!(stamps.is_sorted_by(|before, after| before < after), "{count}");
    }
    let dense: Vec<i64> =
        Corpus::new(6, CORPUS_CERTIFICATES_MAX).take(20_000).map(|change| change.last_updated()).collect();
    assert!(dense.is_sorted_by(|before, after| before < after));
}

#[test]
fn versions_of_different_certificates_are_interleaved() {
    let changes: Vec<(u64, u32)> =
        Corpus::new(6, 1_000).map(|change| (change.id().get(), change.version().get())).collect();
    let apart = changes.iter().enumerate().filter(|(at, (_, version))| *version > 1 && changes[at - 1].1 == 1).count();
    assert!(apart > 100, "{apart}");
    let created: Vec<u64> = changes.iter().filter(|change| change.1 == 1).map(|change| change.0).collect();
    assert_eq!(created, (1..=1_000).collect::<Vec<_>>());
}

#[test]
fn memory_is_bounded_however_many_certificates_there_are() {
    let mut corpus = Corpus::new(1, CORPUS_CERTIFICATES_MAX);
    assert!(corpus.by_ref().take(200_000).count() == 200_000);
    // A third of the certificates has a next step, and each is overtaken by 65 536 others at most.
    assert!(corpus.pending.len() < 40_000, "{}", corpus.pending.len());
}

#[test]
fn the_corpus_ends_before_anybody_uses_it() {
    let last = Corpus::new(9, 20_000).last().unwrap().last_updated();
    let first = Corpus::new(9, 20_000).next().unwrap().last_updated();
    let day = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond();
    assert!(day("2020-01-06T00:00:00Z") <= first && last < day("2026-01-01T00:00:00Z"));
}

#[test]
fn states_profiles_and_patients_have_their_shares() {
    let count = 20_000;
    let mut last: HashMap<Id, Facts> = HashMap::new();
    let mut versions = 0;
    for change in Corpus::new(11, count) {
        versions += 1;
        last.insert(change.id(), change.facts());
    }
    let share = |is: &dyn Fn(&Facts) -> bool| 1_000 * last.values().filter(|facts| is(facts)).count() as u64 / count;
    for (state, expected) in [
        (State::Completed, 780..840),
        (State::Draft, 80..100),
        (State::Suspended, 33..47),
        (State::Revoked, 33..47),
        (State::Deleted, 14..26),
    ] {
        let share = share(&|facts| facts.state == state);
        assert!(expected.contains(&share), "{state:?}: {share} of a thousand");
    }
    for (category, expected) in
        [(Category::DriverGroupI, 430..470), (Category::DriverGroupII, 135..165), (Category::Occupational, 380..420)]
    {
        let share = share(&|facts| facts.category == category);
        assert!(expected.contains(&share), "{category:?}: {share} of a thousand");
    }
    assert!((135..142).contains(&(100 * versions / count)), "{versions} versions");
    let external = share(&|facts| matches!(facts.declaration, Declaration::External(_)));
    assert!((140..195).contains(&external), "{external}");

    let mut subjects: HashMap<u64, u64> = HashMap::new();
    last.values().for_each(|facts| *subjects.entry(facts.subject).or_default() += 1);
    let patients = subjects.len() as u64;
    assert!((count / 6..=count / 5).contains(&patients), "{patients} patients");
    let practitioners = distinct(last.values().map(|facts| facts.practitioner));
    let institutions = distinct(last.values().map(|facts| facts.organisation));
    let employers = distinct(last.values().filter_map(|facts| facts.employer));
    assert!(
        practitioners > 3_000 && institutions > 300 && employers > 2_000,
        "{practitioners} {institutions} {employers}"
    );
}

fn distinct<T: std::hash::Hash + Eq>(values: impl Iterator<Item = T>) -> usize {
    values.collect::<std::collections::HashSet<T>>().len()
}

#[test]
fn facts_are_what_the_body_says() {
    let mut external = 0;
    for change in Corpus::new(12, 3_000) {
        let Some(body) = resource(&change) else { continue };
        let body = json::parse(body.as_bytes()).unwrap();
        let facts = change.facts();
        assert_eq!(body.items("identifier")[0].text("value"), Some(facts.identifier.as_str()));
        assert_eq!(body.items("subject")[0].text("reference"), Some(format!("Patient/{}", facts.subject).as_str()));
        let category = body.items("category")[0].items("coding")[0].text("code");
        assert_eq!(category, Some(facts.category.code()));
        assert_eq!(body.text("title"), Some(facts.title));
        let profile = body.get("meta").unwrap().items("profile")[0].as_str().unwrap();
        assert!(profile.ends_with(facts.category.profile().name()));
        assert_eq!(milliseconds(body.text("date").unwrap()), facts.date);
        assert!(facts.date <= change.last_updated());

        let author = &body.items("contained")[0];
        let reference = |member: &str| author.get(member).and_then(|member| member.text("reference")).unwrap();
        assert_eq!(reference("practitioner"), format!("Practitioner/{}", facts.practitioner));
        assert_eq!(reference("organization"), format!("Organization/{}", facts.organisation));

        let days = body.items("event").first().and_then(|event| event.get("period")).map(|period| {
            let day = |end: &str| period.text(end).unwrap()[..10].parse().unwrap();
            (day("start"), day("end"))
        });
        assert_eq!(days, facts.period);
        if let Some((first, last)) = facts.period {
            assert!(first < last);
            assert!((last - first).get_days() <= 3_653, "more than ten years: {first} to {last}");
        }

        let employer = section(&body, "employer").map(|section| narrative(section).parse().unwrap());
        assert_eq!(employer, facts.employer);
        let declaration = &section(&body, "health-declaration").unwrap().items("entry")[0];
        match &facts.declaration {
            Declaration::Response(number) => {
                assert_eq!(declaration.text("reference"), Some(format!("QuestionnaireResponse/{number}").as_str()));
            }
            Declaration::External(number) => {
                external += 1;
                assert_eq!(declaration.get("identifier").unwrap().text("value"), Some(number.as_str()));
            }
        }
    }
    assert!(external > 100);
}

fn milliseconds(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_millisecond()
}

fn section<'a>(body: &'a Json<'a>, code: &str) -> Option<&'a Json<'a>> {
    body.items("section")
        .iter()
        .find(|section| section.get("code").unwrap().items("coding")[0].text("code") == Some(code))
}

fn narrative<'a>(section: &'a Json<'a>) -> &'a str {
    let div = section.get("text").unwrap().text("div").unwrap();
    div.strip_prefix("<div xmlns=\"http://www.w3.org/1999/xhtml\">").unwrap().strip_suffix("</div>").unwrap()
}

#[test]
fn sections_of_reasons_stand_where_the_history_asks_for_them() {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut lives: HashMap<Id, Vec<LifeStep>> = HashMap::new();
    for change in Corpus::new(13, 5_000) {
        let steps = lives.entry(change.id()).or_default();
        steps.push(change.step());
        let Some(body) = resource(&change) else { continue };
        let body = json::parse(body.as_bytes()).unwrap();
        for (code, step) in [
            ("change-reason", LifeStep::Change),
            ("suspend-reason", LifeStep::Suspend),
            ("cancel-reason", LifeStep::Cancel),
        ] {
            let found = section(&body, code);
            assert_eq!(found.is_some(), steps.contains(&step), "{code} after {steps:?}");
            if let Some(found) = found {
                assert!(narrative(found).len() > 10);
                *seen.entry(code).or_default() += 1;
            }
        }
    }
    assert!(seen.len() == 3 && seen.values().all(|count| *count > 50), "{seen:?}");
}

#[test]
fn a_change_alters_more_than_its_reason() {
    let mut before: HashMap<Id, String> = HashMap::new();
    let mut altered = 0;
    for change in Corpus::new(14, 3_000).filter(|change| change.facts().category == Category::Occupational) {
        let Some(body) = resource(&change) else { continue };
        let from = body.find(r#","profile""#).unwrap();
        let until = body.find(r#","section":["#).unwrap();
        let body = body[from..until].to_owned();
        let old = before.insert(change.id(), body.clone());
        if change.step() == LifeStep::Change && old.is_some_and(|old| old != body) {
            altered += 1;
        }
    }
    assert!(altered > 20, "{altered}");
}

#[test]
fn bodies_to_create_have_no_id_and_no_version() {
    let corpus = Corpus::new(15, 500);
    for number in 1..=500 {
        let fresh = corpus.certificate(number);
        let text = fresh.body();
        let body = json::parse(text.as_bytes()).unwrap();
        assert!(body.get("id").is_none() && body.get("meta").unwrap().get("versionId").is_none());
        assert!(matches!(fresh.facts().state, State::Draft | State::Completed));
        assert_eq!(body.text("status"), Some(fresh.facts().state.status().code()));
    }
    assert_eq!(certificate(15, 3), Corpus::new(15, 1_000_000).certificate(3).body());
}

#[test]
fn bodies_are_as_large_as_those_of_real_life() {
    let sizes: Vec<usize> =
        Corpus::new(16, 5_000).filter_map(|change| resource(&change)).map(|body| body.len()).collect();
    let mean = sizes.iter().sum::<usize>() / sizes.len();
    assert!((3_000..5_000).contains(&mean), "{mean} bytes");
    assert!(sizes.iter().all(|size| (1_300..11_000).contains(size)));
}

#[test]
fn patients_are_those_the_certificates_name() {
    let corpus = Corpus::new(17, 1_000);
    for change in corpus.clone().take(300) {
        let facts = change.facts();
        let (code, given, family) = corpus.patient(facts.subject).unwrap();
        assert_eq!(code, facts.subject_code);
        if let Some(body) = resource(&change) {
            assert!(body.contains(&format!("Patsient: {given} {family}, ")));
            assert!(!body.contains(code.as_str()));
        }
    }
    assert!(corpus.patient(999).is_none() && corpus.patient(1_000).is_some());
    assert!(corpus.patient(1_199).is_some() && corpus.patient(1_200).is_none());
}

#[test]
fn the_elements_of_a_body_come_in_the_order_of_the_examples() {
    let example = json::parse(include_bytes!("../../examples/occupational-final.json")).unwrap();
    let order = |body: &Json| body.as_object().unwrap().iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
    let corpus = Corpus::new(18, 300);
    let fresh = (1..=300)
        .map(|number| corpus.certificate(number))
        .find(|fresh| fresh.facts().category.profile() == Profile::Occupational && fresh.facts().period.is_some())
        .unwrap();
    assert_eq!(order(&json::parse(fresh.body().as_bytes()).unwrap()), order(&example));
}

#[test]
fn every_example_passes_the_reader() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut compositions = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read(&path).unwrap();
        let body = json::parse(&text).unwrap_or_else(|outcome| panic!("{}: {outcome:?}", path.display()));
        match body.text("resourceType") {
            Some("Composition") => compositions += 1,
            kind => assert_eq!(kind, Some("Parameters"), "{}", path.display()),
        }
        assert!(body.get("id").is_none());
    }
    assert_eq!(compositions, 7);
}

#[test]
fn the_dictionary_knows_bodies_it_was_not_trained_on() {
    let dictionary = include_bytes!("../../data/dictionary-1.zdict");
    let mut compressor = zstd::bulk::Compressor::with_dictionary(3, dictionary).unwrap();
    let mut decompressor = zstd::bulk::Decompressor::with_dictionary(dictionary).unwrap();
    let (mut raw, mut small) = (0, 0);
    for change in Corpus::new(19, 300) {
        let Some(body) = resource(&change) else { continue };
        let stored = &body[body.find(r#","profile""#).unwrap()..];
        let compressed = compressor.compress(stored.as_bytes()).unwrap();
        assert_eq!(decompressor.decompress(&compressed, stored.len()).unwrap(), stored.as_bytes());
        raw += stored.len();
        small += compressed.len();
    }
    assert!(small * 10 < raw, "{small} of {raw} bytes");
}

#[test]
fn default_namespaces_change_nothing_and_others_leave_none_behind() {
    let others = Names {
        code_system_base: "https://codes.example.ee".into(),
        // Holds a default one, which must not be replaced again.
        profile_base: "https://fhir.ee/hcert/own".into(),
        hcert_ns: "urn:example:hcert".into(),
        identifiers: IdentifierSystems::new("https://id.example.ee"),
        ..Names::default()
    };
    let (same, other) = (Renaming::new(&Names::default()), Renaming::new(&others));
    let corpus = Corpus::new(3, 300);
    let (mut text, mut people) = (String::new(), String::new());
    corpus.clone().for_each(|change| change.write_entry(&mut text));
    corpus.subjects().for_each(|subject| corpus.write_patient(subject, &mut people));
    text.push_str(&people);

    assert_eq!(same.applied(text.clone()), text);

    let renamed = other.applied(text);
    let left = renamed.replace("https://fhir.ee/hcert/own/StructureDefinition/ee-health-certificate-", "");
    let left = left.replace("https://fhir.ee/mpi/StructureDefinition/", "");
    assert!(!left.contains("fhir.ee"));
    for new in ["https://codes.example.ee/CodeSystem/", "urn:example:hcert/", "https://id.example.ee/pid/est/ni"] {
        assert!(renamed.contains(new), "{new}");
    }
}

//! Searches over certificates that do not change meanwhile.

use std::collections::BTreeSet;
use std::fmt::Write;

use certificate::search::parameter::{PARAMETERS, SORT_KEYS};
use hcert::corpus::{Category, Corpus, Declaration, Facts};
use serde_json::Value;

use crate::by_hand::{Answer, Log, World, page_of};
use crate::dice::{Dice, seed};
use crate::known::Known;
use crate::odd;
use crate::order::{KEYS, Order, newest_first};
use crate::questions::Question;
use crate::server::{TestServer, encoded};
use crate::store::{NOW, Store, hits, parameters};

/// Certificates of the corpus; a sixth of them is bent.
const CERTIFICATES: u64 = 2_000;

/// A store whose changes came out of the order of their times, in many segments of the index and with a part of them outside it.
fn filled(certificates: u64, seed: u64) -> Store {
    let mut dice = Dice::new(seed);
    let mut lives: Vec<Vec<String>> = vec![Vec::new(); certificates as usize];
    for change in Corpus::new(seed, certificates) {
        let mut line = String::new();
        change.write_entry(&mut line);
        let life = &mut lives[change.id().get() as usize - 1];
        if change.id().get() % 6 == 0 {
            let mut entry: Value = serde_json::from_str(&line).unwrap();
            if let Some(certificate) = entry.get_mut("resource") {
                odd::bend(certificate, &mut dice);
            }
            line = entry.to_string();
        }
        life.push(line);
    }
    dice.shuffle(&mut lives);
    let store = Store::new();
    let chunk = lives.len() / 14;
    for (at, lives) in lives.chunks(chunk).enumerate() {
        // A certificate's versions come in their order, those of the chunk one version after the other.
        let mut lines = String::new();
        for version in 0..3 {
            for line in lives.iter().filter_map(|life| life.get(version)) {
                writeln!(lines, "{line}").unwrap();
            }
        }
        store.import(&lines);
        if at < 12 {
            store.settle();
        }
    }
    store
}

#[track_caller]
fn check(store: &Store, world: &World, questions: &[Question], order: &Order, page: u64, count: u32) -> u64 {
    let found = store.find(questions, order, page, count);
    let found = Answer { total: found.total, hits: hits(&found) };
    let expected = world.page(questions, order, page, count);
    assert_eq!(found, expected, "{questions:?} sorted by {order:?}, page {page} of {count} (seed {})", seed());
    found.total
}

#[test]
fn every_parameter_finds_what_a_search_by_hand_finds() {
    let store = filled(CERTIFICATES, seed());
    let world = Log::read(&store.engine).world();
    assert!(world.rows.len() > 1_900);
    let mut dice = Dice::new(seed());
    for parameter in PARAMETERS {
        for modifier in [None].into_iter().chain(parameter.modifiers.iter().copied().map(Some)) {
            let (mut some, mut not_all) = (0, 0);
            for _ in 0..24 {
                let question = Question::about(parameter, modifier, &world, &mut dice);
                let total = check(&store, &world, &[question], &newest_first(), 1, 20);
                some += usize::from(total > 0);
                not_all += usize::from(total < world.rows.len() as u64);
            }
            // A comparison of nothing with nothing would prove nothing; `odd.rs` then lacks what the parameter looks at.
            assert!(some > 1 && not_all > 1, "{} with {modifier:?}: {some}, {not_all}", parameter.name);
        }
    }
    for _ in 0..400 {
        let many = 2 + dice.below(3);
        let questions: Vec<Question> = (0..many)
            .map(|_| if dice.one_in(3) { Question::any(&world, &mut dice) } else { Question::broad(&world, &mut dice) })
            .collect();
        check(&store, &world, &questions, &any_order(&mut dice), 1 + dice.below(2) as u64, 7);
    }
}

fn any_order(dice: &mut Dice) -> Order {
    let mut keys = KEYS;
    dice.shuffle(&mut keys);
    keys[..1 + dice.below(4)].iter().map(|key| (*key, dice.one_in(2))).collect()
}

#[test]
fn every_order_is_kept_on_every_page() {
    assert_eq!(SORT_KEYS.iter().map(|(name, _)| *name).collect::<Vec<_>>(), KEYS);
    let store = filled(1_200, seed() + 1);
    let world = Log::read(&store.engine).world();
    let rows = world.rows.len() as u64;
    let mut orders: Vec<Order> = Vec::new();
    for first in KEYS {
        for direction in [false, true] {
            orders.push(vec![(first, direction)]);
            for second in KEYS.into_iter().filter(|second| *second != first) {
                orders.extend([false, true].map(|other| vec![(first, direction), (second, other)]));
            }
        }
    }
    let mut dice = Dice::new(seed());
    orders.extend((0..30).map(|_| any_order(&mut dice)));
    for order in &orders {
        let found = world.find(&[], order);
        for (page, count) in
            [(1, 20), (rows / 40, 20), (rows.div_ceil(20), 20), (rows.div_ceil(20) + 1, 20), (3, 7), (1, 0)]
        {
            let page_found = store.find(&[], order, page, count);
            let page_found = Answer { total: page_found.total, hits: hits(&page_found) };
            assert_eq!(page_found, page_of(&found, page, count), "{order:?}, page {page} of {count}");
        }
    }
}

#[test]
fn every_row_is_seen_once_at_every_page_size() {
    let store = filled(300, seed() + 2);
    let world = Log::read(&store.engine).world();
    let mut dice = Dice::new(seed());
    for count in [1, 2, 3, 7, 20, 33, 99, 100] {
        for order in [newest_first(), vec![("title", false)], any_order(&mut dice)] {
            let questions = if dice.one_in(2) { vec![Question::broad(&world, &mut dice)] } else { vec![] };
            let expected = world.find(&questions, &order);
            let mut seen = Vec::new();
            let mut page = 1;
            loop {
                let found = store.find(&questions, &order, page, count);
                assert_eq!(found.total, expected.len() as u64);
                if found.hits.is_empty() {
                    break;
                }
                seen.extend(hits(&found));
                page += 1;
            }
            assert_eq!(seen, expected.iter().map(|row| row.hit()).collect::<Vec<_>>(), "{order:?} by {count}");
            assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), seen.len());
            assert_eq!(page, 1 + (seen.len() as u64).div_ceil(u64::from(count)));
        }
    }
    for page in [1_000_000, u64::from(u32::MAX)] {
        assert_eq!(store.find(&[], &newest_first(), page, 100).hits, []);
    }
}

#[test]
fn the_corpus_says_of_itself_what_its_bodies_say() {
    for change in Corpus::new(seed(), 300) {
        let mut body = String::new();
        change.write_resource(&mut body);
        if !body.is_empty() {
            agree(&Known::read(body.as_bytes()), &change.facts());
        }
    }
}

/// A third opinion: [`Known`] is what these tests rest on.
fn agree(known: &Known, facts: &Facts) {
    let to = |reference: &Option<crate::known::Reference>| reference.as_ref().and_then(|found| found.to.clone());
    let Facts { state, category, subject, practitioner, organisation, employer, declaration, date, period, .. } = facts;
    assert_eq!(known.status, state.status().code());
    assert_eq!(known.category[0].1.as_deref(), Some(Category::code(*category)));
    assert_eq!(known.identifier.as_ref().unwrap().1.as_deref(), Some(facts.identifier.as_str()));
    assert_eq!(to(&known.subject), Some(format!("Patient/{subject}")));
    assert_eq!(to(&known.practitioner), Some(format!("Practitioner/{practitioner}")));
    assert_eq!(to(&known.organization), Some(format!("Organization/{organisation}")));
    let employer_section = known.sections.iter().find(|(codes, _)| codes[0].1.as_deref() == Some("employer"));
    assert_eq!(employer_section.map(|(_, text)| text.clone()), employer.map(|employer| employer.to_string()));
    let found = known.entries.iter().find_map(|entry| match (&entry.to, &entry.identifier) {
        (Some(to), None) => Some(Declaration::Response(to.strip_prefix("QuestionnaireResponse/")?.parse().unwrap())),
        (None, Some((_, value))) => Some(Declaration::External(value.clone().unwrap())),
        _ => None,
    });
    assert_eq!(found.as_ref(), Some(declaration));
    assert_eq!(known.date.unwrap().low, *date);
    let days = known.period.map(|span| (crate::times::day(span.low), crate::times::day(span.high)));
    assert_eq!(days, *period);
    assert_eq!(known.title.as_deref(), Some(facts.title));
}

#[test]
fn the_whole_way_over_http_answers_the_same() {
    let store = filled(500, seed() + 3);
    let world = Log::read(&store.engine).world();
    let server = TestServer::new(&store.engine, std::sync::Arc::new(|| NOW));
    let mut dice = Dice::new(seed());
    let mut asked = 0;
    while asked < 240 {
        let mut questions = vec![Question::any(&world, &mut dice)];
        if dice.one_in(2) {
            questions.push(Question::broad(&world, &mut dice));
        }
        // The registry of this release knows nobody.
        if questions.iter().any(|question| !question.patients.is_empty()) {
            continue;
        }
        asked += 1;
        let (order, count) = (any_order(&mut dice), *dice.pick(&[0, 1, 3, 20, 100]));
        let total = world.find(&questions, &order).len() as u64;
        let last = total.div_ceil(u64::from(count).max(1)).max(1);
        let page = *dice.pick(&[1, 1, last, last + 1, 1 + last / 2]);
        let sent = encoded(&parameters(&questions, &order, page, count));
        let told = if dice.one_in(2) {
            server.get(&format!("Composition?{sent}"))
        } else {
            let form = [("content-type", "application/x-www-form-urlencoded")];
            server.send("POST", "Composition/_search", &form, &sent)
        };
        assert_eq!(told.status, 200, "{sent}: {}", String::from_utf8_lossy(&told.body));
        let bundle = told.json();
        let expected = world.page(&questions, &order, page, count);
        assert_eq!((bundle["type"].as_str(), bundle["total"].as_u64()), (Some("searchset"), Some(total)), "{sent}");
        let entries = bundle["entry"].as_array().map_or(&[][..], Vec::as_slice);
        let shown: Vec<(u64, u32)> = entries.iter().map(|entry| hit(&entry["resource"])).collect();
        assert_eq!(shown, expected.hits, "{sent}");
        for entry in entries {
            assert_eq!(entry["search"]["mode"], "match");
            assert_eq!(entry["fullUrl"], format!("Composition/{}", entry["resource"]["id"].as_str().unwrap()));
        }
        follow(&server, &bundle, &world, &questions, &order, (page, count, last));
    }
}

fn hit(resource: &Value) -> (u64, u32) {
    let number = |value: &Value| value.as_str().unwrap().parse::<u64>().unwrap();
    (number(&resource["id"]), number(&resource["meta"]["versionId"]) as u32)
}

/// Every link leads to the page it names.
fn follow(
    server: &TestServer,
    bundle: &Value,
    world: &World,
    questions: &[Question],
    order: &Order,
    (page, count, last): (u64, u32, u64),
) {
    let mut relations = Vec::new();
    for link in bundle["link"].as_array().unwrap() {
        let relation = link["relation"].as_str().unwrap();
        relations.push(relation);
        let path = link["url"].as_str().unwrap().strip_prefix("http://127.0.0.1:8080/fhir/").unwrap();
        let target = match relation {
            "self" => page,
            "first" => 1,
            "last" => last,
            "previous" => (page - 1).min(last),
            "next" => page + 1,
            other => panic!("{other} is no link of a page"),
        };
        let told = server.get(path);
        assert_eq!(told.status, 200, "{path}");
        let entries = told.json()["entry"].as_array().cloned().unwrap_or_default();
        let shown: Vec<(u64, u32)> = entries.iter().map(|entry| hit(&entry["resource"])).collect();
        assert_eq!(shown, world.page(questions, order, target, count).hits, "{relation}: {path}");
    }
    let mut expected = vec!["self"];
    if count > 0 {
        expected.extend(["first", "last"]);
        expected.extend((page > 1).then_some("previous"));
        expected.extend((page < last).then_some("next"));
    }
    assert_eq!(relations, expected);
}

/// A title of 70 000 letters came back from the index cut inside its sort key, and no search by title had an answer any more.
#[test]
fn the_longest_titles_are_found_and_sorted() {
    let mut lines = String::new();
    for change in Corpus::new(7, 40) {
        let mut line = String::new();
        change.write_entry(&mut line);
        let mut entry: Value = serde_json::from_str(&line).unwrap();
        if change.id().get() % 4 == 0 && entry.get("resource").is_some() {
            let letter = ["õ", "\u{1F9B7}", "ΐ", "z"][change.id().get() as usize / 4 % 4];
            entry["resource"]["title"] = Value::String(letter.repeat(980) + &change.id().to_string());
        }
        writeln!(lines, "{entry}").unwrap();
    }
    let store = Store::new();
    store.import(&lines);
    let world = Log::read(&store.engine).world();
    let titled = |page: u64| hits(&store.find(&[], &vec![("title", true)], page, 7));
    let before: Vec<_> = (1..8).map(titled).collect();
    store.settle();
    assert_eq!((1..8).map(titled).collect::<Vec<_>>(), before);
    let ask = |name: &str, value: &str| store.find(&[Question::plain(name, value)], &newest_first(), 1, 0).total;
    let long = |letter: &str| {
        let of = |row: &&std::sync::Arc<Known>| row.title.as_deref().is_some_and(|title| title.starts_with(letter));
        world.rows.values().filter(of).count() as u64
    };
    assert!(long("õ") > 0 && long("z") > 0);
    assert_eq!(ask("title", &"õ".repeat(300)), long("õõ"));
    assert_eq!(ask("title:contains", &"z".repeat(300)), long("zz"));
}

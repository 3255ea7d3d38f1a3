//! Bodies that want to cost much. What they get is bounded: at most a hundred issues and one that counts the rest.

use std::fmt::Write;

use fhir::json::Json;
use fhir::limits::STRING_CHARACTERS_MAX;
use fhir::outcome::limits::BODY_ISSUES_MAX;
use fhir::outcome::{Hcert, Issue, Language};

use crate::base::{DRIVER_PAPER, OCCUPATIONAL};
use crate::judge;
use crate::mutation::Mutation::Nothing;

/// The body with pieces put in front of the first item of a list.
fn with(list: &str, items: &str) -> Vec<u8> {
    let body = String::from_utf8(DRIVER_PAPER.with(Nothing)).unwrap();
    let begin = format!(r#""{list}":["#);
    assert!(body.contains(&begin));
    body.replacen(&begin, &format!("{begin}{items},"), 1).into_bytes()
}

fn issues(body: &[u8]) -> Vec<Issue> {
    judge::create(body).expect_err("it is refused")
}

/// Texts of `found` things, of which a hundred are told and the last issue counts the rest.
fn assert_counted(issues: &[Issue], found: usize) {
    assert_eq!(issues.len(), BODY_ISSUES_MAX + 1);
    let last = issues.last().unwrap();
    assert_eq!((last.code(), last.is_error()), (Hcert::LeftOut, false));
    let text = last.text(Language::English);
    assert!(text.ends_with(&format!("left out: at least {}", found - BODY_ISSUES_MAX)), "{text}");
}

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(",")
}

#[test]
fn ten_thousand_contained_resources_that_nothing_refers_to_are_counted() {
    let resources = list(10_000, |at| format!(r#"{{"resourceType":"Organization","id":"o{at}","name":"x"}}"#));
    assert_counted(&issues(&with("contained", &resources)), 10_000);
}

#[test]
fn ten_thousand_contained_resources_with_one_id_are_counted() {
    let resources = list(10_000, |_| r#"{"resourceType":"Organization","id":"o","name":"x"}"#.to_owned());
    // The first of them is one that nothing refers to; each other repeats its id.
    assert_counted(&issues(&with("contained", &resources)), 10_000);
}

#[test]
fn ten_thousand_contained_resources_that_refer_to_each_other_in_a_circle_are_right() {
    let resources = list(10_000, |at| {
        let next = (at + 1) % 10_000;
        format!(
            r##"{{"resourceType":"Basic","id":"b{at}","code":{{"text":"x"}},"subject":{{"reference":"#b{next}"}}}}"##
        )
    });
    assert!(judge::create(&with("contained", &resources)).is_ok());
}

#[test]
fn ten_thousand_decisions_are_one_issue_for_the_list_and_one_for_each_that_nothing_refers_to() {
    let mut json = OCCUPATIONAL.json();
    let decision = json.items("contained")[1].clone();
    let Json::Object(object) = &mut json else { unreachable!("a certificate is an object") };
    let Some(Json::Array(contained)) = object.get_mut("contained") else { unreachable!("it contains resources") };
    for at in 0..10_000 {
        let Json::Object(mut copy) = decision.clone() else { unreachable!("a decision is an object") };
        copy.set("id", Json::string(format!("d{at}")));
        contained.push(Json::Object(copy));
    }
    let issues = issues(&json.to_vec());
    assert_counted(&issues, 10_001);
    assert_eq!(issues[0].code(), Hcert::SliceTooMany);
}

/// A section with a section in it, and so on.
fn tree(deep: usize) -> String {
    let mut text = r#"{"title":"x","section":["#.repeat(deep - 1);
    text.push_str(r#"{"entry":[{"reference":"Basic/1"}]}"#);
    text.push_str(&"]}".repeat(deep - 1));
    text
}

#[test]
fn a_tree_of_sections_is_taken_to_the_depth_that_json_may_have() {
    // Each section is an object in a list: two levels.
    assert!(judge::create(&with("section", &tree(30))).is_ok());
    for deep in [60, 100, 10_000] {
        let issues = issues(&with("section", &tree(deep)));
        assert_eq!(issues.len(), 1);
        assert_eq!(issues[0].code(), Hcert::JsonTooDeep);
    }
}

#[test]
fn lists_as_deep_as_a_stack_are_refused_by_their_depth() {
    let issues = issues(&[b"[".repeat(1_000_000), b"]".repeat(1_000_000)].concat());
    assert_eq!(issues.iter().map(Issue::code).collect::<Vec<_>>(), [Hcert::JsonTooDeep]);
}

#[test]
fn a_text_may_have_a_mebi_of_characters_and_no_more() {
    let text = |characters| format!(r#"{{"url":"http://a.ee/x","valueString":"{}"}}"#, "õ".repeat(characters));
    let body = |characters| {
        let body = String::from_utf8(DRIVER_PAPER.with(Nothing)).unwrap();
        body.replacen('{', &format!(r#"{{"extension":[{}],"#, text(characters)), 1).into_bytes()
    };
    assert!(judge::create(&body(STRING_CHARACTERS_MAX)).is_ok());
    for characters in [STRING_CHARACTERS_MAX + 1, 5 * STRING_CHARACTERS_MAX] {
        let issues = issues(&body(characters));
        assert_eq!(judge::told(&issues), ["HCERT-111 too-long Composition.extension[0].value"]);
    }
}

#[test]
fn a_name_of_a_megabyte_is_not_repeated_in_the_answer() {
    let body = String::from_utf8(DRIVER_PAPER.with(Nothing)).unwrap();
    let issues = issues(body.replacen('{', &format!(r#"{{"{}":1,"#, "x".repeat(1_000_000)), 1).as_bytes());
    assert_eq!(judge::told(&issues), ["HCERT-107 structure Composition"]);
    assert!(issues[0].text(Language::English).len() < 2_000);
}

#[test]
fn a_hundred_thousand_unknown_members_are_counted() {
    let mut members = String::new();
    for at in 0..100_000 {
        write!(members, r#""x{at}":1,"#).expect("a String takes everything");
    }
    let body = String::from_utf8(DRIVER_PAPER.with(Nothing)).unwrap();
    assert_counted(&issues(body.replacen('{', &format!("{{{members}"), 1).as_bytes()), 100_000);
}

#[test]
fn members_that_stand_twice_are_counted() {
    let twice = r#""status":"final","#.repeat(50_000);
    let body = String::from_utf8(DRIVER_PAPER.with(Nothing)).unwrap();
    assert_counted(&issues(body.replacen('{', &format!("{{{twice}"), 1).as_bytes()), 50_000);
}

#[test]
fn faults_of_one_narrative_are_counted() {
    let script = "<script>x</script>".repeat(10_000);
    let body = String::from_utf8(DRIVER_PAPER.with(Nothing)).unwrap();
    let issues = issues(body.replacen("<p>", &format!("{script}<p>"), 1).as_bytes());
    assert!(issues.len() <= BODY_ISSUES_MAX + 1 && issues[0].code() == Hcert::NarrativeWrong);
}

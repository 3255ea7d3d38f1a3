//! What lists say together: who is a member, who is refused, and which lists are not taken.

use super::Membership::{Member, NotMember, Unknown};
use super::*;
use crate::DisplayTerms;
use crate::terminology::expansion::ALLOWED_CODES_MAX;
use crate::terminology::value_set::TERMINOLOGY_IMPORTS_MAX;
use fhir::json;

const SNOMED: &str = "http://snomed.info/sct";
/// A code system that ships as a fragment, and the value set that is all of it.
const HAZARDS: &str = "https://fhir.ee/CodeSystem/toolaadi-ja-tookeskkonnaga-seotud-ohutegurid";
const HAZARD_SET: &str = "https://fhir.ee/ValueSet/toolaadi-ja-tookeskkonnaga-seotud-ohutegurid";
/// A code system that ships as complete.
const DRIVER: &str = "https://fhir.ee/CodeSystem/mootorsoidukijuhi-medits-piirang";
const DRIVER_SET: &str = "https://fhir.ee/ValueSet/mootorsoidukijuhi-medits-piirang";
/// A value set of some codes of SNOMED CT, of which we know a part.
const DECISION_SET: &str = "https://fhir.ee/ValueSet/mootorsoidukijuhi-tervisetoendi-otsus";
/// A value set of two codes and no others.
const DRIVER_KIND_SET: &str = "https://fhir.ee/ValueSet/mootorsoidukijuhi-labivaatuse-tyyp";
const KIND: &str = "https://fhir.ee/CodeSystem/labivaatuse-tyyp";

fn code_system(url: &str, content: &str, codes: &[&str]) -> String {
    let concepts: Vec<String> =
        codes.iter().map(|code| format!(r#"{{"code":"{code}","display":"{code} et"}}"#)).collect();
    let concepts = concepts.join(",");
    format!(
        r#"{{"resourceType":"CodeSystem","url":"{url}","status":"active","content":"{content}","concept":[{concepts}]}}"#
    )
}

fn value_set(url: &str, experimental: bool, compose: &str) -> String {
    format!(
        r#"{{"resourceType":"ValueSet","url":"{url}","status":"active","experimental":{experimental},"compose":{compose}}}"#
    )
}

fn loaded(lists: &[String]) -> Vec<LoadedList> {
    let read = |list: &String| LoadedList { resource: json::parse(list.as_bytes()).unwrap().into_owned(), at: 1 };
    lists.iter().map(read).collect()
}

fn terminology(strict: bool, lists: &[String]) -> Terminology {
    Terminology::new(&Names::default(), strict, &loaded(lists)).unwrap()
}

fn refusal(list: String) -> String {
    Terminology::new(&Names::default(), false, &loaded(&[list])).unwrap_err().join("; ")
}

#[test]
fn a_code_is_judged_by_what_ships_what_is_loaded_and_how_strict_it_is() {
    let whole = code_system(HAZARDS, "complete", &["114", "900"]);
    let part = code_system(HAZARDS, "fragment", &["900"]);
    let driver_part = code_system(DRIVER, "fragment", &["01.06"]);
    let driver_whole = code_system(DRIVER, "complete", &["01.06", "99"]);
    let none = String::new();
    // List loaded, strict, value set, system, code, expected.
    for (list, strict, set, system, code, expected) in [
        // A fragment that ships refuses no code of its own system, and every code of another one.
        (&none, false, HAZARD_SET, HAZARDS, "114", Member),
        (&none, false, HAZARD_SET, HAZARDS, "900", Unknown),
        (&none, true, HAZARD_SET, HAZARDS, "900", Unknown),
        (&none, true, HAZARD_SET, DRIVER, "114", NotMember),
        (&none, false, HAZARD_SET, "urn:other", "114", NotMember),
        // The full list refuses in strict mode only.
        (&whole, false, HAZARD_SET, HAZARDS, "900", Member),
        (&whole, false, HAZARD_SET, HAZARDS, "901", Unknown),
        (&whole, true, HAZARD_SET, HAZARDS, "900", Member),
        (&whole, true, HAZARD_SET, HAZARDS, "901", NotMember),
        // What the loaded list leaves out is not known any more.
        (&part, true, HAZARD_SET, HAZARDS, "114", Unknown),
        (&part, true, HAZARD_SET, HAZARDS, "900", Member),
        // A complete list that ships always refuses, and so does its successor, unless that is a fragment.
        (&none, false, DRIVER_SET, DRIVER, "01.06", Member),
        (&none, false, DRIVER_SET, DRIVER, "99", NotMember),
        (&driver_whole, false, DRIVER_SET, DRIVER, "99", Member),
        (&driver_whole, false, DRIVER_SET, DRIVER, "98", NotMember),
        (&driver_part, true, DRIVER_SET, DRIVER, "98", Unknown),
        // Listed codes: all of them, or those that are known.
        (&none, false, DRIVER_KIND_SET, KIND, "driver-group-I", Member),
        (&none, false, DRIVER_KIND_SET, KIND, "occupational", NotMember),
        (&none, true, DECISION_SET, SNOMED, "171353001", Member),
        (&none, true, DECISION_SET, SNOMED, "1", Unknown),
        (&none, true, DECISION_SET, "urn:other", "171353001", NotMember),
        // What is not at hand is not judged.
        (&none, true, "http://hl7.org/fhir/ValueSet/languages", "urn:ietf:bcp:47", "et", Unknown),
    ] {
        let lists: Vec<String> = [list].into_iter().filter(|list| !list.is_empty()).cloned().collect();
        let terminology = terminology(strict, &lists);
        let told = terminology.judge(set, Some(system), code);
        assert_eq!(told, expected, "{set} {system} {code} strict {strict} with {list}");
        assert_eq!(terminology.judge(&format!("{set}|1.0.0"), Some(system), code), expected, "with a version");
    }
}

#[test]
fn a_full_value_set_closes_one_that_was_known_in_part_in_strict_mode() {
    let compose = format!(r#"{{"include":[{{"system":"{SNOMED}","concept":[{{"code":"171353001"}}]}}]}}"#);
    for (experimental, strict, expected) in
        [(false, true, NotMember), (false, false, Unknown), (true, true, Unknown), (true, false, Unknown)]
    {
        let terminology = terminology(strict, &[value_set(DECISION_SET, experimental, &compose)]);
        assert_eq!(terminology.judge(DECISION_SET, Some(SNOMED), "171353001"), Member);
        assert_eq!(terminology.judge(DECISION_SET, Some(SNOMED), "156861000181108"), expected);
    }
}

#[test]
fn a_code_alone_is_one_of_any_system_of_the_value_set() {
    let terminology = terminology(false, &[]);
    let set = "https://fhir.ee/ValueSet/tervisetoendi-staatus-fhir";
    assert_eq!(terminology.judge(set, None, "final"), Member);
    assert_eq!(terminology.judge(set, None, "amended"), NotMember);
    assert_eq!(terminology.judge(DRIVER_SET, None, "01.06"), Member);
    assert_eq!(terminology.judge(DRIVER_SET, None, "x"), Unknown, "one of its systems is known in part");
}

#[test]
fn imports_exclusions_and_capitals_are_followed() {
    let letters = code_system("urn:letters", "complete", &["a", "b", "c"])
        .replace(r#""content""#, r#""caseSensitive":false,"content""#);
    let some =
        value_set("urn:some", false, r#"{"include":[{"system":"urn:letters","concept":[{"code":"a"},{"code":"b"}]}]}"#);
    let both = value_set(
        "urn:both",
        false,
        r#"{"include":[{"system":"urn:letters","valueSet":["urn:some|2"]}],"exclude":[{"system":"urn:letters","concept":[{"code":"b"}]}]}"#,
    );
    let only = value_set("urn:only", false, r#"{"include":[{"valueSet":["urn:both"]},{"system":"urn:absent"}]}"#);
    let terminology = terminology(true, &[only, both, some, letters]);
    for (set, code, expected) in [
        ("urn:some", "a", Member),
        ("urn:some", "A", Member),
        ("urn:some", "c", NotMember),
        ("urn:both", "a", Member),
        ("urn:both", "b", NotMember),
        ("urn:both", "B", NotMember),
        ("urn:both", "c", NotMember),
        ("urn:only", "a", Member),
        ("urn:only", "b", NotMember),
    ] {
        assert_eq!(terminology.judge(set, Some("urn:letters"), code), expected, "{set} {code}");
    }
    assert_eq!(terminology.judge("urn:only", Some("urn:absent"), "x"), Unknown);
    assert_eq!(terminology.judge("urn:only", None, "a"), Member);
    let codes = |set: &str| -> Result<Vec<String>, String> {
        let expanded = terminology.expand(terminology.value_set(set).unwrap()).map_err(str::to_owned)?;
        Ok(expanded.iter().map(|coded| coded.code().to_owned()).collect())
    };
    assert_eq!(codes("urn:both"), Ok(vec!["a".to_owned()]));
    assert_eq!(codes("urn:only"), Err("urn:absent".to_owned()));
}

#[test]
fn nested_concepts_are_codes_too() {
    let list = r#"{"resourceType":"CodeSystem","url":"urn:tree","status":"active","content":"complete",
        "concept":[{"code":"1","concept":[{"code":"1.1","concept":[{"code":"1.1.1"}]}]},{"code":"2"}]}"#;
    let terminology = terminology(false, &[list.to_owned()]);
    let tree = terminology.code_system("urn:tree").unwrap();
    let codes: Vec<&str> = tree.concepts().iter().map(|concept| concept.code.as_str()).collect();
    assert_eq!(codes, ["1", "1.1", "1.1.1", "2"]);
    assert_eq!(tree.find("1.1.1").unwrap().parent.map(|at| tree.concepts()[at].code.as_str()), Some("1.1"));
}

#[test]
fn displays_come_in_the_language_asked_for() {
    let terminology = terminology(false, &[]);
    let coded = terminology.coded(terminology.value_set(DRIVER_KIND_SET), KIND, "driver-group-I").unwrap();
    let english = coded.display(Some("en")).unwrap();
    let estonian = coded.display(Some("et")).unwrap();
    assert_ne!(english, estonian);
    assert_eq!((coded.display(None), coded.display(Some("en-GB"))), (Some(estonian), Some(english)));
    assert!(coded.is_called(&estonian.to_uppercase()) && coded.is_called(english) && !coded.is_called("x"));
    assert!(terminology.coded(None, KIND, "no-such-code").is_none());
}

#[test]
fn a_message_lists_some_codes_and_counts_the_rest() {
    let codes: Vec<String> = (0..ALLOWED_CODES_MAX + 12).map(|number| format!("c{number}")).collect();
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    let compose =
        format!(r#"{{"include":[{{"system":"{HAZARDS}"}},{{"system":"{DRIVER}","concept":[{{"code":"02"}}]}}]}}"#);
    let lists = [code_system(HAZARDS, "complete", &codes), value_set("urn:long", false, &compose)];
    let told = terminology(false, &lists).allowed("urn:long");
    assert!(
        told.contains(&format!("{HAZARDS}: c0 (c0 et), c1 (c1 et),")) && told.contains("c19") && !told.contains("c20"),
        "{told}"
    );
    assert!(told.contains(DRIVER) && told.ends_with(" … and 13 more"), "{told}");
    let terminology = terminology(false, &[]);
    let kinds = terminology.allowed(DRIVER_KIND_SET);
    let term = |code| DisplayTerms::term(&terminology, KIND, code).expect("a list in Estonian ships");
    let told = ["driver-group-I", "driver-group-II"].map(|code| format!("{code} ({})", term(code))).join(", ");
    assert_eq!(kinds, format!("allowed are: {KIND}: {told}"));
    assert_eq!(terminology.allowed("urn:absent"), "");
}

#[test]
fn a_list_that_cannot_be_used_is_refused_with_its_name_and_the_reason() {
    let include = |include: &str| value_set("urn:x", false, &format!(r#"{{"include":[{include}]}}"#));
    let long = format!("urn:{}", "x".repeat(300));
    for (list, reason) in [
        (code_system("urn:x", "supplement", &["a"]), "content is supplement"),
        (code_system("urn:x", "not-present", &["a"]), "content is not-present"),
        (code_system("urn:x", "complete", &["a", "b", "a"]), "concept[2]: the code 'a' stands twice"),
        (code_system("", "complete", &["a"]), "no absolute address"),
        (code_system("urn:x|1", "complete", &["a"]), "no absolute address"),
        (code_system(&long, "complete", &["a"]), "characters"),
        (code_system("urn:x", "complete", &["a"]).replace(r#""status":"active","#, ""), "no status"),
        (code_system("urn:x", "complete", &["a"]).replace(r#""code":"a","#, ""), "concept[0] has no code"),
        (
            code_system("urn:x", "complete", &["a"]).replace(r#""content""#, r#""supplements":"urn:y","content""#),
            "supplements",
        ),
        (include(r#"{"system":"urn:y","filter":[{"property":"p","op":"=","value":"v"}]}"#), "include[0] has a filter"),
        (include(r#"{"version":"1"}"#), "neither a system nor a value set"),
        (include(r#"{"valueSet":["urn:y"]}"#), "imports urn:y, which this server does not have"),
        (include(r#"{"valueSet":["urn:x"]}"#), "circle"),
        (include(r#"{"valueSet":["urn:x"],"concept":[{"code":"a"}]}"#), "without their system"),
        (include(r#"{"system":"urn:y","concept":[{"code":"a"},{"code":"a"}]}"#), "stands twice"),
        (value_set("urn:x", false, r#"{"inactive":true}"#), "no compose.include"),
    ] {
        let told = refusal(list.clone());
        assert!(told.contains(reason), "{list}\n{told}");
        assert!(told.starts_with("CodeSystem") || told.starts_with("ValueSet"), "{told}");
    }
}

#[test]
fn value_sets_import_each_other_as_deep_as_is_allowed_and_no_deeper() {
    let chain = |length: usize| -> Vec<String> {
        let link = |number: usize| match number {
            0 => value_set("urn:0", false, r#"{"include":[{"system":"urn:s"}]}"#),
            _ => value_set(
                &format!("urn:{number}"),
                false,
                &format!(r#"{{"include":[{{"valueSet":["urn:{}"]}}]}}"#, number - 1),
            ),
        };
        (0..=length).map(link).collect()
    };
    assert!(Terminology::new(&Names::default(), false, &loaded(&chain(TERMINOLOGY_IMPORTS_MAX))).is_ok());
    assert!(Terminology::new(&Names::default(), false, &loaded(&chain(TERMINOLOGY_IMPORTS_MAX + 1))).is_err());
}

/// What was seen: 140 small value sets in 7 levels, each importing all of the level below, kept the service from ever starting.
#[test]
fn value_sets_that_import_each_other_many_times_are_put_together_in_a_moment() {
    let at = |level: usize, number: usize| format!("urn:l{level}-{number}");
    let set = |level: usize, number: usize| {
        let include = match level {
            6 => r#"{"system":"urn:s","concept":[{"code":"a"},{"code":"b"}]}"#.to_owned(),
            _ => {
                let import = |below| format!(r#"{{"valueSet":["{}"]}}"#, at(level + 1, below));
                (0..20).map(import).collect::<Vec<_>>().join(",")
            }
        };
        value_set(&at(level, number), false, &format!(r#"{{"include":[{include}]}}"#))
    };
    let sets: Vec<String> =
        (0..7).flat_map(|level| (0..20).map(move |number| (level, number))).map(|(l, n)| set(l, n)).collect();
    let terminology = Terminology::new(&Names::default(), false, &loaded(&sets)).unwrap();
    let top = terminology.value_set("urn:l0-0").unwrap();
    assert_eq!(terminology.expand(top).unwrap().len(), 2);
    assert!(!terminology.is_open(top));
    assert_eq!(terminology.member(top, None, "c", Certainty::Claim), Membership::NotMember);
    assert!(terminology.size_of(top) > 100_000_000);
}

/// What was seen: one list that named a system of 90 000 codes four hundred times took three gigabytes to load.
#[test]
fn a_code_system_that_is_included_often_is_looked_at_once() {
    let system = code_system("urn:x", "complete", &["1", "2", "3"]);
    let include = vec![r#"{"system":"urn:x"}"#; 400].join(",");
    let listed = r#"{"system":"urn:x","concept":[{"code":"3","display":"kolm"}]}"#;
    let set = value_set("urn:often", false, &format!(r#"{{"include":[{listed},{include}]}}"#));
    let terminology = terminology(false, &[system, set]);
    let set = terminology.value_set("urn:often").unwrap();
    let mut found = Vec::new();
    terminology.candidates(set, &mut found, &mut HashSet::new()).unwrap();
    assert_eq!(found.len(), 4);
    let codes: Vec<&str> = terminology.expand(set).unwrap().iter().map(Coded::code).collect();
    assert_eq!(codes, ["3", "1", "2"]);
}

#[test]
fn all_lists_together_are_bounded() {
    let codes: Vec<String> = (0..TERMINOLOGY_CONCEPTS_MAX).map(|number| number.to_string()).collect();
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    let shipped = {
        let terminology = terminology(false, &[]);
        terminology.code_systems.values().map(CodeSystem::concepts_count).sum::<usize>()
            + terminology.value_sets.values().map(ValueSet::concepts_count).sum::<usize>()
    };
    let fitting = &codes[..TERMINOLOGY_CONCEPTS_MAX - shipped];
    assert!(Terminology::new(&Names::default(), false, &loaded(&[code_system("urn:x", "complete", fitting)])).is_ok());
    let told = refusal(code_system("urn:x", "complete", &codes[..TERMINOLOGY_CONCEPTS_MAX - shipped + 1]));
    assert!(told.contains("codes"), "{told}");
    let set = |number: usize| value_set(&format!("urn:{number}"), false, r#"{"include":[{"system":"urn:s"}]}"#);
    let ship = definitions::of_type("CodeSystem").chain(definitions::of_type("ValueSet")).count();
    let sets: Vec<String> = (ship..=TERMINOLOGY_LISTS_MAX).map(set).collect();
    assert!(Terminology::new(&Names::default(), false, &loaded(&sets[1..])).is_ok());
    assert!(Terminology::new(&Names::default(), false, &loaded(&sets)).is_err());
    let wordy = |more: usize| {
        let words = "x".repeat(TERMINOLOGY_BYTES_MAX - 150_000 + more);
        code_system("urn:x", "complete", &["a"]).replace("a et", &words)
    };
    assert!(Terminology::new(&Names::default(), false, &loaded(&[wordy(0)])).is_ok());
    assert!(refusal(wordy(150_000)).contains("bytes"));
}

#[test]
fn a_list_keeps_the_id_of_the_one_it_replaces_and_another_gets_the_end_of_its_address() {
    let lists = [
        code_system(SNOMED, "complete", &["1"]),
        code_system("https://one.ee/CodeSystem/amet", "complete", &["1"]),
        code_system("https://two.ee/CodeSystem/amet", "complete", &["1"]),
    ];
    let terminology = terminology(false, &lists);
    let id = |url: &str| terminology.code_system(url).unwrap().about.id.clone();
    assert_eq!(id(SNOMED), "snomed-ct-fragment");
    assert_eq!(
        (id("https://one.ee/CodeSystem/amet"), id("https://two.ee/CodeSystem/amet")),
        ("amet".into(), "amet-2".into())
    );
    let narrative =
        r#""text":{"status":"generated","div":"<div xmlns=\"http://www.w3.org/1999/xhtml\"><script/></div>"},"status""#;
    let told = code_system("urn:told", "complete", &["1"]).replace(r#""status""#, narrative);
    let told = Terminology::new(&Names::default(), false, &loaded(&[told])).unwrap();
    let told = String::from_utf8(told.code_system("urn:told").unwrap().about.text.clone()).unwrap();
    assert!(!told.contains("script"), "{told}");
    let served = &terminology.code_system(SNOMED).unwrap().about.text;
    assert!(served.starts_with(br#"{"resourceType":"CodeSystem","id":"snomed-ct-fragment","#));
}

#[test]
fn a_file_holds_one_list_or_a_bundle_or_many_lines() {
    let (one, two) = (code_system("urn:1", "complete", &["a"]), code_system("urn:2", "complete", &["a"]));
    let bundle = format!(
        r#"{{"resourceType":"Bundle","type":"collection","entry":[{{"resource":{one}}},{{"resource":{two}}}]}}"#
    );
    let count =
        |text: &str| read_file(text.as_bytes()).map(|lists| lists.len()).map_err(|problems| problems.join("; "));
    assert_eq!(count(&one), Ok(1));
    assert_eq!(count(&bundle), Ok(2));
    assert_eq!(count(&format!("{one}\n\n{two}\n")), Ok(2));
    assert_eq!(count(&format!("{bundle}\n{}", code_system("urn:3", "complete", &["a"]))), Ok(3));
    assert_eq!(count(&one.replace(',', ",\n")), Ok(1));
    for (text, reason) in [
        ("", "no body"),
        ("{", "JSON"),
        (r#"{"resourceType":"Patient"}"#, "found Patient"),
        (r#"{"a":1}"#, "says its resourceType"),
        ("[1]", "says its resourceType"),
        (&format!("{one}\n{{\n"), "line 2: "),
        (&format!("{one}\n{one}"), "CodeSystem urn:1: it stands twice"),
        (&one.replace("status", "statuss"), "CodeSystem urn:1: CodeSystem has no element statuss"),
        (&bundle.replace("CodeSystem", "Basic"), "Bundle"),
        (r#"{"resourceType":"Bundle","type":"collection"}"#, "empty"),
        (r#"{"resourceType":"Bundle","type":"collection","entry":[{"fullUrl":"urn:x"}]}"#, "Bundle.entry[0]"),
    ] {
        let told = count(text).unwrap_err();
        assert!(told.contains(reason), "{text}\n{told}");
    }
}

#[test]
fn a_code_is_called_by_its_code_system_then_by_a_value_set_that_lists_it() {
    let decisions = |url: &str, language: &str, code: &str, display: &str| {
        let compose =
            format!(r#"{{"include":[{{"system":"{SNOMED}","concept":[{{"code":"{code}","display":"{display}"}}]}}]}}"#);
        value_set(url, true, &compose).replacen('{', &format!(r#"{{{language}"#), 1)
    };
    let estonian = r#""language":"et","#;
    let lists = [
        decisions("urn:b", estonian, "160926000", "B"),
        decisions("urn:a", estonian, "160926000", "A"),
        decisions("urn:0", r#""language":"en","#, "160926000", "English"),
        decisions("urn:c", estonian, "160910001", "other words than the code system's"),
        decisions("urn:d", "", "772786005", "of no language"),
    ];
    let shipped = terminology(false, &[]);
    let loaded = terminology(false, &lists);
    for (lists, code, expected) in [
        (&shipped, "160910001", Some("Ei sobi töötama")),
        (&loaded, "160910001", Some("Ei sobi töötama")),
        (&shipped, "160926000", None),
        (&loaded, "160926000", Some("A")),
        // Known in English only.
        (&shipped, "772786005", None),
        (&loaded, "772786005", Some("of no language")),
        (&loaded, "1", None),
    ] {
        assert_eq!(lists.term(SNOMED, code, ESTONIAN), expected, "{code}");
    }
    assert_eq!(loaded.term("http://snomed.info/sct|2025", "160926000", "et-EE"), Some("A"));
    assert_eq!(loaded.term("urn:other", "160926000", ESTONIAN), None);
    assert_eq!(loaded.display(SNOMED, "160926000", None), Some("English"));
    assert_eq!(shipped.display(SNOMED, "772786005", Some("et")), Some("Medical certificate (record artifact)"));
}

#[test]
fn a_code_without_a_name_has_a_meaning_and_one_with_an_amount_has_a_unit() {
    use crate::DisplayTerms;

    let terminology = terminology(false, &[]);
    let restrictions = "https://fhir.ee/CodeSystem/tervisetoendi-piirangud";
    assert_eq!(terminology.other_words(SNOMED, "160926000"), Some("Lubab töötada"));
    assert_eq!(terminology.other_words(SNOMED, "160910001"), Some("Unfit for work"));
    assert_eq!(terminology.unit(restrictions, "586"), Some("kg"));
    assert_eq!(terminology.unit(restrictions, "891"), None);
    assert_eq!(terminology.title(SNOMED), Some("SNOMED CT"));
    assert_eq!(terminology.title("urn:other"), None);
}

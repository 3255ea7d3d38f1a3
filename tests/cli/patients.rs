//! `hcert patients`: people into a folder at rest and into a running server, listed, and what is told of bad lines.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use super::process::Process;
use super::{Place, lines};

const CODE: &str = "https://fhir.ee/sid/pid/est/ni";

/// The ids of a list, in its order.
fn ids(place: &Place, arguments: &[&str]) -> Vec<String> {
    let ran = place.run(&[&["patients", "list", "--data", "data"], arguments].concat());
    let column = |line: &str| line.split('\t').next().unwrap().to_owned();
    ran.expect(0).text().lines().map(column).collect()
}

fn patient(id: u32, members: &str) -> String {
    format!(r#"{{"resourceType":"Patient","id":"{id}","identifier":[{{"system":"urn:s","value":"{id}"}}]{members}}}"#)
}

#[test]
fn the_patients_of_generated_certificates_are_imported_once() {
    let place = Place::new();
    let patients = place.run(&["generate", "--patients", "--count", "2000", "--seed", "31"]);
    let again = place.run(&["generate", "--patients", "--count", "2000", "--seed", "31"]);
    assert!(patients.expect(0).out == again.out, "the same seed gives the same bytes");
    let count = lines(&patients.out).len();
    let import = ["patients", "import", "-", "--data", "data"];
    let stored = format!("{count} lines: {count} stored, 0 there already, 0 not taken");
    place.run_with(&import, &patients.out).expect(0).says(&stored);
    place.run_with(&import, &patients.out).expect(0).says(&format!("0 stored, {count} there already"));
    assert_eq!(ids(&place, &[]).len(), count);

    let corpus = place.corpus(50, 31);
    let of_them = place.run(&["generate", "--patients", "--count", "50", "--seed", "31"]);
    let text = String::from_utf8(corpus).unwrap();
    for line in of_them.text().lines() {
        let patient: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(text.contains(&format!("\"Patient/{}\"", patient["id"].as_str().unwrap())), "{line}");
    }
}

/// What was seen: a name turned the direction of writing around for the rest of the line.
#[test]
fn a_list_moves_no_terminal() {
    let place = Place::new();
    let line = patient(1, ",\"name\":[{\"family\":\"A\u{202e}B\"}]");
    place.run_with(&["patients", "import", "-", "--data", "data"], line.as_bytes()).expect(0);
    let list = place.run(&["patients", "list", "--data", "data"]);
    assert!(list.expect(0).text().contains("A\\u202eB"), "{}", list.text());
}

#[test]
fn a_list_has_a_line_for_each_patient_and_finds_by_identifier() {
    let place = Place::new();
    let people = include_str!("../../data/patients.ndjson").replace("{person_identifier_base}", "https://fhir.ee/sid");
    fs::write(place.path("people.ndjson"), people).unwrap();
    place.run(&["patients", "import", "people.ndjson", "--data", "data"]).expect(0).says("20 stored");
    let list = place.run(&["patients", "list", "--data", "data"]);
    let expected = format!("200\t1\t{CODE}|39406240015\tTaavi Kask\t1994-06-24\tactive\n");
    assert!(list.expect(0).text().starts_with(&expected), "{}", list.text());
    assert!(list.text().contains("\tRein Evald Uusmurd\t1938-11-07\tactive,deceased\n"), "{}", list.text());
    assert!(list.text().contains("\tIlva Krastmale\t-\tactive\n"), "{}", list.text());
    assert_eq!(list.text().lines().count(), 20);
    assert_eq!(ids(&place, &["--identifier", "LV0047110"]), ["207", "208"]);
    assert_eq!(ids(&place, &["--identifier", &format!("{CODE}|39406240015")]), ["200"]);
    assert!(ids(&place, &["--identifier", "urn:other|39406240015"]).is_empty());
    assert!(ids(&place, &["--identifier", ""]).is_empty());
    // What was seen: nobody found out that they had been looked up so.
    for asked in ["39406240015", "200"] {
        let trail = place.run(&["audit", "export", "--patient", asked, "--data", "data"]);
        assert_eq!(trail.expect(0).text().matches("\"patients.list\"").count(), 1, "{asked}");
    }
    place.run(&["patients", "list", "--data", "none"]).expect(1).says("none: there is no data folder");
}

#[test]
fn a_running_server_takes_patients_and_lists_them() {
    let place = Place::new();
    let server = Process::start(&place.path("data"));
    let before = ids(&place, &[]).len();
    let two = format!("{}\n\n{}\n", patient(5001, ""), patient(5002, r#","name":[{"text":"A\tB"}]"#));
    let import = ["patients", "import", "-", "--data", "data"];
    place.run_with(&import, two.as_bytes()).expect(0).says("2 stored");
    let changed = patient(5001, r#","active":false"#);
    place.run_with(&import, format!("{changed}\n{{}}\n").as_bytes()).expect(1).says("line 2: ").says("1 stored");
    let list = || place.run(&["patients", "list", "--data", "data"]).text().to_owned();
    let told = list();
    assert!(told.contains("5001\t2\turn:s|5001\t-\t-\tinactive\n5002\t1\turn:s|5002\tA B\t-\tactive\n"), "{told}");
    assert_eq!(told.lines().count(), before + 2);
    assert_eq!(server.stop().code(), Some(0));
    assert_eq!(list(), told);
}

#[test]
fn a_patient_without_id_is_another_person_unless_the_identifier_is_known() {
    let place = Place::new();
    let bare =
        |value: &str| format!(r#"{{"resourceType":"Patient","identifier":[{{"system":"urn:s","value":"{value}"}}]}}"#);
    let input = format!("{}\n{}\n{}\n{}", bare("a"), patient(40, ""), bare("b"), bare("a"));
    let import = ["patients", "import", "-", "--data", "data"];
    place.run_with(&import, input.as_bytes()).expect(0).says("4 lines: 3 stored, 1 there already");
    assert_eq!(ids(&place, &[]), ["1", "40", "41"]);
}

#[test]
fn bad_lines_are_told_the_first_twenty_of_them_and_the_rest_goes_on() {
    let place = Place::new();
    let bad = [
        ("{\"a\":", "JSON"),
        ("[1]", "an object"),
        (r#"{"resourceType":"Person"}"#, "Patient"),
        (r#"{"resourceType":"Patient"}"#, "at least one identifier"),
        (r#"{"resourceType":"Patient","id":"abc","identifier":[{"value":"1"}]}"#, "'abc' is not an id"),
        (r#"{"resourceType":"Patient","id":"007","identifier":[{"value":"1"}]}"#, "'007' is not an id"),
        (r#"{"resourceType":"Patient","identifier":[{"value":"1"}],"birthDate":"1990-02-30"}"#, "Patient.birthDate"),
        (
            r#"{"resourceType":"Patient","identifier":[{"system":"https://fhir.ee/sid/pid/est/ni","value":"39406240016"}]}"#,
            "should be 5",
        ),
    ];
    let mut input = String::new();
    for at in 0..24 {
        input.push_str(&format!("{}\n{}\n", bad[at % bad.len()].0, patient(at as u32 + 1, "")));
    }
    let ran = place.run_with(&["patients", "import", "-", "--data", "data"], input.as_bytes());
    ran.expect(1).says("48 lines: 24 stored, 0 there already, 24 not taken, the first 20 told above");
    ran.says("hcert: 24 of 48 lines were not taken");
    let told: Vec<&str> = ran.said.lines().filter(|line| line.starts_with("line ")).collect();
    assert_eq!(told.len(), 20);
    for (at, line) in told.iter().enumerate() {
        let words = bad[at % bad.len()].1;
        assert!(line.starts_with(&format!("line {}: ", 2 * at + 1)) && line.contains(words), "{words:?} in {line:?}");
    }
    assert_eq!(ids(&place, &[]).len(), 24, "every good line was taken");
}

#[test]
fn patients_stop_at_the_first_bad_line_when_that_is_wanted() {
    let place = Place::new();
    let input = format!("{}\n{}\n{{}}\n{}\n", patient(1, ""), patient(2, ""), patient(3, ""));
    let ran = place.run_with(&["patients", "import", "-", "--stop-at-bad", "--data", "data"], input.as_bytes());
    ran.expect(1).says("line 3: ").says("hcert: stopped at line 3");
    assert_eq!(ids(&place, &[]), ["1", "2"]);
}

#[test]
fn what_is_generated_has_the_namespaces_of_the_settings_and_is_imported_with_them_alone() {
    let place = Place::new();
    let own = "[namespaces]\ncode_system_base = \"https://codes.example.ee\"\nprofile_base = \"https://my.example.ee\"\n\
               hcert_ns = \"https://ns.example.ee\"\nperson_identifier_base = \"https://id.example.ee\"\n";
    fs::write(place.path("own.toml"), own).unwrap();
    let generate = |more: &[&str]| {
        let arguments = ["generate", "--count", "60", "--seed", "31"];
        place.run(&[&arguments, more].concat()).expect(0).text().to_owned()
    };
    let (certificates, patients) =
        (generate(&["--config", "own.toml"]), generate(&["--patients", "--config", "own.toml"]));
    let import = |command: &[&str], more: &[&str], lines: &str| {
        place.run_with(&[command, &["-", "--data", "data"], more].concat(), lines.as_bytes())
    };
    import(&["import"], &["--config", "own.toml"], &certificates).expect(0);
    import(&["patients", "import"], &["--config", "own.toml"], &patients).expect(0);
    let left = [&certificates, &patients].map(|text| text.replace("https://fhir.ee/mpi/", ""));
    assert!(left.iter().all(|text| !text.contains("fhir.ee")), "default names are left");
    let code = patients.split("https://id.example.ee/pid/est/ni\",\"value\":\"").nth(1).expect("a patient");
    let wrong = patients.replacen(&code[..11], "39406240016", 1);
    import(&["patients", "import"], &["--config", "own.toml"], &wrong).expect(1).says("should be 5");
    // The folder keeps its names, this one included.
    let other = own.replace("https://id.example.ee", "https://fhir.ee/sid");
    fs::write(place.path("other.toml"), other).unwrap();
    let refused = import(&["import"], &["--config", "other.toml"], &certificates);
    refused.expect(1).says("person_identifier_base").says("https://id.example.ee");
}

#[test]
fn several_files_are_each_told_by_name() {
    let place = Place::new();
    fs::write(place.path("a.ndjson"), patient(1, "")).unwrap();
    fs::write(place.path("b.ndjson"), format!("{}\nx\n", patient(2, ""))).unwrap();
    let ran = place.run(&["patients", "import", "a.ndjson", "b.ndjson", "--data", "data"]);
    ran.expect(1).says("a.ndjson: 1 line: 1 stored").says("b.ndjson: 2 lines: 1 stored").says("hcert: 1 of 3 lines");
    place.run(&["patients", "import", "a.ndjson", "none", "--data", "data"]).expect(1).says("none: No such file");
    place.run(&["patients", "import", "--data", "data"]).expect(2).says("<FILE>");
    assert_eq!(ids(&place, &[]), ["1", "2"]);
}

#[test]
fn people_with_one_personal_code_are_taken_and_told_the_first_twenty_of_them() {
    let place = Place::new();
    let patient = |id: u32| {
        let identifier = format!(r#""identifier":[{{"system":"{CODE}","value":"39406240015"}}]"#);
        format!("{{\"resourceType\":\"Patient\",\"id\":\"{id}\",{identifier}}}\n")
    };
    let same: String = (300..323).map(patient).collect();
    let ran = place.run_with(&["patients", "import", "-", "--data", "data"], same.as_bytes());
    let ran = ran.expect(0).says("23 stored").says("2 more share an Estonian personal code with another");
    assert_eq!(ran.said.matches("has the Estonian personal code of Patient/300").count(), 20);
}

/// What was seen: an import that was killed left thousands of patients changed, and no event.
#[test]
fn an_import_that_is_cut_off_was_told_when_it_began() {
    let place = Place::new();
    let patients = place.run(&["generate", "--patients", "--count", "20000", "--seed", "31"]);
    let patients = patients.expect(0).out.clone();
    let events = || {
        let told = place.run(&["audit", "export", "--data", "data"]);
        let text = told.expect(0).text().to_owned();
        text.lines().filter(|line| line.contains(r#""code":"patients.import""#)).map(str::to_owned).collect::<Vec<_>>()
    };
    let cut = || {
        let mut import = place.command(&["patients", "import", "-", "--data", "data"]);
        let mut import = import.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut stdin = import.stdin.take().unwrap();
        // What a pipe does not hold was read.
        stdin.write_all(&patients).unwrap();
        (import, stdin)
    };
    let (mut import, stdin) = cut();
    import.kill().unwrap();
    import.wait().unwrap();
    drop(stdin);
    let told = events();
    assert!(matches!(&told[..], [one] if one.contains("begins")), "{told:?}");
    let server = Process::start(&place.path("data"));
    let (mut import, stdin) = cut();
    super::eventually("the beginning is told", || events().len() == 2);
    drop(stdin);
    assert!(import.wait().unwrap().success());
    let told = events();
    assert!(matches!(&told[..], [_, begin, end] if begin.contains("begins") && end.contains("stored")), "{told:?}");
    assert_eq!(server.stop().code(), Some(0));
    place.run_with(&["patients", "import", "-", "--data", "data"], b"").expect(0);
    assert_eq!(events().len(), 5, "one when it begins, and one at its end");
}

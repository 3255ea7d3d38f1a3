//! `hcert terminology`: lists into a folder at rest and into a running server, kept over a restart, and what changes nothing.

use std::fs;

use super::Place;
use super::process::Process;

const HAZARDS: &str = "https://fhir.ee/CodeSystem/toolaadi-ja-tookeskkonnaga-seotud-ohutegurid";
const SHIPPED: &str = "complete\t7\tshipped";

fn code_system(url: &str, content: &str, codes: &[&str]) -> String {
    let concepts: Vec<serde_json::Value> =
        codes.iter().map(|code| serde_json::json!({"code": code, "display": format!("Kood {code}")})).collect();
    let list = serde_json::json!(
        {"resourceType": "CodeSystem", "url": url, "status": "active", "content": content, "concept": concepts}
    );
    list.to_string()
}

/// Whether the server has a code in the list of hazards, and whether it is sure.
fn has(server: &Process, code: &str) -> (bool, bool) {
    let path = format!("/CodeSystem/$validate-code?url={HAZARDS}&code={code}");
    let told = server.client().get(&path).json();
    let parameters = told["parameter"].as_array().unwrap();
    let named = |name: &str| parameters.iter().find(|parameter| parameter["name"] == name);
    (named("result").unwrap()["valueBoolean"] == true, named("message").is_none())
}

#[test]
fn lists_are_loaded_listed_and_removed_in_a_folder_at_rest() {
    let place = Place::new();
    place.run(&["terminology", "list", "--data", "data"]).expect(1).says("there is no data folder");
    place.run_with(&["import", "-", "--data", "data"], b"").expect(0);
    let list = place.run(&["terminology", "list", "--data", "data"]);
    assert!(list.expect(0).text().contains(SHIPPED), "{}", list.text());
    assert!(list.text().contains(&format!("CodeSystem\t{HAZARDS}\tfragment\t2\tshipped\n")), "{}", list.text());

    fs::write(place.path("hazards.json"), code_system(HAZARDS, "complete", &["1", "2", "3"])).unwrap();
    let lines = format!("{}\n{}\n", code_system("urn:a", "fragment", &["a"]), code_system("urn:b", "complete", &["b"]));
    let loaded = place.run_with(&["terminology", "load", "hazards.json", "-", "--data", "data"], lines.as_bytes());
    assert_eq!(loaded.expect(0).text().lines().count(), 3, "{}", loaded.text());
    assert!(loaded.text().contains(&format!("CodeSystem\t{HAZARDS}\tcomplete\t3\tloaded\t2")), "{}", loaded.text());
    let before = list.text().lines().count();
    let list = place.run(&["terminology", "list", "--data", "data"]);
    assert_eq!(list.expect(0).text().lines().count(), before + 2);
    assert!(list.text().contains("CodeSystem\turn:a\tfragment\t1\tloaded\t2"), "{}", list.text());

    place.run(&["terminology", "remove", HAZARDS, "--data", "data"]).expect(0);
    let list = place.run(&["terminology", "list", "--data", "data"]);
    assert!(
        list.expect(0).text().contains(&format!("CodeSystem\t{HAZARDS}\tfragment\t2\tshipped\n")),
        "{}",
        list.text()
    );
    place.run(&["terminology", "remove", HAZARDS, "--data", "data"]).expect(1).says("no list was loaded for");
}

#[test]
fn a_running_server_takes_lists_with_its_next_answer_and_keeps_them() {
    let place = Place::new();
    let server = Process::start(&place.path("data"));
    assert_eq!(has(&server, "9"), (true, false));
    let bundle = format!(
        r#"{{"resourceType":"Bundle","type":"collection","entry":[{{"resource":{}}}]}}"#,
        code_system(HAZARDS, "complete", &["9"])
    );
    let loaded = place.run_with(&["terminology", "load", "-", "--data", "data"], bundle.as_bytes());
    assert!(loaded.expect(0).text().starts_with(&format!("CodeSystem\t{HAZARDS}\tcomplete\t1\tloaded\t")));
    assert_eq!((has(&server, "9"), has(&server, "114")), ((true, true), (false, false)));
    assert_eq!(server.stop().code(), Some(0));

    let server = Process::start(&place.path("data"));
    assert_eq!((has(&server, "9"), has(&server, "114")), ((true, true), (false, false)));
    let list = place.run(&["terminology", "list", "--data", "data"]);
    assert!(list.expect(0).text().contains(&format!("CodeSystem\t{HAZARDS}\tcomplete\t1\tloaded\t")));
    place.run(&["terminology", "remove", HAZARDS, "--data", "data"]).expect(0);
    assert_eq!((has(&server, "9"), has(&server, "114")), ((true, false), (true, true)));
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn a_server_that_is_killed_keeps_what_was_loaded() {
    let place = Place::new();
    let server = Process::start(&place.path("data"));
    let list = code_system(HAZARDS, "complete", &["9"]);
    place.run_with(&["terminology", "load", "-", "--data", "data"], list.as_bytes()).expect(0);
    server.kill();
    let server = Process::start(&place.path("data"));
    assert_eq!(has(&server, "114"), (false, false));
}

#[test]
fn files_that_cannot_be_used_change_nothing() {
    let place = Place::new();
    let good = code_system(HAZARDS, "complete", &["9"]);
    fs::write(place.path("good.json"), &good).unwrap();
    let filtered = r#"{"resourceType":"ValueSet","url":"urn:v","status":"active","compose":{"include":[
        {"system":"urn:s","filter":[{"property":"p","op":"=","value":"v"}]}]}}"#;
    let import = r#"{"resourceType":"ValueSet","url":"urn:v","status":"active","compose":{"include":[{"valueSet":["urn:none"]}]}}"#;
    for (name, text, words) in [
        ("empty", "", "no body"),
        ("json", "{\"a\"", "JSON"),
        ("other", r#"{"resourceType":"Patient"}"#, "found Patient"),
        ("double", &code_system("urn:s", "complete", &["a", "a"]), "'a' stands twice"),
        ("supplement", &code_system("urn:s", "supplement", &["a"]), "content is supplement"),
        ("element", &good.replace("status", "statuss"), "has no element statuss"),
        ("filter", filtered, "has a filter"),
        ("import", import, "imports urn:none, which this server does not have"),
        ("again", &good, "it stands twice"),
    ] {
        fs::write(place.path(name), text).unwrap();
        let ran = place.run(&["terminology", "load", "good.json", name, "--data", "data"]);
        ran.expect(1).says("nothing was changed").says(words);
        assert_eq!(ran.text(), "");
    }
    place.run(&["terminology", "load", "no-such-file", "--data", "data"]).expect(1).says("no-such-file: ");
    fs::write(place.path("large"), vec![b' '; 32 * 1024 * 1024 + 1]).unwrap();
    place.run(&["terminology", "load", "large", "--data", "data"]).expect(1).says("larger than 33554432 bytes");
    place.run(&["terminology", "load", "--data", "data"]).expect(2);
    let server = Process::start(&place.path("data"));
    place.run(&["terminology", "load", "good.json", "filter", "--data", "data"]).expect(1).says("has a filter");
    place
        .run(&["terminology", "load", "good.json", "import", "--data", "data"])
        .expect(1)
        .says("which this server does not have");
    assert_eq!(has(&server, "9"), (true, false));
}

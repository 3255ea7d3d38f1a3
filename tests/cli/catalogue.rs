//! `hcert catalogue`: what it prints, and that it is what the specification and the pages of `docs/` say.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::Place;
use super::process::{Client, Process};

/// Every printed code as JSON.
fn printed(arguments: &[&str]) -> Vec<Value> {
    let arguments: Vec<&str> = ["catalogue", "--json"].iter().chain(arguments).copied().collect();
    let ran = Place::new().run(&arguments);
    ran.expect(0).text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'v>(code: &'v Value, name: &str) -> &'v str {
    code[name].as_str().unwrap()
}

#[test]
fn the_catalogue_shows_own_and_reflected_codes_in_columns_and_as_json() {
    let place = Place::new();
    let shown = place.run(&["catalogue"]);
    let lines: Vec<&str> = shown.expect(0).text().lines().collect();
    let all = printed(&[]);
    assert_eq!(lines.len(), all.len());
    let column = lines.iter().find_map(|line| line.find("The request has no body")).unwrap();
    for (line, code) in lines.iter().zip(&all) {
        assert!(line.contains(text(code, "code")) && line.contains(text(code, "issueType")), "{line}");
        assert_eq!(&line[column..], text(code, "en"));
    }
    let own = all.iter().filter(|code| code.get("fault").is_none()).count();
    assert_eq!(all.len() - own, 146);
    let digit = all.iter().find(|code| text(code, "code") == "10005").unwrap();
    assert_eq!(text(digit, "system"), "https://rahvastikuregister.ee");
    assert_eq!((text(digit, "fault"), &digit["status"]), ("MPI-029/XRR200/10005", &Value::from(400)));
    assert_eq!(text(digit, "et"), "Isikukoodi kontrollnumber on vale");
}

#[test]
fn a_system_is_meant_by_its_id_its_address_or_its_short_name() {
    for (system, count) in
        [("xroad-rr", 4), ("xroad-rr-issue", 4), ("https://xroad-rr.tehik.ee", 4), ("tax-customs", 13)]
    {
        assert_eq!(printed(&["--system", system]).len(), count, "{system}");
    }
    assert!(printed(&["--system", "hcert"]).iter().all(|code| text(code, "code").starts_with("HCERT-")));
    let place = Place::new();
    let none = place.run(&["catalogue", "--system", "address-register"]);
    assert_eq!(none.expect(0).says("lists no codes").text(), "");
    for unknown in ["", "rr", "issue", "https://xroad-rr.tehik.ee/"] {
        place.run(&["catalogue", "--system", unknown]).expect(2).says("known are: hcert, mpi, xroad-rr,");
    }
    fs::write(place.path("hcert.toml"), "[namespaces]\nissue_system_mpi = \"https://mpi.example.ee\"\n").unwrap();
    let moved = place.run(&["catalogue", "--json", "--system", "https://mpi.example.ee"]);
    assert!(moved.expect(0).text().lines().all(|line| line.contains("\"https://mpi.example.ee\"")));
}

/// Pages that are made of the program's own tables, as the command names them, and their files.
const PAGES: [(&str, &str); 8] = [
    ("api", "docs/reference/api.md"),
    ("commands", "docs/reference/commands.md"),
    ("driver-certificate", "docs/reference/driver-certificate.md"),
    ("errors", "docs/ERRORS.md"),
    ("logging", "docs/LOGGING.md"),
    ("metrics", "docs/reference/metrics.md"),
    ("occupational-certificate", "docs/reference/occupational-certificate.md"),
    ("settings", "docs/reference/settings.md"),
];

/// Those of certificates.
const CERTIFICATES: [&str; 2] = ["docs/reference/driver-certificate.md", "docs/reference/occupational-certificate.md"];

/// With `HCERT_WRITE=1` the files are made anew.
#[test]
fn every_page_of_the_program_is_what_its_tables_make() {
    let place = Place::new();
    let writes = std::env::var_os("HCERT_WRITE").is_some();
    let mut stale = Vec::new();
    for (page, file) in PAGES {
        let ran = place.run(&["catalogue", "--page", page]);
        let made = ran.expect(0).text();
        if writes {
            fs::write(file, made).expect("the tests run in the project's folder");
        }
        if fs::read_to_string(file).unwrap_or_default() != made {
            stale.push(format!("hcert catalogue --page {page} > {file}"));
        }
    }
    assert!(stale.is_empty(), "renew: {stale:#?}");
    let names = PAGES.map(|(page, _)| page).join(", ");
    place.run(&["catalogue", "--page", "military"]).expect(2).says(&names);
    place.run(&["catalogue", "--page", "errors", "--json"]).expect(2).says("--json");
}

/// The setting makes a missing decision an error of what is completed, as the pages say.
#[test]
fn every_smallest_body_is_stored_in_its_state_and_refused_without_any_one_member() {
    let place = Place::new();
    let server = Process::start_with(&place.path("data"), |command| {
        command.env("HCERT__CERTIFICATE__FINAL_MUST_BE_USABLE", "true");
    });
    let mut client = server.client();
    for page in CERTIFICATES {
        for (body, status) in smallest(page).iter().zip(["preliminary", "final"]) {
            let created = client.send("POST", "/Composition", &[], body.to_string().as_bytes()).unwrap();
            assert_eq!(created.status, 201, "{page}: {}", created.text());
            let address = created.header("location").unwrap().split_once("/fhir").unwrap().1.to_owned();
            assert_eq!(client.get(&address).json()["status"], status, "{page}");
            assert_eq!(validated(&mut client, body), [("information".to_owned(), "HCERT-198".to_owned())], "{page}");
            let members = members(body, "");
            assert!(members.len() > 40, "{members:?}");
            for member in members {
                let told = validated(&mut client, &without(body, &member));
                let is_refused = told.iter().any(|(severity, _)| severity == "error");
                assert!(is_refused, "{page}: the {status} body is taken without {member}: {told:?}");
            }
        }
    }
    assert!(server.stop().success());
}

#[test]
fn without_the_setting_a_smallest_draft_can_be_completed_and_the_missing_decision_is_a_warning() {
    let place = Place::new();
    let server = Process::start(&place.path("data"));
    let mut client = server.client();
    for page in CERTIFICATES {
        let [mut draft, completed] = smallest(page);
        draft["status"] = "final".into();
        assert_eq!(validated(&mut client, &draft), [("warning".to_owned(), "HCERT-204".to_owned())], "{page}");
        assert_eq!(validated(&mut client, &completed), [("information".to_owned(), "HCERT-198".to_owned())], "{page}");
    }
    assert!(server.stop().success());
}

/// The two bodies that a page shows first: a draft and a completed certificate.
fn smallest(page: &str) -> [Value; 2] {
    let text = fs::read_to_string(page).unwrap();
    let (_, bodies) = text.split_once("## Smallest bodies").expect("the page has smallest bodies");
    let mut bodies = bodies.split("```json").skip(1).map(|body| {
        let (body, _) = body.split_once("```").expect("a block ends");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{page}: {error}: {body}"))
    });
    [bodies.next().unwrap(), bodies.next().unwrap()]
}

/// What `$validate` reports about a body: severities and codes.
fn validated(client: &mut Client, body: &Value) -> Vec<(String, String)> {
    let told = client.send("POST", "/Composition/$validate", &[], body.to_string().as_bytes()).unwrap().json();
    let issues = told["issue"].as_array().unwrap().iter();
    let told = issues
        .map(|issue| (text(issue, "severity").to_owned(), text(&issue["details"]["coding"][0], "code").to_owned()));
    told.collect()
}

/// JSON pointers of every member of every object, and of every item of every list.
fn members(value: &Value, pointer: &str) -> Vec<String> {
    let inside: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, value)| (format!("{pointer}/{name}"), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, item)| (format!("{pointer}/{at}"), item)).collect(),
        _ => Vec::new(),
    };
    inside.into_iter().flat_map(|(at, value)| [vec![at.clone()], members(value, &at)].concat()).collect()
}

/// A body without what a pointer leads to. What would be left empty goes too, as FHIR has no empty lists and objects.
fn without(body: &Value, pointer: &str) -> Value {
    let (parent, last) = pointer.rsplit_once('/').expect("a pointer begins with a slash");
    let mut rest = body.clone();
    let left = match rest.pointer_mut(parent).expect("the pointer is of this body") {
        Value::Object(members) => {
            members.remove(last);
            members.len()
        }
        Value::Array(items) => {
            items.remove(last.parse().expect("a list has numbered places"));
            items.len()
        }
        other => panic!("{pointer} leads into {other}"),
    };
    if left == 0 { without(body, parent) } else { rest }
}

/// `data/reflected-errors.tsv` is the table of the specification: system, code and text. Contract 6.4.
#[test]
fn the_texts_of_reflected_errors_are_those_of_the_specification_character_by_character() {
    let table = fs::read_to_string("data/reflected-errors.tsv").expect("the table ships");
    let systems = placeholders();
    let all = printed(&[]);
    let own = all.iter().filter(|code| code.get("fault").is_some()).map(|code| {
        let address = text(code, "system");
        let (placeholder, _) = systems.iter().find(|(_, known)| known == address).expect("a setting for every system");
        assert_eq!(places(text(code, "en")), places(text(code, "et")), "{code}");
        assert_eq!(text(code, "issueType"), "exception");
        format!("{placeholder}\t{}\t{}", text(code, "code"), text(code, "en"))
    });
    let own: Vec<String> = own.collect();
    assert_eq!(own.len(), 146);
    // In the order of the specification, too.
    for (own, wanted) in own.iter().zip(table.lines()) {
        assert_eq!(own, wanted);
    }
    assert_eq!(table.lines().count(), own.len());
}

/// The specification is not part of this project; where it lies beside the checkout, the table is compared with it.
#[test]
fn the_table_of_reflected_errors_is_that_of_the_specification() {
    let Ok(specification) = fs::read_to_string("../shared/spec/reflected-errors.md") else { return };
    let table = fs::read_to_string("data/reflected-errors.tsv").expect("the table ships");
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(specified(&specification), rows);
}

/// Placeholder and address of every system, from the settings of the project.
fn placeholders() -> Vec<(String, String)> {
    let settings = fs::read_to_string("hcert.toml").unwrap();
    let line = |line: &str| {
        let (name, address) = line.split_once(" = ")?;
        name.starts_with("issue_system_").then(|| (name.to_owned(), address.trim_matches('"').to_owned()))
    };
    settings.lines().filter_map(line).collect()
}

/// The codes of sections 7.3 to 7.6 as lines of the table: rows of the specification's tables, where `\|` stands for `|`, and two systems
/// whose codes stand in a sentence with their texts in parentheses. Decision 124.
fn specified(text: &str) -> Vec<String> {
    let (_, text) = text.split_once("### 7.3").expect("the catalogue begins with 7.3");
    let mut found = Vec::new();
    let mut system = "";
    for line in text.lines() {
        if let Some((_, behind)) = line.split_once("ystem {") {
            system = behind.split_once('}').expect("a placeholder ends").0;
        }
        if let Some(row) = line.strip_prefix("| ").and_then(|row| row.strip_suffix(" |")) {
            let (code, meaning) = row.split_once(" | ").expect("a row has two cells");
            if code != "Code" {
                found.push(format!("{system}\t{code}\t{}", meaning.replace("\\|", "|")));
            }
        } else if let Some((_, sentence)) = line.split_once("}: ") {
            for part in sentence.trim_end_matches('.').split("; ") {
                let (code, text) = part.split_once(" (").expect("a code and its text");
                found.push(format!("{system}\t{code}\t{}", text.strip_suffix(')').expect("the text ends")));
            }
        }
    }
    found
}

/// Names in angle brackets.
fn places(text: &str) -> BTreeSet<String> {
    text.split('<').skip(1).filter_map(|behind| Some(behind.split_once('>')?.0.to_owned())).collect()
}

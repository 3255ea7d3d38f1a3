//! `hcert catalogue`: what it prints, and that it is what the specification and `docs/ERRORS.md` say.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::Place;

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

#[test]
fn the_page_of_errors_is_what_the_catalogue_makes() {
    let made = Place::new().run(&["catalogue", "--markdown"]);
    let page = fs::read_to_string("docs/ERRORS.md").unwrap();
    assert!(made.expect(0).text() == page, "renew it: hcert catalogue --markdown > docs/ERRORS.md");
}

#[test]
fn the_page_of_the_log_is_what_the_tables_make() {
    let made = Place::new().run(&["catalogue", "--log-markdown"]);
    let page = fs::read_to_string("docs/LOGGING.md").unwrap();
    assert!(made.expect(0).text() == page, "renew it: hcert catalogue --log-markdown > docs/LOGGING.md");
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

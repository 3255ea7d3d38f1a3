//! `hcert docs`: which pages it lists, that it prints them as they are in `docs/`, and its message for an unknown page.

use std::fs;

use super::Place;

/// Paths of the pages in the list.
fn listed(list: &str) -> Vec<&str> {
    let (list, _) = list.split_once("\nFiles to copy\n").expect("files come last");
    list.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next()).collect()
}

#[test]
fn the_list_has_the_groups_and_titles_of_the_summary() {
    let ran = Place::new().run(&["docs"]);
    let list = ran.expect(0).text();
    assert!(list.contains("hcert docs PAGE"), "{list}");
    let summary = fs::read_to_string("docs/SUMMARY.md").unwrap();
    let (summary, _) = summary.split_once("# The project").expect("the last group is for the sources");
    for line in summary.lines().skip(1).filter(|line| !line.is_empty()) {
        let shown = line.trim_start_matches(['#', ' ', '-', '[']).split("](").next().unwrap();
        assert!(list.lines().any(|line| line.ends_with(shown)), "{shown} is not in\n{list}");
    }
}

/// Also that no page has a character that a terminal would not show.
#[test]
fn every_page_is_printed_as_it_is_in_the_sources() {
    let place = Place::new();
    let list = place.run(&["docs"]);
    let pages = listed(list.expect(0).text());
    for path in &pages {
        let file = if *path == "README" { "README.md".to_owned() } else { format!("docs/{path}.md") };
        let ran = place.run(&["docs", path]);
        assert!(ran.expect(0).text() == fs::read_to_string(&file).unwrap(), "{file}");
        assert!(ran.said.is_empty(), "{}", ran.said);
    }
    assert!(pages.len() > 30, "{pages:?}");
    let files = list.text().split_once("\nFiles to copy\n").unwrap().1.lines().map(str::trim);
    for file in files {
        assert!(place.run(&["docs", file]).expect(0).text() == fs::read_to_string(file).unwrap(), "{file}");
    }
    let picture = place.run(&["docs", "latency.svg"]);
    assert!(picture.expect(0).text() == fs::read_to_string("docs/latency.svg").unwrap());
}

#[test]
fn a_page_has_short_names_and_its_old_one() {
    let place = Place::new();
    let printed = |name: &str| {
        let ran = place.run(&["docs", name]);
        ran.expect(0).text().lines().next().unwrap_or_default().to_owned()
    };
    for name in ["how-to/install", "how-to/install.md", "docs/how-to/install.md", "install", "INSTALL"] {
        assert_eq!(printed(name), "# Install", "{name}");
    }
    assert_eq!(printed("operations"), printed("OPERATIONS.md"));
    assert_eq!(printed("how-to"), printed("how-to/README.md"));
}

#[test]
fn an_unknown_page_is_wrong_use_and_the_nearest_are_named() {
    let place = Place::new();
    let said = |name: &str, words: &str| {
        let ran = place.run(&["docs", name]);
        assert_eq!(ran.expect(2).says(words).text(), "", "{name}");
    };
    said("instal", "hcert: there is no page 'instal'; did you mean how-to/install? `hcert docs` lists all pages");
    said("keycloak", "did you mean how-to/secure-with-keycloak?");
    said("qqqq", "there is no page 'qqqq'; `hcert docs` lists all pages");
    said("", "there is no page ''; `hcert docs` lists all pages");
    said("hot-paths", "the page docs/performance/hot-paths.md is for those who change the code; it is in the sources");
    place.run(&["docs", "install", "upgrade"]).expect(2).says("unexpected argument 'upgrade'");
}

//! `hcert docs`: which pages it lists, that it prints them as they are in `docs/`, and its message for an unknown page.

use std::fs;

use hcert::documents;

use super::Place;

#[test]
fn the_list_has_every_page_with_its_title_under_its_group() {
    let mut expected = Vec::new();
    let mut group = "";
    for page in documents::pages() {
        if page.group != group {
            group = page.group;
            expected.push(group.to_owned());
        }
        expected.push(format!("{} {}", page.path, page.title));
    }
    let ran = Place::new().run(&["docs"]);
    let (first, list) = ran.expect(0).text().split_once("\n\n").unwrap();
    assert!(first.contains("hcert docs PAGE"), "{first}");
    let lines = list.lines().filter(|line| !line.is_empty());
    let lines = lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    assert_eq!(lines.collect::<Vec<_>>(), expected);
}

/// Also that no page has a character that a terminal would not show.
#[test]
fn every_page_is_printed_as_it_is_in_the_sources() {
    let place = Place::new();
    let mut count = 0;
    for page in documents::pages() {
        let file = if page.path == "README" { "README.md".to_owned() } else { format!("docs/{}.md", page.path) };
        let ran = place.run(&["docs", page.path]);
        assert!(ran.expect(0).text() == fs::read_to_string(&file).unwrap(), "{file}");
        assert!(ran.said.is_empty(), "{}", ran.said);
        count += 1;
    }
    assert!(count > 30, "{count} pages");
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

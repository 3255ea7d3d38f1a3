//! Checks the pages that explain, and their diagrams: the states that are drawn are those of the code.

use std::fs;
use std::path::PathBuf;

use certificate::State;
use certificate::transition::TRANSITIONS;
use roxmltree::{Document, Node};

const FOLDER: &str = "docs/explanation";

/// A diagram is written by hand and read as text too.
const DIAGRAM_BYTES_MAX: usize = 15 * 1024;

/// How far an arrow may end from its box.
const GAP_MAX: f32 = 3.0;

/// An arrow is a group with `data-from`, `data-on`, `data-need` and `data-to`, in the names of the code. Its label begins
/// with the request, in the words of messages, and its line goes from the one box to the other.
#[test]
fn the_diagram_of_states_has_each_transition_of_the_table_and_no_other() {
    let text = diagram("states.svg");
    let document = Document::parse(&text).expect("the diagram is XML");
    let mut drawn: Vec<(String, Node)> = document
        .descendants()
        .filter(|node| node.has_attribute("data-from"))
        .map(|arrow| {
            let names = ["data-from", "data-on", "data-need", "data-to"].map(|name| attribute(arrow, name));
            (names.join(" "), arrow)
        })
        .collect();
    let mut table: Vec<(String, &str)> = TRANSITIONS
        .iter()
        .map(|row| {
            let from = row.from.map_or("None".to_owned(), |state| format!("{state:?}"));
            (format!("{from} {:?} {:?} {:?}", row.on, row.need, row.to), row.on.word(row.need))
        })
        .collect();
    drawn.sort_by(|left, right| left.0.cmp(&right.0));
    table.sort();
    let names = |(name, _): &(String, Node)| name.clone();
    assert_eq!(
        drawn.iter().map(names).collect::<Vec<_>>(),
        table.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(),
        "arrows of the diagram, and transitions of the table"
    );
    for ((name, arrow), (_, request)) in drawn.iter().zip(&table) {
        let label = words(*arrow);
        assert!(label.starts_with(request), "{name}: the label '{label}' does not begin with '{request}'");
        let line = arrow.descendants().find(|node| node.has_tag_name((SVG, "path"))).expect("an arrow has a line");
        let [begin, end] = ends(attribute(line, "d"));
        assert!(is_near(begin, place(&document, attribute(*arrow, "data-from"))), "{name} begins elsewhere");
        assert!(is_near(end, place(&document, attribute(*arrow, "data-to"))), "{name} ends elsewhere");
    }
}

#[test]
fn the_diagram_of_states_calls_each_state_what_the_code_calls_it() {
    let text = diagram("states.svg");
    let document = Document::parse(&text).expect("the diagram is XML");
    let boxes: Vec<Node> = document.descendants().filter(|node| node.has_attribute("data-state")).collect();
    assert_eq!(boxes.len(), State::ALL.len());
    for state in State::ALL {
        let name = format!("{state:?}");
        let drawn = boxes.iter().find(|node| node.attribute("data-state") == Some(name.as_str())).copied();
        let words = words(drawn.unwrap_or_else(|| panic!("{name} is not drawn")));
        assert!(words.starts_with(&name) && words.contains(state.name()), "{name}: {words}");
        // A deleted certificate has no resource that would show a status.
        let status = format!("status {}", state.status().code());
        assert_eq!(words.ends_with(&status), state != State::Deleted, "{name}: {words}");
    }
}

#[test]
fn every_diagram_can_be_read_by_everybody() {
    let pages: String =
        files("md").iter().map(|page| fs::read_to_string(page).expect("a page is text")).collect::<Vec<_>>().join("\n");
    let diagrams = files("svg");
    assert!(diagrams.len() >= 2, "{diagrams:?}");
    for file in diagrams {
        let name = file.file_name().expect("a file has a name").to_string_lossy().into_owned();
        let text = diagram(&name);
        assert!(text.len() <= DIAGRAM_BYTES_MAX, "{name} has {} bytes", text.len());
        let document = Document::parse(&text).expect("the diagram is XML");
        for needed in ["title", "desc"] {
            let found = document.root_element().children().find(|node| node.has_tag_name((SVG, needed)));
            assert!(found.is_some_and(|node| !words(node).is_empty()), "{name} has no {needed}");
        }
        for kept_out in ["script", "foreignObject", "image"] {
            let found = document.descendants().any(|node| node.has_tag_name((SVG, kept_out)));
            assert!(!found, "{name} has an element {kept_out}");
        }
        assert!(text.contains("prefers-color-scheme: dark"), "{name} has no colors for a dark page");
        let shown = pages
            .split("![")
            .skip(1)
            .filter_map(|image| image.split_once("]("))
            .any(|(alternative, rest)| !alternative.trim().is_empty() && rest.starts_with(&format!("{name})")));
        assert!(shown, "no page shows {name} with a text for those who do not see it");
    }
}

#[test]
fn every_page_that_explains_is_in_the_index() {
    let index = fs::read_to_string(format!("{FOLDER}/README.md")).expect("the index is there");
    for page in files("md").iter().filter(|page| !page.ends_with("README.md")) {
        let name = page.file_name().expect("a file has a name").to_string_lossy();
        assert!(index.contains(&format!("({name})")), "the index does not name {name}");
    }
}

const SVG: &str = "http://www.w3.org/2000/svg";

fn diagram(name: &str) -> String {
    fs::read_to_string(format!("{FOLDER}/{name}")).expect("the diagram is there")
}

/// The files of the folder that end so.
fn files(ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(FOLDER).expect("the tests run in the project's folder");
    let paths = entries.map(|entry| entry.expect("a folder can be listed").path());
    let mut found: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|found| found == ending)).collect();
    found.sort();
    found
}

fn attribute<'a>(node: Node<'a, '_>, name: &str) -> &'a str {
    node.attribute(name).unwrap_or_else(|| panic!("{} has no {name}", node.tag_name().name()))
}

fn number(node: Node, name: &str) -> f32 {
    attribute(node, name).parse().expect("a number")
}

/// All text in a node, with a space between its parts.
fn words(node: Node) -> String {
    let parts = node.descendants().filter(|part| part.is_text()).filter_map(|part| part.text());
    parts.map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Left, top, right and bottom of a state, or of where a certificate does not exist yet.
fn place(document: &Document, state: &str) -> [f32; 4] {
    let is_it = |node: &Node| match state {
        "None" => node.attribute("class") == Some("start"),
        _ => node.attribute("data-state") == Some(state),
    };
    let found = document.descendants().find(is_it).unwrap_or_else(|| panic!("{state} is not drawn"));
    if state == "None" {
        let (x, y, radius) = (number(found, "cx"), number(found, "cy"), number(found, "r"));
        return [x - radius, y - radius, x + radius, y + radius];
    }
    let frame = found.children().find(|node| node.has_tag_name((SVG, "rect"))).expect("a state has a frame");
    let (x, y) = (number(frame, "x"), number(frame, "y"));
    [x, y, x + number(frame, "width"), y + number(frame, "height")]
}

fn is_near([x, y]: [f32; 2], [left, top, right, bottom]: [f32; 4]) -> bool {
    (left - GAP_MAX..=right + GAP_MAX).contains(&x) && (top - GAP_MAX..=bottom + GAP_MAX).contains(&y)
}

/// Where a line begins and where it ends. Its commands are `M`, `H`, `V` and `Q`.
fn ends(path: &str) -> [[f32; 2]; 2] {
    let letters = path.char_indices().filter(|(_, letter)| letter.is_ascii_alphabetic()).map(|(at, _)| at);
    let cuts: Vec<usize> = letters.chain([path.len()]).collect();
    let mut points: Vec<[f32; 2]> = Vec::new();
    for cut in cuts.windows(2) {
        let (command, numbers) = path[cut[0]..cut[1]].split_at(1);
        let numbers: Vec<f32> = numbers.split_whitespace().map(|number| number.parse().expect("a number")).collect();
        let [x, y] = points.last().copied().unwrap_or_default();
        points.push(match (command, &numbers[..]) {
            ("M", [x, y]) | ("Q", [_, _, x, y]) => [*x, *y],
            ("H", [x]) => [*x, y],
            ("V", [y]) => [x, *y],
            _ => panic!("{path}: {command} is not expected here"),
        });
    }
    [points[0], points[points.len() - 1]]
}

#[test]
fn a_line_ends_where_its_last_command_leads() {
    assert_eq!(ends("M46 214V140Q46 128 58 128H208"), [[46.0, 214.0], [208.0, 128.0]]);
    assert_eq!(ends("M310 164V290"), [[310.0, 164.0], [310.0, 290.0]]);
    assert!(is_near([208.0, 128.0], [210.0, 92.0, 410.0, 164.0]));
    assert!(!is_near([204.0, 128.0], [210.0, 92.0, 410.0, 164.0]));
}

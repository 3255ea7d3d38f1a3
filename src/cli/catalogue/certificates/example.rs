//! An example, cut into its pieces: each member, and each item of `contained` and `section`.

use super::source::code_of;
use fhir::json::Json;

/// Lists whose items are pieces of their own.
const BY_ITEM: [&str; 2] = ["contained", "section"];

/// A piece of an example.
pub(super) struct ExamplePiece {
    /// The member it is, or is an item of.
    pub name: String,
    /// Its place in the list.
    pub at: Option<usize>,
    /// Its lines as the file has them, moved to the left.
    pub text: String,
}

/// The pieces of a file that is indented by two spaces a level.
pub(super) fn pieces(file: &str) -> Vec<ExamplePiece> {
    let lines: Vec<&str> = file.lines().collect();
    let inside = &lines[1..lines.len() - 1];
    let mut members: Vec<Vec<&str>> = Vec::new();
    for line in inside {
        if line.starts_with("  \"") {
            members.push(Vec::new());
        }
        members.last_mut().expect("the first line of an object begins a member").push(line);
    }
    members.iter().flat_map(|lines| pieces_of(lines)).collect()
}

fn pieces_of(lines: &[&str]) -> Vec<ExamplePiece> {
    let name = lines[0].split('"').nth(1).expect("a member has a name");
    if !BY_ITEM.contains(&name) {
        return vec![ExamplePiece { name: name.to_owned(), at: None, text: moved(lines, 2) }];
    }
    let items = lines[1..lines.len() - 1].split_inclusive(|line| line.trim_end_matches(',') == "    }");
    let piece =
        |(at, lines): (usize, &[&str])| ExamplePiece { name: name.to_owned(), at: Some(at), text: moved(lines, 4) };
    items.enumerate().map(piece).collect()
}

/// Lines without their first characters, and without the comma behind the last.
fn moved(lines: &[&str], by: usize) -> String {
    let text = lines.iter().map(|line| &line[by..]).collect::<Vec<_>>().join("\n");
    text.trim_end_matches(',').to_owned()
}

/// The list whose items belong to slices by their code.
const SLICED: &str = "component";

/// Whether an element is there, in some item of each list on the way. Where a code is given, only those items of
/// [`SLICED`] count that have it.
pub(super) fn has(value: &Json, path: &str, code: Option<&str>) -> bool {
    let (step, rest) = path.split_once('.').map_or((path, None), |(step, rest)| (step, Some(rest)));
    let Some(found) = value.get(step) else { return false };
    let items = found.as_array().unwrap_or(std::slice::from_ref(found));
    items.iter().any(|item| {
        let counts = step != SLICED || code.is_none() || code_of(item) == code;
        counts && rest.is_none_or(|rest| has(item, rest, code))
    })
}

/// A code with its system, and where it stands.
pub(super) struct CodedPlace {
    pub path: String,
    pub system: String,
    pub code: String,
}

/// Every code with a system in a value, in its order.
pub(super) fn coded(value: &Json, path: &str) -> Vec<CodedPlace> {
    let mut found = Vec::new();
    add_coded(value, path, &mut found);
    found
}

fn add_coded(value: &Json, path: &str, found: &mut Vec<CodedPlace>) {
    if let (Some(system), Some(code)) = (value.text("system"), value.text("code")) {
        found.push(CodedPlace { path: path.to_owned(), system: system.to_owned(), code: code.to_owned() });
    }
    for (name, value) in value.as_object().into_iter().flat_map(|object| object.iter()) {
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        add_coded(value, &path, found);
    }
    for (at, item) in value.as_array().unwrap_or_default().iter().enumerate() {
        add_coded(item, &format!("{path}[{at}]"), found);
    }
}

//! Texts as Markdown, for the pages that are made of tables.

/// Characters of a line of text.
const LINE_CHARACTERS: usize = 120;

/// A text as the cell of a table.
pub(super) fn cell(text: &str) -> String {
    prose(&piped(text))
}

/// A text in which `<name>` is no element of HTML. Between backticks it stays as it is.
pub(super) fn prose(text: &str) -> String {
    let pieces = text.split('`').enumerate();
    let pieces = pieces.map(|(at, piece)| if at % 2 == 0 { piece.replace('<', "\\<") } else { piece.to_owned() });
    pieces.collect::<Vec<_>>().join("`")
}

/// A text as the cell of a table, where it may hold elements of HTML.
pub(super) fn piped(text: &str) -> String {
    text.replace('|', "\\|")
}

/// A text in lines of at most [`LINE_CHARACTERS`] characters, as far as its words allow. `indent` begins each line
/// but the first.
pub(super) fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut length = 0;
    for word in text.split(' ') {
        let characters = word.chars().count();
        if length > 0 && length + 1 + characters > LINE_CHARACTERS {
            lines.push('\n');
            lines.push_str(indent);
            length = indent.len();
        } else if length > 0 {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += characters;
    }
    lines
}

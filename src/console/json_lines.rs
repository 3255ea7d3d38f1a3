//! Where the elements of a JSON text stand: what an issue names by its expression is found by its line.

use std::collections::HashMap;

/// Line of every element, counted from 1, by its path below the resource: `section[0].code`.
#[derive(Debug, Default)]
pub(super) struct ElementLines(HashMap<String, usize>);

/// An object or an array that is open.
struct OpenValue {
    path: String,
    /// Of an array: the index of the item that comes next.
    index: Option<usize>,
}

impl ElementLines {
    /// Reads a text, as far as it is JSON.
    pub(super) fn of(text: &str) -> ElementLines {
        let mut lines = ElementLines::default();
        let mut open: Vec<OpenValue> = Vec::new();
        // The name of the member whose value comes next.
        let mut member: Option<String> = None;
        let (mut line, mut characters) = (1, text.char_indices());
        while let Some((at, character)) = characters.next() {
            match character {
                '\n' => line += 1,
                '"' => {
                    let mut escaped = false;
                    let end = characters.by_ref().find(|(_, character)| {
                        let ends = *character == '"' && !escaped;
                        escaped = *character == '\\' && !escaped;
                        ends
                    });
                    let name = &text[at + 1..end.map_or(text.len(), |(end, _)| end)];
                    let rest = text[end.map_or(text.len(), |(end, _)| end + 1)..].trim_start();
                    if member.is_none() && rest.starts_with(':') && open.last().is_some_and(|open| open.index.is_none())
                    {
                        let path = open.last().map_or_else(String::new, |open| joined(&open.path, name));
                        lines.0.entry(path).or_insert(line);
                        member = Some(name.to_owned());
                    } else {
                        lines.value(&mut open, &mut member, line);
                    }
                }
                '{' | '[' => {
                    let path = lines.value(&mut open, &mut member, line);
                    open.push(OpenValue { path, index: (character == '[').then_some(0) });
                }
                '}' | ']' => drop(open.pop()),
                ':' | ',' => {}
                character if character.is_whitespace() => {}
                // The first character of a number or a word.
                _ if member.is_some() || open.last().is_some_and(|open| open.index.is_some()) => {
                    lines.value(&mut open, &mut member, line);
                    let rest = &text[at..];
                    let length = rest.find([',', ']', '}', '\n']).unwrap_or(rest.len());
                    // The others of it change nothing.
                    if let Some(more) = rest[..length].chars().count().checked_sub(2) {
                        let _ = characters.nth(more);
                    }
                }
                _ => {}
            }
        }
        lines
    }

    /// Notes where a value begins, and tells its path.
    fn value(&mut self, open: &mut [OpenValue], member: &mut Option<String>, line: usize) -> String {
        let Some(around) = open.last_mut() else { return String::new() };
        let path = match (&mut around.index, member.take()) {
            (Some(index), _) => {
                *index += 1;
                format!("{}[{}]", around.path, *index - 1)
            }
            (None, Some(name)) => joined(&around.path, &name),
            (None, None) => around.path.clone(),
        };
        self.0.entry(path.clone()).or_insert(line);
        path
    }

    /// The line of an expression such as `Composition.section[0].code`; that of what is around it where it is not there itself.
    pub(super) fn line(&self, expression: &str) -> Option<usize> {
        let (_, mut path) = expression.split_once('.')?;
        loop {
            if let Some(line) = self.0.get(path) {
                return Some(*line);
            }
            path = &path[..path.rfind(['.', '['])?];
        }
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_leads_to_the_line_of_its_element() {
        let text = "{\n \"status\": \"final\",\n \"section\": [\n  {\"code\": {\"text\": \"a: {[\\\"\"}},\n  {\n   \"code\": 1.5,\n   \"entry\": [true,\n    null]\n  }\n ]\n}";
        let lines = ElementLines::of(text);
        for (expression, line) in [
            ("Composition.status", Some(2)),
            ("Composition.section", Some(3)),
            ("Composition.section[0].code.text", Some(4)),
            ("Composition.section[1]", Some(5)),
            ("Composition.section[1].code", Some(6)),
            ("Composition.section[1].entry[1]", Some(8)),
            ("Composition.section[1].text.div", Some(5)),
            ("Composition.section[7].code", Some(3)),
            ("Composition.title", None),
            ("Composition", None),
            ("http._count", None),
        ] {
            assert_eq!(lines.line(expression), line, "{expression}");
        }
    }

    #[test]
    fn a_text_that_is_no_json_is_read_as_far_as_it_goes() {
        for text in ["", "{", "{\"a\"", "[[[", "\"\\", "}}]", "{\"a\":[1,2", "ä{\"õ\":\n\"š\"}"] {
            let lines = ElementLines::of(text);
            assert!(lines.0.values().all(|line| *line <= 2));
        }
        assert_eq!(ElementLines::of("{\"õ\":\n\"š\"}").line("X.õ"), Some(1));
    }
}

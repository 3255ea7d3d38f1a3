//! `_pretty=true`: the same JSON with line breaks and two blanks for each level. Only white space is added, so digits stay.

use crate::http::limits::INDENTED_EXPANSION;

/// Bytes up to which an answer is indented whatever it grows by.
const INDENTED_SMALL_BYTES: usize = 64 * 1024;

/// Indents minified JSON; nothing where it would grow too large by it. Decision 185.
pub fn indent(json: &[u8]) -> Option<Vec<u8>> {
    let bytes_max = INDENTED_SMALL_BYTES.max(json.len() * INDENTED_EXPANSION);
    let mut text = Vec::with_capacity(json.len() * 2);
    let mut depth = 0;
    let mut in_string = false;
    let mut escaped = false;
    for (at, byte) in json.iter().copied().enumerate() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = byte == b'\\' && !escaped;
            text.push(byte);
            continue;
        }
        let empty = matches!(json.get(at + 1), Some(b'}' | b']'));
        match byte {
            b'{' | b'[' => {
                text.push(byte);
                depth += 1;
                if !empty {
                    line(&mut text, depth);
                }
            }
            b'}' | b']' => {
                depth -= 1;
                if !matches!(text.last(), Some(b'{' | b'[')) {
                    line(&mut text, depth);
                }
                text.push(byte);
            }
            b',' => {
                if text.len() > bytes_max {
                    return None;
                }
                text.push(byte);
                line(&mut text, depth);
            }
            b':' => text.extend_from_slice(b": "),
            other => {
                in_string = other == b'"';
                text.push(other);
            }
        }
    }
    text.push(b'\n');
    Some(text)
}

fn line(text: &mut Vec<u8>, depth: usize) {
    text.push(b'\n');
    text.resize(text.len() + 2 * depth, b' ');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_white_space_is_added() {
        let json = r#"{"a":[1.10,-0.0,{"b":"x: {,[\"\\"}],"c":{},"d":[],"e":"\\\"","f":[[true]]}"#;
        let expected = r#"{
  "a": [
    1.10,
    -0.0,
    {
      "b": "x: {,[\"\\"
    }
  ],
  "c": {},
  "d": [],
  "e": "\\\"",
  "f": [
    [
      true
    ]
  ]
}
"#;
        assert_eq!(String::from_utf8(indent(json.as_bytes()).unwrap()).unwrap(), expected);
    }

    /// What was seen: a certificate of 2 MiB with a long list deep inside would have become 64 MB for each request with `_pretty`.
    #[test]
    fn what_would_grow_many_times_is_left_as_it_is() {
        let deep = |items: usize| [&"[".repeat(60), &*vec!["1"; items].join(","), &"]".repeat(60)].concat();
        assert!(indent(deep(100).as_bytes()).is_some(), "a small answer may grow");
        assert!(indent(deep(100_000).as_bytes()).is_none());
        let usual = std::fs::read("examples/driver-final.json").unwrap();
        let usual: serde_json::Value = serde_json::from_slice(&usual).unwrap();
        let page = serde_json::to_vec(&vec![usual; 100]).unwrap();
        assert!(indent(&page).is_some());
    }
}

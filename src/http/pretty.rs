//! `_pretty=true`: the same JSON with line breaks and two blanks for each level. Only white space is added, so digits stay.

/// Indents minified JSON.
pub fn indent(json: &[u8]) -> Vec<u8> {
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
    text
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
        assert_eq!(String::from_utf8(indent(json.as_bytes())).unwrap(), expected);
    }
}

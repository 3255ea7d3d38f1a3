//! JSON back into text: minified, appended to bytes. A certificate is written on every change, so strings are copied whole
//! wherever nothing in them needs an escape.

use super::{Json, Object};
use crate::scan::{any_special, special};

impl Json<'_> {
    /// Minified UTF-8 text.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    /// Appends the minified text.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Json::Null => out.extend_from_slice(b"null"),
            Json::Bool(true) => out.extend_from_slice(b"true"),
            Json::Bool(false) => out.extend_from_slice(b"false"),
            Json::Number(digits) => out.extend_from_slice(digits.as_bytes()),
            Json::String(text) => write_string(out, text),
            Json::Array(items) => {
                out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    item.write(out);
                }
                out.push(b']');
            }
            Json::Object(Object(members)) => {
                out.push(b'{');
                for (at, (name, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    write_member(out, name, value);
                }
                out.push(b'}');
            }
        }
    }
}

/// Appends `"name":value`.
pub fn write_member(out: &mut Vec<u8>, name: &str, value: &Json) {
    write_string(out, name);
    out.push(b':');
    value.write(out);
}

/// Appends a string in quotation marks.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    if !any_special(bytes) {
        out.extend_from_slice(bytes);
    } else {
        let mut start = 0;
        while let Some(at) = special(bytes, start) {
            out.extend_from_slice(&bytes[start..at]);
            write_escape(out, bytes[at]);
            start = at + 1;
        }
        out.extend_from_slice(&bytes[start..]);
    }
    out.push(b'"');
}

fn write_escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        control => {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[HEX[usize::from(control >> 4)], HEX[usize::from(control & 15)]]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// serde_json is the yardstick.
        #[test]
        fn a_string_is_written_as_everybody_writes_it(text in "(\\PC|[\\x00-\\x1f\"\\\\]){0,80}") {
            let mut out = Vec::new();
            write_string(&mut out, &text);
            prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&text).unwrap());
        }
    }

    #[test]
    fn values_are_written_without_white_space() {
        let text = r#"{"a":[1.10,null,true,false,"x\ty"],"":{"õ":[]}}"#;
        let json = Json::object([
            (
                "a",
                Json::Array(vec![
                    Json::Number("1.10".into()),
                    Json::Null,
                    Json::Bool(true),
                    Json::Bool(false),
                    Json::string("x\ty"),
                ]),
            ),
            ("", Json::object([("õ", Json::Array(vec![]))])),
        ]);
        assert_eq!(String::from_utf8(json.to_vec()).unwrap(), text);
    }
}

//! Request bodies, all made from the files in `examples/`, so that these cannot go stale.

use serde_json::{Value, json};

pub(crate) const SECTIONS: &str = "https://fhir.ee/CodeSystem/tervisetoendi-sektsioon";

/// An example, as it is or changed.
#[derive(Clone, Debug)]
pub struct Body(Value);

/// An example as it stands in its file, byte for byte.
pub(crate) fn text(name: &str) -> String {
    let path = format!("{}/examples/{name}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

impl Body {
    pub fn example(name: &str) -> Body {
        Body(serde_json::from_str(&text(name)).expect("examples are JSON"))
    }

    pub fn draft() -> Body {
        Body::example("driver-draft")
    }

    pub fn completed() -> Body {
        Body::example("driver-final")
    }

    /// A completed certificate with its reason for a change.
    pub fn changed() -> Body {
        Body::example("driver-final-changed")
    }

    /// `Parameters` with one `reason`.
    pub fn reason(text: &str) -> Body {
        Body::example("suspend").with("/parameter/0/valueString", json!(text))
    }

    /// Puts a value at a JSON pointer, whose last step may be new.
    pub fn with(mut self, pointer: &str, value: Value) -> Body {
        let (parent, last) = pointer.rsplit_once('/').expect("a pointer begins with a slash");
        match self.0.pointer_mut(parent).expect("the place is in the example") {
            Value::Array(list) => {
                let at: usize = last.parse().expect("a list has numbered places");
                if at == list.len() { list.push(value) } else { list[at] = value }
            }
            Value::Object(object) => drop(object.insert(last.to_owned(), value)),
            other => panic!("{pointer} leads into {other}"),
        }
        self
    }

    pub fn without(mut self, pointer: &str) -> Body {
        let (parent, last) = pointer.rsplit_once('/').expect("a pointer begins with a slash");
        match self.0.pointer_mut(parent).expect("the place is in the example") {
            Value::Array(list) => drop(list.remove(last.parse().expect("a list has numbered places"))),
            Value::Object(object) => drop(object.remove(last).expect("the place is in the example")),
            other => panic!("{pointer} leads into {other}"),
        }
        self
    }

    pub fn status(self, code: &str) -> Body {
        self.with("/status", json!(code))
    }

    pub fn number(self, number: &str) -> Body {
        self.with("/identifier/0/value", json!(number))
    }

    pub fn date(self, date: &str) -> Body {
        self.with("/date", json!(date))
    }

    pub fn period(self, start: &str, end: &str) -> Body {
        self.with("/event", json!([{"period": {"start": start, "end": end}}]))
    }

    /// Adds a section with a text.
    pub fn section(mut self, code: &str, div: &str) -> Body {
        let section = json!({
            "code": {"coding": [{"system": SECTIONS, "code": code}]},
            "text": {"status": "additional", "div": div}
        });
        self.0["section"].as_array_mut().expect("examples have sections").push(section);
        self
    }

    /// The body as JSON.
    pub fn json(&self) -> &Value {
        &self.0
    }
}

/// A narrative with this inside.
pub(crate) fn div(inside: &str) -> String {
    format!("<div xmlns=\"http://www.w3.org/1999/xhtml\">{inside}</div>")
}

impl From<Body> for Vec<u8> {
    fn from(body: Body) -> Vec<u8> {
        body.0.to_string().into_bytes()
    }
}

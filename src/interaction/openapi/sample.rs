//! One request as the description gives it as an example: what snippets and collections of requests are made of.

use serde_json::Value;

use super::api_operation::{FHIR, FORM};

/// A request that can be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleRequest {
    /// `Composition-read`
    pub id: String,
    /// `read (Composition)`
    pub summary: String,
    /// The first of its tags.
    pub tag: String,
    /// `GET`
    pub method: String,
    /// Below the base address, with its slash, and with the query behind it.
    pub path: String,
    /// Where the paths begin.
    pub base_url: String,
    /// `Content-Type`, `If-Match` …, without `Authorization`.
    pub headers: Vec<(String, String)>,
    /// Whether a token has to be sent.
    pub needs_token: bool,
    pub body: Option<SampleBody>,
}

/// What is sent with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleBody {
    /// The file of the folder `examples` that has it.
    pub file: Option<String>,
    pub text: String,
}

impl SampleBody {
    /// For people: JSON in lines, anything else as it is.
    pub fn indented(&self) -> String {
        serde_json::from_str::<Value>(&self.text).map_or_else(|_| self.text.clone(), |body| format!("{body:#}"))
    }
}

impl SampleRequest {
    /// Every request of a description, in the order of its tags and paths.
    pub fn all(document: &Value) -> Vec<SampleRequest> {
        let paths = document["paths"].as_object().into_iter().flatten();
        let each = paths.flat_map(|(path, methods)| {
            let methods = methods.as_object().into_iter().flatten();
            methods.map(move |(method, _)| SampleRequest::of(document, path, method))
        });
        let mut all: Vec<SampleRequest> = each.collect();
        let tags = document["tags"].as_array().map_or(&[][..], Vec::as_slice);
        all.sort_by_key(|request| tags.iter().position(|tag| tag["name"] == *request.tag));
        all
    }

    /// The request of one operation, with the examples of its parameters and the first example of its body.
    pub fn of(document: &Value, path: &str, method: &str) -> SampleRequest {
        let operation = &document["paths"][path][method];
        let (mut path, mut query, mut headers) = (path.to_owned(), Vec::new(), Vec::new());
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let parameter = resolved(document, parameter);
            let Some(example) = parameter.get("example").map(plain) else { continue };
            let name = parameter["name"].as_str().unwrap_or_default();
            match parameter["in"].as_str() {
                Some("path") => path = path.replace(&format!("{{{name}}}"), &example),
                Some("query") => query.push(format!("{}={}", encoded(name), encoded(&example))),
                _ => headers.push((name.to_owned(), example)),
            }
        }
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        let body = body(document, &operation["requestBody"]["content"]);
        if let Some((media, _)) = &body {
            headers.insert(0, ("Content-Type".to_owned(), (*media).to_owned()));
        }
        let security = operation.get("security").unwrap_or(&document["security"]);
        let is_open = |way: &Value| way.as_object().is_none_or(serde_json::Map::is_empty);
        let needs_token = security.as_array().is_some_and(|ways| !ways.is_empty() && !ways.iter().any(is_open));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        SampleRequest {
            id: text(&operation["operationId"]),
            summary: text(&operation["summary"]),
            tag: text(&operation["tags"][0]),
            method: method.to_uppercase(),
            path,
            base_url: text(&document["servers"][0]["url"]),
            headers,
            needs_token,
            body: body.map(|(_, body)| body),
        }
    }

    /// The file that its answer is put into, where that is a document.
    pub fn saved_as(&self) -> Option<&'static str> {
        let path = self.path.split('?').next().unwrap_or_default();
        path.ends_with("/$pdf").then_some("certificate.pdf")
    }

    /// The whole address.
    pub fn url(&self) -> String {
        [self.base_url.as_str(), &self.path].concat()
    }
}

/// What a `$ref` leads to.
fn resolved<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    let Some(address) = value["$ref"].as_str() else { return value };
    document.pointer(address.trim_start_matches('#')).unwrap_or(value)
}

fn body<'d>(document: &'d Value, content: &'d Value) -> Option<(&'static str, SampleBody)> {
    if let Some(form) = content.get(FORM) {
        let fields = form["example"].as_object().into_iter().flatten();
        let fields: Vec<String> =
            fields.map(|(name, value)| format!("{}={}", encoded(name), encoded(&plain(value)))).collect();
        return Some((FORM, SampleBody { file: None, text: fields.join("&") }));
    }
    let (_, example) = content.get(FHIR)?["examples"].as_object()?.iter().next()?;
    let name = example["$ref"].as_str().and_then(|address| address.strip_prefix("#/components/examples/"));
    let file = name.map(|name| format!("{name}.json"));
    Some((FHIR, SampleBody { file, text: resolved(document, example)["value"].to_string() }))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Percent-encoded for a query or a form; what both leave alone stays readable.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/$,".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

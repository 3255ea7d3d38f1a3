//! Requests as a folder of Bruno: one file each, in a folder for each tag.

use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

use serde_json::json;

use crate::interaction::openapi::sample::SampleRequest;

/// Writes the collection.
///
/// # Errors
/// A file cannot be written.
pub(super) fn write(requests: &[SampleRequest], base_url: &str, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder.join("environments"))?;
    let about = json!({"version": "1", "name": "hcert", "type": "collection"});
    fs::write(folder.join("bruno.json"), format!("{about:#}\n"))?;
    let mut environment = format!("vars {{\n  base: {base_url}\n");
    if requests.iter().any(|request| request.needs_token) {
        environment.push_str("  token: \n");
    }
    environment.push_str("}\n");
    fs::write(folder.join("environments").join("hcert.bru"), environment)?;
    for (at, request) in requests.iter().enumerate() {
        let of_tag = folder.join(&request.tag);
        fs::create_dir_all(&of_tag)?;
        fs::write(of_tag.join(format!("{}.bru", request.id)), file(request, at + 1))?;
    }
    Ok(())
}

fn file(request: &SampleRequest, at: usize) -> String {
    let mut text = format!("meta {{\n  name: {}\n  type: http\n  seq: {at}\n}}\n", request.id);
    let body = if request.body.is_some() { "text" } else { "none" };
    let auth = if request.needs_token { "bearer" } else { "none" };
    let (method, path) = (request.method.to_lowercase(), &request.path);
    let _ = write!(text, "\n{method} {{\n  url: {{{{base}}}}{path}\n  body: {body}\n  auth: {auth}\n}}\n");
    if !request.headers.is_empty() {
        let headers: String = request.headers.iter().map(|(name, value)| format!("  {name}: {value}\n")).collect();
        let _ = write!(text, "\nheaders {{\n{headers}}}\n");
    }
    if request.needs_token {
        text.push_str("\nauth:bearer {\n  token: {{token}}\n}\n");
    }
    if let Some(body) = &request.body {
        let lines: String = body.indented().lines().map(|line| format!("  {line}\n")).collect();
        let _ = write!(text, "\nbody:text {{\n{lines}}}\n");
    }
    text
}

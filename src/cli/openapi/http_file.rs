//! Requests as editors read them: a file `.http`.

use std::fmt::Write;

use crate::interaction::openapi::http_text;
use crate::interaction::openapi::sample::SampleRequest;

/// The whole file.
pub(super) fn text(requests: &[SampleRequest], base_url: &str) -> String {
    let mut text = format!("# Requests of hcert {}, made by `hcert openapi --as http`.\n\n", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(text, "@base = {base_url}");
    if requests.iter().any(|request| request.needs_token) {
        text.push_str("@token = \n");
    }
    for request in requests {
        let of_base = SampleRequest { base_url: "{{base}}".to_owned(), ..request.clone() };
        let _ = write!(text, "\n### {}: {}\n{}", request.tag, request.id, http_text(&of_base));
    }
    text
}

//! Requests as editors read them: a file `.http`.

use std::fmt::Write;

use crate::interaction::openapi::sample::SampleRequest;

/// The whole file.
pub(super) fn text(requests: &[SampleRequest], base_url: &str) -> String {
    let mut text = format!("# Requests of hcert {}, made by `hcert openapi --as http`.\n\n", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(text, "@base = {base_url}");
    if requests.iter().any(|request| request.needs_token) {
        text.push_str("@token = \n");
    }
    for request in requests {
        let _ =
            write!(text, "\n### {}: {}\n{} {{{{base}}}}{}\n", request.tag, request.id, request.method, request.path);
        if request.needs_token {
            text.push_str("Authorization: Bearer {{token}}\n");
        }
        for (name, value) in &request.headers {
            let _ = writeln!(text, "{name}: {value}");
        }
        if let Some(body) = &request.body {
            let _ = writeln!(text, "\n{}", body.indented());
        }
    }
    text
}

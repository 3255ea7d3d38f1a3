//! What is wrong with a request as a message of HTTP, where hyper lets it pass.

use hyper::header::TRANSFER_ENCODING;
use hyper::http::request::Parts;

use super::{header, proxy};
use crate::outcome::{Hcert, Issue};

/// # Errors
/// 400 for a wrong `Host`, 501 for a transfer coding other than chunked (RFC 9112, 6.1).
pub fn check(parts: &Parts) -> Result<(), Issue> {
    proxy::check_host(parts)?;
    if !parts.headers.contains_key(TRANSFER_ENCODING) {
        return Ok(());
    }
    let codings = header::joined(&parts.headers, &TRANSFER_ENCODING)?;
    match codings.trim().eq_ignore_ascii_case("chunked") {
        true => Ok(()),
        false => Err(Issue::new(Hcert::TransferCodingUnknown).with("value", codings)),
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    #[test]
    fn chunked_is_the_only_transfer_coding() {
        let told = |values: &[&str]| {
            let request = Request::post("/fhir/Composition").header("host", "localhost");
            let request = values.iter().fold(request, |request, value| request.header(TRANSFER_ENCODING, *value));
            check(&request.body(()).unwrap().into_parts().0).err().map(|issue| issue.code())
        };
        for values in [&[][..], &["chunked"], &[" Chunked "]] {
            assert_eq!(told(values), None, "{values:?}");
        }
        for values in [&["gzip, chunked"][..], &["gzip", "chunked"], &["identity"], &["chunked, chunked"], &[""]] {
            assert_eq!(told(values), Some(Hcert::TransferCodingUnknown), "{values:?}");
        }
    }
}

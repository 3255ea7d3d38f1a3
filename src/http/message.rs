//! What is wrong with a request as a message of HTTP, where hyper lets it pass.

use hyper::HeaderMap;
use hyper::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use hyper::http::request::Parts;

use super::{header, proxy};
use crate::http::limits::{HEADER_BYTES_MAX, HEADERS_MAX, TARGET_BYTES_MAX};
use fhir::outcome::{Hcert, Issue};

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

/// Checks the bounds of the head. Over HTTP/1.1 hyper has done so.
///
/// # Errors
/// 414, 431.
pub fn check_size(parts: &Parts) -> Result<(), Issue> {
    let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    if target > TARGET_BYTES_MAX {
        return Err(target_too_long());
    }
    // A colon, a blank and the end of the line.
    if parts.headers.len() > HEADERS_MAX {
        return Err(headers_too_long());
    }
    let bytes = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    if target + bytes.sum::<usize>() > HEADER_BYTES_MAX { Err(headers_too_long()) } else { Ok(()) }
}

/// 414
pub fn target_too_long() -> Issue {
    Issue::new(Hcert::TargetTooLong).with("max", TARGET_BYTES_MAX.to_string())
}

/// 431
pub fn headers_too_long() -> Issue {
    let issue = Issue::new(Hcert::HeadersTooLong).with("count", HEADERS_MAX.to_string());
    issue.with("max", HEADER_BYTES_MAX.to_string())
}

/// `Content-Length`, if there is one.
pub fn length(headers: &HeaderMap) -> Result<Option<u64>, Issue> {
    let Some(value) = headers.get(CONTENT_LENGTH) else { return Ok(None) };
    let number = value.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    match number.and_then(|text| text.parse().ok()) {
        Some(number) => Ok(Some(number)),
        None => Err(header::wrong(&CONTENT_LENGTH, &String::from_utf8_lossy(value.as_bytes()))),
    }
}

/// 413
pub fn too_long(bytes_max: usize) -> Issue {
    Issue::new(Hcert::BodyTooLong).with("max", bytes_max.to_string())
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    #[test]
    fn a_head_may_have_its_bounds_and_no_more() {
        let told = |target: usize, header: usize| {
            let request = Request::get(format!("/{}", "a".repeat(target - 1))).header("x", "b".repeat(header));
            check_size(&request.body(()).unwrap().into_parts().0).map_err(|issue| issue.code())
        };
        assert_eq!(told(TARGET_BYTES_MAX, 1), Ok(()));
        assert_eq!(told(TARGET_BYTES_MAX + 1, 1), Err(Hcert::TargetTooLong));
        assert_eq!(told(10, HEADER_BYTES_MAX - 15), Ok(()));
        assert_eq!(told(10, HEADER_BYTES_MAX - 14), Err(Hcert::HeadersTooLong));
        let many = |count: usize| {
            let request = (0..count).fold(Request::get("/"), |request, _| request.header("x", ""));
            check_size(&request.body(()).unwrap().into_parts().0).map_err(|issue| issue.code())
        };
        assert_eq!((many(HEADERS_MAX), many(HEADERS_MAX + 1)), (Ok(()), Err(Hcert::HeadersTooLong)));
    }

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

//! Header values as text.

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

use fhir::outcome::{Hcert, Issue};

/// The condition of a create. FHIR R5 `http.html#ccreate`.
pub(super) const IF_NONE_EXIST: HeaderName = HeaderName::from_static("if-none-exist");

/// All values of a header in one list, as RFC 9110 (5.3) reads several headers of one name.
///
/// # Errors
/// The value is not UTF-8.
pub(super) fn joined(headers: &HeaderMap, name: &HeaderName) -> Result<String, Issue> {
    let mut text = String::new();
    for value in headers.get_all(name) {
        let value = std::str::from_utf8(value.as_bytes())
            .map_err(|_| wrong(name, &String::from_utf8_lossy(value.as_bytes())))?;
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(value);
    }
    Ok(text)
}

/// 400: the header is not understood.
pub(super) fn wrong(name: &HeaderName, value: &str) -> Issue {
    let issue = Issue::new(Hcert::HeaderWrong).with("header", name.as_str().to_owned());
    issue.with("value", value.to_owned()).at(format!("http.{name}"))
}

/// A value that is known to be made of visible characters.
pub(super) fn value(text: impl AsRef<[u8]>) -> HeaderValue {
    HeaderValue::from_bytes(text.as_ref()).expect("addresses, tags, dates and ids are built of visible ASCII")
}

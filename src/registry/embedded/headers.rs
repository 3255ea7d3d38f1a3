//! What the registry asks of the headers of a request. Contract 1.4.

use super::Refusals;
use crate::registry::{HeaderText, PersonalCode, XRoadHeaders};
use fhir::outcome::IssueChain;

/// Headers the settings may demand, and the code that reports a missing one.
pub const DEMANDABLE: [(&str, &str); 4] =
    [("x-road-issue", "MPI-032"), ("x-road-userid", "MPI-060"), ("x-road-id", "MPI-061"), ("x-author-id", "MPI-028")];

/// Checks the headers; `demanded` are names out of [`DEMANDABLE`].
///
/// # Errors
/// The first thing that is wrong. Two headers that contradict each other are refused even where neither is demanded.
pub(super) fn check(headers: &XRoadHeaders, demanded: &[String], refusals: &Refusals) -> Result<(), IssueChain> {
    for (name, code) in DEMANDABLE {
        let value = match name {
            "x-road-issue" => &headers.issue,
            "x-road-userid" => &headers.userid,
            "x-road-id" => &headers.id,
            _ => &headers.author_id,
        };
        let is_missing = said(value).is_none();
        if is_missing && demanded.iter().any(|demanded| demanded == name) {
            return Err(refusals.one(code, &[("param", name)]));
        }
    }
    let userid = said(&headers.userid);
    if let Some(code) = userid.as_deref().and_then(|userid| userid.strip_prefix("EE")) {
        check_author(code, refusals)?;
    }
    let author = said(&headers.author_id);
    if let Some(author) = &author {
        check_author(author.strip_prefix("EE").unwrap_or(author), refusals)?;
    }
    match (&userid, &author) {
        (Some(userid), Some(author)) if own_code(userid) != own_code(author) => Err(refusals.one("MPI-062", &[])),
        _ => Ok(()),
    }
}

/// What a header says, unless it is blank.
fn said(header: &Option<HeaderText>) -> Option<String> {
    header.as_ref().map(|header| header.text().trim().to_owned()).filter(|text| !text.is_empty())
}

/// A code that stands for nobody: the anonymous author of machine requests.
fn is_impersonal(code: &str) -> bool {
    code.len() == 11 && code.bytes().all(|byte| byte == b'0')
}

fn check_author(code: &str, refusals: &Refusals) -> Result<(), IssueChain> {
    if is_impersonal(code) {
        return Err(refusals.one("MPI-063", &[("impersonal_code", code)]));
    }
    PersonalCode::parse(code).map(drop).map_err(|_| refusals.one("MPI-066", &[("personalCode", code)]))
}

/// The personal code behind the letters of its country.
fn own_code(text: &str) -> &str {
    text.strip_prefix("EE").unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(headers: &XRoadHeaders, demanded: &[&str]) -> Option<String> {
        let demanded: Vec<String> = demanded.iter().map(|name| (*name).to_owned()).collect();
        check(headers, &demanded, &Refusals::default()).err().map(|chain| chain.issues[0].code().to_owned())
    }

    #[test]
    fn demanded_headers_must_be_there_and_say_something() {
        let none = XRoadHeaders::default();
        assert_eq!(told(&none, &[]), None);
        for (name, code) in DEMANDABLE {
            assert_eq!(told(&none, &[name]).as_deref(), Some(code));
        }
        let blank = XRoadHeaders { issue: Some(HeaderText::new(" ")), ..XRoadHeaders::default() };
        assert_eq!(told(&blank, &["x-road-issue"]).as_deref(), Some("MPI-032"));
    }

    #[test]
    fn an_author_is_a_person_and_the_same_in_both_headers() {
        let headers = |userid: &str, author: &str| {
            let some = |text: &str| (!text.is_empty()).then(|| HeaderText::new(text));
            XRoadHeaders { userid: some(userid), author_id: some(author), ..XRoadHeaders::default() }
        };
        for (userid, author, code) in [
            ("EE37605030299", "37605030299", None),
            ("EE37605030299", "EE37605030299", None),
            ("EE37605030299", "49403136515", Some("MPI-062")),
            ("EE37605030298", "", Some("MPI-066")),
            ("EE00000000000", "", Some("MPI-063")),
            ("", "00000000000", Some("MPI-063")),
            ("", "x", Some("MPI-066")),
            // The code of another country is not ours to judge.
            ("FI010203-123A", "", None),
        ] {
            assert_eq!(told(&headers(userid, author), &[]).as_deref(), code, "{userid} {author}");
        }
    }
}

//! What the developer's token service is asked for. Contract 7.1.

use std::fmt;

use serde_json::{Value, json};

use crate::access::limits::TOKEN_ORDER_CHARACTERS_MAX;
use base::characters::is_control_or_bidi;
use certificate::PersonalCode;
use fhir::json::{self, Json};
use fhir::outcome::Hcert;

/// Whom a token shall name.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct TokenRequest {
    /// Personal code.
    pub person: String,
    pub role: String,
    pub organization: Option<String>,
    pub patient: Option<String>,
    pub represented_party: Option<String>,
    pub application: Option<String>,
    pub given_name: Option<String>,
    pub family_name: Option<String>,
}

/// Names nobody: logs and panics may show it.
impl fmt::Debug for TokenRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_struct("TokenRequest").field("role", &self.role).finish_non_exhaustive()
    }
}

/// What is wrong with a token request, for the person who wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidTokenRequest(pub String);

/// Roles of patients themselves: without a patient the token is about the user.
const SELF: &[&str] = &["patient", "patient-limited"];

/// Roles that act for a patient, who has to be named.
const FOR_A_PATIENT: &[&str] = &["legal-representative", "consent-representative", "consent-representative-limited"];

/// Roles that act for an organization, which has to be named.
const FOR_A_PARTY: &[&str] = &["org-legal-representative"];

impl TokenRequest {
    /// Reads a body of the token service. Members it does not know are passed over, and so are comments from `//` to the end of a
    /// line, which the published examples have.
    ///
    /// # Errors
    /// The first member that is wrong, by name, with what is expected.
    pub fn read(body: &[u8]) -> Result<TokenRequest, InvalidTokenRequest> {
        let text = std::str::from_utf8(body).map_err(|_| InvalidTokenRequest("the body is not UTF-8".to_owned()))?;
        let text = without_comments(text);
        let no_object = || {
            InvalidTokenRequest(
                "the body must be a JSON object, such as {\"user\": {\"personalCode\": …}, …}".to_owned(),
            )
        };
        let read = json::parse_with_problems(text.as_bytes()).map_err(|_| no_object())?;
        if !read.problems.into_issues().iter().all(|issue| issue.code() == Hcert::JsonEmptyValue) {
            return Err(InvalidTokenRequest("the body has a duplicate key".to_owned()));
        }
        let body = read.value;
        body.as_object().ok_or_else(no_object)?;
        let user = member(&body, "user").ok_or_else(|| needed("user", "an object with personalCode"))?;
        let request = TokenRequest {
            person: person(user, "user")?.ok_or_else(|| needed("user.personalCode", CODE))?,
            role: word(&body, "role")?.ok_or_else(|| needed("role", "a role such as doctor"))?,
            organization: word(&body, "organization")?,
            patient: member(&body, "patient").map(|patient| person(patient, "patient")).transpose()?.flatten(),
            represented_party: word(&body, "representedParty")?,
            application: word(&body, "application")?,
            given_name: word(user, "givenName")?,
            family_name: word(user, "familyName")?,
        };
        request.checked()
    }

    /// Completes a request by its role.
    ///
    /// # Errors
    /// The personal codes are none; the role needs a patient or an organization that is not named.
    pub fn checked(mut self) -> Result<TokenRequest, InvalidTokenRequest> {
        let is_wrong = |code: &String| PersonalCode::parse(code).is_err();
        for (name, code) in [("user.personalCode", Some(&self.person)), ("patient.personalCode", self.patient.as_ref())]
        {
            if code.is_some_and(is_wrong) {
                return Err(needed(name, CODE));
            }
        }
        for (name, word) in [
            ("role", Some(&self.role)),
            ("organization", self.organization.as_ref()),
            ("representedParty", self.represented_party.as_ref()),
            ("application", self.application.as_ref()),
        ] {
            if word.is_some_and(|word| !is_word(word)) {
                return Err(needed(name, WORD));
            }
        }
        let is_of = |roles: &[&str]| roles.contains(&self.role.as_str());
        if is_of(SELF) && self.patient.is_none() {
            self.patient = Some(self.person.clone());
        } else if is_of(FOR_A_PATIENT) && self.patient.is_none() {
            return Err(needed("patient.personalCode", "the personal code of whom this role acts for"));
        } else if is_of(FOR_A_PARTY) && self.represented_party.is_none() {
            return Err(needed("representedParty", "the registry code of whom this role acts for"));
        }
        Ok(self)
    }

    /// The claims of a token, by the default names. `issued` and `expires` are seconds since 1970 UTC.
    pub fn claims(&self, issuer: &str, audience: &str, issued: i64, expires: i64) -> Value {
        let mut claims = json!({
            "iss": issuer, "aud": audience, "iat": issued, "nbf": issued, "exp": expires,
            "jti": uuid::Uuid::new_v4().to_string(), "sub": format!("EE{}", self.person), "role": self.role,
        });
        let optional = [
            ("organization", &self.organization),
            ("patient", &self.patient),
            ("representedParty", &self.represented_party),
            ("application", &self.application),
            ("given_name", &self.given_name),
            ("family_name", &self.family_name),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                claims[name] = Value::from(value.as_str());
            }
        }
        claims
    }
}

const CODE: &str = "a personal code of eleven digits with the right check digit";
const WORD: &str = "a text or a number of 1 to 64 visible characters";

fn needed(name: &str, expected: &str) -> InvalidTokenRequest {
    InvalidTokenRequest(format!("{name} must be {expected}"))
}

/// A member that is there; null is as good as none.
fn member<'j, 'a>(object: &'j Json<'a>, name: &str) -> Option<&'j Json<'a>> {
    object.get(name).filter(|value| **value != Json::Null)
}

fn person(object: &Json, name: &str) -> Result<Option<String>, InvalidTokenRequest> {
    if object.as_object().is_none() {
        return Err(needed(name, "an object with personalCode"));
    }
    match member(object, "personalCode") {
        None => Err(needed(&format!("{name}.personalCode"), CODE)),
        Some(Json::String(digits) | Json::Number(digits)) => {
            Ok(Some(digits.strip_prefix("EE").unwrap_or(digits).to_owned()))
        }
        Some(_) => Err(needed(&format!("{name}.personalCode"), CODE)),
    }
}

fn word(object: &Json, name: &str) -> Result<Option<String>, InvalidTokenRequest> {
    match member(object, name) {
        None => Ok(None),
        Some(Json::String(word) | Json::Number(word)) if is_word(word) => Ok(Some(word.clone().into_owned())),
        Some(_) => Err(needed(name, WORD)),
    }
}

fn is_word(word: &str) -> bool {
    let characters = word.chars().count();
    (1..=TOKEN_ORDER_CHARACTERS_MAX).contains(&characters)
        && !word.trim().is_empty()
        && !word.contains(is_control_or_bidi)
}

/// Puts blanks in the place of comments; `//` inside a string is none.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let mut in_string = false;
    while let Some(character) = characters.next() {
        match character {
            '"' => in_string = !in_string,
            '\\' if in_string => {
                plain.push(character);
                plain.extend(characters.next());
                continue;
            }
            '/' if !in_string && characters.peek() == Some(&'/') => {
                while characters.next_if(|character| !matches!(character, '\n' | '\r')).is_some() {}
                continue;
            }
            _ => {}
        }
        plain.push(character);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<TokenRequest, String> {
        TokenRequest::read(body.as_bytes()).map_err(|wrong| wrong.0)
    }

    fn of_role(role: &str, more: &str) -> Result<TokenRequest, String> {
        read(&format!(r#"{{"user": {{"personalCode": "37605030299"}}, "role": "{role}"{more}}}"#))
    }

    #[test]
    fn comments_and_unknown_members_are_passed_over() {
        let body = "// a token\r\n{\"user\": {\"personalCode\": \"37605030299\", \"more\": [] }, // who\r\n\
            \"organization\": 90006399, \"application\": \"a//b \\\" // c\", // where\n\
            \"role\": \"doctor\", \"other\": {\"x\": null} } // end";
        let request = read(body).unwrap();
        assert_eq!((request.person.as_str(), request.role.as_str()), ("37605030299", "doctor"));
        assert_eq!(request.organization.as_deref(), Some("90006399"));
        assert_eq!(request.application.as_deref(), Some("a//b \" // c"));
    }

    #[test]
    fn whom_a_role_acts_for_has_to_be_named() {
        for role in SELF {
            assert_eq!(of_role(role, "").unwrap().patient.as_deref(), Some("37605030299"), "{role}");
            let other = of_role(role, r#", "patient": {"personalCode": "39406240015"}"#).unwrap();
            assert_eq!(other.patient.as_deref(), Some("39406240015"));
        }
        for role in FOR_A_PATIENT {
            assert!(of_role(role, "").unwrap_err().starts_with("patient.personalCode must be"), "{role}");
            assert!(of_role(role, r#", "patient": {"personalCode": 39406240015}"#).is_ok());
        }
        for role in FOR_A_PARTY {
            assert!(of_role(role, "").unwrap_err().starts_with("representedParty must be"), "{role}");
            assert!(of_role(role, r#", "representedParty": "16978044""#).is_ok());
        }
        assert_eq!(of_role("doctor", "").unwrap().patient, None);
        assert!(of_role("a-role-nobody-knows", "").is_ok(), "rights are judged later");
    }

    #[test]
    fn a_wrong_member_is_named_with_what_is_expected() {
        let long = format!(", \"application\": \"{}\"", "a".repeat(TOKEN_ORDER_CHARACTERS_MAX + 1));
        for (body, told) in [
            ("", "the body must be a JSON object"),
            ("[]", "the body must be a JSON object"),
            ("{", "the body must be a JSON object"),
            ("{}", "user must be"),
            (r#"{"user": 1}"#, "user must be"),
            (r#"{"user": {}, "role": "doctor"}"#, "user.personalCode must be"),
            (r#"{"user": {"personalCode": "37605030298"}, "role": "doctor"}"#, "user.personalCode must be"),
            (r#"{"user": {"personalCode": true}, "role": "doctor"}"#, "user.personalCode must be"),
            (r#"{"user": {"personalCode": "37605030299"}}"#, "role must be"),
            (r#"{"user": {"personalCode": "37605030299"}, "role": " "}"#, "role must be"),
            (r#"{"user": {"personalCode": "37605030299"}, "role": "a", "role": "b"}"#, "the body has a duplicate key"),
        ] {
            assert!(read(body).unwrap_err().starts_with(told), "{body}: {:?}", read(body).err());
        }
        for (more, told) in [
            (r#", "organization": []"#, "organization must be"),
            (r#", "organization": """#, "organization must be"),
            (r#", "representedParty": {"a": 1}"#, "representedParty must be"),
            (r#", "patient": "39406240015""#, "patient must be"),
            (r#", "patient": {"personalCode": "1"}"#, "patient.personalCode must be"),
            (&long, "application must be"),
        ] {
            assert!(of_role("doctor", more).unwrap_err().starts_with(told), "{more}");
        }
        assert!(TokenRequest::read(b"\xff").unwrap_err().0.contains("UTF-8"));
    }
}

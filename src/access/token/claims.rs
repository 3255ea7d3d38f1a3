//! The claims of a verified token: whether it counts now and here, and who it names.
//!
//! Source: RFC 7519 (4.1); Contract 7.2.

use super::compact::object;
use super::refused::RefusedToken;
use crate::access::Identity;
use crate::config::AccessToken;
use base::characters::is_control_or_bidi;
use certificate::{PersonalCode, personal_code};
use fhir::json::Json;

/// Values of one claim that are looked at: roles, audiences. A token has one to three.
pub const TOKEN_VALUES_MAX: usize = 32;

/// What a token must say to count.
#[derive(Debug)]
pub struct ExpectedClaims<'s> {
    /// `None`: whoever has the key is the issuer.
    pub issuer: Option<&'s str>,
    pub audience: &'s str,
    /// Names of claims, leeway and longest life.
    pub settings: &'s AccessToken,
    /// Seconds since 1970 UTC.
    pub now: i64,
}

/// Largest time that is one: the end of the year 9999.
const TIME_MAX: f64 = 253_402_300_799.0;

/// Claims that only an ID token has: hashes of what was given out with it, and the number that its client chose. OpenID Connect Core 1.0,
/// 2 and 3.3.2.11.
const OF_ID_TOKENS: [&str; 4] = ["nonce", "at_hash", "c_hash", "s_hash"];

/// What Keycloak names in the claim `typ` beside `Bearer`.
const OTHER_KINDS: [&str; 4] = ["ID", "Refresh", "Offline", "Logout"];

/// Reads the claims. `session` is the short name of the token, `is_denied` whether it may not enter by one
/// of its names.
///
/// # Errors
/// The first rule that is broken.
pub fn read(
    claims: &[u8],
    expected: &ExpectedClaims,
    session: String,
    is_denied: &dyn Fn(&str) -> bool,
) -> Result<Identity, RefusedToken> {
    let claims = object(claims)?;
    // It tells a client who signed in, is made for that client, and lies about in browsers.
    let is_other = |kind: &str| OTHER_KINDS.iter().any(|other| other.eq_ignore_ascii_case(kind));
    // What is no text is no kind that is known.
    if claims.get("typ").is_some_and(|kind| kind.as_str().is_none_or(is_other))
        || OF_ID_TOKENS.iter().any(|name| claims.get(name).is_some())
    {
        return Err(RefusedToken::IdToken);
    }
    let expires = times(&claims, expected)?;
    match expected.issuer {
        Some(issuer) if required(&claims, "iss")? != issuer => return Err(RefusedToken::Issuer),
        _ => {}
    }
    if !list(&claims, "aud")?.ok_or_else(|| missing("aud"))?.contains(&expected.audience) {
        return Err(RefusedToken::Audience);
    }
    let names = expected.settings;
    let person = code(&claims, &names.claim_person)?.ok_or_else(|| missing(&names.claim_person))?;
    // A name that is no text is none that a list of denied ones can hold.
    let own = ["jti", "sub"].map(|name| text(&claims, name));
    for name in own {
        if name?.as_deref().is_some_and(is_denied) {
            return Err(RefusedToken::Denied);
        }
    }
    if is_denied(&person) || is_denied(&session) {
        return Err(RefusedToken::Denied);
    }
    let roles = list(&claims, &names.claim_role)?.unwrap_or_default();
    Ok(Identity {
        person,
        given_name: text(&claims, &names.claim_given_name)?,
        family_name: text(&claims, &names.claim_family_name)?,
        roles: roles.into_iter().map(str::to_owned).collect(),
        organization: text(&claims, &names.claim_organization)?,
        patient: patient(&claims, &names.claim_patient)?,
        represented_party: text(&claims, &names.claim_represented_party)?,
        application: text(&claims, &names.claim_application)?,
        session,
        expires,
    })
}

/// Checks `exp`, `nbf` and `iat`, and tells `exp`.
fn times(claims: &Json, expected: &ExpectedClaims) -> Result<i64, RefusedToken> {
    let (now, leeway) = (expected.now, i64::from(expected.settings.leeway_s));
    let life_max = i64::from(expected.settings.max_lifetime_s);
    let expires = time(claims, "exp")?.ok_or_else(|| missing("exp"))?;
    let issued = time(claims, "iat")?;
    if has_expired(expires, now, leeway) {
        return Err(RefusedToken::Expired);
    }
    if [time(claims, "nbf")?, issued].into_iter().flatten().any(|from| from > now + leeway) {
        return Err(RefusedToken::NotYetValid);
    }
    if expires - now > life_max + leeway || issued.is_some_and(|issued| expires - issued > life_max) {
        return Err(RefusedToken::LivesTooLong);
    }
    Ok(expires)
}

/// Whether a token that ends at `expires` is over.
pub fn has_expired(expires: i64, now: i64, leeway: i64) -> bool {
    now >= expires + leeway
}

/// A claim by its name, or by the way to it; a claim whose own name has dots counts first.
fn claim<'c, 'a>(claims: &'c Json<'a>, name: &str) -> Option<&'c Json<'a>> {
    let found = claims.get(name).or_else(|| name.split('.').try_fold(claims, |below, name| below.get(name)));
    found.filter(|value| **value != Json::Null)
}

/// Whole seconds; parts of one are cut off.
fn time(claims: &Json, name: &str) -> Result<Option<i64>, RefusedToken> {
    let Some(value) = claim(claims, name) else { return Ok(None) };
    let Json::Number(digits) = value else { return Err(wrong(name)) };
    let seconds: f64 = digits.parse().map_err(|_| wrong(name))?;
    match (0.0..=TIME_MAX).contains(&seconds) {
        true => Ok(Some(seconds as i64)),
        false => Err(wrong(name)),
    }
}

/// A text. An institution's code may be a number too; an empty text says nothing. What it says is shown to people, and control
/// characters and bidirectional formatting would forge what they see.
fn text(claims: &Json, name: &str) -> Result<Option<String>, RefusedToken> {
    match claim(claims, name) {
        None => Ok(None),
        Some(Json::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Json::String(text)) if text.contains(is_control_or_bidi) => Err(wrong(name)),
        Some(Json::String(text)) => Ok(Some(text.clone().into_owned())),
        Some(Json::Number(digits)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Ok(Some(digits.to_string())),
        Some(_) => Err(wrong(name)),
    }
}

fn required<'c>(claims: &'c Json, name: &str) -> Result<&'c str, RefusedToken> {
    claim(claims, name).ok_or_else(|| missing(name))?.as_str().ok_or_else(|| wrong(name))
}

/// A text, or a list of them.
fn list<'c>(claims: &'c Json, name: &str) -> Result<Option<Vec<&'c str>>, RefusedToken> {
    let Some(value) = claim(claims, name) else { return Ok(None) };
    let texts = match value {
        Json::String(text) => Some(vec![text.as_ref()]),
        Json::Array(items) if items.len() <= TOKEN_VALUES_MAX => items.iter().map(Json::as_str).collect(),
        _ => None,
    };
    let texts = texts.filter(|texts| !texts.iter().any(|text| text.contains(is_control_or_bidi)));
    let texts = texts.ok_or_else(|| wrong(name))?;
    Ok(Some(texts.into_iter().filter(|text| !text.is_empty()).collect()))
}

fn code(claims: &Json, name: &str) -> Result<Option<String>, RefusedToken> {
    let Some(text) = text(claims, name)? else { return Ok(None) };
    personal_code::digits(&text).map(|code| Some(code.to_owned())).ok_or_else(|| wrong(name))
}

/// The personal code of a patient is looked for in the registry, so one that cannot be is told as what it is: a wrong token.
fn patient(claims: &Json, name: &str) -> Result<Option<String>, RefusedToken> {
    let code = code(claims, name)?;
    match code.as_deref().map(PersonalCode::parse) {
        Some(Err(_)) => Err(wrong(name)),
        _ => Ok(code),
    }
}

fn missing(name: &str) -> RefusedToken {
    RefusedToken::ClaimMissing(name.to_owned())
}

fn wrong(name: &str) -> RefusedToken {
    RefusedToken::ClaimWrong(name.to_owned())
}

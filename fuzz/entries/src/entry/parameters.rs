//! Any bytes as the body of an operation, read by each of them, and as an order for a token.

use super::{is_one_in, told};
use certificate::PersonalCode;
use fhir::json::{self, Json};
use fhir::outcome::Outcome;
use fhir::outcome::limits::BODY_ISSUES_MAX;
use hcert::access::limits::TOKEN_ORDER_CHARACTERS_MAX;
use hcert::access::token::token_request::TokenRequest;
use hcert::interaction::RequestContext;
use hcert::interaction::consent::body::{self as consent, DOCTOR, REPRESENTATIVE};
use hcert::interaction::limits::REASON_CHARACTERS_MAX;
use hcert::interaction::operation::reason::reason;
use hcert::interaction::operation_parameters::{OperationParameters, ParameterDefinition, ParameterKind, once};
use hcert::interaction::validate::request::read as validated;

/// A parameter of every kind, by the names that operations on code lists have for them.
const KNOWN: [ParameterDefinition; 7] = [
    once("url", ParameterKind::Text),
    once("code", ParameterKind::Text),
    once("activeOnly", ParameterKind::Flag),
    once("count", ParameterKind::Number),
    once("coding", ParameterKind::Coding),
    once("codeableConcept", ParameterKind::Concept),
    ParameterDefinition { name: "property", kind: ParameterKind::Text, repeats: true },
];

/// Judges one body.
pub fn judge(bytes: &[u8]) {
    let context = RequestContext::default();
    reasons(bytes);
    consents(bytes, &context);
    known(bytes, &context);
    match validated(&context, bytes) {
        Ok(Ok(asked)) => assert!(asked.resource.is_some() || asked.profile.is_none_or(|profile| !profile.is_empty())),
        Ok(Err(refusal)) | Err(refusal) => refused(&refusal),
    }
    order(bytes);
    if is_one_in(8, bytes) {
        let shown = |read: Result<String, Outcome>| format!("{read:?}");
        assert_eq!(shown(reason(bytes)), shown(reason(bytes)), "read twice, it is the same");
    }
}

fn refused(refusal: &Outcome) {
    // A hundred, and how many were left out.
    told(refusal.issues(), BODY_ISSUES_MAX + 1);
    assert!((400..500).contains(&refusal.status()), "it is the caller's mistake: {:?}", refusal.issues());
}

fn reasons(bytes: &[u8]) {
    match reason(bytes) {
        Ok(given) => {
            assert!(
                !given.trim().is_empty() && given.chars().count() <= REASON_CHARACTERS_MAX,
                "{given:?} is a reason"
            );
            let again = reason(&parameters(&[("reason", &given)])).expect("what was taken is taken again");
            assert_eq!(again, given, "a reason stays as it is");
        }
        Err(refusal) => refused(&refusal),
    }
}

fn consents(bytes: &[u8], context: &RequestContext) {
    match consent::read(context, bytes) {
        Ok(given) => {
            let parts = [(DOCTOR, given.doctor), (REPRESENTATIVE, given.representative)];
            let parts: Vec<_> =
                parts.iter().filter_map(|(name, access)| Some((*name, access.as_ref()?.code()))).collect();
            assert!(!parts.is_empty(), "a consent says something");
            assert_eq!(consent::read(context, &parameters(&parts)).expect("what was taken is taken again"), given);
        }
        Err(refusal) => refused(&refusal),
    }
}

fn known(bytes: &[u8], context: &RequestContext) {
    match OperationParameters::read(context, bytes, &KNOWN) {
        Ok(asked) => {
            assert!(asked.text("activeOnly").is_none_or(|flag| matches!(flag, "true" | "false")));
            assert_eq!(asked.number("count").is_some(), asked.text("count").is_some(), "a number is one");
            assert!(asked.codings("coding").len() <= 1 && asked.texts("url").count() <= 1, "what may stand once does");
            assert!(
                asked.texts("property").chain(asked.texts("code")).all(|text| !text.is_empty()),
                "a text says something"
            );
        }
        Err(refusal) => refused(&refusal),
    }
}

/// A Parameters resource of texts.
fn parameters(parts: &[(&str, &str)]) -> Vec<u8> {
    let part = |(name, value): &(&str, &str)| {
        Json::object([("name", Json::string((*name).to_owned())), ("valueString", Json::string((*value).to_owned()))])
    };
    let parts = parts.iter().map(part).collect();
    Json::object([("resourceType", Json::string("Parameters")), ("parameter", Json::Array(parts))]).to_vec()
}

fn order(bytes: &[u8]) {
    let order = match TokenRequest::read(bytes) {
        Ok(order) => order,
        Err(wrong) => return assert!(wrong.0.len() < 300, "the answer stays short: {}", wrong.0),
    };
    let mut codes = std::iter::once(&order.person).chain(&order.patient);
    assert!(codes.all(|code| PersonalCode::parse(code).is_ok()), "whom a token names could be somebody");
    let words = std::iter::once(&order.role).chain(&order.organization).chain(&order.represented_party);
    let is_word = |word: &String| (1..=TOKEN_ORDER_CHARACTERS_MAX).contains(&word.chars().count());
    assert!(words.chain(&order.application).all(is_word), "words are short");
    assert!(order.clone().checked().as_ref() == Ok(&order), "an order that is complete stays as it is");
    let with_comment = [bytes, b"\n// the end"].concat();
    assert!(TokenRequest::read(&with_comment).as_ref() == Ok(&order), "a comment changes nothing");
    let claims = order.claims("https://hcert.example.ee", "hcert", 0, 300);
    json::parse_with_problems(claims.to_string().as_bytes()).expect("claims are JSON");
}

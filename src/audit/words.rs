//! Events of the audit trail in words for the person they are about: who looked, when and why.

use serde_json::Value;

use base::characters::is_control_or_bidi;
use fhir::outcome::Language;

/// The text in a language.
fn either<'t>(language: Language, estonian: &'t str, english: &'t str) -> &'t str {
    match language {
        Language::Estonian => estonian,
        Language::English => english,
    }
}

/// One event in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventWords {
    /// Day and time, to the second.
    pub at: String,
    /// Name, role and institution.
    pub actor: String,
    /// What was done, with the numbers of certificates.
    pub deed: String,
    /// What the caller says of why.
    pub reason: String,
    pub is_refused: bool,
}

/// Roles as a patient knows them: the code, Estonian, English.
const ROLES: &[(&str, &str, &str)] = &[
    ("doctor", "arst", "doctor"),
    ("midwife", "ämmaemand", "midwife"),
    ("nurse", "õde", "nurse"),
    ("clinical-psychologist", "kliiniline psühholoog", "clinical psychologist"),
    ("speech-therapist", "logopeed", "speech therapist"),
    ("physiotherapist", "füsioterapeut", "physiotherapist"),
    ("student", "üliõpilane", "student"),
    ("specialist", "spetsialist", "specialist"),
    ("receptionist", "registraator", "receptionist"),
    ("patient", "patsient ise", "the patient"),
    ("patient-limited", "patsient ise", "the patient"),
    ("legal-representative", "seaduslik esindaja", "legal representative"),
    ("consent-representative", "volitatud esindaja", "authorised representative"),
    ("consent-representative-limited", "volitatud esindaja", "authorised representative"),
    ("gov-official", "ametnik", "official"),
    ("org-legal-representative", "tööandja esindaja", "representative of an employer"),
];

/// What was done: the action, Estonian, English. Certificates follow.
const DEEDS: &[(&str, &str, &str)] = &[
    ("composition.read", "vaatas tervisetõendit", "looked at a health certificate"),
    ("composition.vread", "vaatas tervisetõendi versiooni", "looked at a version of a health certificate"),
    ("composition.history", "vaatas tervisetõendi ajalugu", "looked at the history of a health certificate"),
    ("composition.history-type", "vaatas tervisetõendite muudatusi", "looked at changes of health certificates"),
    ("composition.search", "otsis tervisetõendeid", "searched for health certificates"),
    ("composition.create", "koostas tervisetõendi", "made a health certificate"),
    ("composition.update", "muutis tervisetõendit", "changed a health certificate"),
    ("composition.delete", "kustutas tervisetõendi", "deleted a health certificate"),
    ("composition.suspend", "peatas tervisetõendi kehtivuse", "suspended a health certificate"),
    ("composition.cancel", "tühistas tervisetõendi", "cancelled a health certificate"),
    (
        "composition.validate",
        "kontrollis tervisetõendi vastavust nõuetele",
        "had the form of a health certificate checked",
    ),
    ("consent.get", "vaatas, kelle eest tervisetõend on suletud", "looked to whom a health certificate is closed"),
    ("consent.set", "muutis, kelle eest tervisetõend on suletud", "changed to whom a health certificate is closed"),
    (
        "token.refused",
        "pöördus teenuse poole kehtetu juurdepääsutõendiga",
        "came with an access token that is not valid",
    ),
    ("patient.read", "vaatas isikuandmeid", "looked at personal data"),
    ("patient.vread", "vaatas isikuandmete versiooni", "looked at a version of personal data"),
    ("patient.history", "vaatas isikuandmete ajalugu", "looked at the history of personal data"),
    ("patient.search", "otsis isikut", "searched for a person"),
    ("definition.read", "vaatas loendit või profiili", "looked at a code list or a profile"),
    ("patients.import", "sisestas isikuandmeid", "entered personal data"),
    ("audit.read", "vaatas, kes on andmeid vaadanud", "looked at who had looked"),
    ("audit.search", "vaatas, kes on andmeid vaadanud", "looked at who had looked"),
    ("audit.export", "vaatas, kes on andmeid vaadanud", "looked at who had looked"),
];

/// What was done by a request for a change that changed nothing.
const DEEDS_WITHOUT_CHANGE: &[(&str, &str, &str)] = &[
    (
        "composition.delete",
        "palus kustutada tervisetõendi, mis oli juba kustutatud",
        "asked for a health certificate to be deleted that was deleted already",
    ),
    (
        "consent.set",
        "jättis muutmata, kelle eest tervisetõend on suletud",
        "left unchanged to whom a health certificate is closed",
    ),
];

/// One event, over several lines and with a blank one behind; `event` is an AuditEvent as JSON.
///
/// # Errors
/// It is none.
pub fn told(event: &[u8], language: Language) -> Result<String, String> {
    let event: Value = serde_json::from_slice(event).map_err(|error| format!("an event cannot be read: {error}"))?;
    let EventWords { at, actor, deed, reason, is_refused } = of(&event, language);
    let refused = match is_refused {
        true => either(language, " – sellest keelduti, andmeid ei näidatud", " – refused, nothing was shown"),
        false => "",
    };
    let why = either(language, "põhjus", "reason");
    Ok(format!("{at}  {actor}\n{INDENT}{deed}{refused}\n{INDENT}{why}: {reason}\n\n"))
}

/// An AuditEvent in words.
pub fn of(event: &Value, language: Language) -> EventWords {
    let mut event = event.clone();
    disarm(&mut event);
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let action = text("/code/coding/0/code");
    let is_refused = text("/outcome/code/code") == "error";
    let is_without_change = !is_refused && detail(&event, "change").is_none();
    let without_change = DEEDS_WITHOUT_CHANGE.iter().filter(|_| is_without_change);
    let deed =
        without_change.chain(DEEDS).find(|(code, ..)| *code == action).map(|(_, et, en)| either(language, et, en));
    let deed =
        deed.map_or_else(|| format!("{} ({action})", either(language, "hooldustoiming", "maintenance")), str::to_owned);
    let certificates = certificates(&event);
    let certificates = if certificates.is_empty() { String::new() } else { [": ", &certificates.join(", ")].concat() };
    let detail = |name: &str| detail(&event, name);
    let issue = detail("x-road-issue").map(|issue| format!("{} {issue}", either(language, "asi nr", "matter no.")));
    let application =
        detail("application").map(|name| format!("{} {name}", either(language, "rakendus", "application")));
    let client =
        detail("x-road-client").map(|name| format!("{} {name}", either(language, "X-tee kaudu:", "over X-Road:")));
    let why = issue.unwrap_or_else(|| either(language, "märkimata", "not said").to_owned());
    EventWords {
        at: text("/recorded").get(..19).unwrap_or_default().replace('T', " "),
        actor: actor(&event, language),
        deed: deed + &certificates,
        reason: [client, application].into_iter().flatten().fold(why, |words, part| words + "; " + &part),
        is_refused,
    }
}

/// Takes control characters and bidirectional formatting out of all texts: what callers said of themselves must not move the reader's
/// terminal, nor look like another line.
fn disarm(value: &mut Value) {
    match value {
        Value::String(text) if text.contains(is_control_or_bidi) => {
            *text = text.replace(is_control_or_bidi, "\u{fffd}");
        }
        Value::Array(values) => values.iter_mut().for_each(disarm),
        Value::Object(members) => members.values_mut().for_each(disarm),
        _ => {}
    }
}

/// As wide as a time and two blanks.
const INDENT: &str = "                     ";

/// Name, role and institution.
fn actor(event: &Value, language: Language) -> String {
    let agents = event["agent"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(person) = agents.first() else { return either(language, "teadmata", "unknown").to_owned() };
    let code = person.pointer("/who/identifier/value").and_then(Value::as_str);
    let name = person.pointer("/who/display").and_then(Value::as_str).filter(|name| *name != "nobody known");
    // What a caller's software calls itself is no name of a person; it is told as such.
    let name = name.filter(|name| detail(event, "application") != Some(name));
    let is_command = person.pointer("/authorization/0/text").and_then(Value::as_str) == Some("socket");
    let shown = match (is_command, name, code) {
        (true, _, code) => {
            format!("{} {}", either(language, "teenuse käitaja", "operator of the server"), code.unwrap_or("?"))
        }
        // The code first, which the token's issuer vouches for: a name may be any words.
        (false, name, Some(code)) => {
            let name = name.map(|name| format!(", {name}")).unwrap_or_default();
            format!("{} {code}{name}", either(language, "isikukood", "personal code"))
        }
        (false, Some(name), None) => name.to_owned(),
        (false, None, None) => either(language, "teadmata isik", "somebody unknown").to_owned(),
    };
    let roles = person["role"].as_array().map(Vec::as_slice).unwrap_or_default().iter();
    let roles = roles.filter_map(|role| role.pointer("/coding/0/code").and_then(Value::as_str)).map(|role| {
        let known = ROLES.iter().find(|(code, ..)| *code == role).map(|(_, et, en)| either(language, et, en));
        known.unwrap_or(role).to_owned()
    });
    let institutions = agents.iter().skip(1).filter_map(|agent| {
        let code = agent.pointer("/who/identifier/value").and_then(Value::as_str)?;
        let kind = match agent.pointer("/role/0/coding/0/code").and_then(Value::as_str) {
            Some("represented-party") => either(language, "esindab asutust", "for the institution"),
            _ => either(language, "asutus", "institution"),
        };
        Some(format!("{kind} {code}"))
    });
    let more: Vec<String> = roles.chain(institutions).collect();
    if more.is_empty() { shown } else { format!("{shown} ({})", more.join(", ")) }
}

/// The certificates of an event, by number.
fn certificates(event: &Value) -> Vec<String> {
    let entities = event["entity"].as_array().map(Vec::as_slice).unwrap_or_default().iter();
    let references = entities.filter_map(|entity| entity.pointer("/what/reference").and_then(Value::as_str));
    let ids = references.filter_map(|reference| reference.strip_prefix("Composition/"));
    ids.map(|id| id.split('/').next().unwrap_or(id).to_owned()).collect()
}

fn detail<'e>(event: &'e Value, name: &str) -> Option<&'e str> {
    let entities = event["entity"].as_array()?.iter();
    let mut details = entities.filter_map(|entity| entity["detail"].as_array()).flatten();
    let found = details.find(|detail| detail.pointer("/type/coding/0/code").and_then(Value::as_str) == Some(name))?;
    found["valueString"].as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event() -> Value {
        let coded = |code: &str| json!({"coding": [{"code": code}]});
        json!({
            "resourceType": "AuditEvent", "recorded": "2026-11-23T14:31:05.123+02:00",
            "code": coded("composition.read"), "outcome": {"code": {"code": "success"}},
            "agent": [
                {"who": {"identifier": {"value": "47101010033"}, "display": "Mari Maasikas"}, "role": [coded("doctor")]},
                {"who": {"identifier": {"value": "90006399"}}, "role": [coded("organization")]},
            ],
            "entity": [
                {"what": {"reference": "Composition/17/_history/2"}}, {"what": {"reference": "Patient/200"}},
                {"detail": [
                    {"type": coded("x-road-issue"), "valueString": "123/2026"},
                    {"type": coded("application"), "valueString": "clinic"},
                ]},
            ],
        })
    }

    fn words(event: &Value, language: Language) -> String {
        told(event.to_string().as_bytes(), language).unwrap()
    }

    #[test]
    fn an_event_says_who_when_what_and_why() {
        assert_eq!(
            words(&event(), Language::Estonian),
            "2026-11-23 14:31:05  isikukood 47101010033, Mari Maasikas (arst, asutus 90006399)\n                     vaatas tervisetõendit: 17\n                     \
             põhjus: asi nr 123/2026; rakendus clinic\n\n"
        );
        assert_eq!(
            words(&event(), Language::English),
            "2026-11-23 14:31:05  personal code 47101010033, Mari Maasikas (doctor, institution 90006399)\n                     looked at a health certificate: 17\n\
             \x20                    reason: matter no. 123/2026; application clinic\n\n"
        );
    }

    /// What was seen: a repeated delete was told as if a second person had deleted the certificate.
    #[test]
    fn a_request_that_changed_nothing_is_told_as_such() {
        let mut event = event();
        for (action, deed) in [
            ("composition.delete", "was deleted already: 17\n"),
            ("consent.set", "left unchanged to whom a health certificate is closed: 17\n"),
        ] {
            event["code"]["coding"][0]["code"] = json!(action);
            assert!(words(&event, Language::English).contains(deed), "{action}");
        }
        event["entity"][2]["detail"][0] = json!({"type": {"coding": [{"code": "change"}]}, "valueString": "7"});
        assert!(words(&event, Language::English).contains(" changed to whom a health certificate is closed: 17\n"));
        event["entity"][2]["detail"][0] = json!(null);
        event["outcome"]["code"]["code"] = json!("error");
        assert!(
            words(&event, Language::English).contains(" changed to whom a health certificate is closed: 17 – refused")
        );
    }

    #[test]
    fn what_a_caller_says_forges_no_line_and_moves_no_terminal() {
        let mut event = event();
        event["agent"][0]["who"]["display"] = json!("Mal\u{1b}[2J\u{7}\nFAKE LINE");
        let shown = words(&event, Language::English);
        assert_eq!(shown.lines().count(), words(&self::event(), Language::English).lines().count(), "{shown}");
        assert!(shown.contains("Mal\u{fffd}[2J") && !shown.contains('\u{1b}'), "{shown}");
        // What the software calls itself stands in nobody's place.
        event["agent"][0]["who"]["display"] = json!("clinic");
        assert!(words(&event, Language::English).contains("05  personal code 47101010033 (doctor"));
    }

    #[test]
    fn a_refusal_somebody_unknown_and_a_command_are_told_as_such() {
        let mut refused = event();
        refused["outcome"]["code"]["code"] = json!("error");
        refused["agent"] = json!([{"who": {"display": "nobody known"}}]);
        refused["entity"] = json!([]);
        refused["code"]["coding"][0]["code"] = json!("composition.search");
        let told = words(&refused, Language::English);
        assert!(told.contains("somebody unknown\n") && told.contains("refused, nothing was shown"), "{told}");
        assert!(told.contains("reason: not said\n"), "{told}");
        let mut command = event();
        command["agent"] = json!([{"who": {"identifier": {"value": "mari"}, "display": "hcert export"}, "authorization": [{"text": "socket"}]}]);
        command["code"]["coding"][0]["code"] = json!("bulk.export");
        let told = words(&command, Language::Estonian);
        assert!(told.contains("teenuse käitaja mari\n") && told.contains("hooldustoiming (bulk.export)"), "{told}");
        assert!(super::told(b"no JSON", Language::Estonian).is_err());
    }
}

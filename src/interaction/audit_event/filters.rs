//! The filters of a search for audit events, as HL7 defines the parameters. Our own words for actions, results and
//! callers are accepted too.
//!
//! Source: FHIR R5 `auditevent-search.html`; Decision 161.

use std::ops::RangeInclusive;

use crate::audit::{
    Agent, AuditAction, AuditedEntity, EventFilter, EventOrder, EventResult, RESTFUL, SEVERITY, action_system,
    identifier,
};
use certificate::search::issue;
use certificate::search::parameter::{Modifier, Named, Parameter, ParameterTarget, row};
use certificate::search::reference::{comparable, is_id};
use certificate::search::request::{Filters, LinkForm, ReadingLimits, SentParameter};
use certificate::search::value::{SearchToken, split, unescape};
use certificate::{Id, Version, personal_code};
use fhir::date_time;
use fhir::outcome::Issue;

/// What a parameter looks at in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventTarget {
    Entity,
    Patient,
    Agent,
    Action,
    Code,
    Outcome,
    Date,
}

impl ParameterTarget for EventTarget {
    fn kind(self) -> &'static str {
        match self {
            EventTarget::Entity | EventTarget::Patient | EventTarget::Agent => "reference",
            EventTarget::Action | EventTarget::Code | EventTarget::Outcome => "token",
            EventTarget::Date => "date",
        }
    }
}

/// Every search parameter of audit events.
#[rustfmt::skip]
pub(crate) const PARAMETERS: &[Parameter<EventTarget>] = &[
    row("entity", EventTarget::Entity, &[], Named::Entity, "AuditEvent-entity",
        "What was shown, changed or asked for: `Composition/1`, `Composition/1/_history/2`, `Patient/200`, `Organization/<registry_code>`"),
    row("patient", EventTarget::Patient, &[Modifier::Identifier], Named::Patient, "clinical-patient",
        "Whom the event concerns, also as the patient of a certificate: `Patient/200`, or a personal code; `patient:identifier` takes `system|value`"),
    row("agent", EventTarget::Agent, &[Modifier::Identifier], Named::Agent, "AuditEvent-agent",
        "Who took part: `Practitioner/<personal_code>`, `Organization/<registry_code>`; also a code or a role alone"),
    row("action", EventTarget::Action, &[], Named::Nobody, "AuditEvent-action",
        "C, R, U, D or E; also our own name of an action, such as composition.read"),
    row("code", EventTarget::Code, &[], Named::Nobody, "clinical-code",
        "Our own name of an action (consent.set), or FHIR's name of an interaction (vread)"),
    row("outcome", EventTarget::Outcome, &[], Named::Nobody, "AuditEvent-outcome",
        "success or error; also refused, an HTTP status or a code such as HCERT-179"),
    row("date", EventTarget::Date, &[], Named::Nobody, "clinical-date",
        "When; prefixes eq, ge, gt, le, lt, sa, eb"),
];

const LETTERS: [&str; 5] = ["C", "R", "U", "D", "E"];
const LETTER_SYSTEM: &str = "http://hl7.org/fhir/audit-event-action";
const SEVERITIES: [&str; 5] = ["success", "information", "warning", "error", "fatal"];

/// The conditions of a search and its order.
pub(super) struct AuditFilters<'a> {
    pub wanted: EventFilter,
    pub order: EventOrder,
    settings: &'a ReadingLimits<'a>,
}

impl<'a> AuditFilters<'a> {
    pub(super) fn new(settings: &'a ReadingLimits<'a>) -> AuditFilters<'a> {
        AuditFilters { wanted: EventFilter::default(), order: EventOrder::NewestFirst, settings }
    }

    /// `Type/id` of a reference to this server, or another address as it is.
    fn relative<'t>(&self, text: &'t str) -> &'t str {
        let bases = [self.settings.base_url, &self.settings.names.base_url];
        let under = |base: &str| text.strip_prefix(base)?.strip_prefix('/');
        bases.into_iter().find_map(under).unwrap_or(text)
    }

    /// An id alone may belong to a resource of any type. An id that no resource of ours has finds nothing.
    fn entities(&self, text: &str) -> Option<Vec<AuditedEntity>> {
        let text = self.relative(text);
        let certificate = |id: &str, version| Some(AuditedEntity::Certificate((Id::parse(id)?, version)));
        Some(match text.split_once('/') {
            None if is_id(text) => {
                certificate(text, None).into_iter().chain([AuditedEntity::Patient(text.to_owned())]).collect()
            }
            None => return None,
            Some(("Composition", rest)) => match rest.split_once("/_history/") {
                Some((id, version)) => {
                    Version::parse(version).and_then(|version| certificate(id, Some(version))).into_iter().collect()
                }
                None => certificate(rest, None).into_iter().collect(),
            },
            Some(("Patient", _)) => vec![AuditedEntity::Patient(patient_id(text)?.to_owned())],
            Some(("Organization", code)) => vec![AuditedEntity::Organization(code.to_owned())],
            Some(_) => Vec::new(),
        })
    }

    fn patient(&self, text: &str) -> Option<Vec<String>> {
        let text = self.relative(text);
        let id = if text.contains('/') { patient_id(text)? } else { text };
        is_id(id).then(|| vec![id.to_owned()])
    }

    fn agents(&self, text: &str) -> Option<Vec<Agent>> {
        let text = self.relative(text);
        Some(match text.split_once('/') {
            None => {
                vec![
                    person(text),
                    Agent::Organization(text.to_owned()),
                    Agent::Role(text.to_owned()),
                    Agent::User(text.to_owned()),
                ]
            }
            Some(("Practitioner", code)) => vec![person(code)],
            Some(("Organization", code)) => vec![Agent::Organization(code.to_owned())],
            Some(_) => Vec::new(),
        })
    }

    fn actions_of_letter(text: &str) -> Option<Vec<AuditAction>> {
        let with = |letter: &str| AuditAction::ALL.iter().copied().filter(|action| action.letter() == letter).collect();
        match SearchToken::parse(text)? {
            SearchToken::Code(code) | SearchToken::CodeWithoutSystem(code) if LETTERS.contains(&code.as_str()) => {
                Some(with(&code))
            }
            SearchToken::Code(code) => AuditAction::parse(&code).map(|action| vec![action]),
            SearchToken::SystemCode(system, code) if system == LETTER_SYSTEM => Some(with(&code)),
            SearchToken::System(system) if system == LETTER_SYSTEM => Some(AuditAction::ALL.to_vec()),
            SearchToken::SystemCode(..) | SearchToken::System(_) => Some(Vec::new()),
            SearchToken::CodeWithoutSystem(_) => None,
        }
    }

    fn actions_of_code(&self, text: &str) -> Option<Vec<AuditAction>> {
        let token = SearchToken::parse(text)?;
        let own_system = action_system(self.settings.names);
        let is_meant = |action: &&AuditAction| {
            let own = (own_system.as_str(), action.name());
            let codings = [Some(own), action.interaction().map(|interaction| (RESTFUL, interaction))];
            codings.into_iter().flatten().any(|(system, code)| match &token {
                SearchToken::Code(asked) => asked == code,
                SearchToken::SystemCode(asked_system, asked) => asked_system == system && asked == code,
                SearchToken::System(asked_system) => asked_system == system,
                SearchToken::CodeWithoutSystem(_) => false,
            })
        };
        Some(AuditAction::ALL.iter().filter(is_meant).copied().collect())
    }
}

impl Filters for AuditFilters<'_> {
    type RowTarget = EventTarget;
    type Key = ();

    const PARAMETERS: &'static [Parameter<EventTarget>] = PARAMETERS;
    const SORT_KEYS: &'static [(&'static str, ())] = &[("date", ())];

    fn filter(&mut self, found: SentParameter<EventTarget>, name: &str, value: &str) -> Result<LinkForm, Vec<Issue>> {
        match (found.0.target, found.1) {
            (EventTarget::Entity, _) => {
                let entities = any(name, value, "Composition/1 or Patient/200", |part| self.entities(part))?;
                self.wanted.entities.push(entities);
            }
            (EventTarget::Patient, Some(_)) => {
                self.wanted.patients.push(any(name, value, "system|value", person_with_identifier)?);
            }
            (EventTarget::Patient, None) => {
                let patients = any(name, value, "Patient/200", |part| self.patient(part))?;
                self.wanted.patients.push(patients);
            }
            (EventTarget::Agent, Some(_)) => {
                self.wanted.agents.push(any(name, value, "system|value", agents_with_identifier)?);
            }
            (EventTarget::Agent, None) => {
                let expected = "Practitioner/<personal code>, Organization/<registry code> or a role";
                let agents = any(name, value, expected, |part| self.agents(part))?;
                self.wanted.agents.push(agents);
            }
            (EventTarget::Action, _) => {
                let expected = "C, R, U, D, E or an action such as composition.read";
                self.wanted.actions.push(any(name, value, expected, Self::actions_of_letter)?);
            }
            (EventTarget::Code, _) => {
                let actions = any(name, value, "code, system|code or system|", |part| self.actions_of_code(part))?;
                self.wanted.actions.push(actions);
            }
            (EventTarget::Outcome, _) => {
                let expected = "success, error, refused, a status or a code such as HCERT-179";
                self.wanted.outcomes.push(any(name, value, expected, results)?);
            }
            (EventTarget::Date, _) => {
                self.wanted.times.push(
                    times(value)
                        .ok_or_else(|| vec![issue::wrong(name, value, "a date with eq, gt, ge, lt, le, sa or eb")])?,
                );
            }
        }
        Ok(LinkForm::Value)
    }

    fn sort(&mut self, keys: Vec<((), bool)>) {
        self.order =
            if keys.iter().any(|(_, descends)| *descends) { EventOrder::NewestFirst } else { EventOrder::OldestFirst };
    }
}

/// The id in a relative reference to a patient, whatever the version.
fn patient_id(text: &str) -> Option<&str> {
    comparable(text, "").strip_prefix("Patient/").filter(|id| is_id(id))
}

/// The alternatives of a value; an event must match one. An alternative that no event can match adds nothing.
fn any<T>(
    name: &str,
    value: &str,
    expected: &str,
    read: impl Fn(&str) -> Option<Vec<T>>,
) -> Result<Vec<T>, Vec<Issue>> {
    let mut found = Vec::new();
    let mut issues = Vec::new();
    for part in split(value, b',') {
        match read(part).filter(|_| !part.is_empty()) {
            Some(more) => found.extend(more),
            None => issues.push(issue::wrong(name, part, expected)),
        }
    }
    if issues.is_empty() { Ok(found) } else { Err(issues) }
}

/// A person by an identifier; one without a system is a personal code.
fn person_with_identifier(text: &str) -> Option<Vec<String>> {
    Some(match SearchToken::parse(text)? {
        SearchToken::SystemCode(system, value) => vec![identifier(Some(&system), &value)],
        SearchToken::Code(value) => vec![value],
        SearchToken::CodeWithoutSystem(value) => vec![identifier(Some(""), &value)],
        SearchToken::System(_) => return None,
    })
}

/// A person by a personal code, also by one as X-Road and tokens write it, with the country in front.
fn person(code: &str) -> Agent {
    Agent::Person(personal_code::digits(code).unwrap_or(code).to_owned())
}

/// Callers by the identifiers of persons and of institutions, whatever the namespace of these.
fn agents_with_identifier(text: &str) -> Option<Vec<Agent>> {
    Some(match SearchToken::parse(text)? {
        SearchToken::Code(code) => vec![person(&code), Agent::Organization(code)],
        SearchToken::SystemCode(system, code) if system.ends_with("/pid/est/ni") => vec![person(&code)],
        SearchToken::SystemCode(system, code) if system.ends_with("/org/est/br") => vec![Agent::Organization(code)],
        SearchToken::SystemCode(..) | SearchToken::CodeWithoutSystem(_) => Vec::new(),
        SearchToken::System(_) => return None,
    })
}

fn results(text: &str) -> Option<Vec<EventResult>> {
    let severity = |code: &str| match code {
        "success" => vec![EventResult::Refused(false)],
        "error" => vec![EventResult::Refused(true)],
        // The codes of HL7 that no event has.
        _ => Vec::new(),
    };
    Some(match SearchToken::parse(text)? {
        SearchToken::Code(code) | SearchToken::CodeWithoutSystem(code) if SEVERITIES.contains(&code.as_str()) => {
            severity(&code)
        }
        SearchToken::SystemCode(system, code) if system == SEVERITY => severity(&code),
        SearchToken::System(system) if system == SEVERITY => {
            vec![EventResult::Refused(false), EventResult::Refused(true)]
        }
        SearchToken::SystemCode(..) | SearchToken::System(_) => Vec::new(),
        SearchToken::CodeWithoutSystem(_) => return None,
        SearchToken::Code(code) => vec![match code.as_str() {
            "refused" => EventResult::Refused(true),
            _ if code.starts_with("HCERT-") => EventResult::Code(code),
            _ => {
                let status = code.parse().ok().filter(|status| (100..=599).contains(status))?;
                EventResult::Status(status..=status)
            }
        }],
    })
}

/// A date with a prefix, as a span of time.
fn times(text: &str) -> Option<RangeInclusive<i64>> {
    let text = unescape(text);
    let has_prefix = text.starts_with(|first: char| first.is_ascii_alphabetic());
    let (prefix, value) = if has_prefix { text.split_at_checked(2)? } else { ("eq", &*text) };
    // A `+` that is not escaped in a query arrives as a blank.
    let span = date_time::search_span(&value.replacen(' ', "+", 1)).ok()?;
    Some(match prefix {
        "eq" => span.low..=span.high,
        "ge" => span.low..=i64::MAX,
        "gt" | "sa" => span.high.saturating_add(1)..=i64::MAX,
        "le" => i64::MIN..=span.high,
        "lt" | "eb" => i64::MIN..=span.low.saturating_sub(1),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use certificate::Names;
    use certificate::search::paging::Counts;
    use certificate::search::request::SearchRequest;
    use certificate::search::seal::SealKey;
    use fhir::outcome::Hcert;

    fn read(parameters: &[(&str, &str)]) -> Result<(EventFilter, EventOrder), Hcert> {
        let (names, seal) = (Names::default(), SealKey::new(&[7; 32]));
        let settings = ReadingLimits {
            base_url: "https://a.ee/fhir",
            names: &names,
            count: Counts::default(),
            link_seconds: 60,
            lenient: false,
            by_form: false,
            now: 0,
            seal: &seal,
            caller: "",
            narrowed: false,
        };
        let parameters: Vec<(String, String)> =
            parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut filters = AuditFilters::new(&settings);
        SearchRequest::read(&parameters, &settings, &mut filters).map_err(|outcome| outcome.leading())?;
        Ok((filters.wanted, filters.order))
    }

    #[test]
    fn every_parameter_becomes_a_condition() {
        let (wanted, order) = read(&[
            ("entity", "Composition/1,https://a.ee/fhir/Composition/2/_history/3,Patient/200"),
            ("patient", "https://a.ee/fhir/Patient/200/_history/1"),
            ("agent", "Practitioner/EE47101010033"),
            ("agent:identifier", "https://fhir.ee/sid/org/est/br|90006399"),
            ("action", "composition.read,consent.set"),
            ("outcome", "refused,HCERT-179"),
            ("date", "ge2026-11-01"),
            ("_sort", "date"),
            ("_count", "5"),
        ])
        .unwrap();
        let certificates = [(Id::FIRST, None), (Id::FIRST.next(), Version::new(3))].map(AuditedEntity::Certificate);
        let entities: Vec<AuditedEntity> =
            certificates.into_iter().chain([AuditedEntity::Patient("200".to_owned())]).collect();
        assert_eq!(wanted.entities, [entities]);
        assert_eq!(wanted.patients, [["200"]]);
        let organization = Agent::Organization("90006399".to_owned());
        assert_eq!(wanted.agents, [[Agent::Person("47101010033".to_owned())], [organization]]);
        assert_eq!(wanted.actions, [vec![AuditAction::CompositionRead, AuditAction::ConsentSet]]);
        assert_eq!(wanted.outcomes, [vec![EventResult::Refused(true), EventResult::Code("HCERT-179".to_owned())]]);
        assert_eq!(wanted.span(), date_time::search_span("2026-11-01").unwrap().low..=i64::MAX);
        assert_eq!(order, EventOrder::OldestFirst);
    }

    #[test]
    fn codes_of_hl7_stand_for_what_they_mean() {
        let actions = |name, value| read(&[(name, value)]).unwrap().0.actions.remove(0);
        assert!(actions("action", "C").contains(&AuditAction::CompositionCreate));
        assert_eq!(actions("action", "http://hl7.org/fhir/audit-event-action|C"), actions("action", "C"));
        assert_eq!(actions("action", "http://hl7.org/fhir/audit-event-action|"), AuditAction::ALL);
        assert_eq!(actions("code", "http://hl7.org/fhir/restful-interaction|create"), [AuditAction::CompositionCreate]);
        assert_eq!(
            actions("code", "https://fhir.ee/hcert/CodeSystem/audit-action|consent.get"),
            [AuditAction::ConsentGet]
        );
        let results = |value| read(&[("outcome", value)]).unwrap().0.outcomes.remove(0);
        assert_eq!(results("http://hl7.org/fhir/issue-severity|error"), [EventResult::Refused(true)]);
        assert_eq!(results("success"), [EventResult::Refused(false)]);
    }

    #[test]
    fn what_no_event_can_have_finds_nothing() {
        for (name, value) in [
            ("entity", "Observation/1"),
            ("entity", "Composition/007"),
            ("agent", "Device/1"),
            ("agent:identifier", "urn:other|1"),
            ("action", "urn:other|C"),
            ("code", "transaction"),
            ("outcome", "fatal"),
            ("outcome", "urn:other|error"),
        ] {
            let (wanted, _) = read(&[(name, value)]).unwrap();
            let never = wanted.entities.iter().any(Vec::is_empty)
                || wanted.agents.iter().any(Vec::is_empty)
                || wanted.actions.iter().any(Vec::is_empty)
                || wanted.outcomes.iter().any(Vec::is_empty);
            assert!(never, "{name}={value}");
        }
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
        for (name, value) in [
            ("entity", "a b"),
            ("entity", "Patient/"),
            ("entity", "Patient/_history/1"),
            ("entity", "https://a.ee/fhir/Patient/_history/1"),
            ("entity", "Patient/1/2"),
            ("patient", "Patient/_history/1"),
            ("patient", "Group/7"),
            ("action", "composition.steal"),
            ("action", "c"),
            ("outcome", "99"),
            ("date", "yesterday"),
            ("date", "ne2026"),
            ("_sort", "agent"),
        ] {
            assert_eq!(read(&[(name, value)]), Err(Hcert::SearchValueWrong), "{name}={value}");
        }
        assert_eq!(read(&[("agent", "")]), Err(Hcert::SearchValueEmpty));
        assert_eq!(read(&[("entry", "1")]), Err(Hcert::SearchParameterUnknown));
        assert_eq!(read(&[("entity:missing", "true")]), Err(Hcert::SearchModifierUnknown));
    }
}

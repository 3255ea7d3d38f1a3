//! An event as bytes: a format byte, then fields of a tag and a value, so that a release passes over fields it does not know.
//!
//! A tag is a varint: number of the field times two, plus one where bytes follow (their length first) instead of a varint. Absent
//! fields take nothing. `docs/AUDIT.md` lists the numbers; they are never used again for another field.

use super::event::{self, AuditAction, AuditEvent, AuthenticationMethod, Entity, query_within, text_within, within};
use crate::audit::limits::AUDIT_TEXT_BYTES_MAX;
use crate::config::limits::X_ROAD_CHARACTERS_MAX;
use certificate::{Id, Seq, Version};
use engine::EntryHash;
use journal::record::sha256;

/// Bytes of a header of X-Road in an audit event: all characters that are kept, each of four bytes, and the mark of one that was cut.
const AUDIT_CLAIMED_BYTES_MAX: usize = 4 * X_ROAD_CHARACTERS_MAX + 64;

const FORMAT: u8 = 1;

/// Why bytes are no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

mod field {
    pub(super) const AT: u64 = 1;
    pub(super) const ACTION: u64 = 2;
    pub(super) const PERSON: u64 = 3;
    pub(super) const GIVEN_NAME: u64 = 4;
    pub(super) const FAMILY_NAME: u64 = 5;
    pub(super) const ROLE: u64 = 6;
    pub(super) const ORGANIZATION: u64 = 7;
    pub(super) const REPRESENTED_PARTY: u64 = 8;
    pub(super) const APPLICATION: u64 = 9;
    pub(super) const SESSION: u64 = 10;
    pub(super) const IP: u64 = 11;
    pub(super) const X_ROAD_CLIENT: u64 = 12;
    pub(super) const X_ROAD_ID: u64 = 13;
    pub(super) const X_ROAD_ISSUE: u64 = 14;
    pub(super) const X_ROAD_USER: u64 = 15;
    pub(super) const TRACE: u64 = 16;
    pub(super) const STATUS: u64 = 17;
    pub(super) const CODE: u64 = 18;
    pub(super) const METHOD: u64 = 19;
    pub(super) const ENTITIES: u64 = 20;
    pub(super) const PATIENT: u64 = 21;
    pub(super) const QUERY: u64 = 22;
    pub(super) const CHANGE: u64 = 23;
    pub(super) const NOTE: u64 = 25;
    pub(super) const X_ROAD_DROPPED: u64 = 26;
    pub(super) const IDENTIFIER: u64 = 27;
    pub(super) const ORGANIZATION_NAMED: u64 = 28;
    pub(super) const QUERY_HASH: u64 = 29;
    pub(super) const REASON: u64 = 30;
    pub(super) const OPERATOR: u64 = 31;
    pub(super) const OPERATOR_NAME: u64 = 32;
    pub(super) const ENTRY: u64 = 33;
    pub(super) const ABSENT: u64 = 34;
}

/// Writes an event behind `out`. Texts beyond their bound are cut.
pub fn write(out: &mut Vec<u8>, event: &AuditEvent) {
    let AuditEvent { at, action, who, from, trace, status, code, method, .. } = event;
    out.push(FORMAT);
    number(out, field::AT, zigzag(*at));
    number(out, field::ACTION, action.number());
    let texts = [
        (field::PERSON, &who.person),
        (field::GIVEN_NAME, &who.given_name),
        (field::FAMILY_NAME, &who.family_name),
        (field::ORGANIZATION, &who.organization),
        (field::REPRESENTED_PARTY, &who.represented_party),
        (field::APPLICATION, &who.application),
        (field::SESSION, &who.session),
        (field::IP, &from.ip),
        (field::CODE, code),
        (field::NOTE, &event.note),
        (field::X_ROAD_DROPPED, &from.x_road_dropped),
        (field::REASON, &event.reason),
    ];
    let claimed = [
        (field::X_ROAD_CLIENT, &from.x_road_client),
        (field::X_ROAD_ID, &from.x_road_id),
        (field::X_ROAD_ISSUE, &from.x_road_issue),
        (field::X_ROAD_USER, &from.x_road_user),
    ];
    let texts = texts.into_iter().map(|(field, value)| (field, value, AUDIT_TEXT_BYTES_MAX));
    let claimed = claimed.into_iter().map(|(field, value)| (field, value, AUDIT_CLAIMED_BYTES_MAX));
    for (field, value, bytes_max) in texts.chain(claimed) {
        if let Some(value) = value {
            text(out, field, within(value, bytes_max));
        }
    }
    who.roles.iter().for_each(|role| text(out, field::ROLE, text_within(role)));
    if !trace.is_empty() {
        text(out, field::TRACE, text_within(trace));
    }
    number(out, field::STATUS, u64::from(*status));
    number(out, field::METHOD, *method as u64);
    if !event.entities.is_empty() {
        text(out, field::ENTITIES, entities(&event.entities));
    }
    if !event.absent.is_empty() {
        text(out, field::ABSENT, entities(&event.absent));
    }
    event.patients.iter().for_each(|patient| text(out, field::PATIENT, text_within(patient)));
    event.identifiers.iter().for_each(|identifier| text(out, field::IDENTIFIER, identifier));
    event.organizations.iter().for_each(|code| text(out, field::ORGANIZATION_NAMED, text_within(code)));
    if let Some(query) = &event.query {
        let kept = query_within(query);
        text(out, field::QUERY, kept);
        if let Some(hash) = event.query_hash.or_else(|| (kept.len() < query.len()).then(|| sha256(query.as_bytes()))) {
            text(out, field::QUERY_HASH, hash);
        }
    }
    if let Some(operator) = &who.operator {
        number(out, field::OPERATOR, u64::from(operator.uid));
        if let Some(name) = &operator.name {
            text(out, field::OPERATOR_NAME, text_within(name));
        }
    }
    if let Some(Seq(seq)) = event.change {
        number(out, field::CHANGE, seq);
    }
    if let Some(hash) = &event.entry {
        text(out, field::ENTRY, hash.bytes());
    }
}

/// Reads an event.
///
/// # Errors
/// The bytes are not of this format, or end within a field.
pub fn read(bytes: &[u8]) -> Result<AuditEvent, Malformed> {
    let mut event = AuditEvent::default();
    fields(bytes, |number, value| {
        let text = || String::from_utf8(value.bytes.to_vec()).map_err(|_| Malformed);
        let AuditEvent { who, from, .. } = &mut event;
        match number {
            field::AT => event.at = unzigzag(value.number),
            field::ACTION => event.action = AuditAction::of_number(value.number),
            field::PERSON => who.person = Some(text()?),
            field::GIVEN_NAME => who.given_name = Some(text()?),
            field::FAMILY_NAME => who.family_name = Some(text()?),
            field::ROLE => who.roles.push(text()?),
            field::ORGANIZATION => who.organization = Some(text()?),
            field::REPRESENTED_PARTY => who.represented_party = Some(text()?),
            field::APPLICATION => who.application = Some(text()?),
            field::SESSION => who.session = Some(text()?),
            field::IP => from.ip = Some(text()?),
            field::X_ROAD_CLIENT => from.x_road_client = Some(text()?),
            field::X_ROAD_ID => from.x_road_id = Some(text()?),
            field::X_ROAD_ISSUE => from.x_road_issue = Some(text()?),
            field::X_ROAD_USER => from.x_road_user = Some(text()?),
            field::TRACE => event.trace = text()?,
            field::STATUS => event.status = u16::try_from(value.number).map_err(|_| Malformed)?,
            field::CODE => event.code = Some(text()?),
            field::METHOD => event.method = method(value.number),
            field::ENTITIES => event.entities = read_entities(value.bytes)?,
            field::ABSENT => event.absent = read_entities(value.bytes)?,
            field::PATIENT => event.patients.push(text()?),
            field::QUERY => event.query = Some(text()?),
            field::CHANGE => event.change = Some(Seq(value.number)),
            field::ENTRY => {
                event.entry = Some(EntryHash::from_bytes(value.bytes.try_into().map_err(|_| Malformed)?));
            }
            field::X_ROAD_DROPPED => from.x_road_dropped = Some(text()?),
            field::IDENTIFIER => event.identifiers.push(text()?),
            field::ORGANIZATION_NAMED => event.organizations.push(text()?),
            field::QUERY_HASH => event.query_hash = Some(value.bytes.try_into().map_err(|_| Malformed)?),
            field::REASON => event.reason = Some(text()?),
            field::OPERATOR => {
                who.operator.get_or_insert_default().uid = u32::try_from(value.number).map_err(|_| Malformed)?;
            }
            field::OPERATOR_NAME => who.operator.get_or_insert_default().name = Some(text()?),
            field::NOTE => event.note = Some(text()?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(event)
}

/// What is asked of every event when a trail is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventSummary {
    pub at: i64,
    action: AuditAction,
    pub change: Option<Seq>,
}

impl EventSummary {
    /// As the method of [`AuditEvent`].
    pub fn last_change(self, before: Seq) -> Seq {
        event::last_change(self.action, self.change, before)
    }
}

/// Reads when an event was and which change it stands for, and nothing else of it.
pub fn summary(bytes: &[u8]) -> Result<EventSummary, Malformed> {
    let mut summary = EventSummary::default();
    fields(bytes, |number, value| {
        match number {
            field::AT => summary.at = unzigzag(value.number),
            field::ACTION => summary.action = AuditAction::of_number(value.number),
            field::CHANGE => summary.change = Some(Seq(value.number)),
            _ => {}
        }
        Ok(())
    })?;
    Ok(summary)
}

/// One of the two is given, the other empty.
struct EitherValue<'a> {
    number: u64,
    bytes: &'a [u8],
}

fn fields(bytes: &[u8], mut take: impl FnMut(u64, EitherValue) -> Result<(), Malformed>) -> Result<(), Malformed> {
    let (&format, mut rest) = bytes.split_first().ok_or(Malformed)?;
    if format != FORMAT {
        return Err(Malformed);
    }
    while !rest.is_empty() {
        let tag = read_varint(&mut rest)?;
        let number = read_varint(&mut rest)?;
        let mut value = EitherValue { number, bytes: &[] };
        if tag & 1 == 1 {
            let length = usize::try_from(number).map_err(|_| Malformed)?;
            (value.bytes, rest) = rest.split_at_checked(length).ok_or(Malformed)?;
            value.number = 0;
        }
        take(tag >> 1, value)?;
    }
    Ok(())
}

/// Ids as distances from the one before, since a page's ids often lie near each other. Version 0 is none.
fn entities(entities: &[Entity]) -> Vec<u8> {
    let mut out = Vec::with_capacity(entities.len() * 4);
    let mut before = 0_u64;
    for (id, version) in entities {
        varint(&mut out, zigzag(id.get().wrapping_sub(before) as i64));
        varint(&mut out, version.map_or(0, |version| u64::from(version.get())));
        before = id.get();
    }
    out
}

fn read_entities(mut bytes: &[u8]) -> Result<Vec<Entity>, Malformed> {
    let mut entities = Vec::with_capacity(bytes.len() / 2);
    let mut before = 0_u64;
    while !bytes.is_empty() {
        before = before.wrapping_add(unzigzag(read_varint(&mut bytes)?) as u64);
        let version = u32::try_from(read_varint(&mut bytes)?).map_err(|_| Malformed)?;
        entities.push((Id::new(before).ok_or(Malformed)?, Version::new(version)));
    }
    Ok(entities)
}

fn method(number: u64) -> AuthenticationMethod {
    match number {
        1 => AuthenticationMethod::Token,
        2 => AuthenticationMethod::Socket,
        _ => AuthenticationMethod::None,
    }
}

fn number(out: &mut Vec<u8>, field: u64, value: u64) {
    varint(out, field << 1);
    varint(out, value);
}

fn text(out: &mut Vec<u8>, field: u64, value: impl AsRef<[u8]>) {
    let value = value.as_ref();
    varint(out, field << 1 | 1);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn read_varint(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(Malformed)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Malformed)
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;
    use crate::audit::limits::AUDIT_QUERY_BYTES_MAX;
    use crate::audit::{EventAgent, RequestSource, SystemUser};

    fn bytes(event: &AuditEvent) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, event);
        out
    }

    fn maybe_text() -> impl Strategy<Value = Option<String>> {
        option::of("\\PC{0,40}")
    }

    prop_compose! {
        fn who()(
            person in maybe_text(), given_name in maybe_text(), family_name in maybe_text(), roles in vec("[a-z-]{0,20}", 0..4),
            organization in maybe_text(), represented_party in maybe_text(), application in maybe_text(), session in maybe_text(),
            operator in option::of((any::<u32>(), maybe_text())),
        ) -> EventAgent {
            let operator = operator.map(|(uid, name)| SystemUser { uid, name });
            EventAgent { person, given_name, family_name, roles, organization, represented_party, application, session, operator }
        }
    }

    prop_compose! {
        fn from()(
            ip in maybe_text(), x_road_client in maybe_text(), x_road_id in maybe_text(),
            x_road_issue in maybe_text(), x_road_user in maybe_text(), x_road_dropped in maybe_text(),
        ) -> RequestSource {
            RequestSource { ip, x_road_client, x_road_id, x_road_issue, x_road_user, x_road_dropped }
        }
    }

    prop_compose! {
        fn event()(
            at in any::<i64>(), action in 0..AuditAction::ALL.len(), who in who(), from in from(), trace in "\\PC{0,40}", status in any::<u16>(),
            code in maybe_text(), method in 0_u64..3, entities in vec((1_u64.., any::<u32>()), 0..40), patients in vec("[0-9]{0,12}", 0..4),
            (query, change, note) in (maybe_text(), option::of(any::<u64>()), maybe_text()),
            (identifiers, organizations, hash, reason) in
                (vec("\\PC{0,40}", 0..4), vec("[0-9]{0,12}", 0..4), any::<[u8; 32]>(), maybe_text()),
        ) -> AuditEvent {
            let entities: Vec<Entity> = entities.into_iter().filter_map(|(id, version)| Some((Id::new(id)?, Version::new(version)))).collect();
            let absent = entities.iter().rev().take(3).copied().collect();
            AuditEvent {
                at, action: AuditAction::ALL[action], who, from, trace, status, code, method: super::method(method), entities, absent, patients,
                query_hash: query.as_ref().map(|_| hash), query, change: change.map(Seq), entry: change.map(|_| EntryHash::from_bytes(hash)), note,
                identifiers, organizations, reason,
            }
        }
    }

    proptest! {
        #[test]
        fn an_event_is_read_as_it_was_written(event in event()) {
            let bytes = bytes(&event);
            let summary_of = EventSummary { at: event.at, action: event.action, change: event.change };
            prop_assert_eq!(summary(&bytes), Ok(summary_of));
            prop_assert!(read(&bytes) == Ok(event));
        }

        #[test]
        fn any_bytes_are_an_event_or_none_and_never_a_panic(mut bytes in vec(any::<u8>(), 0..200)) {
            drop(read(&bytes));
            if let Some(format) = bytes.first_mut() {
                *format = FORMAT;
                drop(read(&bytes));
            }
        }
    }

    #[test]
    fn every_action_keeps_its_name_and_number() {
        for action in AuditAction::ALL.iter().copied() {
            assert_eq!(AuditAction::parse(action.name()), Some(action));
            assert_eq!(AuditAction::of_number(action.number()), action);
        }
        assert_eq!(AuditAction::of_number(9_999), AuditAction::Unknown);
    }

    #[test]
    fn fields_of_a_later_release_are_passed_over() {
        let event = AuditEvent::new(AuditAction::CompositionRead, 7);
        let mut bytes = bytes(&event);
        number(&mut bytes, 77, 5);
        text(&mut bytes, 78, "later");
        assert!(read(&bytes) == Ok(event));
    }

    #[test]
    fn a_text_is_cut_at_its_bound_between_characters() {
        let long = "õ".repeat(AUDIT_QUERY_BYTES_MAX);
        let mut event = AuditEvent { query: Some(long.clone()), ..AuditEvent::new(AuditAction::CompositionSearch, 7) };
        event.who.family_name = Some(format!("a{long}"));
        let read = read(&bytes(&event)).unwrap();
        assert_eq!(read.query.unwrap().len(), AUDIT_QUERY_BYTES_MAX - 1);
        assert_eq!(read.query_hash, Some(sha256(long.as_bytes())), "what was cut can be proved");
        assert_eq!(read.who.family_name.unwrap().len(), AUDIT_TEXT_BYTES_MAX - 1);
    }

    #[test]
    fn a_page_of_a_thousand_hits_takes_little() {
        let entities = (0..1_000).filter_map(|at| Some((Id::new(900_000 - at * 7)?, Version::new(2)))).collect();
        let event = AuditEvent { entities, ..AuditEvent::new(AuditAction::CompositionSearch, 1_790_000_000_000) };
        assert!(bytes(&event).len() < 2_100, "{}", bytes(&event).len());
    }
}

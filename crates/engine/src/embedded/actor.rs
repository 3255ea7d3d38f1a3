//! Who acted, as fields of a record: each only where it is known.

use super::store::StoreError;
use super::store::record::{FieldTag, RecordFields, push_field};
use crate::{Actor, Particulars};

/// Appends the fields.
pub fn encode(who: &Actor, out: &mut Vec<u8>) {
    let parts = [
        (FieldTag::Person, &who.person),
        (FieldTag::Role, &who.role),
        (FieldTag::Organization, &who.organization),
        (FieldTag::XRoadId, &who.x_road_id),
        (FieldTag::Trace, &who.trace),
    ];
    let more = who.particulars.iter().flat_map(|more| {
        [
            (FieldTag::GivenName, &more.given_name),
            (FieldTag::FamilyName, &more.family_name),
            (FieldTag::RepresentedParty, &more.represented_party),
            (FieldTag::Session, &more.session),
            (FieldTag::Address, &more.address),
            (FieldTag::XRoadClient, &more.x_road_client),
            (FieldTag::XRoadIssue, &more.x_road_issue),
            (FieldTag::XRoadUserid, &more.x_road_userid),
            (FieldTag::XRoadDropped, &more.x_road_dropped),
            (FieldTag::Application, &more.application),
            (FieldTag::Condition, &more.condition),
            (FieldTag::ConditionIdentifier, &more.condition_identifier),
            (FieldTag::ConditionCertificates, &more.condition_certificates),
        ]
    });
    for (tag, value) in parts.into_iter().chain(more) {
        if let Some(value) = value {
            push_field(out, tag, value.as_bytes());
        }
    }
}

/// Reads them back.
///
/// # Errors
/// `Damaged` when the fields are none, or no text.
pub fn decode(fields: RecordFields) -> Result<Actor, StoreError> {
    let text = |tag: FieldTag| -> Result<Option<String>, StoreError> {
        let text = fields.get(tag)?.map(|bytes| String::from_utf8(bytes.to_vec()));
        text.transpose().map_err(|_| StoreError::Damaged("a field of a record is no text".into()))
    };
    let particulars = Particulars {
        given_name: text(FieldTag::GivenName)?,
        family_name: text(FieldTag::FamilyName)?,
        represented_party: text(FieldTag::RepresentedParty)?,
        session: text(FieldTag::Session)?,
        address: text(FieldTag::Address)?,
        x_road_client: text(FieldTag::XRoadClient)?,
        x_road_issue: text(FieldTag::XRoadIssue)?,
        x_road_userid: text(FieldTag::XRoadUserid)?,
        x_road_dropped: text(FieldTag::XRoadDropped)?,
        application: text(FieldTag::Application)?,
        condition: text(FieldTag::Condition)?,
        condition_identifier: text(FieldTag::ConditionIdentifier)?,
        condition_certificates: text(FieldTag::ConditionCertificates)?,
    };
    Ok(Actor {
        person: text(FieldTag::Person)?,
        role: text(FieldTag::Role)?,
        organization: text(FieldTag::Organization)?,
        x_road_id: text(FieldTag::XRoadId)?,
        trace: text(FieldTag::Trace)?,
        particulars: (particulars != Particulars::default()).then(|| Box::new(particulars)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_known_comes_back_and_nobody_takes_no_room() {
        let known = |text: &str| Some(text.to_owned());
        let particulars = Particulars {
            given_name: known("Mari"),
            family_name: known("Õun"),
            represented_party: known("10000001"),
            session: known("0123456789abcdef"),
            address: known("::1"),
            x_road_client: known("ee-dev/COM/1/x"),
            x_road_issue: known("7"),
            x_road_userid: known("EE37605030299"),
            x_road_dropped: known("x-road-id"),
            application: known("a"),
            condition: known("identifier=s%7CN-1"),
            condition_identifier: known("s|N-1"),
            condition_certificates: known("3/1 5/2"),
        };
        let whole = Actor {
            person: known("37605030299"),
            role: known("doctor"),
            organization: known("90000001"),
            x_road_id: known("i"),
            trace: known("t"),
            particulars: Some(Box::new(particulars)),
        };
        for who in [whole.clone(), Actor { particulars: None, ..whole }, Actor::default()] {
            let mut bytes = Vec::new();
            encode(&who, &mut bytes);
            assert_eq!(decode(RecordFields(&bytes)).unwrap(), who);
        }
        let mut nobody = Vec::new();
        encode(&Actor::default(), &mut nobody);
        assert!(nobody.is_empty());
    }
}

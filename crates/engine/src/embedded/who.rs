//! Who acted, as fields of a record: each only where it is known.

use super::store::Error;
use super::store::record::{Fields, Tag, push_field};
use crate::{Particulars, Who};

/// Appends the fields.
pub fn encode(who: &Who, out: &mut Vec<u8>) {
    let parts = [
        (Tag::Person, &who.person),
        (Tag::Role, &who.role),
        (Tag::Organization, &who.organization),
        (Tag::XRoadId, &who.x_road_id),
        (Tag::Trace, &who.trace),
    ];
    let more = who.particulars.iter().flat_map(|more| {
        [
            (Tag::GivenName, &more.given_name),
            (Tag::FamilyName, &more.family_name),
            (Tag::RepresentedParty, &more.represented_party),
            (Tag::Session, &more.session),
            (Tag::Address, &more.address),
            (Tag::XRoadClient, &more.x_road_client),
            (Tag::XRoadIssue, &more.x_road_issue),
            (Tag::XRoadUserid, &more.x_road_userid),
            (Tag::XRoadDropped, &more.x_road_dropped),
            (Tag::Application, &more.application),
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
pub fn decode(fields: Fields) -> Result<Who, Error> {
    let text = |tag: Tag| -> Result<Option<String>, Error> {
        let text = fields.get(tag)?.map(|bytes| String::from_utf8(bytes.to_vec()));
        text.transpose().map_err(|_| Error::Damaged("a field of a record is no text".into()))
    };
    let particulars = Particulars {
        given_name: text(Tag::GivenName)?,
        family_name: text(Tag::FamilyName)?,
        represented_party: text(Tag::RepresentedParty)?,
        session: text(Tag::Session)?,
        address: text(Tag::Address)?,
        x_road_client: text(Tag::XRoadClient)?,
        x_road_issue: text(Tag::XRoadIssue)?,
        x_road_userid: text(Tag::XRoadUserid)?,
        x_road_dropped: text(Tag::XRoadDropped)?,
        application: text(Tag::Application)?,
    };
    Ok(Who {
        person: text(Tag::Person)?,
        role: text(Tag::Role)?,
        organization: text(Tag::Organization)?,
        x_road_id: text(Tag::XRoadId)?,
        trace: text(Tag::Trace)?,
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
        };
        let whole = Who {
            person: known("37605030299"),
            role: known("doctor"),
            organization: known("90000001"),
            x_road_id: known("i"),
            trace: known("t"),
            particulars: Some(Box::new(particulars)),
        };
        for who in [whole.clone(), Who { particulars: None, ..whole }, Who::default()] {
            let mut bytes = Vec::new();
            encode(&who, &mut bytes);
            assert_eq!(decode(Fields(&bytes)).unwrap(), who);
        }
        let mut nobody = Vec::new();
        encode(&Who::default(), &mut nobody);
        assert!(nobody.is_empty());
    }
}

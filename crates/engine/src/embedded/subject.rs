//! A certificate's patient as a field of its record: id, version, then system and value of each identifier, each text behind its length
//! (u32, little-endian).

use crate::VersionSubject;

pub(super) fn encode(subject: &VersionSubject) -> Vec<u8> {
    let identifiers = subject.identifiers.iter().flat_map(|(system, value)| [system, value]);
    let mut out = Vec::with_capacity(128);
    for text in [&subject.id, &subject.version].into_iter().chain(identifiers) {
        let length = u32::try_from(text.len()).expect("the bound on bodies keeps every text far below 4 GiB");
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    }
    out
}

/// Nothing when the bytes cannot have been written so.
pub(super) fn decode(mut bytes: &[u8]) -> Option<VersionSubject> {
    let mut next = || -> Option<String> {
        let (length, behind) = bytes.split_first_chunk()?;
        let (text, behind) = behind.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        bytes = behind;
        String::from_utf8(text.to_vec()).ok()
    };
    let mut subject = VersionSubject { id: next()?, version: next()?, identifiers: Vec::new() };
    while let Some(system) = next() {
        subject.identifiers.push((system, next()?));
    }
    bytes.is_empty().then_some(subject)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_comes_back_and_a_cut_one_is_told() {
        let identifiers =
            vec![("https://fhir.ee/sid/pid/est/ni".into(), "37605030299".into()), ("".into(), "õ".into())];
        let subject = VersionSubject { id: "200".into(), version: "3".into(), identifiers };
        let bytes = encode(&subject);
        assert_eq!(decode(&bytes), Some(subject.clone()));
        assert!((0..bytes.len()).filter_map(|end| decode(&bytes[..end])).all(|cut| cut.identifiers.len() < 2));
        let bare = VersionSubject { identifiers: Vec::new(), ..subject };
        assert_eq!(decode(&encode(&bare)), Some(bare));
    }
}

//! The members of an archive: which there are, in which order, and what they are called.

use std::fmt;

use crate::audit;

/// One member. Their order here is the order in an archive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArchiveMember {
    /// What the archive is.
    About,
    /// What bodies are compressed with.
    Dictionary(u8),
    /// Code lists that an operator loaded, from 1.
    List(u64),
    /// Changes of certificates, from 1.
    Changes(u64),
    /// Versions of patients, from 1.
    Patients(u64),
    /// A file of the audit trail.
    Audit(String),
    /// Names, sizes and digests of all before.
    Manifest,
}

const ABOUT: &str = "hcert-backup.json";
const MANIFEST: &str = "manifest.json";

impl ArchiveMember {
    /// Reads the name of a member as it is shown, and no other: neither paths that lead elsewhere nor numbers written in another way.
    pub fn parse(name: &str) -> Option<ArchiveMember> {
        let member = match name.split_once('/') {
            None if name == ABOUT => ArchiveMember::About,
            None if name == MANIFEST => ArchiveMember::Manifest,
            None => return None,
            Some(("dictionaries", number)) => ArchiveMember::Dictionary(number.parse().ok()?),
            Some(("terminology", number)) => ArchiveMember::List(number.parse().ok()?),
            Some(("changes", number)) => ArchiveMember::Changes(number.parse().ok()?),
            Some(("patients", number)) => ArchiveMember::Patients(number.parse().ok()?),
            Some(("audit", file)) => ArchiveMember::Audit(file.to_owned()),
            Some(_) => return None,
        };
        let is_name = match &member {
            ArchiveMember::Audit(file) => audit::is_file_name(file),
            member => member.to_string() == name,
        };
        is_name.then_some(member)
    }

    /// Whether it may stand behind another. Pieces are counted from 1.
    pub fn may_follow(&self, before: Option<&ArchiveMember>) -> bool {
        let Some(before) = before else { return *self == ArchiveMember::About };
        let counts_on = match (before, self) {
            (ArchiveMember::List(before), ArchiveMember::List(number))
            | (ArchiveMember::Changes(before), ArchiveMember::Changes(number))
            | (ArchiveMember::Patients(before), ArchiveMember::Patients(number)) => *number == before + 1,
            (_, ArchiveMember::List(number) | ArchiveMember::Changes(number) | ArchiveMember::Patients(number)) => {
                *number == 1
            }
            _ => true,
        };
        before < self && counts_on
    }
}

impl fmt::Display for ArchiveMember {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ArchiveMember::About => formatter.write_str(ABOUT),
            ArchiveMember::Dictionary(number) => write!(formatter, "dictionaries/{number:03}"),
            ArchiveMember::List(number) => write!(formatter, "terminology/{number:08}"),
            ArchiveMember::Changes(number) => write!(formatter, "changes/{number:08}"),
            ArchiveMember::Patients(number) => write!(formatter, "patients/{number:08}"),
            ArchiveMember::Audit(file) => write!(formatter, "audit/{file}"),
            ArchiveMember::Manifest => formatter.write_str(MANIFEST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_as_it_is_shown_and_no_other_is_one() {
        let audit = |name: &str| ArchiveMember::Audit(name.into());
        let numbered = [
            ArchiveMember::Dictionary(1),
            ArchiveMember::List(7),
            ArchiveMember::Changes(123_456_789),
            ArchiveMember::Patients(1),
        ];
        let others = [ArchiveMember::About, audit("00000001.log"), audit("00000001.zst"), ArchiveMember::Manifest];
        for member in numbered.into_iter().chain(others) {
            assert_eq!(ArchiveMember::parse(&member.to_string()), Some(member));
        }
        let long = format!("audit/{}.log", "1".repeat(30));
        for name in [
            "",
            "x",
            "/etc/passwd",
            "../evil",
            "changes/../evil",
            "changes/1",
            "changes/+0000001",
            "changes/000000001",
            "audit/../evil.log",
            "audit/a/b.log",
            "audit/",
            "audit/..",
            "hcert-backup.json/",
            "dictionaries/256",
            &long,
        ] {
            assert_eq!(ArchiveMember::parse(name), None, "{name}");
        }
    }

    #[test]
    fn members_stand_in_their_order_and_are_counted() {
        use ArchiveMember::{About, Changes, Dictionary, List, Manifest, Patients};
        let order = [About, Dictionary(1), Dictionary(3), List(1), Changes(1), Changes(2), Patients(1), Manifest];
        assert!(About.may_follow(None) && !Changes(1).may_follow(None));
        assert!(order.windows(2).all(|two| two[1].may_follow(Some(&two[0]))));
        for (before, behind) in [
            (Changes(1), Changes(3)),
            (Changes(1), Changes(1)),
            (About, Changes(2)),
            (Changes(1), List(1)),
            (Manifest, About),
        ] {
            assert!(!behind.may_follow(Some(&before)), "{behind} behind {before}");
        }
    }
}

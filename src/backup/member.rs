//! The members of an archive: which there are, in which order, and what they are called.

use std::fmt;

use crate::audit;

/// One member. Their order here is the order in an archive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Member {
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

impl Member {
    /// Reads the name of a member as it is shown, and no other: neither paths that lead elsewhere nor numbers written in another way.
    pub fn parse(name: &str) -> Option<Member> {
        let member = match name.split_once('/') {
            None if name == ABOUT => Member::About,
            None if name == MANIFEST => Member::Manifest,
            None => return None,
            Some(("dictionaries", number)) => Member::Dictionary(number.parse().ok()?),
            Some(("terminology", number)) => Member::List(number.parse().ok()?),
            Some(("changes", number)) => Member::Changes(number.parse().ok()?),
            Some(("patients", number)) => Member::Patients(number.parse().ok()?),
            Some(("audit", file)) => Member::Audit(file.to_owned()),
            Some(_) => return None,
        };
        let is_name = match &member {
            Member::Audit(file) => audit::is_file_name(file),
            member => member.to_string() == name,
        };
        is_name.then_some(member)
    }

    /// Whether it may stand behind another. Pieces are counted from 1.
    pub fn may_follow(&self, before: Option<&Member>) -> bool {
        let Some(before) = before else { return *self == Member::About };
        let counts_on = match (before, self) {
            (Member::List(before), Member::List(number))
            | (Member::Changes(before), Member::Changes(number))
            | (Member::Patients(before), Member::Patients(number)) => *number == before + 1,
            (_, Member::List(number) | Member::Changes(number) | Member::Patients(number)) => *number == 1,
            _ => true,
        };
        before < self && counts_on
    }
}

impl fmt::Display for Member {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Member::About => formatter.write_str(ABOUT),
            Member::Dictionary(number) => write!(formatter, "dictionaries/{number:03}"),
            Member::List(number) => write!(formatter, "terminology/{number:08}"),
            Member::Changes(number) => write!(formatter, "changes/{number:08}"),
            Member::Patients(number) => write!(formatter, "patients/{number:08}"),
            Member::Audit(file) => write!(formatter, "audit/{file}"),
            Member::Manifest => formatter.write_str(MANIFEST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_as_it_is_shown_and_no_other_is_one() {
        let audit = |name: &str| Member::Audit(name.into());
        let numbered = [Member::Dictionary(1), Member::List(7), Member::Changes(123_456_789), Member::Patients(1)];
        let others = [Member::About, audit("00000001.log"), audit("00000001.zst"), Member::Manifest];
        for member in numbered.into_iter().chain(others) {
            assert_eq!(Member::parse(&member.to_string()), Some(member));
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
            assert_eq!(Member::parse(name), None, "{name}");
        }
    }

    #[test]
    fn members_stand_in_their_order_and_are_counted() {
        use Member::{About, Changes, Dictionary, List, Manifest, Patients};
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

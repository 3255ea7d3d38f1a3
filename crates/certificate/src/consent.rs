//! Consent: whom a patient lets see a certificate. It stands beside the certificate, with a history of its own. Contract 7.6, 7.7.

/// What holds for a certificate; open for everyone unless it was said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Consent {
    /// For those who treat: practitioners, therapists, students and specialists, the author excepted.
    pub doctor: Openness,
    /// For the patient's legal and consent representatives.
    pub representative: Openness,
}

/// Whether a certificate may be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Openness {
    /// Access is allowed; holds until the patient says otherwise.
    #[default]
    Open,
    /// Access is not allowed.
    Closed,
}

impl Consent {
    /// Every consent there is.
    pub const ALL: [Consent; 4] = {
        use Openness::{Closed, Open};
        [
            Consent { doctor: Open, representative: Open },
            Consent { doctor: Closed, representative: Open },
            Consent { doctor: Open, representative: Closed },
            Consent { doctor: Closed, representative: Closed },
        ]
    };

    /// The consent as two bits: its place in [`ALL`](Self::ALL).
    pub fn bits(self) -> u8 {
        self.doctor as u8 | (self.representative as u8) << 1
    }

    /// Reads [`bits`](Self::bits) back.
    pub fn from_bits(bits: u8) -> Option<Consent> {
        Consent::ALL.get(usize::from(bits)).copied()
    }

    /// This consent with what is said anew; nothing said leaves it as it is.
    pub fn with(self, doctor: Option<Openness>, representative: Option<Openness>) -> Consent {
        Consent { doctor: doctor.unwrap_or(self.doctor), representative: representative.unwrap_or(self.representative) }
    }
}

impl Openness {
    /// Reads the code as the operations spell it: `open` or `closed`.
    pub fn parse(code: &str) -> Option<Openness> {
        [Openness::Open, Openness::Closed].into_iter().find(|access| access.code() == code)
    }

    /// The code as the operations spell it: `open` or `closed`.
    pub fn code(self) -> &'static str {
        match self {
            Openness::Open => "open",
            Openness::Closed => "closed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_consent_has_bits_of_its_own_and_unknown_bits_are_none() {
        for (at, consent) in Consent::ALL.into_iter().enumerate() {
            assert_eq!((usize::from(consent.bits()), Consent::from_bits(at as u8)), (at, Some(consent)));
        }
        assert_eq!((Consent::from_bits(4), Consent::default().bits()), (None, 0));
    }

    #[test]
    fn what_is_not_said_stays_and_codes_are_spelled_one_way() {
        let closed = Consent::default().with(Some(Openness::Closed), None);
        assert_eq!(closed.with(None, Some(Openness::Closed)), Consent::ALL[3]);
        assert_eq!(closed.with(None, None), closed);
        assert_eq!(Openness::parse("closed"), Some(Openness::Closed));
        for odd in ["OPEN", "Closed", "", " open", "true"] {
            assert_eq!(Openness::parse(odd), None, "{odd}");
        }
    }
}

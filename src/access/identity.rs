//! Who calls.

use std::fmt;

/// Who calls, as a verified token says.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Personal code, bare digits.
    pub person: String,
    pub given_name: Option<String>,
    pub family_name: Option<String>,
    /// As the token spells them: `doctor`.
    pub roles: Vec<String>,
    /// Registry code of the caller's institution.
    pub organization: Option<String>,
    /// Personal code of the patient the token is about.
    pub patient: Option<String>,
    /// Registry code of the institution the caller stands for.
    pub represented_party: Option<String>,
    pub application: Option<String>,
    /// First 16 hexadecimal digits of the SHA-256 of the token.
    pub session: String,
    /// Seconds since 1970 UTC.
    pub expires: i64,
}

/// Without personal data, since what is printed may end in the log.
impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_struct("Identity").field("session", &self.session).field("roles", &self.roles).finish()
    }
}

//! Who calls, as a verified token says.

use std::fmt;

/// Who calls, as a verified token says.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Personal code, bare digits: a leading "EE" of the claim is taken off.
    pub person: String,
    pub given_name: Option<String>,
    pub family_name: Option<String>,
    /// As the token spells them, such as "doctor".
    pub roles: Vec<String>,
    /// Registry code of the caller's institution.
    pub organization: Option<String>,
    /// Personal code of the patient the token is about.
    pub patient: Option<String>,
    /// Registry code.
    pub represented_party: Option<String>,
    pub application: Option<String>,
    /// The first 16 hex digits of the SHA-256 of header and claims of the token: tells one token from another without giving it away.
    pub session: String,
    /// Seconds since 1970 UTC.
    pub expires: i64,
}

/// Tells apart without telling who: logs and panics may show it.
impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let Identity { roles, session, expires, .. } = self;
        let mut shown = formatter.debug_struct("Identity");
        shown.field("roles", &roles.len()).field("session", session).field("expires", expires).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_log_would_show_names_nobody() {
        let identity = Identity {
            person: "37605030299".to_owned(),
            given_name: Some("Mari".to_owned()),
            family_name: Some("Maasikas".to_owned()),
            roles: vec!["doctor".to_owned()],
            organization: Some("90006399".to_owned()),
            patient: Some("39406240015".to_owned()),
            session: "0123456789abcdef".to_owned(),
            ..Identity::default()
        };
        let shown = format!("{identity:?}");
        assert_eq!(shown, "Identity { roles: 1, session: \"0123456789abcdef\", expires: 0, .. }");
    }
}

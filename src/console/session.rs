//! What a browser brings back with each request: its language, and whose part it plays. Nothing of it is kept here.

use serde::{Deserialize, Serialize};

use certificate::search::seal::SealKey;

/// Names of the cookie: over TLS one that no other host and no page in clear can set.
const NAME: &str = "hcert-console";
const NAME_OVER_TLS: &str = "__Host-hcert-console";

/// What the seal of the cookie and those of forms are for, so that neither passes for the other or for a link.
const COOKIE_USE: &[u8] = b"hcert console session 1";
const FORM_USE: &[u8] = b"hcert console form 1";

/// Bytes of a cookie that browsers keep, name and value. RFC 6265, 6.1.
const COOKIE_BYTES_MAX: usize = 4096;

/// The content of the cookie.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Session {
    /// Tells browsers apart: what a form token is made for.
    pub id: String,
    /// As chosen by the reader; else their browser says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// In `hcert dev`: whose part the reader plays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<PartPlayed>,
    /// In `hcert serve`: the access token of the reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// Whom a developer's token shall name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PartPlayed {
    pub role: String,
    /// Personal code.
    pub person: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// Personal code of the patient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patient: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub represented_party: Option<String>,
}

impl Session {
    /// A new one.
    pub(super) fn begin() -> Session {
        Session { id: uuid::Uuid::new_v4().simple().to_string(), ..Session::default() }
    }

    /// The session that a browser brings. `cookies`: the header.
    pub(super) fn read(cookies: &str, is_secure: bool, key: &SealKey) -> Option<Session> {
        let named = format!("{}=", name(is_secure));
        let sealed = cookies.split("; ").find_map(|cookie| cookie.trim().strip_prefix(&named));
        let opened = sealed.and_then(|sealed| key.open_for(COOKIE_USE, sealed));
        let read = opened.and_then(|bytes| serde_json::from_slice::<Session>(&bytes).ok());
        read.filter(|session| !session.id.is_empty())
    }

    /// The header `Set-Cookie`; nothing where it is larger than browsers keep. `root`: what stands before every path of the server.
    pub(super) fn cookie(&self, root: &str, is_secure: bool, key: &SealKey) -> Option<String> {
        let sealed = key.seal_for(COOKIE_USE, serde_json::to_vec(self).ok()?).ok()?;
        // A name with the prefix __Host- demands the whole host.
        let path = if is_secure { "/" } else { &format!("{root}/") };
        let secure = if is_secure { "; Secure" } else { "" };
        let cookie = format!("{}={sealed}", name(is_secure));
        (cookie.len() <= COOKIE_BYTES_MAX).then(|| format!("{cookie}; Path={path}; HttpOnly; SameSite=Strict{secure}"))
    }

    /// What a form of this browser has to bring.
    pub(super) fn form_token(&self, key: &SealKey) -> String {
        key.seal_for(FORM_USE, self.id.clone().into_bytes()).unwrap_or_default()
    }

    pub(super) fn made(&self, form_token: &str, key: &SealKey) -> bool {
        key.open_for(FORM_USE, form_token).is_some_and(|id| id == self.id.as_bytes())
    }
}

fn name(is_secure: bool) -> &'static str {
    if is_secure { NAME_OVER_TLS } else { NAME }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_comes_back_and_a_foreign_or_changed_one_does_not() {
        let key = SealKey::new(&[7; 32]);
        let session = Session { id: "a".to_owned(), language: Some("et".to_owned()), ..Session::default() };
        let cookie = session.cookie("", false, &key).unwrap();
        let sent = cookie.split(';').next().unwrap();
        assert_eq!(Session::read(&format!("x=1; {sent}"), false, &key).unwrap().id, "a");
        for wrong in [&sent[..sent.len() - 2], "hcert-console=", "", "hcert-console=AAAA"] {
            assert!(Session::read(wrong, false, &key).is_none(), "{wrong}");
        }
        assert!(Session::read(sent, false, &SealKey::new(&[8; 32])).is_none());
        assert_ne!(Session::begin().id, Session::begin().id);
        assert!(session.cookie("", true, &key).unwrap().starts_with("__Host-hcert-console="));
    }

    #[test]
    fn a_token_that_no_browser_would_keep_makes_no_cookie() {
        let key = SealKey::new(&[7; 32]);
        let of = |length: usize| Session { token: Some("a".repeat(length)), ..Session::begin() }.cookie("", true, &key);
        assert!(of(2_900).is_some() && of(3_000).is_none());
    }

    #[test]
    fn a_form_is_of_the_browser_that_was_given_it() {
        let key = SealKey::new(&[7; 32]);
        let session = Session { id: "a".to_owned(), ..Session::default() };
        let token = session.form_token(&key);
        assert!(session.made(&token, &key));
        assert!(!Session { id: "b".to_owned(), ..Session::default() }.made(&token, &key));
        let cookie = session.cookie("", false, &key).unwrap();
        let sealed = cookie.split(['=', ';']).nth(1).unwrap();
        assert!(!session.made(sealed, &key) && !session.made("", &key));
    }
}

//! `[access]`: who is let in, and how tokens are read.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config::limits;

/// `[access]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessSettings {
    /// What the command says, and no setting.
    #[serde(skip)]
    pub mode: AccessMode,
    /// Replaces the permissions that ship.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<PathBuf>,
    /// Unset: on in `hcert serve`. Contract 7.7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author_must_be_caller: Option<bool>,
    pub change_by: ChangeBy,
    pub token: AccessToken,
}

/// What the service is run for, as the command says: who is let in, and what is made up. Contract 7.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessMode {
    /// `hcert dev`: everybody on this machine; whoever brings a token has that token's rights. Nothing is real.
    #[default]
    Developer,
    /// `hcert serve`: only who brings a token of the issuer.
    Jwt,
}

/// Who may change a certificate that is there, of those whose role may. Contract 7.7.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeBy {
    #[default]
    Anyone,
    /// Whoever belongs to the author's institution.
    Institution,
    /// The author alone.
    Author,
}

impl AccessMode {
    /// As health, log and data folder spell it.
    pub fn name(self) -> &'static str {
        match self {
            AccessMode::Developer => "developer",
            AccessMode::Jwt => "jwt",
        }
    }

    /// The command that runs the service so.
    pub fn command(self) -> &'static str {
        match self {
            AccessMode::Developer => "hcert dev",
            AccessMode::Jwt => "hcert serve",
        }
    }
}

/// `[access.token]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessToken {
    /// Path of a file, or an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks: Option<String>,
    pub jwks_refresh_s: u64,
    pub jwks_age_max_s: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks_ca: Option<PathBuf>,
    /// File of tokens and persons that are let in no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// Where the issuer authorizes users and issues tokens. The service publishes these addresses, and its console uses them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_endpoint: Option<String>,
    /// Where the issuer ends the session of a user. The console leads there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_session_endpoint: Option<String>,
    pub algorithms: Vec<Algorithm>,
    pub leeway_s: u32,
    pub max_lifetime_s: u32,
    /// Seconds that a token of the developer's token service lives.
    pub developer_seconds: u32,
    /// Each `claim_…` is the name of a claim; dots lead into objects.
    pub claim_person: String,
    pub claim_given_name: String,
    pub claim_family_name: String,
    pub claim_role: String,
    pub claim_organization: String,
    pub claim_patient: String,
    pub claim_represented_party: String,
    pub claim_application: String,
}

/// How a token may be signed. There is no third way, and none without a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Algorithm {
    RS256,
    ES256,
}

impl Algorithm {
    /// As a token's header and a JWK spell it.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::RS256 => "RS256",
            Algorithm::ES256 => "ES256",
        }
    }
}

impl Default for AccessToken {
    fn default() -> Self {
        AccessToken {
            jwks: None,
            jwks_refresh_s: limits::JWKS_REFRESH_S,
            jwks_age_max_s: limits::JWKS_AGE_S_MAX,
            jwks_ca: None,
            denied: None,
            issuer: None,
            audience: None,
            authorization_endpoint: None,
            token_endpoint: None,
            end_session_endpoint: None,
            algorithms: vec![Algorithm::RS256, Algorithm::ES256],
            leeway_s: limits::TOKEN_LEEWAY_S,
            max_lifetime_s: limits::TOKEN_LIFETIME_S_MAX,
            developer_seconds: limits::DEVELOPER_TOKEN_S,
            claim_person: "sub".to_owned(),
            claim_given_name: "given_name".to_owned(),
            claim_family_name: "family_name".to_owned(),
            claim_role: "role".to_owned(),
            claim_organization: "organization".to_owned(),
            claim_patient: "patient".to_owned(),
            claim_represented_party: "representedParty".to_owned(),
            claim_application: "application".to_owned(),
        }
    }
}

impl AccessToken {
    /// Whether `jwks` is an address rather than a file.
    pub fn jwks_is_address(&self) -> bool {
        self.jwks.as_deref().is_some_and(|jwks| jwks.contains("://"))
    }

    /// Every claim's setting and the name it gives.
    pub fn claims(&self) -> [(&'static str, &str); 8] {
        [
            ("claim_person", &self.claim_person),
            ("claim_given_name", &self.claim_given_name),
            ("claim_family_name", &self.claim_family_name),
            ("claim_role", &self.claim_role),
            ("claim_organization", &self.claim_organization),
            ("claim_patient", &self.claim_patient),
            ("claim_represented_party", &self.claim_represented_party),
            ("claim_application", &self.claim_application),
        ]
    }
}

impl AccessSettings {
    /// Whether the author of what is written has to be the token's person, of the token's institution. Contract 7.7.
    pub fn author_must_be_caller(&self) -> bool {
        self.author_must_be_caller.unwrap_or(self.mode == AccessMode::Jwt)
    }
}

/// What is wrong with `[access]`, each with its key.
pub(super) fn problems(access: &AccessSettings) -> Vec<String> {
    let token = &access.token;
    let mut problems = Vec::new();
    if access.mode == AccessMode::Jwt && token.jwks.is_none() {
        problems.push(
            "`hcert serve` lets nobody in without a token, so it needs access.token.jwks, the keys that tokens are signed with (and issuer \
             and audience beside it); `hcert dev` runs the whole service for trying it out, without any setting"
                .to_owned(),
        );
    }
    if token.jwks.is_some() {
        for (key, value) in [("issuer", &token.issuer), ("audience", &token.audience)] {
            if value.as_deref().is_none_or(str::is_empty) {
                problems.push(format!(
                    "access.token.{key} is needed: whose tokens, and for whom, the keys alone do not say"
                ));
            }
        }
    }
    if token.jwks_age_max_s < token.jwks_refresh_s {
        problems.push("access.token.jwks_age_max_s must not be smaller than access.token.jwks_refresh_s".to_owned());
    }
    if token.jwks.as_deref().is_some_and(str::is_empty) {
        problems.push("access.token.jwks is empty".to_owned());
    }
    if let Some(address) = token.jwks.as_deref().filter(|_| token.jwks_is_address()) {
        if address.contains(['@', '#', ' ']) {
            problems.push("access.token.jwks must hold no user, password, fragment or blank".to_owned());
        } else if let Some(rest) = address.strip_prefix("http://") {
            if !is_loopback(rest) {
                problems.push(format!(
                    "access.token.jwks = '{address}' is not https; without it keys come only from this machine"
                ));
            }
        } else if !address.starts_with("https://") {
            problems.push(format!("access.token.jwks = '{address}' is no address that begins with https://"));
        }
    }
    if token.algorithms.is_empty() {
        problems.push("access.token.algorithms names none of RS256, ES256".to_owned());
    }
    for (key, name) in token.claims() {
        if name.split('.').any(str::is_empty) {
            problems
                .push(format!("access.token.{key} = '{name}' is no name of a claim, such as sub or user.personalCode"));
        }
    }
    problems
}

/// Whether an address behind its scheme leads to this machine.
pub(super) fn is_loopback(rest: &str) -> bool {
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(change: impl FnOnce(&mut AccessSettings)) -> String {
        let mut access = AccessSettings::default();
        change(&mut access);
        problems(&access).join("\n")
    }

    fn jwt(change: impl FnOnce(&mut AccessToken)) -> String {
        told(|access| {
            access.mode = AccessMode::Jwt;
            access.token.jwks = Some("keys.json".to_owned());
            access.token.issuer = Some("https://issuer.example.ee".to_owned());
            access.token.audience = Some("hcert".to_owned());
            change(&mut access.token);
        })
    }

    #[test]
    fn letting_in_by_token_needs_keys_an_issuer_and_an_audience() {
        assert_eq!(told(|_| ()), "");
        assert_eq!(jwt(|_| ()), "");
        assert!(jwt(|token| token.jwks = None).contains("needs access.token.jwks"));
        assert!(jwt(|token| token.issuer = None).contains("access.token.issuer"));
        assert!(jwt(|token| token.audience = Some(String::new())).contains("access.token.audience"));
        let both = told(|access| access.token.jwks = Some("keys.json".to_owned()));
        assert!(both.contains("issuer") && both.contains("audience"), "{both}");
    }

    #[test]
    fn keys_come_in_clear_only_from_this_machine() {
        let of = |address: &str| jwt(|token| token.jwks = Some(address.to_owned()));
        for right in ["https://a.ee/jwks", "http://127.0.0.1:1/jwks", "http://[::1]/jwks", "http://localhost/jwks"] {
            assert_eq!(of(right), "", "{right}");
        }
        for wrong in ["http://a.ee/jwks", "http://127.0.0.1.a.ee/", "ftp://a.ee/", "https://user:word@a.ee/", ""] {
            assert!(of(wrong).contains("access.token.jwks"), "{wrong}");
        }
    }

    #[test]
    fn claims_have_names_and_algorithms_are_two() {
        assert!(jwt(|token| token.claim_person = "user..code".to_owned()).contains("claim_person"));
        assert!(jwt(|token| token.claim_role = String::new()).contains("claim_role"));
        assert!(jwt(|token| token.algorithms.clear()).contains("algorithms"));
        assert!(toml::from_str::<AccessToken>("algorithms = [\"HS256\"]").is_err());
        assert!(toml::from_str::<AccessToken>("algorithms = [\"none\"]").is_err());
    }

    #[test]
    fn the_author_has_to_be_the_caller_where_tokens_are_asked_for() {
        let mut access = AccessSettings::default();
        assert!(!access.author_must_be_caller());
        access.mode = AccessMode::Jwt;
        assert!(access.author_must_be_caller());
        access.author_must_be_caller = Some(false);
        assert!(!access.author_must_be_caller());
    }
}

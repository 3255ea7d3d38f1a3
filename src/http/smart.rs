//! `/.well-known/smart-configuration`: where the tokens of this service come from. It needs no token, like `/metadata`.
//!
//! It contains only what the settings say. No launch of SMART App Launch is supported, so `capabilities` is empty.
//!
//! Source: SMART App Launch 2.2, "Conformance"; Decision 165.

use serde_json::{Map, Value, json};

use super::settings::Settings;
use super::token::{KEYS_PATH, TOKEN_PATH};
use super::x_road;
use crate::config::{AccessMode, Config};

pub(super) const SMART_PATH: &str = "/.well-known/smart-configuration";

/// What the settings say about tokens.
#[derive(Clone, Debug)]
pub enum SmartConfiguration {
    /// The developer's token service issues them.
    Developer,
    /// Another system issues them; this is the document as it is served.
    Issuer(String),
}

impl SmartConfiguration {
    /// `None` where no issuer is set.
    pub fn of(config: &Config) -> Option<SmartConfiguration> {
        let token = &config.access.token;
        if config.access.mode == AccessMode::Developer {
            return Some(SmartConfiguration::Developer);
        }
        let jwks = token.jwks.as_ref().filter(|_| token.jwks_is_address());
        let told = [
            ("issuer", Some(token.issuer.as_ref()?)),
            ("jwks_uri", jwks),
            ("authorization_endpoint", token.authorization_endpoint.as_ref()),
            ("token_endpoint", token.token_endpoint.as_ref()),
        ];
        let mut document: Map<String, Value> =
            told.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))).collect();
        document.insert("capabilities".to_owned(), json!([]));
        Some(SmartConfiguration::Issuer(Value::Object(document).to_string()))
    }

    /// The document for a request under this base path.
    pub fn document(&self, settings: &Settings, base_path: &str) -> String {
        if let SmartConfiguration::Issuer(document) = self {
            return document.clone();
        }
        let origin = settings.root();
        let token = match base_path == settings.base_path {
            true => TOKEN_PATH.to_owned(),
            false => x_road::token_path(settings, base_path),
        };
        let document = json!({
            "issuer": &*settings.base_url,
            "jwks_uri": format!("{origin}{KEYS_PATH}"),
            "token_endpoint": format!("{origin}{token}"),
            "grant_types_supported": [],
            "code_challenge_methods_supported": [],
            "capabilities": [],
        });
        document.to_string()
    }
}

//! `/.well-known/smart-configuration`: where the tokens of this service come from. It needs no token, like `/metadata`.
//!
//! It contains only what the settings say. No launch of SMART App Launch is supported, so `capabilities` is empty.
//!
//! Source: SMART App Launch 2.2, "Conformance"; Decision 165.

use serde_json::json;

use super::address::{KEYS_PATH, TOKEN_PATH};
use super::settings::{HttpSettings, SmartConfiguration};
use super::x_road;

impl SmartConfiguration {
    /// The document for a request under this base path.
    pub fn document(&self, settings: &HttpSettings, base_path: &str) -> String {
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

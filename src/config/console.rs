//! `[console]`: where people find the pages of `hcert serve`, and how they sign in.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::limits::EXPIRY_WARNING_S;

/// `[console]`. Without an address there are no pages in `hcert serve`; `hcert dev` has them at its own address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConsoleSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// Scheme, host and port as browsers see them, without a slash at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The name of the console at the issuer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret_file: Option<PathBuf>,
    /// Texts of further languages. The name of a file without its ending is the code of its language.
    pub texts: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub announcement: Option<String>,
    pub expiry_warning_s: u64,
}

impl Default for ConsoleSettings {
    fn default() -> Self {
        ConsoleSettings {
            listen: None,
            base_url: None,
            client_id: None,
            client_secret_file: None,
            texts: Vec::new(),
            announcement: None,
            expiry_warning_s: EXPIRY_WARNING_S,
        }
    }
}

impl ConsoleSettings {
    /// The language of a file of texts: two or three small letters, such as `ru` of `texts/ru.json`.
    pub fn language(file: &Path) -> Option<&str> {
        let name = file.file_stem()?.to_str()?;
        let is_code = (2..=3).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_lowercase());
        is_code.then_some(name)
    }
}

//! Who may do what.

use std::sync::Arc;

use crate::access::rights::{BUILT_IN, Permissions};
use crate::audit::AuditTrail;
use certificate::Names;

/// Who may do what.
#[derive(Clone)]
pub struct Policy {
    pub permissions: Permissions,
    pub tokens: TokenPolicy,
    /// Only the author creates and changes a certificate. Contract 7.7.
    pub author_must_be_caller: bool,
    /// Where every access is written down; nowhere in benches that measure without.
    pub audit: Option<Arc<AuditTrail>>,
}

impl Default for Policy {
    /// The table that comes with the service.
    fn default() -> Self {
        let permissions = Permissions::read(BUILT_IN, &Names::default());
        let permissions = permissions.expect("a test holds that the table is readable");
        Policy { permissions, tokens: TokenPolicy::default(), author_must_be_caller: false, audit: None }
    }
}

/// The rules for tokens, as far as clients have to know them.
#[derive(Clone, Debug, Default)]
pub struct TokenPolicy {
    /// Whether requests need a token: mode `jwt`. Contract 7.2.
    pub is_needed: bool,
    /// Addresses of the issuer, as far as the settings say.
    pub authorization_endpoint: Option<String>,
    pub token_endpoint: Option<String>,
}

//! Addresses: parts of them, and the paths that are known beside those of FHIR.

/// The path without the one slash that may end it. Contract 2.1.
pub(super) fn without_slash(path: &str) -> &str {
    path.strip_suffix('/').unwrap_or(path)
}

/// Scheme and host of an address.
pub(super) fn origin(address: &str) -> &str {
    let host = address.find("://").map_or(0, |at| at + 3);
    &address[..address[host..].find('/').map_or(address.len(), |at| host + at)]
}

pub(super) const SMART_PATH: &str = "/.well-known/smart-configuration";

/// The description of the API, from the root of the server as well as below the base path.
pub(super) const OPENAPI_PATH: &str = "/openapi.json";

/// Where the service is asked for a token, and for the key it signs them with; from the root of the server.
pub(super) const TOKEN_PATH: &str = "/auth/v2/token";

pub(super) const KEYS_PATH: &str = "/.well-known/jwks.json";

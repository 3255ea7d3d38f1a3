//! Bounds that several files of this module share: what each bounds, its unit, and why it is so large.

/// Characters of a role, an organization or an application in the body that asks for a token.
pub const TOKEN_ORDER_CHARACTERS_MAX: usize = 64;

/// Bytes of a JWK set. An issuer has two to four keys of half a kilobyte, some with certificates of several.
pub const JWKS_BYTES_MAX: usize = 256 * 1024;

/// Seconds between two looks at a file of keys, or of what is denied, to see whether it changed.
pub const JWKS_LOOK_S: u64 = 2;

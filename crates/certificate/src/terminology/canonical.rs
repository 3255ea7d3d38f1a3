//! Canonical addresses.

/// Canonical addresses may end with `|version`.
pub(super) fn without_version(url: &str) -> &str {
    url.split_once('|').map_or(url, |(url, _)| url)
}

//! Files of certificates and keys.

use std::fmt;
use std::path::Path;

use base::regular_file;

pub(super) fn contents(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    regular_file::contents(path, bytes_max).map_err(|error| unusable(path, &error))
}

pub(super) fn unusable(path: &Path, problem: &dyn fmt::Display) -> String {
    format!("{}: {problem}", path.display())
}

//! Files of certificates and keys.

use std::fmt;
use std::io::Read;
use std::path::Path;

use base::regular_file;

pub(super) fn contents(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    let file = regular_file::open(path).map_err(|error| unusable(path, &error))?;
    let mut bytes = Vec::new();
    let read = file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|error| unusable(path, &error))?;
    if read as u64 > bytes_max {
        return Err(unusable(path, &format!("it is larger than {bytes_max} bytes")));
    }
    Ok(bytes)
}

pub(super) fn unusable(path: &Path, problem: &dyn fmt::Display) -> String {
    format!("{}: {problem}", path.display())
}

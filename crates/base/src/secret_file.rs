//! Files of secrets that settings name.

use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::regular_file;

/// The text of such a file, without white space around it.
///
/// # Errors
/// In words: it cannot be read, is no UTF-8 or larger than `bytes_max`. Where no such file exists, the words do not repeat the path: somebody
/// may have written the secret itself in the place of its file.
pub fn read(path: &Path, bytes_max: u64) -> Result<String, String> {
    let named = |problem: &str| format!("{}: {problem}", path.display());
    let mut text = String::new();
    let read = regular_file::open(path).and_then(|file| file.take(bytes_max + 1).read_to_string(&mut text));
    match read {
        Err(_) if names_no_file(path) => {
            Err("there is no such file (its path is not shown, since it may be the secret itself)".to_owned())
        }
        Err(error) => Err(named(&format!("it cannot be read: {error}"))),
        Ok(_) if text.len() as u64 > bytes_max => Err(named(&format!("it is larger than {bytes_max} bytes"))),
        Ok(_) => Ok(text.trim().to_owned()),
    }
}

/// A text that is no path may be too long for one, or lead through what is no folder.
fn names_no_file(path: &Path) -> bool {
    path.try_exists().map_or_else(|error| error.kind() != ErrorKind::PermissionDenied, |exists| !exists)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_secret_in_the_place_of_its_file_is_not_repeated() {
        let long = "s3cret".repeat(2_000);
        for secret in ["s3cret", "s3cret/Ab+c=", &long, "s3cret\0"] {
            let told = read(Path::new(secret), 100).unwrap_err();
            assert!(told.contains("no such file") && !told.contains("s3cret"), "{told}");
        }
    }

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, " abc\n").unwrap();
        assert_eq!(read(&path, 5).as_deref(), Ok("abc"));
        let told = read(&path, 4).unwrap_err();
        assert!(told.contains("token: it is larger than 4 bytes"), "{told}");
        assert!(read(folder.path(), 4).unwrap_err().contains("cannot be read"));
    }
}

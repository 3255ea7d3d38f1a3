//! Files and folders that other users of the machine can read or change.

use crate::config::{Config, exposure};
use crate::management::{Part, Status, Told, Watched};

/// Watches everything that settings name.
pub struct Files(pub Config);

impl Watched for Files {
    fn look(&self, told: &mut Told) {
        told.add(part(&exposure::all(&self.0)));
    }
}

/// `exposed` are the warnings.
pub fn part(exposed: &[String]) -> Part {
    match exposed {
        [] => Part::new("files", Status::Ok, "Only the service's user can change its files, and read what is secret."),
        exposed => Part::new("files", Status::Degraded, exposed.join("; ")).with("files", exposed.len() as u64),
    }
}

//! Files and folders that other users of the machine can read or change.

use crate::management::{Part, Status, Told, Watched};

/// Watches everything that settings name: tells a warning for each.
pub struct Files(pub Box<dyn Fn() -> Vec<String> + Send + Sync>);

impl Watched for Files {
    fn look(&self, told: &mut Told) {
        told.add(part(&(self.0)()));
    }
}

/// `exposed` are the warnings.
pub(crate) fn part(exposed: &[String]) -> Part {
    match exposed {
        [] => Part::new("files", Status::Ok, "Only the service's user can change its files, and read what is secret."),
        exposed => Part::new("files", Status::Degraded, exposed.join("; ")).with("files", exposed.len() as u64),
    }
}

//! Files and folders that other users of the machine can read or change.

use crate::management::{HealthPart, HealthStatus, PartReports, WatchedPart};

/// Watches everything that settings name: tells a warning for each.
pub struct FilesPart(pub Box<dyn Fn() -> Vec<String> + Send + Sync>);

impl WatchedPart for FilesPart {
    fn check(&self, told: &mut PartReports) {
        told.add(part(&(self.0)()));
    }
}

/// `exposed` are the warnings.
pub(crate) fn part(exposed: &[String]) -> HealthPart {
    match exposed {
        [] => HealthPart::new(
            "files",
            HealthStatus::Ok,
            "Only the service's user can change its files, and read what is secret.",
        ),
        exposed => {
            HealthPart::new("files", HealthStatus::Degraded, exposed.join("; ")).with("files", exposed.len() as u64)
        }
    }
}

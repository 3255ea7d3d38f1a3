//! What the service is run for.

use crate::management::{Part, Status, Told, Watched};

/// Says that nothing of `hcert dev` is real. Contract 7.2.
pub struct DeveloperMode;

impl Watched for DeveloperMode {
    fn look(&self, told: &mut Told) {
        let words = "Developer mode (hcert dev): whoever comes may do everything, and people are made up. `hcert serve` is for real data.";
        told.add(Part::new("mode", Status::Degraded, words));
    }
}

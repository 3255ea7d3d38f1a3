//! What the service is run for.

use crate::management::{HealthPart, HealthStatus, PartReports, WatchedPart};

/// Says that nothing of `hcert dev` is real. Contract 7.2.
pub struct DeveloperMode;

impl WatchedPart for DeveloperMode {
    fn check(&self, told: &mut PartReports) {
        let words = "Developer mode (hcert dev): every caller may do everything, and the people are made up. `hcert serve` is for real data.";
        told.add(HealthPart::new("mode", HealthStatus::Degraded, words));
    }
}

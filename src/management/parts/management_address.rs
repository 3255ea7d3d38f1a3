//! The management address itself: its token and its certificate, where it has them.

use std::sync::Arc;

use super::tls;
use crate::management::{CallerGuard, PartReports, WatchedPart};

/// Watches what the management address asks of its callers.
pub struct ManagementAddress(pub Arc<CallerGuard>);

impl WatchedPart for ManagementAddress {
    fn check(&self, told: &mut PartReports) {
        let now = crate::tls::now();
        let certificate = self
            .0
            .tls
            .as_ref()
            .map(|server_certificate| tls::part("management_tls", &server_certificate.status(now), now));
        for part in certificate.into_iter().chain(self.0.token_part()) {
            told.add(part);
        }
    }
}

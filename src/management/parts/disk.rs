//! Room on the disk.

use std::path::PathBuf;

use crate::management::{HealthPart, HealthStatus, PartReports, WatchedPart};
use base::metrics::names::{DISK_FREE, DISK_TOTAL};

/// Watches the file system of a folder.
pub struct DiskPart {
    pub folder: PathBuf,
    /// Below this it is degraded.
    pub free_bytes_min: u64,
}

impl WatchedPart for DiskPart {
    fn check(&self, told: &mut PartReports) {
        let disk = engine::DiskSpace::of(&self.folder);
        told.add(part(disk, self.free_bytes_min));
        if let Some(engine::DiskSpace { free_bytes, total_bytes }) = disk {
            told.readings.gauge(&DISK_FREE, free_bytes as f64);
            told.readings.gauge(&DISK_TOTAL, total_bytes as f64);
        }
    }
}

pub(crate) fn part(disk: Option<engine::DiskSpace>, free_bytes_min: u64) -> HealthPart {
    let Some(engine::DiskSpace { free_bytes, total_bytes }) = disk else {
        return HealthPart::new(
            "disk",
            HealthStatus::Degraded,
            "The system does not report the free space of the disk.",
        );
    };
    let (status, words) = match free_bytes < free_bytes_min {
        true => (HealthStatus::Degraded, "The disk is nearly full."),
        false => (HealthStatus::Ok, "The disk has room."),
    };
    let part = HealthPart::new("disk", status, words).with("free_bytes", free_bytes).with("total_bytes", total_bytes);
    part.with("free_bytes_min", free_bytes_min)
}

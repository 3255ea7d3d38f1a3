//! Whether the limit of open files leaves room for the connections of the settings.

use crate::management::{HealthPart, HealthStatus, PartReports, WatchedPart};

/// The service does not start where the limit of open files leaves fewer connections than this, or than the setting.
const CONNECTIONS_FITTING_MIN: usize = 16;

/// How many connections there may be.
pub struct Connections {
    /// `server.connections_max`
    pub wanted: usize,
    /// As many of them as the limit of open files allows.
    pub fitting: usize,
}

impl Connections {
    /// Whether enough fit that the service is of use.
    ///
    /// # Errors
    /// The limit of open files leaves too few.
    pub fn check(&self) -> Result<(), String> {
        let Connections { wanted, fitting } = self;
        match *fitting < CONNECTIONS_FITTING_MIN.min(*wanted) {
            true => Err(format!(
                "the limit of open files allows {fitting} of {wanted} connections, and {CONNECTIONS_FITTING_MIN} are the fewest; \
                 raise it (LimitNOFILE of the unit, ulimit -n)"
            )),
            false => Ok(()),
        }
    }
}

impl WatchedPart for Connections {
    fn check(&self, told: &mut PartReports) {
        told.add(part(self));
    }
}

/// The part `connections`.
pub(crate) fn part(Connections { wanted, fitting }: &Connections) -> HealthPart {
    let (status, words) = match fitting < wanted {
        true => {
            let words = format!("The limit of open files allows {fitting} of {wanted} connections. Raise LimitNOFILE.");
            (HealthStatus::Degraded, words)
        }
        false => (HealthStatus::Ok, "The limit of open files allows all connections of the settings.".to_owned()),
    };
    HealthPart::new("connections", status, words).with("connections_max", *fitting as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_allows_fewer_connections_is_told_and_one_that_allows_hardly_any_refuses_the_start() {
        for (wanted, fitting, status, starts) in [
            (1024, 1024, HealthStatus::Ok, true),
            (1024, 1023, HealthStatus::Degraded, true),
            (1024, CONNECTIONS_FITTING_MIN, HealthStatus::Degraded, true),
            (1024, CONNECTIONS_FITTING_MIN - 1, HealthStatus::Degraded, false),
            (2, 2, HealthStatus::Ok, true),
            (2, 1, HealthStatus::Degraded, false),
        ] {
            let connections = Connections { wanted, fitting };
            assert_eq!(
                (part(&connections).status, connections.check().is_ok()),
                (status, starts),
                "{wanted} {fitting}"
            );
        }
        let degraded = part(&Connections { wanted: 9, fitting: 8 });
        assert!(!degraded.holds_up && degraded.words.contains("LimitNOFILE"), "{degraded:?}");
        assert!(Connections { wanted: 1024, fitting: 1 }.check().unwrap_err().contains("LimitNOFILE"));
    }
}

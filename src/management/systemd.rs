//! What systemd wants to know of a service (`Type=notify`): when it is ready, that it is alive, that it stops, that it needs more time.
//!
//! Source: sd_notify(3), sd_watchdog_enabled(3). Messages are datagrams that never wait: a service manager that does not read loses them.

use std::env;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use super::ServicePhase;
use base::log::event;

/// Seconds of more time that the service asks systemd for while it opens or closes the data folder.
const SYSTEMD_EXTENSION_S: u64 = 30;

/// Seconds for which it asks for more time in all while it closes: a disk that hangs must not keep a stopped service for ever.
const SYSTEMD_CLOSING_S_MAX: u64 = 600;

/// The service manager that started this process.
pub(super) struct Systemd {
    socket: UnixDatagram,
    address: SocketAddr,
    /// Seconds between two signs of life; none if it wants none.
    watchdog_s: Option<u64>,
    /// What was reported last, and for how many seconds that has held.
    reported: Option<ServicePhase>,
    holds_s: u64,
    /// The kinds of failure that the log has named.
    failures: Vec<ErrorKind>,
}

impl Systemd {
    /// The one that the environment names; none where there is none.
    /// One that cannot be used is none either, and a line of the log names it: it is no reason not to serve.
    pub(super) fn of_environment() -> Option<Systemd> {
        let name = env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty())?;
        let number = |name| env::var(name).ok()?.parse::<u64>().ok();
        let is_ours = number("WATCHDOG_PID").is_none_or(|id| id == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|_| is_ours).map(Duration::from_micros);
        Systemd::new(&name, watchdog).inspect_err(|error| event!(SYSTEMD_UNUSABLE, %error)).ok()
    }

    /// One that listens at a path, or at an abstract name behind `@`. Without a sign of life within `watchdog` it ends the service.
    fn new(name: &OsStr, watchdog: Option<Duration>) -> io::Result<Systemd> {
        let address = match name.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            _ => SocketAddr::from_pathname(name)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        // sd_watchdog_enabled(3) asks for half of the time or less.
        let watchdog_s = watchdog.map(|time| (time.as_secs() / 4).max(1));
        Ok(Systemd { socket, address, watchdog_s, reported: None, holds_s: 0, failures: Vec::new() })
    }

    /// Reports a phase that is new, more time that it needs, and life if there is some. To be called once a second with `second`, and
    /// whenever the phase changes.
    pub(super) fn report(&mut self, phase: ServicePhase, is_live: bool, second: bool) {
        let is_new = self.reported.replace(phase) != Some(phase);
        self.holds_s = if is_new { 0 } else { self.holds_s + u64::from(second) };
        let mut message = String::new();
        if is_new {
            message.push_str(match phase {
                ServicePhase::Opening => "STATUS=The data folder is being opened.\n",
                ServicePhase::Serving => "READY=1\nSTATUS=Requests are answered.\n",
                ServicePhase::Draining => "STOPPING=1\nSTATUS=Requests under way are finished.\n",
                ServicePhase::Closing => "STOPPING=1\nSTATUS=The data folder is being closed.\n",
            });
        }
        let is_time = |every: u64| is_new || (second && self.holds_s.is_multiple_of(every));
        let may_last = match phase {
            ServicePhase::Serving => false,
            ServicePhase::Opening | ServicePhase::Draining => true,
            ServicePhase::Closing => self.holds_s < SYSTEMD_CLOSING_S_MAX,
        };
        if may_last && is_live && is_time(SYSTEMD_EXTENSION_S / 3) {
            message.push_str(&format!("EXTEND_TIMEOUT_USEC={}\n", SYSTEMD_EXTENSION_S * 1_000_000));
        }
        if is_live && self.watchdog_s.is_some_and(is_time) {
            message.push_str("WATCHDOG=1\n");
        }
        if !message.is_empty()
            && let Err(error) = self.socket.send_to_addr(message.as_bytes(), &self.address)
        {
            match self.failures.contains(&error.kind()) {
                true => event!(SYSTEMD_UNREACHED, %error),
                false => {
                    event!(SYSTEMD_UNUSABLE, %error);
                    self.failures.push(error.kind());
                }
            }
            self.reported = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was sent, one text for each message.
    fn sent(socket: &UnixDatagram) -> Vec<String> {
        socket.set_nonblocking(true).unwrap();
        let mut bytes = [0; 1024];
        std::iter::from_fn(|| socket.recv(&mut bytes).ok().map(|count| bytes[..count].to_vec()))
            .map(|bytes| String::from_utf8(bytes).unwrap())
            .collect()
    }

    fn pair(watchdog: Option<u64>) -> (tempfile::TempDir, UnixDatagram, Systemd) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let systemd = Systemd::new(path.as_os_str(), watchdog.map(Duration::from_secs)).unwrap();
        (folder, socket, systemd)
    }

    #[test]
    fn each_phase_is_reported_once_and_life_every_quarter_of_the_watchdogs_time() {
        let (_folder, socket, mut systemd) = pair(Some(8));
        let (opening, serving) = (ServicePhase::Opening, ServicePhase::Serving);
        for (phase, is_live, second, expected) in [
            (
                opening,
                true,
                false,
                &["STATUS=The data folder is being opened.", "EXTEND_TIMEOUT_USEC=30000000", "WATCHDOG=1"][..],
            ),
            (opening, true, true, &[]),
            (opening, true, true, &["WATCHDOG=1"]),
            (serving, true, false, &["READY=1", "STATUS=Requests are answered.", "WATCHDOG=1"]),
            (serving, true, false, &[]),
            (serving, true, true, &[]),
            (serving, false, true, &[]),
            (serving, true, true, &[]),
            (serving, true, true, &["WATCHDOG=1"]),
        ] {
            systemd.report(phase, is_live, second);
            let lines: Vec<String> = sent(&socket).concat().lines().map(str::to_owned).collect();
            assert_eq!(lines, expected, "{phase:?} {is_live} {second}");
        }
    }

    #[test]
    fn more_time_is_asked_for_while_it_opens_and_closes_but_not_for_ever() {
        let (_folder, socket, mut systemd) = pair(None);
        let mut asked = |phase, seconds| {
            let second = |_| {
                systemd.report(phase, true, true);
                sent(&socket).concat().matches("EXTEND_TIMEOUT_USEC").count() as u64
            };
            (0..seconds).map(second).sum::<u64>()
        };
        assert_eq!(asked(ServicePhase::Opening, 100), 10);
        assert_eq!(asked(ServicePhase::Serving, 100), 0);
        assert_eq!(asked(ServicePhase::Closing, 2 * SYSTEMD_CLOSING_S_MAX), SYSTEMD_CLOSING_S_MAX / 10);
        systemd.report(ServicePhase::Opening, false, true);
        assert!(!sent(&socket).concat().contains("EXTEND"), "what hangs gets no more time");
    }

    #[test]
    fn abstract_names_are_reached_and_a_manager_that_does_not_read_costs_nothing() {
        let name = format!("hcert-test-{}", std::process::id());
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let mut systemd = Systemd::new(OsStr::new(&format!("@{name}")), Some(Duration::from_secs(1))).unwrap();
        for _ in 0..10_000 {
            systemd.report(ServicePhase::Serving, true, true);
        }
        assert!(sent(&socket)[0].starts_with("READY=1\n"));
        // What found no room is sent again.
        while systemd.socket.send_to_addr(b"X=1", &systemd.address).is_ok() {}
        systemd.report(ServicePhase::Draining, true, false);
        assert!(!sent(&socket).concat().contains("STOPPING"));
        systemd.report(ServicePhase::Draining, true, true);
        assert!(sent(&socket).concat().starts_with("STOPPING=1\n"));
        drop(socket);
        systemd.report(ServicePhase::Draining, true, true);
        systemd.report(ServicePhase::Draining, true, true);
        // Each kind of failure is named once.
        assert_eq!(systemd.failures, [ErrorKind::WouldBlock, ErrorKind::ConnectionRefused]);
    }
}

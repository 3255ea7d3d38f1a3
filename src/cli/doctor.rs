//! `hcert doctor`: whether this machine and these settings are fit for the service, before it is started or beside it.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use hyper::Uri;
use serde_json::json;

use super::config::ServingCommand;
use super::{Common, Failure, open, open_files, say, serve, writable};
use crate::config::{Config, RegistryMode, exposure, is_within};
use crate::http;
use crate::management::{self, HealthPart, HealthStatus, PartReports, WatchedPart};
use engine::STORE_FILE;

/// Milliseconds that a connection to the issuer, or to the patient registry, may take to come about.
const DOCTOR_CONNECT_MS: u64 = 3_000;

/// Check whether this machine and these settings are fit for the service, and say what to do where they are not
///
/// Nothing is changed and no store is opened, so it may run before the first start and beside a running server. The exit code is 1 when
/// the service could not run so.
#[derive(Args, Debug)]
pub(super) struct DoctorArguments {
    /// The command that is to run
    #[arg(long = "for", value_enum, value_name = "COMMAND", default_value = "serve")]
    command: ServingCommand,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

impl DoctorArguments {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        let DoctorArguments { command, json, common } = self;
        let mode = command.mode();
        let loaded = common.load_with(|config: &mut Config| config.access.mode = mode, serve::named_files)?;
        let settings = match loaded.warnings.is_empty() {
            true => part("settings", HealthStatus::Ok, format!("{} can use them.", mode.command())),
            false => part("settings", HealthStatus::Degraded, loaded.warnings.join(" ")),
        };
        let parts: Vec<HealthPart> = std::iter::once(settings).chain(parts(&loaded.config)).collect();
        say(&if json { in_json(&parts) } else { in_words(&parts) })?;
        match parts.iter().filter(|part| part.status == HealthStatus::Down).count() {
            0 => Ok(()),
            down => Err(Failure::Failed(format!("{} could not run: see the {down} marked as down", mode.command()))),
        }
    }
}

fn part(name: &'static str, status: HealthStatus, words: impl Into<String>) -> HealthPart {
    HealthPart::new(name, status, words)
}

/// How a neighbour is. The service starts without it, and refuses what needs it.
fn neighbour(name: &'static str, fine: &str, reached: Result<(), String>) -> HealthPart {
    match reached {
        Ok(()) => part(name, HealthStatus::Ok, fine),
        Err(problem) => part(name, HealthStatus::Degraded, problem),
    }
}

/// All but the settings themselves.
fn parts(config: &Config) -> Vec<HealthPart> {
    let folder = &config.storage.data;
    let running = open::expect_unused(folder, true).is_err();
    let mut told = PartReports::default();
    told.add(data(config, running));
    let there = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
    let there = there.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/")).to_owned();
    let free_bytes_min = config.management.disk_free_mb_min * 1024 * 1024;
    management::DiskPart { folder: there, free_bytes_min }.check(&mut told);
    told.add(clock());
    serve::memory(config).check(&mut told);
    let wanted = config.server.connections_max;
    match open_files::make_room_for(wanted) {
        Ok(fitting) => WatchedPart::check(&management::Connections { wanted, fitting }, &mut told),
        Err(error) => told.add(part("connections", HealthStatus::Down, format!("the limit of open files: {error}"))),
    }
    let named = config.clone();
    management::FilesPart(Box::new(move || exposure::all(&named))).check(&mut told);
    told.add(tls(config));
    told.add(listening("listen", "--listen", config.server.listen.parse().ok(), running));
    told.add(match config.management.address() {
        Some(address) => listening("management", "management.listen", Some(address), running),
        None => part("management", HealthStatus::Degraded, "Health and metrics are off: management.listen is empty."),
    });
    told.add(keys(config));
    told.add(registry(config));
    told.add(backup(config));
    told.parts
}

fn data(config: &Config, running: bool) -> HealthPart {
    let folder = config.storage.data.display();
    if running {
        return part(
            "data",
            HealthStatus::Ok,
            format!("{folder} is in use by a running process; `hcert health` asks a server how it is."),
        );
    }
    match writable::hindrance(&config.storage.data) {
        Some(why) => part("data", HealthStatus::Down, format!("Nothing can be written into {folder}, since {why}.")),
        None => match open::expect_regular_files(&config.storage.data) {
            Err(problem) => part("data", HealthStatus::Down, problem),
            Ok(()) if config.storage.data.join(STORE_FILE).exists() => {
                part("data", HealthStatus::Ok, format!("{folder} holds a store; `hcert verify` checks it."))
            }
            Ok(()) => {
                part("data", HealthStatus::Ok, format!("{folder} holds no store yet; the first start makes one."))
            }
        },
    }
}

/// The clock of the system, and whether it is kept right.
fn clock() -> HealthPart {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    if seconds < CLOCK_SECONDS_MIN {
        return part("clock", HealthStatus::Down, "The system clock is years behind; set it right.");
    }
    // SAFETY: all bytes zero are a valid value of this structure of numbers.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the call reads `state`, in which no mode is set, so that it changes nothing, and writes to it.
    match unsafe { libc::adjtimex(&raw mut state) } {
        -1 => part("clock", HealthStatus::Ok, "The system does not say whether its clock is kept right."),
        _ if state.status & libc::STA_UNSYNC != 0 => part(
            "clock",
            HealthStatus::Degraded,
            "Nothing keeps the system clock right. Run chrony or systemd-timesyncd: time stamps are evidence.",
        ),
        _ => part("clock", HealthStatus::Ok, "The system clock is kept right."),
    }
}

/// 2026-01-01, before which this program was not there.
const CLOCK_SECONDS_MIN: u64 = 1_767_225_600;

fn tls(config: &Config) -> HealthPart {
    match http::present(&config.tls) {
        Err(problem) => part("tls", HealthStatus::Down, problem.0),
        Ok(None) => part("tls", HealthStatus::Ok, "No certificate is set, so the service speaks plain HTTP."),
        Ok(Some(certificate)) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
            let warnings = certificate.status(now).warnings;
            match warnings.is_empty() {
                true => part("tls", HealthStatus::Ok, "Certificate and key are in order."),
                false => part("tls", HealthStatus::Degraded, warnings.join("; ")),
            }
        }
    }
}

/// Whether an address can be listened on.
fn listening(name: &'static str, flag: &str, address: Option<SocketAddr>, running: bool) -> HealthPart {
    let Some(address) = address else {
        return part(name, HealthStatus::Ok, "The address is a name, which the start looks up.");
    };
    match TcpListener::bind(address) {
        Ok(_) => part(name, HealthStatus::Ok, format!("{address} is free.")),
        Err(error) if error.kind() == ErrorKind::AddrInUse && running => {
            part(name, HealthStatus::Ok, format!("{address} is in use, as by the process that has the data folder."))
        }
        Err(error) => part(
            name,
            HealthStatus::Down,
            format!(
                "{address} cannot be listened on: {error}. Stop what listens there, or choose another address with {flag}."
            ),
        ),
    }
}

fn keys(config: &Config) -> HealthPart {
    match config.access.token.jwks.as_deref() {
        None => part("keys", HealthStatus::Ok, "No keys of an issuer are set."),
        Some(address) if address.contains("://") => {
            neighbour("keys", "The issuer of the keys can be reached.", reached("access.token.jwks", address))
        }
        Some(file) => part("keys", HealthStatus::Ok, format!("The keys in {file} can be used.")),
    }
}

fn registry(config: &Config) -> HealthPart {
    match (config.registry.mode, config.registry.remote.address.as_deref()) {
        (RegistryMode::Remote, Some(address)) => {
            neighbour("registry", "The patient registry can be reached.", reached("registry.remote.address", address))
        }
        _ => part("registry", HealthStatus::Ok, "The patient registry is the embedded one."),
    }
}

fn backup(config: &Config) -> HealthPart {
    match config.backup.folder.as_deref() {
        None => part("backup", HealthStatus::Degraded, "No backups are taken: backup.folder is not set."),
        Some(folder) if is_within(folder, &config.storage.data) => {
            part("backup", HealthStatus::Down, crate::config::BACKUP_WITHIN_DATA)
        }
        Some(folder) => match writable::hindrance(folder) {
            Some(why) => {
                let folder = folder.display();
                part("backup", HealthStatus::Degraded, format!("Nothing can be written into {folder}, since {why}."))
            }
            None => part("backup", HealthStatus::Ok, format!("Archives go to {}.", folder.display())),
        },
    }
}

/// Whether something listens where an address of the settings leads. What it says is the service's to judge.
fn reached(setting: &str, address: &str) -> Result<(), String> {
    let uri: Uri = address.parse().map_err(|_| format!("{setting} = '{address}' is no address"))?;
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
    let wait = Duration::from_millis(DOCTOR_CONNECT_MS);
    let found = (host, port).to_socket_addrs().map_err(|error| format!("{setting}: {host} is not found: {error}."))?;
    let mut last = format!("{setting}: {host} has no address.");
    for address in found {
        match TcpStream::connect_timeout(&address, wait) {
            Ok(_) => return Ok(()),
            Err(error) => {
                last = format!(
                    "{setting}: {host}, port {port}, cannot be reached: {error}. Is it up, and does the firewall allow it?"
                );
            }
        }
    }
    Err(last)
}

/// Each part in a line, as `hcert health` shows them; the lines of a longer text below it.
fn in_words(parts: &[HealthPart]) -> String {
    let width = parts.iter().map(|part| part.name.len()).max().unwrap_or(0);
    let line = |part: &HealthPart| {
        let words = part.words.replace('\n', &format!("\n{:1$}", "", width + 11));
        format!("{:<width$} {:<9} {words}\n", part.name, part.status.name())
    };
    parts.iter().map(line).collect()
}

fn in_json(parts: &[HealthPart]) -> String {
    let line = |part: &HealthPart| {
        format!("{}\n", json!({"part": part.name, "status": part.status, "words": part.words, "facts": part.facts}))
    };
    parts.iter().map(line).collect()
}

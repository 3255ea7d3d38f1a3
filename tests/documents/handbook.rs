//! Runs the commands of the operators' pages on a machine that is a folder: its `etc`, `var`, `mnt` and `srv` stand for those
//! of a machine, and programs in front of the system's do there what root and systemd would do.
//!
//! Blocks `sh` are run as they are, of blocks `console` the lines that begin with `$`. A block `text` right behind `sh` is its
//! output, in which `…` stands for anything.

#![cfg(target_os = "linux")]

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::is_like;

/// What the shell runs in place of programs that need root, systemd or docker. `ROOT` is the machine's folder.
const STAND_INS: &[(&str, &str)] = &[
    ("cargo", ""),
    ("useradd", ""),
    (
        "install",
        r#"for word; do shift; if [ "${skip-}" ]; then skip=; elif [ "$word" = -o ] || [ "$word" = -g ]; then skip=1; else set -- "$@" "$word"; fi; done; exec /usr/bin/install "$@""#,
    ),
    ("runuser", r#"while [ "$1" != -- ]; do shift; done; shift; exec "$@""#),
    ("sudo", r#"[ "$1" = -u ] && shift 2; exec "$@""#),
    ("journalctl", r#"for word; do last=$word; done; grep -E "$last" ROOT/journal || true"#),
    // An image has the program at one place, and a volume of its own is another data folder.
    (
        "docker",
        r#"
case "$*" in
    build*|*--detach*) exit 0 ;;
    *hcert-restored:*) HCERT__STORAGE__DATA=ROOT/volumes/restored; export HCERT__STORAGE__DATA ;;
esac
while [ "$1" != hcert ]; do shift; done
shift; [ "$(basename "$1")" = hcert ] && shift
exec hcert "$@""#,
    ),
    (
        "systemctl",
        r#"
stop() {
    [ -f ROOT/pid ] || return 0
    pid=$(cat ROOT/pid); rm ROOT/pid; kill "$pid"
    while [ -d "/proc/$pid" ] && ! grep -q '^State:.Z' "/proc/$pid/status"; do sleep 0.05; done
}
start() {
    mkdir -p -m 700 ROOT/var/lib/hcert
    hcert serve --config ROOT/etc/hcert/hcert.toml >>ROOT/journal 2>&1 </dev/null & echo $! >ROOT/pid
    for _ in $(seq 300); do
        hcert health --ready --config ROOT/etc/hcert/hcert.toml >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    cat ROOT/journal; exit 1
}
case "$1" in
    start|enable) stop; start ;;
    restart) stop; start ;;
    stop) stop ;;
esac"#,
    ),
];

/// Commands that are not run, each with a part of it and the reason. One with `…` or `...` has a value that the reader fills in.
const NOT_RUN: &[(&str, &str)] = &[
    ("age-keygen", "age is a program of others"),
    ("--identity", "and so is its key; encrypted archives have tests of their own"),
    ("--check backup", "it shows what is said of damage"),
    ("--to 2026-", "a moment before the test"),
];

/// A machine with nothing but what its operator has: the program, the settings to begin with, a certificate and its key.
struct Machine {
    folder: tempfile::TempDir,
    port: u16,
}

impl Machine {
    fn new() -> Machine {
        let folder = tempfile::tempdir().expect("a folder");
        let [port, management] = [0; 2].map(|_| {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
            listener.local_addr().expect("an address").port()
        });
        let machine = Machine { folder, port };
        for path in
            ["bin", "etc/hcert", "etc/systemd/system", "usr/local/bin", "var/lib", "mnt/backup/hcert", "srv", "volumes"]
        {
            fs::create_dir_all(machine.path(path)).expect("an empty folder");
        }
        for (name, text) in STAND_INS {
            let (path, text) = (machine.path("bin").join(name), text.replace("ROOT", &machine.root()));
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
        symlink(env!("CARGO_BIN_EXE_hcert"), machine.path("bin/hcert")).expect("a link");
        fs::create_dir_all(machine.path("target/release")).expect("an empty folder");
        symlink(env!("CARGO_BIN_EXE_hcert"), machine.path("target/release/hcert")).expect("a link");
        fs::create_dir(machine.path("packaging")).expect("an empty folder");
        fs::copy("packaging/hcert.service", machine.path("packaging/hcert.service")).expect("a copy");
        // The lines that are the operator's to change.
        let settings = fs::read_to_string("packaging/hcert.toml").expect("it is text");
        let jwks = machine.path("etc/hcert/jwks.json");
        let settings = machine
            .mapped(&settings)
            .replace("0.0.0.0:8443", &format!("127.0.0.1:{port}"))
            .replace("https://issuer.example.ee/.well-known/jwks.json", jwks.to_str().expect("UTF-8"));
        let settings = format!("{settings}\n[management]\nlisten = \"127.0.0.1:{management}\"\n");
        fs::write(machine.path("packaging/hcert.toml"), &settings).expect("a file");
        // Pages that name no settings file mean the one of the working folder.
        fs::write(machine.path("hcert.toml"), &settings).expect("a file");
        fs::write(jwks, r#"{"keys":[{"kty":"EC","crv":"P-256","kid":"a","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#)
            .expect("a file");
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        fs::write(machine.path("hcert.pem"), own.cert.pem()).expect("a file");
        fs::write(machine.path("hcert-key.pem"), own.signing_key.serialize_pem()).expect("a file");
        let patient = r#"{"resourceType":"Patient","id":"200","identifier":[{"system":"https://fhir.ee/sid/pid/est/ni","value":"39406240015"}]}"#;
        for name in ["patients.ndjson", "patsiendid.ndjson"] {
            fs::write(machine.path(name), patient).expect("a file");
        }
        let certificate = |name: &str| {
            let text = fs::read_to_string(format!("examples/{name}.json")).expect("an example");
            let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            format!("{value}\n")
        };
        let lines = [certificate("driver-final"), certificate("occupational-final")].concat();
        fs::write(machine.path("certificates.ndjson"), lines).expect("a file");
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn root(&self) -> String {
        self.folder.path().to_str().expect("UTF-8").to_owned()
    }

    /// The same text with the machine's places.
    fn mapped(&self, text: &str) -> String {
        let mut text =
            text.replace("https://hcert.example.ee:8443/fhir/", &format!("https://localhost:{}/fhir/", self.port));
        for place in ["/etc/hcert", "/etc/systemd", "/var/lib/hcert", "/mnt/backup", "/srv/", "/usr/local/bin/"] {
            text = text.replace(place, &format!("{}{place}", self.root()));
        }
        text
    }

    /// Runs commands in a shell, and gives back both outputs as a page would show them.
    fn run(&self, commands: &str) -> String {
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("sh");
        shell.args(["-eu", "-c", &format!("exec 2>&1\n{}", self.mapped(commands))]).current_dir(self.folder.path());
        shell.env("PATH", path).env("CURL_CA_BUNDLE", self.path("hcert.pem")).stdin(Stdio::null());
        let ran = shell.output().expect("a shell");
        let said = String::from_utf8_lossy(&ran.stdout).replace(&self.root(), "");
        assert!(ran.status.success(), "{}:\n{commands}\n{said}", ran.status);
        said
    }

    /// What a service has that was used.
    fn fill(&self) {
        self.run("hcert import certificates.ndjson");
    }

    /// A machine whose service runs, for pages that begin there.
    fn installed() -> Machine {
        let machine = Machine::new();
        machine.run(
            "install -d /etc/hcert/tls; install -m 0640 packaging/hcert.toml /etc/hcert/hcert.toml
             install -m 0600 hcert.pem hcert-key.pem /etc/hcert/tls/; systemctl start hcert
             hcert patients import patients.ndjson",
        );
        machine.fill();
        machine
    }

    /// Runs the commands of a page, and says how many there were.
    fn follow(&self, document: &str) -> usize {
        let page = fs::read_to_string(document).expect("the tests run in the project's folder");
        let (mut ran, mut said) = (0, None);
        for (at, part) in page.split("```").enumerate() {
            let (info, text) = part.split_once('\n').unwrap_or_default();
            if at % 2 == 0 {
                // An output stands right behind its commands.
                said = said.filter(|_| part.trim().is_empty());
                continue;
            }
            let lines: Vec<&str> = match info {
                "sh" => text.lines().collect(),
                "console" => text.lines().filter_map(|line| line.strip_prefix("$ ")).collect(),
                "text" => {
                    if let Some((commands, said)) = said.take() {
                        let lines = |text: &str| text.trim().lines().map(str::to_owned).collect::<Vec<_>>();
                        let said: String = said;
                        assert!(
                            is_like(&lines(text), &lines(&said)),
                            "{commands}\n--- {document} shows\n{text}\n--- what came\n{said}"
                        );
                    }
                    continue;
                }
                _ => continue,
            };
            let is_run = |line: &&str| {
                !NOT_RUN.iter().any(|(part, _)| line.contains(part)) && !line.contains(['…']) && !line.contains("...")
            };
            let commands = lines.into_iter().filter(is_run).map(|line| format!("{line}\n")).collect::<String>();
            if commands.is_empty() {
                continue;
            }
            ran += commands.matches("hcert ").count();
            let came = self.run(&commands);
            if commands.contains("systemctl enable") {
                self.fill();
            }
            said = Some((commands, came));
        }
        ran
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = Command::new("sh").arg(self.path("bin/systemctl")).arg("stop").env("PATH", "/usr/bin:/bin").status();
    }
}

#[test]
fn every_command_for_operators_does_what_it_says() {
    let ran = Machine::new().follow("docs/OPERATIONS.md");
    assert!(ran >= 15, "{ran} commands");
}

#[test]
fn every_command_for_operators_in_estonian_does_what_it_says() {
    let ran = Machine::new().follow("docs/et/kaitajale.md");
    assert!(ran >= 15, "{ran} commands");
}

#[test]
fn every_command_of_the_pages_on_backups_the_trail_and_monitoring_does_what_it_says() {
    let machine = Machine::installed();
    for (page, commands) in [("docs/MONITORING.md", 1), ("docs/BACKUP.md", 10), ("docs/AUDIT.md", 6)] {
        let ran = machine.follow(page);
        assert!(ran >= commands, "{page}: {ran} commands");
    }
}

//! What is in `packaging/` and `docs/OPERATIONS.md` fits the program: flags, settings, ports, folders and commands that are named are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hcert::cli::limits::OPEN_FILES_RESERVED;
use hcert::config::{AccessMode, Config};
use hcert::http::HttpSettings;
use hcert::management::limits::LIVE_BEATS_MISSED_MAX;

use super::Place;

fn read(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The settings that are packed, as the service would read them.
fn packed() -> Config {
    let file = Path::new("packaging/hcert.toml");
    let serve = |config: &mut Config| config.access.mode = AccessMode::Jwt;
    Config::load(Some(file), std::iter::empty(), serve).unwrap_or_else(|error| panic!("{error}"))
}

/// Values of a key of the unit, without comments.
fn unit(key: &str) -> Vec<String> {
    let unit = read("packaging/hcert.service");
    let lines = unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    lines.map(str::to_owned).collect()
}

/// What stands behind an instruction of the image's file.
fn image(instruction: &str) -> Vec<String> {
    let file = read("packaging/Containerfile").replace("\\\n", " ");
    let lines = file.lines().filter_map(|line| line.strip_prefix(instruction)?.strip_prefix(' '));
    lines.map(|rest| rest.trim().to_owned()).collect()
}

/// Words of the exec form, `["a", "b"]`.
fn words(form: &str) -> Vec<String> {
    let list = &form[form.find('[').expect("the exec form: there is no shell")..];
    serde_json::from_str(list).unwrap_or_else(|error| panic!("{form}: {error}"))
}

#[test]
fn the_settings_that_are_packed_are_taken_and_serve_nobody_who_does_not_exist() {
    let config = packed();
    let settings = HttpSettings::new(&config, config.server.listen.parse().unwrap()).unwrap();
    assert!(settings.needs_token && !settings.is_developer, "strangers are kept out");
    assert!(config.tls.is_on() && !config.server.plain_behind_proxy, "nothing goes in clear");
    assert!(config.registry.samples == Some(false));
    assert_eq!(config.storage.data, Path::new("/var/lib/hcert"));
}

#[test]
fn the_unit_fits_the_program_and_its_settings() {
    let config = packed();
    let [start] = &unit("ExecStart")[..] else { panic!("one program is started") };
    let [program, command @ ..] = &start.split(' ').collect::<Vec<_>>()[..] else { panic!("it has words") };
    assert_eq!((*program, command), ("/usr/local/bin/hcert", &["serve", "--config", "/etc/hcert/hcert.toml"][..]));
    is_understood(&["serve"], "--config");
    assert_eq!(config.storage.data, Path::new("/var/lib").join(&unit("StateDirectory")[0]));
    assert_eq!((&*unit("StateDirectoryMode")[0], &*unit("UMask")[0]), ("0700", "0077"));
    let seconds = |key: &str| unit(key)[0].trim_end_matches('s').parse::<u64>().unwrap();
    let drain = config.server.drain_timeout_s + config.management.drain_notice_s;
    assert!(seconds("TimeoutStopSec") >= 2 * drain, "it may finish what is under way, and commit");
    let files: usize = unit("LimitNOFILE")[0].parse().unwrap();
    assert!(files >= config.server.connections_max + OPEN_FILES_RESERVED);
    assert_eq!((&*unit("KillSignal")[0], &*unit("ExecReload")[0]), ("SIGTERM", "/bin/kill -HUP $MAINPID"));
    assert!(seconds("WatchdogSec") > u64::from(LIVE_BEATS_MISSED_MAX) + 1, "/live fails before systemd gives up");
    for (key, value) in [
        ("Type", "notify"),
        ("NotifyAccess", "main"),
        ("LogRateLimitIntervalSec", "0"),
        ("NoNewPrivileges", "yes"),
        ("ProtectSystem", "strict"),
        ("PrivateTmp", "yes"),
        ("CapabilityBoundingSet", ""),
        ("MemoryDenyWriteExecute", "yes"),
        ("PrivateIPC", "yes"),
        ("ReadOnlyPaths", "/run"),
        ("InaccessiblePaths", "-/dev/shm"),
        ("Restart", "on-failure"),
        ("StartLimitIntervalSec", "0"),
        ("LimitCORE", "0"),
    ] {
        assert_eq!(unit(key), [value], "{key}");
    }
}

/// Without which nobody is served.
const ISSUER: &str = "[access.token]\nissuer = \"i\"\naudience = \"a\"\njwks = \"https://127.0.0.1:1/jwks.json\"\n";

#[test]
fn settings_that_cannot_be_used_end_with_the_code_after_which_the_unit_does_not_start_again() {
    assert_eq!(unit("RestartPreventExitStatus"), ["2 3"], "settings are wrong; the data are corrupt. Contract 9.4");
    let code = 2;
    let place = Place::new();
    fs::write(place.path("hcert.toml"), "[server]\nworkers = \"nobody\"\n").unwrap();
    place
        .run(&["serve", "--config", "hcert.toml", "--data", "data", "--listen", "127.0.0.1:0"])
        .expect(code)
        .says("nobody");
    // So does a file that they name, except those of TLS.
    fs::write(place.path("hcert.toml"), format!("[access]\npermissions = \"gone.json\"\n{ISSUER}")).unwrap();
    place
        .run(&["serve", "--config", "hcert.toml", "--data", "data", "--listen", "127.0.0.1:0"])
        .expect(code)
        .says("hcert.toml, line 2: access.permissions = gone.json: No such file");
    // What may pass by itself is tried again: a key whose disk comes late, a port that another program has.
    fs::write(place.path("hcert.toml"), format!("[tls]\ncertificate = \"gone.pem\"\nkey = \"gone.pem\"\n{ISSUER}"))
        .unwrap();
    place
        .run(&["serve", "--config", "hcert.toml", "--data", "data", "--listen", "127.0.0.1:0"])
        .expect(1)
        .says("gone.pem");
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().to_string();
    fs::write(place.path("hcert.toml"), ISSUER).unwrap();
    let ran = place.run(&["serve", "--config", "hcert.toml", "--data", "data", "--listen", &taken]);
    assert!(ran.code.is_some_and(|ended| ended != 0 && ended != code), "{:?}: {}", ran.code, ran.said);
}

#[test]
fn no_container_of_the_handbook_writes_core_files() {
    let mut runs = 0;
    for file in ["docs/OPERATIONS.md", "packaging/Containerfile"] {
        for line in read(file).replace("\\\n", " ").lines() {
            if line.trim_start_matches(['#', ' ']).starts_with("docker run ") {
                runs += 1;
                assert!(line.contains(" --ulimit core=0 "), "{file}: {line}");
            }
        }
    }
    assert_eq!(runs, 4);
}

#[test]
fn a_disk_for_archives_that_is_not_there_does_not_stop_the_unit_of_the_handbook() {
    let handbook = read("docs/OPERATIONS.md");
    let added: Vec<&str> = handbook.lines().filter_map(|line| line.strip_prefix("ReadWritePaths=")).collect();
    assert!(!added.is_empty() && added.iter().all(|path| path.starts_with("-/")), "{added:?}");
}

#[test]
fn the_image_is_made_of_what_is_there_and_runs_what_is_there() {
    let config = packed();
    let manifest = read("Cargo.toml");
    let rust = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap().trim_matches('"');
    assert_eq!(image("FROM"), [format!("rust:{rust}-bookworm AS build"), "scratch".to_owned()]);
    let ignored = read(".dockerignore");
    let kept: BTreeSet<&str> = ignored.lines().filter_map(|line| line.strip_prefix('!')).collect();
    let copied = image("COPY");
    let copied = copied.iter().filter(|line| !line.starts_with("--from"));
    let sources: Vec<&str> =
        copied.flat_map(|line| line.split(' ').collect::<Vec<_>>().split_last().unwrap().1.to_vec()).collect();
    for source in &sources {
        assert!(Path::new(source).exists(), "{source} is there");
    }
    assert_eq!(sources.into_iter().collect::<BTreeSet<_>>(), kept, "what is copied is what is handed over");
    assert_eq!(words(&image("ENTRYPOINT")[0]), ["/usr/local/bin/hcert"]);
    // Both read hcert.toml where they run: what is mounted there, or the one for trying out.
    assert_eq!(image("WORKDIR"), ["/build", "/etc/hcert"]);
    assert_eq!(words(&image("CMD")[0]), ["serve"]);
    assert_eq!(words(&image("HEALTHCHECK")[0]), ["/usr/local/bin/hcert", "health"]);
    assert_eq!(image("USER"), ["10001:10001"]);
    assert_eq!(image("STOPSIGNAL"), ["SIGTERM"]);
    let data = config.storage.data.to_str().unwrap();
    assert_eq!(image("VOLUME"), [data]);
    assert_eq!(image("ENV"), [format!("HCERT__STORAGE__DATA={data}")]);
    let port = config.server.listen.rsplit(':').next().unwrap();
    assert_eq!(image("EXPOSE"), [format!("8080 {port}")]);
}

/// Whether a command has a flag.
fn is_understood(command: &[&str], flag: &str) {
    let help = Place::new().run(&[command, &["--help"]].concat());
    assert!(help.expect(0).text().contains(&format!("{flag} ")), "{command:?} takes {flag}");
}

/// Pieces of the operators' handbook that stand as code.
fn code(text: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2);
    spans.map(|span| span.replace('\n', " ")).collect()
}

#[test]
fn every_setting_and_command_of_the_handbook_is_there() {
    let settings: toml::Table = toml::from_str(&uncommented(&read("hcert.toml"))).unwrap();
    let handbook = read("docs/OPERATIONS.md").replace("```", "");
    let mut named = 0;
    for span in code(&handbook) {
        let name: String = span.chars().take_while(|c| c.is_ascii_lowercase() || matches!(c, '.' | '_')).collect();
        let Some((section, key)) = name.rsplit_once('.') else { continue };
        let mut places = section.split('.');
        let first = settings.get(places.next().unwrap_or_default()).and_then(toml::Value::as_table);
        let (Some(first), false) = (first, key.is_empty() || span.contains('*') || span.contains('/')) else {
            continue;
        };
        let table = places.try_fold(first, |table, name| table.get(name)?.as_table());
        assert!(table.is_some_and(|table| table.contains_key(key)), "{span} is no setting");
        named += 1;
    }
    assert!(named > 20, "the handbook names settings");

    let help = Place::new().run(&["--help"]);
    let commands: BTreeSet<&str> =
        help.text().lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    let mut called = BTreeSet::new();
    for line in handbook.lines() {
        let words: Vec<&str> = line.split([' ', '`']).collect();
        let pairs = words.windows(2).filter(|pair| matches!(pair[0], "hcert" | "/usr/local/bin/hcert"));
        // The user has the program's name.
        called.extend(pairs.map(|pair| pair[1]).filter(|word| is_word(word) && *word != "hcert"));
    }
    let strange: Vec<_> = called.iter().filter(|word| !commands.contains(**word)).collect();
    assert!(called.len() > 8 && strange.is_empty(), "no commands: {strange:?}");
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// The file of all settings with those that are unset by default.
fn uncommented(text: &str) -> String {
    let is_setting = |line: &str| {
        line.split_once(" = ").is_some_and(|(key, _)| key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
    };
    let lines = text.lines().map(|line| line.strip_prefix("# ").filter(|rest| is_setting(rest)).unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// The metrics that the files for Prometheus and Grafana ask for are those that the service has.
#[test]
fn alerts_and_dashboard_ask_for_metrics_that_there_are() {
    let known: BTreeSet<&str> = base_metrics().into_iter().collect();
    for file in ["packaging/monitoring/alerts.yaml", "packaging/monitoring/grafana.json"] {
        let text = read(file);
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let named = text
            .split(|c: char| !is_name(c))
            .filter(|word| ["hcert_", "process_"].iter().any(|start| word.starts_with(start)));
        let named: BTreeSet<&str> = named.map(|name| name.trim_end_matches("_bucket")).collect();
        assert!(named.len() > 10, "{file}: {named:?}");
        for name in named {
            assert!(known.contains(name), "{file}: there is no metric {name}");
        }
    }
}

fn base_metrics() -> Vec<&'static str> {
    base::metrics::names::ALL.iter().map(|metric| metric.name).collect()
}

/// What the images of a release and of the sources are is the same; they differ in where the program comes from.
#[test]
fn both_images_start_the_program_in_the_same_way() {
    let last_stage = |file: &str| {
        let text = read(file);
        let stage = text.rsplit_once("FROM scratch\n").unwrap().1;
        stage.lines().filter(|line| !line.starts_with("COPY ")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(last_stage("packaging/Containerfile"), last_stage("packaging/Containerfile.release"));
}

/// The versions that are named where a release is made, packed or run are that of the program.
#[test]
fn one_version_is_named_everywhere() {
    let version = env!("CARGO_PKG_VERSION");
    for (file, line) in [
        ("packaging/helm/hcert/Chart.yaml", format!("appVersion: {version}")),
        ("packaging/helm/hcert/Chart.yaml", format!("version: {version}")),
        ("packaging/compose/dev.yaml", format!("image: hcert:{version}")),
        ("packaging/compose/secure.yaml", format!("image: hcert:{version}")),
    ] {
        assert!(read(file).lines().any(|found| found.trim() == line), "{file}: {line}");
    }
}

/// What the prepared settings of the secure compose file, and those of the chart and the image, say can be used.
#[test]
fn the_settings_of_containers_can_be_used() {
    let prepared = read("packaging/compose/prepare");
    let compose = prepared.split_once("hcert.toml <<'END'\n").unwrap().1.split_once("\nEND\n").unwrap().0.to_owned();
    let values = read("packaging/helm/hcert/values.yaml");
    let chart = values.split_once("settings: |\n").unwrap().1.split_once("\n# Secrets").unwrap().0.to_owned();
    for (name, text, command) in [
        ("packaging/compose/prepare", compose, "serve"),
        ("packaging/helm/hcert/values.yaml", chart, "serve"),
        ("packaging/container.toml", read("packaging/container.toml"), "dev"),
        ("packaging/hcert.toml", read("packaging/hcert.toml"), "serve"),
    ] {
        let place = Place::new();
        // Files that are mounted, which nobody has here.
        let text =
            text.lines().filter(|line| !["token_file", "jwks_ca"].iter().any(|key| line.trim().starts_with(key)));
        fs::write(place.path("hcert.toml"), text.collect::<Vec<_>>().join("\n")).unwrap();
        let ran = place.run(&["config", "check", "--for", command, "--config", "hcert.toml"]);
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.said);
    }
}

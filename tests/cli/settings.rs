//! Settings that cannot be used, or are most likely not meant: the exit code, the place and the words.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::process::Process;
use super::{Place, Ran};

const SERVE: [&str; 5] = ["dev", "--listen", "127.0.0.1:0", "--data", "data"];

/// What `hcert serve` was observed to answer with 1, so that systemd tried again for ever, and what holds now.
#[test]
fn wrong_settings_and_files_they_name_end_with_2_and_their_place() {
    let place = Place::new();
    fs::write(place.path("no.json"), "{}").unwrap();
    let jwt = "[access.token]\nissuer = \"i\"\naudience = \"a\"\njwks = ";
    let remote = "[registry]\nmode = \"remote\"\n[registry.remote]\naddress = \"https://a.example.ee\"\n";
    for (settings, line, words) in [
        ("[[registry.fault]]\npath = \"*\"\nfault = \"MPI-9999\"\n", 1, "'MPI-9999' is no fault; allowed are"),
        ("[access]\npermissions = \"gone.json\"\n", 2, "access.permissions = gone.json: No such file"),
        (
            "[access]\npermissions = \"no.json\"\n",
            2,
            "access.permissions = no.json: line 1, column 2: the member `groups` is missing",
        ),
        (&format!("{jwt}\"gone.json\"\n"), 4, "access.token.jwks = 'gone.json': it cannot be read: No such file"),
        (&format!("{jwt}\"no.json\"\n"), 4, "access.token.jwks = 'no.json': it is no JWK set"),
        (&format!("{remote}ca_file = \"gone.pem\"\n"), 5, "registry.remote.ca_file: gone.pem: No such file"),
        (&format!("{remote}token_file = \"gone\"\n"), 5, "registry.remote.token_file: there is no such file"),
        (&format!("{remote}token = \"a b\"\n"), 5, "registry.remote.token: a bearer token has letters"),
        ("[server]\n# comment\nworkers = 100\n", 3, "server.workers = 100 is out of range: 1 to 64 threads"),
        ("[server]\nworkers = \"x\"\n", 2, "found text \"x\", expected a whole number from 0"),
        ("[server]\nworkers = 1\nworkers = 2\n", 3, "duplicate key"),
        ("[access]\nmode = \"jwt\"\n", 2, "access.mode is no setting any more: `hcert dev` is for trying out"),
        ("[servr]\n", 1, "there is no setting `servr`; did you mean `server`?"),
    ] {
        fs::write(place.path("hcert.toml"), settings).unwrap();
        let ran = place.run(&SERVE);
        ran.expect(2).says(&format!("hcert: hcert.toml, line {line}: ")).says(words).says("^");
    }
    assert!(!place.path("data").exists(), "nothing was begun");
}

/// What was seen: behind a file that is no TOML, the command also reported that a setting was missing which stood in the file.
#[test]
fn a_file_that_is_no_toml_is_the_only_problem() {
    let place = Place::new();
    fs::write(place.path("hcert.toml"), "[access.token]\njwks = \"a.json\"\njwks = \"b.json\"\n").unwrap();
    let ran = place.run(&SERVE);
    ran.expect(2).says("duplicate key");
    assert!(!ran.said.contains("needs access.token.jwks"), "{}", ran.said);
}

/// What was seen: a namespace of 250 characters ended the start with a panic.
#[test]
fn namespaces_are_as_long_as_the_lists_behind_them_allow() {
    let place = Place::new();
    let of_length = |length: usize| {
        let listed = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/hcert.toml")).unwrap();
        let section = listed.split_once("[namespaces]").unwrap().1;
        let names = section.lines().map(|line| line.trim_start_matches(['#', ' '])).skip(1);
        let names = names.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split_once(" = "));
        let line = |name: &str| {
            let start = format!("https://{}.example.ee/", name.replace('_', "-"));
            format!("{name} = \"{start}{}\"\n", "x".repeat(length - start.len()))
        };
        let lines: Vec<String> = names.map(|(name, _)| line(name.trim())).collect();
        assert_eq!(lines.len(), 16);
        fs::write(place.path("hcert.toml"), format!("[namespaces]\n{}", lines.concat())).unwrap();
        place.run_with(&["import", "-", "--data", "data"], b"")
    };
    of_length(161).expect(2).says("namespaces.hcert_ns has 161 characters; 160 are allowed");
    of_length(160).expect(0);
}

#[test]
fn every_problem_is_said_at_once() {
    let place = Place::new();
    let settings = "[server]\nworkers = 100\nlistenn = \"x\"\nbody_bytes_max = \"many\"\n[tls]\nkey = \"a.pem\"\n";
    fs::write(place.path("hcert.toml"), settings).unwrap();
    let mut command = place.command(&SERVE);
    command.env("HCERT__SEARCH__COUNT_MAX", "many").env("HCERT__SEARCH__COUNT_DEFAULT", "0");
    let ran = Ran::from(command.output().unwrap());
    ran.expect(2);
    for words in [
        "line 2: server.workers = 100",
        "line 3: there is no setting `listenn`",
        "line 4: found text \"many\", expected a whole number from 0",
        "line 6: tls.certificate and tls.key are needed together",
        "environment variable HCERT__SEARCH__COUNT_MAX: found text \"many\"",
        "environment variable HCERT__SEARCH__COUNT_DEFAULT: search.count_default = 0 is out of range",
    ] {
        assert_eq!(ran.said.matches(words).count(), 1, "{words:?} in {}", ran.said);
    }
}

/// What was seen: an address was refused because it held a password, and the refusal showed it.
#[test]
fn a_refused_address_shows_no_password() {
    let place = Place::new();
    for (settings, words) in [
        (
            "[access.token]\nissuer = \"i\"\naudience = \"a\"\njwks = \"https://u:PASSWORD@host/\"\n",
            "access.token.jwks must hold",
        ),
        (
            "[registry.remote]\naddress = \"https://u:PASSWORD@host/fhir\"\n",
            "registry.remote.address must hold no user",
        ),
        ("[server]\nbase_url = \"ftp://u:PASSWORD@host\"\n", "server.base_url"),
        ("[registry.remote]\n\"tok\\u0065n\" = [\"PASSWORD\"]\n", "expected a text"),
    ] {
        fs::write(place.path("hcert.toml"), settings).unwrap();
        let ran = place.run(&SERVE);
        ran.expect(2).says("hcert.toml, line ").says(words);
        assert!(!ran.said.contains("PASSWORD"), "{}", ran.said);
    }
}

#[test]
fn what_is_most_likely_not_meant_is_warned_about() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], b"").expect(0);
    let mode = |path: &str, mode| fs::set_permissions(place.path(path), fs::Permissions::from_mode(mode)).unwrap();
    fs::write(place.path("hcert.toml"), "[registry.remote]\ntoken = \"very-secret\"\n").unwrap();
    let warned = |command: &[&str], variable: &str| {
        let mut command = place.command(command);
        command.env(variable, "8");
        let ran = Ran::from(command.output().unwrap());
        ran.expect(0);
        assert!(!ran.said.contains("very-secret"), "{}", ran.said);
        ran.said
    };
    let stats = ["stats", "--data", "data"];
    mode("hcert.toml", 0o600);
    assert_eq!(warned(&stats, "HCERT_TEST_SEED"), "");
    for ignored in ["HCERT_SERVER_WORKERS", "hcert__server__workers"] {
        let told = warned(&stats, ignored);
        assert!(told.contains(&format!("{ignored} is ignored")) && told.contains("HCERT__SERVER__WORKERS"), "{told}");
    }
    mode("hcert.toml", 0o644);
    let told = warned(&["generate", "--count", "1"], "OTHER");
    assert!(told.contains("warning: the settings with registry.remote.token (hcert.toml) can be read by other users of this machine (mode 0644)"), "{told}");
    // A server says it in its log and in its health, and of the data folder too.
    mode("data", 0o755);
    let server = Process::start_with(&place.path("data"), |command| {
        command.current_dir(place.path(".")).env("HCERT_SERVER_WORKERS", "8");
    });
    let log = server.log();
    let warnings = log.lines().filter(|line| line.contains("\"log.level\":\"warn\"")).collect::<Vec<_>>().join("\n");
    for words in ["HCERT_SERVER_WORKERS is ignored", "registry.remote.token", "(mode 0755); run: chmod go-rwx"] {
        assert!(warnings.contains(words), "{words} in {log}");
    }
    assert!(!log.contains("very-secret"), "{log}");
    assert!(server.stop().success());
}

/// A further language, a secret and an issuer are read before anything is begun, and all that is wrong is said at once.
#[test]
fn what_is_wrong_with_a_console_is_said_at_once() {
    let place = Place::new();
    fs::write(place.path("keys.json"), "{\"keys\": []}").unwrap();
    fs::write(place.path("fi.json"), "{\"nav.begin\": \"Alku\"}").unwrap();
    fs::write(place.path("ru.json"), "[]").unwrap();
    let issuer = "[access.token]\nissuer = \"i\"\naudience = \"a\"\njwks = \"keys.json\"\n";
    let serve = ["serve", "--listen", "127.0.0.1:0", "--data", "data"];
    fs::write(
        place.path("hcert.toml"),
        format!("{issuer}[console]\nlisten = \"0.0.0.0:0\"\nexpiry_warning_s = 3601\n"),
    )
    .unwrap();
    let ran = place.run(&serve);
    ran.expect(2);
    for words in [
        "line 6: console.listen needs console.client_id",
        "console.listen needs access.token.authorization_endpoint",
        "console.listen needs access.token.token_endpoint",
        "console.listen = '0.0.0.0:0' means every interface",
        "at console.listen = '0.0.0.0:0' others would read health data without TLS",
        "line 7: console.expiry_warning_s = 3601 is out of range: 0 to 3600 seconds",
    ] {
        assert_eq!(ran.said.matches(words).count(), 1, "{words:?} in {}", ran.said);
    }
    let endpoints = "authorization_endpoint = \"https://i.example.ee/a\"\ntoken_endpoint = \"http://127.0.0.1:1/t\"\n";
    let console = "[console]\nlisten = \"127.0.0.1:0\"\nclient_id = \"c\"\nclient_secret_file = \"gone\"\ntexts = [\"fi.json\", \"ru.json\"]\n";
    fs::write(place.path("hcert.toml"), format!("{issuer}{endpoints}{console}")).unwrap();
    let ran = place.run(&serve);
    ran.expect(2);
    for words in [
        "console.texts: fi.json: it lacks ",
        "console.texts: fi.json: it has the unknown nav.begin",
        "console.texts: ru.json: it is no object of texts",
        "console.client_secret_file: there is no such file",
    ] {
        assert_eq!(ran.said.matches(words).count(), 1, "{words:?} in {}", ran.said);
    }
    assert!(!place.path("data").exists(), "nothing was begun");

    // `hcert dev` takes texts and announcement, and says that it has no second address.
    let texts = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/data/console/en.json")).unwrap();
    fs::write(place.path("fi.json"), texts.replace("\"nav.help\": \"Help\"", "\"nav.help\": \"Apua\"")).unwrap();
    let console = "[console]\nlisten = \"127.0.0.1:0\"\nclient_id = \"c\"\ntexts = [\"fi.json\"]\nannouncement = \"Only tests.\"\n";
    fs::write(place.path("hcert.toml"), format!("{issuer}{endpoints}{console}")).unwrap();
    let server = Process::start(&place.path("data"));
    assert!(server.log().contains("console.listen is for `hcert serve`"), "{}", server.log());
    let mut client = server.client();
    let shown = client.send_to("GET", "/console/", &["accept-language: fi"], b"").unwrap();
    for words in ["lang=\"fi\"", "Apua", "Only tests."] {
        assert!(shown.text().contains(words), "{words:?} is not in {}", shown.text());
    }
    assert_eq!(server.stop().code(), Some(0));
}

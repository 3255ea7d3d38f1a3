//! `hcert dev` and `hcert serve`: what each of them is for, and that neither is taken for the other. Contract 7.2.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use super::Place;
use super::process::Process;

/// An issuer, without whom `hcert serve` does not start. Nobody answers there.
const ISSUER: [(&str, &str); 3] = [
    ("HCERT__ACCESS__TOKEN__ISSUER", "https://issuer.example.ee"),
    ("HCERT__ACCESS__TOKEN__AUDIENCE", "hcert"),
    ("HCERT__ACCESS__TOKEN__JWKS", "https://127.0.0.1:1/jwks.json"),
];

#[test]
fn a_service_for_real_data_does_not_start_without_an_issuer_and_names_the_other_command() {
    let place = Place::new();
    let ran = place.run(&["serve", "--listen", "127.0.0.1:0", "--data", "data"]);
    ran.expect(2).says("needs access.token.jwks").says("`hcert dev` runs the whole service for trying it out");
    assert!(!place.path("data").exists());
}

#[test]
fn a_data_folder_belongs_to_the_command_that_served_it_first() {
    let place = Place::new();
    let refused = |service: &str, data: &str, words: &str| {
        let mut command = place.command(&[service, "--listen", "127.0.0.1:0", "--data", data]);
        command.envs(ISSUER).env("HCERT__MANAGEMENT__LISTEN", "");
        super::Ran::from(command.output().unwrap()).expect(2).says(words);
    };
    assert!(Process::start(&place.path("dev")).stop().success());
    refused("serve", "dev", "was made by `hcert dev`, whose people are made up");
    // As a release left it that wrote nothing down.
    let real = place.path("real");
    let served = Process::serve_with(&real, |command| {
        command.envs(ISSUER);
    });
    let token = ["token", "--role", "doctor", "--person", "37605030299", "--data", "real"];
    place.run(&token).expect(1).says("for real data");
    drop(served);
    refused("dev", "real", "was made by `hcert serve` for real data");
    place.run(&token).expect(1).says("for real data");
    assert!(!real.join("developer-key.pem").exists(), "with a key of a developer the service would not start again");
    fs::write(real.join("developer-key.pem"), "").unwrap();
    refused("serve", "real", "was made by `hcert dev`");
    fs::remove_file(real.join("developer-key.pem")).unwrap();
    // What is served to nobody takes either, and a token does not choose.
    place.run_with(&["import", "-", "--data", "imported"], &place.corpus(5, 3)).expect(0);
    let token = ["token", "--role", "doctor", "--person", "37605030299", "--data", "imported"];
    place.run(&token).expect(1).says("start hcert dev over it first");
    assert!(!place.path("imported/developer-key.pem").exists());
    assert!(Process::start(&place.path("imported")).stop().success());
    place.run(&["stats", "--data", "imported"]).expect(0);
    place.run(&["stats", "--data", "real"]).expect(0);
    // An archive says it too, or made-up people would come into a service for real ones.
    for (data, other, words) in [("dev", "serve", "made by `hcert dev`"), ("real", "dev", "made by `hcert serve`")] {
        let (archive, restored) = (format!("{data}.tar"), format!("{data}-restored"));
        place.run(&["backup", &archive, "--data", data]).expect(0);
        place.run(&["restore", &archive, "--data", &restored]).expect(0);
        refused(other, &restored, words);
    }
}

/// One request as it is written, and the status of its answer.
fn status(server: &Process, request: &str) -> u16 {
    let mut stream = TcpStream::connect(("127.0.0.1", server.address.port())).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.to_ascii_lowercase().contains("x-hcert-mode: developer"), "{answer}");
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// As nginx passes a request on that has nothing but `proxy_pass`, as `ssh -R` does, and as a browser sends one for a page of another
/// origin.
#[test]
fn nobody_behind_a_proxy_or_a_page_of_another_origin_is_let_in() {
    let place = Place::new();
    let server = Process::start(&place.path("data"));
    let get = |version: &str, headers: &str| {
        let request = format!("GET /fhir/Patient/200 HTTP/{version}\r\n{headers}Connection: close\r\n\r\n");
        status(&server, &request)
    };
    assert_eq!(get("1.1", "Host: 127.0.0.1\r\n"), 200);
    for (version, headers) in [
        ("1.0", "Host: 127.0.0.1:8080\r\n"),
        ("1.1", "Host: laptop.example.ee:8080\r\n"),
        ("1.1", "Host: localhost\r\nVia: 1.1 proxy\r\n"),
        ("1.1", "Host: localhost\r\nX-Real-IP: 192.0.2.1\r\n"),
        ("1.1", "Host: localhost\r\nOrigin: https://evil.example\r\n"),
        ("1.1", "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n"),
        ("1.1", "Host: localhost\r\nSec-Fetch-Site: same-site\r\n"),
    ] {
        assert_eq!(get(version, headers), 403, "{version} {headers}");
    }
}

#[test]
fn where_other_machines_can_come_the_printed_address_holds_a_secret_that_stays() {
    let place = Place::new();
    let secrets: Vec<String> = (0..2)
        .map(|_| {
            let mut command = place.command(&["dev", "--listen", "0.0.0.0:0", "--data", "data"]);
            command.env("HCERT__MANAGEMENT__LISTEN", "");
            let server = Process::launch(command, place.path("log"));
            let secret = fs::read_to_string(place.path("data/developer-secret")).unwrap();
            let get = |path: &str| {
                let port = server.address.port();
                status(
                    &server,
                    &format!("GET {path} HTTP/1.1\r\nHost: box:{port}\r\nVia: 1.1 x\r\nConnection: close\r\n\r\n"),
                )
            };
            assert_eq!(get("/fhir/Patient/200"), 403);
            assert_eq!(get("/0123456789abcdef0123456789abcdef/fhir/Patient/200"), 403);
            assert_eq!(get(&format!("/{secret}/fhir/Patient/200")), 200);
            let mut client = server.client();
            let path = format!("/{secret}/fhir/Composition");
            let found = client.send_to("GET", &path, &[], b"").unwrap().json();
            let own = found["link"][0]["url"].as_str().unwrap().to_owned();
            assert!(own.contains(&format!("{}/{secret}/fhir/Composition", server.address.port())), "{own}");
            assert!(server.stop().success());
            secret
        })
        .collect();
    assert_eq!(secrets[0], secrets[1], "a container that is started again has the same address");
}

/// What was seen: root's certificates went to the server, and into the folder, of whoever had laid a `hcert-data` in the working directory.
#[test]
fn a_data_folder_and_a_server_of_another_user_are_not_taken_for_ones_own() {
    use std::os::unix::fs::{PermissionsExt, chown};
    use std::os::unix::process::CommandExt;
    let place = Place::new();
    let (data, lines) = (place.path("hcert-data"), place.corpus(3, 3));
    place.run_with(&["import", "-"], &lines).expect(0);
    let mode = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    // Who else may write there can leave links for what is written.
    mode(&data, 0o777);
    place.run_with(&["import", "-"], &lines).expect(1).says("can be written to by other users");
    mode(&data, 0o700);
    place.run_with(&["import", "-"], &lines).expect(0);
    // Only root can give a folder away.
    if chown(&data, Some(54_321), None).is_err() {
        return;
    }
    place.run_with(&["import", "-"], &lines).expect(1).says("was not named");
    place.run(&["stats"]).expect(1).says("was not named");
    place.run_with(&["import", "-", "--data", "./hcert-data"], &lines).expect(1).says("belongs to user 54321");
    place.run(&["stats", "--data", "./hcert-data"]).expect(0).says("the audit trail does not tell");
    // A server of that user is asked where the folder is theirs, and not where it is ours.
    let theirs = place.path("theirs");
    mode(&place.path("."), 0o755);
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(54_321), Some(54_321)).unwrap();
    let copy = place.path("hcert");
    // By a program of its own: a child that another test starts meanwhile would hold the file open for writing, and it could not be run.
    let copied = std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_hcert")).arg(&copy).status().unwrap();
    assert!(copied.success());
    mode(&copy, 0o755);
    let mut command = std::process::Command::new(copy);
    command.args(["dev", "--listen", "127.0.0.1:0", "--data"]).arg(&theirs).uid(54_321).gid(54_321);
    command.env("HCERT__MANAGEMENT__LISTEN", "").current_dir("/");
    let server = Process::launch(command, place.path("theirs.log"));
    place.run(&["stats", "--data", "theirs"]).expect(0);
    chown(&theirs, Some(0), Some(0)).unwrap();
    place
        .run(&["stats", "--data", "theirs"])
        .expect(1)
        .says("user 54321 of this machine listens in the place of the server");
    drop(server);
}

//! `hcert token`: one token on standard output, good for a server over the same folder, whether or not it runs then.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Place;
use super::process::Process;

const TOKEN: [&str; 7] = ["token", "--role", "doctor", "--person", "37605030299", "--organization", "90006399"];

#[test]
fn a_token_is_all_that_is_printed_and_a_server_takes_it() {
    let place = Place::new();
    let before = place.run(&[&TOKEN[..], &["--data", "data"]].concat());
    let token = before.expect(0).text().strip_suffix('\n').unwrap().to_owned();
    assert_eq!((token.split('.').count(), before.said.as_str()), (3, ""));
    let mode = fs::metadata(place.path("data/developer-key.pem")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let server = Process::start(&place.path("data"));
    let while_it_runs = place.run(&[&TOKEN[..], &["--data", "data"]].concat());
    for token in [token.as_str(), while_it_runs.expect(0).text().trim_end()] {
        let authorization = format!("authorization: Bearer {token}");
        let told = server.client().send("GET", "/Composition", &[&authorization], b"").unwrap();
        assert_eq!(told.status, 200, "{}", told.text());
    }
    let told = server.client().send("GET", "/Composition", &["authorization: Bearer x"], b"").unwrap();
    assert_eq!(told.status, 401);
    let trail = place.run(&["audit", "export", "--data", "data"]);
    let trail = trail.expect(0).text();
    assert_eq!(trail.matches("token.issue").count(), 2, "each token is written down");
    // SAFETY: the call takes nothing and cannot fail.
    let uid = format!(r#""code":"operator-uid"}}]}},"valueString":"{}""#, unsafe { libc::geteuid() });
    let export = trail.lines().find(|line| line.contains("audit.export")).expect("the export comes first in itself");
    assert!(export.contains(&uid), "through the socket the kernel says who asks: {export}");
    assert!(server.stop().success());
    let trail = place.run(&["audit", "export", "--data", "data"]);
    let trail = trail.expect(0).text();
    let of = |action: &str| trail.lines().filter(|line| line.contains(action)).collect::<Vec<_>>();
    let (started, stopped) = (of("service.start"), of("service.stop"));
    assert_eq!((started.len(), stopped.len()), (1, 1), "when the service ran is written down");
    assert!(started[0].contains("settings ") && started[0].contains(", permissions "), "{}", started[0]);
    assert!(of("audit.export").iter().all(|line| line.contains(&uid)), "also of a command on a stopped folder");
}

#[test]
fn what_cannot_be_a_token_is_refused_in_words() {
    let place = Place::new();
    let run = |arguments: &[&str]| place.run(&[&["token", "--data", "data"], arguments].concat());
    run(&["--role", "doctor", "--person", "1"]).expect(2).says("user.personalCode must be");
    run(&["--role", "legal-representative", "--person", "37605030299"]).expect(2).says("patient.personalCode must be");
    fs::create_dir(place.path("data")).unwrap();
    fs::write(place.path("data/developer-key.pem"), "nonsense").unwrap();
    run(&["--role", "doctor", "--person", "37605030299"]).expect(1).says("it holds no RSA key");
}

#[test]
fn a_role_that_the_table_of_permissions_does_not_have_is_warned_about() {
    let place = Place::new();
    let meant =
        "has no role 'docter', so a token with it grants nothing; did you mean 'doctor'? Its roles are: clinical-";
    let ran = place.run(&["token", "--role", "docter", "--person", "37605030299", "--data", "data"]);
    ran.expect(0).says("warning: the table of permissions").says(meant);
    assert_eq!(ran.text().trim_end().split('.').count(), 3, "the token is given out all the same");
    let ran = place.run(&["token", "--role", "x", "--person", "37605030299", "--data", "data"]);
    ran.expect(0).says("grants nothing. Its roles are: ");
    let server = Process::start(&place.path("data"));
    let asked = |role: &str| {
        let order = format!("{{\"user\": {{\"personalCode\": \"37605030299\"}}, \"role\": \"{role}\"}}");
        let headers = ["content-type: application/json"];
        server.client().send_to("POST", "/auth/v2/token", &headers, order.as_bytes()).unwrap().json()
    };
    assert!(asked("docter")["warning"].as_str().unwrap().contains(meant));
    assert!(asked("doctor").get("warning").is_none());
    let log = server.log();
    assert!(log.contains("a token was issued for a role that") && !log.contains("docter"), "{log}");
    assert!(server.stop().success());
}

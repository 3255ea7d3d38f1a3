//! What holds, and what the command line is: `hcert config`, `hcert permissions`, `hcert completions`, `hcert man`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};

use super::Place;

/// A folder with a settings file that sets two things, one of them a secret.
fn place() -> Place {
    let place = Place::new();
    let settings = "[server]\n\nlisten = \"127.0.0.1:9000\"\n[registry.remote]\naddress = \"https://a.ee/fhir\"\ntoken = \"very-secret\"\n";
    fs::write(place.path("hcert.toml"), settings).unwrap();
    fs::set_permissions(place.path("hcert.toml"), fs::Permissions::from_mode(0o600)).unwrap();
    place
}

#[test]
fn every_setting_is_printed_with_its_source_and_without_secrets() {
    let place = place();
    let mut command = place.command(&["config", "print", "--changed", "--data", "elsewhere"]);
    let output = command.env("HCERT__SERVER__WORKERS", "3").output().unwrap();
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "[server]\nlisten = \"127.0.0.1:9000\" # hcert.toml:3\nworkers = 3 # environment HCERT__SERVER__WORKERS\n\n\
         [storage]\ndata = \"elsewhere\" # flag --data\n\n\
         [registry.remote]\naddress = \"https://a.ee/fhir\" # hcert.toml:5\ntoken = \"…\" # hcert.toml:6\n"
    );
    let all = place.run(&["config", "print"]);
    assert!(!all.expect(0).text().contains("very-secret"));
    // It can be read again, and gives the same settings, but for the secrets.
    fs::write(place.path("again.toml"), all.text()).unwrap();
    let again = place.run(&["config", "print", "--json", "--config", "again.toml"]);
    again.expect(0);
    let settings = |text: &str| -> Vec<(String, Value)> {
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|line| (line["setting"].as_str().unwrap().to_owned(), line["value"].clone())).collect()
    };
    let before = place.run(&["config", "print", "--json"]);
    let before = settings(before.expect(0).text());
    assert_eq!(settings(again.text()), before);
    // What stands in the file of this project is all there is.
    let known = include_str!("../../hcert.toml");
    assert!(before.iter().all(|(setting, _)| known.contains(setting.rsplit('.').next().unwrap())));
    assert!(before.len() > 100, "{}", before.len());
}

#[test]
fn a_setting_is_explained() {
    let place = place();
    let explained = place.run(&["config", "explain", "server.listen"]);
    for words in [
        "server.listen = \"127.0.0.1:9000\"\n",
        "  from         hcert.toml:3\n",
        "  default      \"127.0.0.1:8080\"\n",
        "  environment  HCERT__SERVER__LISTEN\n",
        "\nAddress and port to listen on.",
    ] {
        assert!(explained.expect(0).text().contains(words), "{words}: {}", explained.text());
    }
    let json = place.run(&["config", "explain", "--json", "HCERT__SERVER__WORKERS"]);
    let json: Value = serde_json::from_str(json.expect(0).text()).unwrap();
    assert_eq!(
        (&json["setting"], &json["value"], &json["default"]),
        (&json!("server.workers"), &json!("2"), &json!("2"))
    );
    assert_eq!(json["source"], json!({"kind": "default"}));
    let section = place.run(&["config", "explain", "[backup]"]);
    assert!(section.expect(0).text().contains("backup.recipients = "), "{}", section.text());
    place
        .run(&["config", "explain", "listen"])
        .expect(2)
        .says("there is no setting 'listen'; did you mean server.listen?");
    place.run(&["config", "explain", "server.listn"]).expect(2).says("did you mean server.listen?");
}

#[test]
fn settings_are_checked_as_the_command_would_that_they_are_for() {
    let place = Place::new();
    let told = place.run(&["config", "check"]);
    told.expect(2).says("`hcert serve` lets nobody in without a token, so it needs access.token.jwks");
    let fine = place.run(&["config", "check", "--for", "dev"]);
    assert_eq!(fine.expect(0).text(), "the settings: can be used by hcert dev\n");
    fs::write(place.path("wrong.toml"), "[server]\nworkers = 0\n[access]\npermissions = \"gone.json\"\n").unwrap();
    let wrong = place.run(&["config", "check", "--for", "dev", "--config", "wrong.toml"]);
    wrong.expect(2).says("wrong.toml, line 2: server.workers = 0 is out of range");
    assert!(!place.path("data").exists(), "nothing was begun");
}

#[test]
fn permissions_are_printed_checked_and_explained() {
    let place = Place::new();
    let built_in = place.run(&["permissions", "print"]);
    fs::write(place.path("own.json"), &built_in.expect(0).out).unwrap();
    let checked = place.run(&["permissions", "check", "own.json"]);
    assert!(checked.expect(0).text().ends_with("own.json: can be used; it has 16 roles\n"), "{}", checked.text());
    let wrong = built_in.text().replacen("\"create\"", "\"creat\"", 1);
    fs::write(place.path("own.json"), wrong).unwrap();
    let told = "hcert: own.json: line 21, column 21: `creat` is not allowed here; did you mean `create`?";
    place.run(&["permissions", "check", "own.json"]).expect(2).says(told);

    let explained = |arguments: &[&str]| {
        let ran = place.run(&[&["permissions", "explain", "--role"], arguments].concat());
        ran.expect(0).text().to_owned()
    };
    assert_eq!(
        explained(&["gov-official", "--action", "read"]),
        "gov-official may read\n  certificates of the kind occupational with the status final or cancelled; shown as an employer sees it\n  \
         certificates of the kind driver-group-I or driver-group-II with the status final or cancelled\n"
    );
    assert_eq!(explained(&["receptionist", "--action", "read"]), "receptionist may not read\n");
    assert!(explained(&["patient", "--action", "read"]).contains(", only of the patient that the token names"));
    assert!(explained(&["doctor"]).contains("doctor may create\n"));
    let json: Value = serde_json::from_str(&explained(&["nurse", "--action", "search", "--json"])).unwrap();
    assert_eq!((&json["permitted"], &json["with"][0]["closedToDoctorsHidden"]), (&json!(true), &json!(true)));
    fs::write(place.path("hcert.toml"), "[access]\nchange_by = \"institution\"\n").unwrap();
    assert!(
        explained(&["doctor", "--action", "cancel"]).contains("of the caller's institution (setting access.change_by)")
    );
    place.run(&["permissions", "explain", "--role", "doctr"]).expect(2).says("did you mean 'doctor'?");
    let action = ["permissions", "explain", "--role", "doctor", "--action", "raed"];
    place.run(&action).expect(2).says("did you mean `read`?");
}

#[test]
fn shells_and_man_learn_the_command_line() {
    let place = Place::new();
    for (shell, check) in [("bash", Some("bash")), ("zsh", None), ("fish", None)] {
        let script = place.run(&["completions", shell]);
        assert!(script.expect(0).text().contains("terminology"), "{shell}");
        fs::write(place.path(shell), &script.out).unwrap();
        if let Some(program) = check {
            let read = Command::new(program).args(["-n", place.path(shell).to_str().unwrap()]).status().unwrap();
            assert!(read.success(), "{shell}");
        }
    }
    place.run(&["man"]).expect(0);
    place.run(&["man", "--dir", "none"]).expect(1).says("hcert: none: No such file or directory");
    fs::create_dir(place.path("man1")).unwrap();
    place.run(&["man", "--dir", "man1"]).expect(0);
    for (page, words) in [("hcert.1", "hcert\\-serve(1)"), ("hcert-audit-who.1", "\\-\\-patient")] {
        let text = fs::read_to_string(place.path("man1").join(page)).unwrap();
        assert!(text.contains(words), "{page}: {text}");
    }
}

//! `hcert demo` and `hcert dev --demo`: people and certificates to try things out with.

use std::fs;

use super::Place;
use super::process::Process;

#[test]
fn a_new_folder_is_filled_with_lives_once() {
    let place = Place::new();
    let made = place.run(&["demo", "--count", "300", "--data", "data"]);
    made.expect(0).says("added ").says(" of 60 made-up patients, and the lives of 20 people");
    assert_eq!(made.text().lines().count(), 20);
    assert!(made.text().contains("39406240015  Taavi Kask              Patient/200  a driver"), "{}", made.text());
    let stats = place.run(&["stats", "--data", "data"]);
    for kind in ["(Mustand)", "(Lõpetatud)", "(Peatatud)", "(Tühistatud)", "driver-group-II", "changes of consent"] {
        let line = stats.expect(0).text().lines().find(|line| line.contains(kind)).unwrap_or_default();
        assert!(!line.ends_with(" 0") && !line.is_empty(), "{kind}: {}", stats.text());
    }
    let who = place.run(&["audit", "who", "--patient", "45908309529", "--data", "data"]);
    for words in ["37605030299", "sellest keelduti", "patsient ise", "koostas tervisetõendi"] {
        assert!(who.expect(0).text().contains(words), "{words}: {}", who.text());
    }
    place.run(&["verify", "--data", "data"]).expect(0);
    place.run(&["audit", "verify", "--data", "data"]).expect(0);

    let again = place.run(&["demo", "--data", "data"]);
    again.expect(0).says("the folder has certificates already, so nothing was added");
    assert_eq!(again.out, made.out);
}

#[test]
fn a_server_for_trying_out_starts_with_them_and_one_for_real_data_has_none() {
    let place = Place::new();
    let server = Process::start_with(&place.path("data"), |command| {
        command.args(["--demo", "100"]);
    });
    let running = place.run(&["demo", "--data", "data"]);
    running.expect(1).says("data: ").says("in use");
    assert!(server.stop().success());
    assert!(place.run(&["demo", "--data", "data"]).expect(0).said.contains("certificates already"));

    fs::create_dir(place.path("real")).unwrap();
    let settings = "[access.token]\nissuer = \"i\"\naudience = \"a\"\njwks = \"https://127.0.0.1:1/jwks.json\"\n";
    fs::write(place.path("serve.toml"), settings).unwrap();
    let refused = place.run(&["serve", "--demo", "100", "--config", "serve.toml", "--data", "real"]);
    refused.expect(2).says("unexpected argument '--demo'");
}

#[test]
fn a_machine_is_examined_before_the_first_start() {
    let place = Place::new();
    fs::write(place.path("dev.toml"), "[server]\nlisten = \"127.0.0.1:0\"\n[management]\nlisten = \"127.0.0.1:0\"\n")
        .unwrap();
    let fine = place.run(&["doctor", "--for", "dev", "--config", "dev.toml", "--data", "data"]);
    for words in [
        "settings    ok        hcert dev can use them.\n",
        "data        ok        data holds no store yet; the first start makes one.\n",
        "listen      ok        127.0.0.1:0 is free.\n",
        "backup      degraded  No backups are taken: backup.folder is not set.\n",
    ] {
        assert!(fine.expect(0).text().contains(words), "{words}: {}", fine.text());
    }
    assert!(!place.path("data").exists(), "nothing was begun");
    let json = place.run(&["doctor", "--for", "dev", "--config", "dev.toml", "--json"]);
    let parts: Vec<serde_json::Value> =
        json.expect(0).text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(parts.iter().any(|part| part["part"] == "disk" && part["facts"]["free_bytes"].is_u64()), "{parts:?}");

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    fs::write(place.path("file"), "").unwrap();
    let address = taken.local_addr().unwrap();
    let settings = format!(
        "[server]\nlisten = \"{address}\"\n[access.token]\nissuer = \"i\"\naudience = \"a\"\njwks = \"https://127.0.0.1:1/jwks\"\n"
    );
    fs::write(place.path("wrong.toml"), settings).unwrap();
    let wrong = place.run(&["doctor", "--config", "wrong.toml", "--data", "file/data"]);
    wrong.expect(1).says("hcert: hcert serve could not run: see the 2 marked as down");
    for words in [
        "data        down      Nothing can be written into file/data, since ",
        &format!("listen      down      {address} cannot be listened on: "),
        "keys        degraded  access.token.jwks: 127.0.0.1, port 1, cannot be reached: ",
    ] {
        assert!(wrong.text().contains(words), "{words}: {}", wrong.text());
    }
}

//! `hcert erase`: one certificate is gone for good, everywhere but in what was copied before, and everything else is as it was.

use std::fs;

use super::process::Process;
use super::{Place, lines};

const DATA: [&str; 2] = ["--data", "data"];

fn erase<'a>(flags: &'a [&'a str]) -> Vec<&'a str> {
    [&["erase", "Composition/1", "--reason", "decision 7-3/2026"], &DATA[..], flags].concat()
}

/// Status of every answer about the erased certificate, and the total of a search that finds all.
fn seen(server: &Process) -> (Vec<u16>, u64) {
    let mut client = server.client();
    let statuses = ["", "/_history/1"].map(|rest| client.get(&format!("/Composition/1{rest}")).status).to_vec();
    let all: serde_json::Value = serde_json::from_str(client.get("/Composition?_count=0").text()).unwrap();
    (statuses, all["total"].as_u64().unwrap())
}

#[test]
fn an_erased_certificate_is_gone_from_the_folder_its_exports_and_what_is_restored() {
    let place = Place::new();
    let corpus = place.corpus(60, 3);
    place.run_with(&["import", "-", "--data", "data"], &corpus).expect(0);
    fs::create_dir(place.path("archives")).unwrap();
    place.run(&[&["backup", "archives"], &DATA[..]].concat()).expect(0);
    place.run(&["restore", "archives", "--data", "standby"]).expect(0);
    let before = place.export();
    let of_erased = |line: &&[u8]| line.starts_with(br#"{"fullUrl":"Composition/1","#);
    let versions = lines(&before).iter().filter(|line| of_erased(line)).count();
    assert!(versions > 0);

    let server = Process::start(&place.path("data"));
    let (statuses, certificates) = seen(&server);
    assert_eq!(statuses, [200, 200]);
    place.run(&erase(&["--yes"])).expect(1).says("only while it is stopped");
    assert!(server.stop().success());
    place.run(&erase(&[])).expect(1).says("nothing was erased").says("--yes does it");
    assert!(place.export() == before, "a look changes nothing");
    place.run(&[&["erase", "7777", "--yes", "--reason", "why"], &DATA[..]].concat()).expect(1).says("there is no");
    place.run(&[&["erase", "one", "--yes", "--reason", "why"], &DATA[..]].concat()).expect(2).says("such as 42");
    place.run(&[&["erase", "1", "--yes", "--reason", " "], &DATA[..]].concat()).expect(2).says("a reason has to be");

    let told = place.run(&erase(&["--yes", "--json"]));
    let told: serde_json::Value = serde_json::from_str(told.expect(0).text()).unwrap();
    assert_eq!((&told["certificate"], &told["versions"]), (&1.into(), &versions.into()));
    let gone = |data: &str| {
        place.run(&["verify", "--data", data]).expect(0);
        place.run(&["audit", "verify", "--data", data]).expect(0);
        let server = Process::start(&place.path(data));
        assert_eq!(seen(&server), (vec![410, 410], certificates - 1), "{data}");
        assert!(server.stop().success());
    };
    gone("data");
    let events = place.run(&[&["audit", "export"], &DATA[..]].concat());
    assert!(events.text().contains(r#""code":"store.erase""#), "{}", events.text());
    assert!(events.text().contains("decision 7-3/2026"));
    place.run(&erase(&["--yes"])).expect(0).says("was erased before");

    // What was exported before without those lines, and nothing else.
    let after = place.export();
    let kept: Vec<&[u8]> = lines(&before).into_iter().filter(|line| !of_erased(line)).collect();
    assert!(lines(&after) == kept);
    place.run_with(&["import", "-", "--data", "imported"], &after).expect(0);
    // Archives from before hold it; with one from behind they do not bring it back.
    place.run(&[&["backup", "archives", "--incremental"], &DATA[..]].concat()).expect(0);
    place.run(&["restore", "archives", "--data", "restored", "--verify"]).expect(0);
    gone("restored");
    // A standby that follows has an index from before.
    place.run(&["restore", "--onto", "archives", "--data", "standby"]).expect(0);
    gone("standby");
}

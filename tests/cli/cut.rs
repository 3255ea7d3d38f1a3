//! A file of the index is cut while a server has it mapped.

use std::fs::{self, OpenOptions};
use std::os::unix::process::ExitStatusExt;

use super::Place;
use super::process::{Client, Process, eventually};

/// Total of a search, and what it shows.
fn found(client: &mut Client, query: &str) -> serde_json::Value {
    let answer = client.get(&format!("/Composition?{query}"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let bundle = answer.json();
    let entries = bundle["entry"].as_array().cloned().unwrap_or_default();
    let ids: Vec<_> = entries.iter().map(|entry| entry["resource"]["id"].clone()).collect();
    serde_json::json!({ "total": bundle["total"], "ids": ids })
}

#[test]
fn a_server_whose_index_is_cut_says_so_when_it_ends_and_the_next_one_finds_everything() {
    let place = Place::new();
    place.run_with(&["import", "-", "--data", "data"], &place.corpus(300, 11)).expect(0);
    let queries = ["_count=50", "status=final&_sort=title", "_id=3,7,20", "_count=20&_page=3&_sort=date"];
    let mut server = Process::start(&place.path("data"));
    let before = queries.map(|query| found(&mut server.client(), query));
    let created = server.client().send("POST", "/Composition", &[], &fs::read(draft()).unwrap()).unwrap();
    assert_eq!(created.status, 201);
    let location = created.header("location").unwrap();
    let id = location.split("/Composition/").nth(1).unwrap().split('/').next().unwrap().to_owned();

    let mut cut = 0;
    for file in fs::read_dir(place.path("data/index")).unwrap().map(|file| file.unwrap().path()) {
        let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if ["fast", "idx", "term"].contains(&ending) {
            OpenOptions::new().write(true).open(&file).unwrap().set_len(0).unwrap();
            cut += 1;
        }
    }
    assert!(cut > 0, "there are segments");
    let mut client = server.client();
    eventually("a search, or a round of the indexer, meets it", || {
        queries.iter().any(|query| client.send("GET", &format!("/Composition?{query}"), &[], b"").is_err())
    });
    let status = server.ends_by_itself();
    let said = server.log();
    assert_eq!(status.signal(), Some(libc::SIGBUS), "{said}");
    assert!(
        said.contains("hcert ends (SIGBUS)") && said.contains("'index'") && said.contains("start it again"),
        "{said}"
    );

    let server = Process::start_with(&place.path("data"), |command| {
        command.env("HCERT__LOG__LEVEL", "info");
    });
    let mut client = server.client();
    assert_eq!(client.get(&format!("/Composition/{id}")).status, 200, "what was acknowledged is there");
    client.send("DELETE", &format!("/Composition/{id}"), &[], b"").unwrap();
    eventually("the index is there again", || client.send("GET", "/Composition", &[], b"").unwrap().status == 200);
    for (query, before) in queries.iter().zip(before) {
        assert_eq!(found(&mut client, query), before, "{query}");
    }
    assert!(server.log().contains("the index is built from the store"), "{}", server.log());
}

fn draft() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/examples/driver-draft.json")
}

//! The table of permissions as a file of one's own.

use std::fs;

use super::Place;
use super::process::Process;

#[test]
fn another_table_takes_the_place_of_the_one_that_comes_with_the_service() {
    let place = Place::new();
    let data = place.path("data");
    let own = place.path("permissions.json");
    let table = include_str!("../../data/permissions.json").replacen(
        "\"name\": \"hcert.certificate.count\",\n      \"given-to\": []",
        "\"name\": \"hcert.certificate.count\",\n      \"given-to\": [\"receptionist\"]",
        1,
    );
    assert!(table.contains("[\"receptionist\"]"));
    fs::write(&own, &table).unwrap();
    let server = Process::start_with(&data, |command| {
        command.env("HCERT__ACCESS__PERMISSIONS", &own);
    });
    let token = place.run(&["token", "--role", "receptionist", "--person", "37605030299", "--data", "data"]);
    let authorization = format!("authorization: Bearer {}", token.expect(0).text().trim_end());
    let status = |path: &str| server.client().send("GET", path, &[&authorization], b"").unwrap().status;
    assert_eq!((status("/Composition?_count=0"), status("/Composition")), (200, 403));
    assert_eq!((status("/Composition?_summary=count"), status("/Composition/1")), (200, 403));
    assert!(server.stop().success());

    fs::write(&own, table.replace("\"receptionist\": [", "\"reception\": [")).unwrap();
    let mut command = place.command(&["dev", "--listen", "127.0.0.1:0", "--data", "data"]);
    let output = command.env("HCERT__ACCESS__PERMISSIONS", &own).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("there is no group 'receptionist'"), "{said}");
}

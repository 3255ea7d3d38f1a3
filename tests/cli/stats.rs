//! `hcert stats`: which tables are derived, and what a version takes.

use serde_json::Value;

use super::Place;

#[test]
fn tables_are_kept_or_derived_and_the_audit_trail_counts_for_no_version() {
    let place = Place::new();
    place.run(&["generate", "--count", "200", "--out", "certificates.ndjson"]).expect(0);
    place.run(&["import", "certificates.ndjson", "--data", "data"]).expect(0);
    let ran = place.run(&["stats", "--data", "data"]);
    let shown = ran.expect(0).text();
    for (table, is) in [("version", "kept"), ("log", "kept"), ("class", "derived"), ("counter", "derived")] {
        let mut rows = shown.lines().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>());
        assert!(rows.any(|row| row == [table, is]), "{table} is {is}: {shown}");
    }
    let ran = place.run(&["stats", "--data", "data", "--json"]);
    let stats: Value = serde_json::from_str(ran.expect(0).text()).expect("JSON");
    let bytes = |name: &str| {
        let files = stats["files"].as_array().expect("a list").iter();
        files.filter(|file| file["name"] == name).filter_map(|file| file["bytes"].as_u64()).sum::<u64>()
    };
    let files = ["store.redb", "store.journal-0", "store.journal-1", "index"].map(bytes).iter().sum::<u64>();
    assert_eq!(stats["store_bytes_a_version"].as_u64(), Some(files / stats["versions"].as_u64().expect("a number")));
    assert!(bytes("audit") > 0, "the trail makes its files ahead");
}

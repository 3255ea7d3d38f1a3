//! Histories of one certificate and of all. Contract 4.1, 4.8.

use serde_json::Value;

use crate::body;
use crate::server::Server;

/// Made in this order: 1 created, 2 created, 1 completed, 2 deleted, 1 suspended.
async fn five_changes() -> Server {
    let server = Server::start().await;
    server.create(body::text("driver-draft")).await;
    server.create(body::text("occupational-draft")).await;
    server.put("Composition/1", body::text("driver-external-declaration")).await.expect(200);
    server.delete("Composition/2").await.expect(204);
    server.suspend("Composition/1").await.expect(200);
    server
}

/// Method and version of each entry.
fn told(bundle: &crate::response::TestResponse) -> Vec<String> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    bundle.entries(|entry| {
        let (id, tag) = (text(&entry["fullUrl"]), text(&entry["response"]["etag"]));
        Some(format!(
            "{} {} {tag}",
            text(&entry["request"]["method"]),
            id.trim_start_matches("http://127.0.0.1:8080/fhir/Composition/")
        ))
    })
}

#[tokio::test]
async fn the_history_of_a_certificate_has_every_version_newest_first() {
    let server = five_changes().await;
    insta::assert_snapshot!(server.get("Composition/1/_history?_elements=status").await);
    insta::assert_snapshot!("history_of_a_deleted_certificate", server.get("Composition/2/_history").await);
}

#[tokio::test]
async fn the_history_of_all_has_every_change_newest_first() {
    let server = five_changes().await;
    let bundle = server.get("Composition/_history").await.expect(200);
    let changes = ["PUT 1 W/\"3\"", "DELETE 2 W/\"2\"", "PUT 1 W/\"2\"", "POST 2 W/\"1\"", "POST 1 W/\"1\""];
    assert_eq!(told(&bundle), changes);
    insta::assert_snapshot!(server.get("Composition/_history?_summary=text&_count=2&_page=2").await);
}

#[tokio::test]
async fn a_history_is_paged() {
    let server = five_changes().await;
    let mut seen = Vec::new();
    let mut page = Some("Composition/_history?_count=2".to_owned());
    while let Some(path) = page {
        let bundle = server.get(&path).await.expect(200);
        assert_eq!(bundle.json()["total"], 5);
        seen.extend(told(&bundle));
        page = bundle.next();
    }
    assert_eq!(seen, told(&server.get("Composition/_history").await));

    let past = server.get("Composition/1/_history?_count=2&_page=9").await.expect(200);
    assert!(past.json().get("entry").is_none());
    assert!(past.link("previous").is_some_and(|url| url.ends_with("_page=2")) && past.link("next").is_none());
    let total = server.get("Composition/1/_history?_count=0").await.expect(200);
    insta::assert_snapshot!(total);
    let total = server.get("Composition/_history?_summary=count").await.expect(200).json();
    assert!(total["total"] == 5 && total.get("entry").is_none());
    let cut = server.get("Composition/_history?_count=5000").await.expect(200);
    assert_eq!(cut.link("self").as_deref(), Some("http://127.0.0.1:8080/fhir/Composition/_history?_count=100&_page=1"));
}

#[tokio::test]
async fn a_history_can_begin_at_a_moment() {
    let server = five_changes().await;
    // The changes were made at 08:00:00 to 08:00:04 in Tallinn.
    for (since, total) in [
        ("2025-01-13T08:00:02%2B02:00", 3),
        ("2025-01-13T06:00:02Z", 3),
        ("2025-01-13T08:00:02.001%2B02:00", 2),
        ("2025-01-13T08:00:04", 1),
        ("2025-01-13T08:00:05%2B02:00", 0),
        ("2025-01-13", 5),
        ("2025-01-14", 0),
        ("2025", 5),
    ] {
        let bundle = server.get(&format!("Composition/_history?_since={since}")).await.expect(200);
        assert_eq!((bundle.json()["total"].as_u64(), told(&bundle).len()), (Some(total), total as usize), "{since}");
    }
    let one = server.get("Composition/1/_history?_since=2025-01-13T08:00:02%2B02:00").await.expect(200);
    assert_eq!(told(&one), ["PUT 1 W/\"3\"", "PUT 1 W/\"2\""]);
}

#[tokio::test]
async fn a_history_can_show_what_was_current_at_a_moment() {
    let server = five_changes().await;
    for (at, changes) in [
        ("2025-01-13T07:59:59%2B02:00", &[][..]),
        ("2025-01-13T08:00:00.000%2B02:00", &["POST 1 W/\"1\""][..]),
        ("2025-01-13T08:00:01.500%2B02:00", &["POST 2 W/\"1\"", "POST 1 W/\"1\""]),
        ("2025-01-13T08:00:02.500%2B02:00", &["PUT 1 W/\"2\"", "POST 2 W/\"1\""]),
    ] {
        let bundle = server.get(&format!("Composition/_history?_at={at}")).await.expect(200);
        assert_eq!(told(&bundle), changes, "{at}");
    }
    let one = server.get("Composition/1/_history?_at=2025-01-13T08:00:03.000%2B02:00").await.expect(200);
    assert_eq!(told(&one), ["PUT 1 W/\"2\""]);
    let day = server.get("Composition/1/_history?_at=2025-01-13").await.expect(200);
    assert_eq!(told(&day).len(), 3);
}

#[tokio::test]
async fn a_history_refuses_what_it_does_not_know() {
    let server = five_changes().await;
    for (query, code) in [
        ("_page=-1", "HCERT-120"),
        ("_page=0", "HCERT-120"),
        ("_page=", "HCERT-121"),
        ("_count=abc", "HCERT-120"),
        ("_count=-1", "HCERT-120"),
        ("_count=1&_count=1", "HCERT-122"),
        ("_since=2025-02-30", "HCERT-120"),
        ("_since=yesterday", "HCERT-120"),
        ("_since=2025&_since=2026", "HCERT-122"),
        ("_at=2025-03-30T03:30:00", "HCERT-110"),
        ("status=final", "HCERT-118"),
        ("nonsense=1", "HCERT-118"),
    ] {
        server.get(&format!("Composition/1/_history?{query}")).await.refused(400, &[code]);
        server.get(&format!("Composition/_history?{query}")).await.refused(400, &[code]);
    }
    // The address is judged first.
    server.get("Composition/9/_history?_page=-1").await.refused(404, &["HCERT-127"]);
    // As in a search, an unknown result parameter is dropped.
    let bundle = server.get("Composition/1/_history?_total=none&_count=1").await.expect(200);
    assert!(bundle.link("self").is_some_and(|url| url.ends_with("/_history?_count=1&_page=1")), "{bundle}");
}

//! GET /Composition/{id} and its versions. Specification 4.3, 4.4; Contract 1.3, 2.4, 3.7.

use serde_json::json;

use crate::body::{self, Body};
use crate::server::Server;

#[tokio::test]
async fn a_read_answers_the_current_version() {
    let server = Server::start().await;
    server.create(body::text("occupational-draft")).await;
    insta::assert_snapshot!(server.get("Composition/1").await);
}

#[tokio::test]
async fn a_vread_answers_the_version_asked_for() {
    let server = Server::start().await;
    server.create(body::text("driver-draft")).await;
    server.put("Composition/1", body::text("driver-final")).await.expect(200);
    insta::assert_snapshot!(server.get("Composition/1/_history/1").await);
    let current = server.get("Composition/1/_history/2").await.expect(200);
    assert_eq!(current.body, server.get("Composition/1").await.body);
}

#[tokio::test]
async fn a_certificate_that_is_not_there_is_404() {
    let server = Server::start().await;
    insta::assert_snapshot!(server.get("Composition/1").await);
    server.create(Body::draft()).await;
    for path in ["2", "007", "01", "0", "abc", "a-b.c", "18446744073709551616", &"1".repeat(64)] {
        server.get(&format!("Composition/{path}")).await.refused(404, &["HCERT-127"]);
        server.get(&format!("Composition/{path}/_history/1")).await.refused(404, &["HCERT-127"]);
        server.get(&format!("Composition/{path}/_history")).await.refused(404, &["HCERT-127"]);
        server.delete(&format!("Composition/{path}")).await.refused(404, &["HCERT-127"]);
        server.cancel(&format!("Composition/{path}")).await.refused(404, &["HCERT-127"]);
    }
}

#[tokio::test]
async fn a_version_that_is_not_there_is_404() {
    let server = Server::start().await;
    server.create(Body::draft()).await;
    insta::assert_snapshot!(server.get("Composition/1/_history/2").await);
    for version in ["0", "01", "2", "99999999999", "18446744073709551616", "abc", "1.0"] {
        server.get(&format!("Composition/1/_history/{version}")).await.refused(404, &["HCERT-128"]);
    }
}

#[tokio::test]
async fn a_deleted_draft_stays_readable_in_its_history() {
    let server = Server::start().await;
    let draft = server.create(Body::draft()).await;
    let before = server.get(&draft).await.expect(200).body;

    server.delete(&draft).await.expect(204);
    insta::assert_snapshot!(server.get(&draft).await);
    assert_eq!(server.get(&format!("{draft}/_history/1")).await.expect(200).body, before);
    server.get(&format!("{draft}/_history/2")).await.refused(410, &["HCERT-135"]);
    server.get(&format!("{draft}/_history/3")).await.refused(404, &["HCERT-128"]);
    assert!(server.found("").await.is_empty());
}

#[tokio::test]
async fn a_read_can_be_cut_down() {
    let server = Server::start().await;
    server.create(body::text("driver-final")).await;
    insta::assert_snapshot!("elements", server.get("Composition/1?_elements=title,author").await);
    insta::assert_snapshot!("summary_text", server.get("Composition/1?_summary=text").await);
    insta::assert_snapshot!("summary_true", server.get("Composition/1?_summary=true").await);
    let data = server.get("Composition/1?_summary=data").await.expect(200).json();
    assert!(data.get("text").is_none() && data["section"].is_array());
    assert_eq!(data["meta"]["tag"][0]["code"], "SUBSETTED");
    let whole = server.get("Composition/1").await.body;
    assert_eq!(server.get("Composition/1?_summary=false").await.expect(200).body, whole);
    let vread = server.get("Composition/1/_history/1?_elements=status").await.expect(200).json();
    assert_eq!((&vread["status"], vread.get("contained")), (&json!("final"), Some(&vread["contained"])));
    for query in ["_summary=count", "_summary=yes", "_elements=", "_elements=a.b", "_summary=text&_elements=title"] {
        let told = server.get(&format!("Composition/1?{query}")).await.expect(400);
        assert!(["HCERT-120", "HCERT-121"].contains(&told.codes()[0].as_str()), "{told}");
    }
}

#[tokio::test]
async fn what_is_read_is_byte_for_byte_the_same_in_every_place() {
    let server = Server::start().await;
    server.create(body::text("occupational-final")).await;
    let read = server.get("Composition/1").await.expect(200);
    let vread = server.get("Composition/1/_history/1").await.expect(200);
    assert_eq!(read.body, vread.body);
    for bundle in ["Composition", "Composition/_history", "Composition/1/_history"] {
        let bundle = server.get(bundle).await.expect(200);
        assert!(bundle.text().contains(read.text()), "{bundle}");
    }
}

//! Conditional requests. Contract 2.5.

use serde_json::json;

use crate::body::{self, Body, div};
use crate::server::Server;

const NUMBER: &str = "identifier=https://fhir.ee/hcert/health-certificate-number|TT-2025-000201";

/// What can be sent to change a certificate of version 2.
async fn change(server: &Server, kind: &str, names: &str) -> crate::response::TestResponse {
    let draft = server.create(Body::draft()).await;
    let completed = || Body::completed().section("change-reason", &div("Põhjus"));
    match kind {
        "update" => {
            server.put(&draft, Body::draft()).await.expect(200);
            server.put(&draft, Body::draft()).header("If-Match", names).await
        }
        "delete" => {
            server.put(&draft, Body::draft()).await.expect(200);
            server.delete(&draft).header("If-Match", names).await
        }
        "$set-consent" => {
            server.put(&draft, Body::draft()).await.expect(200);
            let closed = json!({"name": "doctor", "valueString": "closed"});
            let body = json!({"resourceType": "Parameters", "parameter": [closed]});
            server.post(&format!("{draft}/$set-consent"), body.to_string()).header("If-Match", names).await
        }
        operation => {
            server.put(&draft, completed()).await.expect(200);
            let path = format!("{draft}/{operation}");
            server.post(&path, Body::reason("Põhjus")).header("If-Match", names).await
        }
    }
}

const CHANGES: [&str; 5] = ["update", "delete", "$suspend", "$cancel", "$set-consent"];

#[tokio::test]
async fn if_match_lets_the_version_it_names_be_changed() {
    let server = Server::start().await;
    for kind in CHANGES {
        for names in ["W/\"2\"", "\"2\"", "2", "*", "\"1\", W/\"2\"", "1,2", " 2 "] {
            let told = change(&server, kind, names).await;
            assert!(told.status.is_success(), "{kind} with {names}: {told}");
        }
    }
}

#[tokio::test]
async fn if_match_refuses_to_change_another_version() {
    let server = Server::start().await;
    for kind in CHANGES {
        for names in ["W/\"1\"", "\"3\"", "1", "1, 3", "\"02\"", "\"\"", "\"*\"", "02"] {
            let told = change(&server, kind, names).await.refused(412, &["HCERT-137"]);
            assert!(told.said().contains("which is W/\"2\""), "{told}");
        }
    }
    let draft = server.create(Body::draft()).await;
    let before = server.seq();
    insta::assert_snapshot!(server.put(&draft, Body::draft()).header("If-Match", "W/\"2\"").await);
    assert_eq!(server.seq(), before);
}

#[tokio::test]
async fn a_condition_that_is_none_is_refused() {
    let server = Server::start().await;
    for kind in CHANGES {
        for names in ["", "W/2", "abc", "\"2", "*, 2", "2 3", "W/"] {
            let told = change(&server, kind, names).await.refused(400, &["HCERT-117"]);
            assert_eq!(told.places(), ["http.if-match"]);
        }
    }
    server.get("Composition/1").header("If-None-Match", "W/1").await.refused(400, &["HCERT-117"]);
}

#[tokio::test]
async fn the_condition_is_judged_after_the_body_and_before_the_state() {
    let server = Server::start().await;
    let completed = server.create(Body::completed()).await;
    server.put(&completed, Body::draft()).header("If-Match", "7").await.refused(412, &["HCERT-137"]);
    server.put(&completed, "{}").header("If-Match", "7").await.expect(400);
    server.delete(&completed).header("If-Match", "7").await.refused(412, &["HCERT-137"]);
    server.put("Composition/9", Body::draft()).header("If-Match", "7").await.refused(405, &["HCERT-130"]);
    server.delete("Composition/9").header("If-Match", "7").await.refused(404, &["HCERT-127"]);
    let draft = server.create(Body::draft()).await;
    server.delete(&draft).await.expect(204);
    server.put(&draft, Body::draft()).header("If-Match", "7").await.refused(410, &["HCERT-135"]);
    server.delete(&draft).header("If-Match", "7").await.expect(204);
}

#[tokio::test]
async fn what_is_known_already_is_not_sent_again() {
    let server = Server::start().await;
    server.create(Body::draft()).await;
    server.put("Composition/1", Body::draft()).await.expect(200);
    insta::assert_snapshot!(server.get("Composition/1").header("If-None-Match", "W/\"2\"").await);
    for names in ["\"2\"", "2", "*", "W/\"1\", W/\"2\""] {
        server.get("Composition/1").header("If-None-Match", names).await.expect(304);
        server.head("Composition/1").header("If-None-Match", names).await.expect(304);
    }
    server.get("Composition/1").header("If-None-Match", "W/\"1\"").await.expect(200);
    server.get("Composition/1/_history/1").header("If-None-Match", "W/\"1\"").await.expect(304);
    server.get("Composition/1/_history/1").header("If-None-Match", "W/\"2\"").await.expect(200);
    // Only what is there can be known.
    server.get("Composition/9").header("If-None-Match", "*").await.refused(404, &["HCERT-127"]);
    server.delete("Composition/1").await.expect(204);
    server.get("Composition/1").header("If-None-Match", "*").await.refused(410, &["HCERT-135"]);
}

#[tokio::test]
async fn what_was_not_changed_since_is_not_sent_again() {
    let server = Server::start().await;
    server.set_clock("2025-01-13T08:00:00.700+02:00");
    server.create(Body::draft()).await;
    let last_modified = server.get("Composition/1").await.header("last-modified").expect("a date").to_owned();
    assert_eq!(last_modified, "Mon, 13 Jan 2025 06:00:00 GMT");
    for (since, status) in [
        (last_modified.as_str(), 304),
        ("Mon, 13 Jan 2025 06:00:01 GMT", 304),
        ("Mon, 13 Jan 2025 05:59:59 GMT", 200),
        ("Monday, 13-Jan-25 06:00:00 GMT", 304),
        ("Mon Jan 13 06:00:00 2025", 304),
        ("2025-01-13T08:00:00+02:00", 200),
        ("nonsense", 200),
    ] {
        server.get("Composition/1").header("If-Modified-Since", since).await.expect(status);
        server.get("Composition/1/_history/1").header("If-Modified-Since", since).await.expect(status);
    }
    // If-None-Match weighs more.
    let told = server.get("Composition/1").header("If-Modified-Since", &last_modified);
    told.header("If-None-Match", "W/\"7\"").await.expect(200);
}

#[tokio::test]
async fn if_none_exist_creates_what_is_not_there() {
    let server = Server::start().await;
    let create = || server.post("Composition", body::text("driver-draft")).header("If-None-Exist", NUMBER);
    create().await.expect(201);
    insta::assert_snapshot!("if_none_exist_finds_one", create().await);
    let told = create().prefer("return=representation").await.expect(200);
    assert_eq!(told.body, server.get("Composition/1").await.body);
    let told = create().prefer("return=OperationOutcome").await.expect(200);
    assert_eq!(told.json()["issue"][0]["details"]["coding"][0]["code"], "HCERT-161");
    assert_eq!(server.seq(), 1);

    server.create(Body::draft()).await;
    insta::assert_snapshot!("if_none_exist_finds_several", create().await);
    assert_eq!(server.seq(), 2);

    // A deleted certificate, and one whose number has changed, are not there.
    server.delete("Composition/1").await.expect(204);
    server.put("Composition/2", Body::draft().number("other")).await.expect(200);
    let told = create().await.expect(201);
    assert_eq!(told.header("location"), Some("http://127.0.0.1:8080/fhir/Composition/3/_history/1"));
}

#[tokio::test]
async fn if_none_exist_answers_the_version_that_is_current() {
    let server = Server::start().await;
    server.create(Body::draft()).await;
    server.put("Composition/1", Body::completed().number("TT-2025-000201")).await.expect(200);
    let told = server.post("Composition", Body::draft()).header("If-None-Exist", NUMBER).await.expect(200);
    assert_eq!(told.header("location"), Some("http://127.0.0.1:8080/fhir/Composition/1/_history/2"));
    assert_eq!(told.header("etag"), Some("W/\"2\""));
    assert_eq!(told.header("last-modified"), Some("Mon, 13 Jan 2025 06:00:01 GMT"));
}

#[tokio::test]
async fn of_two_at_once_only_one_is_created() {
    let server = Server::start().await;
    for round in 1..=20_u64 {
        let number = format!("TT-{round}");
        let condition = format!("identifier=https://fhir.ee/hcert/health-certificate-number%7C{number}");
        let create = || server.post("Composition", Body::draft().number(&number)).header("If-None-Exist", &condition);
        let (first, second, third) = tokio::join!(create(), create(), create());
        let mut statuses = [first.status.as_u16(), second.status.as_u16(), third.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 200, 201], "{first}\n{second}");
        assert!(first.header("location") == second.header("location") && first.header("etag") == third.header("etag"));
        assert_eq!(server.seq(), round);
    }
}

#[tokio::test]
async fn if_none_exist_takes_a_certificate_number_and_nothing_else() {
    let server = Server::start().await;
    for condition in [
        "",
        "identifier=TT-1",
        "identifier=|TT-1",
        "identifier=https://fhir.ee/hcert/health-certificate-number|",
        "identifier=a|b,a|c",
        "identifier:not=a|b",
        "identifier=a|b&status=final",
        "status=final",
        "identifier=a|b&identifier=a|c",
        "identifier=%ff|b",
        "a|b",
    ] {
        let told = server.post("Composition", Body::draft()).header("If-None-Exist", condition).await;
        assert_eq!((told.status.as_u16(), told.codes()), (400, vec!["HCERT-117".to_owned()]), "{condition}: {told}");
    }
    let told =
        server.post("Composition", Body::draft()).header("If-None-Exist", NUMBER).header("If-None-Exist", NUMBER);
    told.await.refused(400, &["HCERT-117"]);
    assert_eq!(server.seq(), 0);
    // A body that is wrong is refused whether one is there or not.
    server.create(Body::draft()).await;
    server.post("Composition", "{").header("If-None-Exist", NUMBER).await.refused(400, &["HCERT-102"]);
}

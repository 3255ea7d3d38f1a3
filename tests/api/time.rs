//! Estonian local time around both clock changes of 2025: on 30 March 03:00 becomes 04:00, on 26 October 04:00 becomes 03:00.
//! Contract 2.8, 4.3.

use serde_json::json;

use crate::body::{Body, div};
use crate::server::Server;

/// A draft with this `date`, read back.
async fn read_back(server: &Server, date: &str) -> String {
    let certificate = server.create(Body::draft().date(date)).await;
    server.get(&certificate).await.json()["date"].as_str().expect("a date").to_owned()
}

#[tokio::test]
async fn every_time_is_answered_in_estonian_local_time() {
    let server = Server::start().await;
    for (sent, answered) in [
        // As it is.
        ("2025-01-10T09:14:00+02:00", "2025-01-10T09:14:00+02:00"),
        ("2025-07-10T09:14:00+03:00", "2025-07-10T09:14:00+03:00"),
        // From elsewhere, also over the change of the day.
        ("2025-01-10T07:14:00Z", "2025-01-10T09:14:00+02:00"),
        ("2025-07-10T07:14:00Z", "2025-07-10T10:14:00+03:00"),
        ("2025-07-10T22:30:00-05:00", "2025-07-11T06:30:00+03:00"),
        ("2025-01-10T09:14:00+03:00", "2025-01-10T08:14:00+02:00"),
        ("2025-01-01T00:30:00+14:00", "2024-12-31T12:30:00+02:00"),
        // Without an offset it is Estonian time.
        ("2025-01-10T09:14:00", "2025-01-10T09:14:00+02:00"),
        ("2025-07-10T09:14:00", "2025-07-10T09:14:00+03:00"),
        // A zero fraction is dropped, another stays with all its digits.
        ("2025-01-10T09:14:00.000+02:00", "2025-01-10T09:14:00+02:00"),
        ("2025-01-10T07:14:00.120Z", "2025-01-10T09:14:00.120+02:00"),
        ("2025-01-10T09:14:00.123456789", "2025-01-10T09:14:00.123456789+02:00"),
        // Dates stay dates.
        ("2025-03-30", "2025-03-30"),
        ("2025-03", "2025-03"),
        ("2025", "2025"),
    ] {
        assert_eq!(read_back(&server, sent).await, answered, "{sent}");
    }
}

#[tokio::test]
async fn in_spring_an_hour_does_not_exist() {
    let server = Server::start().await;
    for (sent, answered) in [
        ("2025-03-30T02:59:59", "2025-03-30T02:59:59+02:00"),
        ("2025-03-30T04:00:00", "2025-03-30T04:00:00+03:00"),
        ("2025-03-30T00:59:59Z", "2025-03-30T02:59:59+02:00"),
        ("2025-03-30T01:00:00Z", "2025-03-30T04:00:00+03:00"),
        // With an offset it is a moment like any other.
        ("2025-03-30T03:30:00+02:00", "2025-03-30T04:30:00+03:00"),
        ("2025-03-30T03:30:00+03:00", "2025-03-30T02:30:00+02:00"),
    ] {
        assert_eq!(read_back(&server, sent).await, answered, "{sent}");
    }
    let before = server.seq();
    for missing in ["2025-03-30T03:00:00", "2025-03-30T03:30:00", "2025-03-30T03:59:59.999"] {
        let told = server.post("Composition", Body::draft().date(missing)).await.refused(400, &["HCERT-110"]);
        assert_eq!(told.places(), ["Composition.date"]);
    }
    let told = server.post("Composition", Body::draft().period("2025-03-30T03:00:00", "2025-03-30T03:59:59")).await;
    let told = told.refused(400, &["HCERT-110", "HCERT-110"]);
    assert_eq!(told.places(), ["Composition.event[0].period.end", "Composition.event[0].period.start"]);
    insta::assert_snapshot!(server.post("Composition", Body::draft().date("2025-03-30T03:30:00")).await);
    assert_eq!(server.seq(), before);
}

#[tokio::test]
async fn in_autumn_an_hour_comes_twice_and_the_first_is_meant() {
    let server = Server::start().await;
    for (sent, answered) in [
        ("2025-10-26T02:59:59", "2025-10-26T02:59:59+03:00"),
        ("2025-10-26T03:00:00", "2025-10-26T03:00:00+03:00"),
        ("2025-10-26T03:30:00", "2025-10-26T03:30:00+03:00"),
        ("2025-10-26T03:59:59", "2025-10-26T03:59:59+03:00"),
        ("2025-10-26T04:00:00", "2025-10-26T04:00:00+02:00"),
        // Both of them with an offset.
        ("2025-10-26T03:30:00+03:00", "2025-10-26T03:30:00+03:00"),
        ("2025-10-26T03:30:00+02:00", "2025-10-26T03:30:00+02:00"),
        ("2025-10-26T00:30:00Z", "2025-10-26T03:30:00+03:00"),
        ("2025-10-26T01:30:00Z", "2025-10-26T03:30:00+02:00"),
    ] {
        assert_eq!(read_back(&server, sent).await, answered, "{sent}");
    }
    // In the order of time, though the local times say otherwise.
    let server = Server::start().await;
    for date in ["2025-10-26T03:10:00+02:00", "2025-10-26T03:50:00+03:00", "2025-10-26T03:20:00"] {
        server.create(Body::draft().date(date)).await;
    }
    assert_eq!(server.found("_sort=date").await, [3, 2, 1]);
}

#[tokio::test]
async fn every_time_of_a_body_is_brought_into_local_time() {
    let server = Server::start().await;
    let body = Body::draft()
        .period("2025-03-29T22:00:00Z", "2025-10-26T21:59:59Z")
        .with(
            "/contained/1",
            json!({
                "resourceType": "Observation",
                "id": "seen",
                "status": "final",
                "code": {"text": "x"},
                "effectiveDateTime": "2025-10-26T01:00:00Z",
                "issued": "2025-10-26T00:59:59.999Z"
            }),
        )
        .with("/section/1", json!({"title": "Seen", "entry": [{"reference": "#seen"}]}))
        .with("/extension", json!([{"url": "https://example.ee/seen", "valueDateTime": "2025-03-30T01:00:00Z"}]));
    let certificate = server.create(body).await;
    let read = server.get(&certificate).await.json();
    assert_eq!(read["event"][0]["period"]["start"], "2025-03-30T00:00:00+02:00");
    assert_eq!(read["event"][0]["period"]["end"], "2025-10-26T23:59:59+02:00");
    assert_eq!(read["contained"][1]["effectiveDateTime"], "2025-10-26T03:00:00+02:00");
    assert_eq!(read["contained"][1]["issued"], "2025-10-26T03:59:59.999+03:00");
    assert_eq!(read["extension"][0]["valueDateTime"], "2025-03-30T04:00:00+03:00");
    // An instant needs its offset.
    let body = Body::draft().with(
        "/contained/1",
        json!({
            "resourceType": "Observation", "id": "seen", "status": "final", "code": {"text": "x"},
            "issued": "2025-10-26T00:59:59.999"
        }),
    );
    let body = body.with("/section/1", json!({"title": "Seen", "entry": [{"reference": "#seen"}]}));
    server.post("Composition", body).await.refused(400, &["HCERT-109"]);
}

#[tokio::test]
async fn both_end_days_of_a_validity_count_also_when_the_clock_changes() {
    let server = Server::start().await;
    server.create(Body::completed().period("2025-03-30T00:00:00+02:00", "2025-10-26T23:59:59+02:00")).await;
    // The last moment before the day, and the first after it.
    server.create(Body::completed().period("2025-01-01", "2025-03-29T23:59:59+02:00")).await;
    server.create(Body::completed().period("2025-10-27T00:00:00+02:00", "2025-12-31")).await;
    // Sent as UTC, and touching the days with a second only.
    server.create(Body::completed().period("2025-03-30T20:59:59Z", "2025-10-25T21:00:00Z")).await;
    for (period, found) in [
        ("2025-03-29", &[2][..]),
        ("2025-03-30", &[1, 4]),
        ("2025-03-31", &[1, 4]),
        ("2025-10-25", &[1, 4]),
        ("2025-10-26", &[1, 4]),
        ("2025-10-27", &[3]),
        // A value with a time asks for that instant.
        ("2025-03-30T02:30:00", &[1]),
        ("2025-03-30T23:59:59", &[1, 4]),
        ("2025-10-26T00:00:00", &[1, 4]),
        ("2025-10-26T03:30:00%2B02:00", &[1]),
        ("2025-10", &[]),
        ("2025-06", &[1, 4]),
        ("sa2025-10-26", &[3]),
        ("eb2025-03-30", &[2]),
    ] {
        assert_eq!(server.found(&format!("period={period}&_sort=_id")).await, found, "{period}");
    }
    server.get("Composition?period=2025-03-30T03:30:00").await.refused(400, &["HCERT-110"]);
}

#[tokio::test]
async fn dates_are_found_on_the_days_of_23_and_25_hours() {
    let server = Server::start().await;
    for date in [
        "2025-03-29T21:59:59Z", // 1: the last second of 29 March
        "2025-03-29T22:00:00Z", // 2: the first of the 30th
        "2025-03-30T20:59:59Z", // 3: the last of the 30th
        "2025-03-30T21:00:00Z", // 4: the first of the 31st
        "2025-10-25T20:59:59Z", // 5: the last of 25 October
        "2025-10-25T21:00:00Z", // 6: the first of the 26th
        "2025-10-26T21:59:59Z", // 7: the last of the 26th
        "2025-10-26T22:00:00Z", // 8: the first of the 27th
    ] {
        server.create(Body::draft().date(date)).await;
    }
    for (date, found) in [
        ("2025-03-29", &[1][..]),
        ("2025-03-30", &[2, 3]),
        ("2025-03-31", &[4]),
        ("2025-10-25", &[5]),
        ("2025-10-26", &[6, 7]),
        ("2025-10-27", &[8]),
        ("2025-03", &[1, 2, 3, 4]),
        ("ge2025-10-26", &[6, 7, 8]),
        ("lt2025-10-26", &[1, 2, 3, 4, 5]),
        ("2025-03-30T00:00:00", &[2]),
        ("2025-03-30T00:00:00%2B02:00", &[2]),
        ("2025-03-29T22:00Z", &[2]),
        ("2025-10-27T00:00", &[8]),
    ] {
        assert_eq!(server.found(&format!("date={date}&_sort=_id")).await, found, "{date}");
    }
    for gap in ["2025-03-30T03:00", "2025-03-30T03:30:00", "ge2025-03-30T03:59:59"] {
        server.get(&format!("Composition?date={gap}")).await.refused(400, &["HCERT-110"]);
        server.get(&format!("Composition?_lastUpdated={gap}")).await.refused(400, &["HCERT-110"]);
    }
}

#[tokio::test]
async fn last_updated_runs_through_the_missing_hour() {
    let server = Server::start_at("2025-03-30T02:59:58+02:00").await;
    let mut told = Vec::new();
    for _ in 0..4 {
        let certificate = server.create(Body::draft()).await;
        told.push(server.get(&certificate).await.json()["meta"]["lastUpdated"].clone());
    }
    assert_eq!(
        told,
        [
            "2025-03-30T02:59:58.000+02:00",
            "2025-03-30T02:59:59.000+02:00",
            "2025-03-30T04:00:00.000+03:00",
            "2025-03-30T04:00:01.000+03:00"
        ]
    );
    assert_eq!(server.found("_lastUpdated=ge2025-03-30T04:00:00&_sort=_id").await, [3, 4]);
    assert_eq!(server.found("_lastUpdated=lt2025-03-30T01:00:00Z&_sort=_id").await, [1, 2]);
    assert_eq!(server.found("_lastUpdated=2025-03-30&_sort=_id").await, [1, 2, 3, 4]);
    let since = server.get("Composition/_history?_since=2025-03-30T04:00:00").await.expect(200);
    assert_eq!(since.json()["total"], 2);
    assert_eq!(server.get("Composition/3").await.header("last-modified"), Some("Sun, 30 Mar 2025 01:00:00 GMT"));
}

#[tokio::test]
async fn last_updated_rises_through_the_doubled_hour() {
    let server = Server::start_at("2025-10-26T03:59:58+03:00").await;
    let draft = server.create(Body::draft()).await;
    for _ in 0..3 {
        server.put(&draft, Body::draft()).await.expect(200);
    }
    let history = server.get("Composition/1/_history").await.expect(200);
    let told = history.entries(|entry| Some(entry["resource"]["meta"]["lastUpdated"].clone()));
    assert_eq!(
        told,
        [
            "2025-10-26T03:00:01.000+02:00",
            "2025-10-26T03:00:00.000+02:00",
            "2025-10-26T03:59:59.000+03:00",
            "2025-10-26T03:59:58.000+03:00"
        ]
    );
    let entries = history.entries(|entry| Some(entry["response"]["lastModified"].clone()));
    assert_eq!(entries, told);
    assert_eq!(server.found("_lastUpdated=2025-10-26T03:00:01%2B02:00").await, [1]);
    // Without an offset the first of the two is meant, an hour before.
    assert!(server.found("_lastUpdated=2025-10-26T03:00:01").await.is_empty());
    assert_eq!(server.found("_lastUpdated=gt2025-10-26T03:59:59").await, [1]);
}

#[tokio::test]
async fn a_clock_that_is_put_back_does_not_put_time_back() {
    let server = Server::start_at("2025-06-01T12:00:00+03:00").await;
    let draft = server.create(Body::draft()).await;
    server.set_clock("2025-06-01T11:59:10+03:00");
    server.put(&draft, Body::draft()).await.expect(200);
    server.put(&draft, Body::completed()).await.expect(200);
    server
        .put(&draft, Body::completed().number("TT-2025-000202").section("change-reason", &div("x")))
        .await
        .expect(200);
    let history = server.get("Composition/1/_history").await.expect(200);
    let told = history.entries(|entry| Some(entry["resource"]["meta"]["lastUpdated"].clone()));
    assert_eq!(
        told,
        [
            "2025-06-01T12:00:00.003+03:00",
            "2025-06-01T12:00:00.002+03:00",
            "2025-06-01T12:00:00.001+03:00",
            "2025-06-01T12:00:00.000+03:00"
        ]
    );
}

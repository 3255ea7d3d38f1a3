//! What should never have been sent: each the right 4xx with a clear text, never a panic, never a changed store. Contract 2.7, 5.2, 5.4.

use serde_json::{Value, json};

use crate::body::{self, Body, SECTIONS};
use crate::response::TestResponse;
use crate::server::Server;

/// A server with a draft, and what of it must not change.
struct Unchanged {
    server: Server,
    seq: u64,
    draft: Vec<u8>,
}

impl Unchanged {
    async fn start() -> Unchanged {
        let server = Server::start().await;
        let draft = server.create(body::text("driver-draft")).await;
        let draft = server.get(&draft).await.expect(200).body;
        Unchanged { seq: server.seq(), server, draft }
    }

    /// Sends a body as create and as update; both must be refused in the same words. Answers what the create was told.
    async fn refuses(&self, body: impl Into<Vec<u8>>) -> TestResponse {
        let body = body.into();
        let create = self.server.post("Composition", body.clone()).await;
        let update = self.server.put("Composition/1", body).await;
        assert!(create.status.is_client_error(), "{create}");
        assert_eq!((create.status, create.said()), (update.status, update.said()), "{create}{update}");
        assert_eq!((create.codes(), create.places()), (update.codes(), update.places()));
        create
    }

    async fn check(&self) {
        assert_eq!(self.server.seq(), self.seq, "something was stored");
        assert_eq!(self.server.get("Composition/1").await.expect(200).body, self.draft);
        assert_eq!(self.server.found("").await, [1]);
    }
}

#[tokio::test]
async fn a_body_that_is_no_json_is_told_why() {
    let store = Unchanged::start().await;
    for (body, code, said) in [
        (&b""[..], "HCERT-100", "has no body"),
        (b" \n\t", "HCERT-100", "has no body"),
        (b"\xff\xfe{\x00}\x00", "HCERT-101", "position 0"),
        (b"{\"title\":\"\xf5\"}", "HCERT-101", "position 10"),
        (b"{\"title\":\"\xed\xa0\x80\"}", "HCERT-101", "position 10"),
        (b"\xef\xbb\xbf \n", "HCERT-100", "has no body"),
        (b"\xef\xbb\xbf\xef\xbb\xbf{}", "HCERT-102", "JSON"),
        (b"{}\xef\xbb\xbf", "HCERT-102", "JSON"),
        (b"{", "HCERT-102", "JSON"),
        (b"{\"resourceType\":\"Composition\"", "HCERT-102", "JSON"),
        (b"{\"resourceType\":\"Composition\"}}", "HCERT-102", "JSON"),
        (b"{\"resourceType\":\"Composition\"} {}", "HCERT-102", "JSON"),
        (b"{\"resourceType\":\"Composition\",}", "HCERT-102", "JSON"),
        (b"{'resourceType':'Composition'}", "HCERT-102", "JSON"),
        (b"{\"title\":\"a\nb\"}", "HCERT-102", "JSON"),
        (b"{\"title\":\"\\ud800\"}", "HCERT-102", "JSON"),
        (b"{\"title\":\"\\x41\"}", "HCERT-102", "JSON"),
        (b"{\"n\":01}", "HCERT-102", "JSON"),
        (b"{\"n\":NaN}", "HCERT-102", "JSON"),
        (b"// comment\n{}", "HCERT-102", "JSON"),
        (b"<Composition xmlns=\"http://hl7.org/fhir\"/>", "HCERT-102", "JSON"),
        (b"status=final", "HCERT-102", "JSON"),
    ] {
        let told = store.refuses(body).await.refused(400, &[code]);
        assert!(told.said().contains(said), "{told}");
    }
    store.check().await;
    insta::assert_snapshot!(store.refuses("{\"resourceType\":\"Composition\",").await);
}

#[tokio::test]
async fn a_body_that_is_no_composition_is_told_what_it_is() {
    let store = Unchanged::start().await;
    for (body, codes, found) in [
        ("null", &["HCERT-105"][..], "null"),
        ("[]", &["HCERT-105"], ""),
        ("\"Composition\"", &["HCERT-108"], "a string"),
        ("5", &["HCERT-108"], "a number"),
        ("{}", &["HCERT-105"], ""),
        ("{\"title\":\"x\"}", &["HCERT-106"], "found none"),
        ("{\"resourceType\":\"Patient\"}", &["HCERT-106"], "found Patient"),
        ("{\"resourceType\":5}", &["HCERT-106"], "found a number"),
        ("{\"resourceType\":\"composition\"}", &["HCERT-106"], "found composition"),
    ] {
        let told = store.refuses(body).await;
        assert_eq!(told.status, 400, "{told}");
        assert_eq!(told.codes()[..codes.len()], *codes, "{body}: {told}");
        assert!(told.said().contains(found), "{told}");
    }
    store.check().await;
}

#[tokio::test]
async fn a_body_may_nest_64_levels_deep_and_no_deeper() {
    let store = Unchanged::start().await;
    // An extension in an extension adds two levels; the body itself and the list of contained resources are there already.
    let nested = |levels: usize| {
        let text = body::text("driver-draft");
        let open = ",\"extension\":[{\"url\":\"a\"".repeat(levels);
        format!("{}{open}{}}}", text.trim_end().trim_end_matches('}').trim_end(), "}]".repeat(levels))
    };
    for levels in [32, 500, 50_000] {
        store.refuses(nested(levels)).await.refused(400, &["HCERT-103"]);
    }
    for opening in ["[", "{\"a\":"] {
        let told = store.refuses(opening.repeat(1000)).await.refused(400, &["HCERT-103"]);
        assert!(told.said().contains("64 levels"), "{told}");
    }
    store.check().await;
    let deepest = nested(31).replacen("[{\"url\":\"a\"}]", "[{\"url\":\"a\",\"valueString\":\"õ\"}]", 1);
    store.server.post("Composition", deepest).await.expect(201);
}

#[tokio::test]
async fn a_member_that_stands_twice_is_refused_at_any_depth() {
    let store = Unchanged::start().await;
    let text = body::text("driver-draft");
    for (once, twice, place) in [
        ("\"status\": \"preliminary\"", "\"status\": \"preliminary\",\"status\": \"final\"", "Composition.status"),
        (
            "\"reference\": \"Patient/200\"",
            "\"reference\": \"Patient/200\",\"reference\": \"Patient/201\"",
            "Composition.subject[0].reference",
        ),
        ("\"id\": \"author\"", "\"id\": \"author\",\"\\u0069d\": \"author\"", "Composition.contained[0].id"),
    ] {
        assert!(text.contains(once), "the example holds {once}");
        let told = store.refuses(text.replacen(once, twice, 1)).await.refused(400, &["HCERT-104"]);
        assert_eq!(told.places(), [place]);
    }
    store.check().await;
}

#[tokio::test]
async fn empty_arrays_objects_and_nulls_are_refused() {
    let store = Unchanged::start().await;
    for pointer in
        ["/section", "/author", "/title", "/text", "/type", "/section/0/entry", "/section/0/entry/0", "/meta/tag"]
    {
        for empty in [json!([]), json!({}), json!(null)] {
            let told = store.refuses(Body::draft().with(pointer, empty)).await.expect(400);
            assert!(told.codes().contains(&"HCERT-105".to_owned()), "{told}");
        }
    }
    store.check().await;
}

/// Every element the index reads, with values of the wrong kind.
#[tokio::test]
async fn a_wrong_kind_of_value_in_an_indexed_element_is_refused_and_placed() {
    let store = Unchanged::start().await;
    let kinds =
        [json!(5), json!(true), json!("text"), json!(["text"]), json!({"a": 1}), json!([{"a": 1}]), json!([[1]])];
    for (pointer, place, right) in [
        ("/meta", "Composition.meta", "{"),
        ("/meta/profile", "Composition.meta.profile", "[\""),
        ("/meta/profile/0", "Composition.meta.profile[0]", "\""),
        ("/status", "Composition.status", "\""),
        ("/type", "Composition.type", "{"),
        ("/type/coding", "Composition.type.coding", "[{"),
        ("/type/coding/0", "Composition.type.coding[0]", "{"),
        ("/type/coding/0/system", "Composition.type.coding[0].system", "\""),
        ("/type/coding/0/code", "Composition.type.coding[0].code", "\""),
        ("/category", "Composition.category", "[{"),
        ("/category/0", "Composition.category[0]", "{"),
        ("/category/0/coding", "Composition.category[0].coding", "[{"),
        ("/category/0/coding/0/code", "Composition.category[0].coding[0].code", "\""),
        ("/subject", "Composition.subject", "[{"),
        ("/subject/0", "Composition.subject[0]", "{"),
        ("/subject/0/reference", "Composition.subject[0].reference", "\""),
        ("/subject/0/identifier", "Composition.subject[0].identifier", "{"),
        ("/date", "Composition.date", "\""),
        ("/title", "Composition.title", "\""),
        ("/author", "Composition.author", "[{"),
        ("/author/0/reference", "Composition.author[0].reference", "\""),
        ("/event", "Composition.event", "[{"),
        ("/event/0", "Composition.event[0]", "{"),
        ("/event/0/period", "Composition.event[0].period", "{"),
        ("/event/0/period/start", "Composition.event[0].period.start", "\""),
        ("/event/0/period/end", "Composition.event[0].period.end", "\""),
        ("/identifier", "Composition.identifier", "[{"),
        ("/identifier/0/system", "Composition.identifier[0].system", "\""),
        ("/identifier/0/value", "Composition.identifier[0].value", "\""),
        ("/section", "Composition.section", "[{"),
        ("/section/0", "Composition.section[0]", "{"),
        ("/section/0/code", "Composition.section[0].code", "{"),
        ("/section/0/text", "Composition.section[0].text", "{"),
        ("/section/0/entry", "Composition.section[0].entry", "[{"),
        ("/section/0/entry/0/reference", "Composition.section[0].entry[0].reference", "\""),
        ("/section/0/entry/0/identifier", "Composition.section[0].entry[0].identifier", "{"),
        ("/section/0/section", "Composition.section[0].section", "[{"),
        ("/contained", "Composition.contained", "[{"),
        ("/contained/0", "Composition.contained[0]", "{"),
        ("/contained/0/id", "Composition.contained[0].id", "\""),
        ("/contained/0/practitioner", "Composition.contained[0].practitioner", "{"),
        ("/contained/0/practitioner/reference", "Composition.contained[0].practitioner.reference", "\""),
        ("/contained/0/organization/reference", "Composition.contained[0].organization.reference", "\""),
    ] {
        for kind in &kinds {
            if kind.to_string().starts_with(right) {
                continue;
            }
            let body = Body::draft().period("2025-01-12", "2035-01-11").with(pointer, kind.clone());
            let told = store.refuses(body).await.expect(400);
            let problems: Vec<(String, String)> = told.codes().into_iter().zip(told.places()).collect();
            let found = problems.iter().any(|(code, at)| {
                ["HCERT-106", "HCERT-107", "HCERT-108"].contains(&code.as_str()) && at.starts_with(place)
            });
            assert!(found, "{pointer} = {kind}: {told}");
        }
    }
    store.check().await;
}

#[tokio::test]
async fn a_wrong_format_is_refused_and_placed() {
    let store = Unchanged::start().await;
    for (pointer, value, place) in [
        ("/date", json!("2025-02-30"), "Composition.date"),
        ("/date", json!("2025-13-01"), "Composition.date"),
        ("/date", json!("2025-1-1"), "Composition.date"),
        ("/date", json!("12.01.2025"), "Composition.date"),
        ("/date", json!("2025-01-12T10:00"), "Composition.date"),
        ("/date", json!("2025-01-12T24:00:00+02:00"), "Composition.date"),
        ("/date", json!("2025-01-12T10:00:00+15:00"), "Composition.date"),
        ("/date", json!("2025-01-12 10:00:00"), "Composition.date"),
        ("/date", json!("0000-01-01"), "Composition.date"),
        ("/date", json!("täna"), "Composition.date"),
        (
            "/event",
            json!([{"period": {"start": "2025-02-29", "end": "2025-03-01"}}]),
            "Composition.event[0].period.start",
        ),
        ("/status", json!("final "), "Composition.status"),
        ("/title", json!(""), "Composition.title"),
        ("/contained/0/id", json!("x".repeat(65)), "Composition.contained[0].id"),
        ("/contained/0/id", json!("a_b"), "Composition.contained[0].id"),
        ("/identifier/0/system", json!("https://example.ee/a b"), "Composition.identifier[0].system"),
        ("/meta/lastUpdated", json!("yesterday"), "Composition.meta.lastUpdated"),
        ("/type/coding/0/code", json!(" 5"), "Composition.type.coding[0].code"),
    ] {
        let told = store.refuses(Body::draft().with(pointer, value.clone())).await;
        // What else the value spoils is told behind it.
        let told = told.expect(400);
        assert_eq!((told.codes()[0].as_str(), told.places()[0].as_str()), ("HCERT-109", place), "{value}: {told}");
    }
    store.check().await;
    insta::assert_snapshot!(store.refuses(Body::draft().date("2025-02-30")).await);
}

#[tokio::test]
async fn an_unknown_element_is_refused_and_placed() {
    let store = Unchanged::start().await;
    for (pointer, value, place) in [
        ("/colour", json!("blue"), "Composition.colour"),
        ("/Status", json!("final"), "Composition.Status"),
        ("/section/0/colour", json!(1), "Composition.section[0].colour"),
        ("/contained/0/colour", json!(1), "Composition.contained[0].colour"),
        ("/confidentiality", json!("N"), "Composition.confidentiality"),
        (
            "/extension",
            json!([{"url": "https://example.ee/x", "valueColour": "x"}]),
            "Composition.extension[0].valueColour",
        ),
        ("/_colour", json!({"id": "x"}), "Composition._colour"),
    ] {
        let told = store.refuses(Body::draft().with(pointer, value)).await;
        let told = told.refused(400, &["HCERT-107"]);
        assert!(told.places()[0].starts_with(place.split('.').next().expect("a path")), "{told}");
        assert!(told.text().contains(place.rsplit('.').next().expect("a path")), "{told}");
    }
    store.check().await;
}

#[tokio::test]
async fn rules_that_are_broken_are_422() {
    let store = Unchanged::start().await;
    let profile = "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver";
    let twice = |list: &str| {
        let first = Body::draft().json().pointer(&format!("{list}/0")).expect("the example has one").clone();
        Body::draft().with(&format!("{list}/1"), first)
    };
    for (body, code, place) in [
        (Body::draft().without("/meta"), "HCERT-143", "Composition.meta.profile"),
        (Body::draft().with("/meta/profile/1", json!(profile)), "HCERT-143", "Composition.meta.profile"),
        (
            Body::draft().with("/meta/profile/0", json!(format!("{profile}-employer"))),
            "HCERT-143",
            "Composition.meta.profile",
        ),
        (Body::draft().without("/status"), "HCERT-147", "Composition.status"),
        (Body::draft().status("amended"), "HCERT-145", "Composition.status"),
        (Body::draft().status("Final"), "HCERT-145", "Composition.status"),
        (twice("/subject"), "HCERT-181", "Composition.subject"),
        (twice("/category"), "HCERT-181", "Composition.category"),
        (twice("/author"), "HCERT-181", "Composition.author"),
        (twice("/identifier"), "HCERT-181", "Composition.identifier"),
        (
            Body::draft().with(
                "/event",
                json!([{"period": {"start": "2025", "end": "2026"}}, {"period": {"start": "2026", "end": "2027"}}]),
            ),
            "HCERT-181",
            "Composition.event",
        ),
    ] {
        let told = store.refuses(body).await;
        let told = told.refused(422, &[code]);
        assert_eq!(told.places(), [place], "{told}");
    }
    store.check().await;
    insta::assert_snapshot!(store.refuses(Body::draft().without("/meta").without("/status")).await);
}

#[tokio::test]
async fn every_problem_of_a_body_is_told_at_once() {
    let store = Unchanged::start().await;
    let body = Body::draft()
        .date("2025-02-30")
        .status("amended")
        .with("/colour", json!("blue"))
        .with("/title", json!(5))
        .with("/subject/1", json!({"reference": "Patient/201"}))
        .with("/section/0/text", json!({"status": "additional", "div": 7}));
    insta::assert_snapshot!(store.refuses(body).await);
    store.check().await;
}

#[tokio::test]
async fn a_body_with_thousands_of_problems_tells_the_first_hundred() {
    let store = Unchanged::start().await;
    let sections: Vec<Value> = (0..5_000).map(|at| json!({ format!("colour{at}"): at })).collect();
    let told = store.refuses(Body::draft().with("/section", json!(sections))).await.expect(400);
    assert_eq!(told.codes().len(), 101);
    assert_eq!(told.codes().last().map(String::as_str), Some("HCERT-197"));
    store.check().await;
}

#[tokio::test]
async fn what_was_sent_is_repeated_short_and_escaped() {
    let store = Unchanged::start().await;
    let markup = "<script>alert(1)</script>&\u{e000}";
    let told = store.refuses(Body::draft().date(markup)).await.refused(400, &["HCERT-109"]);
    let json = told.json();
    let div = json["text"]["div"].as_str().expect("a narrative");
    assert!(div.contains("&lt;script&gt;alert(1)&lt;/script&gt;&amp;") && !div.contains("<script>"), "{told}");
    let long = "x".repeat(100_000);
    let told = store.refuses(Body::draft().date(&long)).await.refused(400, &["HCERT-109"]);
    assert!(told.body.len() < 2_000 && told.said().contains('…'), "{told}");
    // What looks like a place of our own text is only text.
    let told = store.refuses(Body::draft().date("<type>")).await.refused(400, &["HCERT-109"]);
    assert_eq!(told.said(), "'<type>' is not a valid dateTime");
    store.check().await;
}

#[tokio::test]
async fn a_body_may_have_two_mebibytes_and_no_more() {
    let store = Unchanged::start().await;
    let max = 2 * 1024 * 1024;
    let text = body::text("driver-draft");
    let padded = |bytes: usize| format!("{text}{}", " ".repeat(bytes - text.len()));
    store.refuses(padded(max + 1)).await.refused(413, &["HCERT-139"]);
    store.refuses(padded(20 * 1024 * 1024)).await.refused(413, &["HCERT-139"]);
    for (method, path) in [("POST", "Composition"), ("PUT", "Composition/1"), ("POST", "Composition/1/$cancel")] {
        // Its header alone is enough, whatever comes.
        let told = store.server.ask(method, path).body("{}").length("20000000").await;
        told.refused(413, &["HCERT-139"]);
    }
    insta::assert_snapshot!(store.server.ask("POST", "Composition").body("{}").length("20000000").await);
    store.check().await;
    store.server.post("Composition", padded(max)).await.expect(201);
}

#[tokio::test]
async fn a_body_needs_a_length() {
    let store = Unchanged::start().await;
    for (method, path) in [("POST", "Composition"), ("PUT", "Composition/1"), ("POST", "Composition/1/$suspend")] {
        store.server.ask(method, path).await.refused(411, &["HCERT-136"]);
        for length in ["-1", "1e3", "+5", "0x10", "99999999999999999999"] {
            let told = store.server.ask(method, path).body("{}").length(length).await;
            told.refused(400, &["HCERT-117"]);
        }
        // An empty body needs no media type to be found empty.
        store.server.ask(method, path).length("0").await.refused(400, &["HCERT-100"]);
    }
    let told = store.server.post("Composition", Body::draft()).header("Expect", "200-ok").await;
    told.refused(417, &["HCERT-142"]);
    store.check().await;
}

#[tokio::test]
async fn a_query_may_have_16_kibibytes_and_no_more() {
    let store = Unchanged::start().await;
    let query = |bytes: usize| format!("title={}", "x".repeat(bytes - "title=".len()));
    store.server.get(&format!("Composition?{}", query(16 * 1024))).await.expect(200);
    let told = store.server.get(&format!("Composition?{}", query(16 * 1024 + 1))).await;
    told.refused(414, &["HCERT-140"]);
    store.server.search_by_form(&query(16 * 1024)).await.expect(200);
    store.server.search_by_form(&query(16 * 1024 + 1)).await.refused(413, &["HCERT-139"]);
    store.server.get(&format!("Composition/1?{}", "x".repeat(16 * 1024 + 1))).await.refused(414, &["HCERT-140"]);
    store.check().await;
}

#[tokio::test]
async fn addresses_that_name_nothing_are_404() {
    let store = Unchanged::start().await;
    for (path, code) in [
        (format!("Composition/{}", "1".repeat(65)), "HCERT-126"),
        (format!("Composition/{}", "1".repeat(64)), "HCERT-127"),
        ("Composition/1/_history/0".to_owned(), "HCERT-128"),
        ("Composition/1/_history/99999999999".to_owned(), "HCERT-128"),
        (format!("Composition/1/_history/{}", "9".repeat(64)), "HCERT-128"),
        (format!("Composition/1/_history/{}", "9".repeat(65)), "HCERT-126"),
        ("Composition/-1".to_owned(), "HCERT-127"),
        ("Composition/1%00".to_owned(), "HCERT-126"),
        ("Composition/%F5".to_owned(), "HCERT-126"),
    ] {
        store.server.get(&path).await.refused(404, &[code]);
    }
    store.check().await;
}

#[tokio::test]
async fn parameters_that_mean_nothing_are_refused() {
    let store = Unchanged::start().await;
    for (query, code) in [
        ("_page=-1", "HCERT-120"),
        ("_page=0", "HCERT-120"),
        ("_page=1.5", "HCERT-120"),
        ("_page=%2B1", "HCERT-120"),
        ("_page=", "HCERT-121"),
        ("_page=1&_page=2", "HCERT-122"),
        ("_count=abc", "HCERT-120"),
        ("_count=-1", "HCERT-120"),
        ("_count=", "HCERT-121"),
        ("_count=1&_count=1", "HCERT-122"),
        ("_sort=nonsense", "HCERT-120"),
        ("_sort=", "HCERT-121"),
        ("_sort=date&_sort=-date", "HCERT-122"),
        ("_sort=--date", "HCERT-120"),
        ("nonsense=1", "HCERT-118"),
        ("Status=final", "HCERT-118"),
        ("_has:Observation:subject:code=1", "HCERT-118"),
        ("_filter=status%20eq%20final", "HCERT-118"),
        ("_text=x", "HCERT-118"),
        ("=x", "HCERT-118"),
        ("status:exact=final", "HCERT-119"),
        ("status:=final", "HCERT-119"),
        ("subject:Practitioner=1", "HCERT-119"),
        ("status=nonsense", "HCERT-120"),
        ("status=", "HCERT-121"),
        ("status=final,", "HCERT-121"),
        ("category=", "HCERT-121"),
        ("status:missing=maybe", "HCERT-120"),
        ("date=2025-02-30", "HCERT-120"),
        ("date=xx2025", "HCERT-120"),
        ("period=ne2025-01-12", "HCERT-120"),
        ("period=ap2025-01-12", "HCERT-120"),
        ("period=tomorrow", "HCERT-120"),
        ("section-code-text=employer", "HCERT-120"),
        ("subject=%ff", "HCERT-125"),
        ("subject=%zz", "HCERT-125"),
        ("_pretty=maybe", "HCERT-120"),
        ("_summary=maybe", "HCERT-120"),
        ("_query=nonsense", "HCERT-124"),
    ] {
        let told = store.server.get(&format!("Composition?{query}")).await;
        assert_eq!((told.status.as_u16(), told.codes()), (400, vec![code.to_owned()]), "{query}: {told}");
        let told = store.server.search_by_form(query).await;
        assert_eq!((told.status.as_u16(), told.codes()), (400, vec![code.to_owned()]), "{query} as form: {told}");
    }
    let values = vec!["Patient/1"; 1001].join(",");
    store.server.get(&format!("Composition?subject={values}")).await.refused(400, &["HCERT-123"]);
    let told = store.server.search_by_form("status=fin\u{0}al").await;
    assert_eq!(told.status, 400, "{told}");
    store.check().await;
}

#[tokio::test]
async fn a_form_that_is_no_text_is_refused() {
    let store = Unchanged::start().await;
    let form = Some("application/x-www-form-urlencoded");
    let told = store.server.ask("POST", "Composition/_search").body_as(form, b"status=\xf5".to_vec()).await;
    told.refused(400, &["HCERT-101"]);
    store.check().await;
}

#[tokio::test]
async fn very_large_numbers_of_pages_and_entries_are_no_harm() {
    let store = Unchanged::start().await;
    for query in ["_page=4294967295", "_count=99999999999999999999", "_count=100&_page=4294967295"] {
        let told = store.server.get(&format!("Composition?{query}")).await.expect(200);
        assert_eq!(told.json()["total"], 1, "{told}");
        store.server.get(&format!("Composition/_history?{query}")).await.expect(200);
        store.server.get(&format!("Composition/1/_history?{query}")).await.expect(200);
    }
    for path in ["Composition", "Composition/_history", "Composition/1/_history"] {
        let told = store.server.get(&format!("{path}?_page=99999999999999999999")).await;
        told.refused(400, &["HCERT-120"]);
    }
}

#[tokio::test]
async fn texts_with_every_character_come_back() {
    let server = Server::start().await;
    let strange = "õäöü ÕÄÖÜ šž \u{200b}\u{202e}\u{feff} 😀 \u{10ffff} \"\\/ \u{e000}\t\n";
    let body = Body::draft().with("/section/0/code/text", json!(strange)).with("/title", json!("õäöü 😀"));
    let told = server.post("Composition", body).prefer("return=representation").await.expect(201);
    assert_eq!(told.json()["section"][0]["code"]["text"], strange);
    // FHIR's strings hold no control characters but tab and line ends.
    for control in ["\u{0}", "\u{1}", "\u{8}", "\u{b}", "\u{1f}"] {
        let body = Body::draft().with("/title", json!(format!("a{control}b")));
        let told = server.post("Composition", body).await.refused(400, &["HCERT-109"]);
        assert_eq!(told.places(), ["Composition.title"]);
    }
}

#[tokio::test]
async fn sections_may_nest_and_be_many() {
    let server = Server::start().await;
    let mut nested = json!({"code": {"coding": [{"system": SECTIONS, "code": "deepest"}]}, "text": {"status": "additional", "div": body::div("sügav")}});
    for _ in 0..20 {
        nested = json!({"section": [nested]});
    }
    let mut many: Vec<Value> = (0..200)
        .map(|at| json!({"code": {"coding": [{"system": SECTIONS, "code": "x"}]}, "text": {"status": "additional", "div": body::div(&at.to_string())}}))
        .collect();
    many.push(Body::draft().json()["section"][0].clone());
    server.create(Body::draft().with("/section/1", nested)).await;
    server.create(Body::draft().with("/section", json!(many))).await;
    assert_eq!(server.found("section-code-text=deepest%24s%C3%BCgav").await, [1]);
    assert_eq!(server.found("section-code-text=x%24199").await, [2]);
}

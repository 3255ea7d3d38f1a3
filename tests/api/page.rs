//! Pages of searches and histories: what the largest certificates make of them.

use serde_json::json;

use crate::body::Body;
use crate::server::Server;

/// Nearly the 2 MiB a body may have.
fn largest() -> Body {
    let text = "x".repeat(1_000_000);
    let extension = |url: &str| json!({"url": format!("https://example.ee/{url}"), "valueString": text});
    Body::draft().with("/extension", json!([extension("a"), extension("b")]))
}

#[tokio::test]
async fn a_page_that_would_take_too_much_memory_is_refused_and_says_what_helps() {
    let server = Server::start().await;
    for _ in 0..34 {
        server.create(largest()).await;
    }
    for path in ["Composition?_count=34", "Composition/_history?_count=34"] {
        let told = server.get(path).await.expect(400);
        let issue = &told.json()["issue"][0];
        assert_eq!(issue["code"], "too-costly");
        assert_eq!(issue["details"]["coding"][0]["code"], "HCERT-162");
        assert_eq!(issue["expression"][0], "http._count");
        assert!(issue["details"]["text"].as_str().expect("a text").contains("smaller _count"), "{told}");
    }
    // The default count always fits, and what shows little of each certificate fits with any count.
    for path in ["Composition", "Composition/_history", "Composition?_count=100&_elements=title"] {
        let told = server.get(path).await.expect(200);
        let bundle = told.json();
        assert_eq!(bundle["total"], 34);
        assert_eq!(bundle["entry"].as_array().expect("entries").len(), if path.contains("100") { 34 } else { 20 });
        assert_eq!(bundle["entry"][7]["resource"]["resourceType"], "Composition");
    }
}

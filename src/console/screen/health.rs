//! How the service is: every part of `/health` in words, and how fast it answers.

use maud::html;
use serde_json::Value;

use crate::console::sources::ServiceHealth;
use crate::console::visit::Visit;
use crate::http::pages::PageAnswer;

pub(in crate::console) async fn show(visit: &Visit<'_>) -> PageAnswer {
    let title = visit.t("health.title");
    if let Err(refused) = super::for_keepers(visit, title).await {
        return refused;
    }
    let ServiceHealth { parts: health, metrics } = (visit.sources.health)().await;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let parts = health["parts"].as_object().cloned().unwrap_or_default();
    visit.page(title, &html! {
        h1 { (title) }
        p.lead { (visit.t("health.is")) " " strong { (text(&health["status"])) } }
        h2 { (visit.t("health.speed")) }
        div.wide tabindex="0" role="region" aria-label=(visit.t("health.speed")) { table {
            thead { tr { th scope="col" { (visit.t("health.route")) } th.number scope="col" { (visit.t("health.count")) } th.number scope="col" { "p50 ms" } th.number scope="col" { "p99 ms" } } }
            tbody { @for route in answered(&metrics) { tr {
                th scope="row" { code { (route.route) } }
                td.number { (route.count) } td.number { "≤ " (route.below(0.5)) } td.number { "≤ " (route.below(0.99)) }
            } } }
        } }
        @for (name, part) in &parts {
            section {
                h2 { (name) " " span.state.(text(&part["status"])) { (text(&part["status"])) } }
                p lang="en" { (text(&part["words"])) }
                @let facts = part["facts"].as_object().cloned().unwrap_or_default();
                @if !facts.is_empty() { dl.facts { @for (key, value) in &facts { dt { (key) } dd { (text(value)) } } } }
            }
        }
    })
}

/// Answers of a route, by how long they took.
#[derive(Debug)]
struct RouteTimes {
    route: String,
    count: u64,
    /// Milliseconds, and how many answers took no longer; the longest last.
    buckets: Vec<(String, u64)>,
}

impl RouteTimes {
    /// Milliseconds that a share of the answers did not exceed.
    fn below(&self, share: f64) -> &str {
        let wanted = self.count as f64 * share;
        self.buckets.iter().find(|(_, count)| *count as f64 >= wanted).map_or("∞", |(bound, _)| bound)
    }
}

/// What the histogram of answers says, the route with most answers first.
fn answered(metrics: &str) -> Vec<RouteTimes> {
    let mut routes: Vec<RouteTimes> = Vec::new();
    for line in metrics.lines().filter_map(|line| line.strip_prefix("hcert_http_request_duration_seconds_bucket{")) {
        let label = |name: &str| line.split(&format!("{name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
        let Some((bound, route, count)) = (|| {
            let count = line.rsplit("} ").next()?.split(' ').next()?.parse().ok()?;
            Some((label("le")?, label("route")?, count))
        })() else {
            continue;
        };
        let bound = bound.parse::<f64>().ok().filter(|seconds| seconds.is_finite());
        let bound =
            bound.map_or_else(|| "∞".to_owned(), |seconds| format!("{}", (seconds * 100_000.0).round() / 100.0));
        match routes.iter_mut().find(|known| known.route == route) {
            Some(known) => {
                known.count = count;
                known.buckets.push((bound, count));
            }
            None => routes.push(RouteTimes { route: route.to_owned(), count, buckets: vec![(bound, count)] }),
        }
    }
    routes.sort_by_key(|route| std::cmp::Reverse(route.count));
    routes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_from_the_histogram() {
        let line = |route: &str, bound: &str, count: u64| {
            format!("hcert_http_request_duration_seconds_bucket{{le=\"{bound}\",route=\"{route}\"}} {count}\n")
        };
        let text = [
            "# x\n".to_owned(),
            line("/a", "0.0005", 1),
            line("/a", "0.1", 1),
            line("/a", "+Inf", 1),
            line("/b", "0.0005", 50),
            line("/b", "0.1", 98),
            line("/b", "+Inf", 100),
        ]
        .concat();
        let routes = answered(&text);
        let told: Vec<_> = routes
            .iter()
            .map(|route| (route.route.as_str(), route.count, route.below(0.5), route.below(0.99)))
            .collect();
        assert_eq!(told, [("/b", 100, "0.5", "∞"), ("/a", 1, "0.5", "0.5")]);
        assert!(answered("").is_empty());
    }
}

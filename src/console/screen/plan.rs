//! How a search was run, and what the same search tells others.

use maud::{Markup, html};
use serde_json::Value;

use crate::console::reading::estonian_code;
use crate::console::search_form::SearchForm;
use crate::console::session::PartPlayed;
use crate::console::visit::Visit;
use crate::http::pages::ApiAnswer;

/// The invented health worker, institution and employer of the examples, for whom tokens are made.
const WORKER: &str = "37605030299";
const INSTITUTION: &str = "90006399";
const EMPLOYER: &str = "16978044";

/// The figures of `x-hcert-plan`; nothing where the answer has none.
pub(super) fn panel(visit: &Visit<'_>, answer: &ApiAnswer) -> Markup {
    let Some(plan) = answer.header("x-hcert-plan") else { return html! {} };
    let plan: Value = serde_json::from_str(plan).unwrap_or(Value::Null);
    let word = |name: &str| plan[name].as_str().unwrap_or_default();
    let (way, total) = (word("way"), word("total"));
    let (way, total) =
        (visit.t(&format!("plan.way.{way}")).to_owned(), visit.t(&format!("plan.total.{total}")).to_owned());
    let number = |name: &str| plan[name].as_u64().unwrap_or_default().to_string();
    let by = plan["by"].as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(Value::as_str);
    let by: Vec<&str> = by.map(|by| visit.texts.find(&format!("plan.by.{by}")).unwrap_or(by)).collect();
    let way = if by.is_empty() { way } else { format!("{way} {}", by.join(", ")) };
    let facts = [
        ("plan.way", way),
        ("plan.total", total),
        ("plan.rows", number("rows")),
        ("plan.overlay", number("overlay")),
        ("plan.segments", number("segments")),
        ("plan.took", format!("{} µs", number("us"))),
        ("plan.rights", rights(visit, &plan["rights"])),
    ];
    html! {
        section aria-labelledby="plan" {
            h2 #plan { (visit.t("plan.title")) }
            dl.facts { @for (key, value) in facts { dt { (visit.t(key)) } dd { (value) } } }
        }
    }
}

/// What rights leave of all certificates, in words: a certificate is shown that meets all conditions of one permission.
fn rights(visit: &Visit<'_>, rights: &Value) -> String {
    let Some(permissions) = rights.as_array() else { return visit.t("plan.right.all").to_owned() };
    let of = |permission: &Value| {
        let conditions = permission.as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(Value::as_str);
        let words: Vec<&str> =
            conditions.filter_map(|condition| visit.texts.find(&format!("plan.right.{condition}"))).collect();
        if words.is_empty() { visit.t("plan.right.all").to_owned() } else { words.join(", ") }
    };
    permissions.iter().map(of).collect::<Vec<_>>().join("; ")
}

/// The total that each role is told, in `hcert dev`.
pub(super) async fn roles(visit: &Visit<'_>, form: &SearchForm) -> Markup {
    if !visit.sources.is_developer {
        return html! {};
    }
    let patient = some_patient(visit, form).await;
    let mut rows = Vec::new();
    for role in visit.sources.roles.keys() {
        let is_patient = role.starts_with("patient");
        let part = PartPlayed {
            role: role.clone(),
            person: if is_patient { patient.clone().unwrap_or_default() } else { WORKER.to_owned() },
            organization: Some(INSTITUTION.to_owned()),
            patient: patient.clone().filter(|_| !is_patient && role.contains("representative")),
            represented_party: (role == "org-legal-representative").then(|| EMPLOYER.to_owned()),
        };
        let mut request = form.request(visit, "Composition", &[("_count", "0"), ("_page", "1")]).await;
        request.headers.retain(|(name, _)| name != "authorization");
        let answer = match visit.token_of(&part).await {
            Some(token) => visit.api.ask(request.bearing(&token)).await,
            None => ApiAnswer { status: 400, ..ApiAnswer::default() },
        };
        let read: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
        let told = match read["total"].as_u64() {
            Some(total) => total.to_string(),
            None => format!(
                "{} {}",
                answer.status,
                read["issue"][0]["details"]["coding"][0]["code"].as_str().unwrap_or_default()
            ),
        };
        rows.push((role, told));
    }
    html! {
        section aria-labelledby="roles" {
            h2 #roles { (visit.t("plan.roles")) }
            p { (visit.t("plan.roles-text")) }
            div.wide tabindex="0" role="region" aria-label=(visit.t("plan.roles")) { table {
                thead { tr { th scope="col" { (visit.t("plan.role")) } th scope="col" { (visit.t("plan.told")) } } }
                tbody { @for (role, told) in &rows { tr { th scope="row" { (role) } td.number { (told) } } } }
            } }
        }
    }
}

/// The personal code of the patient whom the search names, or else of the first there is.
async fn some_patient(visit: &Visit<'_>, form: &SearchForm) -> Option<String> {
    let named = ["subject", "patient"].into_iter().map(|name| form.value(name)).find(|value| !value.is_empty());
    if let Some(id) = named.and_then(|value| value.rsplit('/').next()) {
        let found: Value = serde_json::from_slice(&visit.get(&format!("/Patient/{id}")).await.body).unwrap_or_default();
        if let Some(code) = estonian_code(visit, &found) {
            return Some(code);
        }
    }
    let found: Value =
        serde_json::from_slice(&visit.get("/Patient?active=true&_count=1&_sort=_id").await.body).unwrap_or_default();
    estonian_code(visit, &found["entry"][0]["resource"])
}

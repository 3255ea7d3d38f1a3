//! Roles: what each may do, with why; the token of the part that is played; and why a request is refused.

use maud::{Markup, html};
use serde_json::{Value, json};

use super::start::state_name;
use crate::access::rights::permissions::Grant;
use crate::access::rights::reach::{MayInState, ReachPart, may_in_state, reach};
use crate::access::rights::{PermittedAction, no_such_role};
use crate::console::visit::Visit;
use crate::http::pages::{ApiRequest, PageAnswer};
use crate::interaction::{HttpMethod, Interaction};
use certificate::State;

pub(in crate::console) async fn show(visit: &Visit<'_>) -> PageAnswer {
    let title = visit.t("access.title");
    let roles = &visit.sources.roles;
    let chosen = roles
        .get_key_value(visit.field("role"))
        .or_else(|| roles.get_key_value(visit.session.part.as_ref().map_or("doctor", |part| part.role.as_str())));
    let token = token(visit).await;
    visit.page(title, &html! {
        h1 { (title) }
        p { (visit.t("access.text")) }
        (token)
        h2 { (visit.t("access.roles")) }
        nav.tabs aria-label=(visit.t("access.roles")) { ul { @for role in roles.keys() {
            li { a href=(visit.href(&format!("/access?role={role}"))) aria-current=[chosen.is_some_and(|(known, _)| known == role).then_some("page")] { (role) } }
        } } }
        @if let Some((role, grants)) = chosen {
            @if visit.sources.is_developer { (form(visit, role)) }
            (matrix(visit, role, grants))
        }
        h2 { (visit.t("access.why-token")) }
        (refused_form(visit))
    })
}

/// The token of the part that is played, as it is sent, and what it says.
async fn token(visit: &Visit<'_>) -> Markup {
    let Some(token) = visit.token().await else { return html! { p { (visit.t("access.none")) } } };
    let claims = claims(token);
    let seconds = claims["exp"].as_i64().unwrap_or_default() - claims["iat"].as_i64().unwrap_or_default();
    html! { details {
        summary { (visit.t("access.token")) }
        p { (visit.say("access.token-text", &[("minutes", &(seconds / 60).to_string())])) }
        pre tabindex="0" { code { "Authorization: Bearer " (token) } }
        p { (visit.t("access.claims")) }
        pre tabindex="0" { code { (format!("{claims:#}")) } }
    } }
}

/// The claims of a token, whoever signed it.
fn claims(token: &str) -> Value {
    use base64::Engine;
    let decoded = token.split('.').nth(1).and_then(|part| base64::prelude::BASE64_URL_SAFE_NO_PAD.decode(part).ok());
    decoded.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or(json!({}))
}

/// What a part needs.
fn form(visit: &Visit<'_>, role: &str) -> Markup {
    let part = visit.session.part.clone().unwrap_or_default();
    let or = |text: String, usual: &str| if text.is_empty() { usual.to_owned() } else { text };
    let field = |name: &str, key: &'static str, value: String| {
        html! {
            label { (visit.t(key)) input name=(name) value=(value) autocomplete="off"; }
        }
    };
    html! { fieldset {
        legend { (visit.say("access.form", &[("role", role)])) }
        (visit.form("/part", &html! {
            input type="hidden" name="role" value=(role);
            input type="hidden" name="back" value="/access";
            div.row {
                (field("person", "access.person", or(part.person, "49403136515")))
                (field("organization", "access.organization", or(part.organization.unwrap_or_default(), "90006399")))
                (field("patient", "access.patient", part.patient.unwrap_or_default()))
                (field("represented-party", "access.represented", part.represented_party.unwrap_or_default()))
            }
            p { button.main { (visit.t("access.play")) } }
        }))
    } }
}

/// Actions by states, with why for the cell that was asked about.
fn matrix(visit: &Visit<'_>, role: &str, grants: &[Grant]) -> Markup {
    let asked = PermittedAction::ALL.into_iter().find(|action| action.name() == visit.field("action"));
    let state = State::ALL.into_iter().find(|state| state.word() == visit.field("state"));
    html! {
        h2 { (visit.say("access.matrix", &[("role", role)])) }
        @if let Some(action) = asked { section #why.refusal { h3 { (visit.t("access.why")) } (why(visit, role, grants, action, state)) } }
        p { (visit.t("access.matrix-text")) }
        div.wide tabindex="0" role="region" aria-label=(visit.say("access.matrix", &[("role", role)])) { table {
            thead { tr { th scope="col" { (visit.t("access.action")) } @for state in State::ALL { th scope="col" { (state_name(visit, state)) } } } }
            tbody { @for action in PermittedAction::ALL { tr {
                th scope="row" { code { (action.name()) } }
                @for state in State::ALL {
                    @let (sign, words) = match may_in_state(grants, action, state) {
                        MayInState::No => ("–", "access.no"),
                        MayInState::Some => ("◐", "access.some"),
                        MayInState::All => ("✔", "access.all"),
                    };
                    td { a.cell href=(visit.href(&format!("/access?role={role}&action={}&state={}#why", action.name(), super::encoded(state.word())))) {
                        span aria-hidden="true" { (sign) } span.hidden { (visit.t(words)) ": " (action.name()) ", " (state_name(visit, state)) }
                    } }
                }
            } } }
        } }
    }
}

/// Why a role may do something, or may not: permission, then rows and consent.
fn why(visit: &Visit<'_>, role: &str, grants: &[Grant], action: PermittedAction, state: Option<State>) -> Markup {
    let (name, permitting) = (action.name(), grants.iter().filter(|grant| grant.may.contains(&action)));
    let permitting: Vec<&Grant> = permitting.collect();
    let values = [("role", role), ("action", name.as_str())];
    if permitting.is_empty() {
        return html! { p { (visit.say("access.why-none", &values)) } };
    }
    let is_no = state.is_some_and(|state| may_in_state(grants, action, state) == MayInState::No);
    html! {
        @if is_no { p { (visit.say("access.why-state", &values[1..])) } }
        @for grant in permitting {
            p { (visit.say("access.why-grant", &values)) }
            ul { @for part in reach(action, grant) { li { (words(visit, &part)) } } }
        }
    }
}

fn words(visit: &Visit<'_>, part: &ReachPart) -> String {
    let plain = |key| visit.t(key).to_owned();
    match part {
        ReachPart::Certificates => plain("reach.certificates"),
        ReachPart::CertificatesOfKinds(kinds) => visit.say("reach.kinds", &[("kinds", &kinds.join(", "))]),
        ReachPart::Patients => plain("reach.patients"),
        ReachPart::AuditEvents => plain("reach.audit"),
        ReachPart::InStates(states) => {
            let names: Vec<&str> = states.iter().map(|state| state_name(visit, *state)).collect();
            visit.say("reach.states", &[("states", &names.join(", "))])
        }
        ReachPart::PatientOfToken => plain("reach.own-patient"),
        ReachPart::EmployerOfToken => plain("reach.own-employer"),
        ReachPart::OpenToDoctors => plain("reach.open-doctors"),
        ReachPart::OpenToRepresentatives => plain("reach.open-representatives"),
        ReachPart::SeenAsEmployer => plain("reach.employer"),
    }
}

fn refused_form(visit: &Visit<'_>) -> Markup {
    let path = visit.say("access.path", &[("base", &visit.request.base_path)]);
    visit.form("/access/why", &html! {
        p { (visit.t("access.why-text")) }
        p { label { (visit.t("access.pasted")) " " textarea name="token" rows="3" required { (visit.field("token")) } } }
        div.row {
            label { (visit.t("access.method")) select name="method" { @for method in HttpMethod::ALL { option { (method.name()) } } } }
            label { (path) input name="path" required value="/Composition/1"; }
            button { (visit.t("access.ask")) }
        }
    })
}

/// Explains what becomes of a request with a pasted token. A request that would change something is explained and not sent.
pub(in crate::console) async fn explain(visit: &Visit<'_>) -> PageAnswer {
    let title = visit.t("access.why-token");
    let (token, path) = (visit.field("token").trim_start_matches("Bearer ").trim(), visit.field("path"));
    let method =
        HttpMethod::ALL.into_iter().find(|method| method.name() == visit.field("method")).unwrap_or(HttpMethod::Get);
    let segments: Vec<&str> = path.split('?').next().unwrap_or_default().split('/').skip(1).collect();
    let interaction = Interaction::find(method, &segments);
    let identity = visit.sources.tokens.identify(&format!("Bearer {token}")).await;
    let mut answered = html! {};
    if method == HttpMethod::Get {
        let target = [visit.request.base_path.as_str(), path].concat();
        let headers = vec![("accept-language".to_owned(), visit.texts.language.clone())];
        let request = ApiRequest { method: method.name().to_owned(), target, headers, body: Vec::new() };
        let answer = visit.api.ask(request.bearing(token)).await;
        answered = html! {
            h2 { (visit.say("access.answer", &[("status", &answer.status.to_string())])) }
            @if answer.status >= 400 { (visit.refusal(&answer)) }
        };
    }
    let explained = match (identity, interaction) {
        (Err(refused), _) => html! { p { (visit.say("access.refused-token", &[("problem", &refused.to_string())])) } },
        (_, None) => html! { p { (visit.t("access.nowhere")) } },
        (Ok(identity), Some(interaction)) => match interaction.row.permission {
            None => html! { p { (visit.t("access.open")) } },
            Some(action) => {
                html! { @for role in &identity.roles { (why(visit, role, visit.sources.roles.get(role).map_or(&[], Vec::as_slice), action, None)) } }
            }
        },
    };
    visit.page(title, &html! { h1 { (title) } p { code { (method.name()) " " (path) } } (explained) (answered) (refused_form(visit)) })
}

/// The page that says that there is no such role.
pub(in crate::console) fn unknown_role(visit: &Visit<'_>, role: &str) -> PageAnswer {
    let title = visit.t("access.unknown");
    let problem = no_such_role(role, "", visit.sources.roles.keys().map(String::as_str).collect());
    visit.page_with_status(422, title, &html! { h1 { (title) } p lang="en" { (problem) } })
}

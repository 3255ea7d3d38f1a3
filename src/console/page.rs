//! What every page has around its content: head, the way around, language, whose part is played, and the foot.

use maud::{DOCTYPE, Markup, html};

use super::asset;
use super::visit::Visit;
use crate::http::pages::PageAnswer;
use fhir::date_time;

/// Groups of the navigation: a text, and pages by path and text.
type Group = (&'static str, &'static [(&'static str, &'static str)]);

/// The way around. Pages that only `hcert dev` has stand in [`FOR_DEVELOPERS`] too.
const NAVIGATION: &[Group] = &[
    (
        "nav.certificates",
        &[
            ("/", "nav.start"),
            ("/certificates", "nav.search"),
            ("/certificates/new", "nav.new"),
            ("/verify", "nav.verify"),
        ],
    ),
    ("nav.data", &[("/patients", "nav.patients"), ("/terminology", "nav.terminology"), ("/audit", "nav.audit")]),
    ("nav.programs", &[("/traffic", "nav.traffic"), ("/api", "nav.api"), ("/validate", "nav.validate")]),
    ("nav.rights", &[("/access", "nav.access"), ("/faults", "nav.faults")]),
    ("nav.operate", &[("/health", "nav.health"), ("/settings", "nav.settings")]),
    ("nav.help", &[("/documents", "nav.documents")]),
];

/// Pages that are not there in `hcert serve`.
const FOR_DEVELOPERS: &[&str] = &["/faults"];

impl Visit<'_> {
    /// A whole page.
    pub(super) fn page(&self, title: &str, content: &Markup) -> PageAnswer {
        self.page_with_status(200, title, content)
    }

    pub(super) fn page_with_status(&self, status: u16, title: &str, content: &Markup) -> PageAnswer {
        self.whole_page(status, title, content, None)
    }

    /// A whole page that leads on to an address by itself.
    pub(super) fn page_leading_to(&self, to: &str, title: &str, content: &Markup) -> PageAnswer {
        self.whole_page(200, title, content, Some(to))
    }

    fn whole_page(&self, status: u16, title: &str, content: &Markup, leads_to: Option<&str>) -> PageAnswer {
        let banner = banner(self);
        PageAnswer::html(status, whole(self, title, &banner, content, leads_to).into_string())
    }
}

/// A whole page.
fn whole(visit: &Visit<'_>, title: &str, banner: &Markup, content: &Markup, leads_to: Option<&str>) -> Markup {
    let at = visit.request.path.as_str();
    let is_shown = |path: &str| visit.sources.is_developer || !FOR_DEVELOPERS.contains(&path);
    html! {
        (DOCTYPE)
        html lang=(visit.texts.language) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · hcert" }
                link rel="icon" href="data:,";
                link rel="stylesheet" href=(asset::href(visit, "hc.css"));
                script type="module" src=(asset::href(visit, "hc.js")) {}
                @if visit.identity.is_some() { script type="module" src=(asset::href(visit, "expiry.js")) {} }
                @if let Some(to) = leads_to { meta http-equiv="refresh" content=(format!("0; url={to}")); }
            }
            body {
                a.skip href="#content" { (visit.t("page.skip")) }
                header.bar {
                    a.brand href=(visit.href("/")) { "hcert" }
                    @if visit.sources.is_developer { span.mode { (visit.t("page.developer")) } }
                    div.bar-end { (part(visit)) (languages(visit)) }
                }
                @if let Some(text) = &visit.sources.words.announcement { p.banner { (text) } }
                (expiry(visit))
                (banner)
                div.columns {
                    @if !visit.is_stranger() { nav aria-label=(visit.t("page.nav")) {
                        details.menu open {
                            summary { (visit.t("page.nav")) }
                            @for (group, pages) in NAVIGATION {
                                h2 { (visit.t(group)) }
                                ul {
                                    @for (path, text) in pages.iter().filter(|(path, _)| is_shown(path)) {
                                        li { a href=(visit.href(path)) aria-current=[(at == *path).then_some("page")] { (visit.t(text)) } }
                                    }
                                }
                            }
                        }
                    } }
                    main #content tabindex="-1" { (content) }
                }
                footer { p { "hcert " (env!("CARGO_PKG_VERSION")) " · " (visit.t("page.foot")) } }
            }
        }
    }
}

/// Whose part the reader plays, and the way back to their own.
fn part(visit: &Visit<'_>) -> Markup {
    match &visit.session.part {
        Some(part) => html! {
            div.part {
                span { (visit.say("page.part", &[("role", &part.role), ("person", &part.person)])) }
                (visit.form("/part", &html! { button.small name="role" value="" { (visit.t("page.part-end")) } }))
            }
        },
        None if visit.sources.is_developer => {
            html! { a.part href=(visit.href("/access")) { (visit.t("page.nobody")) } }
        }
        None => signed_in(visit),
    }
}

/// Who is signed in until when, and the way out.
fn signed_in(visit: &Visit<'_>) -> Markup {
    let Some(identity) = &visit.identity else { return html! {} };
    let names = [&identity.given_name, &identity.family_name].map(|name| name.as_deref().unwrap_or_default());
    let name = names.join(" ");
    let name = if name.trim().is_empty() { &identity.person } else { name.trim() };
    html! {
        div.part {
            span { (visit.say("page.signed-in", &[("name", name), ("time", &clock(identity.expires))])) }
            (visit.form("/sign-out", &html! { button.small { (visit.t("sign-out.go")) } }))
        }
    }
}

/// Says that the sign-in ends soon. Before that it is hidden, and shown by a script while the page is open.
fn expiry(visit: &Visit<'_>) -> Markup {
    let (Some(identity), Some(sign_in)) = (&visit.identity, &visit.sources.sign_in) else { return html! {} };
    let left = identity.expires - visit.sources.tokens.now();
    html! {
        p.banner role="status" data-left=(left) data-warning=(sign_in.warning_s) hidden[left > sign_in.warning_s] {
            (visit.say("expiry.soon", &[("time", &clock(identity.expires))])) span aria-hidden="true" {} " "
            a href=(visit.sign_in_href(&visit.here())) { (visit.t("expiry.again")) }
        }
    }
}

/// Hours and minutes in Estonia of a moment, in seconds since 1970 UTC.
fn clock(moment: i64) -> String {
    date_time::instant(moment.saturating_mul(1_000)).chars().skip("2025-01-13T".len()).take("08:00".len()).collect()
}

/// A button per language. Each language is named in itself.
fn languages(visit: &Visit<'_>) -> Markup {
    let back = html! { input type="hidden" name="back" value=(visit.request.path); };
    let buttons = html! {
        (back)
        @for language in &visit.languages {
            button.small lang=(language) name="language" value=(language) aria-pressed=(visit.texts.language == *language) {
                (language.to_uppercase())
            }
        }
    };
    html! { div.languages role="group" aria-label=(visit.t("page.language")) { (visit.form("/language", &buttons)) } }
}

/// Over every page while something is armed that may still strike.
fn banner(visit: &Visit<'_>) -> Markup {
    let Some(switch) = visit.sources.faults.as_ref().filter(|switch| !switch.rules.is_empty()) else { return html! {} };
    let mut list = switch.rules.list();
    list.retain(|one| one.is_live());
    let names: Vec<&str> = list.iter().map(|one| one.rule.fault.as_str()).collect();
    html! { @if !list.is_empty() { div.banner role="status" {
        strong { (visit.say("faults.banner", &[("count", &list.len().to_string())])) } " " (names.join(", ")) " "
        a href=(visit.href("/faults")) { (visit.t("faults.look")) } " "
        (visit.form("/faults", &html! { button.small name="disarm" value="all" { (visit.t("faults.all-off")) } }))
    } } }
}

//! The settings in effect, and where each is from.

use maud::{Markup, html};

use crate::console::sources::SettingInEffect;
use crate::console::visit::Visit;
use crate::http::pages::PageAnswer;

pub(in crate::console) async fn show(visit: &Visit<'_>) -> PageAnswer {
    let title = visit.t("settings.title");
    if let Err(refused) = super::for_keepers(visit, title).await {
        return refused;
    }
    let (wanted, changed) = (visit.field("find").to_lowercase(), visit.field("changed") == "yes");
    let is_meant = |setting: &&SettingInEffect| {
        let text = [setting.key.as_str(), &setting.about].join(" ").to_lowercase();
        text.contains(&wanted) && !(changed && setting.is_default)
    };
    let settings: Vec<&SettingInEffect> = visit.sources.settings.iter().filter(is_meant).collect();
    visit.page(title, &html! {
        h1 { (title) }
        p { (visit.t("settings.text")) }
        form.row method="get" action=(visit.href("/settings")) {
            label { (visit.t("settings.find")) input name="find" value=(visit.field("find")); }
            label { input type="checkbox" name="changed" value="yes" checked[changed]; " " (visit.t("settings.changed")) }
            button { (visit.t("settings.show")) }
        }
        p role="status" { (visit.say("settings.total", &[("count", &settings.len().to_string())])) }
        @if !settings.is_empty() { div.wide tabindex="0" role="region" aria-label=(title) { table {
            thead { tr { @for key in ["settings.key", "settings.value", "settings.source"] { th scope="col" { (visit.t(key)) } } } }
            tbody { @for setting in settings { (row(visit, setting)) } }
        } } }
    })
}

fn row(visit: &Visit<'_>, setting: &SettingInEffect) -> Markup {
    let value = |value: Option<&str>| html! { @match value { Some(value) => code { (value) }, None => (visit.t("settings.unset")) } };
    html! { tr {
        th scope="row" {
            code { (setting.key) }
            @if !setting.about.is_empty() { details { summary { (visit.t("settings.about")) } p lang="en" { (setting.about) } } }
        }
        td { (value(setting.value.as_deref())) }
        td { @if setting.is_default { (visit.t("settings.default")) } @else {
            strong { (setting.source) } br; small { (visit.t("settings.instead")) " " (value(setting.default)) }
        } }
    } }
}

//! The settings in effect, and where each is from.

use maud::html;

use crate::console::visit::Visit;
use crate::http::pages::PageAnswer;

pub(in crate::console) async fn show(visit: &Visit<'_>) -> PageAnswer {
    let title = visit.t("settings.title");
    if let Err(refused) = super::for_keepers(visit, title).await {
        return refused;
    }
    let (wanted, changed) = (visit.field("find").to_lowercase(), visit.field("changed") == "yes");
    let is_meant = |key: &str, is_default: bool| key.to_lowercase().contains(&wanted) && !(changed && is_default);
    visit.page(title, &html! {
        h1 { (title) }
        p { (visit.t("settings.text")) }
        form.row method="get" action=(visit.href("/settings")) {
            label { (visit.t("settings.find")) input name="find" value=(visit.field("find")); }
            label { input type="checkbox" name="changed" value="yes" checked[changed]; " " (visit.t("settings.changed")) }
            button { (visit.t("settings.show")) }
        }
        div.wide tabindex="0" role="region" aria-label=(title) { table {
            thead { tr { @for key in ["settings.key", "settings.value", "settings.source"] { th scope="col" { (visit.t(key)) } } } }
            tbody { @for setting in visit.sources.settings.iter().filter(|setting| is_meant(&setting.key, setting.is_default)) { tr {
                th scope="row" { code { (setting.key) } }
                td { code { (setting.value) } }
                td { @if setting.is_default { (visit.t("settings.default")) } @else { strong { (setting.source) } } }
            } } }
        } }
    })
}

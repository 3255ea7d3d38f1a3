//! The pages for people. A page asks the API in its reader's name, so it shows what the API shows that reader, and nothing else; it owns no
//! right, no table and no file. Every page is a whole page without JavaScript.

mod asset;
mod diff;
mod json_lines;
mod page;
mod reading;
mod screen;
mod search_form;
mod session;
mod snippets;
mod sources;
mod texts;
mod visit;

use std::sync::Arc;

use maud::html;
use tokio::sync::OnceCell;

use crate::http::pages::{Api, PageAnswer, PageMaker, PageRequest, Soon};
use certificate::search::seal::SealKey;
pub use screen::sign_in::RETURN_PATH;
use screen::{audit, certificates, change, documents, patients, sign_in, start, terminology};
use session::{PartPlayed, Session};
pub use sources::{
    CheckTrail, ConsoleSources, FaultSwitch, FillStore, NoteFault, OwnWords, ServiceHealth, SettingInEffect, SignIn,
    TellHealth, TrailCheck,
};
pub use texts::Texts;
use visit::{Visit, own_path};

/// Makes the pages.
pub struct Console {
    sources: ConsoleSources,
    key: SealKey,
    /// The first is spoken to those who prefer none.
    texts: Vec<Texts>,
}

impl std::fmt::Debug for Console {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.debug_struct("Console").field("sources", &self.sources).finish_non_exhaustive()
    }
}

impl Console {
    pub fn new(sources: ConsoleSources) -> Console {
        let mut sources = sources;
        let mut texts = Texts::built_in();
        texts.append(&mut sources.words.texts);
        Console { key: SealKey::new(&sources.key), texts, sources }
    }

    /// The texts of a reader: of the language they chose, or the first that their browser names, or the first there is.
    fn texts_for(&self, chosen: Option<&str>, languages: &str) -> &Texts {
        let named = |wanted: &str| self.texts.iter().find(|texts| texts.language == wanted);
        let of_browser =
            || languages.split(',').find_map(|part| named(part.split([';', '-']).next().unwrap_or_default().trim()));
        chosen.and_then(named).or_else(of_browser).unwrap_or(&self.texts[0])
    }
}

impl PageMaker for Console {
    fn answer(&self, mut request: PageRequest, api: Arc<dyn Api>) -> Soon<'_, PageAnswer> {
        Box::pin(async move {
            if let Some(file) = request.path.strip_prefix("/assets/").and_then(asset::answer) {
                return file;
            }
            self.sources.exchanges.watch();
            let sign_in = self.sources.sign_in.as_ref();
            request.is_secure |= sign_in.is_some_and(|sign_in| sign_in.client.is_secure());
            let session = Session::read(&request.cookies, request.is_secure, &self.key);
            let is_new = session.is_none();
            let session = session.unwrap_or_else(Session::begin);
            let texts = self.texts_for(session.language.as_deref(), &request.languages);
            let languages = self.texts.iter().map(|texts| texts.language.as_str()).collect();
            let (sources, key, token) = (&self.sources, &self.key, OnceCell::new());
            let (identity, refused) = match (sign_in, &session.token) {
                (Some(_), Some(token)) => match sources.tokens.who(&format!("Bearer {token}")).await {
                    Ok(identity) => (Some(identity), None),
                    Err(refused) => (None, Some(refused)),
                },
                _ => (None, None),
            };
            let visit = Visit { sources, key, texts, languages, request, session, identity, api, token };
            let mut answer = match () {
                () if visit.is_stranger() && !sign_in::is_open(&visit.request.path) => {
                    sign_in::required(&visit, refused.as_ref())
                }
                () if visit.request.is_form => act(&visit).await,
                () => show(&visit).await,
            };
            // A browser that was led here from elsewhere may only have kept its cookie back.
            if is_new && !visit.request.is_from_elsewhere && answer.cookies.is_empty() {
                answer.cookies.extend(visit.cookie(&visit.session));
            }
            answer
        })
    }
}

/// The page of an address.
async fn show(visit: &Visit<'_>) -> PageAnswer {
    let path = visit.request.path.split('/').skip(1).collect::<Vec<_>>();
    match path[..] {
        ["sign-in"] => sign_in::begin(visit),
        ["signed-in"] => sign_in::complete(visit).await,
        [""] => start::show(visit).await,
        ["certificates"] => certificates::show(visit).await,
        ["certificates", "new"] => change::show_new(visit).await,
        ["certificates", id] => screen::certificate::show(visit, id).await,
        ["certificates", id, "moves"] => screen::certificate::moves(visit, id).await,
        ["certificates", id, "edit"] => change::show_edit(visit, id).await,
        ["certificates", id, "pdf", _] => screen::print::file(visit, id).await,
        ["verify"] => screen::print::show(visit),
        ["patients"] => patients::show(visit).await,
        ["patients", id] => patients::show_one(visit, id).await,
        ["terminology"] => terminology::show(visit).await,
        ["terminology", kind @ ("CodeSystem" | "ValueSet"), id] => terminology::show_list(visit, kind, id).await,
        ["audit"] => audit::show(visit).await,
        ["audit", id] => audit::show_one(visit, id).await,
        ["api"] => screen::api::list(visit).await,
        ["api", id] => screen::api::show(visit, id).await,
        ["validate"] => screen::validate::show(visit).await,
        ["traffic"] => screen::traffic::show(visit),
        ["traffic", "rows"] => screen::traffic::newest(visit),
        ["traffic", number] => screen::traffic::show_one(visit, number).unwrap_or_else(|| nowhere(visit)),
        ["faults"] => match &visit.sources.faults {
            Some(switch) => screen::faults::show(visit, switch).await,
            None => nowhere(visit),
        },
        ["settings"] => screen::settings::show(visit).await,
        ["health"] => screen::health::show(visit).await,
        ["access"] => screen::access::show(visit).await,
        ["documents"] => documents::list(visit),
        ["pictures", ..] => documents::picture(visit, &path[1..].join("/")).unwrap_or_else(|| nowhere(visit)),
        ["documents", ..] => documents::show(visit, &path[1..].join("/")),
        _ => nowhere(visit),
    }
}

/// Does what a form asks for.
async fn act(visit: &Visit<'_>) -> PageAnswer {
    if !visit.session.made(visit.field("form-token"), visit.key) {
        return visit.page_with_status(
            403,
            visit.t("form.title"),
            &html! {
                h1 { (visit.t("form.title")) }
                p { (visit.t("form.foreign")) }
            },
        );
    }
    let path = visit.request.path.split('/').skip(1).collect::<Vec<_>>();
    match path[..] {
        ["language"] => {
            let session = Session { language: Some(visit.field("language").to_owned()), ..visit.session.clone() };
            visit.go_with(&session, own_path(visit.field("back")))
        }
        ["part"] if visit.sources.is_developer => play(visit),
        ["sign-out"] => sign_in::end(visit),
        ["api", "try"] => screen::api::send(visit).await,
        ["validate"] => screen::validate::judge(visit).await,
        ["traffic", number] => screen::traffic::replay(visit, number).await.unwrap_or_else(|| nowhere(visit)),
        ["faults"] => match &visit.sources.faults {
            Some(switch) => screen::faults::act(visit, switch).await,
            None => nowhere(visit),
        },
        ["access", "why"] => screen::access::explain(visit).await,
        ["fill"] => start::fill(visit).await,
        ["certificates"] => certificates::act(visit).await,
        ["patients"] => patients::act(visit),
        ["patients", id, "see"] if visit.sources.is_developer => patients::see(visit, id).await,
        ["audit"] => audit::act(visit),
        ["audit", "check"] => audit::check(visit).await,
        ["certificates", "new"] => change::create(visit).await,
        ["certificates", id, "edit"] => change::update(visit, id).await,
        ["certificates", id, "move"] => screen::certificate::do_move(visit, id).await,
        ["verify"] => screen::print::verify(visit).await,
        ["certificates", id, "consent"] => screen::certificate::set_consent(visit, id).await,
        _ => nowhere(visit),
    }
}

/// Takes a part, or gives it up.
fn play(visit: &Visit<'_>) -> PageAnswer {
    let some = |name: &str| Some(visit.field(name).to_owned()).filter(|value| !value.is_empty());
    if let Some(role) = some("role").filter(|role| !visit.sources.roles.contains_key(role)) {
        return screen::access::unknown_role(visit, &role);
    }
    let part = some("role").map(|role| PartPlayed {
        role,
        person: visit.field("person").to_owned(),
        organization: some("organization"),
        patient: some("patient"),
        represented_party: some("represented-party"),
    });
    visit.go_with(&Session { part, ..visit.session.clone() }, own_path(visit.field("back")))
}

fn nowhere(visit: &Visit<'_>) -> PageAnswer {
    let title = visit.t("nowhere.title");
    visit.page_with_status(404, title, &html! { h1 { (title) } p { (visit.linked("nowhere.text", "/")) } })
}

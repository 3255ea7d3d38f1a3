//! What the form of a search asks for, on its way through the address of its page: in the open where nothing of it can name a person, else
//! sealed for this browser alone.

use maud::{Markup, html};

use super::visit::Visit;
use crate::http::pages::ApiRequest;
use certificate::search::link;
use certificate::search::request::holds_personal_code;

/// What the seal is for, so that it passes for no other.
const USE: &[u8] = b"hcert console search 1";

/// The parameter of an address that holds what is sealed.
const SEALED: &str = "sealed";

/// Shows which page of the results: the only parameter that stands in the open beside sealed ones.
const PAGE: &str = "_page";

/// Shows more than the results; it is no part of the search.
const COMPARE: &str = "compare";

/// Hits of a page.
const HITS: u64 = 20;

/// Names and values of a search, as the API takes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SearchForm {
    pub pairs: Vec<(String, String)>,
    /// Which page of the results, from 1.
    pub page: u64,
}

impl SearchForm {
    /// What the address of the page asks for. A seal of another browser is left to the API, which refuses it.
    pub(super) fn of_address(visit: &Visit<'_>) -> SearchForm {
        let query = &visit.request.query;
        let value = |name: &str| query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let page = value(PAGE).and_then(|page| page.parse().ok()).unwrap_or(1).max(1);
        let pairs = match value(SEALED) {
            Some(sealed) => opened(visit, sealed).unwrap_or_else(|| vec![("_query".to_owned(), sealed.to_owned())]),
            None => query.iter().filter(|(name, _)| name != PAGE && name != COMPARE).cloned().collect(),
        };
        SearchForm { pairs, page }
    }

    /// Pairs with a value, of a form that was sent.
    pub(super) fn of_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> SearchForm {
        let pairs = pairs.into_iter().map(|(name, value)| (name, value.trim().to_owned()));
        SearchForm { pairs: pairs.filter(|(_, value)| !value.is_empty()).collect(), page: 1 }
    }

    /// The first value of a name.
    pub(super) fn value(&self, name: &str) -> &str {
        self.pairs.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The address of a page of its results below the console. `is_personal` tells names whose values may name a person.
    pub(super) fn address(
        &self,
        visit: &Visit<'_>,
        path: &str,
        page: u64,
        is_personal: &dyn Fn(&str) -> bool,
    ) -> String {
        let sealed = self.is_hidden(is_personal).then(|| self.sealed(visit));
        let page = (page > 1).then(|| (PAGE, page.to_string()));
        let open = self.pairs.iter().filter(|_| sealed.is_none()).map(|(name, value)| (name.as_str(), value.as_str()));
        let sealed = sealed.as_deref().map(|sealed| (SEALED, sealed));
        let page = page.as_ref().map(|(name, page)| (*name, page.as_str()));
        match link::encode(open.chain(sealed).chain(page)) {
            query if query.is_empty() => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    }

    /// Whether a value of it may name a person.
    pub(super) fn is_hidden(&self, is_personal: &dyn Fn(&str) -> bool) -> bool {
        self.pairs.iter().any(|(name, value)| is_personal(name) || holds_personal_code(value))
    }

    fn sealed(&self, visit: &Visit<'_>) -> String {
        let content = serde_json::to_vec(&(&visit.session.id, &self.pairs)).expect("texts have a JSON form");
        visit.key.seal_for(USE, content).unwrap_or_default()
    }

    /// The search as a POST to the API, so that no value stands in an address there either. `more` goes before what the form would say.
    pub(super) async fn request(&self, visit: &Visit<'_>, kind: &str, more: &[(&str, &str)]) -> ApiRequest {
        let (page, hits) = (self.page.to_string(), HITS.to_string());
        let own = self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let own = own.filter(|(name, _)| !more.iter().any(|(known, _)| known == name));
        let said = |name: &str| !self.value(name).is_empty() || more.iter().any(|(known, _)| *known == name);
        let paging = [(PAGE, page.as_str()), ("_count", hits.as_str())].into_iter().filter(|(name, _)| !said(name));
        let body = link::encode(own.chain(paging).chain(more.iter().copied()));
        let mut request = visit.api_request("POST", &format!("/{kind}/_search"), body.into_bytes()).await;
        request.headers.retain(|(name, _)| name != "content-type");
        request.headers.push(("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned()));
        request
    }
}

/// The way to the pages before and behind.
pub(super) fn paging(visit: &Visit<'_>, page: u64, total: u64, address: &dyn Fn(u64) -> String) -> Markup {
    let pages = total.div_ceil(HITS).max(1);
    let way = |page: u64, key: &str| html! { a.button href=(visit.href(&address(page))) { (visit.t(key)) } " " };
    html! { @if pages > 1 || page > 1 {
        nav aria-label=(visit.t("paging.nav")) { p.actions {
            @if page > 1 { (way(1, "paging.first")) (way((page - 1).min(pages), "paging.previous")) }
            (visit.say("paging.at", &[("page", &page.to_string()), ("pages", &pages.to_string())])) " "
            @if page < pages { (way(page + 1, "paging.next")) (way(pages, "paging.last")) }
        } }
    } }
}

fn opened(visit: &Visit<'_>, sealed: &str) -> Option<Vec<(String, String)>> {
    let (browser, pairs): (String, Vec<(String, String)>) =
        serde_json::from_slice(&visit.key.open_for(USE, sealed)?).ok()?;
    (browser == visit.session.id).then_some(pairs)
}

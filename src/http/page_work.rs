//! How a request for a page is answered: it is read, made by [`PageMaker`](super::pages::PageMaker), written, and logged.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use http_body_util::{BodyExt, Collected, Full};
use hyper::body::{Body, Bytes};
use hyper::header::{
    ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE,
    HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, REFERRER_POLICY, SET_COOKIE, VARY,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use tokio::time::Instant as Deadline;

use super::answer_form::AnswerForm;
use super::exchange_record::AskedByPage;
use super::pages::{
    Api, ApiAnswer, ApiRequest, PAGES_PATH, PageAnswer, PageRequest, Soon, is_from_elsewhere, is_of_own_page,
};
use super::query::{self, Pair};
use super::request_head::{AddressOffer, RequestOrigin};
use super::{
    HttpServer, Interactions, body, guard, guarded, header, message, method_name, proxy, respond, security, sender,
};
use base::log::{self, AnsweredRequest};
use base::metrics;
use fhir::outcome::{Hcert, Issue, Outcome};

/// What a page may load and do: its own files, and nothing written into it.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// The API for one browser.
struct OwnApi<R> {
    server: Arc<HttpServer<R>>,
    peer: Option<IpAddr>,
}

impl<R: Interactions> Api for OwnApi<R> {
    fn ask(&self, request: ApiRequest) -> Soon<'_, ApiAnswer> {
        let server = Arc::clone(&self.server);
        Box::pin(async move {
            let Some(request) = own_request(&server, request) else {
                return ApiAnswer { status: StatusCode::BAD_REQUEST.as_u16(), ..ApiAnswer::default() };
            };
            // Never a page: a page that asks for a page would ask without end.
            let origin = RequestOrigin { peer: self.peer, connection: None, offer: AddressOffer::Api };
            let (parts, body) = server.answer_well_formed(request, origin, Ok(())).await.into_parts();
            let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
            let headers = parts.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
            let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
            match parts.extensions.get().copied() {
                // A client would find its connection ended, or a body that it cannot read.
                Some(broken) => ApiAnswer {
                    status: StatusCode::BAD_GATEWAY.as_u16(),
                    headers: Vec::new(),
                    body,
                    broken: Some(broken),
                },
                None => ApiAnswer { status: parts.status.as_u16(), headers, body, broken: None },
            }
        })
    }
}

/// A request as it would come from outside, but for its mark; nothing where no client could send it.
fn own_request<R: Interactions>(server: &HttpServer<R>, request: ApiRequest) -> Option<Request<Full<Bytes>>> {
    let settings = server.settings();
    let root = settings.root();
    let host = root.split("://").nth(1)?.split('/').next()?;
    let mut built =
        Request::builder().method(request.method.as_str()).uri([&settings.secret, request.target.as_str()].concat());
    built = built.header(HOST, host);
    for (name, value) in &request.headers {
        built = built.header(name, value);
    }
    if !request.body.is_empty() || matches!(request.method.as_str(), "POST" | "PUT") {
        built = built.header(CONTENT_LENGTH, request.body.len());
    }
    built.extension(AskedByPage).body(Full::from(request.body)).ok()
}

impl<R: Interactions> HttpServer<R> {
    /// Answers a person. `formed` tells what is wrong with the request as HTTP.
    pub(super) async fn page<B>(
        self: Arc<Self>,
        parts: Parts,
        body: B,
        peer: Option<IpAddr>,
        formed: Result<(), Issue>,
    ) -> Response<Full<Bytes>>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        let at = Instant::now();
        let wanted = AnswerForm::new(&parts.method, &parts.headers);
        let is_secure = security::is_secure(&self.settings, &parts, peer);
        let made = {
            let making = pin!(self.page_answer(&parts, body, peer, is_secure, formed));
            guarded(making).await.unwrap_or_else(|()| Err(Outcome::internal("a panic, told above")))
        };
        let mut response = match made {
            Ok(page) => written(page, &wanted),
            Err(refusal) => {
                self.count(&refusal);
                respond::outcome(&refusal, &wanted, &self.settings.issue_system)
            }
        };
        let (method, status, took) = (method_name(&parts.method), response.status().as_u16(), at.elapsed());
        self.settings.metrics.requests.answered(&metrics::ResponseLabels { method, route: PAGES_PATH, status }, took);
        log::answered(&AnsweredRequest {
            method,
            route: PAGES_PATH,
            status,
            took,
            client: proxy::logged(&self.settings, &parts, peer),
            request_id: Some(wanted.request_id.logged()),
            refused: response.extensions_mut().remove().as_ref(),
            ..AnsweredRequest::default()
        });
        security::protect(response.headers_mut(), is_secure);
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, PAGE_POLICY);
        // With none at all browsers do not say either that a form is sent by a page of ours.
        response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        response
    }

    async fn page_answer<B>(
        self: &Arc<Self>,
        parts: &Parts,
        body: B,
        peer: Option<IpAddr>,
        is_secure: bool,
        formed: Result<(), Issue>,
    ) -> Result<PageAnswer, Outcome>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        formed?;
        guard::check(&self.settings, parts)?;
        let settings = &self.settings;
        let pages = settings.pages.as_ref().ok_or(Hcert::PathUnknown)?;
        let path = parts.uri.path();
        if path == "/" || path == PAGES_PATH {
            return Ok(PageAnswer::go_on(format!("{}{PAGES_PATH}/", settings.secret)));
        }
        let below = path.strip_prefix(PAGES_PATH).filter(|below| below.starts_with('/'));
        let is_form = parts.method == Method::POST;
        if !is_form && !matches!(parts.method, Method::GET | Method::HEAD) {
            let issue = Issue::new(Hcert::MethodNotAllowed).with("method", parts.method.to_string());
            return Err(issue.with("allowed", "GET, HEAD, POST").into());
        }
        let form = if is_form { self.form(parts, body, peer).await? } else { Vec::new() };
        let text = |name: &HeaderName| header::joined(&parts.headers, name).unwrap_or_default();
        let request = PageRequest {
            is_form,
            path: below.and_then(|below| query::decode(below, false)).ok_or(Hcert::PathUnknown)?,
            query: query::pairs(parts.uri.query().unwrap_or_default())?,
            form,
            // HTTP/2 may have a field for each cookie. RFC 9113, 8.2.3.
            cookies: texts(&parts.headers, &COOKIE).join("; "),
            languages: text(&ACCEPT_LANGUAGE),
            root: settings.secret.clone(),
            base_path: settings.base_path.clone(),
            base_url: settings.base_url.clone(),
            is_secure,
            is_from_elsewhere: is_from_elsewhere(parts),
        };
        // Trail and bounds shall have the person's address, and not that of a proxy in front of the pages.
        let peer = proxy::sender(settings, parts, peer).or(peer);
        let api = Arc::new(OwnApi { server: Arc::clone(self), peer });
        Ok(pages.answer(request, api).await)
    }

    /// The fields of a form that a page of ours sent.
    async fn form<B>(&self, parts: &Parts, mut body: B, peer: Option<IpAddr>) -> Result<Vec<Pair>, Outcome>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        if !is_of_own_page(parts) {
            let problem = "a page of another origin sent the request";
            return Err(Issue::new(Hcert::Stranger).with("problem", problem.to_owned()).into());
        }
        let length = message::length(&parts.headers)?;
        let client = sender::counted_for(&self.settings, parts, peer).map(|counted| counted.client);
        let (allocator, timeout) = (self.allocator(client), self.settings.body_timeout());
        let deadline = Deadline::now() + self.settings.request_timeout;
        let received = {
            let receiving = pin!(body::receive(&mut body, length, self.settings.body_bytes_max, timeout, &allocator));
            self.within(deadline, receiving).await?
        };
        Ok(query::pairs(fhir::json::text_of(&received.bytes)?)?)
    }
}

fn texts<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Vec<&'h str> {
    headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect()
}

fn written(page: PageAnswer, wanted: &AnswerForm) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    let lasting = "private, max-age=31536000, immutable";
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(if page.is_lasting { lasting } else { "no-store" }));
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding, Accept-Language, Cookie"));
    headers.extend(page.location.map(|location| (LOCATION, header::value(location))));
    for cookie in page.cookies {
        headers.append(SET_COOKIE, header::value(cookie));
    }
    if page.body.is_empty() {
        return response;
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(page.content_type));
    let mut body = page.body;
    if wanted.gzip && body.len() > respond::GZIP_BYTES_MIN {
        body = respond::gzip(&body).into();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if !wanted.head {
        *response.body_mut() = Full::new(body);
    }
    response
}

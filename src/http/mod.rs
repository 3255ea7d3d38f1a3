//! The door: the only room that knows hyper. A request becomes an [`Interaction`], its answer becomes HTTP again.
//!
//! [`Server::answer`] is the whole way of one request and needs no socket; [`serve`] puts it behind a listener.

pub mod account;
mod admission;
mod answers;
mod body;
mod caller;
mod clients;
pub mod condition;
mod frames;
pub mod guard;
mod handed_on;
mod head_lines;
mod header;
mod heads;
pub mod limits;
mod listener;
mod load;
pub mod media;
pub mod message;
mod places;
mod pretty;
mod proxy;
mod quality;
pub mod query;
pub mod request;
mod request_id;
mod respond;
pub mod route;
mod seat;
mod security;
mod sender;
pub mod settings;
mod smart;
mod stream;
mod tls;
mod token;
pub mod trace;
mod unparsed;
mod unread;
pub mod wanted;
mod watched;
mod work;
pub mod x_road;

use std::io;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Body, Bytes};
use hyper::header::{ALLOW, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::config::limits::{ANSWERS_BYTES_MAX, HEADS_BYTES_MAX};
use crate::interaction::context::{Action, Event};
use crate::interaction::{Account, Answer, Context, Instead, Interaction, Pool, Service};
use crate::tls::Status;
use admission::Admission;
use base::log::{self, Answered};
use base::metrics;
use base::trace::Trace;
use fhir::outcome::{Hcert, Issue, Outcome};
pub use guard::{host_name, is_loopback};
pub use listener::{Listen, bind, serve};
pub use load::Load;
use load::count;
use places::NoPlace;
use query::Pair;
use route::Route;
use seat::Seat;
pub use settings::Settings;
pub use tls::{check_lists, keep_current, present};
use trace::Traced;
use unparsed::Reason;
use wanted::Wanted;
use x_road::{Fault, Place};

/// Bytes from which an answer is compressed or indented off the threads that serve requests: some 5 ms of work.
const LARGE_FORM_BYTES: usize = 256 * 1024;

/// What runs an interaction: [`Service`], or a stand-in of a test.
pub trait Run: Send + Sync + 'static {
    /// `body` is the request's body, empty when it had none.
    fn run(
        &self,
        interaction: Interaction,
        context: Context,
        body: Vec<u8>,
    ) -> impl Future<Output = Result<Answer, Outcome>> + Send;

    /// Bytes of the stored resource that an interaction reads through, beside its body; 0 where it is only copied.
    fn stored_bytes(&self, _interaction: &Interaction, _context: &Context) -> usize {
        0
    }

    /// The event of a request, for the audit trail; nothing where none is kept. Without an interaction the request leads nowhere.
    fn begin(&self, _interaction: Option<&Interaction>) -> Option<Box<Account>> {
        None
    }

    /// Notes in an event whom the parameters of its request name.
    fn note(&self, _event: &mut Event, _interaction: &Interaction, _parameters: &[(String, String)]) {}

    /// Writes the event down, before the answer leaves.
    ///
    /// # Errors
    /// 503: it cannot be written, so nothing may be shown.
    fn end(&self, _account: Box<Account>, _result: &Result<Answer, Outcome>) -> Result<(), Outcome> {
        Ok(())
    }

    /// As [`end`](Self::end), for an answer that is none of an interaction.
    ///
    /// # Errors
    /// 503
    fn end_plain(&self, _account: Box<Account>, _status: u16) -> Result<(), Outcome> {
        Ok(())
    }
}

impl Run for Service {
    fn run(
        &self,
        interaction: Interaction,
        context: Context,
        body: Vec<u8>,
    ) -> impl Future<Output = Result<Answer, Outcome>> + Send {
        Service::run(self, interaction, context, body)
    }

    fn stored_bytes(&self, interaction: &Interaction, context: &Context) -> usize {
        Service::stored_bytes(self, interaction, context)
    }

    fn begin(&self, interaction: Option<&Interaction>) -> Option<Box<Account>> {
        Service::begin(self, interaction)
    }

    fn note(&self, event: &mut Event, interaction: &Interaction, parameters: &[(String, String)]) {
        Service::note(self, event, interaction, parameters);
    }

    fn end(&self, account: Box<Account>, result: &Result<Answer, Outcome>) -> Result<(), Outcome> {
        Service::end(self, account, result)
    }

    fn end_plain(&self, account: Box<Account>, status: u16) -> Result<(), Outcome> {
        Service::end_plain(self, account, status)
    }
}

/// Answers requests.
pub struct Server<R> {
    run: Arc<R>,
    /// For large resources.
    pool: Pool,
    settings: Settings,
    bodies: body::BodyMemory,
    answers: Arc<answers::AnswerMemory>,
    heads: heads::Heads,
    load: Arc<Load>,
    admission: Admission,
}

/// What an answer of `hcert dev` says in every case, so that nobody takes it for one about real people. Contract 7.2.
const MODE: HeaderName = HeaderName::from_static("x-hcert-mode");

/// Where a request comes from.
#[derive(Clone, Debug)]
struct Origin {
    peer: Option<IpAddr>,
    /// Its connection, where it came by one.
    seat: Option<Arc<Seat>>,
}

/// The parts of a query that shape the answer, read before anything may be refused because of them.
impl<R: Run> Server<R> {
    pub fn new(run: R, settings: Settings) -> Arc<Self> {
        let load: Arc<Load> = Arc::default();
        let admission = Admission::new(&settings, Arc::clone(&load));
        let bodies = body::BodyMemory::of_all(settings.body_bytes_max);
        let answers = answers::AnswerMemory::new(ANSWERS_BYTES_MAX);
        let heads = heads::Heads::new(HEADS_BYTES_MAX);
        Arc::new(Server { run: Arc::new(run), pool: Pool::start(), settings, bodies, answers, heads, load, admission })
    }

    /// What connections and requests cost now, and did so far.
    pub fn load(&self) -> &Arc<Load> {
        &self.load
    }

    /// The threads for large resources.
    pub fn pool(&self) -> &Handle {
        self.pool.handle()
    }

    /// What is shown over TLS and what is wrong with it, at a moment in seconds since 1970; nothing where no TLS is spoken.
    pub fn tls_status(&self, now: i64) -> Option<Status> {
        self.settings.tls.as_ref().map(|presented| presented.status(now))
    }

    /// Answers a request of a connection that has no place.
    fn turn_away<B>(&self, request: Request<B>, reason: NoPlace, peer: Option<IpAddr>) -> Response<Full<Bytes>> {
        let wanted = Wanted::new(request.method(), request.headers());
        let issue = match reason {
            NoPlace::Full => Issue::new(Hcert::ConnectionsFull),
            NoPlace::TooManyOfAddress => {
                let max = self.settings.connections_per_address_max;
                Issue::new(Hcert::TooManyRequests).with("problem", format!("{max} connections at once are allowed"))
            }
        };
        self.refuse(issue, &wanted, proxy::logged(&self.settings, &request.into_parts().0, peer))
    }

    /// Answers a request whose head has no memory.
    fn refuse_head(&self, issue: Issue, parts: &Parts, peer: Option<IpAddr>) -> Response<Full<Bytes>> {
        count(if issue.code() == Hcert::HeadsTooMany {
            &self.load.requests_refused
        } else {
            &self.load.requests_throttled
        });
        let client = proxy::logged(&self.settings, parts, peer);
        self.refuse(issue, &Wanted::new(&parts.method, &parts.headers), client)
    }

    /// Answers what hyper reads no request of.
    fn refuse_unparsed(&self, reason: Reason, peer: Option<IpAddr>) -> Response<Full<Bytes>> {
        let issue = match reason {
            Reason::NoHttp => Issue::new(Hcert::HttpMalformed).with("problem", "it is no HTTP"),
            Reason::Body => request::too_long(self.settings.body_bytes_max),
            Reason::Target => message::target_too_long(),
            Reason::Headers => message::headers_too_long(),
        };
        self.refuse(issue, &Wanted::new(&Method::GET, &hyper::HeaderMap::new()), peer)
    }

    /// A refusal of what is no request of ours yet.
    fn refuse(&self, issue: Issue, wanted: &Wanted, client: Option<IpAddr>) -> Response<Full<Bytes>> {
        let refusal = issue.into();
        self.count(&refusal);
        let mut response = self.outside_of_requests(&refusal, wanted, client);
        security::protect(response.headers_mut(), self.settings.tls.is_some());
        response
    }

    /// A refusal that no request is known for, with its line in the log.
    fn outside_of_requests(&self, refusal: &Outcome, wanted: &Wanted, client: Option<IpAddr>) -> Response<Full<Bytes>> {
        let mut response = respond::outcome(refusal, wanted, &self.settings.issue_system);
        let refused = response.extensions_mut().remove();
        let status = response.status().as_u16();
        let (request_id, refused) = (Some(wanted.request_id.logged()), refused.as_ref());
        let client = client.map(|address| address.to_canonical());
        log::answered(&Answered {
            method: "-",
            route: "-",
            status,
            client,
            request_id,
            refused,
            ..Answered::default()
        });
        response
    }

    /// What runs the interactions.
    pub fn service(&self) -> &R {
        &self.run
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Answers one request. `peer` is who sent it, unknown on a Unix socket.
    ///
    /// A request that may change something runs in a task of its own, so that a client that goes away does not stop it half-way; one
    /// that only reads is given up then, if its connection tells (Decision 40).
    /// A panic is answered with 500.
    pub async fn answer<B>(self: Arc<Self>, request: Request<B>, peer: Option<IpAddr>) -> Response<Full<Bytes>>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        self.answer_well_formed(request, Origin { peer, seat: None }, Ok(())).await
    }

    /// As [`answer`](Self::answer); `formed` tells what is wrong with the request as HTTP.
    async fn answer_well_formed<B>(
        self: Arc<Self>,
        request: Request<B>,
        origin: Origin,
        formed: Result<(), Issue>,
    ) -> Response<Full<Bytes>>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        let (started, peer) = (Instant::now(), origin.peer);
        let (mut parts, body) = request.into_parts();
        guard::enter(&self.settings, &mut parts);
        if sender::drop_claims(&self.settings, &mut parts, peer) {
            count(&self.load.x_road_dropped);
        }
        let secure = security::is_secure(&self.settings, &parts, peer);
        let route = match x_road::place(&self.settings, parts.uri.path()) {
            Place::Fhir(base_path) => route::route(base_path, &parts.method, parts.uri.path()),
            // On a path of ours that is not there, our own words tell so; on one of X-Road, X-Road's.
            Place::Token if self.gives_out_tokens() || !x_road::is_by(&parts) => Route::TokenService,
            Place::Token => Route::Fault(Fault::UnknownService),
            Place::Fault(fault) => Route::Fault(fault),
        };
        let mut response = if changes(&route) {
            let server = Arc::clone(&self);
            let task = tokio::spawn(async move { server.trace(started, route, parts, body, origin, formed).await });
            task.await.unwrap_or_else(|error| {
                let wanted = Wanted::new(&Method::GET, &hyper::HeaderMap::new());
                self.outside_of_requests(&Outcome::internal(error), &wanted, peer)
            })
        } else {
            self.trace(started, route, parts, body, origin, formed).await
        };
        security::protect(response.headers_mut(), secure);
        if self.settings.is_developer {
            response.headers_mut().insert(MODE, HeaderValue::from_static("developer"));
        }
        response
    }

    /// Settles a request within its trace, so that every line of the log about it says which.
    async fn trace<B>(
        &self,
        started: Instant,
        route: Route,
        parts: Parts,
        body: B,
        origin: Origin,
        formed: Result<(), Issue>,
    ) -> Response<Full<Bytes>>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        let _under_way = self.settings.metrics.requests.begin();
        let wanted = Wanted::new(&parts.method, &parts.headers);
        let traced = Traced::of(&parts.headers, &wanted.request_id);
        let settled = pin!(self.settle(started, route, parts, body, &origin, formed, wanted));
        let mut response = traced.trace.within(settled).await;
        traced.give_back(&mut response);
        response
    }

    #[expect(clippy::too_many_arguments, reason = "it is the whole of one way")]
    async fn settle<B>(
        &self,
        started: Instant,
        route: Route,
        parts: Parts,
        body: B,
        origin: &Origin,
        formed: Result<(), Issue>,
        mut wanted: Wanted,
    ) -> Response<Full<Bytes>>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        let peer = origin.peer;
        // What is no whole request of ours is given no token and told of none.
        let is_let_in = formed.is_ok() && guard::check(&self.settings, &parts).is_ok();
        let mut query = self.query(&parts);
        if let Err(issue) = formed {
            query.pairs = Err(issue);
        }
        wanted.media = query.media.clone().unwrap_or_default();
        wanted.pretty = query.pretty.clone().unwrap_or_default();
        wanted.x_road_id = x_road::id(&parts);
        let (label, action) = (route::label(&route), action(&route));
        let fault = if let Route::Fault(fault) = route { Some(fault) } else { None };

        let mut event = self.event(&route, &parts, &query.pairs, peer, &wanted);
        let tokens = self.settings.tokens.as_deref().filter(|tokens| tokens.are_given_out());
        let tokens = tokens.filter(|_| is_let_in);
        let smart = self.settings.smart.as_ref().filter(|_| {
            route == Route::SmartConfiguration && (self.settings.needs_token || self.gives_out_tokens()) && is_let_in
        });
        let mut response = match (&route, tokens) {
            (Route::TokenService, Some(tokens)) => {
                let issue = token::issue(tokens, &self.settings, self.lender(None), &parts, body, &wanted, &mut event);
                let issued = Box::pin(issue).await;
                match event.take().map(|event| self.run.end_plain(event, issued.status().as_u16())) {
                    Some(Err(unwritten)) => {
                        self.count(&unwritten);
                        respond::outcome(&unwritten, &wanted, &self.settings.issue_system)
                    }
                    _ => issued,
                }
            }
            (Route::TokenKeys, Some(tokens)) => Box::pin(token::keys(tokens, &parts, &wanted)).await,
            _ if let Some(smart) = smart => {
                let document = smart.document(&self.settings, self.base_path(&parts));
                token::document(document, &parts, &wanted)
            }
            _ => {
                // What became of a write is told, however long it takes, and whatever else is not taken.
                let is_change = changes(&route);
                let patience = if is_change { Duration::MAX } else { self.settings.request_timeout };
                let mut result = {
                    // Pinned where it is made: each hand it went through would keep room for it.
                    let work = pin!(self.work(route, query, &parts, body, origin, &mut wanted, &mut event));
                    match timeout(patience, guarded(work)).await {
                        Ok(result) => result.unwrap_or_else(|()| Err(Outcome::internal("a panic, told above"))),
                        Err(_) => {
                            count(&self.load.requests_given_up);
                            let max = patience.as_secs().to_string();
                            Err(Issue::new(Hcert::RequestTimeout).with("max", max).into())
                        }
                    }
                };
                if !is_change {
                    self.lend(&mut result, wanted.pretty, &parts, origin);
                }
                if let Some(event) = event.take()
                    && let Err(unwritten) = self.run.end(event, &result)
                {
                    result = Err(unwritten);
                }
                match result {
                    Ok(Answer { instead: Some(instead), .. }) => respond::instead(instead),
                    Ok(answer) if answer.body.len() > LARGE_FORM_BYTES && (wanted.gzip || wanted.pretty) => {
                        Box::pin(self.respond_at_length(answer, &wanted)).await
                    }
                    Ok(answer) => respond::answer(answer, &wanted),
                    Err(outcome) => {
                        self.count(&outcome);
                        match fault.filter(|_| outcome.leading() == Hcert::PathUnknown) {
                            Some(fault) => x_road::fault(fault, &wanted),
                            None => respond::outcome(&outcome, &wanted, &self.settings.issue_system),
                        }
                    }
                }
            }
        };
        x_road::give_back(&mut response, &parts, &wanted);
        let status = response.status();
        let options = parts.method == Method::OPTIONS && status == StatusCode::NO_CONTENT;
        if (options || status == StatusCode::METHOD_NOT_ALLOWED) && !response.headers().contains_key(ALLOW) {
            let allow = route::allow(self.base_path(&parts), parts.uri.path(), Some(&parts.method));
            response.headers_mut().insert(ALLOW, header::value(&allow));
        }
        let (method, status, took) = (method_name(&parts.method), status.as_u16(), started.elapsed());
        let counted = metrics::Answered { method, route: label, status };
        self.settings.metrics.requests.answered(&counted, took);
        let is_trace = |id: &str| Trace::current().is_some_and(|trace| trace.is_named(id));
        log::answered(&Answered {
            method,
            route: label,
            action: action.map(Action::name),
            status,
            took,
            client: proxy::logged(&self.settings, &parts, peer),
            request_id: Some(wanted.request_id.logged()).filter(|id| !is_trace(id)),
            x_road_id: x_road::logged_id(&wanted).as_deref(),
            refused: response.extensions_mut().remove().as_ref(),
        });
        response
    }

    /// Counts a refusal by the code that decides its status. Codes of other systems are counted together, since they may send any.
    fn count(&self, outcome: &Outcome) {
        let is_own = !outcome.issues().is_empty();
        self.settings.metrics.requests.refused(if is_own { outcome.leading().code() } else { "reflected" });
    }

    /// Compressing or indenting a large answer takes so long that it would keep a thread from other requests.
    async fn respond_at_length(&self, answer: Answer, wanted: &Wanted) -> Response<Full<Bytes>> {
        let form = wanted.clone();
        let responded = self.pool.run(async move { respond::answer(answer, &form) }).await;
        responded
            .unwrap_or_else(|error| respond::outcome(&Outcome::internal(error), wanted, &self.settings.issue_system))
    }

    /// The event of a request, as far as its head tells.
    fn event(
        &self,
        route: &Route,
        parts: &Parts,
        pairs: &Result<Vec<Pair>, Issue>,
        peer: Option<IpAddr>,
        wanted: &Wanted,
    ) -> Option<Box<Account>> {
        let mut event = match route {
            Route::To(interaction) => self.run.begin(Some(interaction))?,
            Route::Options | Route::TokenKeys | Route::SmartConfiguration => return None,
            Route::TokenService => {
                let mut event = self.run.begin(None)?;
                event.action = action(route)?;
                event
            }
            Route::WrongMethod | Route::Unknown | Route::Fault(_) => {
                let mut event = self.run.begin(None)?;
                if let Some((kind, id)) = route::named(self.base_path(parts), parts.uri.path()) {
                    account::note_path(&mut event, &kind, &id);
                }
                event
            }
        };
        account::note(&mut event, parts, proxy::logged(&self.settings, parts, peer), wanted);
        if let (Route::To(interaction), Ok(pairs)) = (route, pairs) {
            self.run.note(&mut event, interaction, pairs);
        }
        Some(event)
    }

    fn gives_out_tokens(&self) -> bool {
        self.settings.tokens.as_ref().is_some_and(|tokens| tokens.are_given_out())
    }

    /// The base path that the request came by: the setting's, or one of X-Road.
    fn base_path<'a>(&'a self, parts: &'a Parts) -> &'a str {
        match x_road::place(&self.settings, parts.uri.path()) {
            Place::Fhir(base_path) => base_path,
            Place::Token | Place::Fault(_) => &self.settings.base_path,
        }
    }
}

/// The audit trail's name of what a request asks for.
fn action(route: &Route) -> Option<Action> {
    match route {
        Route::To(interaction) => interaction.row.action,
        Route::TokenService => Some(Action::TokenIssue),
        _ => None,
    }
}

/// Whether a request may change something.
fn changes(route: &Route) -> bool {
    matches!(route, Route::To(interaction) if interaction.may_change())
}

/// Runs a future to its end or its panic. The panic hook tells where it happened.
async fn guarded<T>(mut work: Pin<&mut impl Future<Output = T>>) -> Result<T, ()> {
    std::future::poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
        Err(_) => Poll::Ready(Err(())),
    })
    .await
}

/// A method's name for the log, where a made-up one could hold anything.
fn method_name(method: &Method) -> &'static str {
    const KNOWN: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| method == known).unwrap_or("other")
}

/// The service hyper calls. Every failure is an answer; it fails only where it is told to hang up.
async fn call<R: Run>(
    server: Arc<Server<R>>,
    request: Request<hyper::body::Incoming>,
    origin: Origin,
) -> io::Result<Response<Full<Bytes>>> {
    let (parts, body) = request.into_parts();
    let formed = message::check(&parts);
    let response = server.answer_well_formed(Request::from_parts(parts, body), origin, formed).await;
    match response.extensions().get() {
        Some(Instead::HangUp) => Err(io::Error::other("a fault ends the connection")),
        _ => Ok(response),
    }
}

#[cfg(test)]
mod tests;

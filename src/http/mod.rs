//! The HTTP front end: the only module that uses hyper. It turns a request into an [`Interaction`], and its answer into HTTP.
//!
//! [`HttpServer::answer`] is the whole way of one request and needs no socket; [`serve`] puts it behind a listener.

mod address;
mod admission;
pub mod answer_form;
mod answers;
pub mod audit_record;
mod body;
mod caller;
mod clients;
pub mod condition;
mod connection;
mod connection_slots;
mod exchange_record;
pub mod exchanges;
mod forwarded_headers;
mod frames;
pub mod guard;
mod head_lines;
mod header;
mod heads;
pub mod limits;
mod listener;
mod load;
pub mod media;
pub mod message;
mod page_work;
pub mod pages;
mod pretty;
mod proxy;
mod quality;
pub mod query;
pub mod request;
pub mod request_head;
mod request_id;
mod respond;
pub mod route;
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
mod work;
mod write_timeout;
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

use crate::access::Tokens;
use crate::config::limits::{ANSWERS_BYTES_MAX, HEADS_BYTES_MAX};
use crate::interaction::context::{AuditAction, AuditEvent, NamedCollector, NamedKeys};
use crate::interaction::{Answer, BrokenAnswer, Interaction, Pool, RequestContext, Service};
use crate::tls::TlsStatus;
use admission::Admission;
use answer_form::AnswerForm;
use base::log::{self, AnsweredRequest};
use base::metrics;
use base::trace::Trace;
use connection_slots::NoSlot;
use fhir::outcome::{Hcert, Issue, Outcome};
pub use guard::{host_name, is_loopback};
pub use listener::{Listen, bind, serve, serve_with_pages};
pub use load::LoadCounters;
use load::count;
pub use pretty::indent;
use request_head::{AddressOffer, RequestFacts, RequestHead, RequestOrigin, RequestQuery};
use route::Route;
pub use settings::HttpSettings;
pub use tls::{check_lists, keep_current, present};
use token::TokenAnswer;
use trace::Traced;
use unparsed::UnparsedReason;

/// Bytes from which an answer is compressed or indented off the threads that serve requests: some 5 ms of work.
const LARGE_FORM_BYTES: usize = 256 * 1024;

/// What runs an interaction: [`Service`], or a stand-in of a test.
pub trait Interactions: Send + Sync + 'static {
    /// `body` is the request's body, empty when it had none.
    fn run(
        &self,
        interaction: Interaction,
        context: RequestContext,
        body: Vec<u8>,
    ) -> impl Future<Output = Result<Answer, Outcome>> + Send;

    /// Bytes of the stored resource that an interaction reads through, beside its body; 0 where it is only copied.
    fn stored_bytes(&self, _interaction: &Interaction, _context: &RequestContext) -> usize {
        0
    }

    /// Whether an audit trail is kept; where none is, nothing below is asked.
    fn keeps_trail(&self) -> bool {
        false
    }

    /// Whether the disk of the audit trail falls behind.
    fn is_trail_behind(&self) -> bool {
        false
    }

    /// Whom the parameters of a request name, and those that its sealed links hide, also where they do not open for this caller.
    fn named(&self, _interaction: &Interaction, _parameters: &[(String, String)]) -> NamedKeys {
        NamedKeys::default()
    }

    /// The event of a request as its path tells it; nothing where none is written. Without an interaction the request leads nowhere.
    fn event(&self, _interaction: Option<&Interaction>) -> Option<AuditEvent> {
        None
    }

    /// Writes an event down, before the answer leaves. `met` is whom the interaction named beside it.
    ///
    /// # Errors
    /// 503: it cannot be written, so nothing may be shown.
    fn end(
        &self,
        _event: AuditEvent,
        _met: Option<NamedCollector>,
        _result: &Result<Answer, Outcome>,
    ) -> Result<(), Outcome> {
        Ok(())
    }
}

impl Interactions for Service {
    fn run(
        &self,
        interaction: Interaction,
        context: RequestContext,
        body: Vec<u8>,
    ) -> impl Future<Output = Result<Answer, Outcome>> + Send {
        Service::run(self, interaction, context, body)
    }

    fn stored_bytes(&self, interaction: &Interaction, context: &RequestContext) -> usize {
        Service::stored_bytes(self, interaction, context)
    }

    fn keeps_trail(&self) -> bool {
        Service::keeps_trail(self)
    }

    fn is_trail_behind(&self) -> bool {
        Service::is_trail_behind(self)
    }

    fn named(&self, interaction: &Interaction, parameters: &[(String, String)]) -> NamedKeys {
        Service::named(self, interaction, parameters)
    }

    fn event(&self, interaction: Option<&Interaction>) -> Option<AuditEvent> {
        Service::event(self, interaction)
    }

    fn end(
        &self,
        event: AuditEvent,
        met: Option<NamedCollector>,
        result: &Result<Answer, Outcome>,
    ) -> Result<(), Outcome> {
        Service::end(self, event, met, result)
    }
}

/// A request that took so long lets the others of its thread go on before the next one of its connection. A read takes a tenth of it.
const LET_OTHERS_AFTER: Duration = Duration::from_millis(1);

/// Between two looks at how far the audit trail is behind, and how often it is looked at: for a second.
const TRAIL_LOOK: Duration = Duration::from_millis(5);
const TRAIL_LOOKS: usize = 200;

/// Answers requests.
pub struct HttpServer<R> {
    run: Arc<R>,
    /// For large resources.
    pool: Pool,
    settings: HttpSettings,
    bodies: body::BodyMemory,
    answers: Arc<answers::AnswerMemory>,
    heads: heads::Heads,
    load: Arc<LoadCounters>,
    admission: Admission,
}

/// What an answer of `hcert dev` says in every case, so that nobody takes it for one about real people. Contract 7.2.
const MODE: HeaderName = HeaderName::from_static("x-hcert-mode");

impl<R: Interactions> HttpServer<R> {
    pub fn new(run: R, settings: HttpSettings) -> Arc<Self> {
        let load: Arc<LoadCounters> = Arc::default();
        let admission = Admission::new(&settings, Arc::clone(&load));
        let bodies = body::BodyMemory::of_all(settings.body_bytes_max);
        let answers = answers::AnswerMemory::new(ANSWERS_BYTES_MAX);
        let heads = heads::Heads::new(HEADS_BYTES_MAX);
        Arc::new(HttpServer {
            run: Arc::new(run),
            pool: Pool::start(),
            settings,
            bodies,
            answers,
            heads,
            load,
            admission,
        })
    }

    /// What connections and requests cost now, and did so far.
    pub fn load(&self) -> &Arc<LoadCounters> {
        &self.load
    }

    /// The threads for large resources.
    pub fn pool(&self) -> &Handle {
        self.pool.handle()
    }

    /// What is shown over TLS and what is wrong with it, at a moment in seconds since 1970; nothing where no TLS is spoken.
    pub fn tls_status(&self, now: i64) -> Option<TlsStatus> {
        self.settings.tls.as_ref().map(|server_certificate| server_certificate.status(now))
    }

    /// Answers a request of a connection that has no slot.
    fn turn_away<B>(&self, request: Request<B>, reason: NoSlot, peer: Option<IpAddr>) -> Response<Full<Bytes>> {
        let wanted = AnswerForm::new(request.method(), request.headers());
        let issue = match reason {
            NoSlot::Full => Issue::new(Hcert::ConnectionsFull),
            NoSlot::TooManyOfAddress => {
                let max = self.settings.connections_per_address_max;
                Issue::new(Hcert::TooManyRequests)
                    .with("problem", format!("the limit of concurrent connections is {max}"))
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
        self.refuse(issue, &AnswerForm::new(&parts.method, &parts.headers), client)
    }

    /// Answers what hyper reads no request of.
    fn refuse_unparsed(&self, reason: UnparsedReason, peer: Option<IpAddr>) -> Response<Full<Bytes>> {
        let issue = match reason {
            UnparsedReason::NoHttp => Issue::new(Hcert::HttpMalformed).with("problem", "it is not HTTP"),
            UnparsedReason::Body => message::too_long(self.settings.body_bytes_max),
            UnparsedReason::Target => message::target_too_long(),
            UnparsedReason::Headers => message::headers_too_long(),
        };
        self.refuse(issue, &AnswerForm::new(&Method::GET, &hyper::HeaderMap::new()), peer)
    }

    /// A refusal of what is no request of ours yet.
    fn refuse(&self, issue: Issue, wanted: &AnswerForm, client: Option<IpAddr>) -> Response<Full<Bytes>> {
        let refusal = issue.into();
        self.count(&refusal);
        let mut response = self.outside_of_requests(&refusal, wanted, client);
        security::protect(response.headers_mut(), self.settings.tls.is_some());
        response
    }

    /// A refusal that no request is known for, with its line in the log.
    fn outside_of_requests(
        &self,
        refusal: &Outcome,
        wanted: &AnswerForm,
        client: Option<IpAddr>,
    ) -> Response<Full<Bytes>> {
        let mut response = respond::outcome(refusal, wanted, &self.settings.issue_system);
        let refused = response.extensions_mut().remove();
        let status = response.status().as_u16();
        let (request_id, refused) = (Some(wanted.request_id.logged()), refused.as_ref());
        let client = client.map(|address| address.to_canonical());
        log::answered(&AnsweredRequest {
            method: "-",
            route: "-",
            status,
            client,
            request_id,
            refused,
            ..AnsweredRequest::default()
        });
        response
    }

    /// What runs the interactions.
    pub fn service(&self) -> &R {
        &self.run
    }

    pub fn settings(&self) -> &HttpSettings {
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
        self.answer_well_formed(request, RequestOrigin { peer, connection: None, offer: AddressOffer::Both }, Ok(()))
            .await
    }

    /// As [`answer`](Self::answer); `formed` tells what is wrong with the request as HTTP.
    async fn answer_well_formed<B>(
        self: Arc<Self>,
        request: Request<B>,
        origin: RequestOrigin,
        formed: Result<(), Issue>,
    ) -> Response<Full<Bytes>>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        let peer = origin.peer;
        let (mut parts, body) = request.into_parts();
        guard::enter(&self.settings, &mut parts);
        if sender::drop_claims(&self.settings, &mut parts, peer) {
            count(&self.load.x_road_dropped);
        }
        let is_for_person = match origin.offer {
            AddressOffer::Api => false,
            AddressOffer::Pages => true,
            AddressOffer::Both => self.settings.pages.is_some() && pages::is_for_person(&parts),
        };
        if is_for_person {
            return Box::pin(Arc::clone(&self).page(parts, body, peer, formed)).await;
        }
        let secure = security::is_secure(&self.settings, &parts, peer);
        let (head, query, mut known) = RequestHead::read(&self.settings, parts, origin, formed, self.run.keeps_trail());
        let mut response = if head.may_change() {
            let server = Arc::clone(&self);
            let task = tokio::spawn(async move { server.trace(&head, query, body, &mut known).await });
            task.await.unwrap_or_else(|error| {
                let wanted = AnswerForm::new(&Method::GET, &hyper::HeaderMap::new());
                self.outside_of_requests(&Outcome::internal(error), &wanted, peer)
            })
        } else {
            self.trace(&head, query, body, &mut known).await
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
        head: &RequestHead,
        query: RequestQuery,
        body: B,
        known: &mut RequestFacts,
    ) -> Response<Full<Bytes>>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        let _under_way = self.settings.metrics.requests.begin();
        let traced = Traced::of(&head.parts.headers, &known.wanted.request_id);
        let settled = pin!(self.settle(head, query, body, known));
        let mut response = traced.trace.within(settled).await;
        traced.give_back(&mut response);
        response
    }

    async fn settle<B>(
        &self,
        head: &RequestHead,
        query: RequestQuery,
        body: B,
        known: &mut RequestFacts,
    ) -> Response<Full<Bytes>>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        // What is no whole request of ours is given no token and told of none.
        let is_let_in = head.let_in.is_ok() && query.pairs.is_ok();
        let tokens = self.settings.tokens.as_deref().filter(|tokens| tokens.are_given_out() && is_let_in);
        let smart = self.settings.smart.as_ref();
        let smart = smart.filter(|_| is_let_in && (self.settings.needs_token || self.gives_out_tokens()));
        let mut response = match (&head.route, tokens, smart) {
            (Route::TokenService, Some(tokens), _) => Box::pin(self.issue(tokens, head, body, known)).await,
            (Route::TokenKeys, Some(tokens), _) => Box::pin(token::keys(tokens, &head.parts, &known.wanted)).await,
            (Route::SmartConfiguration, _, Some(smart)) => {
                let document = smart.document(&self.settings, head.base_path(&self.settings));
                token::document(document, &head.parts, &known.wanted)
            }
            _ => {
                let mut result = {
                    let work = pin!(self.work(head, query, body, known));
                    guarded(work).await.unwrap_or_else(|()| Err(Outcome::internal("a panic, told above")))
                };
                if !head.may_change() {
                    self.reserve(&mut result, known.wanted.pretty, head);
                }
                if let Err(unwritten) = self.record_in_turn(head, known, &result).await {
                    result = Err(unwritten);
                }
                self.respond(head, &known.wanted, result).await
            }
        };
        let (parts, wanted) = (&head.parts, &known.wanted);
        x_road::give_back(&mut response, parts, wanted);
        let status = response.status();
        let options = parts.method == Method::OPTIONS && status == StatusCode::NO_CONTENT;
        if (options || status == StatusCode::METHOD_NOT_ALLOWED) && !response.headers().contains_key(ALLOW) {
            let allow = route::allow(head.base_path(&self.settings), parts.uri.path(), Some(&parts.method));
            response.headers_mut().insert(ALLOW, header::value(&allow));
        }
        let (method, status, took) = (method_name(&parts.method), status.as_u16(), head.at.elapsed());
        let label = route::label(&head.route);
        if let Some(watched) = known.watched.take() {
            self.exchanged(head, known, *watched, took, &mut response);
        }
        let counted = metrics::ResponseLabels { method, route: label, status };
        self.settings.metrics.requests.answered(&counted, took);
        let is_trace = |id: &str| Trace::current().is_some_and(|trace| trace.is_named(id));
        log::answered(&AnsweredRequest {
            method,
            route: label,
            action: action(&head.route).map(AuditAction::name),
            status,
            took,
            client: head.client,
            request_id: Some(wanted.request_id.logged()).filter(|id| !is_trace(id)),
            x_road_id: x_road::logged_id(wanted).as_deref(),
            refused: response.extensions_mut().remove().as_ref(),
        });
        response
    }

    /// Writes the event of a request down. That of a long query is written in turn, and its turn ends when the trail has caught up, so that the
    /// events of one client leave room for those of others.
    async fn record_in_turn(
        &self,
        head: &RequestHead,
        known: &mut RequestFacts,
        result: &Result<Answer, Outcome>,
    ) -> Result<(), Outcome> {
        let bytes = head.query_bytes().max(known.form.as_ref().map_or(0, String::len));
        // Without a turn it is written all the same: it must not be lost.
        let turn = self.admission.enter_query(head.client_key(), bytes).await.ok().flatten();
        self.record(head, known, result)?;
        if turn.is_some() {
            tokio::task::yield_now().await;
            for _ in 0..TRAIL_LOOKS {
                if !self.run.is_trail_behind() {
                    break;
                }
                tokio::time::sleep(TRAIL_LOOK).await;
            }
        }
        Ok(())
    }

    /// Gives out a developer's token. Who ordered it is written down as who called.
    async fn issue<B>(
        &self,
        tokens: &Tokens,
        head: &RequestHead,
        body: B,
        known: &mut RequestFacts,
    ) -> Response<Full<Bytes>>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        let settings = &self.settings;
        let issue = token::issue(tokens, settings, self.allocator(None), &head.parts, body, &known.wanted);
        let TokenAnswer { response, request } = issue.await;
        let Some(mut event) = self.event(head, known) else { return response };
        if let Some(request) = request {
            event.who.person = Some(request.person);
            event.who.roles = vec![request.role];
            event.who.organization = request.organization;
        }
        let answered = Ok(Answer { status: response.status().as_u16(), ..Answer::default() });
        match self.run.end(event, None, &answered) {
            Ok(()) => response,
            Err(unwritten) => {
                self.count(&unwritten);
                respond::outcome(&unwritten, &known.wanted, &settings.issue_system)
            }
        }
    }

    async fn respond(
        &self,
        head: &RequestHead,
        wanted: &AnswerForm,
        result: Result<Answer, Outcome>,
    ) -> Response<Full<Bytes>> {
        match result {
            Ok(Answer { broken: Some(broken), .. }) => respond::broken(broken),
            Ok(answer) if answer.body.len() > LARGE_FORM_BYTES && (wanted.gzip || wanted.pretty) => {
                Box::pin(self.respond_at_length(answer, wanted)).await
            }
            Ok(answer) => respond::answer(answer, wanted),
            Err(outcome) => {
                self.count(&outcome);
                match head.route.fault_answered(&outcome) {
                    Some(fault) => x_road::fault(fault, wanted),
                    None => respond::outcome(&outcome, wanted, &self.settings.issue_system),
                }
            }
        }
    }

    /// Counts a refusal by the code that decides its status. Codes of other systems are counted together, since they may send any.
    fn count(&self, outcome: &Outcome) {
        let is_own = !outcome.issues().is_empty();
        self.settings.metrics.requests.refused(if is_own { outcome.leading().code() } else { "reflected" });
    }

    /// Compressing or indenting a large answer takes so long that it would keep a thread from other requests.
    async fn respond_at_length(&self, answer: Answer, wanted: &AnswerForm) -> Response<Full<Bytes>> {
        let form = wanted.clone();
        let responded = self.pool.run(async move { respond::answer(answer, &form) }).await;
        responded
            .unwrap_or_else(|error| respond::outcome(&Outcome::internal(error), wanted, &self.settings.issue_system))
    }

    /// Writes down what a request was and what became of it.
    ///
    /// # Errors
    /// 503: it cannot be written, so nothing may be shown.
    fn record(
        &self,
        head: &RequestHead,
        known: &mut RequestFacts,
        result: &Result<Answer, Outcome>,
    ) -> Result<(), Outcome> {
        let Some(mut event) = self.event(head, known) else { return Ok(()) };
        audit_record::note_parameters(&mut event, &head.parts, known.form.take());
        event.name(std::mem::take(&mut known.named));
        let fault = result.as_ref().err().and_then(|outcome| head.route.fault_answered(outcome));
        let answered = fault.map(|fault| Ok(Answer { status: fault.status(), ..Answer::default() }));
        self.run.end(event, known.met.take(), answered.as_ref().unwrap_or(result))
    }

    /// The event of a request, as far as its head and its caller tell; nothing where none is written.
    fn event(&self, head: &RequestHead, known: &mut RequestFacts) -> Option<AuditEvent> {
        let from = known.from.take()?;
        let mut event = match &head.route {
            Route::To(interaction) => self.run.event(Some(interaction))?,
            Route::Options | Route::TokenKeys | Route::SmartConfiguration => return None,
            Route::TokenService => AuditEvent { action: AuditAction::TokenIssue, ..self.run.event(None)? },
            Route::WrongMethod | Route::Unknown | Route::Fault(_) => {
                let mut event = self.run.event(None)?;
                let (base_path, path) = (head.base_path(&self.settings), head.parts.uri.path());
                if let Some((kind, id)) = route::named(base_path, path) {
                    audit_record::note_path(&mut event, &kind, &id);
                }
                event
            }
        };
        event.from = from;
        event.trace = known.wanted.request_id.as_str().to_owned();
        if let Some(identity) = &known.identity {
            audit_record::name(&mut event, identity);
        }
        Some(event)
    }

    fn gives_out_tokens(&self) -> bool {
        self.settings.tokens.as_ref().is_some_and(|tokens| tokens.are_given_out())
    }
}

/// The audit trail's name of what a request asks for.
fn action(route: &Route) -> Option<AuditAction> {
    match route {
        Route::To(interaction) => interaction.row.action,
        Route::TokenService => Some(AuditAction::TokenIssue),
        _ => None,
    }
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
async fn call<R: Interactions>(
    server: Arc<HttpServer<R>>,
    request: Request<hyper::body::Incoming>,
    origin: RequestOrigin,
) -> io::Result<Response<Full<Bytes>>> {
    let (parts, body) = request.into_parts();
    let formed = message::check(&parts);
    let begun = Instant::now();
    let response = server.answer_well_formed(Request::from_parts(parts, body), origin, formed).await;
    // hyper goes on with what a client sent ahead for 16 requests at a stretch, and all others of this thread would wait for them.
    if begun.elapsed() > LET_OTHERS_AFTER {
        tokio::task::yield_now().await;
    }
    match response.extensions().get() {
        Some(BrokenAnswer::HangUp) => Err(io::Error::other("a fault ends the connection")),
        _ => Ok(response),
    }
}

#[cfg(test)]
mod tests;

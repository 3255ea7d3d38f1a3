//! The door: the only room that knows hyper. A request becomes an [`Interaction`], its answer becomes HTTP again.
//!
//! [`Server::answer`] is the whole way of one request and needs no socket; [`serve`] puts it behind a listener.

mod account;
mod admission;
mod body;
mod caller;
mod clients;
mod condition;
mod guard;
mod handed_on;
mod header;
mod listener;
mod load;
mod media;
mod message;
mod places;
mod pretty;
mod proxy;
mod quality;
mod query;
mod request;
mod request_id;
mod respond;
mod route;
mod seat;
mod security;
mod settings;
mod stream;
mod tls;
mod token;
mod trace;
mod unread;
mod wanted;
mod watched;
mod x_road;

use std::io;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Body, Bytes};
use hyper::header::{ALLOW, EXPECT};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Version};
use tokio::time::timeout;

use crate::interaction::context::{Action, Event};
use crate::interaction::{Answer, Context, Instead, Interaction, Service};
use crate::limits::{
    ANSWERS_BYTES_MAX, BODIES_BYTES_MAX, HTTP2_SMALL_ANSWER_BYTES, LARGE_ANSWER_BYTES, SMALL_ANSWER_BYTES,
};
use crate::metrics::Answered;
use crate::outcome::{Hcert, Issue, Outcome};
use crate::tls::Status;
use crate::trace::Trace;
use admission::Admission;
pub use listener::{Listen, serve};
pub use load::Load;
use load::count;
use media::{Content, Media};
use places::NoPlace;
use query::Pair;
use route::Route;
pub use settings::Settings;
pub use tls::{keep_current, present};
use trace::Traced;
use wanted::Wanted;
use x_road::{Fault, Place};

/// What runs an interaction: [`Service`], or a stand-in of a test.
pub trait Run: Send + Sync + 'static {
    /// `body` is the request's body, empty when it had none.
    fn run(
        &self,
        interaction: Interaction,
        context: Context,
        body: Vec<u8>,
    ) -> impl Future<Output = Result<Answer, Outcome>> + Send;

    /// The event of a request, for the audit trail; nothing where none is kept. Without an interaction the request leads nowhere.
    fn begin(&self, _interaction: Option<&Interaction>) -> Option<Box<Event>> {
        None
    }

    /// Writes the event down, before the answer leaves.
    ///
    /// # Errors
    /// 503: it cannot be written, so nothing may be shown.
    fn end(&self, _event: Box<Event>, _result: &Result<Answer, Outcome>) -> Result<(), Outcome> {
        Ok(())
    }

    /// As [`end`](Self::end), for an answer that is none of an interaction.
    ///
    /// # Errors
    /// 503
    fn end_plain(&self, _event: Box<Event>, _status: u16) -> Result<(), Outcome> {
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

    fn begin(&self, interaction: Option<&Interaction>) -> Option<Box<Event>> {
        Service::begin(self, interaction)
    }

    fn end(&self, event: Box<Event>, result: &Result<Answer, Outcome>) -> Result<(), Outcome> {
        Service::end(self, event, result)
    }

    fn end_plain(&self, event: Box<Event>, status: u16) -> Result<(), Outcome> {
        Service::end_plain(self, event, status)
    }
}

/// Under which name the log tells of every request, one line each.
pub const ANSWERS: &str = "hcert::answers";

/// Answers requests.
pub struct Server<R> {
    run: R,
    settings: Settings,
    memory: body::Memory,
    answers: body::Memory,
    load: Arc<Load>,
    admission: Admission,
}

/// The parts of a query that shape the answer, read before anything may be refused because of them.
struct Query {
    pairs: Result<Vec<Pair>, Issue>,
    media: Result<Media, Issue>,
    pretty: Result<bool, Issue>,
}

impl<R: Run> Server<R> {
    pub fn new(run: R, settings: Settings) -> Arc<Self> {
        let load: Arc<Load> = Arc::default();
        let admission = Admission::new(&settings, Arc::clone(&load));
        let (memory, answers) = (body::Memory::new(BODIES_BYTES_MAX), body::Memory::new(ANSWERS_BYTES_MAX));
        Arc::new(Server { run, settings, memory, answers, load, admission })
    }

    /// What connections and requests cost now, and did so far.
    pub fn load(&self) -> &Arc<Load> {
        &self.load
    }

    /// What is shown over TLS and what is wrong with it, at a moment in seconds since 1970; nothing where no TLS is spoken.
    pub fn tls_status(&self, now: i64) -> Option<Status> {
        self.settings.tls.as_ref().map(|presented| presented.status(now))
    }

    /// Answers a request of a connection that has no place.
    fn turn_away<B>(&self, request: Request<B>, reason: NoPlace) -> Response<Full<Bytes>> {
        let wanted = Wanted::new(request.method(), request.headers());
        let issue = match reason {
            NoPlace::Full => Issue::new(Hcert::Overloaded),
            NoPlace::TooManyOfAddress => {
                let max = self.settings.connections_per_address_max;
                Issue::new(Hcert::TooManyRequests).with("problem", format!("{max} connections at once are allowed"))
            }
        };
        let refusal = issue.into();
        self.count(&refusal);
        let mut response = respond::outcome(&refusal, &wanted, &self.settings.issue_system);
        security::protect(response.headers_mut(), self.settings.tls.is_some());
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
    /// that only reads is given up then.
    /// A panic is answered with 500.
    pub async fn answer<B>(self: Arc<Self>, request: Request<B>, peer: Option<IpAddr>) -> Response<Full<Bytes>>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        self.answer_well_formed(request, peer, Ok(())).await
    }

    /// As [`answer`](Self::answer); `formed` tells what is wrong with the request as HTTP.
    async fn answer_well_formed<B>(
        self: Arc<Self>,
        request: Request<B>,
        peer: Option<IpAddr>,
        formed: Result<(), Issue>,
    ) -> Response<Full<Bytes>>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
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
            let task = tokio::spawn(async move { server.trace(started, route, parts, body, peer, formed).await });
            task.await.unwrap_or_else(|error| {
                let wanted = Wanted::new(&Method::GET, &hyper::HeaderMap::new());
                respond::outcome(&Outcome::internal(error), &wanted, &self.settings.issue_system)
            })
        } else {
            self.trace(started, route, parts, body, peer, formed).await
        };
        security::protect(response.headers_mut(), secure);
        response
    }

    /// Settles a request within its trace, so that every line of the log about it says which.
    async fn trace<B>(
        &self,
        started: Instant,
        route: Route,
        parts: Parts,
        body: B,
        peer: Option<IpAddr>,
        formed: Result<(), Issue>,
    ) -> Response<Full<Bytes>>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        let _under_way = self.settings.metrics.requests.begin();
        let wanted = Wanted::new(&parts.method, &parts.headers);
        let traced = Traced::of(&parts.headers, &wanted.request_id);
        let mut response = traced.trace.within(self.settle(started, route, parts, body, peer, formed, wanted)).await;
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
        peer: Option<IpAddr>,
        formed: Result<(), Issue>,
        mut wanted: Wanted,
    ) -> Response<Full<Bytes>>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        let mut query = self.query(&parts);
        if let Err(issue) = formed {
            query.pairs = Err(issue);
        }
        wanted.media = query.media.clone().unwrap_or_default();
        wanted.pretty = query.pretty.clone().unwrap_or_default();
        wanted.x_road_id = x_road::id(&parts);
        let template = route::template(&route);
        let fault = if let Route::Fault(fault) = route { Some(fault) } else { None };

        let mut event = self.event(&route, &parts, peer, &wanted);
        let tokens = self.settings.tokens.as_deref().filter(|tokens| tokens.are_given_out());
        let tokens = tokens.filter(|_| guard::check(&self.settings, &parts).is_ok());
        let mut response = match (&route, tokens) {
            (Route::TokenService, Some(tokens)) => {
                let issue = token::issue(tokens, &self.settings, &self.memory, &parts, body, &wanted, &mut event);
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
            _ => {
                // What became of a write is told, however long it takes.
                let patience = if changes(&route) { Duration::MAX } else { self.settings.request_timeout };
                let mut result = {
                    // Pinned where it is made: each hand it went through would keep room for it.
                    let work = pin!(self.work(route, query, &parts, body, peer, &mut wanted, &mut event));
                    match timeout(patience, guarded(work)).await {
                        Ok(result) => result.unwrap_or_else(|()| Err(Outcome::internal("a panic, told above"))),
                        Err(_) => {
                            count(&self.load.requests_given_up);
                            Err(Outcome::from(Hcert::Overloaded).because("the request took longer than allowed"))
                        }
                    }
                };
                self.lend(&mut result, parts.version).await;
                if let Some(event) = event.take()
                    && let Err(unwritten) = self.run.end(event, &result)
                {
                    result = Err(unwritten);
                }
                match result {
                    Ok(Answer { instead: Some(instead), .. }) => respond::instead(instead),
                    Ok(answer) if answer.body.len() > LARGE_ANSWER_BYTES => {
                        self.respond_at_length(answer, &wanted).await
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
        self.settings.metrics.requests.answered(&Answered { method, route: template, status }, took);
        let (us, request) = (took.as_micros(), wanted.request_id.logged());
        tracing::info!(target: ANSWERS, method, route = template, status, us, request, "answered");
        response
    }

    /// Counts a refusal by the code that decides its status. Codes of other systems are counted together, since they may send any.
    fn count(&self, outcome: &Outcome) {
        let is_own = !outcome.issues().is_empty();
        self.settings.metrics.requests.refused(if is_own { outcome.leading().code() } else { "reflected" });
    }

    /// Compressing or indenting a large answer takes so long that it would keep a worker from others.
    async fn respond_at_length(&self, answer: Answer, wanted: &Wanted) -> Response<Full<Bytes>> {
        let form = wanted.clone();
        let responded = tokio::task::spawn_blocking(Trace::carried(move || respond::answer(answer, &form))).await;
        responded
            .unwrap_or_else(|error| respond::outcome(&Outcome::internal(error), wanted, &self.settings.issue_system))
    }

    /// The way of a request, in the order of Contract 2.9.
    #[expect(clippy::too_many_arguments, reason = "it is the first half of one way")]
    async fn work<B>(
        &self,
        route: Route,
        query: Query,
        parts: &Parts,
        body: B,
        peer: Option<IpAddr>,
        wanted: &mut Wanted,
        event: &mut Option<Box<Event>>,
    ) -> Result<Answer, Outcome>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        if let Err(stranger) = guard::check(&self.settings, parts) {
            return refused(stranger.into(), body, parts);
        }
        let under_way = proxy::client(&self.settings, parts, peer).map(|client| self.admission.begin(client));
        let _under_way = match under_way.transpose() {
            Ok(under_way) => under_way,
            Err(throttled) => return refused(throttled.into(), body, parts),
        };
        let understood = match (caller::identify(&self.settings, &route, &parts.headers).await, route) {
            (Ok(identity), Route::To(interaction)) => {
                if let (Some(event), Some(identity)) = (&mut *event, &identity) {
                    account::name(event, identity);
                }
                self.understand(&interaction, query, parts, &body, peer, wanted).map(|mut context| {
                    caller::name(&mut context, identity);
                    if let Some(event) = &*event {
                        account::keep(&mut context, event);
                    }
                    (interaction, context)
                })
            }
            (Ok(_), Route::Options) => return Ok(Answer { status: 204, ..Answer::default() }),
            (Ok(_), Route::WrongMethod) => Err(self.wrong_method(parts)),
            // Where no tokens are given out, their service is not there. What X-Road does not know it refuses itself.
            (_, Route::TokenService | Route::TokenKeys | Route::Fault(_)) | (Ok(_), Route::Unknown) => {
                Err(Hcert::PathUnknown.into())
            }
            (Err(refusal), _) => Err(refusal),
        };
        let (interaction, context) = match understood {
            Ok(understood) => understood,
            Err(refusal) => return refused(refusal, body, parts),
        };
        match request::content(&interaction, parts) {
            Some(content) => {
                // On the heap, so that the way of a request without a body stays short.
                Box::pin(self.work_with_body(interaction, context, content, parts, body, peer, wanted, event)).await
            }
            None => {
                let _admitted = self.admission.enter(interaction.may_change()).await?;
                self.run.run(interaction, context, Vec::new()).await
            }
        }
    }

    /// Finds memory for an answer for as long as its client takes to read it. Small ones need none, since connections are bounded; on
    /// HTTP/2, where one connection may leave many unread, only the smallest are small.
    async fn lend(&self, result: &mut Result<Answer, Outcome>, version: Version) {
        let small = if version == Version::HTTP_2 { HTTP2_SMALL_ANSWER_BYTES } else { SMALL_ANSWER_BYTES };
        let Ok(answer) = result else { return };
        if answer.turn.is_some() || answer.body.len() <= small {
            return;
        }
        match self.answers.borrow(answer.body.len()).await {
            Some(lent) => answer.turn = Some(lent.into()),
            None => *result = Err(Outcome::from(Hcert::Overloaded).because("too many answers are not read")),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "it is the second half of one way")]
    async fn work_with_body<B>(
        &self,
        interaction: Interaction,
        mut context: Context,
        content: Content,
        parts: &Parts,
        mut body: B,
        peer: Option<IpAddr>,
        wanted: &mut Wanted,
        event: &mut Option<Box<Event>>,
    ) -> Result<Answer, Outcome>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        let length = request::length(&parts.headers)?;
        let patience = self.settings.patience();
        let bytes_max = self.bytes_max(Some(content));
        let mut received = match body::receive(&mut body, length, bytes_max, patience, &self.memory).await {
            Ok(received) => received,
            Err(refusal) => {
                match refusal.leading() {
                    Hcert::BodyTimeout => count(&self.load.bodies_late),
                    _ => drop(tokio::spawn(body::linger(body))),
                }
                return Err(refusal);
            }
        };
        if content == Content::Form {
            let form = std::str::from_utf8(&received.bytes)
                .map_err(|error| Issue::new(Hcert::BodyNotUtf8).with("position", error.valid_up_to().to_string()))?;
            if let Some(event) = event {
                account::note_form(event, form);
            }
            // Once more, since the form may carry what the query did not.
            let mut parameters = std::mem::take(&mut context.parameters);
            parameters.extend(query::pairs(form)?);
            wanted.media = media::wanted(&parts.headers, query::format(&parameters))?;
            wanted.pretty = query::pretty(&parameters)?;
            let identity = context.identity.take();
            context = request::context(&self.settings, parts, peer, wanted, parameters, true, false)?;
            caller::name(&mut context, identity);
            received.bytes.clear();
        }
        let _admitted = self.admission.enter(interaction.may_change()).await?;
        self.run.run(interaction, context, received.bytes).await
    }

    /// Everything that is known before the body is read.
    fn understand(
        &self,
        interaction: &Interaction,
        query: Query,
        parts: &Parts,
        body: &impl Body,
        peer: Option<IpAddr>,
        wanted: &Wanted,
    ) -> Result<Context, Outcome> {
        let content = request::content(interaction, parts);
        let parameters = query.pairs?;
        query.media?;
        request::check_body(parts, content, !body.is_end_stream(), self.bytes_max(content))?;
        query.pretty?;
        let asks_registry = matches!(interaction, Interaction::Patient(_));
        let by_form = content == Some(Content::Form);
        request::context(&self.settings, parts, peer, wanted, parameters, by_form, asks_registry)
    }

    fn wrong_method(&self, parts: &Parts) -> Outcome {
        let allowed = route::allow(self.base_path(parts), parts.uri.path(), None);
        Issue::new(Hcert::MethodNotAllowed).with("method", parts.method.to_string()).with("allowed", allowed).into()
    }

    /// The event of a request, as far as its head tells.
    fn event(&self, route: &Route, parts: &Parts, peer: Option<IpAddr>, wanted: &Wanted) -> Option<Box<Event>> {
        let mut event = match route {
            Route::To(interaction) => self.run.begin(Some(interaction))?,
            Route::Options | Route::TokenKeys => return None,
            Route::TokenService => {
                let mut event = self.run.begin(None)?;
                event.action = Action::TokenIssue;
                event
            }
            Route::WrongMethod | Route::Unknown | Route::Fault(_) => self.run.begin(None)?,
        };
        account::note(&mut event, parts, peer, wanted);
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

    fn bytes_max(&self, content: Option<Content>) -> usize {
        match content {
            Some(Content::Form) => self.settings.query_bytes_max,
            Some(Content::Resource) | None => self.settings.body_bytes_max,
        }
    }

    fn query(&self, parts: &Parts) -> Query {
        let text = parts.uri.query().unwrap_or_default();
        let bytes_max = self.settings.query_bytes_max;
        let pairs = if text.len() > bytes_max {
            Err(Issue::new(Hcert::QueryTooLong).with("max", bytes_max.to_string()))
        } else {
            query::pairs(text)
        };
        let known = pairs.as_deref().unwrap_or_default();
        Query { media: media::wanted(&parts.headers, query::format(known)), pretty: query::pretty(known), pairs }
    }
}

/// Whether a request may change something.
fn changes(route: &Route) -> bool {
    matches!(route, Route::To(interaction) if interaction.may_change())
}

/// Refuses a request whose body is not read.
fn refused<B>(refusal: Outcome, body: B, parts: &Parts) -> Result<Answer, Outcome>
where
    B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
{
    // A body that waits for "100 Continue" is never sent.
    if !body.is_end_stream() && !parts.headers.contains_key(EXPECT) {
        tokio::spawn(body::linger(body));
    }
    Err(refusal)
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
    peer: Option<IpAddr>,
) -> io::Result<Response<Full<Bytes>>> {
    let (parts, body) = request.into_parts();
    let formed = message::check(&parts);
    let response = server.answer_well_formed(Request::from_parts(parts, body), peer, formed).await;
    match response.extensions().get() {
        Some(Instead::HangUp) => Err(io::Error::other("a fault ends the connection")),
        _ => Ok(response),
    }
}

#[cfg(test)]
mod tests;

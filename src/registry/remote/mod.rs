//! A patient registry of another system, asked over FHIR's REST API.
//!
//! A question passes, in this order: what is remembered (for questions of the service's own), a question of another caller that is the
//! same, the breaker, a turn on a connection (client by client), and up to three requests. Whatever comes back is judged in `answer`; what
//! cannot be read as FHIR is [`NoAnswer::Unreadable`].

mod answer;
mod breaker;
mod cache;
mod chain;
mod client;
mod credential;
mod exchange;
mod links;
mod request;
mod retry;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use hyper::header::{HeaderValue, RETRY_AFTER};
use hyper::{HeaderMap, Uri};
use tokio::time::timeout_at;

use super::{
    Caller, CredentialState, LookupFailure, LookupPurpose, NoAnswer, RegistryFinding, RegistryHealth, RegistryRequest,
};
use crate::config::{self, CallersToken};
use crate::tls;
use crate::turns::Turns;
use answer::PatientMatches;
use base::log::event;
use breaker::{Breaker, BreakerChange, CallResult};
use cache::{Cache, SharedAnswer};
use client::{ReceivedResponse, RegistryClient, TransportFailure};
use credential::Credential;
use exchange::TokenExchange;
use fhir::outcome::Hcert;
use links::BaseRewrite;

/// The registry, as the service reaches it.
#[derive(Debug)]
pub struct RemoteRegistry {
    /// Without a slash at the end.
    address: String,
    timeout: Duration,
    deadline: Duration,
    tries: u32,
    credential: Credential,
    callers: CallerCredential,
    client: RegistryClient,
    /// One client may hold half of them, so that nobody who asks for what hangs keeps the others waiting.
    connections: Turns,
    breaker: Breaker,
    /// Why the last question got no answer, as the log has it.
    problem: Mutex<Option<String>>,
    cache: Option<Cache>,
    clock: fn() -> Instant,
}

/// What a question in a caller's name brings along. Decision 248.
#[derive(Debug)]
enum CallerCredential {
    Nothing,
    Own,
    Exchanged(Box<TokenExchange>),
}

impl RemoteRegistry {
    /// Opens no connection yet.
    ///
    /// # Errors
    /// The address is missing or none of http or https; the file of authorities or of the token cannot be used; two tokens.
    pub fn new(settings: &config::RemoteSettings) -> Result<RemoteRegistry, String> {
        let now = Instant::now();
        let address = settings.address.as_deref().unwrap_or_default().trim_end_matches('/').to_owned();
        let refused = || format!("'{address}' is no address of a FHIR server, such as https://mpi.example.ee/fhir");
        let uri: Uri = address.parse().map_err(|_| refused())?;
        let is_plain = uri.query().is_none() && !address.contains(['@', '#', '?']) && uri.host().is_some();
        let tls = match uri.scheme_str().filter(|_| is_plain) {
            Some("https") => tls::settings(settings.ca_file.as_deref())
                .map_err(|problem| format!("registry.remote.ca_file: {problem}"))?,
            Some("http") => tls::none(),
            _ => return Err(refused()),
        };
        let token = settings.token.as_ref().map(|token| token.0.as_str());
        let cache = Duration::from_secs(settings.cache_s);
        let (connections, deadline) = (settings.connections.max(1), Duration::from_millis(settings.deadline_ms));
        let turns = Turns::with_share(connections, connections.div_ceil(2), deadline, Hcert::RegistryTimeout);
        Ok(RemoteRegistry {
            address,
            timeout: Duration::from_millis(settings.timeout_ms),
            deadline,
            connections: turns.without_queue_limit(),
            tries: settings.tries.max(1),
            callers: match settings.callers_token {
                CallersToken::Drop => CallerCredential::Nothing,
                CallersToken::Forward => CallerCredential::Own,
                CallersToken::Exchange => {
                    let tls = tls::settings(settings.exchange.ca_file.as_deref())
                        .map_err(|problem| format!("registry.remote.exchange.ca_file: {problem}"))?;
                    CallerCredential::Exchanged(Box::new(TokenExchange::new(&settings.exchange, tls)?))
                }
            },
            credential: Credential::new(token, settings.token_file.as_deref(), now)?,
            client: RegistryClient::new(tls, settings.connections),
            breaker: Breaker::new(settings.breaker_failures, Duration::from_secs(settings.breaker_open_s)),
            problem: Mutex::default(),
            cache: (!cache.is_zero()).then(|| Cache::new(cache)),
            clock: Instant::now,
        })
    }

    /// The base address of the registry, without a slash at the end.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Asks on behalf of a caller. Takes `deadline` at most.
    ///
    /// Patients that the service looks up for itself are remembered: they may be as old as `cache`, also when they have moved on to another
    /// version. What a caller asks for is always asked for anew, since the registry judges by the caller's rights.
    ///
    /// # Errors
    /// As [`LookupFailure`] says. An id that is none of FHIR's is [`LookupFailure::NotFound`], and a query too long for an address
    /// [`NoAnswer::Unreadable`], without a request.
    pub async fn ask(&self, request: &RegistryRequest, caller: &Caller) -> Result<RegistryFinding, LookupFailure> {
        let deadline = tokio::time::Instant::now() + self.deadline;
        let target = request::target(request);
        // An id that FHIR does not allow belongs to no patient.
        let target: Arc<str> = target.ok_or(LookupFailure::NotFound)?.into();
        let Some(cache) = self.cache.as_ref().filter(|_| is_remembered(request, caller)) else {
            return Ok(self.fetch(request, caller, &target, deadline).await?.told);
        };
        if let Some(told) = cache.get(&target, (self.clock)()) {
            return Ok(RegistryFinding::clone(&told));
        }
        match timeout_at(deadline, cache.join(&target)).await.map_err(|_| late())? {
            Ok(SharedAnswer::Found(told)) => Ok(RegistryFinding::clone(&told)),
            Ok(SharedAnswer::NoAnswer(no_answer)) => Err(LookupFailure::NoAnswer(no_answer)),
            Ok(SharedAnswer::Alone) => Ok(self.fetch(request, caller, &target, deadline).await?.told),
            Err(turn) => {
                let found = self.fetch(request, caller, &target, deadline).await;
                let shared = match &found {
                    Ok(found) if found.patients > 0 => SharedAnswer::Found(Arc::new(found.told.clone())),
                    Err(LookupFailure::NoAnswer(no_answer)) => SharedAnswer::NoAnswer(no_answer.clone()),
                    Ok(_) | Err(LookupFailure::Refused(_) | LookupFailure::NotFound | LookupFailure::Fault(_)) => {
                        SharedAnswer::Alone
                    }
                };
                turn.share(shared, (self.clock)());
                Ok(found?.told)
            }
        }
    }

    /// Whether it is asked at this moment, and what is remembered of its answers.
    pub fn health(&self) -> RegistryHealth {
        let remembered = self.cache.as_ref().map(Cache::count).unwrap_or_default();
        let breaker = self.breaker.condition((self.clock)());
        let last_problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let credential = match &self.callers {
            CallerCredential::Exchanged(exchange) if exchange.acceptance.is_refused() => CredentialState::Refused,
            _ => self.credential.state(),
        };
        RegistryHealth::Remote { breaker, credential, remembered, last_problem }
    }

    /// Keeps the reason why the last question got no answer, for health.
    fn note(&self, problem: Option<String>) {
        // Nothing panics while it is held.
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    /// Asks until there is an answer, or asking again would not help.
    async fn fetch(
        &self,
        request: &RegistryRequest,
        caller: &Caller,
        target: &str,
        deadline: tokio::time::Instant,
    ) -> Result<PatientMatches, LookupFailure> {
        let uri: Uri =
            format!("{}{target}", self.address).parse().map_err(|_| unreadable("the question is too long"))?;
        // A staged fault comes again however often one asks, and is to be seen as it is.
        let tries = if caller.fault.is_some() { 1 } else { self.tries };
        for tried in 1.. {
            let (outcome, again) = self.attempt(request, caller, &uri, deadline).await;
            let Some(wanted) = again.filter(|_| tried < tries) else { return outcome };
            let pause = retry::pause(tried, retry::random()).max(wanted);
            if tokio::time::Instant::now() + pause >= deadline {
                return outcome;
            }
            tokio::time::sleep(pause).await;
        }
        unreachable!("the number of tries is bounded")
    }

    /// One request. Beside the outcome: whether asking again may help, and how long the registry wants to be left alone before.
    async fn attempt(
        &self,
        request: &RegistryRequest,
        caller: &Caller,
        uri: &Uri,
        deadline: tokio::time::Instant,
    ) -> (Result<PatientMatches, LookupFailure>, Option<Duration>) {
        // Whoever would be refused anyway does not wait for a place.
        if self.breaker.refuses((self.clock)()) {
            return (Err(shut()), None);
        }
        let turn = timeout_at(deadline, self.connections.take(caller.client)).await;
        let Ok(Ok(_turn)) = turn else { return (Err(late()), None) };
        let authorization = match self.authorization(caller, deadline).await {
            Ok(authorization) => authorization,
            Err(failed) => {
                if let LookupFailure::NoAnswer(why @ (NoAnswer::Timeout(_) | NoAnswer::Unreachable(_))) = &failed {
                    self.note(Some(why.to_string()));
                }
                return (Err(failed), None);
            }
        };
        // A caller's own credential is no secret to that caller.
        let is_callers = |sent: &HeaderValue| caller.authorization.as_ref().is_some_and(|own| sent == own.as_str());
        let sent = authorization.clone().filter(|sent| !is_callers(sent));
        let headers = request::headers(caller, authorization);
        let Some(permit) = self.breaker.permit((self.clock)()) else { return (Err(shut()), None) };
        let start = tokio::time::Instant::now();
        let until = deadline.min(start + self.timeout);
        let (outcome, has_answered, again) =
            match self.client.get(uri, &headers, answer::is_told_apart(request), until).await {
                Ok(received) => {
                    let status = received.answer.status;
                    let wanted = wanted(&received.answer.headers);
                    let outcome = self.own_credential(caller, status, self.judge(request, caller, received).await);
                    let outcome = match &sent {
                        Some(sent) if repeats_credential(&outcome, sent) => {
                            Err(unreadable("it repeats the credential that it was asked with"))
                        }
                        _ => outcome,
                    };
                    let has_answered = status < 500 || !matches!(outcome, Err(LookupFailure::NoAnswer(_)));
                    (outcome, has_answered, matches!(status, 429 | 502 | 503 | 504).then_some(wanted))
                }
                Err(TransportFailure { why, is_passing }) => {
                    let has_answered = matches!(why, NoAnswer::Unreadable(_));
                    (Err(LookupFailure::NoAnswer(why)), has_answered, is_passing.then_some(Duration::ZERO))
                }
            };
        // A staged fault says nothing of the registry.
        if caller.fault.is_some() {
            return (outcome, again);
        }
        // A caller chooses the words, or the person, at which it fails. Before that keeps others from it, a question in which no
        // caller has a part decides.
        let result = match has_answered {
            true => CallResult::Answered,
            false if permit.decides() => self.answers_metadata(deadline).await,
            false => CallResult::Failed,
        };
        let is_own = caller.purpose != LookupPurpose::Callers;
        self.note(match &outcome {
            Err(LookupFailure::NoAnswer(why)) if !has_answered && (is_own || result == CallResult::Down) => {
                Some(why.to_string())
            }
            _ => None,
        });
        match permit.record(result, (self.clock)()) {
            Some(BreakerChange::Opened) => event!(REGISTRY_FAILS),
            Some(BreakerChange::Closed) => event!(REGISTRY_ANSWERS),
            None => {}
        }
        (outcome, again)
    }

    /// Whether the registry answers `GET /metadata`. Silence in what little time a long wait has left says nothing.
    async fn answers_metadata(&self, deadline: tokio::time::Instant) -> CallResult {
        let start = tokio::time::Instant::now();
        let until = deadline.min(start + self.timeout);
        let Ok(uri) = format!("{}/metadata", self.address).parse() else { return CallResult::Failed };
        match self.client.get(&uri, &request::own_headers(), true, until).await {
            Ok(received) if !matches!(received.answer.status, 500 | 502..=504) => CallResult::Answered,
            Err(TransportFailure { why: NoAnswer::Unreadable(_), .. }) => CallResult::Answered,
            _ if until - start < self.timeout / 2 => CallResult::Failed,
            _ => CallResult::Down,
        }
    }

    /// The credential for a question: the service's own where it asks for itself, which it lends to no caller.
    async fn authorization(
        &self,
        caller: &Caller,
        deadline: tokio::time::Instant,
    ) -> Result<Option<HeaderValue>, LookupFailure> {
        let now = (self.clock)();
        let callers = caller.authorization.as_deref().filter(|_| caller.purpose == LookupPurpose::Callers);
        match (caller.purpose, callers, &self.callers) {
            (LookupPurpose::Look | LookupPurpose::Write, ..) => Ok(self.credential.header(now).await),
            (_, None, _) | (_, _, CallerCredential::Nothing) => Ok(None),
            (_, Some(text), CallerCredential::Own) => Ok(HeaderValue::from_bytes(text.as_bytes()).ok()),
            (_, Some(text), CallerCredential::Exchanged(exchange)) => {
                exchange.header(text, now, deadline).await.map(Some)
            }
        }
    }

    /// Records what an answer says about the service's own credential. The operator has to act on a refusal, not the
    /// caller.
    fn own_credential(
        &self,
        caller: &Caller,
        status: u16,
        outcome: Result<PatientMatches, LookupFailure>,
    ) -> Result<PatientMatches, LookupFailure> {
        // A staged fault says nothing of the credential, and neither does a registry that fails.
        if caller.purpose == LookupPurpose::Callers || caller.fault.is_some() || status >= 500 {
            return outcome;
        }
        if !refuses_credential(status, &outcome) {
            self.credential.acceptance.accepted();
            return outcome;
        }
        let why = format!("status {status}");
        self.credential.acceptance.refused(&why);
        Err(LookupFailure::NoAnswer(NoAnswer::Credential(why)))
    }

    /// A large answer is read on a thread of its own, so that those who serve are not held up.
    async fn judge(
        &self,
        request: &RegistryRequest,
        caller: &Caller,
        received: ReceivedResponse,
    ) -> Result<PatientMatches, LookupFailure> {
        let ReceivedResponse { answer, turn } = received;
        let to = (caller.purpose == LookupPurpose::Callers).then(|| caller.base_url.clone());
        let Some(turn) = turn else {
            return answer.judge(request, to.as_deref().map(|to| BaseRewrite { from: &self.address, to }).as_ref());
        };
        let (request, from) = (request.clone(), self.address.clone());
        let judged = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            answer.judge(&request, to.as_deref().map(|to| BaseRewrite { from: &from, to }).as_ref())
        });
        judged.await.unwrap_or_else(|error| Err(unreadable(format!("reading it failed: {error}"))))
    }
}

/// Codes of a 403 that concern the service as a client (session, interaction), not the request. Decision 127.
const ABOUT_SESSION: [&str; 4] = ["MPI-097", "MPI-105", "MPI-403", "HCERT-178"];

/// Whether an answer refuses the credential itself. A 403 whose original error has another code, of the catalogue or
/// not, concerns the request.
fn refuses_credential(status: u16, outcome: &Result<PatientMatches, LookupFailure>) -> bool {
    match (status, outcome) {
        (401, _) => true,
        (403, Err(LookupFailure::Refused(chain))) => {
            let codings = chain.issues.last().map(|issue| &*issue.codings).unwrap_or_default();
            let code = codings.iter().find_map(|coding| coding.code.as_deref());
            code.is_none_or(|code| ABOUT_SESSION.contains(&code))
        }
        (403, _) => true,
        _ => false,
    }
}

/// Characters from which a token alone is looked for in an issue; a shorter one may be a word of it.
const TOKEN_CHARACTERS_MIN: usize = 16;

/// Whether an issue that may go to a caller holds the credential that the registry was asked with.
fn repeats_credential<T>(outcome: &Result<T, LookupFailure>, sent: &HeaderValue) -> bool {
    let (Err(LookupFailure::Refused(told)), Ok(header)) = (outcome, sent.to_str()) else { return false };
    let token = header.split_once(' ').map(|(_, token)| token).filter(|token| token.len() >= TOKEN_CHARACTERS_MIN);
    chain::repeats(told, token.unwrap_or(header))
}

/// Whether an answer may be told to others too.
fn is_remembered(request: &RegistryRequest, caller: &Caller) -> bool {
    let is_lookup = match request {
        RegistryRequest::Read(_) | RegistryRequest::Vread(..) => true,
        RegistryRequest::Search(parameters) => parameters.iter().any(|(name, _)| name == "identifier" || name == "_id"),
        RegistryRequest::History(..) => false,
    };
    is_lookup && caller.purpose != LookupPurpose::Callers && caller.fault.is_none()
}

fn wanted(headers: &HeaderMap) -> Duration {
    let text = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    text.and_then(|text| retry::retry_after(text, SystemTime::now())).unwrap_or_default()
}

fn late() -> LookupFailure {
    LookupFailure::NoAnswer(NoAnswer::Timeout("no free connection within the time for the question".to_owned()))
}

fn shut() -> LookupFailure {
    LookupFailure::NoAnswer(NoAnswer::Unreachable("too many calls failed lately; none is tried for a while".to_owned()))
}

fn unreadable(why: impl Into<String>) -> LookupFailure {
    LookupFailure::NoAnswer(NoAnswer::Unreadable(why.into()))
}

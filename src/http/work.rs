//! What is done for one request: its head and body are understood in the order of Contract 2.9, and the interaction is run. Each stage takes
//! what the one before made.

use std::pin::{Pin, pin};
use std::sync::Arc;

use hyper::Version;
use hyper::body::Body;
use hyper::header::EXPECT;
use hyper::http::request::Parts;
use tokio::time::{Instant, timeout_at};

use super::answers::NoMemory;
use super::body::{BodyAllocator, BodySize, ReceivedBody};
use super::clients::ClientRequest;
use super::exchanges::KeptBody;
use super::load::count;
use super::request_head::{RequestFacts, RequestHead, RequestQuery};
use super::route::{self, Route};
use super::{HttpServer, Interactions, audit_record, body, caller, media, message, query, request};
use crate::config::limits::{BODY_EXPANSION, HTTP2_SMALL_ANSWER_BYTES, SMALL_ANSWER_BYTES};
use crate::http::limits::{INDENTED_EXPANSION, LARGE_BODY_BYTES};
use crate::interaction::{Answer, BodyContent, Interaction, RequestContext};
use crate::turns::{ClientKey, RequestPermit};
use fhir::json;
use fhir::outcome::{Hcert, Issue, Outcome};

/// A request that may be worked on, until this is dropped.
struct StartedRequest<'a> {
    _under_way: Option<(ClientRequest<'a>, Option<ClientRequest<'a>>)>,
    /// Of the person, from whatever addresses, where the client is counted.
    _of_person: Option<ClientRequest<'a>>,
    /// Nothing where only its path was asked for.
    context: Option<RequestContext>,
}

impl<R: Interactions> HttpServer<R> {
    /// The way of a request, in the order of Contract 2.9. Whatever it learns on the way is in `known` too.
    pub(super) async fn work<B>(
        &self,
        head: &RequestHead,
        query: RequestQuery,
        body: B,
        known: &mut RequestFacts,
    ) -> Result<Answer, Outcome>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        let started = match self.begin(head, query, !body.is_end_stream(), known).await {
            Ok(started) => started,
            Err(refusal) => {
                leave_unread(body, &head.parts);
                return Err(refusal);
            }
        };
        let (Some(context), Route::To(interaction)) = (started.context, &head.route) else {
            return Ok(Answer { status: 204, ..Answer::default() });
        };
        let begun = known.watched.is_some().then(Instant::now);
        let done = match interaction.row.body {
            // On the heap, so that the way of a request without a body stays short.
            Some(content) => Box::pin(self.work_with_body(head, content, context, body, known)).await,
            None => {
                let deadline = known.deadline;
                self.within(deadline, pin!(self.work_without_body(head, interaction, context))).await
            }
        };
        if let (Some(watched), Some(begun)) = (&mut known.watched, begun) {
            watched.ran = begun.elapsed().saturating_sub(watched.received);
        }
        done
    }

    /// Everything that is done before the body is read.
    async fn begin(
        &self,
        head: &RequestHead,
        query: RequestQuery,
        has_body: bool,
        known: &mut RequestFacts,
    ) -> Result<StartedRequest<'_>, Outcome> {
        self.name(head, query.pairs.as_deref().unwrap_or_default(), head.query_bytes(), known).await?;
        message::check_size(&head.parts)?;
        head.let_in.clone()?;
        let under_way = head.counted.map(|counted| self.admission.begin(&counted)).transpose()?;
        let interaction = match &head.route {
            Route::To(interaction) => Some(interaction),
            Route::Options | Route::WrongMethod | Route::Unknown => None,
            // Where no tokens are given out, their service is not there. What X-Road does not know it refuses itself.
            Route::Fault(_) => return Err(Hcert::PathUnknown.into()),
            Route::TokenService | Route::TokenKeys | Route::SmartConfiguration => {
                return Err(query.pairs.err().map_or(Hcert::PathUnknown.into(), Outcome::from));
            }
        };
        let identified = caller::identify(&self.settings, &head.route, &head.parts.headers);
        known.identity = self.within(known.deadline, pin!(identified)).await?;
        let person = known.identity.as_ref().filter(|_| head.counted.is_some());
        let of_person = person.map(|identity| self.admission.begin_of_person(&identity.person)).transpose()?;
        let Some(interaction) = interaction else {
            return match head.route {
                Route::Options => Ok(StartedRequest { _under_way: under_way, _of_person: of_person, context: None }),
                Route::WrongMethod => Err(self.wrong_method(head)),
                _ => Err(Hcert::PathUnknown.into()),
            };
        };
        let RequestQuery { pairs, media, pretty } = query;
        let (parameters, content) = (pairs?, interaction.row.body);
        media?;
        request::check_body(&head.parts, content, has_body, self.bytes_max(content))?;
        pretty?;
        let context = self.context(head, interaction, parameters, known)?;
        Ok(StartedRequest { _under_way: under_way, _of_person: of_person, context: Some(context) })
    }

    /// Notes whom the parameters of a request name, where a trail is kept. `bytes` are those of the query, or of the form.
    ///
    /// # Errors
    /// 503: the turn of a long query does not come.
    async fn name(
        &self,
        head: &RequestHead,
        parameters: &[(String, String)],
        bytes: usize,
        known: &mut RequestFacts,
    ) -> Result<(), Outcome> {
        if let (Route::To(interaction), Some(_)) = (&head.route, &known.from) {
            let _turn = self.admission.enter_query(head.client_key(), bytes).await?;
            known.named = self.run.named(interaction, parameters);
        }
        Ok(())
    }

    /// The context of a request whose parameters are these, those of its form too.
    fn context(
        &self,
        head: &RequestHead,
        interaction: &Interaction,
        parameters: Vec<(String, String)>,
        known: &mut RequestFacts,
    ) -> Result<RequestContext, Outcome> {
        let mut context = request::context(&self.settings, head, &known.wanted, parameters, interaction.row)?;
        caller::name(&mut context, known.identity.clone());
        if let Some(from) = &known.from {
            audit_record::keep(&mut context, from);
            context.met = Some(known.met.get_or_insert_default().clone());
            context.names_identifier = !known.named.identifiers.is_empty();
        }
        Ok(context)
    }

    async fn work_without_body(
        &self,
        head: &RequestHead,
        interaction: &Interaction,
        context: RequestContext,
    ) -> Result<Answer, Outcome> {
        if self.run.stored_bytes(interaction, &context) > LARGE_BODY_BYTES {
            let client = head.counted.map(|counted| counted.client);
            return Box::pin(self.work_on_pool(interaction.clone(), context, ReceivedBody::default(), client)).await;
        }
        let _admitted = self.admission.enter(interaction.may_change()).await?;
        // Before it is made, since it could hardly be handed over.
        if !interaction.may_change() && self.answers.is_used_up(head.origin.connection.as_ref()) {
            return Err(self.no_memory(NoMemory::OfConnection));
        }
        self.run.run(interaction.clone(), context, Vec::new()).await
    }

    async fn work_with_body<B>(
        &self,
        head: &RequestHead,
        content: BodyContent,
        mut context: RequestContext,
        mut body: B,
        known: &mut RequestFacts,
    ) -> Result<Answer, Outcome>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        let Route::To(interaction) = &head.route else { return Err(Hcert::PathUnknown.into()) };
        let deadline = known.deadline;
        let client = head.counted.map(|counted| counted.client);
        let allocator = self.allocator(client);
        let length = message::length(&head.parts.headers)?;
        let (body_timeout, bytes_max) = (self.settings.body_timeout(), self.bytes_max(Some(content)));
        let begun = Instant::now();
        let received = {
            let receiving = pin!(body::receive(&mut body, length, bytes_max, body_timeout, &allocator));
            self.within(deadline, receiving).await
        };
        if let Some(watched) = &mut known.watched {
            watched.received = begun.elapsed();
            if let Some(received) = received.as_ref().ok().filter(|_| watched.keeps_body) {
                watched.body = KeptBody::of(&received.bytes);
            }
        }
        let mut received = match received {
            Ok(received) => received,
            Err(refusal) => {
                match refusal.leading() {
                    Hcert::BodyTimeout => count(&self.load.bodies_late),
                    _ => drop(tokio::spawn(body::linger(body))),
                }
                return Err(refusal);
            }
        };
        if content == BodyContent::Form {
            let form = json::text_of(&received.bytes)?;
            known.form = Some(form.to_owned());
            // Once more, since the form may carry what the query did not.
            let mut parameters = std::mem::take(&mut context.parameters);
            parameters.extend(query::pairs(form)?);
            known.wanted.media = media::wanted(&head.parts.headers, query::format(&parameters), false)?;
            known.wanted.pretty = query::pretty(&parameters)?;
            self.name(head, &parameters, form.len(), known).await?;
            context = self.context(head, interaction, parameters, known)?;
            received.bytes.clear();
        }
        let run = async {
            let bytes = received.bytes.len().max(self.run.stored_bytes(interaction, &context));
            if bytes > LARGE_BODY_BYTES {
                return self.work_on_pool(interaction.clone(), context, received, client).await;
            }
            let _admitted = self.admission.enter(interaction.may_change()).await?;
            allocator.reserve(&mut received, BodySize::Small, bytes * BODY_EXPANSION)?;
            self.run.run(interaction.clone(), context, received.bytes).await
        };
        self.within(deadline, pin!(run)).await
    }

    /// Runs an interaction on the pool: its work grows with a large resource, and would keep a serving thread from other requests.
    /// Contract 10.3.
    async fn work_on_pool(
        &self,
        interaction: Interaction,
        context: RequestContext,
        received: ReceivedBody,
        client: Option<ClientKey>,
    ) -> Result<Answer, Outcome> {
        let turn = self.admission.enter_large(client).await?;
        let _admitted = self.admission.enter(interaction.may_change()).await?;
        let run = Arc::clone(&self.run);
        let worked = self.pool.run(async move {
            // Until the work ends, also where its client has gone.
            let _held = (turn, received.reserved);
            run.run(interaction, context, received.bytes).await
        });
        worked.await.map_err(Outcome::internal)?
    }

    /// Runs a stage of a request to its end or its deadline. It is pinned where it is made: each hand it went through would keep room for
    /// it.
    pub(super) async fn within<T>(
        &self,
        deadline: Instant,
        stage: Pin<&mut impl Future<Output = Result<T, Outcome>>>,
    ) -> Result<T, Outcome> {
        timeout_at(deadline, stage).await.unwrap_or_else(|_| {
            count(&self.load.requests_given_up);
            let max = self.settings.request_timeout.as_secs().to_string();
            Err(Issue::new(Hcert::RequestTimeout).with("max", max).into())
        })
    }

    /// Finds memory for an answer for as long as its client takes to read it, within the shares of that client and of its connection. Small
    /// ones need none, since connections are bounded; on HTTP/2, where one connection may leave many unread, only the smallest are small.
    pub(super) fn reserve(&self, result: &mut Result<Answer, Outcome>, is_indented: bool, head: &RequestHead) {
        let small = if head.parts.version == Version::HTTP_2 { HTTP2_SMALL_ANSWER_BYTES } else { SMALL_ANSWER_BYTES };
        let Ok(answer) = result else { return };
        let bytes = answer.body.len() * if is_indented { INDENTED_EXPANSION } else { 1 };
        if answer.turn.is_some() || bytes <= small {
            return;
        }
        match head.counted.map(|counted| self.admission.reserve(&counted, bytes)).transpose() {
            Ok(share) => match self.answers.reserve(head.origin.connection.as_ref(), bytes) {
                Ok(reserved) => answer.turn = Some(RequestPermit::of((reserved, share))),
                Err(none) => *result = Err(self.no_memory(none)),
            },
            Err(too_many_of_client) => *result = Err(too_many_of_client.into()),
        }
    }

    fn no_memory(&self, why: NoMemory) -> Outcome {
        match why {
            NoMemory::OfAll => Hcert::AnswersFull.into(),
            NoMemory::OfConnection => {
                count(&self.load.requests_throttled);
                let problem = "the connection has too many bytes of unread answers";
                Issue::new(Hcert::TooManyRequests).with("problem", problem).into()
            }
        }
    }

    /// What reserves memory for the body of a request; without a client no share is counted.
    pub(super) fn allocator(&self, client: Option<ClientKey>) -> BodyAllocator<'_> {
        let share = client.map(|client| self.admission.bodies(client));
        BodyAllocator { all: &self.bodies, share, load: &self.load }
    }

    fn wrong_method(&self, head: &RequestHead) -> Outcome {
        let parts = &head.parts;
        let allowed = route::allow(head.base_path(&self.settings), parts.uri.path(), None);
        Issue::new(Hcert::MethodNotAllowed).with("method", parts.method.to_string()).with("allowed", allowed).into()
    }

    fn bytes_max(&self, content: Option<BodyContent>) -> usize {
        match content {
            Some(BodyContent::Form) => self.settings.query_bytes_max,
            Some(BodyContent::Resource) | None => self.settings.body_bytes_max,
        }
    }
}

/// Lets go of a body that is not read.
fn leave_unread<B>(body: B, parts: &Parts)
where
    B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
{
    // A body that waits for "100 Continue" is never sent.
    if !body.is_end_stream() && !parts.headers.contains_key(EXPECT) {
        tokio::spawn(body::linger(body));
    }
}

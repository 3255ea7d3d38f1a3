//! What is done for one request: its head and body are understood in the order of Contract 2.9, and the interaction is run.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::Version;
use hyper::body::Body;
use hyper::header::EXPECT;
use hyper::http::request::Parts;

use super::answers::NoMemory;
use super::body::{BodySize, Lender, Received};
use super::clients::ClientKey;
use super::load::count;
use super::media::{self, Media};
use super::query::{self, Pair};
use super::route::{self, Route};
use super::wanted::Wanted;
use super::{Origin, Run, Server, account, body, caller, guard, message, request, sender};
use crate::config::limits::{BODY_EXPANSION, HTTP2_SMALL_ANSWER_BYTES, SMALL_ANSWER_BYTES};
use crate::http::limits::{INDENTED_EXPANSION, LARGE_BODY_BYTES};
use crate::interaction::{Account, Answer, Content, Context, Interaction, Turn};
use fhir::json;
use fhir::outcome::{Hcert, Issue, Outcome};

/// What a query says of the answer itself, and its pairs.
pub struct Query {
    pub pairs: Result<Vec<Pair>, Issue>,
    pub media: Result<Media, Issue>,
    pub pretty: Result<bool, Issue>,
}

impl<R: Run> Server<R> {
    /// The way of a request, in the order of Contract 2.9.
    #[expect(clippy::too_many_arguments, reason = "it is the first half of one way")]
    pub(super) async fn work<B>(
        &self,
        route: Route,
        query: Query,
        parts: &Parts,
        body: B,
        origin: &Origin,
        wanted: &mut Wanted,
        event: &mut Option<Box<Account>>,
    ) -> Result<Answer, Outcome>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        let peer = origin.peer;
        if let Err(too_long) = message::check_size(parts) {
            return refused(too_long.into(), body, parts);
        }
        if let Err(stranger) = guard::check(&self.settings, parts) {
            return refused(stranger.into(), body, parts);
        }
        let counted = sender::counted_for(&self.settings, parts, peer);
        let client = counted.map(|counted| counted.client);
        let under_way = counted.map(|counted| self.admission.begin(&counted));
        let _under_way = match under_way.transpose() {
            Ok(under_way) => under_way,
            Err(throttled) => return refused(throttled.into(), body, parts),
        };
        let understood = match (caller::identify(&self.settings, &route, &parts.headers).await, route) {
            (Ok(identity), Route::To(interaction)) => {
                if let (Some(event), Some(identity)) = (&mut *event, &identity) {
                    account::name(event, identity);
                    if let Some(pairs) = query.pairs.as_ref().ok().filter(|pairs| query::is_sealed(pairs)) {
                        // A link opens for whom it was made.
                        self.run.note(event, &interaction, pairs);
                    }
                }
                self.understand(&interaction, query, parts, &body, peer, wanted).map(|mut context| {
                    caller::name(&mut context, identity);
                    if let Some(event) = event {
                        account::keep(&mut context, event);
                        event.open(&interaction, &mut context);
                    }
                    (interaction, context)
                })
            }
            (Ok(_), Route::Options) => return Ok(Answer { status: 204, ..Answer::default() }),
            (Ok(_), Route::WrongMethod) => Err(self.wrong_method(parts)),
            // Where no tokens are given out, their service is not there. What X-Road does not know it refuses itself.
            (_, Route::TokenService | Route::TokenKeys | Route::SmartConfiguration) => {
                Err(query.pairs.err().map_or(Hcert::PathUnknown.into(), Outcome::from))
            }
            (_, Route::Fault(_)) | (Ok(_), Route::Unknown) => Err(Hcert::PathUnknown.into()),
            (Err(refusal), _) => Err(refusal),
        };
        let (interaction, context) = match understood {
            Ok(understood) => understood,
            Err(refusal) => return refused(refusal, body, parts),
        };
        match interaction.row.body {
            Some(content) => {
                // On the heap, so that the way of a request without a body stays short.
                let work = self.work_with_body(interaction, context, content, parts, body, peer, client, wanted, event);
                Box::pin(work).await
            }
            None if self.run.stored_bytes(&interaction, &context) > LARGE_BODY_BYTES => {
                Box::pin(self.work_on_pool(interaction, context, Received::default(), client)).await
            }
            None => {
                let _admitted = self.admission.enter(interaction.may_change()).await?;
                // Before it is made, since it could hardly be handed over.
                if !interaction.may_change() && self.answers.is_used_up(origin.seat.as_ref()) {
                    return Err(self.no_memory(NoMemory::OfConnection));
                }
                self.run.run(interaction, context, Vec::new()).await
            }
        }
    }

    /// Finds memory for an answer for as long as its client takes to read it, within the shares of that client and of its connection. Small
    /// ones need none, since connections are bounded; on HTTP/2, where one connection may leave many unread, only the smallest are small.
    pub(super) fn lend(&self, result: &mut Result<Answer, Outcome>, is_indented: bool, parts: &Parts, origin: &Origin) {
        let small = if parts.version == Version::HTTP_2 { HTTP2_SMALL_ANSWER_BYTES } else { SMALL_ANSWER_BYTES };
        let Ok(answer) = result else { return };
        let bytes = answer.body.len() * if is_indented { INDENTED_EXPANSION } else { 1 };
        if answer.turn.is_some() || bytes <= small {
            return;
        }
        let counted = sender::counted_for(&self.settings, parts, origin.peer);
        match counted.map(|counted| self.admission.lend(&counted, bytes)).transpose() {
            Ok(share) => match self.answers.lend(origin.seat.as_ref(), bytes) {
                Ok(lent) => answer.turn = Some(Turn::of((lent, share))),
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
                let problem = "the connection holds too many bytes of answers not read yet";
                Issue::new(Hcert::TooManyRequests).with("problem", problem).into()
            }
        }
    }

    /// Where the body of a request has its memory from; without a client it is that of nobody who is counted.
    pub(super) fn lender(&self, client: Option<ClientKey>) -> Lender<'_> {
        let share = client.map(|client| self.admission.bodies(client));
        Lender { all: &self.bodies, share, load: &self.load }
    }

    #[expect(clippy::too_many_arguments, reason = "it is the second half of one way")]
    pub(super) async fn work_with_body<B>(
        &self,
        interaction: Interaction,
        mut context: Context,
        content: Content,
        parts: &Parts,
        mut body: B,
        peer: Option<IpAddr>,
        client: Option<ClientKey>,
        wanted: &mut Wanted,
        event: &mut Option<Box<Account>>,
    ) -> Result<Answer, Outcome>
    where
        B: Body<Data: Send, Error: ToString> + Send + Unpin + 'static,
    {
        let length = request::length(&parts.headers)?;
        let patience = self.settings.patience();
        let bytes_max = self.bytes_max(Some(content));
        let lender = self.lender(client);
        let mut received = match body::receive(&mut body, length, bytes_max, patience, &lender).await {
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
            let form = json::text_of(&received.bytes)?;
            if let Some(event) = event {
                account::note_form(event, form);
            }
            // Once more, since the form may carry what the query did not.
            let mut parameters = std::mem::take(&mut context.parameters);
            parameters.extend(query::pairs(form)?);
            wanted.media = media::wanted(&parts.headers, query::format(&parameters))?;
            wanted.pretty = query::pretty(&parameters)?;
            let identity = context.identity.take();
            context =
                request::context(&self.settings, parts, peer, wanted, parameters, true, interaction.row.asks_registry)?;
            caller::name(&mut context, identity);
            if let Some(event) = event {
                self.run.note(event, &interaction, &context.parameters);
                event.open(&interaction, &mut context);
            }
            received.bytes.clear();
        }
        let bytes = received.bytes.len().max(self.run.stored_bytes(&interaction, &context));
        if bytes > LARGE_BODY_BYTES {
            return Box::pin(self.work_on_pool(interaction, context, received, client)).await;
        }
        let _admitted = self.admission.enter(interaction.may_change()).await?;
        lender.lend(&mut received, BodySize::Small, bytes * BODY_EXPANSION)?;
        self.run.run(interaction, context, received.bytes).await
    }

    /// Runs an interaction on the pool: its work grows with a large resource, and would keep a serving thread from other requests.
    /// Contract 10.3.
    async fn work_on_pool(
        &self,
        interaction: Interaction,
        context: Context,
        received: Received,
        client: Option<ClientKey>,
    ) -> Result<Answer, Outcome> {
        let turn = self.admission.enter_large(client).await?;
        let _admitted = self.admission.enter(interaction.may_change()).await?;
        let run = Arc::clone(&self.run);
        let worked = self.pool.run(async move {
            // Until the work ends, also where its client has gone.
            let _held = (turn, received.lent);
            run.run(interaction, context, received.bytes).await
        });
        worked.await.map_err(Outcome::internal)?
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
        let content = interaction.row.body;
        let parameters = query.pairs?;
        query.media?;
        request::check_body(parts, content, !body.is_end_stream(), self.bytes_max(content))?;
        query.pretty?;
        let by_form = content == Some(Content::Form);
        request::context(&self.settings, parts, peer, wanted, parameters, by_form, interaction.row.asks_registry)
    }

    fn wrong_method(&self, parts: &Parts) -> Outcome {
        let allowed = route::allow(self.base_path(parts), parts.uri.path(), None);
        Issue::new(Hcert::MethodNotAllowed).with("method", parts.method.to_string()).with("allowed", allowed).into()
    }

    fn bytes_max(&self, content: Option<Content>) -> usize {
        match content {
            Some(Content::Form) => self.settings.query_bytes_max,
            Some(Content::Resource) | None => self.settings.body_bytes_max,
        }
    }

    pub(super) fn query(&self, parts: &Parts) -> Query {
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

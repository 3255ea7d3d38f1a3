//! Notes an exchange for people who watch, and tells its sender how long the parts of it took.

use std::fmt::Write;
use std::io::Read;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use flate2::read::GzDecoder;
use http_body_util::Full;
use hyper::body::{Body, Bytes};
use hyper::header::{AUTHORIZATION, CONTENT_ENCODING, COOKIE, HeaderMap, HeaderName};
use hyper::{HeaderMap as Headers, Response};

use super::exchanges::{self, Exchange, ExchangeContent, KeptBody};
use super::request_head::{RequestFacts, RequestHead, WatchedRequest};
use super::{HttpServer, Interactions, header, method_name, route};
use crate::http::limits::EXCHANGE_BODY_BYTES_MAX;
use base::log::RefusalReason;

/// Marks a request that a page of the console makes.
#[derive(Clone, Copy, Debug)]
pub(super) struct AskedByPage;

/// How long the parts of an answer took. W3C Server-Timing.
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

impl<R: Interactions> HttpServer<R> {
    /// Keeps the exchange where somebody watches. In `hcert dev` the answer says how long its parts took.
    pub(super) fn exchanged(
        &self,
        head: &RequestHead,
        known: &RequestFacts,
        watched: WatchedRequest,
        took: Duration,
        response: &mut Response<Full<Bytes>>,
    ) {
        if self.settings.is_developer {
            response.headers_mut().insert(SERVER_TIMING, header::value(timing(&watched, took)));
        }
        let Some(kept) = self.settings.exchanges.as_ref().filter(|_| watched.is_kept) else { return };
        let WatchedRequest { body, received, ran, .. } = watched;
        let parts = &head.parts;
        let caller = known.identity.as_ref().map(|identity| (identity.person.clone(), identity.roles.join(" ")));
        let content = kept.keeps_content.then(|| ExchangeContent {
            target: parts.uri.path_and_query().map_or_else(String::new, ToString::to_string),
            caller,
            request_headers: shown(&parts.headers),
            request_body: body,
            answer_headers: shown(response.headers()),
            answer_body: KeptBody::of(&plain(response)),
        });
        let refused = response.extensions().get::<RefusalReason>();
        kept.keep(Exchange {
            number: 0,
            at: exchanges::now() * 1_000,
            took,
            received,
            ran,
            method: method_name(&parts.method).to_owned(),
            route: route::label(&head.route),
            status: response.status().as_u16(),
            code: refused.map(|refused| refused.code.clone()),
            request_id: known.wanted.request_id.as_str().to_owned(),
            is_of_page: parts.extensions.get::<AskedByPage>().is_some(),
            content,
        });
    }
}

fn timing(watched: &WatchedRequest, took: Duration) -> String {
    let mut text = String::new();
    for (name, took) in [("body", watched.received), ("run", watched.ran), ("total", took)] {
        let separator = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{separator}{name};dur={:.3}", took.as_secs_f64() * 1_000.0);
    }
    text
}

/// Headers without what lets somebody in.
fn shown(headers: &Headers) -> Vec<(String, String)> {
    let secret = [AUTHORIZATION, COOKIE];
    let text = |name: &HeaderName, headers: &HeaderMap| header::joined(headers, name).unwrap_or_default();
    headers
        .keys()
        .filter(|name| !secret.contains(name))
        .map(|name| (name.as_str().to_owned(), text(name, headers)))
        .collect()
}

/// The body of an answer as it was before it was compressed, as far as it is kept.
fn plain(response: &Response<Full<Bytes>>) -> Vec<u8> {
    let mut body = response.body().clone();
    let frame = Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()));
    let Poll::Ready(Some(Ok(frame))) = frame else { return Vec::new() };
    let bytes = frame.into_data().unwrap_or_default();
    if !response.headers().contains_key(CONTENT_ENCODING) {
        return bytes[..bytes.len().min(EXCHANGE_BODY_BYTES_MAX + 1)].to_vec();
    }
    let mut plain = Vec::new();
    let _ = GzDecoder::new(&*bytes).take(EXCHANGE_BODY_BYTES_MAX as u64 + 1).read_to_end(&mut plain);
    plain
}

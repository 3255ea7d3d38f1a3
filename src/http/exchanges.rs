//! What was asked and answered lately, for people who watch. While nobody does, a request costs one look at a number.
//!
//! In `hcert dev` the bodies are kept too; `hcert serve` keeps what its log may show, and no more.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::http::limits::{EXCHANGE_BODY_BYTES_MAX, EXCHANGES_BYTES_MAX, EXCHANGES_MAX};

/// Seconds for which exchanges are kept after somebody looked.
const WATCHED_S: i64 = 600;

/// One request and its answer.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// Counts up, from 1.
    pub number: u64,
    /// When it was answered, milliseconds since 1970 UTC.
    pub at: i64,
    pub took: Duration,
    /// Reading the request's body took so long of it, and the interaction so long.
    pub received: Duration,
    pub ran: Duration,
    pub method: String,
    /// The route with its placeholders.
    pub route: &'static str,
    pub status: u16,
    /// Of the refusal.
    pub code: Option<String>,
    pub request_id: String,
    /// Whether a page of the console asked.
    pub is_of_page: bool,
    /// In `hcert dev` alone.
    pub content: Option<ExchangeContent>,
}

/// What may name people.
#[derive(Clone, Debug, Default)]
pub struct ExchangeContent {
    /// Path and query.
    pub target: String,
    /// Personal code and roles of the token.
    pub caller: Option<(String, String)>,
    /// Without tokens and cookies.
    pub request_headers: Vec<(String, String)>,
    pub request_body: KeptBody,
    pub answer_headers: Vec<(String, String)>,
    pub answer_body: KeptBody,
}

/// The beginning of a body.
#[derive(Clone, Debug, Default)]
pub struct KeptBody {
    pub text: String,
    /// Whether there was more of it.
    pub is_cut: bool,
}

impl KeptBody {
    /// A document in PDF is no text, and not kept.
    pub fn of(bytes: &[u8]) -> KeptBody {
        if bytes.starts_with(b"%PDF-") {
            return KeptBody { text: String::new(), is_cut: true };
        }
        let kept = &bytes[..bytes.len().min(EXCHANGE_BODY_BYTES_MAX)];
        KeptBody { text: String::from_utf8_lossy(kept).into_owned(), is_cut: kept.len() < bytes.len() }
    }
}

impl Exchange {
    /// Bytes that it holds, roughly.
    fn bytes(&self) -> usize {
        let of_headers =
            |headers: &[(String, String)]| headers.iter().map(|(name, value)| name.len() + value.len() + 48).sum();
        let content = self.content.as_ref().map_or(0, |content| {
            let headers: usize = [&content.request_headers, &content.answer_headers]
                .into_iter()
                .map(|headers| -> usize { of_headers(headers) })
                .sum();
            content.target.len() + content.request_body.text.len() + content.answer_body.text.len() + headers
        });
        size_of::<Exchange>() + self.method.len() + self.request_id.len() + content
    }
}

/// The latest exchanges.
#[derive(Debug)]
pub struct Exchanges {
    pub keeps_content: bool,
    /// Until when somebody watches, seconds since 1970 UTC.
    watched_until: AtomicI64,
    kept: Mutex<KeptExchanges>,
}

#[derive(Debug, Default)]
struct KeptExchanges {
    /// The oldest first.
    exchanges: VecDeque<Arc<Exchange>>,
    bytes: usize,
    last: u64,
}

impl Exchanges {
    pub fn new(keeps_content: bool) -> Exchanges {
        Exchanges { keeps_content, watched_until: AtomicI64::new(i64::MIN), kept: Mutex::default() }
    }

    /// Somebody looks.
    pub fn watch(&self) {
        self.watched_until.store(now().saturating_add(WATCHED_S), Ordering::Relaxed);
    }

    /// Whether somebody may look; only where it is likely, the time is asked for.
    pub fn is_watched(&self) -> bool {
        let until = self.watched_until.load(Ordering::Relaxed);
        until != i64::MIN && now() <= until
    }

    /// Keeps an exchange, and lets the oldest go for it.
    pub fn keep(&self, mut exchange: Exchange) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.last += 1;
        exchange.number = kept.last;
        kept.bytes += exchange.bytes();
        kept.exchanges.push_back(Arc::new(exchange));
        while kept.exchanges.len() > EXCHANGES_MAX || kept.bytes > EXCHANGES_BYTES_MAX && kept.exchanges.len() > 1 {
            let oldest = kept.exchanges.pop_front().map_or(0, |oldest| oldest.bytes());
            kept.bytes -= oldest;
        }
    }

    /// Exchanges behind a number, the newest first, at most so many.
    pub fn newest(&self, after: u64, max: usize) -> Vec<Arc<Exchange>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.exchanges.iter().rev().take_while(|exchange| exchange.number > after).take(max).cloned().collect()
    }

    pub fn get(&self, number: u64) -> Option<Arc<Exchange>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.exchanges.iter().find(|exchange| exchange.number == number).cloned()
    }
}

/// Seconds since 1970 UTC.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(bytes: usize) -> Exchange {
        let content = ExchangeContent { request_body: KeptBody::of(&vec![b'a'; bytes]), ..ExchangeContent::default() };
        Exchange { content: Some(content), ..Exchange::default() }
    }

    #[test]
    fn nothing_is_watched_until_somebody_looks_and_for_a_while_after() {
        let exchanges = Exchanges::new(true);
        assert!(!exchanges.is_watched());
        exchanges.watch();
        assert!(exchanges.is_watched());
        exchanges.watched_until.store(now() - 1, Ordering::Relaxed);
        assert!(!exchanges.is_watched());
    }

    #[test]
    fn the_oldest_go_by_number_and_by_bytes() {
        let exchanges = Exchanges::new(true);
        for _ in 0..EXCHANGES_MAX + 10 {
            exchanges.keep(exchange(0));
        }
        let newest = exchanges.newest(0, usize::MAX);
        assert_eq!((newest.len(), newest[0].number), (EXCHANGES_MAX, EXCHANGES_MAX as u64 + 10));
        assert!(exchanges.get(10).is_none() && exchanges.get(11).is_some());
        assert_eq!(exchanges.newest(newest[0].number - 3, 2).len(), 2);
        for _ in 0..2 * EXCHANGES_BYTES_MAX / EXCHANGE_BODY_BYTES_MAX {
            exchanges.keep(exchange(usize::from(u16::MAX) * 2));
        }
        let kept: usize = exchanges.newest(0, usize::MAX).iter().map(|exchange| exchange.bytes()).sum();
        assert!(kept <= EXCHANGES_BYTES_MAX && kept > EXCHANGES_BYTES_MAX / 2, "{kept}");
        assert!(exchanges.newest(0, 1)[0].content.as_ref().unwrap().request_body.is_cut);
    }
}

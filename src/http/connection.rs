//! What is known of one open connection: whether it works, when it last did, and whether it has to make room.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout;

use super::load::{LoadCounters, count};
use crate::http::limits::IDLE_MS;

/// Milliseconds after which a client that takes nothing of its answer loses its connection when room is needed.
const UNREAD_MS: u64 = 5_000;

/// Bytes that an HTTP/2 connection must have written while it is idle to count as reading its answers: more than what pings take.
const HTTP2_PROGRESS_BYTES: u64 = 1_024;

/// One connection, as its task and whoever needs room both see it. Times are milliseconds since the process began to serve.
#[derive(Debug)]
pub struct Connection {
    load: Arc<LoadCounters>,
    /// Requests under way: read, and not answered yet.
    requests: AtomicUsize,
    /// There has been a request.
    asked: AtomicBool,
    changed: Notify,
    /// When a request last began or ended, or something was written; before, when the connection came.
    touched: AtomicU64,
    /// Bytes written so far.
    written: AtomicU64,
    /// The client does not take what is written.
    unread: AtomicBool,
    leaving: AtomicBool,
    give_way: Notify,
    cut: Notify,
    /// The connection's socket while it is open, else -1.
    socket: AtomicI32,
}

/// Milliseconds since the first look at this clock.
pub(super) fn now_ms() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl Connection {
    pub fn new(load: Arc<LoadCounters>) -> Arc<Connection> {
        Arc::new(Connection {
            load,
            requests: AtomicUsize::new(0),
            asked: AtomicBool::new(false),
            changed: Notify::new(),
            touched: AtomicU64::new(now_ms()),
            written: AtomicU64::new(0),
            unread: AtomicBool::new(false),
            leaving: AtomicBool::new(false),
            give_way: Notify::new(),
            cut: Notify::new(),
            socket: AtomicI32::new(-1),
        })
    }

    /// A request begins; it ends when what is returned is dropped.
    pub fn begin(self: &Arc<Self>) -> ActiveRequest {
        self.requests.fetch_add(1, Ordering::AcqRel);
        self.asked.store(true, Ordering::Relaxed);
        self.touch();
        self.changed.notify_one();
        ActiveRequest(Arc::clone(self))
    }

    pub fn is_busy(&self) -> bool {
        self.requests.load(Ordering::Acquire) > 0
    }

    pub fn touched(&self) -> u64 {
        self.touched.load(Ordering::Relaxed)
    }

    fn touch(&self) {
        self.touched.store(now_ms(), Ordering::Relaxed);
    }

    /// Notes that the client took `bytes` of what it is sent.
    pub fn note_written(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
        self.unread.store(false, Ordering::Relaxed);
        self.touch();
    }

    /// Notes that the client takes nothing now.
    pub fn note_unread(&self) {
        self.unread.store(true, Ordering::Relaxed);
    }

    /// Whether the client takes nothing of what is written to it at this moment.
    pub fn is_unread(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }

    /// Which socket the connection has, as long as it has one.
    pub fn note_socket(&self, socket: Option<RawFd>) {
        self.socket.store(socket.unwrap_or(-1), Ordering::Release);
    }

    /// Whether the system still has bytes for the client: they are lost when the connection ends and the client sends something more.
    pub fn has_unsent(&self) -> bool {
        let socket = self.socket.load(Ordering::Acquire);
        #[cfg(target_os = "linux")]
        if socket >= 0 {
            let mut bytes: libc::c_int = 0;
            // SAFETY: whoever holds the socket takes it from here before it is closed, on the task that asks; the call writes one number.
            let asked = unsafe { libc::ioctl(socket, libc::TIOCOUTQ, &raw mut bytes) };
            return asked == 0 && bytes > 0;
        }
        let _ = socket;
        false
    }

    /// Notes that the connection is cut because of that.
    pub fn note_cut(&self) {
        count(&self.load.answers_unread);
    }

    /// Whether the connection may be closed for a newcomer: nothing is under way, and it is neither between two requests of a client
    /// at work nor handing over an answer that is being read.
    pub fn may_leave(&self, now: u64) -> bool {
        if self.is_busy() || self.leaving.load(Ordering::Relaxed) {
            return false;
        }
        let silent = now.saturating_sub(self.touched());
        if self.unread.load(Ordering::Relaxed) {
            return silent >= UNREAD_MS;
        }
        !self.asked.load(Ordering::Relaxed) || silent >= IDLE_MS
    }

    /// Asks the connection to make room; whether nobody did so before.
    pub fn ask_to_leave(&self) -> bool {
        let is_first = !self.leaving.swap(true, Ordering::AcqRel);
        self.give_way.notify_one();
        is_first
    }

    /// Ready when the connection has to make room.
    pub async fn asked_to_leave(&self) {
        self.give_way.notified().await;
    }

    /// Ends the connection, whatever is under way: it leaves answers unread whose memory is needed.
    pub fn cut(&self) {
        self.cut.notify_one();
    }

    /// Ready when the connection has to end at once.
    pub async fn told_to_end(&self) {
        self.cut.notified().await;
    }

    /// Ready once no request was under way and nothing of an answer was taken for `silence`. For HTTP/2, where hyper ends no idle
    /// connection itself.
    pub async fn idle(&self, silence: Duration) {
        let mut written = self.written.load(Ordering::Relaxed);
        loop {
            let changed = self.changed.notified();
            let quiet = !self.is_busy();
            let late = timeout(silence, changed).await.is_err();
            let by_now = self.written.load(Ordering::Relaxed);
            if late && quiet && by_now - written < HTTP2_PROGRESS_BYTES {
                return;
            }
            written = by_now;
        }
    }
}

/// One request under way.
pub struct ActiveRequest(Arc<Connection>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::AcqRel);
        self.0.touch();
        self.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> (Arc<Connection>, u64) {
        let connection = Connection::new(Arc::default());
        let now = connection.touched();
        (connection, now)
    }

    #[test]
    fn a_connection_that_never_asked_may_leave_at_once() {
        let (connection, now) = connection();
        assert!(connection.may_leave(now));
    }

    #[test]
    fn a_connection_with_a_request_under_way_stays() {
        let (connection, now) = connection();
        let busy = connection.begin();
        assert!(!connection.may_leave(now + 1_000_000));
        drop(busy);
        connection.note_written(10);
        assert!(!connection.may_leave(connection.touched() + IDLE_MS - 1), "its client may only take a breath");
        assert!(connection.may_leave(connection.touched() + IDLE_MS));
    }

    #[test]
    fn a_client_that_reads_slowly_has_longer() {
        let (connection, _) = connection();
        connection.note_written(10);
        connection.note_unread();
        assert!(!connection.may_leave(connection.touched() + UNREAD_MS - 1));
        assert!(connection.may_leave(connection.touched() + UNREAD_MS));
    }

    #[test]
    fn nobody_is_asked_to_leave_twice() {
        let (connection, now) = connection();
        assert!(connection.ask_to_leave());
        assert!(!connection.ask_to_leave());
        assert!(!connection.may_leave(now));
    }

    #[tokio::test]
    async fn a_connection_is_idle_when_it_neither_works_nor_writes() {
        let (connection, _) = connection();
        let silence = Duration::from_millis(20);
        let busy = connection.begin();
        assert!(timeout(silence * 5, connection.idle(silence)).await.is_err());
        drop(busy);
        let began = Instant::now();
        tokio::join!(connection.idle(silence), async { connection.note_written(HTTP2_PROGRESS_BYTES as usize) });
        assert!(began.elapsed() >= silence * 2, "an answer was read in the first while");
    }
}

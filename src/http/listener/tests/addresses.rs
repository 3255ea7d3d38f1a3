//! Shares of addresses: clients on many of them, all of this machine, which are counted here.

use std::net::IpAddr;
use std::sync::atomic::AtomicU64;

use serde_json::Value;
use tokio::net::TcpSocket;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::*;
use crate::config::limits::ANSWERS_BYTES_MAX;
use crate::http::heads::HEADS_BYTES_PER_ADDRESS_MAX;
use crate::http::limits::HEADER_BYTES_MAX;
use crate::interaction::limits::LARGE_ANSWER_BYTES;
use crate::interaction::{Answer, Interaction, RequestContext};
use fhir::outcome::Outcome;

/// Places of one address.
const SHARE: usize = 3;

async fn start_counting(listen: &str) -> Option<Running> {
    let settings = HttpSettings { uncounted: Vec::new(), connections_per_address_max: SHARE, ..settings() };
    let server = server_with(settings, Box::new(ok));
    // Where a machine has no IPv6, there is nothing to test.
    let listener = TcpListener::bind(listen).await.ok()?;
    let (address, load) = (listener.local_addr().unwrap(), Arc::clone(server.load()));
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(serve(listener, server, async {
        let _ = stopped.await;
    }));
    Some(Running { address, load, stop, task })
}

impl Running {
    /// Connects from one of the addresses of this machine.
    async fn connect_from(&self, from: &str) -> TcpStream {
        let from: IpAddr = from.parse().unwrap();
        let socket = if from.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }.unwrap();
        socket.bind(SocketAddr::new(from, 0)).unwrap();
        socket.connect(self.address).await.unwrap()
    }

    async fn ask_from(&self, from: &str) -> String {
        let mut stream = self.connect_from(from).await;
        stream.write_all(LAST).await.unwrap();
        to_end(&mut stream).await
    }

    fn connections(&self) -> usize {
        self.load.connections.load(Ordering::Relaxed)
    }
}

fn is_too_many(text: &str) {
    let (head, body) = text.split_once("\r\n\r\n").expect("an answer");
    assert!(head.starts_with("HTTP/1.1 429 ") && head.contains("retry-after: 2\r\n"), "{text}");
    let outcome: Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(outcome["resourceType"], "OperationOutcome");
    assert_eq!(outcome["issue"][0]["details"]["coding"][0]["code"], "HCERT-200");
}

/// A service that answers nothing until it is told to.
struct Holding(Arc<Semaphore>);

impl Interactions for Holding {
    async fn run(&self, interaction: Interaction, _: RequestContext, _: Vec<u8>) -> Result<Answer, Outcome> {
        drop(self.0.acquire().await);
        ok(&interaction)
    }
}

/// A security server stands for many clients, so its heads are bounded with those of everybody and not as one address.
#[tokio::test]
async fn the_heads_of_a_security_server_have_no_share_of_one_address() {
    let streams = 60;
    let connections = HEADS_BYTES_PER_ADDRESS_MAX / (streams * HEADER_BYTES_MAX) + 1;
    for from in [Vec::new(), vec!["127.0.0.1".parse().unwrap()]] {
        let is_sender = !from.is_empty();
        let mut settings = HttpSettings { uncounted: Vec::new(), requests_per_address_max: usize::MAX, ..settings() };
        settings.x_road.from = Some(from);
        let answered = Arc::new(Semaphore::new(0));
        let running = start_with(HttpServer::new(Holding(answered.clone()), settings)).await;
        let mut requests = JoinSet::new();
        for _ in 0..connections {
            let io = TokioIo::new(running.connect().await);
            let (sender, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.expect("HTTP/2");
            tokio::spawn(connection);
            for _ in 0..streams {
                let request = Request::get(format!("http://{}/fhir/metadata", running.address));
                let request = request.header("x", "x".repeat(HEADER_BYTES_MAX - 1_024));
                let mut sender = sender.clone();
                requests.spawn(async move {
                    let request = request.body(Empty::<Bytes>::new()).unwrap();
                    sender.send_request(request).await.unwrap().status().as_u16()
                });
            }
        }
        let count = |counter: &AtomicU64| usize::try_from(counter.load(Ordering::Relaxed)).unwrap();
        let all_came = async {
            let load = &running.load;
            while load.requests.load(Ordering::Relaxed) + count(&load.requests_throttled) < connections * streams {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_secs(60), all_came).await.expect("each is worked on or refused");
        assert_eq!(count(&running.load.requests_throttled) == 0, is_sender);
        answered.close();
        let statuses = requests.join_all().await;
        assert_eq!(statuses.iter().all(|status| *status == 200), is_sender);
        assert!(statuses.iter().all(|status| [200, 429].contains(status)), "{statuses:?}");
    }
}

#[tokio::test]
async fn each_of_many_addresses_has_its_share_and_takes_nothing_of_others() {
    let running = start_counting("127.0.0.1:0").await.expect("every machine has this address");
    let addresses: Vec<_> = (1..=40).map(|number| format!("127.0.0.{number}")).collect();
    let mut kept = Vec::new();
    for from in &addresses {
        for _ in 0..SHARE {
            kept.push(running.connect_from(from).await);
        }
    }
    until(|| running.connections() == addresses.len() * SHARE).await;
    for from in &addresses {
        is_too_many(&running.ask_from(from).await);
    }
    assert!(running.ask_from("127.0.1.1").await.starts_with("HTTP/1.1 200 "), "who has not come yet has a share too");
    // Whoever leaves gives his place back to his address.
    kept.truncate((addresses.len() - 1) * SHARE);
    until(|| running.connections() == kept.len()).await;
    assert!(running.ask_from(&addresses[39]).await.starts_with("HTTP/1.1 200 "));
    is_too_many(&running.ask_from(&addresses[38]).await);
    drop(kept);
    until(|| running.connections() == 0).await;
}

#[tokio::test]
async fn addresses_of_ipv6_have_their_share_as_well() {
    let Some(running) = start_counting("[::1]:0").await else {
        println!("skipped: this machine has no IPv6");
        return;
    };
    let mut kept = Vec::new();
    for _ in 0..SHARE {
        kept.push(running.connect_from("::1").await);
    }
    until(|| running.connections() == SHARE).await;
    is_too_many(&running.ask_from("::1").await);
    drop(kept);
    until(|| running.connections() == 0).await;
    assert!(running.ask_from("::1").await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn who_vanishes_at_any_moment_leaves_his_share_behind() {
    let running = start_counting("127.0.0.1:0").await.expect("every machine has this address");
    let half_body = "POST /fhir/Composition HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{";
    let half_way: [&[u8]; 5] =
        [b"", b"GET /fh", GET, half_body.as_bytes(), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"];
    for round in 0..30 {
        let mut gone = Vec::new();
        for number in 0..SHARE {
            let mut stream = running.connect_from("127.0.0.2").await;
            stream.write_all(half_way[(round + number) % half_way.len()]).await.unwrap();
            if round % 2 == 0 {
                stream.set_zero_linger().unwrap();
            }
            gone.push(stream);
        }
        drop(gone);
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed) as usize;
        let load = &running.load;
        let seen = || count(&load.connections_accepted) + count(&load.connections_refused);
        until(|| seen() == (round + 1) * SHARE && running.connections() == 0).await;
    }
    assert!(running.ask_from("127.0.0.2").await.starts_with("HTTP/1.1 200 "));
    assert_eq!(running.load.connections_refused.load(Ordering::Relaxed), 0, "nobody was one too many");
    assert_eq!(running.load.requests.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn an_address_that_leaves_its_answers_unread_keeps_no_other_from_theirs() {
    let bytes = LARGE_ANSWER_BYTES;
    let large = move |_: &_| {
        let body = vec![b'x'; bytes];
        Ok(crate::interaction::Answer { status: 200, body, ..crate::interaction::Answer::default() })
    };
    let settings = HttpSettings { uncounted: Vec::new(), ..settings() };
    let running = start_with(server_with(settings, Box::new(large))).await;
    let mut unread = Vec::new();
    for _ in 0..ANSWERS_BYTES_MAX / bytes {
        let mut stream = running.connect_from("127.0.0.2").await;
        // More answers than the sockets between hold.
        stream.write_all(&GET.repeat(8)).await.unwrap();
        unread.push(stream);
    }
    until_some(|| async { running.ask_from("127.0.0.2").await.starts_with("HTTP/1.1 429 ") }).await;
    is_too_many(&running.ask_from("127.0.0.2").await);
    assert!(running.ask_from("127.0.0.3").await.starts_with("HTTP/1.1 200 "));
    drop(unread);
    until_some(|| async { running.ask_from("127.0.0.2").await.starts_with("HTTP/1.1 200 ") }).await;
}

#[tokio::test]
async fn a_connection_of_http_2_without_a_place_is_told_so_in_its_own_words() {
    let running = start_counting("127.0.0.1:0").await.expect("every machine has this address");
    let mut kept = Vec::new();
    for _ in 0..SHARE {
        kept.push(running.connect().await);
    }
    until(|| running.connections() == SHARE).await;
    let io = TokioIo::new(running.connect().await);
    let (mut sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let uri = format!("http://{}/fhir/metadata", running.address);
    let response = sender.send_request(Request::get(uri).body(Empty::<Bytes>::new()).unwrap()).await.unwrap();
    assert_eq!((response.status().as_u16(), &response.headers()["retry-after"]), (429, &"2".parse().unwrap()));
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&body).contains("HCERT-200"));
}

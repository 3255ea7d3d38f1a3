//! Two attackers that need no token: heads that are short as they are sent and large in memory (HPACK), and bodies that are long to read.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use hcert::config::limits::{BODY_BYTES_MAX, STREAMS_MAX};

use crate::http2::Http2;

/// Connections of the attacker with heads.
pub(crate) const CONNECTIONS: usize = 120;

/// Headers of each of its requests.
pub(crate) const FIELDS: usize = 2_800;

/// The client of X-Road that both say they are: a server that trusts them to say so counts all they do for this one client.
pub(crate) const CLIENT: &str = "EE/COM/10000000/attacker";

/// Bodies at once of the other one.
pub(crate) const BODIES: usize = 64;

/// Opens connections that send as many requests at once as they may, each with so many headers; those that were not closed meanwhile.
pub(crate) fn heads(address: SocketAddr, connections: usize, fields: usize) -> Vec<Http2> {
    let attack = || {
        let mut client = Http2::connect(address, 65_535)?.with_header("x-road-client", CLIENT);
        for _ in 0..STREAMS_MAX {
            client.get_with_headers("/fhir/Composition/1", fields)?;
        }
        Ok::<_, io::Error>(client)
    };
    (0..connections).filter_map(|_| attack().ok()).collect()
}

/// Sends bodies at once, `{"resourceType":"Composition","section":[{},{},…]}`, and reads an answer to each.
pub(crate) fn bodies(address: SocketAddr, count: usize) {
    let mut body = String::from("{\"resourceType\":\"Composition\",\"section\":[{}");
    body.push_str(&",{}".repeat((BODY_BYTES_MAX - body.len() - 2) / 3));
    body.push_str("]}");
    let head = format!(
        "POST /fhir/Composition HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/fhir+json\r\n\
         x-road-client: {CLIENT}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let attack = || {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        io::copy(&mut stream, &mut io::sink())
    };
    thread::scope(|scope| {
        for _ in 0..count {
            // A refusal may come before the whole body is sent.
            scope.spawn(|| drop(attack()));
        }
    });
}

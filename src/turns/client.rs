//! Whom the bounds on clients count a request for.

use std::net::{IpAddr, Ipv6Addr};

use aws_lc_rs::digest::{SHA256, digest};

/// Whom a request is counted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientKey {
    /// As [`counted`].
    Address(IpAddr),
    /// A client of X-Road: the first half of the digest of its identity.
    XRoad([u8; 16]),
    /// A sender that is trusted to name such clients; it stands for all of them.
    Sender(IpAddr),
    /// Who the token is of: the first half of the digest of the personal code. From wherever the person calls.
    Person([u8; 16]),
}

impl ClientKey {
    pub fn address(address: IpAddr) -> ClientKey {
        ClientKey::Address(counted(address))
    }

    pub fn sender(address: IpAddr) -> ClientKey {
        ClientKey::Sender(counted(address))
    }

    /// `digest` has 16 bytes at least.
    pub fn x_road(digest: &[u8]) -> ClientKey {
        ClientKey::XRoad(half(digest))
    }

    pub fn person(code: &str) -> ClientKey {
        ClientKey::Person(half(digest(&SHA256, code.as_bytes()).as_ref()))
    }
}

fn half(digest: &[u8]) -> [u8; 16] {
    *digest.first_chunk().expect("a digest of SHA-256 has 32 bytes")
}

/// An address as it is counted: IPv4 whole, of IPv6 the block that one customer of a network has.
pub fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
    }
}

//! Which trace a request belongs to: its caller's where they say so, else one of its own.
//!
//! Source: W3C Trace Context, level 1, 3.2.

use hyper::Response;
use hyper::header::{HeaderMap, HeaderName};
use uuid::Uuid;

use super::header;
use super::request_id::{RequestId, random};
use base::trace::Trace;
use certificate::personal_code::PersonalCode;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The trace of one request.
#[derive(Clone, Copy, Debug)]
pub struct Traced {
    pub trace: Trace,
    /// The caller said which, and is told this service's part in it.
    is_told: bool,
}

impl Traced {
    /// The caller's trace, else the one that the request id is, when it is a uuid, else a new one.
    pub fn of(headers: &HeaderMap, request_id: &RequestId) -> Traced {
        let span = span();
        let mut told = headers.get_all(TRACEPARENT).into_iter();
        // Several of them say nothing.
        let (first, second) = (told.next(), told.next());
        let parent = first.filter(|_| second.is_none()).and_then(|value| parent(value.as_bytes()));
        if let Some((id, is_sampled)) = parent {
            return Traced { trace: Trace { id, span, is_sampled }, is_told: true };
        }
        let id = of_request_id(request_id).unwrap_or_else(random);
        Traced { trace: Trace { id, span, is_sampled: false }, is_told: false }
    }

    /// Tells a caller who brought a trace which part of it this was.
    pub fn give_back<B>(&self, response: &mut Response<B>) {
        if self.is_told {
            response.headers_mut().insert(TRACEPARENT, header::value(self.trace.parent()));
        }
    }
}

/// Trace id, and whether it is sampled, of a `traceparent`. Versions to come may say more behind it.
fn parent(value: &[u8]) -> Option<([u8; 16], bool)> {
    let version = hex::<1>(value.get(..2)?)?[0];
    let fits = match version {
        0 => value.len() == 55,
        0xff => false,
        _ => value.len() == 55 || value.get(55) == Some(&b'-'),
    };
    let separated = value.get(2) == Some(&b'-') && value.get(35) == Some(&b'-') && value.get(52) == Some(&b'-');
    if !fits || !separated {
        return None;
    }
    let (id, span, flags) = (hex::<16>(&value[3..35])?, hex::<8>(&value[36..52])?, hex::<1>(&value[53..55])?);
    let is_one = id != [0; 16] && span != [0; 8] && !names_somebody(&value[3..35]);
    is_one.then_some((id, flags[0] & 1 == 1))
}

/// A request id that is a uuid, with hyphens or without, is the trace id too, so that both find the same lines.
fn of_request_id(request_id: &RequestId) -> Option<[u8; 16]> {
    let text = request_id.as_str();
    let has_form = matches!(text.len(), 32 | 36) && !names_somebody(text.as_bytes());
    let id = Uuid::try_parse(text).ok().filter(|_| has_form)?.into_bytes();
    (id != [0; 16]).then_some(id)
}

/// Whether eleven digits in a row are a personal code. A trace stands in every line of the log, where none may stand (Contract 7.8);
/// of ids drawn by chance this costs one in some thousand its name.
fn names_somebody(text: &[u8]) -> bool {
    text.windows(11).any(|digits| {
        digits.iter().all(u8::is_ascii_digit)
            && std::str::from_utf8(digits).is_ok_and(|digits| PersonalCode::parse(digits).is_ok())
    })
}

/// Small hexadecimal digits, two a byte; large ones are wrong here.
fn hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    (digits.len() == 2 * N).then_some(bytes)
}

fn span() -> [u8; 8] {
    let span = *random().first_chunk().expect("eight of sixteen bytes");
    if span == [0; 8] { [1; 8] } else { span }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;
    use crate::http::request_id::REQUEST_ID;

    const ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    fn of(headers: &[(HeaderName, &str)]) -> Traced {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        Traced::of(&map, &RequestId::of(&map))
    }

    fn id(traced: Traced) -> String {
        base::hex::Hex(&traced.trace.id).to_string()
    }

    #[test]
    fn the_callers_trace_goes_on_with_a_part_of_its_own() {
        for (flags, is_sampled) in [("00", false), ("01", true), ("03", true), ("fe", false)] {
            let traced = of(&[(TRACEPARENT, &format!("00-{ID}-{SPAN}-{flags}"))]);
            assert_eq!((id(traced).as_str(), traced.trace.is_sampled), (ID, is_sampled));
            let mut response = Response::new(());
            traced.give_back(&mut response);
            let back = response.headers()[TRACEPARENT].to_str().unwrap();
            assert!(back.starts_with(&format!("00-{ID}-")) && !back.contains(SPAN), "{back}");
            assert_eq!(back.len(), 55);
        }
        let later = of(&[(TRACEPARENT, &format!("cc-{ID}-{SPAN}-01-what-comes-later"))]);
        assert_eq!(id(later), ID);
        let one = of(&[(TRACEPARENT, &format!("00-{ID}-{SPAN}-00"))]);
        assert_ne!(one.trace.span, later.trace.span);
    }

    #[test]
    fn what_is_no_trace_is_not_taken_over_and_not_given_back() {
        let good = format!("00-{ID}-{SPAN}-01");
        for wrong in [
            "",
            "00",
            &good[..54],
            &format!("{good}-"),
            &format!("{good}0"),
            &format!("ff{}", &good[2..]),
            &format!("cc{}x", &good[2..]),
            &good.to_uppercase(),
            &good.replace('-', "_"),
            &format!("00-{}-{SPAN}-01", "0".repeat(32)),
            &format!("00-{ID}-{}-01", "0".repeat(16)),
            &format!("00-{ID}-{SPAN}-0g"),
            &format!("0g-{ID}-{SPAN}-01"),
            // A personal code within.
            &format!("00-{}37605030299-{SPAN}-01", "a".repeat(21)),
        ] {
            let traced = of(&[(TRACEPARENT, wrong)]);
            assert!(id(traced) != ID && !traced.is_told, "{wrong}");
        }
        let twice = of(&[(TRACEPARENT, &good), (TRACEPARENT, &good)]);
        assert_ne!(id(twice), ID);
    }

    #[test]
    fn a_request_id_that_is_a_uuid_is_the_trace_too() {
        for given in [ID.to_owned(), ID.to_uppercase(), Uuid::parse_str(ID).unwrap().to_string()] {
            let traced = of(&[(REQUEST_ID, &given)]);
            assert_eq!((id(traced).as_str(), traced.is_told), (ID, false), "{given}");
        }
        for given in ["abc", &"0".repeat(32), &format!("{{{ID}}}"), &format!("{}37605030299", "a".repeat(21))] {
            assert_ne!(id(of(&[(REQUEST_ID, given)])), *given, "{given}");
        }
        let both = of(&[(TRACEPARENT, &format!("00-{ID}-{SPAN}-01")), (REQUEST_ID, &"ab".repeat(16))]);
        assert_eq!(id(both), ID, "what says trace says it louder");
    }

    #[test]
    fn a_request_id_that_is_made_is_the_trace_too() {
        let made = RequestId::of(&HeaderMap::new());
        let traced = Traced::of(&HeaderMap::new(), &made);
        assert_eq!(id(traced), made.as_str());
        assert_ne!(id(of(&[])), id(of(&[])));
    }
}

//! Faults on demand: what the registry is to do wrong, said by a rule of the settings or by the header `x-hcert-fault`. Contract 6.4.

mod rules;

use std::time::Duration;

use fhir::outcome::reflected::{self, ReflectedCode};
pub use rules::{ArmedFault, FaultRules};

/// Codes of a fault. The longest chain there is has three; eight leave room for one that a registry should never send.
const FAULT_CODES_MAX: usize = 8;

/// Seconds a fault delays an answer. Every timeout of the settings can be reached, and nothing waits for ever.
const FAULT_SLOW_S_MAX: u64 = 60;

/// One fault: the answer is held back, and then something goes wrong.
#[derive(Clone, Debug)]
pub struct InjectedFault {
    /// Before anything else happens; zero when nothing is held back.
    pub delay: Duration,
    /// Nothing: the registry answers as ever, only later.
    pub effect: Option<FaultEffect>,
}

/// What goes wrong.
#[derive(Clone, Debug)]
pub enum FaultEffect {
    /// The registry refuses with these issues, the original error last.
    Chain(Vec<&'static ReflectedCode>),
    /// No answer ever comes.
    Timeout,
    /// The connection is refused.
    Refuse,
    /// An answer that is no FHIR.
    Garbage,
}

/// What may stand for a fault, for messages.
pub const ALLOWED: &str =
    "codes (MPI-029/XRR200/10001), timeout, refuse, garbage, slow=2s, slow=150ms, or slow=2s,MPI-021";

impl InjectedFault {
    /// Reads a fault: `MPI-029/XRR200/10001`, `timeout`, `refuse`, `garbage`, `slow=2s`, `slow=150ms`, or `slow=2s,` and one of the
    /// first four. In front of the first code comes the chain that leads to it: `10001` means the same as the first example.
    /// Contract 6.4.
    ///
    /// # Errors
    /// What is wrong, and what is allowed.
    pub fn parse(text: &str) -> Result<InjectedFault, String> {
        let Some(behind) = text.strip_prefix("slow=") else {
            return Ok(InjectedFault { delay: Duration::ZERO, effect: Some(effect(text)?) });
        };
        match behind.split_once(',') {
            Some((delay, behind)) => Ok(InjectedFault { delay: duration(delay)?, effect: Some(effect(behind)?) }),
            None => Ok(InjectedFault { delay: duration(behind)?, effect: None }),
        }
    }
}

fn effect(text: &str) -> Result<FaultEffect, String> {
    match text {
        "timeout" => Ok(FaultEffect::Timeout),
        "refuse" => Ok(FaultEffect::Refuse),
        "garbage" => Ok(FaultEffect::Garbage),
        _ => chain(text).map(FaultEffect::Chain),
    }
}

fn chain(text: &str) -> Result<Vec<&'static ReflectedCode>, String> {
    if text.split('/').count() > FAULT_CODES_MAX {
        return Err(format!("a fault has at most {FAULT_CODES_MAX} codes"));
    }
    let read = |code: &str| {
        reflected::find(code).ok_or_else(|| format!("'{}' is no fault; allowed are {ALLOWED}", shortened(code)))
    };
    let named = text.split('/').map(read).collect::<Result<Vec<_>, _>>()?;
    let (first, others) = named.split_first().expect("a text has at least one part");
    let mut entries = first.chain();
    entries.extend(others);
    Ok(entries)
}

fn duration(text: &str) -> Result<Duration, String> {
    let number = |digits: &str| match digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => digits.parse::<u64>().ok(),
        false => None,
    };
    let milliseconds = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(digits), _) => number(digits),
        (None, Some(digits)) => number(digits).and_then(|seconds| seconds.checked_mul(1000)),
        (None, None) => None,
    };
    match milliseconds {
        Some(milliseconds) if milliseconds <= FAULT_SLOW_S_MAX * 1000 => Ok(Duration::from_millis(milliseconds)),
        _ => Err(format!(
            "'{}' is no delay; allowed are whole seconds (2s) or milliseconds (150ms) up to {FAULT_SLOW_S_MAX}s",
            shortened(text)
        )),
    }
}

/// What came from outside, no longer than a message can bear.
fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fault as short text.
    fn told(text: &str) -> String {
        let InjectedFault { delay, effect } = InjectedFault::parse(text).unwrap();
        let effect = match effect {
            None => "-".to_owned(),
            Some(FaultEffect::Chain(entries)) => {
                entries.iter().map(|entry| entry.code.as_str()).collect::<Vec<_>>().join(" ")
            }
            Some(other) => format!("{other:?}"),
        };
        format!("{} {effect}", delay.as_millis())
    }

    #[test]
    fn a_fault_is_a_chain_a_word_or_a_delay_and_one_of_them() {
        for (text, expected) in [
            ("MPI-029/XRR200/10001", "0 MPI-029 XRR200 10001"),
            ("MPI-025.01", "0 MPI-025.01"),
            ("10001", "0 MPI-029 XRR200 10001"),
            ("10027", "0 MPI-029 XRR300 10027"),
            ("XRR300/10001", "0 MPI-029 XRR300 10001"),
            ("50", "0 MPI-040 XR_TOR-100 50"),
            ("slow=5ms,XTK200", "5 MPI-043 XTK200"),
            ("timeout", "0 Timeout"),
            ("refuse", "0 Refuse"),
            ("garbage", "0 Garbage"),
            ("slow=2s", "2000 -"),
            ("slow=150ms", "150 -"),
            ("slow=0s", "0 -"),
            ("slow=60s", "60000 -"),
            ("slow=60000ms", "60000 -"),
            ("slow=2s,MPI-021", "2000 MPI-021"),
            ("slow=5ms,timeout", "5 Timeout"),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
        let eight = ["MPI-021"; FAULT_CODES_MAX].join("/");
        assert_eq!(told(&eight).split(' ').count(), FAULT_CODES_MAX + 1);
    }

    #[test]
    fn every_chain_of_the_catalogue_is_a_fault_by_any_of_its_ends() {
        for entry in reflected::all() {
            let codes: Vec<&str> = entry.chain().iter().map(|entry| entry.code.as_str()).collect();
            for named in 0..codes.len() {
                assert_eq!(told(&codes[named..].join("/")), format!("0 {}", codes.join(" ")));
            }
        }
    }

    #[test]
    fn what_is_no_fault_is_told_with_what_would_be_one() {
        for text in [
            "",
            "/",
            "MPI-021/",
            "MPI-999",
            "mpi-021",
            "HCERT-008",
            "Timeout",
            "timeout,slow=1s",
            "slow",
            "slow=",
            "slow=2",
            "slow=s",
            "slow=ms",
            "slow=-1s",
            "slow=+1s",
            "slow=1.5s",
            "slow=61s",
            "slow=60001ms",
            "slow=99999999999999999999s",
            "slow=18446744073709551s",
            "slow=2s,",
            "slow=2s,slow=2s",
            "slow=2s,timeout,refuse",
            "ä/𝕏",
        ] {
            let refusal = InjectedFault::parse(text).unwrap_err();
            assert!(refusal.contains("allowed are"), "{text}: {refusal}");
        }
        let nine = ["MPI-021"; FAULT_CODES_MAX + 1].join("/");
        assert_eq!(InjectedFault::parse(&nine).unwrap_err(), "a fault has at most 8 codes");
        // An issue has room for 200 characters of a value.
        assert!(InjectedFault::parse(&"ä".repeat(10_000)).unwrap_err().chars().count() <= 200);
    }
}

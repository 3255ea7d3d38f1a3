//! What a bench is asked to do, and how it tells how far it has come.

use std::path::PathBuf;
use std::time::Duration;

use super::client::BenchTarget;
use super::scenario::{SCENARIOS, Scenario};
use crate::corpus::limits::CORPUS_CERTIFICATES_MAX;
use certificate::Renaming;

/// What to measure.
#[derive(Clone, Debug)]
pub struct BenchPlan {
    /// Numbers of certificates, rising.
    pub counts: Vec<u64>,
    pub seed: u64,
    /// The scratch folder.
    pub data: PathBuf,
    pub keep: bool,
    pub clients: usize,
    /// Of each scenario.
    pub time: Duration,
    pub scenarios: Vec<&'static Scenario>,
    /// Another server, as it was named and as it is reached.
    pub against: Option<(String, BenchTarget)>,
    /// Settings that differ from their defaults.
    pub settings: Vec<(String, String)>,
    /// To the namespaces that these settings lead to; another server may have them too.
    pub renaming: Renaming,
}

/// Is told how far a bench has come.
pub trait Watch {
    /// Something begins that takes so many steps, or nobody knows how many.
    fn phase(&self, words: &str, steps: Option<u64>);
    /// So many of the steps are done.
    fn at(&self, steps: u64);
    /// A line of the table on the terminal.
    fn line(&self, line: &str);
}

/// `1000`, `1k` or `10M`.
///
/// # Errors
/// What is wrong with it.
pub fn parse_count(text: &str) -> Result<u64, String> {
    let (digits, times) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => text.strip_suffix('M').map_or((text, 1), |digits| (digits, 1_000_000)),
    };
    let wrong = || format!("'{text}' is not a number of certificates, such as 1000, 10k or 1M");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    match digits.parse::<u64>().ok().and_then(|number| number.checked_mul(times)) {
        Some(0) => Err("at least one certificate has to be there".to_owned()),
        Some(count) if count <= CORPUS_CERTIFICATES_MAX => Ok(count),
        _ => Err(format!("at most {CORPUS_CERTIFICATES_MAX} certificates can be generated")),
    }
}

/// A scenario by its name.
///
/// # Errors
/// Lists the names there are.
pub fn parse_scenario(name: &str) -> Result<&'static Scenario, String> {
    let known = || SCENARIOS.iter().map(|scenario| scenario.name).collect::<Vec<_>>().join(", ");
    Scenario::named(name).ok_or_else(|| format!("'{name}' is no scenario; there are: {}", known()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_with_their_thousands_and_millions() {
        for (text, count) in [("1", 1), ("1000", 1_000), ("1k", 1_000), ("25K", 25_000), ("10M", 10_000_000)] {
            assert_eq!(parse_count(text), Ok(count));
        }
        for (text, words) in [
            ("0", "at least one"),
            ("0k", "at least one"),
            ("k", "'k' is not a number"),
            ("", "'' is not a number"),
            ("-5", "'-5' is not a number"),
            ("1.5k", "is not a number"),
            ("1G", "is not a number"),
            ("101M", "at most 100000000"),
            ("99999999999999999999k", "at most"),
        ] {
            assert!(parse_count(text).unwrap_err().contains(words), "{text}");
        }
    }

    #[test]
    fn an_unknown_scenario_lists_the_known_ones() {
        assert_eq!(parse_scenario("read").unwrap().name, "read");
        let told = parse_scenario("raed").unwrap_err();
        assert!(told.contains("'raed'") && told.contains("read, vread") && told.contains("create-64"), "{told}");
    }
}

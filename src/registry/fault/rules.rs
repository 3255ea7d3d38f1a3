//! The rules: which calls of the registry fail, how, how likely and how often. The settings give the first ones; `hcert dev` takes others
//! while it runs.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use super::InjectedFault;
use crate::config::FaultRule;
use crate::config::limits::FAULT_RULES_MAX;

/// Every rule, in the order in which they came. Calls at the same time may ask it; what a rule counts is counted once.
#[derive(Debug, Default)]
pub struct FaultRules {
    rules: RwLock<Vec<ActiveFaultRule>>,
    /// How many there are, for the many calls that none is meant for.
    count: AtomicUsize,
    /// Rules so far: the number of the next.
    armed: AtomicU64,
}

/// A rule as people see it.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmedFault {
    /// Tells it from others.
    pub number: u64,
    pub rule: FaultRule,
    /// Calls that it struck so far.
    pub struck: u64,
    /// Strikes left. `None`: without end.
    pub left: Option<u64>,
}

#[derive(Debug)]
struct ActiveFaultRule {
    number: u64,
    rule: FaultRule,
    struck: AtomicU64,
    pattern: IdentifierPattern,
    fault: InjectedFault,
    /// 0 to 1.
    probability: f64,
    seed: u64,
    /// Calls that fitted so far: the place in the sequence of chances.
    fitted: AtomicU64,
    /// Strikes left.
    left: AtomicU64,
}

#[derive(Debug)]
enum IdentifierPattern {
    /// Compared with what follows `|`, or with all of it when the pattern has a `|` itself.
    Identifier(String),
    Path(String),
}

impl FaultRules {
    /// Reads rules whose form the settings have checked.
    ///
    /// # Errors
    /// Every fault that cannot be read, with the number of its rule, one per line.
    pub fn new(rules: &[FaultRule]) -> Result<FaultRules, String> {
        let mut problems = Vec::new();
        let mut read = Vec::with_capacity(rules.len());
        for (number, rule) in rules.iter().enumerate() {
            match ActiveFaultRule::new(number as u64, rule) {
                Ok(rule) => read.push(rule),
                Err(problem) => problems.push(format!("registry.fault[{number}]: {problem}")),
            }
        }
        if !problems.is_empty() {
            return Err(problems.join("\n"));
        }
        let count = read.len();
        Ok(FaultRules { rules: RwLock::new(read), count: count.into(), armed: AtomicU64::new(count as u64) })
    }

    /// Whether no rule can ever strike.
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// What a call is to suffer. `path` is below the base (`/Patient/200`), without query; `identifiers` are those it asks for, as
    /// `system|value` or a bare value.
    ///
    /// The first rule that fits strikes; one that is used up, or that chance passes over, leaves the call to the next.
    pub fn strike(&self, path: &str, identifiers: &[&str]) -> Option<InjectedFault> {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        rules.iter().find(|rule| rule.fits(path, identifiers) && rule.strikes()).map(|rule| rule.fault.clone())
    }

    /// Every rule, also those that are used up.
    pub fn list(&self) -> Vec<ArmedFault> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner).iter().map(ActiveFaultRule::told).collect()
    }

    /// Adds a rule behind those that are there; its number comes back.
    ///
    /// # Errors
    /// The rule is none that the settings would take, the fault cannot be read, or there are too many rules.
    pub fn arm(&self, rule: &FaultRule) -> Result<u64, String> {
        let problems = rule.problems();
        if !problems.is_empty() {
            return Err(problems.into_iter().map(|problem| format!("fault{problem}")).collect::<Vec<_>>().join("; "));
        }
        let number = self.armed.fetch_add(1, Ordering::Relaxed);
        let armed = ActiveFaultRule::new(number, rule)?;
        self.change(|rules| match rules.len() < FAULT_RULES_MAX {
            true => {
                rules.push(armed);
                Ok(number)
            }
            false => Err(format!("there are {FAULT_RULES_MAX} rules already; take some away")),
        })
    }

    /// Takes a rule away, or all of them.
    pub fn disarm(&self, number: Option<u64>) {
        self.change(|rules| rules.retain(|rule| number.is_some_and(|number| number != rule.number)));
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<ActiveFaultRule>) -> T) -> T {
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut rules);
        self.count.store(rules.len(), Ordering::Relaxed);
        changed
    }
}

impl ArmedFault {
    /// Whether it may strike again.
    pub fn is_live(&self) -> bool {
        self.left != Some(0)
    }
}

impl ActiveFaultRule {
    fn new(number: u64, rule: &FaultRule) -> Result<ActiveFaultRule, String> {
        let pattern = match (&rule.identifier, &rule.path) {
            (Some(identifier), None) => IdentifierPattern::Identifier(identifier.clone()),
            (None, Some(path)) => IdentifierPattern::Path(path.clone()),
            _ => return Err("it needs either an identifier or a path".to_owned()),
        };
        Ok(ActiveFaultRule {
            number,
            rule: rule.clone(),
            struck: AtomicU64::new(0),
            pattern,
            fault: InjectedFault::parse(&rule.fault)?,
            probability: rule.probability,
            seed: rule.seed,
            fitted: AtomicU64::new(0),
            left: AtomicU64::new(rule.times.unwrap_or(u64::MAX)),
        })
    }

    fn fits(&self, path: &str, identifiers: &[&str]) -> bool {
        match &self.pattern {
            IdentifierPattern::Path(pattern) => is_like(path, pattern),
            IdentifierPattern::Identifier(pattern) => {
                identifiers.iter().any(|identifier| match pattern.contains('|') {
                    true => is_like(identifier, pattern),
                    false => is_like(identifier.split_once('|').map_or(*identifier, |(_, value)| value), pattern),
                })
            }
        }
    }

    fn strikes(&self) -> bool {
        let at = self.fitted.fetch_add(1, Ordering::Relaxed);
        let less = |left: u64| if left == u64::MAX { Some(left) } else { left.checked_sub(1) };
        let strikes = chance(self.seed, at) < self.probability
            && self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok();
        if strikes {
            self.struck.fetch_add(1, Ordering::Relaxed);
        }
        strikes
    }

    fn told(&self) -> ArmedFault {
        let left = self.left.load(Ordering::Relaxed);
        ArmedFault {
            number: self.number,
            rule: self.rule.clone(),
            struck: self.struck.load(Ordering::Relaxed),
            left: (left != u64::MAX).then_some(left),
        }
    }
}

/// Whether a text is like a pattern, whose `*` stand for anything, also for nothing.
fn is_like(text: &str, pattern: &str) -> bool {
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    let (mut at, mut wanted) = (0, 0);
    // Where to go on when what follows the last star does not fit: the star takes one byte more.
    let mut again: Option<(usize, usize)> = None;
    while at < text.len() {
        match (pattern.get(wanted), again) {
            (Some(b'*'), _) => {
                again = Some((at, wanted + 1));
                wanted += 1;
            }
            (Some(byte), _) if *byte == text[at] => (at, wanted) = (at + 1, wanted + 1),
            (_, Some((taken, behind))) => {
                again = Some((taken + 1, behind));
                (at, wanted) = (taken + 1, behind);
            }
            (_, None) => return false,
        }
    }
    pattern[wanted..].iter().all(|byte| *byte == b'*')
}

/// A number from 0 to below 1, the same for the same seed and place each time (SplitMix64).
fn chance(seed: u64, at: u64) -> f64 {
    let mut mixed = seed.wrapping_add(at.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::limits::FAULT_PATTERN_CHARACTERS_MAX;
    use crate::registry::fault::FaultEffect;

    fn rule(identifier: Option<&str>, path: Option<&str>, fault: &str) -> FaultRule {
        FaultRule {
            identifier: identifier.map(str::to_owned),
            path: path.map(str::to_owned),
            fault: fault.to_owned(),
            probability: 1.0,
            seed: 0,
            times: None,
        }
    }

    fn code(fault: Option<InjectedFault>) -> Option<String> {
        match fault?.effect {
            Some(FaultEffect::Chain(entries)) => entries.last().map(|entry| entry.code.clone()),
            other => Some(format!("{other:?}")),
        }
    }

    #[test]
    fn a_star_stands_for_anything_and_nothing_else_does() {
        for (pattern, like, unlike) in [
            ("*", &["", "a", "**"][..], &[][..]),
            ("", &[""], &["a"]),
            ("/Patient/2*", &["/Patient/2", "/Patient/200", "/Patient/200/_history/1"], &["/Patient/12", "/Patient"]),
            ("*299", &["299", "37605030299", "299299"], &["2990", "29", ""]),
            ("a*b*c", &["abc", "axxbxxc", "abbcc", "abcbc"], &["ab", "acb", "abcx"]),
            ("a**c", &["ac", "abc"], &["ab"]),
            ("ä?", &["ä?"], &["äx", "ä"]),
        ] {
            like.iter().for_each(|text| assert!(is_like(text, pattern), "{text} {pattern}"));
            unlike.iter().for_each(|text| assert!(!is_like(text, pattern), "{text} {pattern}"));
        }
        // A pattern of stars costs its length times the text's, not more.
        assert!(!is_like(&"a".repeat(100_000), &format!("{}b", "*a".repeat(200))));
    }

    #[test]
    fn a_rule_is_about_an_identifier_with_or_without_its_system_or_about_a_path() {
        let rules = [
            rule(Some("376*"), None, "MPI-021"),
            rule(Some("https://fhir.ee/sid/pid/fin/*|X1"), None, "MPI-044"),
            rule(None, Some("/Patient/2*"), "MPI-072"),
        ];
        let rules = FaultRules::new(&rules).unwrap();
        for (path, identifiers, expected) in [
            ("/Patient", &["https://fhir.ee/sid/pid/est/ni|37605030299"][..], Some("MPI-021")),
            ("/Patient", &["37605030299"], Some("MPI-021")),
            ("/Patient", &["y", "https://fhir.ee/sid/pid/fin/ppn|X1"], Some("MPI-044")),
            ("/Patient", &["https://fhir.ee/sid/pid/fin/ppn|X2", "X1", "376|0"], None),
            ("/Patient/200/_history/1", &[], Some("MPI-072")),
            ("/Patient", &[], None),
        ] {
            assert_eq!(code(rules.strike(path, identifiers)).as_deref(), expected, "{path} {identifiers:?}");
        }
    }

    #[test]
    fn a_rule_that_is_used_up_leaves_the_call_to_the_next() {
        let mut twice = rule(None, Some("*"), "timeout");
        twice.times = Some(2);
        let rules = FaultRules::new(&[twice, rule(None, Some("*"), "slow=1s")]).unwrap();
        let told = || rules.strike("/Patient", &[]).unwrap().effect.is_some();
        assert_eq!([told(), told(), told(), told()], [true, true, false, false]);
    }

    #[test]
    fn rules_come_and_go_while_calls_are_made() {
        let rules = FaultRules::default();
        assert!(rules.is_empty() && rules.strike("/Patient", &[]).is_none());
        let once = FaultRule { times: Some(1), ..rule(None, Some("*"), "refuse") };
        assert_eq!((rules.arm(&once), rules.arm(&rule(None, Some("*"), "slow=1s"))), (Ok(0), Ok(1)));
        assert!(rules.strike("/Patient", &[]).unwrap().effect.is_some());
        assert!(rules.strike("/Patient", &[]).unwrap().effect.is_none());
        let told: Vec<_> = rules.list().into_iter().map(|armed| (armed.number, armed.struck, armed.left)).collect();
        assert_eq!(told, [(0, 1, Some(0)), (1, 1, None)]);
        assert_eq!(rules.list().iter().map(ArmedFault::is_live).collect::<Vec<_>>(), [false, true]);
        rules.disarm(Some(1));
        assert!(!rules.is_empty() && rules.strike("/Patient", &[]).is_none());
        rules.disarm(None);
        assert!(rules.is_empty() && rules.list().is_empty());
        assert!(rules.arm(&rule(None, Some("*"), "MPI-999")).unwrap_err().contains("is no fault"));
        assert!(rules.arm(&rule(None, Some("Patient"), "refuse")).unwrap_err().starts_with("fault.path = 'Patient'"));
        let long = "1".repeat(FAULT_PATTERN_CHARACTERS_MAX + 1);
        assert!(
            rules.arm(&rule(Some(&long), None, "refuse")).unwrap_err().starts_with("fault: its pattern needs 1 to")
        );
        assert!(rules.arm(&rule(None, None, "refuse")).is_err() && rules.is_empty());
        for number in 0..FAULT_RULES_MAX {
            assert!(rules.arm(&once).is_ok(), "{number}");
        }
        assert!(rules.arm(&once).unwrap_err().contains("already"));
    }

    #[test]
    fn no_strike_is_counted_twice_by_calls_at_the_same_time() {
        let mut some = rule(None, Some("*"), "refuse");
        some.times = Some(1000);
        let rules = FaultRules::new(&[some]).unwrap();
        let count = || (0..500).filter(|_| rules.strike("/Patient", &[]).is_some()).count();
        let total: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(count)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(total, 1000);
    }

    #[test]
    fn chance_strikes_as_often_as_it_should_and_the_same_calls_every_time() {
        let strikes = |seed: u64, probability: f64| {
            let rules = FaultRules::new(&[FaultRule { probability, seed, ..rule(None, Some("*"), "refuse") }]).unwrap();
            (0..10_000).map(|_| rules.strike("/", &[]).is_some()).collect::<Vec<bool>>()
        };
        let count = |strikes: &[bool]| strikes.iter().filter(|strike| **strike).count();
        assert!((2_800..3_200).contains(&count(&strikes(7, 0.3))));
        assert_eq!((count(&strikes(7, 0.0)), count(&strikes(7, 1.0))), (0, 10_000));
        assert_eq!(strikes(7, 0.3), strikes(7, 0.3));
        assert_ne!(strikes(7, 0.3), strikes(8, 0.3));
    }

    #[test]
    fn every_rule_that_cannot_be_read_is_told_with_its_number() {
        let wrong = [rule(None, None, "timeout"), rule(None, Some("*"), "timeout"), rule(Some("a"), None, "MPI-999")];
        let refusal = FaultRules::new(&wrong).unwrap_err();
        assert_eq!(refusal.lines().count(), 2, "{refusal}");
        assert!(
            refusal.starts_with("registry.fault[0]: it needs") && refusal.contains("\nregistry.fault[2]: 'MPI-999'")
        );
    }
}

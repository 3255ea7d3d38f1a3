//! Level and sampling of the log while the service runs.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};

use super::{event, sample, set_sample};

/// Successful answers that share one line, at most.
const LOG_SAMPLE_MAX: u32 = 1_000_000;

/// Modules that have a level of their own.
const LOG_TARGETS_MAX: usize = 20;

/// The levels, the most important first.
pub const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// What is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogState {
    /// Level of every module of hcert that has none of its own: one of [`LEVELS`].
    pub level: String,
    /// Modules with a level of their own, such as `hcert::answers`.
    pub targets: BTreeMap<String, String>,
    /// Of successful answers one in so many has a line.
    pub sample: u32,
}

/// What is to be changed; what is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogOrder {
    /// The new level: one of [`LEVELS`].
    pub level: Option<String>,
    /// The level is for this module; without it, for all, and modules have none of their own any more.
    pub target: Option<String>,
    /// The new sampling: of so many successful answers one has a line, 1 to 1,000,000.
    pub sample: Option<u32>,
}

impl LogOrder {
    /// Whether the order changes anything: it sets a level, a target or the sampling.
    pub fn changes(&self) -> bool {
        *self != LogOrder::default()
    }

    /// Whether the order can be followed, as far as it says itself.
    ///
    /// # Errors
    /// As [`LogState::after`].
    pub fn check(&self) -> Result<(), String> {
        let any = LogState { level: LEVELS[0].to_owned(), targets: BTreeMap::new(), sample: 1 };
        any.after(self).map(drop)
    }
}

impl LogState {
    /// As `tracing_subscriber::EnvFilter` reads it. Libraries would show headers and addresses of requests below `warn`, and those hold
    /// personal codes.
    pub fn directives(&self) -> String {
        let own = self.targets.iter().map(|(target, level)| format!(",{target}={level}"));
        format!("warn,hcert={}{}", self.level, own.collect::<String>())
    }

    /// The state after an order.
    ///
    /// # Errors
    /// A level, target or number that is none, in words for the person at the terminal.
    pub fn after(&self, order: &LogOrder) -> Result<LogState, String> {
        let mut state = self.clone();
        if let Some(sample) = order.sample {
            if !(1..=LOG_SAMPLE_MAX).contains(&sample) {
                return Err(format!("--sample {sample} is out of range: 1 to {LOG_SAMPLE_MAX}"));
            }
            state.sample = sample;
        }
        match (&order.level, &order.target) {
            (None, None) => {}
            (None, Some(_)) => return Err("--target needs a level".to_owned()),
            (Some(level), _) if !LEVELS.contains(&level.as_str()) => {
                return Err(format!("there is no level '{level}'; known are: {}", LEVELS.join(", ")));
            }
            (Some(level), None) => {
                state.level.clone_from(level);
                state.targets.clear();
            }
            (Some(level), Some(target)) => {
                if !is_own(target) {
                    let why = "lines of libraries below 'warn' would show headers of requests";
                    return Err(format!("'{target}' is no module of hcert, such as hcert::answers; {why}"));
                }
                state.targets.insert(target.clone(), level.clone());
                if state.targets.len() > LOG_TARGETS_MAX {
                    return Err(format!("{LOG_TARGETS_MAX} modules have a level of their own already"));
                }
            }
        }
        Ok(state)
    }
}

/// Whether a target is a module of this service.
fn is_own(target: &str) -> bool {
    let mut parts = target.split("::");
    let is_name = |part: &str| part.bytes().all(|byte| byte.is_ascii_lowercase() || b"_0123456789".contains(&byte));
    target.len() <= 100 && parts.next() == Some("hcert") && parts.all(|part| !part.is_empty() && is_name(part))
}

type Apply = Box<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

/// The log of this process.
struct Control {
    state: Mutex<LogState>,
    apply: Apply,
}

static CONTROL: OnceLock<Control> = OnceLock::new();

/// Makes the log of this process known: what is written now, and how directives are put in force.
pub fn install(level: &str, apply: Apply) {
    let state = LogState { level: level.to_owned(), targets: BTreeMap::new(), sample: sample() };
    // A process starts its log once.
    drop(CONTROL.set(Control { state: Mutex::new(state), apply }));
}

/// Changes what is written, and says in the log that it did; returns what holds now.
///
/// # Errors
/// As [`LogState::after`]; this process keeps no log.
pub fn change(order: &LogOrder) -> Result<LogState, String> {
    let control = CONTROL.get().ok_or("this process keeps no log")?;
    let mut state = control.state.lock().unwrap_or_else(PoisonError::into_inner);
    let next = state.after(order)?;
    if next == *state {
        return Ok(next);
    }
    let tell = || {
        let (levels, sample) = (next.directives(), next.sample);
        event!(LOG_CHANGED, levels, sample);
    };
    let rank = |state: &LogState| LEVELS.iter().position(|level| *level == state.level);
    // The more talkative of the two levels shows the line.
    let is_quieter = rank(&next) < rank(&state);
    if is_quieter {
        tell();
    }
    (control.apply)(&next.directives())?;
    set_sample(next.sample);
    if !is_quieter {
        tell();
    }
    state.clone_from(&next);
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(level: &str, target: &str, sample: Option<u32>) -> LogOrder {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        LogOrder { level: text(level), target: text(target), sample }
    }

    #[test]
    fn an_order_changes_what_it_names() {
        let state = LogState { level: "info".to_owned(), targets: BTreeMap::new(), sample: 1 };
        assert_eq!(state.directives(), "warn,hcert=info");
        assert_eq!(state.after(&order("", "", None)).as_ref(), Ok(&state));
        let http = state.after(&order("debug", "hcert::answers", Some(100))).unwrap();
        assert_eq!((http.directives().as_str(), http.sample), ("warn,hcert=info,hcert::answers=debug", 100));
        let all = http.after(&order("warn", "", None)).unwrap();
        assert_eq!((all.directives().as_str(), all.sample), ("warn,hcert=warn", 100));
    }

    #[test]
    fn what_is_no_level_of_our_own_modules_is_refused() {
        let state = LogState { level: "info".to_owned(), targets: BTreeMap::new(), sample: 1 };
        for (level, target, sample) in [
            ("loud", "", None),
            ("INFO", "", None),
            ("off", "", None),
            ("info,hyper=trace", "", None),
            ("trace", "hyper", None),
            ("trace", "hcert2", None),
            ("trace", "hcert::", None),
            ("trace", "hcert::answers,h2", None),
            ("trace", "hcert[x]", None),
            ("", "hcert::answers", None),
            ("", "", Some(0)),
            ("", "", Some(LOG_SAMPLE_MAX + 1)),
        ] {
            assert!(state.after(&order(level, target, sample)).is_err(), "{level} {target} {sample:?}");
        }
        let many = (0..LOG_TARGETS_MAX)
            .fold(state, |state, number| state.after(&order("debug", &format!("hcert::m{number}"), None)).unwrap());
        assert!(many.after(&order("debug", "hcert::one_more", None)).is_err());
    }
}

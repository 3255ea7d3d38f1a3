//! R5's own invariants of severity `error`, each where it is defined.
//!
//! They stand in `data/r5-invariants.txt` (`data/r5-invariants.py` explains its form). An expression is read when a value it is
//! about first comes along.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use super::fhirpath::Expression;
pub use crate::element::Invariant;

const TEXT: &str = include_str!("../../../data/r5-invariants.txt");

/// Those that need more than FHIRPath gives, or that FHIRPath would take long for: they are asked in Rust.
///
/// - `dom-2`, `ele-1`: the walk over a body's shape finds them, but for an element with nothing besides its id.
/// - `dom-3` looks at all descendants for each contained resource, `ref-1` at all contained ones for each reference.
/// - `txt-1`, `txt-2` are `htmlChecks()`, which FHIRPath has no words for.
/// - `per-1`, `rng-2`, `ratrng-2` compare limits of values whose precision differs.
pub const NATIVE: [&str; 10] =
    ["dom-2", "dom-3", "ele-1", "ext-1", "per-1", "ratrng-2", "ref-1", "rng-2", "txt-1", "txt-2"];

impl Invariant {
    /// Its expression; nothing where it is one of [`NATIVE`].
    pub fn expression(&self) -> Option<&Expression> {
        let read = || {
            let is_native = NATIVE.contains(&self.key);
            (!is_native).then(|| Expression::parse(self.text).expect("a test reads every invariant"))
        };
        EXPRESSIONS[self.number].get_or_init(read).as_ref()
    }
}

/// What was read of each, by its number.
static EXPRESSIONS: LazyLock<Vec<OnceLock<Option<Expression>>>> =
    LazyLock::new(|| lines().map(|_| OnceLock::new()).collect());

fn lines() -> impl Iterator<Item = &'static str> {
    TEXT.lines().filter(|line| !line.starts_with('#'))
}

static INVARIANTS: LazyLock<HashMap<&'static str, Vec<Invariant>>> = LazyLock::new(|| {
    let mut invariants: HashMap<&str, Vec<Invariant>> = HashMap::new();
    for (number, line) in lines().enumerate() {
        let mut fields = line.split('\t');
        let mut field = || fields.next().expect("the table was written by its script, and a test reads all of it");
        let (path, key, text, human) = (field(), field(), field(), field());
        invariants.entry(path).or_default().push(Invariant { key, human, text, number });
    }
    invariants
});

/// The invariants defined at a path: a type (`Period`), a backbone element or another element (`Narrative.div`).
pub fn at(path: &str) -> &'static [Invariant] {
    INVARIANTS.get(path).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_invariant_can_be_asked() {
        for (path, invariants) in INVARIANTS.iter() {
            for invariant in invariants.iter().filter(|invariant| !NATIVE.contains(&invariant.key)) {
                let read = Expression::parse(invariant.text);
                assert!(read.is_ok(), "{path} {}: {} in {}", invariant.key, read.unwrap_err(), invariant.text);
            }
        }
    }

    #[test]
    fn every_path_is_a_type_or_an_element() {
        for path in INVARIANTS.keys() {
            let is_element = || {
                let (parent, name) = path.rsplit_once('.')?;
                let name = name.trim_end_matches("[x]");
                crate::element::of(parent)?.elements.iter().find(|element| element.name == name)
            };
            assert!(crate::element::of(path).is_some() || is_element().is_some(), "{path}");
        }
    }

    #[test]
    fn what_is_asked_in_rust_is_in_the_table() {
        for key in NATIVE {
            assert!(INVARIANTS.values().flatten().any(|invariant| invariant.key == key), "{key}");
        }
    }
}

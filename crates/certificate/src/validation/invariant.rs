//! Invariants: those of R5 and those of profiles.

use super::rules::ElementRules;
use super::walk::ProfileWalk;
use fhir::date_time;
use fhir::fhirpath::{EvaluationContext, Expression, Node};
use fhir::invariant::{self, Invariant};
use fhir::json::Json;
use fhir::outcome::{Hcert, Issue};

/// What R5's invariants say, in Estonian, for those a certificate is likely to break; the others are told in R5's own English.
#[rustfmt::skip]
const ESTONIAN: &[(&str, &str)] = &[
    ("att-1", "kui manuses on andmed, peab olema ka nende sisutüüp"),
    ("cmp-1", "sektsioonis peab olema tekst, kirje või alamsektsioon"),
    ("cmp-2", "tühja sektsiooni põhjus ja kirjed ei saa esineda koos"),
    ("cpt-2", "kui kontaktil on väärtus, peab olema ka selle liik (system)"),
    ("dom-3", "sisalduvale ressursile peab mujalt ressursist viitama või peab see ise viitama tervikule"),
    ("dom-4", "sisalduval ressursil ei tohi olla meta.versionId ega meta.lastUpdated"),
    ("dom-5", "sisalduval ressursil ei tohi olla turvamärgendit"),
    ("ele-1", "elemendil peab olema väärtus või alamelemendid"),
    ("ext-1", "laiendil peab olema kas väärtus või laiendid, mitte mõlemad"),
    ("obs-6", "puuduva väärtuse põhjus (dataAbsentReason) ei saa olla koos väärtusega"),
    ("obs-7", "kui komponendi kood on sama mis vaatlusel, ei saa vaatlusel endal olla väärtust"),
    ("obs-8", "bodySite ja bodyStructure ei saa esineda koos"),
    ("per-1", "perioodi algus ei saa olla hilisem kui lõpp"),
    ("qty-3", "kui ühikul on kood, peab olema ka selle süsteem"),
    ("rat-1", "lugeja ja nimetaja peavad mõlemad olema või mõlemad puuduma"),
    ("ref-1", "viide #id peab viima sama ressursi sees olevale ressursile"),
    ("ref-2", "viitel peab olema vähemalt üks: reference, identifier, display või laiend"),
    ("rng-2", "vahemiku algus ei saa olla suurem kui lõpp"),
    ("sqt-1", "võrdlusmärki (comparator) ei tohi siin olla"),
    ("tim-1", "kui on kestus, peab olema ka selle ühik"),
];

/// Characters of a reference or an id that a message repeats.
const FOUND_CHARACTERS: usize = 40;

/// The invariant of SimpleQuantity, which is a profile of a datatype and so not in the table.
const SIMPLE_QUANTITY: (&str, &str) = ("sqt-1", "The comparator is not used on a SimpleQuantity");

impl<'a> ProfileWalk<'a> {
    /// Asks invariants of R5 about a value.
    pub(super) fn invariants(
        &mut self,
        invariants: impl Iterator<Item = &'static Invariant>,
        node: impl Fn() -> Node<'a>,
    ) {
        for invariant in invariants {
            let holds = match invariant.expression() {
                Some(expression) => self.holds(expression, node()),
                None => native(invariant.key, node()),
            };
            if !holds {
                self.tell(invariant.key, invariant.human);
            }
        }
    }

    /// Asks the invariants of a profile.
    pub(super) fn constraints(&mut self, rules: &'a ElementRules, node: impl Fn() -> Node<'a>) {
        for rule in &rules.invariants {
            if self.holds(&rule.asks.expression, node()) {
                continue;
            }
            self.broken.push(rule.number);
            let (constraint, path) = (&rule.asks, &self.path);
            let issue = || {
                let estonian = constraint.estonian.as_ref().unwrap_or(&constraint.english);
                let issue = Issue::new(Hcert::InvariantBroken).with("key", constraint.key.clone());
                issue.with("human", constraint.english.clone()).with("human_et", estonian.clone()).at(path.expression())
            };
            if constraint.is_error { self.problems.add(issue) } else { self.problems.warn(issue) }
        }
    }

    /// What cannot be asked of these values is not met. Where invariants look at more than they may, this is told once, and nothing more is
    /// asked.
    fn holds(&mut self, expression: &'a Expression, focus: Node<'a>) -> bool {
        if self.is_too_costly {
            return true;
        }
        let (resource, root) = (self.resource, self.root_node);
        match expression.holds(EvaluationContext { focus, resource, root, shared: self.shared }) {
            Ok(holds) => holds,
            Err(error) if error.is_too_costly() => {
                self.is_too_costly = true;
                let path = &self.path;
                self.problems.add(|| Issue::new(Hcert::InvariantsTooCostly).at(path.expression()));
                true
            }
            Err(_) => false,
        }
    }

    /// Tells that a rule of R5 is broken which the walk itself asks, and what was found.
    pub(super) fn tell_invariant(&mut self, key: &'static str, found: Option<&str>) {
        let paths = ["Reference", "DomainResource", "Element", "Extension", "Narrative.div"];
        let in_table = || paths.iter().flat_map(|path| invariant::at(path)).find(|invariant| invariant.key == key);
        let human = match key == SIMPLE_QUANTITY.0 {
            true => SIMPLE_QUANTITY.1,
            false => in_table().map_or("", |invariant| invariant.human),
        };
        let path = &self.path;
        self.problems.add(|| {
            let issue = match found {
                Some(found) => issue_with(key, human, found),
                None => issue(key, human),
            };
            issue.at(path.expression())
        });
    }

    fn tell(&mut self, key: &'static str, human: &'static str) {
        let path = &self.path;
        self.problems.add(|| issue(key, human).at(path.expression()));
    }
}

fn estonian(key: &str, human: &'static str) -> &'static str {
    ESTONIAN.iter().find(|(known, _)| *known == key).map_or(human, |(_, estonian)| estonian)
}

fn issue_with(key: &'static str, human: &'static str, found: &str) -> Issue {
    // Shortened here, so that what the rule says is not cut off behind it.
    let found: String = found.chars().take(FOUND_CHARACTERS).collect();
    let issue = Issue::new(Hcert::InvariantBroken).with("key", key);
    issue.with("human", format!("'{found}': {human}")).with("human_et", format!("'{found}': {}", estonian(key, human)))
}

fn issue(key: &'static str, human: &'static str) -> Issue {
    let estonian = estonian(key, human);
    Issue::new(Hcert::InvariantBroken).with("key", key).with("human", human).with("human_et", estonian)
}

/// The invariants that FHIRPath has no good words for, and that are about one value.
fn native(key: &str, node: Node) -> bool {
    let Some(value) = node.value else { return true };
    match key {
        "ext-1" => value.items("extension").is_empty() == has_choice(value, "value"),
        "per-1" => match (time(value, "start"), time(value, "end")) {
            (Some(start), Some(end)) => start.low <= end.high,
            _ => true,
        },
        "rng-2" => in_order(value.get("low"), value.get("high")),
        "ratrng-2" => in_order(value.get("lowNumerator"), value.get("highNumerator")),
        _ => true,
    }
}

fn has_choice(value: &Json, name: &str) -> bool {
    let is_of = |key: &str| key.trim_start_matches('_').strip_prefix(name).is_some_and(|rest| !rest.is_empty());
    value.as_object().is_some_and(|object| object.iter().any(|(key, _)| is_of(key)))
}

/// The time a dateTime covers. One of no form was told of already.
fn time(period: &Json, name: &str) -> Option<date_time::Span> {
    period.text(name).and_then(|text| date_time::span(text).ok())
}

/// Two quantities of one unit; those of different units have no order.
fn in_order(low: Option<&Json>, high: Option<&Json>) -> bool {
    let Some((low, high)) = low.zip(high) else { return true };
    let same = |name: &str| low.get(name) == high.get(name);
    let number = |quantity: &Json| match quantity.get("value") {
        Some(Json::Number(digits)) => digits.parse::<f64>().ok(),
        _ => None,
    };
    let comparable = ["system", "code", "unit"].into_iter().all(same);
    match number(low).zip(number(high)) {
        Some((low, high)) if comparable => low <= high,
        _ => true,
    }
}

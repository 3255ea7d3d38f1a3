//! Search parameters as a caller writes them, each with what it means, told by hand.
//!
//! Source: specification 4.6; Contract 4.2 to 4.6; FHIR R5 `search.html`.

use std::sync::Arc;

use certificate::search::condition::PatientIdentifier;
use certificate::search::parameter::{Modifier, PARAMETERS, Parameter};

use crate::by_hand::World;
use crate::dice::Dice;
use crate::known::{BASE_URL, Known, Reference, Token};
use crate::store::NOW;
use crate::times::{Span, day, span};

pub(crate) type Rule = Arc<dyn Fn(&Known) -> bool + Send + Sync>;

/// One parameter of a search.
#[derive(Clone)]
pub(crate) struct Question {
    pub name: String,
    pub value: String,
    rule: Rule,
    /// Patients the registry knows, for the chain that asks it.
    pub patients: Vec<(PatientIdentifier, Vec<String>)>,
}

impl std::fmt::Debug for Question {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(formatter, "{}={}", self.name, self.value)
    }
}

/// One of the values that a comma separates.
struct Alternative {
    text: String,
    rule: Rule,
    patients: Vec<(PatientIdentifier, Vec<String>)>,
}

fn alternative(text: impl Into<String>, rule: impl Fn(&Known) -> bool + Send + Sync + 'static) -> Alternative {
    Alternative { text: text.into(), rule: Arc::new(rule), patients: Vec::new() }
}

impl Question {
    pub(crate) fn holds(&self, row: &Known) -> bool {
        (self.rule)(row)
    }

    /// `_id` alone.
    pub(crate) fn id(id: u64) -> Question {
        Question::of("_id", vec![alternative(id.to_string(), move |row| row.id == id)], false)
    }

    /// `subject` alone.
    pub(crate) fn subject(patient: u64) -> Question {
        let to = format!("Patient/{patient}");
        let rule = {
            let to = to.clone();
            move |row: &Known| row.subject.as_ref().is_some_and(|subject| subject.to.as_deref() == Some(&to))
        };
        Question::of("subject", vec![alternative(to, rule)], false)
    }

    /// A parameter whose meaning the caller knows.
    pub(crate) fn plain(name: &str, value: &str) -> Question {
        Question::of(name, vec![alternative(value, |_| panic!("no meaning was told"))], false)
    }

    fn of(name: &str, alternatives: Vec<Alternative>, not: bool) -> Question {
        let value = alternatives.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join(",");
        let patients = alternatives.iter().flat_map(|one| one.patients.clone()).collect();
        let rules: Vec<Rule> = alternatives.into_iter().map(|one| one.rule).collect();
        let rule = Arc::new(move |row: &Known| rules.iter().any(|rule| rule(row)) != not);
        Question { name: name.to_owned(), value, rule, patients }
    }

    /// A parameter of the table with one of its modifiers, or with none.
    pub(crate) fn about(parameter: &Parameter, modifier: Option<Modifier>, world: &World, dice: &mut Dice) -> Question {
        let short = match parameter.name {
            "subject:Patient.identifier" => "subject.identifier",
            "author:PractitionerRole.practitioner" => "author.practitioner",
            "author:PractitionerRole.organization" => "author.organization",
            name => name,
        };
        let name = if dice.one_in(3) { short } else { parameter.name };
        let sent = modifier.map_or(name.to_owned(), |modifier| format!("{name}:{}", modifier.name()));
        if modifier == Some(Modifier::Missing) {
            let missing = dice.one_in(2);
            let name = parameter.name;
            let rule = move |row: &Known| is_missing(name, row) == missing;
            return Question::of(&sent, vec![alternative(missing.to_string(), rule)], false);
        }
        let rows: Vec<&Known> = world.rows.values().map(Arc::as_ref).collect();
        let many = if dice.one_in(3) { 2 + dice.below(3) } else { 1 };
        let values = (0..many).map(|_| value(parameter.name, modifier, &rows, dice)).collect();
        Question::of(&sent, values, modifier == Some(Modifier::Not))
    }

    /// Any parameter of the table with anything it takes.
    pub(crate) fn any(world: &World, dice: &mut Dice) -> Question {
        let parameter = dice.pick(PARAMETERS);
        let modifier =
            if dice.one_in(2) || parameter.modifiers.is_empty() { None } else { Some(*dice.pick(parameter.modifiers)) };
        Question::about(parameter, modifier, world, dice)
    }

    /// Any that a few rows at most answer, so that an AND with others is seldom empty by itself.
    pub(crate) fn broad(world: &World, dice: &mut Dice) -> Question {
        let broad = ["status", "category", "type", "period", "date", "_lastUpdated", "title"];
        let parameters: Vec<&Parameter> = PARAMETERS.iter().filter(|known| broad.contains(&known.name)).collect();
        Question::about(dice.pick::<&Parameter>(&parameters), None, world, dice)
    }
}

/// Whether a certificate lacks what a parameter looks at.
fn is_missing(parameter: &str, row: &Known) -> bool {
    match parameter {
        "subject" | "patient" => row.subject.is_none(),
        "status" | "_id" | "_lastUpdated" => false,
        "category" => row.category.is_empty(),
        "type" => row.kind.is_empty(),
        "author:PractitionerRole.practitioner" => row.practitioner.is_none(),
        "author:PractitionerRole.organization" => row.organization.is_none(),
        "entry" => row.entries.is_empty(),
        "period" => row.period.is_none(),
        "date" => row.date.is_none(),
        "identifier" => row.identifier.is_none(),
        "title" => row.title.is_none(),
        code => !row.codes.contains_key(code),
    }
}

/// A value for a parameter, mostly one that some row has. A parameter that is new in the table has to be told here what it means, unless it
/// is named after an element that is a code.
fn value(parameter: &'static str, modifier: Option<Modifier>, rows: &[&Known], dice: &mut Dice) -> Alternative {
    let row = *dice.pick(rows);
    match (parameter, modifier) {
        ("subject:Patient.identifier", _) => registry(rows, dice),
        ("subject" | "patient", Some(Modifier::Identifier)) => {
            token_value(sampled(rows, dice, |row| row.subject.as_ref()?.identifier.clone()), dice, |row| {
                row.subject.iter().filter_map(|subject| subject.identifier.clone()).collect()
            })
        }
        ("subject" | "patient", _) => reference_value("Patient", rows, dice, |row| row.subject.iter().collect()),
        ("status", _) => status(row.status.clone(), dice),
        ("category", _) => token_value(row.category.first().cloned(), dice, |row| row.category.clone()),
        ("type", _) => token_value(row.kind.first().cloned(), dice, |row| row.kind.clone()),
        ("section-code-text", _) => section(rows, dice),
        ("author:PractitionerRole.practitioner", _) => {
            reference_value("Practitioner", rows, dice, |row| row.practitioner.iter().collect())
        }
        ("author:PractitionerRole.organization", _) => {
            reference_value("Organization", rows, dice, |row| row.organization.iter().collect())
        }
        ("entry", Some(Modifier::Identifier)) => token_value(
            sampled(rows, dice, |row| row.entries.iter().find_map(|entry| entry.identifier.clone())),
            dice,
            |row| row.entries.iter().filter_map(|entry| entry.identifier.clone()).collect(),
        ),
        ("entry", _) => reference_value("QuestionnaireResponse", rows, dice, |row| row.entries.iter().collect()),
        ("period", _) => period(sampled(rows, dice, |row| row.period), dice),
        ("_lastUpdated", _) => {
            let at = Span { low: row.updated, high: row.updated };
            time(Some(at), dice, |row| Some(Span { low: row.updated, high: row.updated }))
        }
        ("date", _) => time(row.date, dice, |row| row.date),
        ("_id", _) => id(row, dice),
        ("identifier", _) => token_value(sampled(rows, dice, |row| row.identifier.clone()), dice, |row| {
            row.identifier.iter().cloned().collect()
        }),
        ("title", modifier) => title(sampled(rows, dice, |row| row.title.clone()), modifier, dice),
        (name, _) => {
            let code = move |row: &Known| row.codes.get(name).map(|code| (None, Some(code.clone())));
            token_value(sampled(rows, dice, code), dice, move |row| code(row).into_iter().collect())
        }
    }
}

/// What one of the rows has, when a few throws find one that has it.
fn sampled<T>(rows: &[&Known], dice: &mut Dice, of: impl Fn(&Known) -> Option<T>) -> Option<T> {
    (0..200).find_map(|_| of(dice.pick::<&Known>(rows)))
}

/// Keeps signs of the query language from being read as such.
fn escaped(text: &str) -> String {
    text.chars().flat_map(|sign| [Some('\\').filter(|_| ",$|\\".contains(sign)), Some(sign)]).flatten().collect()
}

fn registry(rows: &[&Known], dice: &mut Dice) -> Alternative {
    let number = dice.below(1_000_000).to_string();
    let mut patients = Vec::new();
    for _ in 0..dice.below(3) {
        let of = |row: &Known| row.subject.as_ref()?.to.as_deref()?.strip_prefix("Patient/").map(str::to_owned);
        patients.extend(sampled(rows, dice, of));
    }
    let system = (!dice.one_in(3)).then(|| "https://fhir.ee/sid/pid/est/ni".to_owned());
    let text = system.iter().map(|system| format!("{system}|")).collect::<String>() + &number;
    let found = patients.clone();
    let rule = move |row: &Known| {
        let subject = row.subject.as_ref().and_then(|subject| subject.to.as_deref());
        found.iter().any(|patient| subject == Some(&format!("Patient/{patient}")))
    };
    Alternative { patients: vec![(PatientIdentifier { system, value: number }, patients)], ..alternative(text, rule) }
}

fn reference_value(
    kind: &'static str,
    rows: &[&Known],
    dice: &mut Dice,
    of: fn(&Known) -> Vec<&Reference>,
) -> Alternative {
    let own = format!("{kind}/");
    let found = sampled(rows, dice, |row| of(row).iter().find_map(|reference| reference.to.clone()));
    let to = found.filter(|_| !dice.one_in(8)).unwrap_or_else(|| format!("{own}no-such-one"));
    let text = match (to.strip_prefix(&own), dice.below(4)) {
        (Some(bare), 0) => bare.to_owned(),
        (Some(_), 1) => format!("{BASE_URL}/{to}"),
        (_, 2) => format!("{to}/_history/{}", 1 + dice.below(9)),
        _ => to.clone(),
    };
    alternative(escaped(&text), move |row| of(row).iter().any(|reference| reference.to.as_deref() == Some(&to)))
}

fn status(status: String, dice: &mut Dice) -> Alternative {
    const SYSTEM: &str = "http://hl7.org/fhir/composition-status";
    let text = match dice.below(8) {
        0 => format!("{SYSTEM}|{status}"),
        1 => format!("|{status}"),
        2 => return alternative(format!("{SYSTEM}|"), |_| true),
        _ => status.clone(),
    };
    alternative(text, move |row| row.status == status)
}

fn token_value(
    found: Option<Token>,
    dice: &mut Dice,
    of: impl Fn(&Known) -> Vec<Token> + Send + Sync + 'static,
) -> Alternative {
    let (system, code) = found.filter(|_| !dice.one_in(8)).unwrap_or((Some("urn:none".into()), Some("none".into())));
    match (system, code, dice.below(5)) {
        (Some(system), None, _) | (Some(system), _, 0) => alternative(format!("{}|", escaped(&system)), move |row| {
            of(row).iter().any(|(of_system, _)| of_system.as_deref() == Some(&system))
        }),
        (Some(system), Some(code), 1 | 2) => {
            alternative(format!("{}|{}", escaped(&system), escaped(&code)), move |row| {
                of(row).iter().any(|found| *found == (Some(system.clone()), Some(code.clone())))
            })
        }
        (_, Some(code), 3) => alternative(format!("|{}", escaped(&code)), move |row| {
            of(row).iter().any(|found| *found == (None, Some(code.clone())))
        }),
        (_, code, _) => {
            let code = code.unwrap_or_else(|| "none".into());
            alternative(escaped(&code), move |row| of(row).iter().any(|(_, found)| found.as_deref() == Some(&code)))
        }
    }
}

fn section(rows: &[&Known], dice: &mut Dice) -> Alternative {
    let found = sampled(rows, dice, |row| {
        let short = |(codes, text): &&(Vec<Token>, String)| text.len() < 200 && !text.is_empty() && !codes.is_empty();
        row.sections.iter().rev().find(short).map(|(codes, text)| (codes[0].clone(), text.clone()))
    });
    let ((system, code), text) = found.expect("some section has a text");
    let code = code.unwrap_or_else(|| "none".into());
    let spaced = if dice.one_in(3) { format!("  {}\n", text.replace(' ', "\t ")) } else { text.clone() };
    let asked = match (&system, dice.below(3)) {
        (Some(system), 0) => Some(Some(system.clone())),
        (_, 1) => Some(None),
        _ => None,
    };
    let token = match &asked {
        Some(Some(system)) => format!("{}|{}", escaped(system), escaped(&code)),
        Some(None) => format!("|{}", escaped(&code)),
        None => escaped(&code),
    };
    alternative(format!("{token}${}", escaped(&spaced)), move |row| {
        row.sections.iter().any(|(codes, found)| {
            let fits = |(of_system, of_code): &Token| {
                of_code.as_deref() == Some(&code) && asked.as_ref().is_none_or(|asked| asked == of_system)
            };
            *found == text && codes.iter().any(fits)
        })
    })
}

fn id(row: &Known, dice: &mut Dice) -> Alternative {
    match dice.below(8) {
        0 => alternative("no-such-id", |_| false),
        1 => alternative("99999999999999999999999999", |_| false),
        2 => alternative(format!("0{}", row.id), |_| false),
        _ => {
            let id = row.id;
            alternative(id.to_string(), move |row| row.id == id)
        }
    }
}

fn title(found: Option<String>, modifier: Option<Modifier>, dice: &mut Dice) -> Alternative {
    let found = found.expect("some row has a title");
    if modifier == Some(Modifier::Exact) {
        let title = if dice.one_in(4) { found.to_lowercase() } else { found };
        return alternative(escaped(&title), move |row| row.title.as_deref() == Some(&title));
    }
    let letters: Vec<char> = found.chars().collect();
    let from = if modifier == Some(Modifier::Contains) { dice.below(letters.len()) } else { 0 };
    let length = 1 + dice.below(12.min(letters.len() - from));
    let mut part: String = letters[from..from + length].iter().collect();
    if plain(&part).is_empty() {
        part = found;
    }
    let asked = plain(&part);
    let text = match dice.below(3) {
        0 => part.to_uppercase(),
        1 => asked.clone(),
        _ => part,
    };
    let contains = modifier == Some(Modifier::Contains);
    alternative(escaped(&text), move |row| {
        let title = row.title.as_deref().map(plain);
        title.is_some_and(|title| if contains { title.contains(&asked) } else { title.starts_with(&asked) })
    })
}

/// Lower case, without accents, white space as one blank. Titles of these tests have Estonian letters only.
fn plain(text: &str) -> String {
    let plain = |sign: char| match sign {
        'õ' | 'ö' => 'o',
        'ä' => 'a',
        'ü' => 'u',
        'š' => 's',
        'ž' => 'z',
        other => other,
    };
    let lower: String = text.to_lowercase().chars().filter(|sign| *sign != '\u{303}').map(plain).collect();
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A date near a time that some row has, in one of the ways to write one.
fn date(found: Option<Span>, dice: &mut Dice) -> String {
    let found = found.map_or(NOW, |span| if span.high == i64::MAX || dice.one_in(2) { span.low } else { span.high });
    let found = if found == i64::MIN { NOW } else { found };
    let moved = match dice.below(3) {
        0 => found - 86_400_000 + dice.below(2 * 86_400_000) as i64,
        _ => found,
    };
    // Clear of the end of the calendar, where the library that reads it back has none either.
    let moved = moved.min(253_402_000_000_000);
    let moment = jiff::Timestamp::from_millisecond(moved).unwrap();
    let local = moment.to_zoned(crate::times::tallinn());
    let form = match dice.below(8) {
        0 => "%Y",
        1 => "%Y-%m",
        2 => "%Y-%m-%dT%H:%M:%S",
        3 => "%Y-%m-%dT%H:%M",
        4 => "%Y-%m-%dT%H:%M:%S%:z",
        5 => return moment.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string(),
        _ => "%Y-%m-%d",
    };
    local.strftime(form).to_string()
}

fn time(found: Option<Span>, dice: &mut Dice, of: fn(&Known) -> Option<Span>) -> Alternative {
    let text = date(found, dice);
    let asked = span(&text);
    let prefix = *dice.pick(&["", "eq", "ne", "gt", "lt", "ge", "le", "sa", "eb", "ap"]);
    alternative(format!("{prefix}{text}"), move |row| of(row).is_some_and(|time| compare(prefix, time, asked)))
}

/// FHIR R5 `search.html#prefix`, for ranges.
fn compare(prefix: &str, row: Span, asked: Span) -> bool {
    let contained = asked.low <= row.low && row.high <= asked.high;
    match prefix {
        "" | "eq" => contained,
        "ne" => !contained,
        "gt" => row.high > asked.high,
        "lt" => row.low < asked.low,
        "ge" => row.high > asked.high || contained,
        "le" => row.low < asked.low || contained,
        "sa" => row.low > asked.high,
        "eb" => row.high < asked.low,
        "ap" => {
            let away = (asked.low - NOW).max(NOW - asked.high).max(0) / 10;
            row.low <= asked.high + away && asked.low - away <= row.high
        }
        other => panic!("{other} is no prefix"),
    }
}

/// Contract 4.3.
fn period(found: Option<Span>, dice: &mut Dice) -> Alternative {
    let text = date(found, dice);
    let asked = span(&text);
    let has_time = text.contains('T');
    let prefix = *dice.pick(&["", "", "eq", "gt", "lt", "ge", "le", "sa", "eb"]);
    alternative(format!("{prefix}{text}"), move |row| {
        row.period.is_some_and(|valid| match prefix {
            "" | "eq" if has_time => valid.low <= asked.low && asked.low <= valid.high,
            "" | "eq" => day(valid.low) <= day(asked.low) && day(asked.high) <= day(valid.high),
            _ => compare(prefix, valid, asked),
        })
    })
}

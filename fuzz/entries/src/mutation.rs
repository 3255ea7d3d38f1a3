//! Changes to a body that leave it JSON: bytes changed at random mostly end in the reader, these come as far as the rules.

use crate::dice::Dice;
use fhir::json::{self, Json, Object};

/// Values for any place: of the wrong kind, or of the right one but odd.
#[rustfmt::skip]
const ODD: &[&str] = &[
    "null", "true", "0", "-1", "1e400", "1.50", "{}", "[]", "[null]", r#""""#, r##""#""##, r#"" ""#, r#""|""#, r#""2025""#,
    r#""2025-02-30""#, r#""2025-10-26T00:30:00Z""#, r#"{"id":"a"}"#, r#"[[{"a":[1]}]]"#,
];

/// A body with one part taken out, put elsewhere, renamed or replaced; nothing when it is no JSON.
///
/// The same seed makes the same change.
pub fn mutated(body: &[u8], seed: u32) -> Option<Vec<u8>> {
    let mut value = json::parse_with_problems(body).ok()?.value;
    let mut dice = Dice(u64::from(seed));
    let parts = count(&value);
    let other = part(&mut value, &mut dice.below(parts))?.clone();
    change(part(&mut value, &mut dice.below(parts))?, other, &mut dice);
    Some(value.to_vec())
}

fn change<'j>(part: &mut Json<'j>, other: Json<'j>, dice: &mut Dice) {
    match (part, dice.below(4)) {
        (Json::Object(Object(members)), 0) if !members.is_empty() => drop(members.remove(dice.below(members.len()))),
        (Json::Object(Object(members)), 1) if !members.is_empty() => {
            let sibling = format!("_{}", members[dice.below(members.len())].0);
            members.push((sibling.into(), other));
        }
        (Json::Object(Object(members)), 2) if !members.is_empty() => {
            // A name that R5 knows here, with a value from elsewhere.
            let at = dice.below(members.len());
            members[at].1 = other;
        }
        (Json::Array(items), 0) if !items.is_empty() => drop(items.remove(dice.below(items.len()))),
        (Json::Array(items), 1) => items.insert(dice.below(items.len() + 1), other),
        (Json::Array(items), 2) if !items.is_empty() => items.push(items[dice.below(items.len())].clone()),
        (part, 3) => *part = odd(dice),
        (part, _) => *part = other,
    }
}

fn odd(dice: &mut Dice) -> Json<'static> {
    let text = ODD[dice.below(ODD.len())];
    json::parse_with_problems(text.as_bytes()).expect("the table holds JSON").value
}

/// Values in a value, itself among them.
fn count(value: &Json) -> usize {
    let inside: usize = match value {
        Json::Array(items) => items.iter().map(count).sum(),
        Json::Object(object) => object.iter().map(|(_, member)| count(member)).sum(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 0,
    };
    1 + inside
}

/// The value that `left` others stand before, in the order of the text.
fn part<'v, 'j>(value: &'v mut Json<'j>, left: &mut usize) -> Option<&'v mut Json<'j>> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Json::Array(items) => items.iter_mut().find_map(|item| part(item, left)),
        Json::Object(Object(members)) => members.iter_mut().find_map(|(_, member)| part(member, left)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
    }
}

//! The order of rows by hand. Contract 4.7.

use std::cmp::Ordering;

use crate::known::Known;

pub(crate) const KEYS: [&str; 7] = ["date", "_lastUpdated", "period", "status", "category", "_id", "title"];

/// What `_sort` says: keys with their direction, never empty.
pub(crate) type Order = Vec<(&'static str, bool)>;

/// The default order.
pub(crate) fn newest_first() -> Order {
    vec![("_lastUpdated", true)]
}

/// The value of `_sort`.
pub(crate) fn text(order: &Order) -> String {
    let key = |(name, descending): &(&str, bool)| format!("{}{name}", if *descending { "-" } else { "" });
    order.iter().map(key).collect::<Vec<_>>().join(",")
}

pub(crate) fn compare(order: &Order, left: &Known, right: &Known) -> Ordering {
    for (name, descending) in order {
        let found = match (key(name, left), key(name, right)) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(left), Some(right)) if *descending => right.cmp(&left),
            (Some(left), Some(right)) => left.cmp(&right),
        };
        if found != Ordering::Equal {
            return found;
        }
    }
    if order[0].1 { right.id.cmp(&left.id) } else { left.id.cmp(&right.id) }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key<'r> {
    Number(i64),
    Code(&'r str),
    Title(&'r [(u8, u32)]),
}

fn key<'r>(name: &str, row: &'r Known) -> Option<Key<'r>> {
    match name {
        "date" => row.date.map(|date| Key::Number(date.low)),
        "_lastUpdated" => Some(Key::Number(row.updated)),
        "period" => row.period.filter(|period| period.low != i64::MIN).map(|period| Key::Number(period.low)),
        "status" => Some(Key::Code(&row.status)),
        "category" => row.category.first().and_then(|(_, code)| code.as_deref()).map(Key::Code),
        "_id" => Some(Key::Number(row.id as i64)),
        "title" => row.title_key.as_deref().map(Key::Title),
        _ => panic!("{name} is no key"),
    }
}

/// White space, signs, digits, then the letters of the Estonian alphabet. Titles of these tests have no others.
pub(crate) fn title_key(title: &str) -> Vec<(u8, u32)> {
    const ALPHABET: &str = "abcdefghijklmnopqrsšzžtuvwõäöüxy";
    let lower = title.to_lowercase().replace("o\u{303}", "õ");
    let weight = |character: char| match character {
        _ if character.is_whitespace() => (0, 0),
        '0'..='9' => (2, u32::from(character)),
        _ => match ALPHABET.chars().position(|letter| letter == character) {
            Some(at) => (3, at as u32),
            None => (1, u32::from(character)),
        },
    };
    lower.chars().map(weight).collect()
}

#[test]
fn titles_stand_in_the_order_of_the_estonian_alphabet() {
    let mut titles = ["zoo", "Žürii", "taat", "šokk", "Sära", "Õun", "väli", "", "9", "-", "äke", "o\u{303}ud"];
    titles.sort_by_key(|title| title_key(title));
    assert_eq!(titles, ["", "-", "9", "Sära", "šokk", "zoo", "Žürii", "taat", "väli", "o\u{303}ud", "Õun", "äke"]);
}

//! Texts of the catalogues with places: `<name>` stands for a value.

use std::borrow::Cow;

/// Fills the places, from left to right and once only: a value that looks like a place is a value. A place without a value stays.
pub(super) fn fill<'v>(mut template: &str, value: impl Fn(&str) -> Option<Cow<'v, str>>) -> String {
    let mut text = String::with_capacity(template.len() + 64);
    while let Some((before, behind)) = template.split_once('<') {
        let place = behind.split_once('>').and_then(|(name, behind)| Some((value(name)?, behind)));
        let (filled, behind) = place.unwrap_or((Cow::Borrowed("<"), behind));
        text.push_str(before);
        text.push_str(&filled);
        template = behind;
    }
    text.push_str(template);
    text
}

/// Names of the places, in their order.
#[cfg(test)]
pub(super) fn places(template: &str) -> Vec<&str> {
    template.split('<').skip(1).filter_map(|behind| Some(behind.split_once('>')?.0)).collect()
}

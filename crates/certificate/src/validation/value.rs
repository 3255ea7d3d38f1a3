//! Values that a profile fixes: whole (`fixed`) or in part (`pattern`).

use super::rules::{Child, ElementRules, FixedValue};
use fhir::json::Json;

impl FixedValue {
    /// Whether a value is as fixed. With a pattern more may stand beside it, at any depth.
    pub fn fits(&self, found: &Json) -> bool {
        if self.is_exact { self.json.equals(found) } else { holds(found, &self.json) }
    }

    /// The value in the words of messages: `system|code 'display'` for what has codes, else its JSON.
    pub fn words(&self) -> String {
        words(&self.json)
    }
}

/// The value in the words of messages.
pub(super) fn words(value: &Json) -> String {
    let coding = |coding: &Json| {
        let code = format!("{}|{}", coding.text("system").unwrap_or_default(), coding.text("code").unwrap_or_default());
        match coding.text("display") {
            Some(display) => format!("{code} '{display}'"),
            None => code,
        }
    };
    match value {
        Json::String(text) => format!("'{text}'"),
        _ if !value.items("coding").is_empty() => {
            value.items("coding").iter().map(coding).collect::<Vec<_>>().join(", ")
        }
        _ if value.text("code").is_some() => coding(value),
        _ => String::from_utf8(value.to_vec()).unwrap_or_default(),
    }
}

/// Whether a value has all that a pattern has.
fn holds(found: &Json, pattern: &Json) -> bool {
    match (found, pattern) {
        (Json::Object(_), Json::Object(pattern)) => {
            pattern.iter().all(|(name, pattern)| found.get(name).is_some_and(|found| holds(found, pattern)))
        }
        (Json::Array(found), Json::Array(pattern)) => {
            pattern.iter().all(|pattern| found.iter().any(|found| holds(found, pattern)))
        }
        (found, pattern) => found.equals(pattern),
    }
}

impl ElementRules {
    /// Whether a value is the one these rules are about: it fits their own fixed value whole, `display` included, or the one fixed
    /// inside it (`coding`). Nothing when they fix none. Contract 8.2.
    pub fn identifies(&self, found: &Json) -> Option<bool> {
        if let Some(value) = &self.value {
            return Some(value.asks.fits(found));
        }
        let mut known = None;
        for Child { name, rules } in &self.children {
            let inside = found.get(name);
            let items = inside.map_or(&[][..], |inside| inside.as_array().unwrap_or(std::slice::from_ref(inside)));
            let fits = items.iter().filter_map(|item| rules.identifies(item)).fold(None, |fits, this| match fits {
                Some(true) => Some(true),
                _ => Some(this),
            });
            // A child that is fixed but missing speaks against it.
            let fits = fits.or_else(|| rules.fixes().then_some(false));
            known = match (known, fits) {
                (known, None) => known,
                (None, fits) => fits,
                (Some(known), Some(fits)) => Some(known && fits),
            };
        }
        known
    }

    /// Whether these rules fix a value here or below.
    fn fixes(&self) -> bool {
        self.value.is_some() || self.children.iter().any(|child| child.rules.fixes())
    }
}

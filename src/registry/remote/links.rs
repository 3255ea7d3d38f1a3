//! Addresses of the registry in a Bundle that goes to a caller, who reaches it through this service alone.

use std::borrow::Cow;

use fhir::json::Json;

/// Replaces one base address by another. Both without a slash at the end.
#[derive(Clone, Debug)]
pub(super) struct BaseRewrite<'a> {
    pub from: &'a str,
    pub to: &'a str,
}

impl BaseRewrite<'_> {
    /// Rewrites every `link.url` and `entry.fullUrl` of a Bundle; relative ones become absolute. Those of other servers stay.
    pub(super) fn bundle(&self, bundle: &mut Json) {
        self.members(bundle, "link", "url");
        self.members(bundle, "entry", "fullUrl");
    }

    fn members(&self, bundle: &mut Json, list: &str, name: &str) {
        let Json::Object(bundle) = bundle else { return };
        let Some(Json::Array(items)) = bundle.get_mut(list) else { return };
        for item in items {
            let Json::Object(item) = item else { continue };
            if let Some(Json::String(address)) = item.get_mut(name)
                && let Some(moved) = self.moved(address)
            {
                *address = Cow::Owned(moved);
            }
        }
    }

    fn moved(&self, address: &str) -> Option<String> {
        // What follows the base address: a path, a query, or nothing.
        let rest = address.strip_prefix(self.from).filter(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
        match rest {
            Some(rest) => Some(format!("{}{rest}", self.to)),
            None if address.starts_with("Patient") => Some(format!("{}/{address}", self.to)),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fhir::json;

    #[test]
    fn addresses_under_the_base_move_and_those_of_others_stay() {
        let text = r#"{"link":[{"relation":"self","url":"https://r.ee/fhir?identifier=a%7Cb"},{"url":"https://r.ee/fhir/Patient?_page=2"},
            {"url":"https://r.ee/fhirs"},{"url":1},2,{"url":"Patient?_page=2"}],
            "entry":[{"fullUrl":"https://r.ee/fhir/Patient/1","resource":{"link":[{"url":"https://r.ee/fhir/Patient/2"}]}},
            {"fullUrl":"Patient/1"},{"fullUrl":"https://other.ee/fhir/Patient/3"}]}"#;
        let mut bundle = json::parse(text.as_bytes()).unwrap();
        BaseRewrite { from: "https://r.ee/fhir", to: "https://h.ee/f" }.bundle(&mut bundle);
        let expected = r#"{"link":[{"relation":"self","url":"https://h.ee/f?identifier=a%7Cb"},{"url":"https://h.ee/f/Patient?_page=2"},
            {"url":"https://r.ee/fhirs"},{"url":1},2,{"url":"https://h.ee/f/Patient?_page=2"}],
            "entry":[{"fullUrl":"https://h.ee/f/Patient/1","resource":{"link":[{"url":"https://r.ee/fhir/Patient/2"}]}},
            {"fullUrl":"https://h.ee/f/Patient/1"},{"fullUrl":"https://other.ee/fhir/Patient/3"}]}"#;
        assert_eq!(bundle, json::parse(expected.as_bytes()).unwrap());
        for text in [r#"{"link":1,"entry":"x"}"#, "[1]", "1"] {
            let mut other = json::parse(text.as_bytes()).unwrap();
            BaseRewrite { from: "a", to: "b" }.bundle(&mut other);
            assert_eq!(String::from_utf8(other.to_vec()).unwrap(), text);
        }
    }
}

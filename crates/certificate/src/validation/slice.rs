//! Which slices an item of a list belongs to.

use super::Validator;
use super::rules::{Discriminator, ProfileRules, Slice, Slicing};
use fhir::json::Json;

impl Slicing {
    /// The slices of an item whose type is `type_name`.
    pub fn slices_of<'s>(
        &'s self,
        validator: &Validator,
        item: &Json,
        type_name: &str,
    ) -> impl Iterator<Item = (usize, &'s Slice)> {
        let fits = move |slice: &Slice| self.by.iter().all(|by| slice.has(by, validator, item, type_name));
        self.slices.iter().enumerate().filter(move |(_, slice)| fits(slice))
    }
}

impl Slice {
    fn has(&self, by: &Discriminator, validator: &Validator, item: &Json, type_name: &str) -> bool {
        match by {
            Discriminator::Type => self.types.iter().any(|known| known == type_name),
            Discriminator::Profile => {
                let profiles = self.profiles.iter().filter_map(|url| validator.profile(url));
                self.profiles.is_empty() || profiles.into_iter().any(|profile| profile.is_of(validator, item))
            }
            Discriminator::Value(path) => {
                if let Some((system, code)) = &self.coding {
                    let codings = item.get(path).map_or(&[][..], |concept| concept.items("coding"));
                    let is_it =
                        |coding: &Json| coding.text("code") == Some(code) && coding.text("system") == Some(system);
                    return codings.iter().any(is_it);
                }
                let rules = self.rules.child(path);
                rules.zip(item.get(path)).and_then(|(rules, found)| rules.identifies(found)).unwrap_or(false)
            }
        }
    }

    /// How an item is known to belong here, for messages.
    pub fn known_by(&self, slicing: &Slicing, validator: &Validator) -> String {
        let mut words = Vec::new();
        for by in &slicing.by {
            match by {
                Discriminator::Type => words.push(self.types.join(" or ")),
                Discriminator::Profile => {
                    words.extend(
                        self.profiles.iter().filter_map(|url| validator.profile(url)).map(ProfileRules::known_by),
                    );
                }
                Discriminator::Value(path) => {
                    let value = self.rules.child(path).and_then(|rules| rules.value.as_ref());
                    words.push(format!("{path} {}", value.map(|value| value.asks.words()).unwrap_or_default()));
                }
            }
        }
        words.join(", ")
    }
}

impl ProfileRules {
    /// Whether a canonical address names no version, or the one that is served.
    pub fn has_version_of(&self, canonical: &str) -> bool {
        canonical.split_once('|').is_none_or(|(_, version)| version == self.version)
    }

    /// What makes a resource belong to this profile, in words for messages.
    pub fn known_by(&self) -> String {
        let code = self.rules.child("code").and_then(|code| {
            let coding = code.child("coding").and_then(|coding| coding.value.as_ref());
            code.value.as_ref().or(coding).map(|value| value.asks.words())
        });
        format!("meta.profile {} or code {}", self.url, code.unwrap_or_default())
    }

    /// Whether a resource is meant to follow this profile: it says so in `meta.profile`; or it names no profile known here, and has
    /// the code that this one fixes, `display` included. Contract 8.2.
    pub fn is_of(&self, validator: &Validator, resource: &Json) -> bool {
        if resource.text("resourceType") != Some(self.resource_type.as_str()) {
            return false;
        }
        let mut claims_another = false;
        for claimed in claimed(validator, resource) {
            if claimed.url == self.url {
                return true;
            }
            claims_another |= !claimed.is_abstract;
        }
        let identified = || {
            let code = self.rules.child("code").zip(resource.get("code"));
            code.and_then(|(rules, found)| rules.identifies(found)) == Some(true)
        };
        !claims_another && identified()
    }
}

/// The profiles known here that a resource names in `meta.profile`.
pub(super) fn claimed<'v>(validator: &'v Validator, resource: &Json) -> impl Iterator<Item = &'v ProfileRules> {
    named(resource).iter().filter_map(|url| validator.profile(url.as_str()?))
}

/// What a resource says in `meta.profile`.
pub(super) fn named<'j>(resource: &'j Json<'j>) -> &'j [Json<'j>] {
    resource.get("meta").map_or(&[][..], |meta| meta.items("profile"))
}

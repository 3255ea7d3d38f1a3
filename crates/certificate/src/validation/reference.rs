//! What references lead to.

use super::rules::{ProfileRules, TargetType};
use super::walk::ProfileWalk;
use fhir::element::{self, ElementType};
use fhir::json::Json;
use fhir::outcome::{Hcert, Issue};

/// What a reference leads to, as far as it tells.
enum ReferenceTarget<'a> {
    /// A contained resource, or the one that contains.
    Inside(&'a Json<'a>),
    /// A resource of a type, elsewhere.
    Outside(&'a str),
    /// Anything.
    Unknown,
    /// A relative address that names no resource.
    Odd,
}

impl<'a> ProfileWalk<'a> {
    /// Checks a Reference: that it leads somewhere, and to what `r5` and the profile allow. `profile_targets` are those of each rule.
    pub(super) fn reference(
        &mut self,
        value: &'a Json<'a>,
        r5: &ElementType,
        of: &'static str,
        targets: &[(&'a [TargetType], u16)],
    ) {
        let text = value.text("reference");
        let named = value.text("type").map(|name| name.rsplit('/').next().unwrap_or(name));
        let goal = match text {
            Some(text) => match text.strip_prefix('#') {
                Some(id) => match self.inside(id) {
                    Some(resource) => ReferenceTarget::Inside(resource),
                    None => return self.tell_invariant("ref-1", Some(text)),
                },
                None => outside(text),
            },
            None => named.map_or(ReferenceTarget::Unknown, ReferenceTarget::Outside),
        };
        let type_name = match &goal {
            ReferenceTarget::Inside(resource) => resource.text("resourceType"),
            ReferenceTarget::Outside(name) => Some(*name),
            ReferenceTarget::Unknown => None,
            ReferenceTarget::Odd => Some("something that is no resource"),
        };
        let Some(type_name) = type_name else { return };
        let shown = text.or(value.text("type")).unwrap_or_default();
        if let Some(named) = named.filter(|named| !matches!(goal, ReferenceTarget::Odd) && *named != type_name) {
            return self.wrong_target(shown, type_name, of, named.to_owned());
        }
        let r5_fits = r5.targets.is_empty() || r5.targets.contains(&type_name);
        if !r5_fits || matches!(goal, ReferenceTarget::Odd) && targets.is_empty() {
            let known = if r5.targets.is_empty() { "any resource".to_owned() } else { r5.targets.join(", ") };
            return self.wrong_target(shown, type_name, of, known);
        }
        for (targets, rule) in targets {
            let fits = targets.iter().any(|target| match (target, &goal) {
                (TargetType::Type(wanted), _) => wanted == type_name,
                (TargetType::Profile(url, wanted), ReferenceTarget::Inside(resource)) => {
                    let profile = self.validator.profile(url);
                    wanted == type_name && profile.is_some_and(|profile| profile.is_of(self.validator, resource))
                }
                // Elsewhere a resource of the right type may follow any profile.
                (TargetType::Profile(_, wanted), _) => wanted == type_name,
            });
            if !fits {
                self.broken.push(*rule);
                let known = targets.iter().map(|target| match target {
                    TargetType::Type(name) => name.clone(),
                    TargetType::Profile(url, name) => {
                        let known_by = self.validator.profile(url).map_or_else(|| url.clone(), ProfileRules::known_by);
                        format!("{name} ({known_by})")
                    }
                });
                let known = known.collect::<Vec<_>>().join(", ");
                let found = match goal {
                    ReferenceTarget::Inside(resource) => self.words_of(resource),
                    _ => type_name.to_owned(),
                };
                self.wrong_target(shown, &found, of, known);
            }
        }
    }

    fn wrong_target(&mut self, value: &str, found: &str, element: &'static str, known: String) {
        let path = &self.path;
        self.problems.add(|| {
            let issue = Issue::new(Hcert::TargetWrong).with("value", value.to_owned()).with("found", found.to_owned());
            issue.with("element", element).with("known", known).at(path.expression())
        });
    }

    /// `Observation (ee-health-certificate-decision)`
    fn words_of(&self, resource: &Json) -> String {
        let name = resource.text("resourceType").unwrap_or_default();
        let of = self
            .validator
            .profiles()
            .iter()
            .find(|profile| !profile.is_abstract && profile.is_of(self.validator, resource));
        of.map_or_else(|| name.to_owned(), |profile| format!("{name} ({})", profile.id))
    }

    /// The resource that `#id` means.
    fn inside(&self, id: &str) -> Option<&'a Json<'a>> {
        if id.is_empty() {
            // Only what is contained may point to what contains it.
            return self.in_contained.then_some(self.root);
        }
        self.shared.contained.get(id).copied()
    }
}

/// A literal reference to somewhere else. Source: FHIR R5 `references.html#literal`.
fn outside(reference: &str) -> ReferenceTarget<'_> {
    let (is_absolute, rest) = match reference.split_once("://") {
        Some((_, rest)) => (true, rest),
        None if reference.starts_with("urn:") => return ReferenceTarget::Unknown,
        None => (false, reference),
    };
    let mut parts = rest.split(['?', '|']).next().unwrap_or(rest).rsplit('/');
    let (mut id, mut name) = (parts.next(), parts.next());
    if name == Some("_history") {
        (id, name) = (parts.next(), parts.next());
    }
    let known = name.filter(|name| element::of_resource(name).is_some() && id.is_some_and(|id| !id.is_empty()));
    let is_whole = is_absolute || parts.next().is_none();
    match known.filter(|_| is_whole) {
        Some(name) => ReferenceTarget::Outside(name),
        // An address elsewhere need not look like FHIR's own.
        None if is_absolute => ReferenceTarget::Unknown,
        None => ReferenceTarget::Odd,
    }
}

//! What a profile says of each element, and R5 where the profile says nothing.

use std::collections::BTreeMap;

use certificate::definitions::MergedElements;
use fhir::element::{self, Element, MANY};
use fhir::json::Json;

/// A type of a value.
#[derive(Clone, Debug)]
pub(super) struct StatedType {
    pub name: String,
    /// What a reference may lead to: names of types and addresses of profiles.
    pub targets: Vec<String>,
    /// Addresses of the profiles that a contained resource follows.
    pub profiles: Vec<String>,
}

/// The elements of a resource, asked of several profiles in turn. Paths are ids of elements without the type in front.
#[derive(Clone)]
pub(super) struct ElementSource<'m> {
    resource_type: String,
    /// Each with what stands before a path in its ids.
    layers: Vec<(&'m MergedElements, String)>,
}

impl<'m> ElementSource<'m> {
    pub(super) fn new(resource_type: &str, layers: Vec<(&'m MergedElements, String)>) -> ElementSource<'m> {
        ElementSource { resource_type: resource_type.to_owned(), layers }
    }

    pub(super) fn resource_type(&self) -> &str {
        &self.resource_type
    }

    fn elements(&self, path: &str) -> impl Iterator<Item = &'m BTreeMap<String, Json<'static>>> {
        self.layers.iter().filter_map(move |(elements, before)| elements.get(&format!("{before}.{path}")))
    }

    /// What the first profile that says anything says.
    pub(super) fn stated(&self, path: &str, member: &str) -> Option<&'m Json<'static>> {
        self.elements(path).find_map(|element| element.get(member))
    }

    /// The value that a profile fixes, whole or in part.
    pub(super) fn fixed(&self, path: &str) -> Option<&'m Json<'static>> {
        let is_fixed = |name: &str| name.starts_with("pattern") || name.starts_with("fixed");
        self.elements(path).find_map(|element| element.iter().find(|(name, _)| is_fixed(name)).map(|(_, value)| value))
    }

    /// The invariants of the whole resource.
    pub(super) fn constraints(&self) -> &'m [Json<'static>] {
        let mut all = self.layers.iter().filter_map(|(elements, id)| elements.get(id)?.get("constraint")?.as_array());
        all.next().unwrap_or(&[])
    }

    /// The types that a profile states.
    pub(super) fn stated_types(&self, path: &str) -> Option<Vec<StatedType>> {
        let texts = |list: &[Json]| list.iter().filter_map(|url| url.as_str().map(str::to_owned)).collect();
        let types = self.stated(path, "type")?.as_array()?.iter().map(|stated| StatedType {
            name: stated.text("code").unwrap_or_default().to_owned(),
            targets: texts(stated.items("targetProfile")),
            profiles: texts(stated.items("profile")),
        });
        Some(types.collect())
    }

    /// The types of a value: those of the profiles, else those of R5.
    pub(super) fn types(&self, path: &str) -> Vec<StatedType> {
        self.stated_types(path).unwrap_or_else(|| {
            let types = self.r5(path).types.iter().map(|kind| StatedType {
                name: kind.name.to_owned(),
                targets: kind.targets.iter().map(|name| (*name).to_owned()).collect(),
                profiles: Vec::new(),
            });
            types.collect()
        })
    }

    /// How often an element may stand, at least and at most.
    pub(super) fn count(&self, path: &str) -> (u32, u32) {
        let min = self.stated(path, "min").and_then(|min| match min {
            Json::Number(digits) => digits.parse().ok(),
            _ => None,
        });
        let max = self.stated(path, "max").and_then(|max| match max.as_str()? {
            "*" => Some(MANY),
            digits => digits.parse().ok(),
        });
        (min.unwrap_or_else(|| self.r5(path).min), max.unwrap_or_else(|| self.r5(path).max))
    }

    /// Paths of the elements that profiles refuse, sorted; those inside slices of the certificate are left out.
    pub(super) fn refused(&self) -> Vec<String> {
        let inside = self.layers.iter().flat_map(|(elements, before)| {
            elements.iter().filter_map(move |(id, element)| {
                let path = id.strip_prefix(before.as_str())?.strip_prefix('.')?;
                (element.get("max")?.as_str() == Some("0")).then(|| path.to_owned())
            })
        });
        let mut refused: Vec<String> =
            inside.filter(|path| !path.starts_with("section:") && !path.starts_with("contained:")).collect();
        refused.sort();
        refused.dedup();
        refused
    }

    /// A path as JSON has it, with the slice behind it in parentheses.
    pub(super) fn shown(&self, path: &str) -> String {
        let mut shown = Vec::new();
        let mut of_slice = None;
        for (step, until) in steps(path) {
            let (name, slice) = step.split_once(':').map_or((step, None), |(name, slice)| (name, Some(slice)));
            let choice = name.strip_suffix("[x]");
            shown.push(match (choice, slice) {
                (Some(_), Some(slice)) => slice.to_owned(),
                (Some(choice), None) => match &self.types(until)[..] {
                    [only] => format!("{choice}{}", capital(&only.name)),
                    _ => name.to_owned(),
                },
                (None, _) => {
                    of_slice = slice.or(of_slice);
                    name.to_owned()
                }
            });
        }
        let behind = of_slice.map(|slice| format!(" ({slice})")).unwrap_or_default();
        format!("`{}`{behind}", shown.join("."))
    }

    /// The types of a value in words.
    pub(super) fn types_shown(&self, path: &str) -> String {
        let types = self.types(path);
        let words = types.iter().map(|StatedType { name, targets, .. }| match name.as_str() {
            "Reference" if !targets.is_empty() => {
                let targets: Vec<&str> = targets.iter().map(|url| end_of(url)).collect();
                format!("Reference to {}", targets.join(" or "))
            }
            name if name.contains('.') => "object".to_owned(),
            name => name.to_owned(),
        });
        words.collect::<Vec<_>>().join(", ")
    }

    fn r5(&self, path: &str) -> &'static Element {
        let mut definition = element::of(&self.resource_type);
        let mut found = None;
        for (step, until) in steps(path) {
            let name = step_name(step);
            found = definition.and_then(|definition| definition.elements.iter().find(|known| known.name == name));
            definition = match (self.stated_types(until).as_deref(), found.map(|found| &found.types[..])) {
                (Some([only]), _) => element::of(&only.name),
                (None, Some([only])) => only.definition(),
                _ => None,
            };
        }
        found.unwrap_or_else(|| panic!("R5 has no element {path} in {}", self.resource_type))
    }
}

/// Elements of a type that no row begins with and that are not refused.
pub(super) fn others<'r>(type_name: &str, rows: impl Iterator<Item = &'r str>, refused: &[String]) -> Vec<String> {
    let named: Vec<&str> = rows.map(|path| step_name(path.split('.').next().unwrap_or_default())).collect();
    let elements = element::of(type_name).map_or(&[][..], |definition| &definition.elements[..]);
    let is_other = |element: &&Element| {
        let is_refused = |path: &String| path.trim_end_matches("[x]") == element.name;
        !named.contains(&element.name) && !refused.iter().any(is_refused)
    };
    let shown = |element: &Element| format!("{}{}", element.name, if element.is_choice { "[x]" } else { "" });
    elements.iter().filter(is_other).map(shown).collect()
}

/// How often something may stand, in words.
pub(super) fn need(min: u32, max: u32) -> String {
    let word = if min > 0 { "required" } else { "optional" };
    match (min, max) {
        (_, 0) => "refused".to_owned(),
        (_, 1) => word.to_owned(),
        (0, MANY) => format!("{word}, any number"),
        (min, MANY) => format!("{word}, {min} or more"),
        (_, max) => format!("{word}, up to {max}"),
    }
}

/// The Estonian text of an invariant.
pub(super) fn estonian<'j>(constraint: &'j Json<'j>) -> Option<&'j str> {
    let translations = constraint.get("_human")?.items("extension");
    let parts = translations.iter().flat_map(|translation| translation.items("extension"));
    parts.filter(|part| part.text("url") == Some("content")).find_map(|part| part.text("valueString"))
}

/// The code by which a section or a component is known.
pub(super) fn code_of<'j>(section: &'j Json<'j>) -> Option<&'j str> {
    section.get("code")?.items("coding").first()?.text("code")
}

/// The last part of an address, by which people know what it leads to.
pub(super) fn end_of(url: &str) -> &str {
    match url.rsplit('/').next().unwrap_or(url) {
        // The registry's profile of patients.
        "ee-mpi-patient-verified" => "Patient",
        end => end,
    }
}

/// Each step of a path, and the path until its end.
fn steps(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut end = 0;
    path.split('.').map(move |step| {
        let until = &path[..end + step.len()];
        end += step.len() + 1;
        (step, until)
    })
}

/// `component` of `component:job`, `value` of `value[x]`.
fn step_name(step: &str) -> &str {
    step.split(':').next().unwrap_or(step).trim_end_matches("[x]")
}

fn capital(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_uppercase() + rest
}

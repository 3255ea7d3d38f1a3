//! From StructureDefinitions to rules. What cannot be checked is refused here, at the start, and never passes silently.

use std::fmt;
use std::sync::Arc;

use super::rules::{
    Constraint, Discriminator, ElementRule, ElementRules, FixedValue, ProfileRules, Slice, Slicing, TargetType,
};
use fhir::element::{self, MANY, TypeDefinition};
use fhir::fhirpath::Expression;
use fhir::json::{Json, Object};

/// A profile that uses something the validator cannot check, or that is no profile.
#[derive(Debug, PartialEq, Eq)]
pub struct ProfileError {
    /// Address of the profile.
    pub profile: String,
    /// Id of the element; empty for the profile itself.
    pub element: String,
    /// What cannot be used, in English.
    pub problem: String,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let ProfileError { profile, element, problem } = self;
        match element.as_str() {
            "" => write!(formatter, "the profile {profile} cannot be used: {problem}"),
            element => write!(formatter, "the profile {profile} cannot be used: {element}: {problem}"),
        }
    }
}

impl std::error::Error for ProfileError {}

/// Profiles of other guides that ours point to, and the type each is about. Whether a patient follows the registry's profile, the
/// registry alone can say.
const OTHERS: [(&str, &str); 1] = [("https://fhir.ee/mpi/StructureDefinition/ee-mpi-patient-verified", "Patient")];

const R5: &str = "http://hl7.org/fhir/StructureDefinition/";

/// Members of an element that ask nothing, or are read with their neighbours.
const WITHOUT_RULES: [&str; 12] = [
    "id",
    "path",
    "sliceName",
    "short",
    "_short",
    "definition",
    "comment",
    "requirements",
    "alias",
    "mustSupport",
    "base",
    "mapping",
];

/// All profiles, and the names of their rules in the order of their numbers.
pub(super) struct Profiles {
    pub profiles: Vec<ProfileRules>,
    pub rule_names: Vec<String>,
}

/// Reads all profiles; each may stand on another of them.
pub(super) fn read(definitions: &[Json<'static>]) -> Result<Profiles, ProfileError> {
    let mut reader = ProfileReader { definitions, profiles: Vec::new(), rule_names: Vec::new(), open: Vec::new() };
    for definition in definitions {
        reader.profile(definition.text("url").unwrap_or_default())?;
    }
    reader.profiles.iter_mut().for_each(|profile| profile.rules.note_needed());
    Ok(Profiles { profiles: reader.profiles, rule_names: reader.rule_names })
}

struct ProfileReader<'d> {
    definitions: &'d [Json<'static>],
    profiles: Vec<ProfileRules>,
    rule_names: Vec<String>,
    /// Addresses of the profiles being read, each standing on the next.
    open: Vec<String>,
}

/// Where an element's rules are being read.
struct RuleContext<'h> {
    profile: &'h str,
    id: &'h Arc<str>,
    element: &'h str,
}

impl RuleContext<'_> {
    fn error(&self, problem: impl Into<String>) -> ProfileError {
        ProfileError { profile: self.profile.to_owned(), element: self.element.to_owned(), problem: problem.into() }
    }
}

impl ProfileReader<'_> {
    fn profile(&mut self, url: &str) -> Result<usize, ProfileError> {
        if let Some(at) = self.profiles.iter().position(|profile| profile.url == url) {
            return Ok(at);
        }
        let error =
            |problem: &str| ProfileError { profile: url.into(), element: String::new(), problem: problem.into() };
        let definition = self.definitions.iter().find(|definition| definition.text("url") == Some(url));
        let definition = definition.ok_or_else(|| error("it is missing"))?;
        if self.open.iter().any(|open| open == url) {
            return Err(error("it stands on itself"));
        }
        let text = |name: &str| definition.text(name).ok_or_else(|| error(&format!("{name} is missing")));
        let (resource_type, base, id) = (text("type")?, text("baseDefinition")?, text("id")?);
        if text("resourceType")? != "StructureDefinition" || text("derivation")? != "constraint" {
            return Err(error("it is no StructureDefinition that constrains another"));
        }
        let r5 = element::of_resource(resource_type).ok_or_else(|| error("its type is no R5 resource"))?;
        let base_rules = if base.strip_prefix(R5) == Some(resource_type) {
            ElementRules::default()
        } else {
            self.open.push(url.to_owned());
            let at = self.profile(base)?;
            self.open.pop();
            if self.profiles[at].resource_type != resource_type {
                return Err(error("it is about another type than the profile it stands on"));
            }
            self.profiles[at].rules.clone()
        };
        let mut rules = base_rules;
        let id: Arc<str> = id.into();
        for element in definition.get("differential").map_or(&[][..], |differential| differential.items("element")) {
            let name = element.text("id").unwrap_or_default();
            self.element(&RuleContext { profile: url, id: &id, element: name }, element, r5, &mut rules)?;
        }
        self.profiles.push(ProfileRules {
            url: url.to_owned(),
            version: definition.text("version").unwrap_or_default().to_owned(),
            id: id.to_string(),
            title: definition.text("title").unwrap_or(&id).to_owned(),
            resource_type: resource_type.to_owned(),
            is_abstract: definition.get("abstract") == Some(&Json::Bool(true)),
            rules,
        });
        Ok(self.profiles.len() - 1)
    }

    fn element(
        &mut self,
        here: &RuleContext,
        element: &Json,
        r5: &'static TypeDefinition,
        root: &mut ElementRules,
    ) -> Result<(), ProfileError> {
        let Json::Object(members) = element else { return Err(here.error("the element is no object")) };
        let mut steps = here.element.split('.');
        if steps.next() != Some(r5.name) {
            return Err(here.error("the id of the element does not begin with the type"));
        }
        let mut steps = steps.peekable();
        let mut rules = root;
        let mut definition = Some(r5);
        let mut r5_types = vec![r5.name];
        while let Some(step) = steps.next() {
            let (name, slice) = step.split_once(':').map_or((step, None), |(name, slice)| (name, Some(slice)));
            let name = name.trim_end_matches("[x]");
            let found = definition.and_then(|definition| definition.elements.iter().find(|known| known.name == name));
            let found = found.ok_or_else(|| here.error(format!("R5 has no element {name} here")))?;
            r5_types = found.types.iter().map(|known| known.name).collect();
            rules = rules.child_mut(name);
            let mut types = rules.types.as_ref().map(|types| types.asks.clone()).unwrap_or_default();
            if let Some(name) = slice {
                let slicing = rules.slicing.as_mut().ok_or_else(|| here.error("a slice stands before its slicing"))?;
                let slice = slice_of(slicing, name);
                if steps.peek().is_none() {
                    read_slice(here, members, slice)?;
                }
                types.clone_from(&slice.types);
                rules = &mut slice.rules;
            }
            definition = match (types.as_slice(), found.types.as_slice()) {
                ([only], _) => element::of(only),
                ([], [only]) => only.definition(),
                _ => None,
            };
        }
        let is_slice = element.text("sliceName").is_some();
        for (name, value) in members.iter().filter(|(name, _)| !(is_slice && *name == "type")) {
            self.member(here, name, value, rules, &r5_types)?;
        }
        Ok(())
    }

    fn member(
        &mut self,
        here: &RuleContext,
        name: &str,
        value: &Json,
        rules: &mut ElementRules,
        r5_types: &[&'static str],
    ) -> Result<(), ProfileError> {
        match name {
            "min" => {
                let min = number(here, value)?;
                if rules.min.as_ref().is_some_and(|known| known.asks > min) {
                    return Err(here.error("min is lower than that of the profile it stands on"));
                }
                rules.min = Some(self.rule(here, "min", min));
            }
            "max" => {
                let max = match value.as_str() {
                    Some("*") => MANY,
                    Some(digits) => digits.parse().map_err(|_| here.error("max is no number"))?,
                    None => return Err(here.error("max is no text")),
                };
                if rules.max.as_ref().is_some_and(|known| known.asks < max) {
                    return Err(here.error("max is higher than that of the profile it stands on"));
                }
                rules.max = Some(self.rule(here, "max", max));
            }
            "type" => self.types(here, value, rules, r5_types)?,
            "binding" => {
                // The other strengths recommend, and refuse nothing.
                if value.text("strength") == Some("required") {
                    let value_set = value.text("valueSet").ok_or_else(|| here.error("a binding without value set"))?;
                    rules.value_set = Some(self.rule(here, "binding", without_version(value_set).to_owned()));
                }
            }
            "constraint" => {
                for constraint in value.as_array().unwrap_or_default() {
                    let read = constraint_of(here, constraint)?;
                    let rule = self.rule(here, &read.key.clone(), Arc::new(read));
                    rules.invariants.push(rule);
                }
            }
            "slicing" => self.slicing(here, value, rules)?,
            name if WITHOUT_RULES.contains(&name) => {}
            name => {
                let fixed = ["fixed", "pattern"].into_iter().find(|kind| name.starts_with(kind));
                let Some(kind) = fixed else { return Err(here.error(format!("{name} cannot be checked"))) };
                let value = Arc::new(FixedValue { json: value.clone().into_owned(), is_exact: kind == "fixed" });
                rules.value = Some(self.rule(here, kind, value));
            }
        }
        Ok(())
    }

    fn types(
        &mut self,
        here: &RuleContext,
        value: &Json,
        rules: &mut ElementRules,
        r5_types: &[&'static str],
    ) -> Result<(), ProfileError> {
        let (mut types, mut targets) = (Vec::new(), Vec::new());
        for kind in value.as_array().unwrap_or_default() {
            let Json::Object(members) = kind else { return Err(here.error("a type is no object")) };
            if let Some((name, _)) = members.iter().find(|(name, _)| !["code", "targetProfile"].contains(name)) {
                return Err(here.error(format!("type.{name} cannot be checked here")));
            }
            types.push(kind.text("code").ok_or_else(|| here.error("a type without code"))?.to_owned());
            for url in kind.items("targetProfile").iter().filter_map(Json::as_str) {
                targets.push(self.target(here, url)?);
            }
        }
        if r5_types.len() != types.len() || r5_types.iter().any(|known| !types.iter().any(|kind| kind == known)) {
            rules.types = Some(self.rule(here, "type", types));
        }
        if !targets.is_empty() {
            rules.targets = Some(self.rule(here, "target", targets));
        }
        Ok(())
    }

    fn target(&mut self, here: &RuleContext, url: &str) -> Result<TargetType, ProfileError> {
        let url = without_version(url);
        if let Some(name) = url.strip_prefix(R5) {
            return match element::of_resource(name) {
                Some(_) => Ok(TargetType::Type(name.to_owned())),
                None => Err(here.error(format!("the target {url} is no R5 resource"))),
            };
        }
        if let Some((_, name)) = OTHERS.iter().find(|(known, _)| *known == url) {
            return Ok(TargetType::Type((*name).to_owned()));
        }
        let of_ours = self.definitions.iter().find(|definition| definition.text("url") == Some(url));
        let resource_type = of_ours.and_then(|definition| definition.text("type"));
        match resource_type {
            Some(resource_type) => Ok(TargetType::Profile(url.to_owned(), resource_type.to_owned())),
            None => Err(here.error(format!("the target {url} is missing"))),
        }
    }

    fn slicing(&mut self, here: &RuleContext, value: &Json, rules: &mut ElementRules) -> Result<(), ProfileError> {
        if value.get("ordered") == Some(&Json::Bool(true)) {
            return Err(here.error("the order of slices cannot be checked"));
        }
        let mut by = Vec::new();
        for discriminator in value.items("discriminator") {
            by.push(match (discriminator.text("type"), discriminator.text("path")) {
                (Some("type"), Some("$this")) => Discriminator::Type,
                (Some("profile"), Some("$this")) => Discriminator::Profile,
                (Some("value" | "pattern"), Some(path)) if is_name(path) => Discriminator::Value(path.to_owned()),
                (kind, path) => {
                    return Err(here.error(format!("slices cannot be told apart by {kind:?} of {path:?}")));
                }
            });
        }
        if by.is_empty() {
            return Err(here.error("nothing tells the slices apart"));
        }
        let closed = match value.text("rules") {
            Some("open") => None,
            Some("closed") => Some(self.rule(here, "slicing", ())),
            rules => return Err(here.error(format!("slicing rules {rules:?} cannot be checked"))),
        };
        let slices = rules.slicing.take().map_or(Vec::new(), |slicing| slicing.slices);
        rules.slicing = Some(Slicing { by, closed, slices });
        Ok(())
    }

    fn rule<T>(&mut self, here: &RuleContext, kind: &str, asks: T) -> ElementRule<T> {
        let number = u16::try_from(self.rule_names.len()).expect("profiles have some hundreds of rules");
        self.rule_names.push(format!("{}#{} {kind}", here.id, here.element));
        ElementRule { asks, number, profile: here.id.clone() }
    }
}

fn number(here: &RuleContext, value: &Json) -> Result<u32, ProfileError> {
    match value {
        Json::Number(digits) => digits.parse().map_err(|_| here.error("min is no whole number")),
        _ => Err(here.error("min is no number")),
    }
}

fn constraint_of(here: &RuleContext, constraint: &Json) -> Result<Constraint, ProfileError> {
    let text = |name: &str| constraint.text(name).ok_or_else(|| here.error(format!("constraint.{name} is missing")));
    let (key, expression) = (text("key")?, text("expression")?);
    let expression = Expression::parse(expression).map_err(|error| here.error(format!("{key}: {error}")))?;
    let estonian = constraint.get("_human").and_then(|human| translation(human, "et"));
    Ok(Constraint {
        key: key.to_owned(),
        english: text("human")?.to_owned(),
        estonian: estonian.map(str::to_owned),
        is_error: text("severity")? == "error",
        expression,
    })
}

/// The extension `translation` of a text.
fn translation<'j>(sibling: &'j Json, language: &str) -> Option<&'j str> {
    sibling.items("extension").iter().find_map(|translation| {
        let part = |name: &str| translation.items("extension").iter().find(|part| part.text("url") == Some(name));
        let is_it = part("lang").and_then(|part| part.text("valueCode")) == Some(language);
        part("content").filter(|_| is_it)?.text("valueString")
    })
}

fn is_name(path: &str) -> bool {
    !path.is_empty() && path.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn without_version(url: &str) -> &str {
    url.split_once('|').map_or(url, |(url, _)| url)
}

/// Of a slice, `type` says which items are its own.
fn read_slice(here: &RuleContext, members: &Object, slice: &mut Slice) -> Result<(), ProfileError> {
    if let Some(short) = members.get("short").and_then(Json::as_str) {
        slice.short = short.to_owned();
    }
    let Some(types) = members.get("type").and_then(Json::as_array) else { return Ok(()) };
    slice.types.clear();
    slice.profiles.clear();
    for kind in types {
        slice.types.push(kind.text("code").ok_or_else(|| here.error("a type without code"))?.to_owned());
        slice
            .profiles
            .extend(kind.items("profile").iter().filter_map(Json::as_str).map(|url| without_version(url).to_owned()));
    }
    Ok(())
}

/// The slice of a name, made where there is none yet.
fn slice_of<'s>(slicing: &'s mut Slicing, name: &str) -> &'s mut Slice {
    let at = match slicing.slices.iter().position(|slice| slice.name == name) {
        Some(at) => at,
        None => {
            slicing.slices.push(Slice {
                name: name.to_owned(),
                short: name.to_owned(),
                types: Vec::new(),
                profiles: Vec::new(),
                coding: None,
                rules: ElementRules::default(),
            });
            slicing.slices.len() - 1
        }
    };
    &mut slicing.slices[at]
}

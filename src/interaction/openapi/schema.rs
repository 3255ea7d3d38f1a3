//! JSON schemas of R5's types, and of the certificates of each profile.
//!
//! They say of a body what its shape is: names, kinds and number of elements, and the codes of required bindings. Rules between elements
//! are the profile's, and `$validate` tells them.
//!
//! Source: FHIR R5 `json.html`; JSON Schema 2020-12.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use certificate::definitions::{self, ProfileSource};
use certificate::{Names, Profile};
use fhir::codes::{self, Codes};
use fhir::element::{self, Element, ElementContent, ElementKind, ElementType, MANY, TypeDefinition};
use fhir::json::Json;
use fhir::primitive::Primitive;

/// Types of a choice from which it is one of everything (`Extension.value[x]`). The objects among them are then not described, since all
/// of R5 would be.
const ANYTHING: usize = 20;

/// Codes of a required binding that are listed at most.
const CODES_MAX: usize = 40;

/// Resources whose elements are described. Others are resources of their type.
const DESCRIBED: [&str; 6] = ["AuditEvent", "Bundle", "Composition", "OperationOutcome", "Parameters", "Patient"];

/// Name of the schema of a certificate that may be written.
pub(super) const CERTIFICATE: &str = "HealthCertificate";

/// `components.schemas`: certificates, the resources that requests and answers have, and all that these are made of.
pub(super) fn schemas(names: &Names) -> Map<String, Value> {
    let mut schemas = Schemas::default();
    for name in DESCRIBED {
        schemas.reference(name);
    }
    schemas.describe_all();
    let profiles = Profile::ALL.map(|profile| (profile.name(), certificate(names, profile)));
    let any = Profile::ALL.map(|profile| json!({"$ref": address(profile.name())}));
    let resource = json!({
        "type": "object",
        "description": "A resource of any type of FHIR R5.",
        "required": ["resourceType"],
        "properties": {"resourceType": {"type": "string"}},
    });
    let own = [(CERTIFICATE, json!({"anyOf": any})), ("Resource", resource)];
    let own = own.into_iter().chain(profiles).map(|(name, schema)| (name.to_owned(), schema));
    schemas.made.into_iter().chain(own).collect()
}

/// The schema of a resource of this type.
pub(super) fn of_resource(resource_type: &str) -> Value {
    match DESCRIBED.contains(&resource_type) {
        true => json!({"$ref": address(resource_type)}),
        false => json!({
            "allOf": [{"$ref": address("Resource")}],
            "properties": {"resourceType": {"const": resource_type}},
        }),
    }
}

/// Where a schema stands.
pub(super) fn address(name: &str) -> String {
    format!("#/components/schemas/{name}")
}

#[derive(Default)]
struct Schemas {
    made: BTreeMap<String, Value>,
    open: Vec<&'static TypeDefinition>,
}

impl Schemas {
    /// The schema of a type, which is made later unless it is there.
    fn reference(&mut self, name: &str) -> Value {
        if !self.made.contains_key(name)
            && let Some(definition) = element::of(name)
        {
            self.made.insert(name.to_owned(), Value::Null);
            self.open.push(definition);
        }
        json!({"$ref": address(name)})
    }

    fn describe_all(&mut self) {
        while let Some(definition) = self.open.pop() {
            let schema = self.of_type(definition);
            self.made.insert(definition.name.to_owned(), schema);
        }
    }

    fn of_type(&mut self, definition: &'static TypeDefinition) -> Value {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        if definition.kind == ElementKind::Resource {
            properties.insert("resourceType".to_owned(), json!({"const": definition.name}));
            required.push("resourceType".to_owned());
        }
        for element in &definition.elements {
            for kind in &element.types {
                let name = match element.is_choice {
                    true => format!("{}{}", element.name, capital(kind.name)),
                    false => element.name.to_owned(),
                };
                if matches!(kind.content, ElementContent::Primitive(_)) && !kind.is_plain {
                    let sibling = self.reference("Element");
                    properties.insert(format!("_{name}"), in_list(element, nullable(element, sibling)));
                }
                let value = self.of_value(element, kind);
                properties.insert(name, in_list(element, value));
            }
            if element.min > 0 && !element.is_choice {
                required.push(element.name.to_owned());
            }
        }
        let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }

    /// One value of an element.
    fn of_value(&mut self, element: &Element, kind: &ElementType) -> Value {
        match kind.content {
            ElementContent::Primitive(primitive) => {
                let mut schema = of_primitive(primitive);
                if let Some(codes) = element.value_set.and_then(listed) {
                    schema = json!({"enum": codes});
                }
                nullable(element, schema)
            }
            ElementContent::Complex if element.types.len() > ANYTHING => {
                json!({"type": "object", "description": format!("{} of FHIR R5", kind.name)})
            }
            ElementContent::Complex => self.reference(kind.name),
            ElementContent::Resource => json!({"$ref": address("Resource")}),
        }
    }
}

/// In a list of primitive values `null` stands where a value has id or extensions alone, or has none.
fn nullable(element: &Element, schema: Value) -> Value {
    match element.repeats() {
        true => json!({"anyOf": [schema, {"type": "null"}]}),
        false => schema,
    }
}

/// The list of an element that may repeat.
fn in_list(element: &Element, item: Value) -> Value {
    if !element.repeats() {
        return item;
    }
    let mut list = json!({"type": "array", "items": item, "minItems": element.min.max(1)});
    if element.max != MANY {
        list["maxItems"] = json!(element.max);
    }
    list
}

/// The codes of a required binding, where they are few.
fn listed(value_set: &str) -> Option<Vec<&'static str>> {
    let Codes::Listed(systems) = codes::of(value_set)? else { return None };
    let mut all: Vec<&str> = systems.iter().flat_map(|(_, codes)| codes.iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    (all.len() <= CODES_MAX).then_some(all)
}

fn of_primitive(primitive: Primitive) -> Value {
    match primitive {
        Primitive::Boolean => json!({"type": "boolean"}),
        Primitive::Decimal => json!({"type": "number"}),
        Primitive::Integer => json!({"type": "integer", "minimum": i32::MIN, "maximum": i32::MAX}),
        Primitive::UnsignedInt => json!({"type": "integer", "minimum": 0, "maximum": i32::MAX}),
        Primitive::PositiveInt => json!({"type": "integer", "minimum": 1, "maximum": i32::MAX}),
        // Too large for a number of JavaScript, so FHIR writes it as a text.
        Primitive::Integer64 => json!({"type": "string", "pattern": "^(0|[-+]?[1-9][0-9]*)$"}),
        Primitive::Id => id(),
        Primitive::Date => json!({"type": "string", "pattern": DATE, "examples": ["2025-01-12"]}),
        Primitive::DateTime => {
            json!({"type": "string", "pattern": DATE_TIME, "examples": ["2025-01-12T10:00:00+02:00"]})
        }
        Primitive::Instant => json!({"type": "string", "format": "date-time"}),
        Primitive::Time => json!({"type": "string", "pattern": TIME}),
        Primitive::Base64Binary => json!({"type": "string", "contentEncoding": "base64"}),
        Primitive::Canonical | Primitive::Oid | Primitive::Uri | Primitive::Url | Primitive::Uuid => {
            json!({"type": "string", "pattern": "^\\S+$"})
        }
        Primitive::Code => json!({"type": "string", "pattern": "^[^\\s]+( [^\\s]+)*$"}),
        Primitive::Markdown | Primitive::String | Primitive::Xhtml => json!({"type": "string", "minLength": 1}),
    }
}

/// FHIR's type `id`.
pub(super) fn id() -> Value {
    json!({"type": "string", "pattern": "^[A-Za-z0-9\\-.]{1,64}$"})
}

const DATE: &str = "^[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?$";
const DATE_TIME: &str = "^[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01])(T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]+)?\
                         (Z|[+-](0[0-9]|1[0-4]):[0-5][0-9]))?)?)?$";
const TIME: &str = "^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]+)?$";

/// A certificate of a profile: a Composition, and what the profile says of its own elements. What it says inside of them is left to
/// `$validate`.
fn certificate(names: &Names, profile: Profile) -> Value {
    let url = names.profile(profile);
    let rules = ProfileSource::new(names).elements(&url);
    let definition =
        definitions::of_type("StructureDefinition").find(|it| it.id == profile.name()).map(|it| it.read(names));
    let title = definition.as_ref().and_then(|definition| definition.text("title")).unwrap_or(profile.name());
    let composition = element::of("Composition").map_or(&[][..], |definition| &definition.elements[..]);
    let (mut properties, mut required) = (Map::new(), vec!["meta".to_owned()]);
    for element in composition {
        let Some(rule) = rules.get(&format!("Composition.{}", element.name)) else { continue };
        let (min, max) = (number(rule.get("min")), number(rule.get("max")));
        if min > Some(0) {
            required.push(element.name.to_owned());
        }
        match max {
            Some(0) => {
                properties.insert(element.name.to_owned(), json!(false));
            }
            Some(max) if element.repeats() => {
                properties.insert(element.name.to_owned(), json!({"maxItems": max}));
            }
            _ => {}
        }
    }
    properties.insert(
        "meta".to_owned(),
        json!({"required": ["profile"], "properties": {"profile": {"items": {"pattern": starts_with(&url)}, "maxItems": 1}}}),
    );
    json!({
        "title": title,
        "description": format!("A Composition of the profile {url}."),
        "allOf": [{"$ref": address("Composition")}],
        "required": required,
        "properties": properties,
    })
}

/// The address with a version behind it or without.
fn starts_with(url: &str) -> String {
    let escaped: String = url.chars().flat_map(|it| (it == '.').then_some('\\').into_iter().chain([it])).collect();
    format!("^{escaped}(\\|.*)?$")
}

fn number(value: Option<&Json>) -> Option<u32> {
    match value? {
        Json::Number(digits) => digits.parse().ok(),
        Json::String(digits) => digits.parse().ok(),
        _ => None,
    }
}

fn capital(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_uppercase() + rest
}

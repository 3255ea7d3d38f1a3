//! Values and bodies that work: on empty data with `hcert dev`, one request after the other.

use serde_json::{Map, Value, json};

use super::api_operation::ApiOperation;
use crate::interaction::table::InteractionKind;
use certificate::{Names, Renaming};

/// The files of the folder `examples`: name, what it is, text.
const FILES: [(&str, &str, &str); 9] = [
    ("cancel", "The reason for which a certificate is revoked", include_str!("../../../examples/cancel.json")),
    ("driver-draft", "A driver's draft", include_str!("../../../examples/driver-draft.json")),
    (
        "driver-external-declaration",
        "A completed driver's certificate whose health declaration is in another system",
        include_str!("../../../examples/driver-external-declaration.json"),
    ),
    ("driver-final", "A completed driver's certificate", include_str!("../../../examples/driver-final.json")),
    (
        "driver-final-changed",
        "The same, changed for a reason",
        include_str!("../../../examples/driver-final-changed.json"),
    ),
    ("occupational-draft", "An occupational draft", include_str!("../../../examples/occupational-draft.json")),
    (
        "occupational-final",
        "A completed occupational certificate",
        include_str!("../../../examples/occupational-final.json"),
    ),
    (
        "occupational-rejected",
        "An occupational certificate with a negative decision",
        include_str!("../../../examples/occupational-rejected.json"),
    ),
    ("suspend", "The reason for which a certificate is suspended", include_str!("../../../examples/suspend.json")),
];

/// A code list that ships, and a code of it.
const LIST: &str = "labivaatuse-tyyp";
const CODE: &str = "driver-group-I";

/// `components.examples`
pub(super) fn bodies(names: &Names) -> Value {
    let renaming = Renaming::new(names);
    let of_file = |&(name, summary, text): &(&str, &str, &str)| {
        let value = serde_json::from_str(&renaming.applied(text.to_owned())).unwrap_or(Value::Null);
        (name.to_owned(), json!({"summary": summary, "value": value}))
    };
    Value::Object(FILES.iter().map(of_file).collect())
}

/// The text of an example, as its file has it, with the names in use.
pub fn example_text(name: &str, names: &Names) -> Option<String> {
    let (_, _, text) = FILES.iter().find(|(known, _, _)| *known == name)?;
    Some(Renaming::new(names).applied((*text).to_owned()))
}

/// Examples of the body that an interaction takes as a resource.
pub(super) fn of(kind: InteractionKind, names: &Names) -> Map<String, Value> {
    let files: &[&str] = match kind {
        InteractionKind::Create => &[
            "driver-draft",
            "driver-external-declaration",
            "driver-final",
            "occupational-draft",
            "occupational-final",
            "occupational-rejected",
        ],
        InteractionKind::Update => &["driver-final", "driver-final-changed"],
        InteractionKind::Validate => &["driver-final", "occupational-rejected"],
        InteractionKind::Suspend => &["suspend"],
        InteractionKind::Cancel => &["cancel"],
        _ => &[],
    };
    if !files.is_empty() {
        let shared = |name: &&str| ((*name).to_owned(), json!({"$ref": format!("#/components/examples/{name}")}));
        return files.iter().map(shared).collect();
    }
    let parameters = match kind {
        InteractionKind::SetConsent => vec![json!({"name": "doctor", "valueString": "closed"})],
        InteractionKind::Pdf => vec![json!({"name": "role", "valueString": "doctor"})],
        InteractionKind::Lookup | InteractionKind::ValidateCode(_) | InteractionKind::Expand => {
            let named = ["url", "system", "code"].into_iter();
            let named = named.filter_map(|name| Some((name, parameter(kind, name, names)?)));
            named.map(|(name, value)| json!({"name": name, value_name(name): value})).collect()
        }
        _ => Vec::new(),
    };
    let mut body = json!({"resourceType": "Parameters"});
    if !parameters.is_empty() {
        body["parameter"] = Value::Array(parameters);
    }
    Map::from_iter([("parameters".to_owned(), json!({"value": body}))])
}

/// The member of Parameters in which a value stands.
fn value_name(name: &str) -> &'static str {
    match name {
        "code" => "valueCode",
        _ => "valueUri",
    }
}

/// The example of a form.
pub(super) fn form(kind: InteractionKind) -> Value {
    match kind {
        InteractionKind::Search => json!({"subject:Patient.identifier": "39406240015", "_sort": "-date"}),
        InteractionKind::PatientSearch => json!({"identifier": "39406240015"}),
        InteractionKind::AuditSearch => json!({"patient": "39406240015", "_count": 5}),
        _ => json!({"_count": 2}),
    }
}

/// The id in the path, where it is not 1.
pub(super) fn id(operation: &ApiOperation) -> Option<&'static str> {
    match operation.resource {
        "Patient" => Some("200"),
        "StructureDefinition" => Some("ee-health-certificate-driver"),
        "OperationDefinition" => Some("ee-health-certificate-suspend"),
        "CodeSystem" | "ValueSet" => Some(LIST),
        "SearchParameter" => Some("certificate-subject"),
        _ => None,
    }
}

/// The value of a parameter in a query; nothing where the example goes without.
pub(super) fn parameter(kind: InteractionKind, name: &str, names: &Names) -> Option<Value> {
    use super::super::ListKind;

    let list = |of: &str| json!(format!("{}/{of}/{LIST}", names.code_system_base));
    Some(match (kind, name) {
        (InteractionKind::Search, "subject") => json!("Patient/200"),
        (InteractionKind::Search, "status") => json!("final"),
        (InteractionKind::PatientSearch, "identifier") => json!("39406240015"),
        (InteractionKind::AuditSearch, "patient") => json!("Patient/200"),
        (InteractionKind::Lookup, "system") => list("CodeSystem"),
        (InteractionKind::ValidateCode(ListKind::CodeSystem), "url") => list("CodeSystem"),
        (InteractionKind::ValidateCode(ListKind::ValueSet), "system") => list("CodeSystem"),
        (InteractionKind::ValidateCode(ListKind::ValueSet) | InteractionKind::Expand, "url") => list("ValueSet"),
        (InteractionKind::Lookup | InteractionKind::ValidateCode(_), "code") => json!(CODE),
        (InteractionKind::Pdf, "role") => json!("doctor"),
        _ => return None,
    })
}

//! The search parameters of certificates as SearchParameter resources, made from the table that the search itself reads.

use certificate::Names;
use certificate::search::parameter::{Field, Modifier, PARAMETERS, Parameter, ParameterTarget, RowTarget, TimeField};
use fhir::json::{Json, Object};

/// All of them, in the order of the table.
pub(super) fn all(names: &Names) -> Vec<Json<'static>> {
    PARAMETERS.iter().map(|parameter| resource(parameter, names)).collect()
}

fn resource(parameter: &Parameter, names: &Names) -> Json<'static> {
    let id = id(parameter);
    let mut resource = Object::default();
    let mut set = |name, value| resource.set(name, value);
    set("resourceType", Json::string("SearchParameter"));
    set("id", Json::string(id.clone()));
    set("url", Json::string(format!("{}/SearchParameter/{id}", names.profile_base)));
    set("version", Json::string("1.0.0"));
    set("name", Json::string(name(&id)));
    set("derivedFrom", Json::string(parameter.definition()));
    set("status", Json::string("active"));
    set("experimental", Json::Bool(false));
    set("description", Json::string(parameter.documentation));
    set("code", Json::string(parameter.name));
    set("base", texts(["Composition"]));
    set("type", Json::string(parameter.target.kind()));
    set("expression", Json::string(expression(parameter.target)));
    set("processingMode", Json::string("normal"));
    if let RowTarget::Reference { target, .. } = parameter.target {
        set("target", texts([target]));
    }
    set("multipleOr", Json::Bool(true));
    set("multipleAnd", Json::Bool(true));
    if let RowTarget::Time(field) = parameter.target {
        set("comparator", texts(comparators(field).iter().copied()));
    }
    if !parameter.modifiers.is_empty() {
        set(
            "modifier",
            texts(parameter.modifiers.iter().map(|modifier| match modifier {
                Modifier::Patient => "type",
                other => other.name(),
            })),
        );
    }
    if parameter.target == RowTarget::SectionCodeText {
        let component = |definition: &str, expression: &'static str| {
            let definition = Json::string(format!("http://hl7.org/fhir/SearchParameter/{definition}"));
            Json::object([("definition", definition), ("expression", Json::string(expression))])
        };
        let components = [component("Composition-section", "code"), component("Composition-section-text", "text")];
        set("component", Json::Array(components.into()));
    }
    Json::Object(resource)
}

/// `certificate-subject-Patient.identifier`
fn id(parameter: &Parameter) -> String {
    format!("certificate-{}", parameter.name.trim_start_matches('_').replace(':', "-"))
}

/// `CertificateSubjectPatientIdentifier`
fn name(id: &str) -> String {
    let part = |part: &str| {
        let mut characters = part.chars();
        characters.next().map(|first| first.to_uppercase().chain(characters).collect::<String>()).unwrap_or_default()
    };
    id.split(['-', '.']).map(part).collect()
}

/// Where in a certificate it looks. Decision 166.
fn expression(target: RowTarget) -> &'static str {
    match target {
        RowTarget::Id => "Composition.id",
        RowTarget::State => "Composition.status",
        RowTarget::Category => "Composition.category",
        RowTarget::Kind => "Composition.type",
        RowTarget::Time(TimeField::LastUpdated) => "Composition.meta.lastUpdated",
        RowTarget::Time(TimeField::Date) => "Composition.date",
        RowTarget::Time(TimeField::Period) => "Composition.event.period",
        RowTarget::Title => "Composition.title",
        RowTarget::SectionCodeText => Field::SectionCodeText.expression(),
        RowTarget::Registry => "Composition.subject.resolve().ofType(Patient).identifier",
        RowTarget::Token(field) | RowTarget::Reference { field, .. } => field.expression(),
    }
}

/// Source: Contract 4.3; FHIR R5 `search.html#date`.
fn comparators(field: TimeField) -> &'static [&'static str] {
    match field {
        TimeField::Period => &["eq", "gt", "lt", "ge", "le", "sa", "eb"],
        TimeField::Date | TimeField::LastUpdated => &["eq", "ne", "gt", "lt", "ge", "le", "sa", "eb", "ap"],
    }
}

fn texts(texts: impl IntoIterator<Item = &'static str>) -> Json<'static> {
    Json::Array(texts.into_iter().map(Json::string).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use certificate::Id;
    use certificate::search::extract::extract;
    use certificate::search::paging::Counts;
    use certificate::search::query::{CompositionSearch, PatientIds, ReadingLimits};
    use certificate::search::row::Row;
    use certificate::search::seal::SealKey;
    use fhir::fhirpath::{self, Expression, Node};
    use fhir::{date_time, json, narrative, shape};

    #[test]
    fn every_search_parameter_is_a_resource_of_its_own() {
        let mut all = all(&Names::default());
        let ids: BTreeSet<String> = all.iter().filter_map(|resource| resource.text("id").map(str::to_owned)).collect();
        assert_eq!(ids.len(), PARAMETERS.len());
        for resource in &mut all {
            assert!(shape::expect(resource, "SearchParameter").is_ok(), "{:?}", resource.text("id"));
        }
        let chain = &all[0];
        assert_eq!(chain.text("id"), Some("certificate-subject-Patient.identifier"));
        assert_eq!(chain.text("name"), Some("CertificateSubjectPatientIdentifier"));
        assert_eq!(chain.text("code"), Some("subject:Patient.identifier"));
    }

    /// Text values of a search that an element answers, by the rules of R5 for its type.
    fn values(node: &Node, parameter: &Parameter) -> Vec<String> {
        let json = node.value.expect("the examples have no element without a value");
        let token = |system: Option<&str>, code: &str| format!("{}|{code}", system.unwrap_or_default());
        let coded = |concept: &Json| -> Vec<String> {
            let codings = concept.items("coding").iter();
            codings.filter_map(|coding| Some(token(coding.text("system"), coding.text("code")?))).collect()
        };
        match parameter.target.kind() {
            "token" if node.is("CodeableConcept") => coded(json),
            "token" if node.is("Identifier") => {
                json.text("value").map(|value| token(json.text("system"), value)).into_iter().collect()
            }
            // What a certificate contains has no address that could be searched for.
            "reference" => {
                let found = json.text("reference").filter(|reference| !reference.starts_with('#'));
                found.map(str::to_owned).into_iter().collect()
            }
            "date" if node.is("Period") => json.text("start").map(str::to_owned).into_iter().collect(),
            "composite" => {
                let (code, text) = (json.get("code").map(coded).unwrap_or_default(), json.get("text"));
                let text = text.and_then(|text| text.text("div")).and_then(narrative::plain_text).unwrap_or_default();
                code.into_iter().filter(|_| !text.is_empty()).map(|code| format!("{code}${text}")).collect()
            }
            _ => node.text().map(str::to_owned).into_iter().collect(),
        }
    }

    /// What was observed: `Resource.id` does not evaluate where the base is Composition. Now every expression is evaluated over the
    /// examples, and the service finds a certificate by exactly what its expressions lead to.
    #[test]
    fn every_expression_leads_to_what_the_search_finds() {
        let names = Names::default();
        let seal = SealKey::new(&[7; 32]);
        let settings = ReadingLimits {
            base_url: &names.base_url,
            names: &names,
            count: Counts::default(),
            link_seconds: 60,
            lenient: false,
            by_form: false,
            now: 0,
            seal: &seal,
            caller: "",
            narrowed: false,
        };
        let updated = "2025-06-01T12:00:00.000+03:00";
        let certificates: Vec<Json> = EXAMPLES
            .iter()
            .map(|text| {
                let mut json = json::parse(text).expect("an example");
                let Json::Object(object) = &mut json else { panic!("an example is an object") };
                object.set("id", Json::string("7"));
                if let Some(Json::Object(meta)) = object.get_mut("meta") {
                    meta.set("lastUpdated", Json::string(updated));
                }
                json
            })
            .collect();
        let updated = date_time::span(updated).unwrap().low;
        let rows: Vec<Row> =
            certificates.iter().map(|json| extract(json.as_object().unwrap(), updated, &names).unwrap()).collect();
        let id = Id::parse("7").unwrap();
        for parameter in PARAMETERS {
            let expression = Expression::parse(expression(parameter.target)).expect(parameter.name);
            let found: Vec<Vec<String>> = certificates
                .iter()
                .map(|json| {
                    let (node, shared) = (Node::resource(json), fhirpath::SharedContext::of(json));
                    let context =
                        fhirpath::EvaluationContext { focus: node, resource: node, root: node, shared: &shared };
                    let nodes = expression.elements(context).expect(parameter.name);
                    nodes.iter().flat_map(|node| values(node, parameter)).collect()
                })
                .collect();
            // Patients lie in the registry, so nothing leads to them here.
            let is_elsewhere = parameter.target == RowTarget::Registry;
            assert_eq!(found.iter().all(Vec::is_empty), is_elsewhere, "{}", parameter.name);
            for value in found.iter().flatten() {
                let asked = vec![(parameter.name.to_owned(), escaped(value, parameter))];
                let search = CompositionSearch::parse(&asked, &settings)
                    .unwrap_or_else(|refused| panic!("{asked:?}: {refused:?}"));
                let filter = search.query(&PatientIds::new()).filter;
                for (row, own) in rows.iter().zip(&found) {
                    // A day asks for more than the element it stands for.
                    let is_exact = parameter.target.kind() != "date";
                    let matches = filter.matches(id, row);
                    assert!(matches || !own.contains(value), "{asked:?} is not found");
                    assert!(!matches || !is_exact || own.contains(value), "{asked:?} is found elsewhere");
                }
            }
        }
    }

    /// A value with the signs escaped that separate in a search.
    fn escaped(value: &str, parameter: &Parameter) -> String {
        let value = value.replace(',', "\\,");
        if parameter.target.kind() == "string" { value.replace('|', "\\|") } else { value }
    }

    const EXAMPLES: [&[u8]; 5] = [
        include_bytes!("../../examples/driver-draft.json"),
        include_bytes!("../../examples/driver-final.json"),
        include_bytes!("../../examples/driver-external-declaration.json"),
        include_bytes!("../../examples/occupational-final.json"),
        include_bytes!("../../examples/occupational-rejected.json"),
    ];
}

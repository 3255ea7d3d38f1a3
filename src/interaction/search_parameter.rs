//! The search parameters of certificates as SearchParameter resources, made from the table that the search itself reads.

use crate::certificate::Names;
use crate::fhir::json::{Json, Object};
use crate::search::filter::TimeField;
use crate::search::parameter::{Looks, LooksAt, Modifier, PARAMETERS, Parameter};
use crate::search::term::Field;

/// All of them, in the order of the table.
pub fn all(names: &Names) -> Vec<Json<'static>> {
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
    set("type", Json::string(parameter.looks.kind()));
    set("expression", Json::string(expression(parameter.looks)));
    set("processingMode", Json::string("normal"));
    if let Looks::Reference { target, .. } = parameter.looks {
        set("target", texts([target]));
    }
    set("multipleOr", Json::Bool(true));
    set("multipleAnd", Json::Bool(true));
    if let Looks::Time(field) = parameter.looks {
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
    if parameter.looks == Looks::SectionCodeText {
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

/// Where in a certificate it looks.
fn expression(looks: Looks) -> &'static str {
    const AUTHOR: [&str; 2] = [
        "Composition.author.resolve().ofType(PractitionerRole).practitioner",
        "Composition.author.resolve().ofType(PractitionerRole).organization",
    ];
    match looks {
        Looks::Id => "Resource.id",
        Looks::State => "Composition.status",
        Looks::Category => "Composition.category",
        Looks::Kind => "Composition.type",
        Looks::Time(TimeField::LastUpdated) => "Resource.meta.lastUpdated",
        Looks::Time(TimeField::Date) => "Composition.date",
        Looks::Time(TimeField::Period) => "Composition.event.period",
        Looks::Title => "Composition.title",
        Looks::SectionCodeText => "Composition.descendants().where(code.exists() and text.exists())",
        Looks::Registry => "Composition.subject.resolve().ofType(Patient).identifier",
        Looks::Token(field) | Looks::Reference { field, .. } => match field {
            Field::Subject | Field::SubjectIdentifier => "Composition.subject",
            Field::AuthorPractitioner => AUTHOR[0],
            Field::AuthorOrganization => AUTHOR[1],
            Field::Entry | Field::EntryIdentifier | Field::AdviceEntry | Field::AdviceEntryIdentifier => {
                "Composition.section.entry"
            }
            Field::Identifier => "Composition.identifier",
            Field::SectionCodeText | Field::AdviceSectionCodeText => "Composition.section",
        },
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
    use crate::fhir::shape;

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
}

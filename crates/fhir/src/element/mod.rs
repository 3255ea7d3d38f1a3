//! The elements of every R5 resource and datatype: names, types, cardinalities, flags, required bindings, reference targets.
//!
//! They stand in `data/r5-elements.txt` (`data/r5-elements.py` explains its form). A start reads none of it: the first question
//! finds the types in the text, and a type is read when it is first asked for.

mod checks;
mod definition;
mod keys;
mod table;

pub use definition::{
    Checks, Element, ElementChecks, ElementContent, ElementKind, ElementLookup, ElementType, Invariant, MANY,
    TypeDefinition,
};
pub use table::{of, of_resource};

impl TypeDefinition {
    /// What a JSON name means here: `subject`, `valueQuantity`, `_date`. `resourceType` is no element.
    pub fn find(&'static self, json: &str) -> Option<ElementLookup> {
        let (name, is_sibling) = match json.strip_prefix('_') {
            Some(name) => (name, true),
            None => (json, false),
        };
        let key = self.keys.find(name)?;
        let element = &self.elements[key.element];
        let kind = &element.types[key.kind];
        if is_sibling && !kind.has_sibling() {
            return None;
        }
        Some(ElementLookup { element, at: key.element, kind, is_sibling })
    }
}

impl TypeDefinition {
    /// What R5 asks of every value of this type, beyond the form of its elements.
    pub fn checks(&'static self) -> &'static Checks {
        self.checks.get_or_init(|| checks::gathered(self))
    }
}

impl ElementType {
    /// The definition of the value's own elements: for a primitive type those of its sibling object. `None` for a resource,
    /// whose type only its `resourceType` tells.
    pub fn definition(&'static self) -> Option<&'static TypeDefinition> {
        let name = match self.content {
            ElementContent::Resource => return None,
            ElementContent::Primitive(_) => "Element",
            ElementContent::Complex => self.name,
        };
        Some(self.definition.get_or_init(|| of(name).expect("a test follows every type of the table")))
    }

    fn has_sibling(&self) -> bool {
        matches!(self.content, ElementContent::Primitive(_)) && !self.is_plain
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::primitive::Primitive;

    fn names(definition: &TypeDefinition, which: impl Fn(&&Element) -> bool) -> Vec<&'static str> {
        definition.elements.iter().filter(which).map(|element| element.name).collect()
    }

    #[test]
    fn a_composition_has_what_r5_says() {
        let composition = of_resource("Composition").unwrap();
        assert_eq!(names(composition, |element| element.min > 0), ["status", "type", "date", "author", "title"]);
        assert_eq!(names(composition, |element| element.modifier), ["implicitRules", "modifierExtension", "status"]);
        assert!(!composition.find("section").unwrap().element.summary);
        assert_eq!(&names(composition, |_| true)[..5], ["id", "meta", "implicitRules", "language", "text"]);
        let status = composition.find("status").unwrap();
        assert_eq!(status.element.value_set, Some("http://hl7.org/fhir/ValueSet/composition-status"));
        assert_eq!(status.kind.content, ElementContent::Primitive(Primitive::Code));
        let author = composition.find("author").unwrap();
        assert_eq!((author.element.min, author.element.max), (1, MANY));
        assert_eq!(author.kind.targets[..2], ["Practitioner", "PractitionerRole"]);
        assert!(composition.find("subject").unwrap().kind.targets.is_empty());
    }

    #[test]
    fn a_json_name_leads_to_its_element_and_type() {
        let observation = of("Observation").unwrap();
        let value = observation.find("valueQuantity").unwrap();
        assert_eq!((value.element.name, value.kind.name, value.is_sibling), ("value", "Quantity", false));
        assert!(value.element.is_choice);
        let sibling = observation.find("_valueDateTime").unwrap();
        assert_eq!((sibling.element.name, sibling.kind.name, sibling.is_sibling), ("value", "dateTime", true));
        assert!(std::ptr::eq(value.element, sibling.element));
        assert_eq!(sibling.kind.definition().unwrap().name, "Element");
    }

    #[test]
    fn names_that_json_does_not_know_are_not_found() {
        let observation = of("Observation").unwrap();
        for name in [
            "",
            "_",
            "value",
            "value[x]",
            "valueAddress",
            "valuequantity",
            "_valueQuantity",
            "__issued",
            "_id",
            "resourceType",
            "Status",
        ] {
            assert!(observation.find(name).is_none(), "{name}");
        }
        assert!(of("Narrative").unwrap().find("_div").is_none());
        assert!(of("Extension").unwrap().find("_url").is_none());
    }

    #[test]
    fn content_references_lead_back() {
        let section = of("Composition").unwrap().find("section").unwrap().kind.definition().unwrap();
        assert_eq!(
            (section.name, section.kind, section.base),
            ("Composition.section", ElementKind::Backbone, Some("BackboneElement"))
        );
        let inner = section.find("section").unwrap().kind.definition().unwrap();
        assert!(std::ptr::eq(section, inner));
        assert!(std::ptr::eq(of("Composition.section").unwrap(), inner));
        assert!(section.find("modifierExtension").is_some() && section.find("contained").is_none());
    }

    #[test]
    fn only_concrete_resources_are_resources() {
        for name in [
            "Resource",
            "DomainResource",
            "MetadataResource",
            "Quantity",
            "string",
            "Composition.section",
            "composition",
            "",
        ] {
            assert!(of_resource(name).is_none(), "{name}");
        }
        assert!(of_resource("Parameters").unwrap().find("text").is_none());
        assert!(of("Composition.nothing").is_none() && of("Composition.").is_none() && of("#").is_none());
    }

    #[test]
    fn profiles_of_datatypes_are_kept() {
        let quantity = of("Claim.item").unwrap().find("quantity").unwrap();
        assert_eq!((quantity.kind.name, quantity.kind.profile), ("Quantity", Some("SimpleQuantity")));
        let age = of("Age").unwrap();
        assert!(age.base == Some("Quantity") && age.find("comparator").is_some());
    }

    #[test]
    fn every_type_of_the_table_is_there_and_leads_only_to_types_that_are_there() {
        let (mut open, mut seen): (Vec<_>, HashSet<_>) = (table::names().collect(), table::names().collect());
        let (mut resources, mut elements) = (0, 0);
        while let Some(name) = open.pop() {
            let definition = of(name).unwrap_or_else(|| panic!("{name} is missing"));
            resources += usize::from(of_resource(name).is_some());
            elements += definition.elements.len();
            assert!(definition.elements.len() <= 128, "{name} has more elements than places have bits");
            let mut json = HashSet::new();
            assert!(definition.keys.iter().all(|key| json.insert(key.json.clone())), "{name} has a name twice");
            for kind in definition.elements.iter().flat_map(|element| &element.types) {
                assert!(kind.targets.iter().chain(&kind.profile).all(|to| of(to).is_some() || *to == "SimpleQuantity"));
                if let Some(inner) = kind.definition().filter(|inner| seen.insert(inner.name)) {
                    open.push(inner.name);
                }
            }
        }
        assert_eq!(resources, 158);
        assert!(elements > 9_000, "{elements}");
    }
}

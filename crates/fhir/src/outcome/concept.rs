//! The codes of `data/code-systems/*-issue.json`, as far as outcomes need them.

use serde::Deserialize;

/// One code with its texts, whose `<name>` places are open.
#[derive(Debug)]
pub(super) struct IssueConcept {
    pub code: String,
    pub issue_type: String,
    pub status: u16,
    pub english: String,
    pub estonian: String,
    /// Code of the issue in front of this one in a chain.
    pub behind: Option<String>,
    /// Name and value of places, for when nothing better is known.
    pub examples: Vec<(String, String)>,
}

/// The codes of a CodeSystem that ships, in its order.
pub(super) fn read(text: &str) -> Vec<IssueConcept> {
    let system: IssueCodeSystem = serde_json::from_str(text).expect("tests read every catalogue that ships");
    system.concept.into_iter().map(IssueConcept::from).collect()
}

#[derive(Deserialize)]
struct IssueCodeSystem {
    /// Left out where a system's codes are not known.
    #[serde(default)]
    concept: Vec<WrittenConcept>,
}

#[derive(Deserialize)]
struct WrittenConcept {
    code: String,
    display: String,
    designation: Vec<Designation>,
    property: Vec<Property>,
}

#[derive(Deserialize)]
struct Designation {
    language: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Property {
    code: String,
    value_code: Option<String>,
    value_integer: Option<u16>,
    value_string: Option<String>,
}

impl From<WrittenConcept> for IssueConcept {
    fn from(written: WrittenConcept) -> IssueConcept {
        let property = |name: &str| written.property.iter().find(|property| property.code == name);
        let examples = written.property.iter().filter(|property| property.code == "example");
        let example = |property: &Property| {
            let (name, value) = property.value_string.as_deref()?.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        };
        IssueConcept {
            behind: property("behind").and_then(|found| found.value_code.clone()),
            issue_type: property("issue-type").and_then(|found| found.value_code.clone()).unwrap_or_default(),
            status: property("http-status").and_then(|found| found.value_integer).unwrap_or_default(),
            estonian: written
                .designation
                .iter()
                .find(|designation| designation.language == "et")
                .map(|designation| designation.value.clone())
                .unwrap_or_default(),
            examples: examples.filter_map(example).collect(),
            english: written.display,
            code: written.code,
        }
    }
}

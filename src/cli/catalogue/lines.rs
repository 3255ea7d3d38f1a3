//! The codes that are shown.

use serde::Serialize;

use certificate::Names;
use fhir::outcome::reflected::{ISSUE_TYPE, all};
use fhir::outcome::{Hcert, Language, entry};

/// One code as it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CatalogueLine<'n> {
    /// Address of the system.
    pub(super) system: &'n str,
    #[serde(skip)]
    pub(super) name: &'static str,
    pub(super) code: &'static str,
    pub(super) issue_type: &'static str,
    pub(super) status: u16,
    #[serde(rename = "en")]
    pub(super) english: &'static str,
    #[serde(rename = "et")]
    pub(super) estonian: &'static str,
    /// Value of `x-hcert-fault` that makes it happen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fault: Option<String>,
}

pub(super) fn own(names: &Names) -> impl Iterator<Item = CatalogueLine<'_>> {
    Hcert::ALL.iter().map(|code| {
        let entry = entry(*code);
        CatalogueLine {
            system: &names.hcert_issue_system,
            name: OWN,
            code: code.code(),
            issue_type: &entry.issue_type,
            status: entry.status,
            english: entry.text(Language::English),
            estonian: entry.text(Language::Estonian),
            fault: None,
        }
    })
}

pub(super) fn reflected(names: &Names) -> impl Iterator<Item = CatalogueLine<'_>> {
    all().iter().map(|entry| {
        let chain: Vec<&str> = entry.chain().iter().map(|entry| entry.code.as_str()).collect();
        CatalogueLine {
            system: names.issue_systems.of(entry.system),
            name: entry.system.name(),
            code: &entry.code,
            issue_type: ISSUE_TYPE,
            status: entry.status,
            english: entry.text(Language::English),
            estonian: entry.text(Language::Estonian),
            fault: Some(chain.join("/")),
        }
    })
}

pub(super) const OWN: &str = "hcert";

//! Examples and generated certificates are written in the default namespaces; this module replaces them with those of a service.
//! Decision 140.

use crate::Names;

/// How addresses of the service's own namespaces begin.
const START: &str = "https://fhir.ee/";

/// From default namespaces to others. Addresses of other systems stay as they are, that of the registry's profile included
/// (Decision 139).
#[derive(Clone, Debug, Default)]
pub struct Renaming(Vec<(&'static str, String)>);

impl Renaming {
    /// To the names of a service.
    pub fn new(names: &Names) -> Renaming {
        let all = [
            ("https://fhir.ee/hcert/StructureDefinition/", format!("{}/StructureDefinition/", names.profile_base)),
            ("https://fhir.ee/hcert/", format!("{}/", names.hcert_ns)),
            ("https://fhir.ee/CodeSystem/", format!("{}/CodeSystem/", names.code_system_base)),
            ("https://fhir.ee/sid/", format!("{}/", names.identifiers.base())),
        ];
        match all.iter().all(|(before, after)| before == after) {
            true => Renaming::default(),
            false => Renaming(all.into()),
        }
    }

    /// As [`apply`](Self::apply), for a text of its own.
    pub fn applied(&self, mut text: String) -> String {
        self.apply(&mut text);
        text
    }

    /// Writes a text in the namespaces of the service. With the default ones it costs nothing.
    pub fn apply(&self, text: &mut String) {
        if self.0.is_empty() {
            return;
        }
        let mut out = String::with_capacity(text.len() + text.len() / 4);
        let mut rest = text.as_str();
        while let Some(at) = rest.find(START) {
            let address = &rest[at..];
            let renamed = self.0.iter().find(|(before, _)| address.starts_with(before));
            let (before, after) = renamed.map_or((START, START), |(before, after)| (*before, after.as_str()));
            out.push_str(&rest[..at]);
            out.push_str(after);
            rest = &address[before.len()..];
        }
        out.push_str(rest);
        *text = out;
    }
}

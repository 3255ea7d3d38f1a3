//! What is known of a list besides its codes.

use fhir::json::Json;
use fhir::limits::ID_CHARACTERS_MAX;

/// Where a list comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListOrigin {
    /// It ships with the binary.
    Shipped,
    /// An operator loaded it, milliseconds since 1970 UTC.
    Loaded {
        /// Time of loading.
        at: i64,
    },
}

/// A list without its codes.
#[derive(Debug)]
pub struct ListHeader {
    /// `CodeSystem` or `ValueSet`
    pub resource_type: &'static str,
    /// What it is served under.
    pub id: String,
    /// Canonical address without version.
    pub url: String,
    /// `version` of the resource, where it has one.
    pub version: Option<String>,
    /// Its title, else its name, else its address.
    pub title: String,
    /// Language of its displays, where it says so.
    pub language: Option<String>,
    /// Whether it ships with the binary or was loaded.
    pub origin: ListOrigin,
    /// It holds every code there is: `content` is `complete`, or the value set is not `experimental`.
    pub is_complete: bool,
    /// A code it does not hold is refused. Contract 8.3.
    pub refuses: bool,
    /// The resource as it is served, minified JSON.
    pub text: Vec<u8>,
}

/// What a list is told of its place among the others.
pub(super) struct ListPlace {
    pub origin: ListOrigin,
    pub strict: bool,
    pub id: String,
    /// A complete list of the same address ships.
    pub shipped_complete: bool,
}

impl ListHeader {
    pub(super) fn new(
        resource_type: &'static str,
        mut resource: Json<'static>,
        place: ListPlace,
        is_complete: bool,
    ) -> ListHeader {
        let ListPlace { origin, strict, id, shipped_complete } = place;
        let text = |name: &str| resource.text(name).map(str::to_owned);
        let url = text("url").unwrap_or_default();
        let (version, language) = (text("version"), text("language"));
        let title = text("title").or_else(|| text("name")).unwrap_or_else(|| url.clone());
        if let Json::Object(object) = &mut resource {
            object.remove("id");
            // A narrative from elsewhere may hold anything, and nobody needs it to use the list.
            object.remove("text");
            let behind_type = object.0.iter().position(|(name, _)| name == "resourceType").map_or(0, |at| at + 1);
            object.0.insert(behind_type, ("id".into(), Json::string(id.clone())));
        }
        // Contract 8.3: what the guide gives in part never refuses, unless strict mode is on and the full list was loaded.
        let refuses = is_complete && (origin == ListOrigin::Shipped || shipped_complete || strict);
        let text = resource.to_vec();
        ListHeader { resource_type, id, url, version, title, language, origin, is_complete, refuses, text }
    }
}

/// The end of an address as a FHIR id.
pub(super) fn id_of(url: &str) -> String {
    let end = url.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    let known = |character: char| character.is_ascii_alphanumeric() || character == '-' || character == '.';
    let id: String = end.chars().map(|character| if known(character) { character } else { '-' }).collect();
    // Room for the number of a second one.
    let id: String = id.chars().take(ID_CHARACTERS_MAX - 6).collect();
    if id.is_empty() { "list".to_owned() } else { id }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_end_of_the_address() {
        for (url, id) in [
            ("https://fhir.ee/CodeSystem/amet", "amet"),
            ("https://fhir.ee/CodeSystem/amet/", "amet"),
            ("urn:oid:1.2.3", "1.2.3"),
            ("https://x/ä b", "--b"),
            ("https://", "list"),
        ] {
            assert_eq!(id_of(url), id);
        }
        assert_eq!(id_of(&format!("https://x/{}", "a".repeat(100))).len(), 58);
    }
}

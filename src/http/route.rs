//! Method and path become an [`Interaction`], by the table of all. After it nobody looks at paths again.

use std::borrow::Cow;

use hyper::Method;

use super::address::{KEYS_PATH, OPENAPI_PATH, SMART_PATH, TOKEN_PATH, without_slash};
use super::query::decode;
use super::x_road::XRoadFault;
use crate::interaction::{HttpMethod, Instance, Interaction, PathId};
use certificate::Id;
use fhir::outcome::{Hcert, Outcome};

/// What a method and a path lead to.
#[derive(Debug, PartialEq, Eq)]
pub enum Route {
    To(Interaction),
    /// The developer's token service, and its keys, with any method.
    TokenService,
    TokenKeys,
    /// Where tokens come from, with any method: from the root of the server, or below the base path.
    SmartConfiguration,
    /// OPTIONS of a path that exists.
    Options,
    WrongMethod,
    Unknown,
    /// A path of X-Road that leads to no service of ours.
    Fault(XRoadFault),
}

impl Route {
    /// The fault that the caller gets in X-Road's words, in place of this refusal.
    pub fn fault_answered(&self, refusal: &Outcome) -> Option<XRoadFault> {
        match self {
            Route::Fault(fault) if refusal.leading() == Hcert::PathUnknown => Some(*fault),
            _ => None,
        }
    }
}

/// Path segments below the base path; the deepest path has five.
const SEGMENTS_MAX: usize = 5;

/// Finds the way. `path` is the path as sent, `base_path` the setting.
pub fn route(base_path: &str, method: &Method, path: &str) -> Route {
    match without_slash(path) {
        TOKEN_PATH => return Route::TokenService,
        KEYS_PATH => return Route::TokenKeys,
        SMART_PATH => return Route::SmartConfiguration,
        _ => {}
    }
    let Some(path) = below(base_path, path) else {
        return if method == Method::OPTIONS && path == "*" { Route::Options } else { Route::Unknown };
    };
    if SMART_PATH.strip_prefix('/') == Some(&*path) {
        return Route::SmartConfiguration;
    }
    let segments = &mut [""; SEGMENTS_MAX];
    let Some(segments) = split(&path, segments) else { return Route::Unknown };
    let name = if method == Method::HEAD { HttpMethod::Get.name() } else { method.as_str() };
    let verb = HttpMethod::ALL.into_iter().find(|verb| verb.name() == name);
    match verb.and_then(|verb| Interaction::find(verb, segments)) {
        Some(interaction) => Route::To(interaction),
        None if !HttpMethod::ALL.iter().any(|verb| Interaction::find(*verb, segments).is_some()) => Route::Unknown,
        None if method == Method::OPTIONS => Route::Options,
        None => Route::WrongMethod,
    }
}

/// The value of `Allow` for a path. `except` is left out: the method an id never assigned refuses.
pub fn allow(base_path: &str, path: &str, except: Option<&Method>) -> String {
    let decoded = below(base_path, path);
    let segments = &mut [""; SEGMENTS_MAX];
    let segments = decoded.as_deref().and_then(|path| split(path, segments));
    let mut allowed = Vec::new();
    for verb in HttpMethod::ALL {
        let known = path == "*" || segments.is_some_and(|segments| Interaction::find(verb, segments).is_some());
        if known && except.is_none_or(|except| except != verb.name()) {
            allowed.push(verb.name());
            if verb == HttpMethod::Get {
                allowed.push("HEAD");
            }
        }
    }
    allowed.push("OPTIONS");
    allowed.join(", ")
}

/// What a path that leads nowhere names all the same: the resource type and the id that it begins with.
pub fn named(base_path: &str, path: &str) -> Option<(String, Instance)> {
    let path = below(base_path, path)?;
    let mut segments = path.split('/').filter(|segment| !segment.is_empty());
    let (kind, id) = (segments.next()?, segments.next()?);
    Some((kind.to_owned(), PathId::of(id, Id::parse)?))
}

/// What the log and the metrics show of a route: its path with the places open, since an id may lead to a person.
pub fn label(route: &Route) -> &'static str {
    match route {
        Route::To(interaction) => interaction.row.label,
        Route::Fault(_) => "/r1",
        Route::TokenService => TOKEN_PATH,
        Route::TokenKeys => KEYS_PATH,
        Route::SmartConfiguration => SMART_PATH,
        Route::Options | Route::WrongMethod | Route::Unknown => "-",
    }
}

/// The path below the base path, decoded. An encoded slash belongs to no name we know, so such a path leads nowhere.
fn below<'a>(base_path: &str, path: &'a str) -> Option<Cow<'a, str>> {
    if without_slash(path) == OPENAPI_PATH {
        return OPENAPI_PATH.strip_prefix('/').map(Cow::Borrowed);
    }
    let path = without_slash(path).strip_prefix(base_path)?.strip_prefix('/')?;
    if !path.contains('%') {
        return Some(Cow::Borrowed(path));
    }
    let decoded = decode(path, false)?;
    (decoded.matches('/').count() == path.matches('/').count()).then_some(Cow::Owned(decoded))
}

fn split<'a, 'b>(path: &'a str, segments: &'b mut [&'a str; SEGMENTS_MAX]) -> Option<&'b [&'a str]> {
    let mut count = 0;
    for segment in path.split('/') {
        *segments.get_mut(count)? = segment;
        count += 1;
    }
    Some(&segments[..count])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interaction::{InteractionKind, ListKind};
    use InteractionKind::*;
    use certificate::Version;

    fn to(method: &str, path: &str) -> Route {
        route("/fhir", &method.parse().unwrap(), path)
    }

    fn seven() -> Id {
        Id::new(7).unwrap()
    }

    #[test]
    fn every_row_of_the_api_is_reached() {
        let rows = [
            ("GET", "/fhir/metadata", Capabilities, "", ""),
            ("POST", "/fhir/Composition", Create, "", ""),
            ("GET", "/fhir/Composition", Search, "", ""),
            ("POST", "/fhir/Composition/_search", Search, "", ""),
            ("GET", "/fhir/Composition/_history", HistoryType, "", ""),
            ("GET", "/fhir/Composition/7", Read, "7", ""),
            ("HEAD", "/fhir/Composition/7", Read, "7", ""),
            ("PUT", "/fhir/Composition/7", Update, "7", ""),
            ("DELETE", "/fhir/Composition/7", Delete, "7", ""),
            ("GET", "/fhir/Composition/7/_history", HistoryInstance, "7", ""),
            ("GET", "/fhir/Composition/7/_history/3", Vread, "7", "3"),
            ("POST", "/fhir/Composition/7/$suspend", Suspend, "7", ""),
            ("POST", "/fhir/Composition/7/$cancel", Cancel, "7", ""),
            ("POST", "/fhir/Composition/7/%24cancel", Cancel, "7", ""),
            ("GET", "/fhir/Composition/7/$get-consent", GetConsent, "7", ""),
            ("POST", "/fhir/Composition/7/$get-consent", GetConsent, "7", ""),
            ("POST", "/fhir/Composition/7/$set-consent", SetConsent, "7", ""),
            ("GET", "/fhir/Composition/7/$pdf", Pdf, "7", ""),
            ("HEAD", "/fhir/Composition/7/_history/3/$pdf", Pdf, "7", "3"),
            ("POST", "/fhir/Composition/7/$pdf", Pdf, "7", ""),
            ("POST", "/fhir/Composition/7/_history/3/$pdf", Pdf, "7", "3"),
            ("GET", "/fhir/Patient", PatientSearch, "", ""),
            ("POST", "/fhir/Patient/_search", PatientSearch, "", ""),
            ("POST", "/fhir/AuditEvent/_search", AuditSearch, "", ""),
            ("POST", "/fhir/ValueSet/_search", SearchDefinitions, "", ""),
            ("GET", "/fhir/Patient/p-1", PatientRead, "p-1", ""),
            ("GET", "/fhir/Patient/7/_history", PatientHistory, "7", ""),
            ("GET", "/fhir/Patient/7/_history/2", PatientVread, "7", "2"),
            ("GET", "/fhir/%43omposition/%37", Read, "7", ""),
            ("GET", "/fhir/StructureDefinition", SearchDefinitions, "", ""),
            ("GET", "/fhir/ValueSet/a", ReadDefinition, "a", ""),
            ("HEAD", "/fhir/SearchParameter/a", ReadDefinition, "a", ""),
            ("POST", "/fhir/Composition/$validate", Validate, "", ""),
            ("POST", "/fhir/Composition/7/$validate", Validate, "7", ""),
            ("GET", "/fhir/Composition/7/$validate", Validate, "7", ""),
            ("GET", "/fhir/CodeSystem/$lookup", Lookup, "", ""),
            ("POST", "/fhir/CodeSystem/a/$lookup", Lookup, "a", ""),
            ("POST", "/fhir/CodeSystem/$validate-code", ValidateCode(ListKind::CodeSystem), "", ""),
            ("GET", "/fhir/ValueSet/a/$validate-code", ValidateCode(ListKind::ValueSet), "a", ""),
            ("GET", "/fhir/ValueSet/$expand", Expand, "", ""),
            ("GET", "/fhir/openapi.json", ApiDescription, "", ""),
            ("HEAD", "/openapi.json", ApiDescription, "", ""),
            ("GET", "/fhir/metadata/", Capabilities, "", ""),
            ("POST", "/fhir/Composition/", Create, "", ""),
            ("POST", "/fhir/Composition/_search/", Search, "", ""),
            ("GET", "/fhir/Composition/7/", Read, "7", ""),
            ("GET", "/fhir/Composition/7/_history/3/", Vread, "7", "3"),
            ("POST", "/fhir/Composition/7/$suspend/", Suspend, "7", ""),
            ("GET", "/fhir/ValueSet/$expand/", Expand, "", ""),
        ];
        for (method, path, kind, id, version) in rows {
            let Route::To(interaction) = to(method, path) else { panic!("{method} {path} leads nowhere") };
            let text = |part: Option<String>| part.unwrap_or_default();
            let version_sent = text(interaction.version.as_ref().map(ToString::to_string));
            let sent = (interaction.kind(), text(interaction.id.as_ref().map(ToString::to_string)), version_sent);
            assert_eq!(sent, (kind, id.to_owned(), version.to_owned()), "{method} {path}");
        }
    }

    #[test]
    fn only_the_canonical_form_names_a_certificate() {
        let of = |path: &str| match to("GET", path) {
            Route::To(interaction) => interaction,
            other => panic!("{path} leads to {other:?}"),
        };
        assert_eq!(of("/fhir/Composition/7/_history/1").certificate(), Some((seven(), Version::new(1))));
        for text in ["007", "0", "abc", "a-b.c", "18446744073709551616"] {
            let read = of(&format!("/fhir/Composition/{text}"));
            assert_eq!((read.id, read.row.kind), (Some(PathId::Unknown(text.to_owned())), Read));
        }
        let vread = of("/fhir/Composition/7/_history/01");
        assert_eq!(
            (vread.certificate(), vread.version),
            (Some((seven(), None)), Some(PathId::Unknown("01".to_owned())))
        );
        // The same number names no certificate elsewhere.
        assert_eq!(of("/fhir/Patient/7").certificate(), None);
    }

    #[test]
    fn paths_that_do_not_exist_lead_nowhere() {
        let long = format!("/fhir/Composition/{}", "1".repeat(65));
        for path in [
            "/",
            "",
            "*",
            "/fhir",
            "/fhir/",
            "/fhirx/metadata",
            "/metadata",
            "/fhir//",
            "/fhir/metadata//",
            "/fhir/metadata%2F",
            "/fhir//metadata",
            "/fhir/Metadata",
            "/fhir/Practitioner",
            "/fhir/Composition//",
            "/fhir/Composition/a_b",
            "/fhir/Composition/+7",
            "/fhir/Composition/%2B7",
            "/fhir/Composition%2F7",
            "/fhir/Composition/%zz",
            "/fhir/Composition/%ff",
            "/fhir/Composition/7/$revoke",
            "/fhir/Composition/$lookup",
            "/fhir/ValueSet/$lookup",
            "/fhir/CodeSystem/$expand",
            "/fhir/OperationDefinition/a/$lookup",
            "/fhir/ValueSet/a_b",
            "/fhir/ValueSet/a_b/$expand",
            "/fhir/ValueSet/a/_history",
            "/fhir/Composition/7/_history/3/4",
            "/fhir/Composition/7/_history//",
            "/fhir/Composition/7/_history/a_b",
            &long,
        ] {
            for method in ["GET", "PUT", "POST", "DELETE", "PATCH"] {
                assert_eq!(to(method, path), Route::Unknown, "{method} {path}");
            }
        }
        assert_eq!(to("OPTIONS", "/fhir/Practitioner"), Route::Unknown);
    }

    #[test]
    fn a_known_path_with_another_method_says_what_it_allows() {
        for (method, path, allowed) in [
            ("DELETE", "/fhir/metadata", "GET, HEAD, OPTIONS"),
            ("PUT", "/fhir/Composition", "GET, HEAD, POST, OPTIONS"),
            ("GET", "/fhir/Composition/_search", "POST, OPTIONS"),
            ("PUT", "/fhir/Composition/_search", "POST, OPTIONS"),
            ("POST", "/fhir/Composition/7", "GET, HEAD, PUT, DELETE, OPTIONS"),
            ("PATCH", "/fhir/Composition/7", "GET, HEAD, PUT, DELETE, OPTIONS"),
            ("GET", "/fhir/Composition/7/$suspend", "POST, OPTIONS"),
            ("PUT", "/fhir/Composition/7/$get-consent", "GET, HEAD, POST, OPTIONS"),
            ("GET", "/fhir/Composition/7/$set-consent", "POST, OPTIONS"),
            ("DELETE", "/fhir/Composition/7/_history/3/$pdf", "GET, HEAD, POST, OPTIONS"),
            ("get", "/fhir/metadata", "GET, HEAD, OPTIONS"),
            ("POST", "/fhir/ValueSet", "GET, HEAD, OPTIONS"),
            ("DELETE", "/fhir/ValueSet/a", "GET, HEAD, OPTIONS"),
            ("PUT", "/fhir/ValueSet/$expand", "GET, HEAD, POST, OPTIONS"),
        ] {
            assert_eq!(to(method, path), Route::WrongMethod, "{method} {path}");
            assert_eq!(allow("/fhir", path, None), allowed);
            assert_eq!(to("OPTIONS", path), Route::Options);
        }
        assert_eq!(allow("/fhir", "/fhir/Composition/7", Some(&Method::PUT)), "GET, HEAD, DELETE, OPTIONS");
        assert_eq!(to("OPTIONS", "*"), Route::Options);
        assert_eq!(allow("/fhir", "*", None), "GET, HEAD, POST, PUT, DELETE, OPTIONS");
    }

    #[test]
    fn where_tokens_come_from_is_told_at_the_root_and_below_the_base_path() {
        for path in ["/.well-known/smart-configuration", "/fhir/.well-known/smart-configuration"] {
            assert_eq!(to("GET", path), Route::SmartConfiguration, "{path}");
        }
        assert_eq!(to("GET", "/other/.well-known/smart-configuration"), Route::Unknown);
    }

    #[test]
    fn the_base_path_may_be_the_root() {
        assert_eq!(route("", &Method::GET, "/metadata"), Route::To(Interaction::plain(Capabilities)));
        assert_eq!(route("", &Method::GET, "/fhir/metadata"), Route::Unknown);
    }
}

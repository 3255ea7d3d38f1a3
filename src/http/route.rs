//! The whole API is one match: method and path become an [`Interaction`]. After it nobody looks at paths again.

use std::borrow::Cow;

use hyper::Method;

use super::query::decode;
use super::smart::SMART_PATH;
use super::token::{KEYS_PATH, TOKEN_PATH};
use super::x_road::Fault;
use crate::interaction::{Ask, DefinitionKind, Instance, Interaction, ListKind};
use certificate::{Id, Version};
use fhir::limits::ID_CHARACTERS_MAX;

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
    Fault(Fault),
}

/// Path segments below the base path; the deepest path has four.
const SEGMENTS_MAX: usize = 4;

/// The methods that [`interaction`] knows, in the order `Allow` shows them.
const METHODS: [&str; 4] = ["GET", "POST", "PUT", "DELETE"];

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
    let name = if method == Method::HEAD { "GET" } else { method.as_str() };
    match interaction(name, segments) {
        Some(interaction) => Route::To(interaction),
        None if !METHODS.iter().any(|method| interaction(method, segments).is_some()) => Route::Unknown,
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
    for method in METHODS {
        let known = path == "*" || segments.is_some_and(|segments| interaction(method, segments).is_some());
        if known && except.is_none_or(|except| except != method) {
            allowed.push(method);
            if method == "GET" {
                allowed.push("HEAD");
            }
        }
    }
    allowed.push("OPTIONS");
    allowed.join(", ")
}

/// The API. Source: specification 4; FHIR R5 `http.html`.
#[rustfmt::skip]
fn interaction(method: &str, segments: &[&str]) -> Option<Interaction> {
    use Interaction::*;
    Some(match (method, segments) {
        ("GET",    ["metadata"])                             => Capabilities,
        ("GET",    ["AuditEvent"])                           => AuditSearch,
        ("POST",   ["AuditEvent", "_search"])                => AuditSearch,
        ("GET",    ["AuditEvent", number])                   => AuditRead(event(number)?),
        ("POST",   ["Composition"])                          => Create,
        ("GET",    ["Composition"])                          => Search,
        ("POST",   ["Composition", "_search"])               => Search,
        ("GET",    ["Composition", "_history"])              => HistoryType,
        ("GET",    ["Composition", id])                      => Read(instance(id)?),
        ("PUT",    ["Composition", id])                      => Update(instance(id)?),
        ("DELETE", ["Composition", id])                      => Delete(instance(id)?),
        ("GET",    ["Composition", id, "_history"])          => HistoryInstance(instance(id)?),
        ("GET",    ["Composition", id, "_history", version]) => Vread(instance(id)?, number(version)?),
        ("POST",   ["Composition", id, "$suspend"])          => Suspend(instance(id)?),
        ("POST",   ["Composition", id, "$cancel"])           => Cancel(instance(id)?),
        ("GET" | "POST", ["Composition", id, "$get-consent"]) => GetConsent(instance(id)?),
        ("POST",   ["Composition", id, "$set-consent"])      => SetConsent(instance(id)?),
        ("POST",   ["Composition", "$validate"])             => Validate(None),
        ("GET" | "POST", ["Composition", id, "$validate"])   => Validate(Some(instance(id)?)),
        ("GET",    ["Patient"])                              => Patient(Ask::Search(Vec::new())),
        ("POST",   ["Patient", "_search"])                   => Patient(Ask::Search(Vec::new())),
        ("GET",    ["Patient", id]) if is_id(id)             => Patient(Ask::Read((*id).to_owned())),
        ("GET",    ["Patient", id, "_history"]) if is_id(id) => Patient(Ask::History((*id).to_owned(), Vec::new())),
        ("GET",    ["Patient", id, "_history", version]) if is_id(id) && is_id(version) => {
            Patient(Ask::Vread((*id).to_owned(), (*version).to_owned()))
        }
        ("GET",    [kind])                                   => SearchDefinitions(definition(kind)?),
        ("POST",   [kind, "_search"])                        => SearchDefinitions(definition(kind)?),
        ("GET",    [kind, id]) if is_id(id)                  => ReadDefinition(definition(kind)?, (*id).to_owned()),
        ("GET" | "POST", [kind, operation])                  => of_lists(kind, None, operation)?,
        ("GET" | "POST", [kind, id, operation]) if is_id(id) => of_lists(kind, Some(id), operation)?,
        _ => return None,
    })
}

/// What code lists are asked, all of them or the one with an id.
#[rustfmt::skip]
fn of_lists(kind: &str, id: Option<&str>, operation: &str) -> Option<Interaction> {
    use Interaction::*;
    let id = id.map(str::to_owned);
    Some(match (kind, operation) {
        ("CodeSystem", "$lookup")        => Lookup(id),
        ("CodeSystem", "$validate-code") => ValidateCode(ListKind::CodeSystem, id),
        ("ValueSet",   "$validate-code") => ValidateCode(ListKind::ValueSet, id),
        ("ValueSet",   "$expand")        => Expand(id),
        _ => return None,
    })
}

fn definition(kind: &str) -> Option<DefinitionKind> {
    DefinitionKind::ALL.into_iter().find(|known| known.name() == kind)
}

/// The route with its places open: what the log shows, since an id may lead to a person.
#[rustfmt::skip]
pub fn template(route: &Route) -> &'static str {
    use Interaction::*;
    match route {
        Route::To(Capabilities)        => "/metadata",
        Route::To(Create)              => "/Composition",
        Route::To(Search)              => "/Composition?",
        Route::To(Read(_))             => "/Composition/{id}",
        Route::To(Update(_))           => "/Composition/{id}",
        Route::To(Delete(_))           => "/Composition/{id}",
        Route::To(HistoryType)         => "/Composition/_history",
        Route::To(HistoryInstance(_))  => "/Composition/{id}/_history",
        Route::To(Vread(..))           => "/Composition/{id}/_history/{version}",
        Route::To(Suspend(_))          => "/Composition/{id}/$suspend",
        Route::To(Cancel(_))           => "/Composition/{id}/$cancel",
        Route::To(GetConsent(_))       => "/Composition/{id}/$get-consent",
        Route::To(SetConsent(_))       => "/Composition/{id}/$set-consent",
        Route::To(ReadDefinition(..))  => "/{definition}/{id}",
        Route::To(AuditRead(_))        => "/AuditEvent/{id}",
        Route::To(AuditSearch)         => "/AuditEvent?",
        Route::To(SearchDefinitions(_)) => "/{definition}?",
        Route::To(Validate(None))      => "/Composition/$validate",
        Route::To(Validate(_))         => "/Composition/{id}/$validate",
        Route::To(Lookup(_))           => "/CodeSystem/$lookup",
        Route::To(ValidateCode(ListKind::CodeSystem, _)) => "/CodeSystem/$validate-code",
        Route::To(ValidateCode(ListKind::ValueSet, _))   => "/ValueSet/$validate-code",
        Route::To(Expand(_))           => "/ValueSet/$expand",
        Route::To(Patient(Ask::Search(_)))   => "/Patient?",
        Route::To(Patient(Ask::Read(_)))     => "/Patient/{id}",
        Route::To(Patient(Ask::Vread(..)))   => "/Patient/{id}/_history/{version}",
        Route::To(Patient(Ask::History(..))) => "/Patient/{id}/_history",
        Route::Fault(_) => "/r1",
        Route::TokenService            => "/auth/v2/token",
        Route::TokenKeys               => "/.well-known/jwks.json",
        Route::SmartConfiguration      => SMART_PATH,
        Route::Options | Route::WrongMethod | Route::Unknown => "-",
    }
}

/// The number of an audit event; none for another well-formed id.
fn event(text: &str) -> Option<Option<u64>> {
    instance(text).map(|instance| instance.id().map(Id::get))
}

/// Any well-formed FHIR id is an instance; only the canonical decimal form can exist. Contract 1.3.
fn instance(text: &str) -> Option<Instance> {
    is_id(text).then(|| Id::parse(text).map_or_else(|| Instance::Unknown(text.to_owned()), Instance::Known))
}

/// A version of another form than the canonical one does not exist, but its path does.
fn number(text: &str) -> Option<Option<Version>> {
    is_id(text).then(|| Version::parse(text))
}

/// R5 `datatypes.html#id`.
fn is_id(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    (1..=ID_CHARACTERS_MAX).contains(&text.len()) && text.bytes().all(known)
}

/// The path without the one slash that may end it. Contract 2.1.
pub fn without_slash(path: &str) -> &str {
    path.strip_suffix('/').unwrap_or(path)
}

/// The path below the base path, decoded. An encoded slash belongs to no name we know, so such a path leads nowhere.
fn below<'a>(base_path: &str, path: &'a str) -> Option<Cow<'a, str>> {
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
    use Interaction::*;

    fn to(method: &str, path: &str) -> Route {
        route("/fhir", &method.parse().unwrap(), path)
    }

    fn seven() -> Instance {
        Instance::Known(Id::new(7).unwrap())
    }

    #[test]
    fn every_row_of_the_api_is_reached() {
        let rows = [
            ("GET", "/fhir/metadata", Capabilities),
            ("POST", "/fhir/Composition", Create),
            ("GET", "/fhir/Composition", Search),
            ("POST", "/fhir/Composition/_search", Search),
            ("GET", "/fhir/Composition/_history", HistoryType),
            ("GET", "/fhir/Composition/7", Read(seven())),
            ("HEAD", "/fhir/Composition/7", Read(seven())),
            ("PUT", "/fhir/Composition/7", Update(seven())),
            ("DELETE", "/fhir/Composition/7", Delete(seven())),
            ("GET", "/fhir/Composition/7/_history", HistoryInstance(seven())),
            ("GET", "/fhir/Composition/7/_history/3", Vread(seven(), Version::new(3))),
            ("POST", "/fhir/Composition/7/$suspend", Suspend(seven())),
            ("POST", "/fhir/Composition/7/$cancel", Cancel(seven())),
            ("POST", "/fhir/Composition/7/%24cancel", Cancel(seven())),
            ("GET", "/fhir/Composition/7/$get-consent", GetConsent(seven())),
            ("POST", "/fhir/Composition/7/$get-consent", GetConsent(seven())),
            ("POST", "/fhir/Composition/7/$set-consent", SetConsent(seven())),
            ("GET", "/fhir/Patient", Patient(Ask::Search(Vec::new()))),
            ("POST", "/fhir/Patient/_search", Patient(Ask::Search(Vec::new()))),
            ("POST", "/fhir/AuditEvent/_search", AuditSearch),
            ("POST", "/fhir/ValueSet/_search", SearchDefinitions(DefinitionKind::ValueSet)),
            ("GET", "/fhir/Patient/p-1", Patient(Ask::Read("p-1".into()))),
            ("GET", "/fhir/Patient/7/_history", Patient(Ask::History("7".into(), Vec::new()))),
            ("GET", "/fhir/Patient/7/_history/2", Patient(Ask::Vread("7".into(), "2".into()))),
            ("GET", "/fhir/%43omposition/%37", Read(seven())),
            ("GET", "/fhir/StructureDefinition", SearchDefinitions(DefinitionKind::StructureDefinition)),
            ("GET", "/fhir/ValueSet/a", ReadDefinition(DefinitionKind::ValueSet, "a".into())),
            ("HEAD", "/fhir/SearchParameter/a", ReadDefinition(DefinitionKind::SearchParameter, "a".into())),
            ("POST", "/fhir/Composition/$validate", Validate(None)),
            ("POST", "/fhir/Composition/7/$validate", Validate(Some(seven()))),
            ("GET", "/fhir/Composition/7/$validate", Validate(Some(seven()))),
            ("GET", "/fhir/CodeSystem/$lookup", Lookup(None)),
            ("POST", "/fhir/CodeSystem/a/$lookup", Lookup(Some("a".into()))),
            ("POST", "/fhir/CodeSystem/$validate-code", ValidateCode(ListKind::CodeSystem, None)),
            ("GET", "/fhir/ValueSet/a/$validate-code", ValidateCode(ListKind::ValueSet, Some("a".into()))),
            ("GET", "/fhir/ValueSet/$expand", Expand(None)),
            // A slash at the end is ignored.
            ("GET", "/fhir/metadata/", Capabilities),
            ("POST", "/fhir/Composition/", Create),
            ("POST", "/fhir/Composition/_search/", Search),
            ("GET", "/fhir/Composition/7/", Read(seven())),
            ("GET", "/fhir/Composition/7/_history/3/", Vread(seven(), Version::new(3))),
            ("POST", "/fhir/Composition/7/$suspend/", Suspend(seven())),
            ("GET", "/fhir/ValueSet/$expand/", Expand(None)),
        ];
        for (method, path, interaction) in rows {
            assert_eq!(to(method, path), Route::To(interaction), "{method} {path}");
        }
    }

    #[test]
    fn only_the_canonical_form_names_a_certificate() {
        for text in ["007", "0", "abc", "a-b.c", "18446744073709551616"] {
            let expected = Route::To(Read(Instance::Unknown(text.to_owned())));
            assert_eq!(to("GET", &format!("/fhir/Composition/{text}")), expected);
        }
        assert_eq!(to("GET", "/fhir/Composition/7/_history/01"), Route::To(Vread(seven(), None)));
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
        assert_eq!(route("", &Method::GET, "/metadata"), Route::To(Capabilities));
        assert_eq!(route("", &Method::GET, "/fhir/metadata"), Route::Unknown);
    }
}

//! `GET /metadata`: what this server can do, told from the same tables that do it.
//!
//! Source: specification 4.8; FHIR R5 `capabilitystatement.html`.

use super::policy::TokenPolicy;
use super::table::{INTERACTIONS, OperationSource, StatementEntry};
use super::{DefinitionKind, audit_event, definition_search, operation_parameters};
use certificate::Names;
use certificate::Profile;
use certificate::search::paging::Counts;
use certificate::search::parameter::{PARAMETERS, Parameter, ParameterTarget, SORT_KEYS};
use certificate::terminology::{ListHeader, Terminology};
use fhir::json::{Json, Object};

/// Day of this version, for the statement and the software in it.
const RELEASED: &str = "2026-11-21";

/// What the registry is asked about patients: name, R5's definition, type, documentation.
pub(super) const OF_PATIENTS: &[(&str, &str, &str, &str)] = &[
    (
        "identifier",
        "Patient-identifier",
        "token",
        "system|value, a branch of systems (…/pid/fin) with a value, or a value alone: an Estonian personal code",
    ),
    ("_id", "Resource-id", "token", "Ids, separated by commas"),
    ("birthdate", "individual-birthdate", "date", "YYYY-MM-DD with a prefix or without; twice it is a range"),
    ("active", "Patient-active", "token", "true or false"),
    ("deceased", "Patient-deceased", "token", "true or false"),
];

/// Source: specification 9. FHIR R5 says so by an extension, since `status` describes the statement alone.
const STANDARDS_STATUS: &str = "http://hl7.org/fhir/StructureDefinition/structuredefinition-standards-status";

/// Source: SMART App Launch 1.0, 2.1.
const OAUTH_URIS: &str = "http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris";

/// The CapabilityStatement as a caller sees it under `base_url`. `acceptLanguage` is its one element that is not normative.
pub fn capabilities(base_url: &str, names: &Names, count: Counts, tokens: &TokenPolicy) -> Json<'static> {
    let definitions = DefinitionKind::ALL.map(|kind| definition(kind, names));
    let resources = [composition(names, count), patient(), audit_event()].into_iter().chain(definitions);
    let trial_use = Json::object([("url", text(STANDARDS_STATUS)), ("valueCode", text("trial-use"))]);
    Json::object([
        ("resourceType", text("CapabilityStatement")),
        ("extension", list([trial_use])),
        ("version", text("1.0.0")),
        ("name", text("HealthCertificateService")),
        ("title", text("Health certificate service")),
        ("status", text("active")),
        ("experimental", Json::Bool(false)),
        ("date", text(RELEASED)),
        ("publisher", text("hcert")),
        ("kind", text("instance")),
        (
            "software",
            Json::object([
                ("name", text("hcert")),
                ("version", text(env!("CARGO_PKG_VERSION"))),
                ("releaseDate", text(RELEASED)),
            ]),
        ),
        ("implementation", implementation(base_url)),
        ("fhirVersion", text("5.0.0")),
        ("format", list([text("json")])),
        ("acceptLanguage", list([text("en"), text("et")])),
        (
            "implementationGuide",
            list([Json::string(format!("{}/ImplementationGuide/ee.fhir.hcert|1.0.0", names.profile_base))]),
        ),
        (
            "rest",
            list([Json::object([
                ("mode", text("server")),
                ("security", security(tokens)),
                ("resource", list(resources)),
            ])]),
        ),
    ])
}

/// What the service can do with its code lists: `metadata?mode=terminology`. Source: FHIR R5 `terminologycapabilities.html`; Decision 163.
pub fn terminology_capabilities(base_url: &str, terminology: &Terminology) -> Json<'static> {
    let code_system = |about: &ListHeader| {
        let is_empty = terminology.code_system(&about.url).is_none_or(|list| list.concepts().is_empty());
        let content = match (about.is_complete, is_empty) {
            (true, _) => "complete",
            (false, true) => "not-present",
            (false, false) => "fragment",
        };
        let mut told = Object::default();
        told.set("uri", Json::string(about.url.clone()));
        if let Some(version) = &about.version {
            let version = [("code", Json::string(version.clone())), ("isDefault", Json::Bool(true))];
            told.set("version", list([Json::object(version)]));
        }
        told.set("content", text(content));
        told.set("subsumption", Json::Bool(false));
        Json::Object(told)
    };
    // In the order of ids, which no setting changes.
    let mut systems = terminology.lists("CodeSystem");
    systems.sort_by(|one, other| one.id.cmp(&other.id));
    let parameters = operation_parameters::EXPAND.iter().map(|known| Json::object([("name", text(known.name))]));
    let words = "Every word has to stand in the code or in one of its names; capitals do not count.";
    Json::object([
        ("resourceType", text("TerminologyCapabilities")),
        ("version", text("1.0.0")),
        ("name", text("HealthCertificateTerminology")),
        ("title", text("Code lists of the health certificate service")),
        ("status", text("active")),
        ("experimental", Json::Bool(false)),
        ("date", text(RELEASED)),
        ("publisher", text("hcert")),
        ("kind", text("instance")),
        ("software", Json::object([("name", text("hcert")), ("version", text(env!("CARGO_PKG_VERSION")))])),
        ("implementation", implementation(base_url)),
        ("codeSystem", list(systems.into_iter().map(code_system))),
        (
            "expansion",
            Json::object([
                ("hierarchical", Json::Bool(false)),
                ("paging", Json::Bool(true)),
                ("incomplete", Json::Bool(true)),
                ("parameter", list(parameters)),
                ("textFilter", text(words)),
            ]),
        ),
        ("validateCode", Json::object([("translations", Json::Bool(true))])),
    ])
}

fn implementation(base_url: &str) -> Json<'static> {
    Json::object([
        ("description", text("Health certificates as versioned FHIR Compositions")),
        ("url", Json::string(base_url.to_owned())),
    ])
}

/// The interactions that the rows of a resource name. `search` is what to know of its search.
fn interactions(resource: &str, search: &str) -> Json<'static> {
    let rows = INTERACTIONS.iter().filter(|row| row.resource() == resource);
    list(rows.filter_map(|row| {
        let Some(StatementEntry::Interaction(code, documentation)) = row.told else { return None };
        let documentation = if code == "search-type" { search } else { documentation };
        let mut told = Object::default();
        told.set("code", text(code));
        if !documentation.is_empty() {
            told.set("documentation", Json::string(documentation.to_owned()));
        }
        Some(Json::Object(told))
    }))
}

/// The operations that the rows of a resource name; nothing where it has none.
fn operations(resource: &str, names: &Names) -> Option<Json<'static>> {
    let rows = INTERACTIONS.iter().filter(|row| row.resource() == resource);
    let operations = rows.filter_map(|row| {
        let Some(StatementEntry::Operation(name, definition, documentation)) = row.told else { return None };
        let definition = match definition {
            OperationSource::Own(id) => format!("{}/OperationDefinition/{id}", names.profile_base),
            OperationSource::R5(id) => format!("http://hl7.org/fhir/OperationDefinition/{id}"),
        };
        Some(Json::object([
            ("name", text(name)),
            ("definition", Json::string(definition)),
            ("documentation", text(documentation)),
        ]))
    });
    let operations: Vec<Json> = operations.collect();
    (!operations.is_empty()).then(|| list(operations))
}

fn composition(names: &Names, count: Counts) -> Json<'static> {
    let mut composition = Object::default();
    composition.set("type", text("Composition"));
    let profile = format!("{}/StructureDefinition/ee-health-certificate", names.profile_base);
    composition.set("profile", Json::string(profile));
    composition.set("supportedProfile", list(Profile::ALL.map(|profile| Json::string(names.profile(profile)))));
    let documentation =
        "A health certificate. Its profile is the one in meta.profile; exactly one of the supported ones.";
    composition.set("documentation", text(documentation));
    composition.set("interaction", interactions("Composition", &search_documentation(count)));
    composition.set("versioning", text("versioned-update"));
    composition.set("readHistory", Json::Bool(true));
    composition.set("updateCreate", Json::Bool(false));
    composition.set("conditionalCreate", Json::Bool(true));
    composition.set("conditionalRead", text("full-support"));
    composition.set("conditionalUpdate", Json::Bool(false));
    composition.set("conditionalDelete", text("not-supported"));
    composition.set("searchParam", list(PARAMETERS.iter().map(search_parameter)));
    if let Some(operations) = operations("Composition", names) {
        composition.set("operation", operations);
    }
    Json::Object(composition)
}

/// Patients, as the registry describes them.
fn patient() -> Json<'static> {
    Json::object([
        ("type", text("Patient")),
        (
            "documentation",
            text(
                "Read only: what the patient registry tells. Sorted by _id, _lastUpdated or birthdate, paged by _count and _page. Errors \
                 are the registry's own, with those of the services behind it.",
            ),
        ),
        ("interaction", interactions("Patient", "")),
        ("versioning", text("versioned")),
        ("readHistory", Json::Bool(true)),
        ("searchParam", list(OF_PATIENTS.iter().map(of_table))),
    ])
}

/// Who is let in, and by what. Contract 7.2.
fn security(tokens: &TokenPolicy) -> Json<'static> {
    let service = Json::object([
        ("system", text("http://terminology.hl7.org/CodeSystem/restful-security-service")),
        ("code", text("OAuth")),
    ]);
    let description = match tokens.is_needed {
        true => {
            "Every request but this one needs Authorization: Bearer with a JWT (RS256 or ES256) of the configured issuer. What its role \
             permits decides what is seen and done; every access is written down."
        }
        false => {
            "Developer mode, for this machine alone: without a token everything is permitted; with one (Authorization: Bearer, from POST \
             /auth/v2/token) what its role permits. Every access is recorded."
        }
    };
    let mut security = Object::default();
    if let Some(token) = &tokens.token_endpoint {
        let uri =
            |name, address: &String| Json::object([("url", text(name)), ("valueUri", Json::string(address.clone()))]);
        let authorize = tokens.authorization_endpoint.iter().map(|address| uri("authorize", address));
        let uris = list([uri("token", token)].into_iter().chain(authorize));
        security.set("extension", list([Json::object([("url", text(OAUTH_URIS)), ("extension", uris)])]));
    }
    security.set("cors", Json::Bool(false));
    let service = Json::object([("coding", list([service])), ("text", text("Bearer token (JWT)"))]);
    security.set("service", list([service]));
    security.set("description", text(description));
    Json::Object(security)
}

/// The audit trail, for whoever may read it.
fn audit_event() -> Json<'static> {
    Json::object([
        ("type", text("AuditEvent")),
        (
            "documentation",
            text("Who saw and did what. Read only, and for those alone who hold the permission hcert.audit.read."),
        ),
        ("interaction", interactions("AuditEvent", "")),
        ("searchParam", list(audit_event::PARAMETERS.iter().map(search_parameter))),
    ])
}

/// A search parameter by name, R5's definition, type and documentation.
fn of_table(
    (name, definition, kind, documentation): &(&'static str, &str, &'static str, &'static str),
) -> Json<'static> {
    Json::object([
        ("name", text(name)),
        ("definition", Json::string(format!("http://hl7.org/fhir/SearchParameter/{definition}"))),
        ("type", text(kind)),
        ("documentation", text(documentation)),
    ])
}

/// A type of resource that defines the service.
fn definition(kind: DefinitionKind, names: &Names) -> Json<'static> {
    let mut resource = Object::default();
    resource.set("type", text(kind.name()));
    resource.set("documentation", text("Read only: what this service defines and the code lists that it has."));
    resource.set("interaction", interactions("{definition}", ""));
    resource.set("searchParam", list(definition_search::PARAMETERS.iter().map(search_parameter)));
    if let Some(operations) = operations(kind.name(), names) {
        resource.set("operation", operations);
    }
    Json::Object(resource)
}

fn search_documentation(count: Counts) -> String {
    let keys: Vec<&str> = SORT_KEYS.iter().map(|(name, _)| *name).collect();
    format!(
        "By GET, or by POST to _search, which keeps personal codes out of addresses. _sort takes {}; the default is -_lastUpdated. \
         _count is {} by default and {} at most, _page counts from 1, and total is exact. \
         An unknown parameter is refused unless Prefer: handling=lenient is sent.",
        keys.join(", "),
        count.default,
        count.max
    )
}

fn search_parameter<L: ParameterTarget>(parameter: &Parameter<L>) -> Json<'static> {
    let documentation = match parameter.modifiers {
        [] => parameter.documentation.to_owned(),
        _ => format!("{}. Modifiers: {}", parameter.documentation, parameter.modifier_names()),
    };
    Json::object([
        ("name", text(parameter.name)),
        ("definition", Json::string(parameter.definition())),
        ("type", text(parameter.target.kind())),
        ("documentation", Json::string(documentation)),
    ])
}

fn text(text: &'static str) -> Json<'static> {
    Json::string(text)
}

fn list<'a>(items: impl IntoIterator<Item = Json<'a>>) -> Json<'a> {
    Json::Array(items.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fhir::{json, shape};

    fn statement(check: impl Fn(&Json)) {
        let names = Names { profile_base: "https://example.ee/hcert".into(), ..Names::default() };
        let counts = Counts { default: 20, max: 50 };
        let bytes = capabilities("https://example.ee/r1/fhir", &names, counts, &TokenPolicy::default()).to_vec();
        check(&json::parse(&bytes).expect("a FHIR body"));
    }

    fn names_of<'j>(json: &'j Json, list: &str, name: &str) -> Vec<&'j str> {
        json.items(list).iter().filter_map(|item| item.text(name)).collect()
    }

    #[test]
    fn the_statement_is_of_this_instance_at_the_address_asked() {
        statement(|json| {
            assert_eq!(json.text("kind"), Some("instance"));
            assert_eq!(json.text("fhirVersion"), Some("5.0.0"));
            assert_eq!(json.get("implementation").unwrap().text("url"), Some("https://example.ee/r1/fhir"));
            let guide = json.items("implementationGuide")[0].as_str();
            assert_eq!(guide, Some("https://example.ee/hcert/ImplementationGuide/ee.fhir.hcert|1.0.0"));
        });
    }

    #[test]
    fn statements_have_the_shape_of_r5() {
        let names = Names::default();
        let tokens = TokenPolicy {
            is_needed: true,
            authorization_endpoint: Some("https://a.ee/authorize".to_owned()),
            token_endpoint: Some("https://a.ee/token".to_owned()),
        };
        let mut statement = capabilities("https://a.ee/fhir", &names, Counts::default(), &tokens);
        assert!(shape::expect(&mut statement, "CapabilityStatement").is_ok());
        let uris = &statement.items("rest")[0].get("security").unwrap().items("extension")[0];
        let uri = |name| {
            let uris = uris.items("extension").iter();
            uris.filter(|uri| uri.text("url") == Some(name)).find_map(|uri| uri.text("valueUri"))
        };
        assert_eq!((uri("token"), uri("authorize")), (Some("https://a.ee/token"), Some("https://a.ee/authorize")));

        let terminology = Terminology::new(&names, false, &[]).unwrap();
        let mut statement = terminology_capabilities("https://a.ee/fhir", &terminology);
        assert!(shape::expect(&mut statement, "TerminologyCapabilities").is_ok());
    }

    #[test]
    fn it_offers_what_the_tables_hold_and_no_more() {
        statement(|json| {
            let resource = &json.items("rest")[0].items("resource")[0];
            let types = names_of(&json.items("rest")[0], "resource", "type");
            assert_eq!(types[0], "Composition");
            assert_eq!(types[1..3], ["Patient", "AuditEvent"]);
            assert_eq!(types[3..], DefinitionKind::ALL.map(DefinitionKind::name));
            let operations = json.items("rest")[0].items("resource").iter().skip(1);
            let operations: usize = operations.map(|resource| resource.items("operation").len()).sum();
            assert_eq!(operations, 4);
            let parameters: Vec<&str> = PARAMETERS.iter().map(|parameter| parameter.name).collect();
            assert_eq!(names_of(resource, "searchParam", "name"), parameters);
            assert!(resource.items("searchParam").iter().all(|parameter| {
                parameter.text("definition").is_some_and(|url| url.starts_with("http://hl7.org/fhir/SearchParameter/"))
                    && ["token", "reference", "date", "string", "composite"].contains(&parameter.text("type").unwrap())
            }));
            assert_eq!(
                names_of(resource, "interaction", "code"),
                ["read", "vread", "update", "delete", "history-instance", "history-type", "create", "search-type"]
            );
            assert_eq!(
                names_of(resource, "operation", "definition"),
                [
                    "https://example.ee/hcert/OperationDefinition/ee-health-certificate-suspend",
                    "https://example.ee/hcert/OperationDefinition/ee-health-certificate-cancel",
                    "https://example.ee/hcert/OperationDefinition/ee-health-certificate-get-consent",
                    "https://example.ee/hcert/OperationDefinition/ee-health-certificate-set-consent",
                    "https://example.ee/hcert/OperationDefinition/ee-health-certificate-pdf",
                    "http://hl7.org/fhir/OperationDefinition/Resource-validate"
                ]
            );
            let search = resource.items("interaction").last().unwrap().text("documentation").unwrap();
            assert!(SORT_KEYS.iter().all(|(name, _)| search.contains(name)) && search.contains("50 at most"));
        });
    }
}

//! The whole suite once more under other names: `HCERT_TEST_NAMES=foreign`.
//!
//! Every server then has other namespaces, another base path and another `base_url`. Tests and snapshots keep the default
//! names: what they send is rewritten by one table on its way in, and what they receive on its way out. Before that, nothing
//! of the default names may be in it. Decision 141.

use std::sync::LazyLock;

use hcert::config::{Config, Namespaces};

/// Why a test runs under the default names all the same. These are all there are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reason {
    /// It writes its requests to the connection itself, byte by byte, and looks at the connection.
    WritesToTheConnection,
    /// It sets namespaces itself, some of them, and compares what it receives with them.
    SetsNamespaces,
}

/// A default name and the foreign one in its place, longer default names first. Both have the same number of bytes, so that
/// what a test says of lengths holds.
type Table = Vec<(String, String)>;

/// The addresses that the service writes below `profile_base`. It has the same default as `hcert_ns`.
const BELOW_PROFILE_BASE: [&str; 4] =
    ["/StructureDefinition", "/OperationDefinition", "/SearchParameter", "/ImplementationGuide"];

const BASE_PATH: &str = "/h/r5";
const ORIGIN: [&str; 2] = ["http://127.0.0.1:8080", "https://my.example.ee"];
const BASE_URL: &str = "https://my.example.ee/hc-1";

static IS_FOREIGN: LazyLock<bool> = LazyLock::new(|| match std::env::var("HCERT_TEST_NAMES").as_deref() {
    Ok("foreign") => true,
    Ok(other) => panic!("HCERT_TEST_NAMES={other}: only 'foreign' is known"),
    Err(_) => false,
});

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let (before, after) = (Namespaces::default(), namespaces());
    let mut table: Table = vec![
        (format!("{}/fhir", ORIGIN[0]), BASE_URL.to_owned()),
        (ORIGIN[0].to_owned(), ORIGIN[1].to_owned()),
        // The profile of the registry is not this service's.
        ("https://fhir.ee/mpi".to_owned(), "https://fhir.ee/mpi".to_owned()),
    ];
    let both = |path: &str| ([&before.profile_base, path].concat(), [&after.profile_base, path].concat());
    table.extend(BELOW_PROFILE_BASE.map(both));
    let others = before.pairs().into_iter().zip(after.pairs());
    table.extend(
        others.filter(|((name, _), _)| name != "profile_base").map(|((_, before), (_, after))| (before, after)),
    );
    table.sort_by_key(|(before, _)| std::cmp::Reverse(before.len()));
    for (before, after) in &table {
        assert_eq!((before.len(), before.matches('/').count()), (after.len(), after.matches('/').count()), "{before}");
    }
    table
});

/// `[namespaces]` with no value of the defaults.
fn namespaces() -> Namespaces {
    let text = |text: &str| text.to_owned();
    Namespaces {
        code_system_base: text("https://kood.ee"),
        person_identifier_base: text("https://isik.ee/own"),
        profile_base: text("https://profiil.ee/ig"),
        hcert_ns: text("https://tervis.ee/own"),
        hcert_issue_system: text("https://hcert.own.test/error"),
        issue_system_mpi: text("https://mpi.own.test"),
        issue_system_xroad_rr: text("https://xroad-rr.own.test"),
        issue_system_xroad_ads: text("https://xroad-ads.own.test"),
        issue_system_xroad_tor: text("https://xroad-tor.own.test"),
        issue_system_xroad_ska: text("https://xroad-ska.own.test"),
        issue_system_xroad_tk: text("https://xroad-tk.own.test"),
        issue_system_population_register: text("https://population.example.ee"),
        issue_system_unemployment_fund: text("https://unempl.own.ee"),
        issue_system_social_insurance: text("https://insurance.example.ownx.ee"),
        issue_system_address_register: text("https://maa.own.ee"),
        issue_system_tax_customs: text("https://tax.own"),
    }
}

/// Gives a server the foreign names, where this run is one of them.
pub(crate) fn set(config: &mut Config) {
    if *IS_FOREIGN {
        config.namespaces = namespaces();
        config.server.base_path = BASE_PATH.to_owned();
        config.server.base_url = Some(BASE_URL.to_owned());
    }
}

impl Reason {
    /// Gives a server the default names in every run.
    pub(crate) fn set_default_names(self, config: &mut Config) {
        let Config { namespaces, server, .. } = Config::default();
        config.namespaces = namespaces;
        config.server.base_path = server.base_path;
        config.server.base_url = server.base_url;
    }
}

/// Rewrites what goes to a server and comes from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    is_foreign: bool,
}

impl Names {
    /// Those a server was given.
    pub(crate) fn of(config: &Config) -> Names {
        Names { is_foreign: config.namespaces == namespaces() }
    }

    pub(crate) fn are_default(self) -> bool {
        !self.is_foreign
    }

    /// What a test writes, as the server takes it: a body, a header, a query.
    pub(crate) fn sent(self, bytes: &[u8]) -> Vec<u8> {
        match self.is_foreign {
            true => rewritten(bytes, &THERE, |_, _, _| ()),
            false => bytes.to_vec(),
        }
    }

    /// As [`received`](Self::received), of text.
    #[track_caller]
    pub(crate) fn received_text(self, text: &str) -> String {
        String::from_utf8(self.received(text.as_bytes(), text)).expect("names are ASCII")
    }

    /// As [`sent`](Self::sent), of text.
    pub(crate) fn sent_text(self, text: &str) -> String {
        String::from_utf8(self.sent(text.as_bytes())).expect("names are ASCII")
    }

    /// The target of a request: its base path too.
    pub(crate) fn sent_target(self, target: &str) -> String {
        let below = |rest: &str| rest.is_empty() || rest.starts_with(['/', '?']);
        let target = self.sent_text(target);
        match target.strip_prefix("/fhir").filter(|rest| self.is_foreign && below(rest)) {
            Some(rest) => format!("{BASE_PATH}{rest}"),
            None => target,
        }
    }

    /// What the server answered, as a test expects it.
    ///
    /// # Panics
    /// A default name is in it.
    #[track_caller]
    pub(crate) fn received(self, bytes: &[u8], what: &str) -> Vec<u8> {
        if !self.is_foreign {
            return bytes.to_vec();
        }
        rewritten(bytes, &THERE, |at, name, new| {
            let around = String::from_utf8_lossy(&bytes[at.saturating_sub(100)..bytes.len().min(at + 100)]);
            assert_eq!(name, new, "{what}: a default name is in the answer: …{around}…");
        });
        rewritten(bytes, &BACK, |_, _, _| ())
    }
}

/// A name and the one in its place, plain and percent-encoded.
type Forms = Vec<(String, String)>;

static THERE: LazyLock<Forms> = LazyLock::new(|| forms(TABLE.iter().cloned()));

static BACK: LazyLock<Forms> = LazyLock::new(|| {
    let back = TABLE.iter().map(|(before, after)| (after.clone(), before.clone()));
    forms(back.chain([(BASE_PATH.to_owned(), "/fhir".to_owned())]))
});

fn forms(table: impl Iterator<Item = (String, String)>) -> Forms {
    let encoded = |name: &str| name.replace(':', "%3A").replace('/', "%2F");
    table.flat_map(|(from, to)| [(encoded(&from), encoded(&to)), (from, to)]).collect()
}

/// The text with every name replaced; `met` is told where one is, the name, and the new one.
fn rewritten(bytes: &[u8], table: &Forms, met: impl Fn(usize, &str, &str)) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        // How each name begins.
        let may_begin = matches!(bytes[at], b'h' | b'/' | b'%');
        match table.iter().find(|(from, _)| may_begin && begins(&bytes[at..], from)) {
            Some((from, to)) => {
                met(at, from, to);
                out.extend_from_slice(to.as_bytes());
                at += from.len();
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

/// Whether a text begins with a name, and not with a longer one.
fn begins(bytes: &[u8], name: &str) -> bool {
    let Some(rest) = bytes.strip_prefix(name.as_bytes()) else { return false };
    let is_part = |at: usize| rest.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let goes_on = is_part(0) || (rest.first().is_some_and(|byte| b"-_.".contains(byte)) && is_part(1));
    !goes_on
}

#[test]
fn the_table_leads_there_and_back() {
    let names = Names { is_foreign: true };
    let text = "http://127.0.0.1:8080/fhir/Composition?identifier=https%3A%2F%2Ffhir.ee%2Fsid%2Fpid%2Fest%2Fni%7C1 \
                https://fhir.ee/hcert/StructureDefinition/x|1 https://fhir.ee/hcert/health-certificate-number \
                https://fhir.ee/CodeSystem/y https://fhir.ee/mpi/StructureDefinition/z https://fhir.ee.example.ee/a \
                https://hcert.tehik.ee/issue https://mpi.tehik.ee. http://hl7.org/fhir/Patient";
    let sent = names.sent_text(text);
    assert_eq!(sent.len(), text.len());
    for gone in ["127.0.0.1", "tehik", "fhir.ee/sid", "fhir.ee%2Fsid", "fhir.ee/hcert", "fhir.ee/CodeSystem"] {
        assert!(!sent.contains(gone), "{gone} in {sent}");
    }
    assert_eq!(names.received(sent.as_bytes(), "a text"), text.as_bytes());
    assert_eq!(names.sent_target("/fhir/metadata?_format=json"), "/h/r5/metadata?_format=json");
    assert_eq!(names.sent_target("/fhirx/metadata"), "/fhirx/metadata");
}

#[test]
#[should_panic(expected = "https://mpi.tehik.ee")]
fn a_default_name_in_an_answer_is_told() {
    Names { is_foreign: true }.received(br#"{"system":"https://mpi.tehik.ee"}"#, "an answer");
}

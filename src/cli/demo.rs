//! `hcert demo` and `hcert dev --demo`: a data folder full of made-up people and their certificates.
//!
//! The certificates of the corpus are imported. The twenty people that ship have lives of their own, told as requests of doctors, patients,
//! employers and officials that go the whole way of a request, so that versions, consents and the audit trail are those of a real service.

use std::fmt::Write;
use std::io::Cursor;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use clap::Args;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, LOCATION};
use hyper::{Method, Request};
use serde_json::json;

use super::{Common, Failure, note, open, say};
use crate::access::Tokens;
use crate::access::token::{TokenRequest, issue_in};
use crate::audit::AuditTrail;
use crate::bench::parse_count;
use crate::bulk::{self, BulkProgress, ImportOptions};
use crate::config::{AccessMode, Config, ServerSettings, TlsSettings};
use crate::corpus::Corpus;
use crate::http::{HttpServer, HttpSettings};
use crate::interaction::{Policy, Service};
use base::metrics::Metrics;
use base::number::counted;
use certificate::{Id, Renaming};
use engine::{Engine, system_clock};

/// Fill a data folder with made-up people and certificates, for trying out
///
/// Certificates of every state and of both kinds, consents, old versions and an audit trail. Twenty people have lives of their own; they are
/// listed with their codes. The folder must be new, or one of `hcert dev` that holds no certificates; `hcert dev` then serves it. For a
/// running server there is `hcert dev --demo`.
#[derive(Args, Debug)]
pub(super) struct DemoArguments {
    /// Certificates beside those of the twenty people, such as 1000, 10k or 1M
    #[arg(long, value_name = "N", default_value = "1000", value_parser = parse_count)]
    count: u64,
    /// Tell the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

impl DemoArguments {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        let DemoArguments { count, json, common } = self;
        let config = common.load(|config| config.access.mode = AccessMode::Developer)?;
        open::for_owner_only();
        open::expect_unused(&config.storage.data, false).map_err(Failure::Failed)?;
        let opened = open::engine_and_trail(&config, system_clock(), Metrics::new());
        let (engine, trail) = opened.map_err(Failure::Failed)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| Failure::Failed(format!("no threads could be started: {error}")))?;
        let filled = runtime.block_on(fill(&config, &engine, &trail, count));
        let kept = bulk::hand_head_over(&engine, &trail);
        drop(runtime);
        drop(trail);
        engine.close();
        let filled = filled.map_err(Failure::Failed)?;
        kept.map_err(Failure::Failed)?;
        if json {
            return say(&format!("{}\n", filled.as_json()));
        }
        note(filled.summary());
        say(&people())
    }
}

/// What was made.
pub(super) enum DemoFill {
    /// Nothing: there are certificates already.
    Before,
    Now {
        imported: u64,
        patients: u64,
    },
}

impl DemoFill {
    pub(super) fn summary(&self) -> String {
        match self {
            DemoFill::Before => "the folder has certificates already, so nothing was added".to_owned(),
            DemoFill::Now { imported, patients } => format!(
                "added {} of {}, and the lives of {} people",
                counted(*imported, "version", "versions"),
                counted(*patients, "made-up patient", "made-up patients"),
                PEOPLE.len()
            ),
        }
    }
}

impl DemoFill {
    fn as_json(&self) -> serde_json::Value {
        let (versions, patients) = match self {
            DemoFill::Before => (0, 0),
            DemoFill::Now { imported, patients } => (*imported, *patients),
        };
        let person = |person: &DemoPerson| {
            let DemoPerson { id, code, name, about, .. } = person;
            json!({"patient": format!("Patient/{id}"), "code": code, "name": name, "about": about})
        };
        json!({"versions": versions, "patients": patients, "people": PEOPLE.iter().map(person).collect::<Vec<_>>()})
    }
}

/// Fills an open folder of `hcert dev`.
///
/// # Errors
/// Something cannot be stored, in words for the person at the terminal.
pub(super) async fn fill(
    config: &Config,
    engine: &Arc<Engine>,
    trail: &Arc<AuditTrail>,
    count: u64,
) -> Result<DemoFill, String> {
    if engine.read(Id::FIRST, None, |_| Ok(())).map_err(|error| error.to_string())?.is_some() {
        return Ok(DemoFill::Before);
    }
    let server = server(config, engine, trail)?;
    server.service().registry().add_samples().await?;
    let (of_corpus, names) = (engine.clone(), server.service().settings().names.clone());
    let rulebook = server.service().rulebook().clone();
    let body_bytes_max = config.server.body_bytes_max;
    let imported = tokio::task::spawn_blocking(move || -> Result<(BulkProgress, BulkProgress), String> {
        let renaming = Renaming::new(&names);
        let corpus = Corpus::new(1, count);
        let mut lines = String::new();
        for subject in corpus.subjects() {
            corpus.write_patient(subject, &mut lines);
            lines.push('\n');
        }
        renaming.apply(&mut lines);
        let options = ImportOptions { stop_at_bad: true, body_bytes_max };
        let systems = &rulebook.names().identifiers;
        let patients = bulk::import_patients(&of_corpus, systems, &mut Cursor::new(lines), options, &mut |_| ())?;
        let mut lines = String::new();
        for change in corpus {
            change.write_entry(&mut lines);
            lines.push('\n');
        }
        renaming.apply(&mut lines);
        let certificates = bulk::import(&of_corpus, &rulebook, &mut Cursor::new(lines), options, &mut |_| ())?;
        Ok((certificates, patients))
    });
    let (certificates, patients) = imported.await.map_err(|error| error.to_string())??;
    live(config, &server).await?;
    Ok(DemoFill::Now { imported: certificates.stored, patients: patients.stored })
}

/// The service over the folder as this machine would reach it. Nothing listens.
fn server(config: &Config, engine: &Arc<Engine>, trail: &Arc<AuditTrail>) -> Result<Arc<HttpServer<Service>>, String> {
    let ServerSettings { base_path, body_bytes_max, .. } = config.server.clone();
    let server = ServerSettings { base_path, body_bytes_max, ..ServerSettings::default() };
    let config = Config { server, tls: TlsSettings::default(), ..config.clone() };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let mut settings = HttpSettings::new(&config, address).map_err(|failure| failure.to_string())?;
    let policy = open::policy(&config)?;
    let tokens = Tokens::open(&config, &config.storage.data, system_clock())?;
    settings.tokens = Some(Arc::new(tokens.for_roles_of(policy.permissions.clone())));
    let policy = Policy { audit: Some(trail.clone()), ..policy };
    let service = open::service(&config, engine.clone(), policy, &settings.base_url, system_clock())?;
    Ok(HttpServer::new(service, settings))
}

/// A port for addresses that nobody calls.
const PORT: u16 = 8080;

const DRIVER_DRAFT: &str = include_str!("../../examples/driver-draft.json");
const DRIVER: &str = include_str!("../../examples/driver-final.json");
const DRIVER_CHANGED: &str = include_str!("../../examples/driver-final-changed.json");
const OCCUPATIONAL_DRAFT: &str = include_str!("../../examples/occupational-draft.json");
const OCCUPATIONAL: &str = include_str!("../../examples/occupational-final.json");
const REJECTED: &str = include_str!("../../examples/occupational-rejected.json");
const SUSPEND: &str = include_str!("../../examples/suspend.json");
const CANCEL: &str = include_str!("../../examples/cancel.json");

/// Who sends a request.
#[derive(Clone, Copy)]
enum DemoCaller {
    /// Who wrote the examples.
    Author,
    /// A doctor of another institution.
    Colleague,
    /// Whom the certificate is about.
    Patient,
    /// The employer of the occupational examples.
    Employer,
    Official,
}

/// One request about the newest certificate of a person.
enum DemoAct {
    Create(&'static str),
    Update(&'static str),
    Delete,
    Suspend,
    Cancel,
    /// Closes it to doctors.
    Close,
    Read(DemoCaller),
    /// Searches for the certificates of the person.
    Find(DemoCaller),
}

/// One of the people that ship, what is interesting about them, and what happens.
struct DemoPerson {
    /// `Patient/200`
    id: u32,
    /// Their Estonian code, or the number they are known by.
    code: &'static str,
    name: &'static str,
    about: &'static str,
    acts: &'static [DemoAct],
}

use DemoAct::{Cancel, Close, Create, Delete, Find, Read, Suspend, Update};

#[rustfmt::skip]
const PEOPLE: &[DemoPerson] = &[
    DemoPerson { id: 200, code: "39406240015", name: "Taavi Kask", about: "a driver; police and patient have looked",
        acts: &[Create(DRIVER), Read(DemoCaller::Official), Read(DemoCaller::Patient)] },
    DemoPerson { id: 201, code: "48703129419", name: "Maarja-Liis Põldsaar", about: "an occupational certificate that her employer (16978044) has found",
        acts: &[Create(OCCUPATIONAL_DRAFT), Update(OCCUPATIONAL), Find(DemoCaller::Employer), Read(DemoCaller::Employer)] },
    DemoPerson { id: 202, code: "45908309529", name: "Õnne Väljaots", about: "has closed her certificate to doctors; one was refused, its author reads it",
        acts: &[Create(DRIVER), Close, Read(DemoCaller::Colleague), Read(DemoCaller::Author)] },
    DemoPerson { id: 203, code: "33811079133", name: "Rein Evald Uusmurd", about: "has died; a certificate is stored with a warning",
        acts: &[Create(DRIVER)] },
    DemoPerson { id: 204, code: "38201299274", name: "Anatoli Belkin", about: "his record is no longer active", acts: &[] },
    DemoPerson { id: 205, code: "49112049345", name: "Kadri Ojakallas", about: "the same person as Patient/206; a search by either finds it",
        acts: &[Create(DRIVER), Find(DemoCaller::Author)] },
    DemoPerson { id: 206, code: "LV0031206", name: "Kadri Ozolkalne", about: "replaced by Patient/205", acts: &[] },
    DemoPerson { id: 207, code: "LV0047110", name: "Guntis Lapegle", about: "a passport number that two records have", acts: &[] },
    DemoPerson { id: 208, code: "36805199084", name: "Guntis Lapegle", about: "the other one, with an Estonian code; a driver",
        acts: &[Create(DRIVER)] },
    DemoPerson { id: 209, code: "61509179618", name: "Elsa Miia Rohuväli", about: "a child, without certificates", acts: &[] },
    DemoPerson { id: 210, code: "LV0090210", name: "Ilva Krastmale", about: "from Latvia; the day of birth is not known", acts: &[] },
    DemoPerson { id: 211, code: "FI0061211", name: "Veikko Rantakoskela", about: "from Finland; is not fit to work: an occupational certificate with a negative decision",
        acts: &[Create(REJECTED)] },
    DemoPerson { id: 212, code: "140271-9022", name: "Aino Niittyranta", about: "from Finland; works here: an occupational certificate",
        acts: &[Create(OCCUPATIONAL), Find(DemoCaller::Employer)] },
    DemoPerson { id: 213, code: "47602269759", name: "Žanna Kivisoo", about: "three versions: drafted, completed, changed with a reason",
        acts: &[Create(DRIVER_DRAFT), Update(DRIVER), Update(DRIVER_CHANGED), Read(DemoCaller::Colleague)] },
    DemoPerson { id: 214, code: "90214", name: "Jürgen Tammepuu", about: "known by references of other systems alone; a draft",
        acts: &[Create(DRIVER_DRAFT)] },
    DemoPerson { id: 215, code: "50212319832", name: "Karl-Mattias Sõrmusaed", about: "an occupational draft that waits for its decision",
        acts: &[Create(OCCUPATIONAL_DRAFT)] },
    DemoPerson { id: 216, code: "60002299924", name: "Darja Šatrov", about: "a draft that was deleted (410)",
        acts: &[Create(DRIVER_DRAFT), Delete] },
    DemoPerson { id: 217, code: "34506179193", name: "Ülo Ääremaa", about: "suspended: may not drive until it is decided",
        acts: &[Create(DRIVER), Suspend, Read(DemoCaller::Official)] },
    DemoPerson { id: 218, code: "49901019461", name: "Johanna Õunmägi", about: "revoked, because it was written by mistake; she no longer sees it",
        acts: &[Create(DRIVER), Cancel, Read(DemoCaller::Patient)] },
    DemoPerson { id: 219, code: "35304059573", name: "Heino Pihlamets", about: "has died, and his record is no longer active", acts: &[] },
];

/// The twenty people as a table.
pub(super) fn people() -> String {
    let width = |of: fn(&DemoPerson) -> &str| PEOPLE.iter().map(|person| of(person).chars().count()).max().unwrap_or(0);
    let (code, name) = (width(|person| person.code), width(|person| person.name));
    let mut text = String::new();
    for person in PEOPLE {
        let _ = writeln!(text, "{:code$}  {:name$}  Patient/{}  {}", person.code, person.name, person.id, person.about);
    }
    text
}

/// Lets the twenty people live.
async fn live(config: &Config, server: &Arc<HttpServer<Service>>) -> Result<(), String> {
    let renaming = Renaming::new(&server.service().settings().names);
    for person in PEOPLE {
        let mut certificate = String::new();
        for act in person.acts {
            let (caller, method, path, body) = act.request(person, &certificate);
            let token = caller.token(person);
            let now = system_clock()().div_euclid(1_000);
            let token = issue_in(&config.storage.data, config, &token, now)?.token;
            let body = renaming.applied(body);
            let request = Request::builder()
                .method(method.clone())
                .uri(format!("{}/{path}", config.server.base_path))
                .header(HOST, format!("127.0.0.1:{PORT}"))
                .header(AUTHORIZATION, format!("Bearer {token}"))
                .header(CONTENT_TYPE, "application/fhir+json")
                .header(CONTENT_LENGTH, body.len())
                .body(Full::new(Bytes::from(body)))
                .map_err(|error| error.to_string())?;
            let answer = server.clone().answer(request, Some(IpAddr::V4(Ipv4Addr::LOCALHOST))).await;
            let status = answer.status();
            if matches!(act, Create(_)) {
                let location = answer.headers().get(LOCATION).and_then(|location| location.to_str().ok());
                let id = location.and_then(|location| location.split("/Composition/").nth(1)?.split('/').next());
                certificate = id.map(|id| format!("Composition/{id}")).unwrap_or_default();
            }
            // A refused read is a part of the story.
            if !status.is_success() && !matches!(act, Read(_) | Find(_)) {
                let body =
                    answer.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
                return Err(format!(
                    "{method} {path} for Patient/{}: {status}: {}",
                    person.id,
                    String::from_utf8_lossy(&body)
                ));
            }
        }
    }
    Ok(())
}

impl DemoAct {
    /// Who sends it, and what: method, path below the base, body.
    fn request(&self, person: &DemoPerson, certificate: &str) -> (DemoCaller, Method, String, String) {
        let none = String::new;
        match self {
            Create(example) => (DemoCaller::Author, Method::POST, "Composition".to_owned(), of_person(example, person)),
            Update(example) => (DemoCaller::Author, Method::PUT, certificate.to_owned(), of_person(example, person)),
            Delete => (DemoCaller::Author, Method::DELETE, certificate.to_owned(), none()),
            Suspend => (DemoCaller::Author, Method::POST, format!("{certificate}/$suspend"), (*SUSPEND).to_owned()),
            Cancel => (DemoCaller::Author, Method::POST, format!("{certificate}/$cancel"), (*CANCEL).to_owned()),
            Close => {
                let closed =
                    json!({"resourceType": "Parameters", "parameter": [{"name": "doctor", "valueString": "closed"}]});
                (DemoCaller::Patient, Method::POST, format!("{certificate}/$set-consent"), closed.to_string())
            }
            Read(caller) => (*caller, Method::GET, certificate.to_owned(), none()),
            Find(caller) => (*caller, Method::GET, format!("Composition?subject=Patient/{}", person.id), none()),
        }
    }
}

/// An example that is about a person, with a number of its own.
fn of_person(example: &str, person: &DemoPerson) -> String {
    let about = example.replace("Patient/200", &format!("Patient/{}", person.id));
    // The author of the rejected example is a colleague; one hand signs them all here.
    about.replace("TT-2025-000", &format!("TT-2025-{}", person.id)).replace("36109255737", AUTHOR)
}

/// Who wrote the examples, and at which institution.
const AUTHOR: &str = "49403136515";
const INSTITUTION: &str = "90006399";

impl DemoCaller {
    fn token(self, person: &DemoPerson) -> TokenRequest {
        let of =
            |role: &str, code: &str| TokenRequest { role: role.into(), person: code.into(), ..TokenRequest::default() };
        match self {
            DemoCaller::Author => TokenRequest { organization: Some(INSTITUTION.into()), ..of("doctor", AUTHOR) },
            DemoCaller::Colleague => {
                TokenRequest { organization: Some("10000000".into()), ..of("doctor", "37605030299") }
            }
            DemoCaller::Patient => TokenRequest { patient: Some(person.code.into()), ..of("patient", person.code) },
            DemoCaller::Employer => TokenRequest {
                represented_party: Some("16978044".into()),
                ..of("org-legal-representative", "38001085718")
            },
            DemoCaller::Official => of("gov-official", "36109255737"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_people_are_those_that_ship() {
        let shipped = include_str!("../../data/patients.ndjson");
        assert_eq!(PEOPLE.len(), shipped.lines().count());
        for (person, line) in PEOPLE.iter().zip(shipped.lines()) {
            assert!(line.contains(&format!("\"id\":\"{}\"", person.id)), "{line}");
            assert!(line.contains(&format!("\"value\":\"{}\"", person.code)), "{line}");
            let family = person.name.rsplit(' ').next().unwrap();
            assert!(line.contains(&format!("\"family\":\"{family}\"")), "{line}");
        }
    }
}

//! A service over a store of generated certificates: the same in every run.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::Duration;

use certificate::search::paging::Counts;
use certificate::{Names, State};
use engine::{self, Clock, Engine, QuickRepair};
use hcert::access::Tokens;
use hcert::bulk::{self, ImportOptions};
use hcert::config::Config;
use hcert::corpus::{Corpus, Facts};
use hcert::http::{HttpServer, HttpSettings};
use hcert::interaction::{self, Policy, Rulebook, Service};
use hcert::registry::Registry;

const SEED: u64 = 7;

/// Enough for an index with a full page behind every dense search, few enough to be filled in seconds.
const CERTIFICATES: u64 = 3_000;

/// What is created comes from a corpus of this size: its patients' numbers have as many digits as in a large store.
const OTHERS: u64 = 1_000_000;

/// The last moment of the corpus lies before it: 2026-11-21.
const NOW: i64 = 1_795_219_200_000;

pub(crate) struct Store {
    pub engine: Arc<Engine>,
    pub server: Arc<HttpServer<Service>>,
    /// Every certificate as it is now, deleted ones included.
    pub certificates: Vec<(u64, u32, Facts)>,
    /// Certificates that are not there yet, of patients whom the registry knows.
    pub bodies: Vec<String>,
}

/// A service over an open store.
pub(crate) fn serve(
    engine: &Arc<Engine>,
    policy: Policy,
    tokens: Option<Arc<Tokens>>,
    clock: Clock,
) -> Arc<HttpServer<Service>> {
    let config = Config::default();
    let mut http_settings =
        HttpSettings::new(&config, "127.0.0.1:8080".parse().expect("an address")).expect("settings");
    http_settings.tokens = tokens;
    // As `hcert serve` answers, but that nobody needs a token: in developer mode each answer says how long it took.
    http_settings.is_developer = false;
    let settings = settings(&config);
    let rulebook = Rulebook::open(engine.clone(), settings.names.clone(), false);
    let rulebook = Arc::new(rulebook.expect("the profiles and lists that ship can be used"));
    let registry = Registry::open(&config, engine.clone(), clock.clone()).expect("settings of a registry");
    HttpServer::new(Service::new(engine.clone(), registry, policy, rulebook, settings, clock), http_settings)
}

fn settings(config: &Config) -> interaction::ServiceSettings {
    let http_settings = HttpSettings::new(config, "127.0.0.1:8080".parse().expect("an address")).expect("settings");
    interaction::ServiceSettings {
        names: Names::new(http_settings.base_url.to_string(), &config.namespaces.pairs()),
        issue_system: config.namespaces.hcert_issue_system.clone(),
        count: Counts { default: config.search.count_default, max: config.search.count_max },
        link_seconds: i64::from(config.search.link_minutes) * 60,
        full_url_absolute: false,
        external_reference_system: config.registry.external_reference_system.clone(),
    }
}

impl Store {
    /// `to_create`: bodies of creates.
    pub(crate) fn fill(folder: &Path, to_create: usize) -> Store {
        Store::fill_with(folder, to_create, CERTIFICATES)
    }

    pub(crate) fn fill_with(folder: &Path, to_create: usize, count: u64) -> Store {
        let config = Config::default();
        // Each change a millisecond after the one before, so that no two runs differ in a digit.
        let now = AtomicI64::new(NOW);
        let clock: Clock = Arc::new(move || now.fetch_add(1, Ordering::Relaxed));
        let options = engine::EngineOptions {
            folder: folder.to_owned(),
            cache_bytes: 64 << 20,
            quick_repair: QuickRepair::Off,
            purpose: None,
            names: engine::FolderNames(config.namespaces.pairs()),
            unique_number: config.certificate.unique_number,
            metrics: base::metrics::Metrics::new(),
            clock: clock.clone(),
            elapsed: Arc::new(|| 0),
        };
        let engine = Arc::new(Engine::open(options.clone()).expect("an empty folder can be opened"));
        let names = settings(&config).names;
        let (mut lines, mut newest) = (String::new(), HashMap::new());
        for change in Corpus::new(SEED, count) {
            change.write_entry(&mut lines);
            lines.push('\n');
            newest.insert(change.id().get(), (change.version().get(), change.facts()));
        }
        let import = ImportOptions { stop_at_bad: true, ..ImportOptions::default() };
        let rulebook = Rulebook::open(engine.clone(), names, false);
        let rulebook = rulebook.expect("the profiles and lists that ship can be used");
        bulk::import(&engine, &rulebook, &mut lines.as_bytes(), import, &mut |event| drop(event))
            .expect("a corpus can be imported");
        let (others, mut people, mut bodies) = (Corpus::new(SEED + 1, OTHERS), String::new(), Vec::new());
        for other in (1..=to_create as u64).map(|number| others.certificate(number)) {
            others.write_patient(other.facts().subject, &mut people);
            people.push('\n');
            bodies.push(other.body());
        }
        bulk::import_patients(&engine, &Names::default().identifiers, &mut people.as_bytes(), import, &mut |event| {
            drop(event);
        })
        .expect("the patients of a corpus can be imported");
        // How many rounds the index took is the machine's affair, so it is built once more in one.
        engine.close();
        std::fs::remove_dir_all(folder.join("index")).expect("the index can be deleted while nothing runs");
        let engine = Arc::new(Engine::open(options).expect("a store can be opened without its index"));
        let mut certificates: Vec<_> = newest.into_iter().map(|(id, (version, facts))| (id, version, facts)).collect();
        certificates.sort_unstable_by_key(|(id, ..)| *id);
        let server = serve(&engine, Policy::default(), None, clock);
        let store = Store { engine, server, certificates, bodies };
        store.settle();
        store
    }

    /// Waits until the index holds everything, so that no search finds more in the overlay in one run than in another.
    pub(crate) fn settle(&self) {
        while self.engine.indexed() != Some(self.engine.seq()) {
            self.engine.index_now();
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn ids(&self, state: State) -> impl Iterator<Item = u64> {
        self.certificates.iter().filter(move |(_, _, facts)| facts.state == state).map(|(id, ..)| *id)
    }

    /// Patients with this many certificates that can be found.
    pub(crate) fn subjects(&self, certificates: usize) -> Vec<u64> {
        let mut numbers: HashMap<u64, usize> = HashMap::new();
        let known = self.certificates.iter().filter(|(_, _, facts)| facts.state != State::Deleted);
        known.for_each(|(_, _, facts)| *numbers.entry(facts.subject).or_default() += 1);
        let mut subjects: Vec<u64> =
            numbers.into_iter().filter(|(_, n)| *n == certificates).map(|(id, _)| id).collect();
        subjects.sort_unstable();
        subjects
    }

    pub(crate) fn employers(&self) -> Vec<u32> {
        let mut employers: Vec<u32> = self.certificates.iter().filter_map(|(_, _, facts)| facts.employer).collect();
        employers.sort_unstable();
        employers.dedup();
        employers
    }
}

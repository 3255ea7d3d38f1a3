//! Another FHIR server, driven with the same requests. What it does not offer is shown so and fails nothing.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use jiff::Timestamp;

use super::client::{BenchConnection, BenchResponse, BenchTarget};
use super::load::{Driver, XorShift};
use super::measure::ScenarioContext;
use super::plan::{BenchPlan, Watch};
use super::question::{Questions, search};
use super::report::{ScenarioRow, Size, count};
use super::sample::{Collector, CreateBody, Dense, LoadSample, STRANGERS_CERTIFICATES, everybody};
use super::scenario::{HistorySince, MIXED, RequestKind, Scenario};
use super::stop::{BenchError, Stop};
use super::terminal;
use crate::corpus::Corpus;

/// Creates certificates over HTTP, then asks for them.
///
/// # Errors
/// The server cannot be reached or does not take certificates, in words; or the order to stop comes.
pub(super) fn run(
    plan: &BenchPlan,
    target: &BenchTarget,
    driver: &Driver,
    stop: &Stop,
    watch: &dyn Watch,
) -> Result<Size, BenchError> {
    let certificates = plan.counts[0];
    let told = count(certificates);
    driver.wait(reach(target))??;
    watch.phase(&format!("{told}: creating certificates over HTTP"), Some(certificates));
    let sample = driver.wait(create(target, plan, certificates, watch))??;
    let mut questions = Questions::new(target.clone(), Rc::new(sample));
    driver.wait(count_what_is_there(&questions))?;
    let dense = driver.wait(dense(&questions))?;
    if let Some(sample) = Rc::get_mut(&mut questions.sample) {
        sample.dense = dense;
    }
    let mut size = Size { certificates, versions: certificates, ..Size::default() };
    watch.line(&terminal::head());
    // None of it can be asked of a server that is not ours.
    let ours = |scenario: &Scenario| {
        matches!(scenario.kind, RequestKind::Restart | RequestKind::Pdf) || scenario.is_unordered()
    };
    for (at, scenario) in plan.scenarios.iter().enumerate().filter(|(_, scenario)| !ours(scenario)) {
        watch.phase(&format!("{told}: {}", scenario.title), Some(plan.scenarios.len() as u64));
        watch.at(at as u64);
        let bench = ScenarioContext { plan, stop, driver, questions: &questions, server: None, floors: None };
        let row = match driver.wait(offered(&questions, scenario.kind))? {
            Ok(()) => bench.run(scenario)?,
            Err(why) => {
                ScenarioRow { not_offered: Some(why), ..ScenarioRow::new(scenario, scenario.clients(plan.clients)) }
            }
        };
        terminal::row(&row).iter().for_each(|line| watch.line(line));
        size.rows.push(row);
    }
    Ok(size)
}

async fn reach(target: &BenchTarget) -> Result<(), BenchError> {
    let mut request = Vec::new();
    target.get(&mut request, format_args!("/metadata"));
    match BenchConnection::new(target).send(&request).await {
        Ok(answer) if answer.status == 200 => Ok(()),
        Ok(answer) => Err(BenchError::Failed(format!(
            "{} is no FHIR base address: /metadata gives {}",
            target.address,
            answer.words()
        ))),
        Err(error) => Err(BenchError::Failed(format!("{} cannot be reached: {error}", target.address))),
    }
}

/// Clients that create at once.
const CREATORS: u64 = 16;

async fn create(
    target: &BenchTarget,
    plan: &BenchPlan,
    certificates: u64,
    watch: &dyn Watch,
) -> Result<LoadSample, BenchError> {
    let corpus = Corpus::new(plan.seed, certificates);
    let everybody = everybody(plan.seed, certificates).subjects();
    knows_the_last(target, plan, &corpus, &everybody).await?;
    let ids: Rc<RefCell<Vec<Box<str>>>> = Rc::new(RefCell::new(vec!["".into(); certificates as usize + 1]));
    let made = Rc::new(RefCell::new(Vec::new()));
    let mut tasks = Vec::new();
    for client in 0..CREATORS {
        let (target, corpus, ids, made) = (target.clone(), corpus.clone(), ids.clone(), made.clone());
        let (everybody, seed, renaming) = (everybody.clone(), plan.seed, plan.renaming.clone());
        tasks.push(tokio::task::spawn_local(async move {
            let mut connection = BenchConnection::new(&target);
            for number in (1..=certificates).filter(|number| number % CREATORS == client) {
                let body = renaming.applied(corpus.certificate(number).body());
                let id = create_one(&mut connection, &target, &[body.as_bytes()]).await;
                ids.borrow_mut()[number as usize] = id.map_err(|refused| refused.told(&everybody, seed))?;
                made.borrow_mut().push(Timestamp::now().as_millisecond());
            }
            Ok(())
        }));
    }
    while tasks.iter().any(|task| !task.is_finished()) {
        watch.at(ids.borrow().iter().filter(|id| !id.is_empty()).count() as u64);
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    for task in tasks {
        task.await.map_err(|_| BenchError::Failed("a client ended before its time".into()))??;
    }
    let mut collector = Collector::new(corpus.clone(), certificates);
    for number in 1..=certificates {
        collector.note(number, 1, &corpus.certificate(number).facts());
    }
    made.take().into_iter().for_each(|milliseconds| collector.made(milliseconds));
    let ids = ids.take();
    let sample = collector.sample(plan.seed, &plan.renaming, |number| ids[number as usize].clone());
    Ok(LoadSample { shared: true, ..sample })
}

/// Creates a certificate for the stranger with the largest number, so that a registry that does not know enough patients is told of at once.
async fn knows_the_last(
    target: &BenchTarget,
    plan: &BenchPlan,
    corpus: &Corpus,
    everybody: &Range<u64>,
) -> Result<(), BenchError> {
    let body = CreateBody::new(&plan.renaming.applied(corpus.certificate(1).body()));
    let last = (everybody.end - 1).to_string();
    let created = create_one(&mut BenchConnection::new(target), target, &body.parts(&last)).await;
    created.map(drop).map_err(|refused| refused.told(everybody, plan.seed))
}

/// A create that was not carried out.
struct RefusedCreate {
    words: String,
    /// The patient is what it is about.
    is_of_patient: bool,
}

impl RefusedCreate {
    /// For people, on one line.
    fn told(self, everybody: &Range<u64>, seed: u64) -> BenchError {
        let RefusedCreate { words, is_of_patient } = self;
        let mut told = format!("the server does not take certificates: {words}");
        if is_of_patient {
            let (first, last) = (everybody.start, everybody.end - 1);
            let count = (everybody.end - everybody.start) * STRANGERS_CERTIFICATES;
            told.push_str(&format!(
                "; its registry must know Patient/{first} to Patient/{last}: \
                 hcert generate --patients --count {count} --seed {seed} | hcert patients import -"
            ));
        }
        BenchError::Failed(told)
    }
}

/// Creates a certificate; tells its id.
async fn create_one(
    connection: &mut BenchConnection,
    target: &BenchTarget,
    body: &[&[u8]],
) -> Result<Box<str>, RefusedCreate> {
    let mut request = Vec::new();
    target.send(&mut request, "POST", format_args!("/Composition"), body);
    let answer = connection.send(&request).await;
    let answer = answer.map_err(|error| RefusedCreate { words: error.to_string(), is_of_patient: false })?;
    match answer.created_id().filter(|_| answer.status == 201) {
        Some(id) => Ok(id.into()),
        None => {
            // Ours has a code for it; others name the reference that leads nowhere.
            let is_of_patient = answer.status < 500 && (answer.holds("HCERT-008") || answer.holds("Patient/"));
            Err(RefusedCreate { words: answer.words(), is_of_patient })
        }
    }
}

/// Patients are the same in every run, so earlier ones may have left certificates of theirs behind, which are found too.
async fn count_what_is_there(questions: &Questions) {
    let mut connection = BenchConnection::new(&questions.target);
    let mut request = Vec::new();
    for subject in &questions.sample.subjects {
        request.clear();
        questions.target.get(&mut request, format_args!("/Composition?subject=Patient/{}&_count=0", subject.number));
        let Ok(answer) = connection.send(&request).await else { return };
        // One that does not search for one patient does not for another.
        let Some(total) = answer.total().filter(|_| answer.status == 200) else { return };
        // Fewer than were created just now are a fault, which the scenario shall show.
        subject.hits.set(total.max(subject.hits.get()));
    }
}

/// The dense searches with what the server itself counts: others may have written there before.
async fn dense(questions: &Questions) -> Vec<Dense> {
    let mut connection = BenchConnection::new(&questions.target);
    let mut request = Vec::new();
    let mut found = Vec::new();
    for dense in &questions.sample.dense {
        request.clear();
        questions.target.get(&mut request, format_args!("{}&_count=0", search(dense)));
        let Ok(answer) = connection.send(&request).await else { continue };
        let hits = answer.total().filter(|hits| answer.status == 200 && *hits > 0);
        found.extend(hits.map(|hits| Dense { hits, ..*dense }));
    }
    found
}

/// Whether the server answers a scenario's requests as they must be answered; if not, what it does instead.
async fn offered(questions: &Questions, kind: RequestKind) -> Result<(), String> {
    let parts = if kind == RequestKind::Mixed { &MIXED[..] } else { &[kind] };
    for part in parts {
        one_offered(questions, *part).await?;
    }
    Ok(())
}

async fn one_offered(questions: &Questions, kind: RequestKind) -> Result<(), String> {
    let mut connection = BenchConnection::new(&questions.target);
    let mut request = Vec::new();
    let mut random = XorShift::new(1);
    let Some(expect) = questions.ask(kind, &mut random, &mut request) else { return Ok(()) };
    let answer = connection.send(&request).await.map_err(|error| error.to_string())?;
    expect.check(&answer)?;
    let found = first_entry(&answer);
    // A server that passes over the number of the page would be measured on its first page again and again.
    let first = match kind {
        RequestKind::Dense { page, by_date } if questions.page(page) > 1 => {
            Some(RequestKind::Dense { page: 1, by_date })
        }
        RequestKind::TypeHistory { since: since @ HistorySince::Ever, far: true, unordered }
            if questions.distinct(kind) > 1 =>
        {
            Some(RequestKind::TypeHistory { since, far: false, unordered })
        }
        _ => None,
    };
    if let Some(first) = first {
        request.clear();
        questions.ask(first, &mut random, &mut request);
        let first_page = connection.send(&request).await.map_err(|error| error.to_string())?;
        if first_entry(&first_page) == found {
            return Err("pages by number are not its way".to_owned());
        }
    }
    Ok(())
}

fn first_entry(answer: &BenchResponse) -> Option<String> {
    let bundle: serde_json::Value = serde_json::from_slice(answer.body).ok()?;
    bundle["entry"][0]["resource"]["id"].as_str().map(ToOwned::to_owned)
}

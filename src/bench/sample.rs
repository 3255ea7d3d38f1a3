//! What there is to ask for: ids, patients, employers and practitioners spread over the whole data set, with what must be found.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

use jiff::civil::Date;

use super::load::XorShift;
use crate::corpus::{Category, Corpus, Facts};
use crate::registry::PersonalCode;
use certificate::{Renaming, State};

/// Certificates that can be asked for at most: more would take memory from the server, fewer would be served out of a cache.
const CERTIFICATES_MAX: u64 = 200_000;

/// Patients that can be asked for at most.
const SUBJECTS_MAX: u64 = 50_000;

/// Certificates whose employers can be asked for, roughly.
const EMPLOYED_MAX: u64 = 100_000;

/// Moments since which can be asked, roughly.
const MOMENTS_MAX: u64 = 100_000;

/// Drafts that can be updated at most; each holds a body.
const DRAFTS_MAX: usize = 5_000;

/// Different bodies of creates.
const BODIES: u64 = 2_000;

/// Patients of what is created beyond the data set. Five creates are for one, and then for the next, so that the first has a turn again
/// after more creates than most scenarios make.
const STRANGERS: u64 = 10_000;

/// Certificates for one stranger before the next has a turn: as many as a patient of the data set has.
pub(super) const STRANGERS_CERTIFICATES: u64 = HITS;

/// Hits of a search by subject, where enough patients have so many certificates.
const HITS: u64 = 5;

/// What can be asked for.
#[derive(Debug, Default)]
pub(super) struct LoadSample {
    /// Certificates that can be read.
    pub certificates: Vec<KnownCertificate>,
    pub drafts: Vec<DraftCertificate>,
    /// Ids of completed certificates.
    pub completed: Vec<Box<str>>,
    pub subjects: Vec<SamplePatient>,
    pub employers: Vec<Employer>,
    pub practitioners: Vec<Practitioner>,
    pub dense: Vec<Dense>,
    /// Of all versions.
    pub versions: u64,
    /// Moments at which versions were made, from the first to the last.
    pub moments: Vec<SampleTime>,
    pub bodies: Vec<CreateBody>,
    /// Patients whom nobody asks for, known to the registry.
    pub strangers: Range<u64>,
    /// What others wrote may be found too: only what carries our own patients is counted.
    pub shared: bool,
}

#[derive(Debug)]
pub(super) struct KnownCertificate {
    pub id: Box<str>,
    pub versions: u32,
}

#[derive(Debug)]
pub(super) struct DraftCertificate {
    pub id: Box<str>,
    pub body: Vec<u8>,
}

/// A patient.
#[derive(Debug)]
pub(super) struct SamplePatient {
    /// In `Patient/<n>`.
    pub number: u64,
    /// Certificates by now.
    pub hits: Cell<u64>,
}

#[derive(Debug)]
pub(super) struct Employer {
    pub code: u32,
    pub day: Date,
    /// Certificates of this employer that are valid on this day.
    pub hits: u64,
}

#[derive(Debug)]
pub(super) struct Practitioner {
    pub code: PersonalCode,
    pub hits: u64,
}

/// The moment at which a version was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleTime {
    /// Since 1970 UTC.
    pub milliseconds: i64,
    /// Versions of the data set made then or later.
    pub hits: u64,
}

/// A search that finds about half of all certificates, or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dense {
    pub categories: [Category; 2],
    /// Completed certificates of either category.
    pub hits: u64,
}

impl Dense {
    /// Each pair of categories, so that it is not one search that is asked again and again.
    pub(super) const PAIRS: [[Category; 2]; 3] = [
        [Category::DriverGroupI, Category::DriverGroupII],
        [Category::DriverGroupI, Category::Occupational],
        [Category::DriverGroupII, Category::Occupational],
    ];
}

/// A body to create a certificate with, around the number of its patient.
#[derive(Debug)]
pub(super) struct CreateBody {
    pub before: Box<[u8]>,
    pub after: Box<[u8]>,
}

impl CreateBody {
    pub(super) fn new(body: &str) -> CreateBody {
        let (before, rest) = body.split_once("\"Patient/").expect("a certificate has a patient");
        let end = rest.find('"').expect("a JSON string ends");
        let before = [before.as_bytes(), b"\"Patient/"].concat();
        CreateBody { before: before.into(), after: rest.as_bytes()[end..].into() }
    }

    /// The parts of the body for a patient whose number is written as `subject`.
    pub(super) fn parts<'b>(&'b self, subject: &'b str) -> [&'b [u8]; 3] {
        [&self.before, subject.as_bytes(), &self.after]
    }
}

/// A corpus with the patients of `count` certificates and behind them the strangers: everybody whom the registry has to know.
pub(super) fn everybody(seed: u64, count: u64) -> Corpus {
    Corpus::new(seed, count + STRANGERS * STRANGERS_CERTIFICATES)
}

/// Notes what is made while it is made, within bounds whatever the size.
pub(super) struct Collector {
    corpus: Corpus,
    strangers: Range<u64>,
    /// One of so many certificates, patients, employers.
    steps: [u64; 3],
    /// Versions and state of the certificates that are noted, by number.
    known: HashMap<u64, (u32, State)>,
    subjects: HashMap<u64, u64>,
    /// Certificates of the employers that are noted, by number: employer, first and last day.
    employed: HashMap<u64, (u32, Option<(Date, Date)>)>,
    practitioners: HashMap<PersonalCode, u64>,
    /// Category of certificate `number` while it is completed.
    completed: Vec<Option<Category>>,
    versions: u64,
    /// Of one of so many versions: its time, and the versions before it.
    moment_step: u64,
    moments: Vec<(i64, u64)>,
}

impl Collector {
    pub(super) fn new(corpus: Corpus, count: u64) -> Collector {
        let step = |of: u64, most: u64| of.div_ceil(most).max(1);
        let slots = usize::try_from(count).expect("a count fits the memory") + 1;
        // No seed has other numbers.
        let everybody = everybody(0, count).subjects();
        Collector {
            corpus,
            strangers: everybody.end - STRANGERS..everybody.end,
            steps: [
                step(count, CERTIFICATES_MAX),
                step(count.div_ceil(5), SUBJECTS_MAX),
                step(count / 2, EMPLOYED_MAX),
            ],
            known: HashMap::new(),
            subjects: HashMap::new(),
            employed: HashMap::new(),
            practitioners: HashMap::new(),
            completed: vec![None; slots],
            versions: 0,
            moment_step: step(count, MOMENTS_MAX),
            moments: Vec::new(),
        }
    }

    /// A version was made, no earlier than the one before.
    pub(super) fn made(&mut self, milliseconds: i64) {
        if self.versions.is_multiple_of(self.moment_step) {
            self.moments.push((milliseconds, self.versions));
        }
        self.versions += 1;
    }

    /// Certificate `number` (from 1) has a new version, from 1.
    pub(super) fn note(&mut self, number: u64, version: u32, facts: &Facts) {
        let [certificates, subjects, employers] = self.steps;
        let gone = facts.state == State::Deleted;
        let count = |known: &mut u64| if gone { *known -= 1 } else { *known += u64::from(version == 1) };
        if number.is_multiple_of(certificates) {
            self.known.insert(number, (version, facts.state));
        }
        // A corpus of the largest size has no room for strangers behind it: some of its own are then never asked for.
        if facts.subject.is_multiple_of(subjects) && !self.strangers.contains(&facts.subject) {
            count(self.subjects.entry(facts.subject).or_default());
        }
        count(self.practitioners.entry(facts.practitioner).or_default());
        // The last digit is a check digit.
        if let Some(employer) = facts.employer.filter(|code| u64::from(code / 10).is_multiple_of(employers)) {
            if gone {
                self.employed.remove(&number);
            } else {
                self.employed.insert(number, (employer, facts.period));
            }
        }
        if let Some(completed) = self.completed.get_mut(number as usize) {
            *completed = (facts.state == State::Completed).then_some(facts.category);
        }
    }

    /// What was noted, ready to be asked for. `id` tells the id of a number.
    pub(super) fn sample(self, seed: u64, renaming: &Renaming, id: impl Fn(u64) -> Box<str>) -> LoadSample {
        let mut numbers: Vec<(u64, (u32, State))> = self.known.into_iter().collect();
        numbers.sort_unstable_by_key(|(number, _)| *number);
        let mut sample = LoadSample::default();
        for (number, (versions, state)) in numbers {
            match state {
                State::Deleted => continue,
                State::Completed => sample.completed.push(id(number)),
                State::Draft if sample.drafts.len() < DRAFTS_MAX => {
                    let id = id(number);
                    let fresh = self.corpus.certificate(number);
                    let body = with_id(&renaming.applied(fresh.body()), &id).into_bytes();
                    sample.drafts.push(DraftCertificate { id, body });
                }
                _ => {}
            }
            sample.certificates.push(KnownCertificate { id: id(number), versions });
        }
        // They are used up one after the other, which must not be from one end of the store.
        XorShift::new(2).shuffle(&mut sample.completed);
        sample.subjects = subjects(self.subjects);
        sample.employers = employers(self.employed.values());
        let practitioners = self.practitioners.into_iter().filter(|(_, hits)| *hits > 0);
        sample.practitioners = practitioners.map(|(code, hits)| Practitioner { code, hits }).collect();
        let completed = |categories: [Category; 2]| {
            self.completed.iter().flatten().filter(|category| categories.contains(category)).count() as u64
        };
        let dense = Dense::PAIRS.into_iter().map(|categories| Dense { categories, hits: completed(categories) });
        sample.dense = dense.filter(|dense| dense.hits > 0).collect();
        sample.versions = self.versions;
        let moments = self.moments.into_iter();
        sample.moments =
            moments.map(|(milliseconds, before)| SampleTime { milliseconds, hits: self.versions - before }).collect();
        sample.strangers = self.strangers;
        let body = |number| CreateBody::new(&renaming.applied(crate::corpus::certificate(seed + 1, number)));
        sample.bodies = (1..=BODIES).map(body).collect();
        sample
    }
}

/// Patients with the usual number of certificates; all there are when there are none such.
fn subjects(hits: HashMap<u64, u64>) -> Vec<SamplePatient> {
    let usual = hits.values().any(|hits| *hits == HITS);
    let fitting = hits.into_iter().filter(|(_, hits)| if usual { *hits == HITS } else { *hits > 0 });
    let mut subjects: Vec<SamplePatient> =
        fitting.map(|(number, hits)| SamplePatient { number, hits: Cell::new(hits) }).collect();
    subjects.sort_unstable_by_key(|subject| subject.number);
    subjects
}

/// Each employer on some days on which a certificate of theirs begins.
fn employers<'c>(certificates: impl Iterator<Item = &'c (u32, Option<(Date, Date)>)>) -> Vec<Employer> {
    /// Days asked about for each employer.
    const DAYS: usize = 4;
    let mut periods: HashMap<u32, Vec<(Date, Date)>> = HashMap::new();
    for (code, period) in certificates {
        periods.entry(*code).or_default().extend(period);
    }
    let mut found = Vec::new();
    let mut random = XorShift::new(1);
    let mut codes: Vec<(u32, Vec<(Date, Date)>)> = periods.into_iter().collect();
    codes.sort_unstable_by_key(|(code, _)| *code);
    for (code, mut periods) in codes {
        periods.sort_unstable();
        for _ in 0..DAYS.min(periods.len()) {
            let day = periods[random.below(periods.len())].0;
            let hits = periods.iter().filter(|(first, last)| *first <= day && day <= *last).count() as u64;
            found.push(Employer { code, day, hits });
        }
    }
    found
}

/// The body of an update tells the id.
fn with_id(body: &str, id: &str) -> String {
    let rest = body.strip_prefix("{\"resourceType\":\"Composition\",").expect("a generated body begins so");
    format!("{{\"resourceType\":\"Composition\",\"id\":\"{id}\",{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(count: u64) -> LoadSample {
        let corpus = Corpus::new(3, count);
        let mut collector = Collector::new(corpus.clone(), count);
        for change in corpus {
            collector.note(change.id().get(), change.version().get(), &change.facts());
            collector.made(change.last_updated());
        }
        collector.sample(3, &Renaming::default(), |number| number.to_string().into())
    }

    #[test]
    fn what_is_noted_is_what_a_search_finds() {
        let count = 2_000;
        let sample = sample(count);
        let mut newest = HashMap::new();
        for change in Corpus::new(3, count) {
            newest.insert(change.id().get(), change.facts());
        }
        newest.retain(|_, facts| facts.state != State::Deleted);
        assert_eq!(sample.certificates.len(), newest.len());
        for subject in &sample.subjects {
            let found = newest.values().filter(|facts| facts.subject == subject.number).count();
            assert_eq!((found as u64, subject.hits.get()), (HITS, HITS));
        }
        for practitioner in &sample.practitioners {
            let found = newest.values().filter(|facts| facts.practitioner == practitioner.code).count();
            assert_eq!(found as u64, practitioner.hits);
        }
        for employer in sample.employers.iter().take(300) {
            let valid = |facts: &&Facts| {
                let inside = facts.period.is_some_and(|(first, last)| first <= employer.day && employer.day <= last);
                facts.employer == Some(employer.code) && inside
            };
            assert_eq!(newest.values().filter(valid).count() as u64, employer.hits);
            assert!(employer.hits > 0);
        }
        let times: Vec<i64> = Corpus::new(3, count).map(|change| change.last_updated()).collect();
        assert_eq!((sample.versions as usize, sample.moments.len()), (times.len(), times.len()));
        for moment in &sample.moments {
            let found = times.iter().filter(|time| **time >= moment.milliseconds).count();
            assert_eq!(found as u64, moment.hits);
        }
        assert_eq!(sample.dense.len(), Dense::PAIRS.len());
        for dense in &sample.dense {
            let hit = |facts: &&Facts| facts.state == State::Completed && dense.categories.contains(&facts.category);
            assert_eq!(newest.values().filter(hit).count() as u64, dense.hits);
            let share = dense.hits as f64 / count as f64;
            assert!((0.4..0.8).contains(&share), "{dense:?} of {count}");
        }
    }

    #[test]
    fn a_large_data_set_is_sampled_over_its_whole_length() {
        let mut collector = Collector::new(Corpus::new(1, 1_000_000), 1_000_000);
        for number in 1..=1_000_000_u64 {
            if number.is_multiple_of(5) || number < 10 {
                let facts = collector.corpus.certificate(number).facts();
                collector.note(number, 1, &facts);
            }
        }
        let sample = collector.sample(1, &Renaming::default(), |number| number.to_string().into());
        assert_eq!(sample.certificates.len() as u64, CERTIFICATES_MAX);
        assert_eq!(&*sample.certificates.last().unwrap().id, "1000000");
        assert!(sample.drafts.len() <= DRAFTS_MAX);
    }

    #[test]
    fn strangers_are_known_to_the_registry_and_never_asked_for() {
        for count in [1, 7, 2_000, 100_000_000] {
            let everybody = everybody(3, count);
            let collector = Collector::new(Corpus::new(3, 5), count);
            let strangers = collector.strangers;
            assert!(strangers.end == everybody.subjects().end && strangers.clone().count() as u64 == STRANGERS);
            assert!(strangers.clone().all(|number| everybody.patient(number).is_some()));
            let own = Corpus::new(3, count).subjects();
            assert!(own.end <= strangers.start || count == 100_000_000, "{count}: {own:?} {strangers:?}");
        }
        let mut collector = Collector::new(Corpus::new(3, 1_000), 1_000);
        collector.strangers = 1_000..1_100;
        for number in 1..=1_000 {
            let facts = collector.corpus.certificate(number).facts();
            collector.note(number, 1, &facts);
        }
        let sample = collector.sample(3, &Renaming::default(), |number| number.to_string().into());
        assert!(!sample.subjects.is_empty() && sample.subjects.iter().all(|subject| subject.number >= 1_100));
    }

    #[test]
    fn a_body_takes_any_patient_and_the_id_of_its_certificate() {
        let text = crate::corpus::certificate(1, 1);
        let body = CreateBody::new(&text);
        let whole = body.parts("77").concat();
        assert!(String::from_utf8(whole).unwrap().contains("\"subject\":[{\"reference\":\"Patient/77\"}]"));
        assert!(with_id(&text, "5").starts_with("{\"resourceType\":\"Composition\",\"id\":\"5\",\"meta\""));
    }
}

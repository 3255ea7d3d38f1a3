//! One certificate with all that is decided about it, before a letter is written.

use super::calendar::{Day, LocalTime, Tick};
use super::history::{self, LifeStep, STEPS_MAX};
use super::organisations::{self, EMPLOYERS, INSTITUTIONS, Organisation};
use super::people::{self, PRACTITIONERS, Person};
use super::phrases::Topic;
use super::random::RandomStream;
use certificate::Profile;
use certificate::State;

/// Use case of a certificate, one per code of `Composition.category`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    DriverGroupI,
    DriverGroupII,
    Occupational,
}

impl Category {
    pub const ALL: [Category; 3] = [Category::DriverGroupI, Category::DriverGroupII, Category::Occupational];

    pub fn code(self) -> &'static str {
        match self {
            Category::DriverGroupI => "driver-group-I",
            Category::DriverGroupII => "driver-group-II",
            Category::Occupational => "occupational",
        }
    }

    pub fn display(self) -> &'static str {
        match self {
            Category::DriverGroupI => "Läbivaatus juhiloa saamiseks või pikendamiseks (A-, AM-, B- ja BE-kategooria)",
            Category::DriverGroupII => "Läbivaatus juhiloa saamiseks või pikendamiseks (C-, CE-, D- ja DE-kategooria)",
            Category::Occupational => "Töötervishoiualane läbivaatus",
        }
    }

    pub fn profile(self) -> Profile {
        match self {
            Category::DriverGroupI | Category::DriverGroupII => Profile::Driver,
            Category::Occupational => Profile::Occupational,
        }
    }
}

/// Health declaration a certificate rests on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Declaration {
    /// `QuestionnaireResponse/<n>`
    Response(u64),
    /// Number of a document outside the system, in `entry.identifier`.
    External(String),
}

/// The practitioner's decision. The negative code for drivers is not public, so only occupational ones are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FitnessDecision {
    Fit,
    FitWithLimits,
    Unfit,
}

/// How many certificates of a corpus share how much time and how many patients.
#[derive(Clone, Copy, Debug)]
pub(super) struct CorpusScale {
    pub seed: u64,
    pub count: u64,
}

/// A certificate as it was planned; its versions differ in the step they show.
#[derive(Clone, Debug)]
pub(super) struct PlannedCertificate {
    pub seed: u64,
    /// From 1, in the order of creation.
    pub number: u64,
    pub category: Category,
    pub patient: u64,
    pub practitioner: u64,
    pub employer: Option<u64>,
    pub decision: FitnessDecision,
    pub shortened: bool,
    /// Months of validity.
    pub months: u32,
    pub steps: &'static [LifeStep],
    ticks: [Tick; STEPS_MAX],
}

/// Patient ids begin here; below are those of the examples.
pub(super) const PATIENT_FIRST: u64 = 1_000;
const DECLARATION_FIRST: u64 = 1_000;

/// Working time in which certificates are created: five years.
const SPAN: u64 = 261 * Tick::WEEK;

/// Certificates that may be created before the next step of one. It bounds how many lives have to be remembered at a time.
const OVERTAKEN_MAX: u64 = 65_536;

/// What a random number is drawn for. Each purpose has its own stream, so that one more draw here changes nothing there.
#[derive(Clone, Copy)]
pub(super) enum DrawPurpose {
    Plan,
    Declaration,
    Contents,
    Issued,
    /// A free text: its topic, its place among those of the topic, and how often the certificate was changed.
    Text(Topic, u8, u8),
}

impl DrawPurpose {
    fn random(self, seed: u64, number: u64) -> RandomStream {
        let purpose = match self {
            DrawPurpose::Plan => 0,
            DrawPurpose::Declaration => 1,
            DrawPurpose::Contents => 2,
            DrawPurpose::Issued => 3,
            DrawPurpose::Text(topic, place, changes) => {
                (1 << 23) | (u64::from(changes) << 16) | (u64::from(place) << 8) | topic as u64
            }
        };
        RandomStream::new(seed, (number << 24) | purpose)
    }
}

impl CorpusScale {
    /// Patients the certificates are spread over by chance: five certificates for each on average.
    pub(super) fn patients(self) -> u64 {
        self.count.div_ceil(5)
    }

    /// Certificate `number`, from 1.
    pub(super) fn certificate(self, number: u64) -> PlannedCertificate {
        let CorpusScale { seed, count } = self;
        let mut random = DrawPurpose::Plan.random(seed, number);
        let slot = (SPAN / count).max(1);
        let created = Tick((number - 1) * slot + random.below(slot));
        let patient = random.below(self.patients());
        let steps = history::draw(&mut random);
        let mut ticks = [created; STEPS_MAX];
        for (at, step) in steps.iter().enumerate().skip(1) {
            let delay = step.delay(&mut random).min(OVERTAKEN_MAX * slot);
            ticks[at] = Tick(ticks[at - 1].0 + delay);
        }
        let category = match random.below(100) {
            0..45 => Category::DriverGroupI,
            45..60 => Category::DriverGroupII,
            _ => Category::Occupational,
        };
        let decision = match (category, random.below(100)) {
            (Category::Occupational, 0..6) => FitnessDecision::Unfit,
            (Category::Occupational, 6..50) => FitnessDecision::FitWithLimits,
            (Category::DriverGroupI | Category::DriverGroupII, 0..30) => FitnessDecision::FitWithLimits,
            _ => FitnessDecision::Fit,
        };
        let shortened = decision != FitnessDecision::Unfit && random.percent(15);
        let years = match category {
            Category::DriverGroupI => 10,
            Category::DriverGroupII => 5,
            Category::Occupational => 1 + random.below(3) as u32,
        };
        let months = if shortened { 12 + random.below(u64::from(12 * years - 11)) as u32 } else { 12 * years };
        PlannedCertificate {
            seed,
            number,
            category,
            patient,
            practitioner: random.skewed(PRACTITIONERS),
            employer: (category == Category::Occupational).then(|| random.skewed(EMPLOYERS)),
            decision,
            shortened,
            months,
            steps,
            ticks,
        }
    }
}

impl PlannedCertificate {
    pub(super) fn random(&self, purpose: DrawPurpose) -> RandomStream {
        purpose.random(self.seed, self.number)
    }

    /// When the step was planned. The stream may stamp it some milliseconds later, so that no two stamps are alike.
    pub(super) fn tick(&self, at: usize) -> Tick {
        self.ticks[at]
    }

    pub(super) fn subject(&self) -> u64 {
        PATIENT_FIRST + self.patient
    }

    pub(super) fn person(&self) -> Person {
        people::patient(self.seed, self.patient)
    }

    pub(super) fn author(&self) -> Person {
        people::practitioner(self.seed, self.practitioner)
    }

    /// A practitioner works in one institution.
    pub(super) fn institution(&self) -> Organisation {
        organisations::institution(self.seed, self.practitioner % INSTITUTIONS)
    }

    pub(super) fn employer(&self) -> Option<Organisation> {
        self.employer.map(|index| organisations::employer(self.seed, index))
    }

    /// One of six rests on a document from outside; one of twenty shares its declaration with the certificate before it.
    pub(super) fn declaration(&self) -> Declaration {
        let mut random = self.random(DrawPurpose::Declaration);
        match random.below(60) {
            0..10 => {
                let prefix = random.pick(&["PABER", "TD", "HDK", "VÄLIS"]);
                let year = self.tick(0).moment().day.civil().0;
                Declaration::External(format!("{prefix}-{year}/{:05}", self.number))
            }
            10..13 => Declaration::Response(DECLARATION_FIRST + self.number.saturating_sub(1)),
            _ => Declaration::Response(DECLARATION_FIRST + self.number),
        }
    }

    /// Whether the version after `at` steps already holds a decision; drafts often wait for one.
    pub(super) fn decided(&self, at: usize) -> bool {
        self.steps[at].state() != State::Draft || at > 0 || self.number.is_multiple_of(2)
    }

    /// How many of the steps up to this one changed the completed certificate.
    pub(super) fn changes(&self, at: usize) -> u8 {
        self.steps[..=at].iter().filter(|step| **step == LifeStep::Change).count() as u8
    }

    /// `Composition.date`: a little before the step that created or completed it reached the service.
    pub(super) fn date(&self, at: usize) -> LocalTime {
        let completed = (1..=at).rev().find(|at| self.steps[*at] == LifeStep::Complete).unwrap_or(0);
        let seconds = self.random(DrawPurpose::Issued).below(120) as u32;
        self.tick(completed).moment().earlier(seconds)
    }

    /// First and last day of the validity, when there is one. A change prolongs it by a month.
    pub(super) fn validity(&self, at: usize) -> Option<(Day, Day)> {
        let valid = self.decided(at) && self.decision != FitnessDecision::Unfit;
        valid.then(|| {
            let first = self.date(at).day;
            let months = if self.shortened { self.months + u32::from(self.changes(at)) } else { self.months };
            (first, first.last_of(months.min(120)))
        })
    }
}

/// The decision in Estonian words.
pub(super) fn decision_text(category: Category, decision: FitnessDecision) -> &'static str {
    match (category == Category::Occupational, decision) {
        (true, FitnessDecision::Fit) => "Sobib töötama",
        (true, FitnessDecision::FitWithLimits) => "Sobib töötama piirangutega",
        (true, FitnessDecision::Unfit) => "Ei sobi töötama",
        (false, FitnessDecision::FitWithLimits) => "Sobib mootorsõidukit juhtima piirangutega",
        (false, _) => "Sobib mootorsõidukit juhtima",
    }
}

//! What the clients of a scenario ask, one request after the other.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use jiff::Timestamp;

use super::client::{BenchConnection, BenchTarget};
use super::load::{Expect, Question, XorShift};
use super::sample::{Dense, LoadSample, STRANGERS_CERTIFICATES, SampleTime};
use super::scenario::{HistorySince, MIXED, RequestKind};
use crate::corpus::Category;

/// Entries of a page when nobody asks for another number.
pub(super) const PAGE_ENTRIES: u64 = 20;

const REASON: &[u8] = br#"{"resourceType":"Parameters","parameter":[{"name":"reason","valueString":"Patsient kaotas ajutiselt teadvuse; otsuse teeb neuroloog."}]}"#;

/// Makes questions about one data set on one server.
#[derive(Clone)]
pub(super) struct Questions {
    pub target: BenchTarget,
    pub sample: Rc<LoadSample>,
    /// Certificates created so far, so that every one gets a patient of its own five.
    created: Rc<Cell<u64>>,
    /// Completed certificates suspended so far.
    suspended: Rc<Cell<usize>>,
    /// Versions written so far beyond the data set, all of them newer.
    pub written: Rc<Cell<u64>>,
    /// Versions imported late, all of them older.
    pub late: Rc<Cell<u64>>,
}

impl Questions {
    pub(super) fn new(target: BenchTarget, sample: Rc<LoadSample>) -> Questions {
        Questions {
            target,
            sample,
            created: Rc::default(),
            suspended: Rc::default(),
            written: Rc::default(),
            late: Rc::default(),
        }
    }

    /// After a restart the server listens elsewhere.
    pub(super) fn moved(&self, target: &BenchTarget) -> Questions {
        Questions { target: target.clone(), ..self.clone() }
    }

    /// How many different things are asked for; none: there is nothing.
    pub(super) fn distinct(&self, kind: RequestKind) -> usize {
        let sample = &self.sample;
        match kind {
            RequestKind::Read | RequestKind::Vread | RequestKind::History | RequestKind::Pdf | RequestKind::Restart => {
                sample.certificates.len()
            }
            RequestKind::Subject | RequestKind::AfterWrite => sample.subjects.len(),
            RequestKind::EmployerPeriod => sample.employers.len(),
            RequestKind::Practitioner => sample.practitioners.len(),
            RequestKind::Dense { .. } | RequestKind::Count => sample.dense.len(),
            RequestKind::TypeHistory { since: HistorySince::Ever, far, .. } => match far {
                true => far_pages(self.versions(), self.written.get()).count(),
                false => usize::from(self.versions() > 0),
            },
            RequestKind::TypeHistory { since, .. } => self.moments(since).len(),
            RequestKind::Mixed => MIXED.iter().map(|part| self.distinct(*part)).min().unwrap_or(0),
            RequestKind::Update => sample.drafts.len(),
            RequestKind::Suspend => sample.completed.len().saturating_sub(self.suspended.get()),
            RequestKind::Create => sample.bodies.len(),
        }
    }

    /// The page that is asked for: the deepest there is when the scenario's lies beyond.
    pub(super) fn page(&self, page: u64) -> u64 {
        let hits = self.sample.dense.iter().map(|dense| dense.hits).min().unwrap_or(0);
        page.min(hits.div_ceil(PAGE_ENTRIES)).max(1)
    }

    /// All versions there are.
    fn versions(&self) -> u64 {
        self.sample.versions + self.written.get() + self.late.get()
    }

    /// Moments that a scenario asks since.
    fn moments(&self, since: HistorySince) -> &[SampleTime] {
        /// Fewer than a page holds would not be a page.
        const RECENT_LEAST: usize = PAGE_ENTRIES as usize;
        let all = &self.sample.moments[..];
        match since {
            HistorySince::Ever => &[],
            HistorySince::Middle => &all[all.len() * 2 / 5..all.len() * 3 / 5],
            HistorySince::Recent => &all[all.len() - (all.len() / 1_000).max(RECENT_LEAST).min(all.len())..],
        }
    }

    /// Takes the number of versions from the server, which must be that of all that were written; a kill leaves some of the last in doubt.
    ///
    /// # Errors
    /// What is wrong with the number.
    pub(super) async fn count_versions(&self, in_doubt: u64) -> Result<(), String> {
        let mut request = Vec::new();
        self.target.get(&mut request, format_args!("/Composition/_history?_count=0"));
        let mut connection = BenchConnection::new(&self.target);
        let answer = connection.send(&request).await.map_err(|error| error.to_string())?;
        let most = self.versions();
        let total = answer.total().ok_or_else(|| answer.words())?;
        self.written.set(total.saturating_sub(self.sample.versions));
        match (most.saturating_sub(in_doubt)..=most).contains(&total) {
            true => Ok(()),
            false => Err(format!("{total} versions are there, but {most} were written, the last {in_doubt} in doubt")),
        }
    }

    /// The question of a scenario.
    pub(super) fn of(&self, kind: RequestKind) -> Rc<Question> {
        let questions = self.clone();
        Rc::new(move |random, out| questions.ask(kind, random, out))
    }

    /// Writes one request. None: there is nothing (more) to ask for.
    pub(super) fn ask(&self, kind: RequestKind, random: &mut XorShift, out: &mut Vec<u8>) -> Option<Expect> {
        let Questions { target, sample, .. } = self;
        // Only where nobody else writes, all that is found is known.
        let total = |hits: u64| if sample.shared { Expect::OK } else { Expect::total(hits) };
        Some(match kind {
            RequestKind::Read | RequestKind::Restart => {
                let known = random.pick(&sample.certificates)?;
                target.get(out, format_args!("/Composition/{}", known.id));
                Expect::OK
            }
            RequestKind::Vread => {
                let known = random.pick(&sample.certificates)?;
                let version = 1 + random.below(known.versions as usize);
                target.get(out, format_args!("/Composition/{}/_history/{version}", known.id));
                Expect::OK
            }
            RequestKind::Pdf => {
                let known = random.pick(&sample.certificates)?;
                target.get(out, format_args!("/Composition/{}/$pdf?role=doctor", known.id));
                Expect::OK
            }
            RequestKind::History => {
                let known = random.pick(&sample.certificates)?;
                target.get(out, format_args!("/Composition/{}/_history", known.id));
                total(known.versions.into())
            }
            RequestKind::Subject | RequestKind::AfterWrite => {
                let subject = random.pick(&sample.subjects)?;
                target.get(out, format_args!("/Composition?subject=Patient/{}", subject.number));
                Expect::total(subject.hits.get())
            }
            RequestKind::EmployerPeriod => {
                let employer = random.pick(&sample.employers)?;
                let (code, day) = (employer.code, employer.day);
                target.get(out, format_args!("/Composition?section-code-text=employer${code}&period={day}"));
                total(employer.hits)
            }
            RequestKind::Practitioner => {
                let practitioner = random.pick(&sample.practitioners)?;
                let name = "author:PractitionerRole.practitioner";
                target.get(out, format_args!("/Composition?{name}=Practitioner/{}", practitioner.code));
                total(practitioner.hits)
            }
            RequestKind::Dense { page, by_date } => {
                let dense = random.pick(&sample.dense)?;
                let (search, sort) = (search(dense), if by_date { "&_sort=-date" } else { "" });
                match self.page(page) {
                    1 => target.get(out, format_args!("{search}{sort}")),
                    page => target.get(out, format_args!("{search}{sort}&_page={page}")),
                }
                Expect::total(dense.hits)
            }
            RequestKind::Count => {
                let dense = random.pick(&sample.dense)?;
                target.get(out, format_args!("{}&_count=0", search(dense)));
                Expect::total(dense.hits)
            }
            RequestKind::TypeHistory { since, far, .. } => {
                let moment = random.pick(self.moments(since));
                let (since, hits) = match moment {
                    Some(moment) => (
                        format!("&_since={}", Timestamp::from_millisecond(moment.milliseconds).ok()?),
                        moment.hits + self.written.get(),
                    ),
                    None => (String::new(), self.versions()),
                };
                let pages = far_pages(hits, self.written.get());
                let page = if far { pages.start + random.below(pages.clone().count()) as u64 } else { 1 };
                target.get(out, format_args!("/Composition/_history?_page={page}{since}"));
                total(hits)
            }
            RequestKind::Mixed => return self.mixed(random, out),
            RequestKind::Update => {
                self.written.set(self.written.get() + 1);
                let draft = random.pick(&sample.drafts)?;
                target.send(out, "PUT", format_args!("/Composition/{}", draft.id), &[&draft.body]);
                Expect::OK
            }
            RequestKind::Suspend => {
                let id = sample.completed.get(self.suspended.replace(self.suspended.get() + 1))?;
                self.written.set(self.written.get() + 1);
                target.send(out, "POST", format_args!("/Composition/{id}/$suspend"), &[REASON]);
                Expect::OK
            }
            RequestKind::Create => {
                self.create(None, out)?;
                Expect::CREATED
            }
        })
    }

    /// Of a hundred requests: 50 reads, 15 searches by subject, 10 by practitioner, 5 dense first pages; 10 creates, 10 updates.
    fn mixed(&self, random: &mut XorShift, out: &mut Vec<u8>) -> Option<Expect> {
        let kind = match random.below(100) {
            0..50 => RequestKind::Read,
            50..65 => RequestKind::Subject,
            65..75 => RequestKind::Practitioner,
            75..80 => {
                // Meanwhile certificates are created, so the total moves.
                self.ask(RequestKind::Dense { page: 1, by_date: false }, random, out)?;
                return Some(Expect::OK);
            }
            80..90 => RequestKind::Create,
            _ => RequestKind::Update,
        };
        self.ask(kind, random, out)
    }

    /// A create, for a patient or for the stranger whose turn it is.
    pub(super) fn create(&self, subject: Option<u64>, out: &mut Vec<u8>) -> Option<()> {
        let number = self.created.replace(self.created.get() + 1);
        self.written.set(self.written.get() + 1);
        let LoadSample { bodies, strangers, .. } = &*self.sample;
        let body = bodies.get(number as usize % bodies.len().max(1))?;
        let stranger = || strangers.start + number / STRANGERS_CERTIFICATES % (strangers.end - strangers.start);
        let subject = subject.unwrap_or_else(stranger).to_string();
        self.target.send(out, "POST", format_args!("/Composition"), &body.parts(&subject));
        Some(())
    }
}

/// Pages in the older half of so many entries but the newest, which were written by the bench itself; the first where there is no other.
fn far_pages(entries: u64, newest: u64) -> Range<u64> {
    let (first, last) = (newest / PAGE_ENTRIES, entries.div_ceil(PAGE_ENTRIES).max(1));
    u64::midpoint(first, last) + 1..last + 1
}

/// Two categories, completed.
pub(super) fn search(dense: &Dense) -> String {
    let [one, other] = dense.categories.map(Category::code);
    format!("/Composition?category={one},{other}&status=final")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_far_back_are_in_the_older_half_of_what_was_there_before() {
        for (entries, newest, pages) in
            [(0, 0, 1..2), (20, 0, 1..2), (21, 0, 2..3), (200, 0, 6..11), (200, 100, 8..11), (201, 200, 11..12)]
        {
            assert_eq!(far_pages(entries, newest), pages, "{entries} {newest}");
        }
    }
}

//! The certificates that permissions reach, as filters on rows.

use super::permissions::{CertificateView, Grant, PermittedAction, RowRestriction};
use super::{OwnPatient, Rights};
use crate::config::ChangeBy;
use certificate::search::filter::{ClassTest, Filter, TokenTest};
use certificate::search::hidden::HiddenCertificates;
use certificate::search::narrow::for_employer;
use certificate::search::parameter::Field;
use certificate::search::row::Row;
use certificate::search::section_code_text;
use certificate::search::term::{Term, TermForm};
use certificate::search::value::SearchToken;
use certificate::{Consent, Id, Openness, State};

/// Which certificates are reached, and how much of each is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// One for each permission; a certificate that one of them reaches is reached.
    parts: Vec<(Filter, CertificateView)>,
}

impl Scope {
    /// Those that are shown in one way, as one condition; nothing when there is no such permission.
    pub fn shown_as(&self, view: CertificateView) -> Option<Filter> {
        let mut of_view: Vec<Filter> =
            self.parts.iter().filter(|(_, of)| *of == view).map(|(filter, _)| filter.clone()).collect();
        match of_view.len() {
            0 => None,
            1 => of_view.pop(),
            _ => Some(Filter::Any(of_view)),
        }
    }

    /// All of them as one condition.
    pub fn filter(&self) -> Filter {
        let mut filters: Vec<Filter> = self.parts.iter().map(|(filter, _)| filter.clone()).collect();
        if filters.len() == 1 { filters.remove(0) } else { Filter::Any(filters) }
    }

    /// How a version is shown; nothing when it is not reached. The most that a permission gives counts.
    pub fn view(&self, id: Id, row: &Row) -> Option<CertificateView> {
        self.parts.iter().filter(|(filter, _)| filter.matches(id, row)).map(|(_, view)| *view).max()
    }

    /// Whether state and category alone decide, so that nothing else has to be known of a version to say how it is shown.
    pub fn is_of_classes(&self) -> bool {
        self.parts.iter().all(|(filter, _)| is_of_classes(filter))
    }

    /// How all of them are shown, where that is the same for all.
    pub fn only_view(&self) -> Option<CertificateView> {
        let (_, first) = self.parts.first()?;
        self.parts.iter().all(|(_, view)| view == first).then_some(*first)
    }

    /// What a search finds within these. `for_employer` is the same search for who has the employer's view, where it differs. The tree
    /// stays as flat as it was.
    pub fn narrow(mut self, asked: Filter, for_employer: Option<Filter>) -> Filter {
        if for_employer.is_none() {
            let filter = if self.parts.len() == 1 { self.parts.remove(0).0 } else { self.filter() };
            return both(asked, filter);
        }
        let views = (self.shown_as(CertificateView::Full), self.shown_as(CertificateView::Employer));
        match (views, for_employer) {
            ((full, Some(employer)), Some(for_employer)) => {
                let employer = both(for_employer, employer);
                full.map_or(employer.clone(), |full| Filter::Any(vec![both(asked, full), employer]))
            }
            _ => both(asked, self.filter()),
        }
    }
}

impl Rights {
    /// The certificates that a permission reaches. `own` is the patient the token is about; nobody where none was asked for.
    pub fn scope(&self, what: PermittedAction, own: &OwnPatient) -> Scope {
        let authors = self.authors().filter(|_| what.is_change());
        let reached = |grant| authors.iter().cloned().fold(self.reached(what, grant, own), both);
        Scope { parts: self.granting(what).map(|grant| (reached(grant), grant.view)).collect() }
    }

    /// How an old version is shown; nothing when it is not reached. One permission must reach both the certificate as it is now and the version:
    /// two that reach one of them each show nothing. Consent and author count as they are now. One that is deleted is only for permissions
    /// without rows. Contract 7.4.
    pub fn view_of_version(
        &self,
        own: &OwnPatient,
        id: Id,
        (current, state): (&Row, State),
        version: &Row,
    ) -> Option<CertificateView> {
        let what = PermittedAction::Read;
        self.granting(what)
            .filter(|grant| state != State::Deleted || grant.rows == RowRestriction::default())
            .filter(|grant| self.reached(what, grant, own).matches(id, current))
            .filter(|grant| self.rows(what, grant, own).matches(id, version))
            .map(|grant| grant.view)
            .max()
    }

    /// The certificates that one permission reaches.
    fn reached(&self, what: PermittedAction, grant: &Grant, own: &OwnPatient) -> Filter {
        let rows = self.rows(what, grant, own);
        self.consent(grant).into_iter().fold(rows, both)
    }

    /// Whether a certificate with this row may be what a change leads to: within the rows of a permission for it. The consent of a
    /// certificate and its author are judged elsewhere.
    pub fn may_lead_to(&self, what: PermittedAction, own: &OwnPatient, row: &Row) -> bool {
        // No condition on rows looks at the id.
        self.granting(what).any(|grant| self.named_rows(what, grant, own).matches(Id::FIRST, row))
    }

    /// The closed certificates that no permission for something reaches. Only for permissions without rows, as those for histories are:
    /// consent and the author alone decide.
    pub fn hidden(&self, what: PermittedAction) -> HiddenCertificates {
        let hides = |consent: Consent, is_own: bool| {
            self.granting(what).all(|grant| {
                let as_doctor = grant.bound_as_doctor && consent.doctor == Openness::Closed && !is_own;
                as_doctor || grant.bound_as_representative && consent.representative == Openness::Closed
            })
        };
        let consents = |is_own| Consent::ALL.into_iter().filter(|consent| hides(*consent, is_own)).collect();
        HiddenCertificates { of_others: consents(false), own: consents(true), hand: self.own_hand_term() }
    }

    /// By whose hand a certificate must be that the caller changes; nothing where by anybody's. Contract 7.7.
    fn authors(&self) -> Option<Filter> {
        match self.change_by {
            ChangeBy::Anyone => None,
            ChangeBy::Institution => {
                let address = self.identity.organization.as_ref().map(|code| ["Organization/", code].concat());
                let of = |address: String| Filter::Term(Term::new(Field::AuthorOrganization, TermForm::Code, &address));
                Some(any(address.map(of).into_iter()))
            }
            ChangeBy::Author => Some(self.own_hand()),
        }
    }

    fn own_hand(&self) -> Filter {
        Filter::Term(self.own_hand_term())
    }

    fn own_hand_term(&self) -> Term {
        let address = ["Practitioner/", &self.identity.person].concat();
        Term::new(Field::AuthorPractitioner, TermForm::Code, &address)
    }

    /// What a permission for some categories leaves to another one by which less is shown of a category: a certificate that has both is not
    /// shown whole for the one.
    fn less_shown(&self, what: PermittedAction, grant: &Grant) -> impl Iterator<Item = Filter> {
        let own = grant.rows.categories.as_deref();
        let others = self.granting(what).filter(move |other| own.is_some() && other.view < grant.view);
        let codes = others.flat_map(|other| other.rows.categories.iter().flatten());
        let codes = codes.filter(move |code| !own.is_some_and(|own| own.contains(code)));
        codes.map(|code| not(self.category(code)))
    }

    fn category(&self, code: &str) -> Filter {
        Filter::Class(ClassTest::Category(TokenTest::SystemCode(self.systems.category.clone(), code.to_owned())))
    }

    /// The rows of a permission, without those of which another one shows less.
    fn rows(&self, what: PermittedAction, grant: &Grant, own: &OwnPatient) -> Filter {
        self.less_shown(what, grant).fold(self.named_rows(what, grant, own), both)
    }

    /// The rows that a permission names.
    fn named_rows(&self, what: PermittedAction, grant: &Grant, own: &OwnPatient) -> Filter {
        let rows = &grant.rows;
        let mut all = Vec::new();
        if let Some(states) = &rows.states {
            all.push(any(states.iter().map(|state| Filter::Class(ClassTest::State(*state)))));
        }
        if let Some(codes) = &rows.categories {
            all.push(any(codes.iter().map(|code| self.category(code))));
            // Whoever may write certificates of one category writes none that is of another one too.
            if what.is_write() {
                all.push(Filter::Class(ClassTest::OnlyCategories(self.systems.category.clone(), codes.clone())));
            }
        }
        if rows.own_patient {
            let subject = |id: &String| Term::new(Field::Subject, TermForm::Code, &["Patient/", id].concat());
            all.push(any(own.ids.iter().map(|id| Filter::Term(subject(id)))));
        }
        if rows.own_employer {
            // Without an institution to stand for, there is nobody whose employer it is.
            let party = self.identity.represented_party.as_deref();
            all.push(any(party.and_then(employer).into_iter()));
        }
        if all.len() == 1 { all.remove(0) } else { Filter::All(all) }
    }

    /// What consent leaves to a permission. Contract 7.7.
    fn consent(&self, grant: &Grant) -> Option<Filter> {
        let doctor = || not(Filter::All(vec![Filter::Class(ClassTest::DoctorClosed), not(self.own_hand())]));
        let representative = || not(Filter::Class(ClassTest::RepresentativeClosed));
        let parts: Vec<Filter> =
            [grant.bound_as_doctor.then(doctor), grant.bound_as_representative.then(representative)]
                .into_iter()
                .flatten()
                .collect();
        (!parts.is_empty()).then_some(Filter::All(parts))
    }
}

fn is_of_classes(filter: &Filter) -> bool {
    match filter {
        Filter::All(parts) | Filter::Any(parts) => parts.iter().all(is_of_classes),
        Filter::Not(part) => is_of_classes(part),
        Filter::Class(ClassTest::DoctorClosed | ClassTest::RepresentativeClosed) => false,
        Filter::Class(_) => true,
        Filter::Ids(_) | Filter::Term(_) | Filter::Time(..) | Filter::Title(_) => false,
    }
}

fn both(one: Filter, other: Filter) -> Filter {
    let parts = |filter| if let Filter::All(parts) = filter { parts } else { vec![filter] };
    let mut all = parts(one);
    all.extend(parts(other));
    Filter::All(all)
}

/// Certificates whose employer has this registry code. Who is named as one within the advice to the employee, which no employer sees, is none.
/// Contract 4.4, 7.4.
fn employer(code: &str) -> Option<Filter> {
    let term = section_code_text::asked(&SearchToken::Code("employer".to_owned()), code)?;
    Some(for_employer("", Filter::Term(term)))
}

fn any(parts: impl Iterator<Item = Filter>) -> Filter {
    let mut parts: Vec<Filter> = parts.collect();
    if parts.len() == 1 { parts.remove(0) } else { Filter::Any(parts) }
}

fn not(filter: Filter) -> Filter {
    Filter::Not(Box::new(filter))
}

//! A filter made ready for one moment: conditions on classes are tables by class number, and whatever can be folded is.

use super::classes::Classes;
use super::overlay::NumberedRow;
use certificate::Id;
use certificate::search::filter::{Filter, TimeTest, TitleTest};
use certificate::search::parameter::TimeField;
use certificate::search::term::Term;

/// A filter that asks no class by its text any more. Trees are as flat as the filter allows, and constants stand only at the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Predicate {
    Always,
    Never,
    All(Vec<Predicate>),
    Any(Vec<Predicate>),
    Not(Box<Predicate>),
    /// Sorted.
    Ids(Vec<Id>),
    Term(Term),
    /// By class number.
    Class(Vec<bool>),
    Time(TimeField, TimeTest),
    Title(TitleTest),
}

impl Predicate {
    /// Makes a filter ready for the classes of a moment.
    pub(super) fn new(filter: &Filter, classes: &Classes) -> Predicate {
        let parts = |parts: &[Filter]| parts.iter().map(|part| Predicate::new(part, classes)).collect();
        match filter {
            Filter::All(filters) => all(parts(filters)),
            Filter::Any(filters) => any(parts(filters)),
            Filter::Not(filter) => match Predicate::new(filter, classes) {
                Predicate::Always => Predicate::Never,
                Predicate::Never => Predicate::Always,
                Predicate::Class(table) => class(table.into_iter().map(|meets| !meets).collect()),
                Predicate::Not(part) => *part,
                part => Predicate::Not(Box::new(part)),
            },
            Filter::Ids(ids) => Predicate::Ids(ids.clone()),
            Filter::Term(term) => Predicate::Term(term.clone()),
            Filter::Class(test) => class(classes.iter().map(|class| test.matches(class)).collect()),
            Filter::Time(field, test) => Predicate::Time(*field, *test),
            Filter::Title(test) => Predicate::Title(test.clone()),
        }
    }

    /// Takes a condition apart that classes decide but for an exception, as rights with one for the author do: classes whose every
    /// certificate meets it, and what is left to ask of the others. None for any other condition.
    pub(super) fn by_classes(&self) -> Option<(Vec<bool>, Predicate)> {
        let (outer, parts) = match self {
            Predicate::Any(parts) => (None, parts),
            Predicate::All(both) => match both.as_slice() {
                [Predicate::Class(outer), Predicate::Any(parts)] => (Some(outer), parts),
                _ => return None,
            },
            _ => return None,
        };
        let is_class = |part: &&Predicate| matches!(part, Predicate::Class(_));
        let Some(Predicate::Class(inner)) = parts.iter().find(is_class) else { return None };
        let within = |number: usize| outer.is_none_or(|outer| outer[number]);
        let whole = inner.iter().enumerate().map(|(number, meets)| *meets && within(number)).collect();
        let others = inner.iter().enumerate().map(|(number, meets)| !*meets && within(number)).collect();
        let exception = any(parts.iter().filter(|part| !is_class(part)).cloned().collect());
        Some((whole, all(vec![class(others), exception])))
    }

    /// Conditions on titles: each of them looks at all there are.
    pub(super) fn title_conditions(&self) -> u64 {
        match self {
            Predicate::All(parts) | Predicate::Any(parts) => parts.iter().map(Predicate::title_conditions).sum(),
            Predicate::Not(part) => part.title_conditions(),
            Predicate::Title(_) => 1,
            _ => 0,
        }
    }

    /// Whether classes alone decide.
    pub(super) fn is_by_class(&self) -> bool {
        matches!(self, Predicate::Always | Predicate::Never | Predicate::Class(_))
    }

    /// Whether the version of certificate `id` that `row` describes meets it. The row's class must be known at the moment.
    pub(super) fn matches(&self, id: Id, row: &NumberedRow) -> bool {
        match self {
            Predicate::Always => true,
            Predicate::Never => false,
            Predicate::All(parts) => parts.iter().all(|part| part.matches(id, row)),
            Predicate::Any(parts) => parts.iter().any(|part| part.matches(id, row)),
            Predicate::Not(part) => !part.matches(id, row),
            Predicate::Ids(ids) => ids.binary_search(&id).is_ok(),
            Predicate::Term(term) => row.row.has(term),
            Predicate::Class(table) => meets(table, row.class),
            Predicate::Time(field, test) => row.row.time(*field).is_some_and(|span| test.matches(span)),
            Predicate::Title(test) => row.row.title.as_deref().is_some_and(|title| test.matches(title)),
        }
    }
}

/// Whether a table says yes to a class.
pub(super) fn meets(table: &[bool], class: u32) -> bool {
    table.get(class as usize).copied().unwrap_or(false)
}

fn class(table: Vec<bool>) -> Predicate {
    match table.iter().any(|meets| *meets) {
        false => Predicate::Never,
        true => Predicate::Class(table),
    }
}

fn all(parts: Vec<Predicate>) -> Predicate {
    let mut parts = merged(parts, |one, other| one && other);
    if parts.contains(&Predicate::Never) {
        return Predicate::Never;
    }
    parts.retain(|part| *part != Predicate::Always);
    // Columns are cheaper to ask than terms, and both than a tree.
    parts.sort_by_key(|part| match part {
        Predicate::Class(_) | Predicate::Ids(_) => 0,
        Predicate::Time(..) => 1,
        Predicate::Term(_) => 2,
        Predicate::Title(_) => 3,
        _ => 4,
    });
    match parts.len() {
        0 => Predicate::Always,
        1 => parts.remove(0),
        _ => Predicate::All(parts),
    }
}

fn any(parts: Vec<Predicate>) -> Predicate {
    let mut parts = merged(parts, |one, other| one || other);
    if parts.contains(&Predicate::Always) {
        return Predicate::Always;
    }
    parts.retain(|part| *part != Predicate::Never);
    match parts.len() {
        0 => Predicate::Never,
        1 => parts.remove(0),
        _ => Predicate::Any(parts),
    }
}

/// Takes the tables of classes together, so that however many conditions there are on them, a row is asked once.
fn merged(parts: Vec<Predicate>, join: impl Fn(bool, bool) -> bool) -> Vec<Predicate> {
    let mut table: Option<Vec<bool>> = None;
    let mut rest = Vec::with_capacity(parts.len());
    for part in parts {
        match (part, &mut table) {
            (Predicate::Class(more), Some(table)) => {
                table.iter_mut().zip(more).for_each(|(meets, more)| *meets = join(*meets, more));
            }
            (Predicate::Class(first), none) => *none = Some(first),
            (part, _) => rest.push(part),
        }
    }
    rest.extend(table.map(class));
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use certificate::search::class::Class;
    use certificate::search::filter::ClassTest;
    use certificate::search::parameter::Field;
    use certificate::search::term::TermForm;
    use certificate::{Consent, Profile, State};

    fn classes() -> Classes {
        let mut classes = Classes::default();
        for state in [State::Draft, State::Completed, State::Revoked] {
            classes.add(
                Class { state, profile: Profile::Driver, consent: Consent::default(), category: vec![], kind: vec![] }
                    .into(),
            );
        }
        classes
    }

    fn state(state: State) -> Filter {
        Filter::Class(ClassTest::State(state))
    }

    fn ready(filter: Filter) -> Predicate {
        Predicate::new(&filter, &classes())
    }

    #[test]
    fn conditions_on_classes_become_one_table() {
        let (draft, completed) = (state(State::Draft), state(State::Completed));
        let either = Filter::Any(vec![draft.clone(), completed.clone()]);
        assert_eq!(ready(either.clone()), Predicate::Class(vec![true, true, false]));
        assert_eq!(ready(Filter::Not(either.clone().into())), Predicate::Class(vec![false, false, true]));
        let one = Filter::All(vec![either, Filter::Not(draft.clone().into())]);
        assert_eq!(ready(one), Predicate::Class(vec![false, true, false]));
        assert_eq!(ready(Filter::All(vec![draft, completed])), Predicate::Never);
        assert_eq!(ready(state(State::Suspended)), Predicate::Never);
    }

    #[test]
    fn a_condition_on_classes_with_an_exception_is_taken_apart() {
        let own = Filter::Term(Term::new(Field::Subject, TermForm::Code, "a"));
        let either = Filter::Any(vec![own.clone(), state(State::Draft)]);
        let left = |table: Vec<bool>| Predicate::All(vec![Predicate::Class(table), ready(own.clone())]);
        assert_eq!(ready(either.clone()).by_classes(), Some((vec![true, false, false], left(vec![false, true, true]))));
        let outer = Filter::Not(Box::new(state(State::Revoked)));
        let both = Filter::All(vec![either.clone(), outer]);
        assert_eq!(ready(both).by_classes(), Some((vec![true, false, false], left(vec![false, true, false]))));
        let same = Filter::All(vec![state(State::Draft), either]);
        assert_eq!(ready(same).by_classes(), Some((vec![true, false, false], Predicate::Never)));
        for other in [own.clone(), Filter::Any(vec![own.clone(), Filter::Ids(vec![])]), state(State::Draft)] {
            assert_eq!(ready(other).by_classes(), None);
        }
    }

    #[test]
    fn constants_stand_only_at_the_root() {
        let term = || Filter::Term(Term::new(Field::Subject, TermForm::Code, "a"));
        let never = || Filter::Any(vec![]);
        let always = || Filter::All(vec![]);
        let only = Predicate::Term(Term::new(Field::Subject, TermForm::Code, "a"));
        assert_eq!((ready(always()), ready(never())), (Predicate::Always, Predicate::Never));
        assert_eq!(ready(Filter::All(vec![term(), always()])), only);
        assert_eq!(ready(Filter::All(vec![term(), never()])), Predicate::Never);
        assert_eq!(ready(Filter::Any(vec![term(), never()])), only);
        assert_eq!(ready(Filter::Any(vec![term(), always()])), Predicate::Always);
        assert_eq!(ready(Filter::Not(Filter::Not(term().into()).into())), only);
        assert_eq!(ready(Filter::Not(never().into())), Predicate::Always);
    }
}

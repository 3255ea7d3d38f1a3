//! Numbers for classes: a certificate's status, profile, category and type as one small number, the same as long as the store lives.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::index::Ranks;
use super::store::StoreError;
use crate::limits::CLASSES_MAX;
use certificate::search::class::{Class, ClassCoding};
use certificate::{Consent, Profile, State};

/// All classes the store has met, by number from 0. Replaced, never changed, so that a view keeps the list of its moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Classes {
    by_number: Vec<Arc<Class>>,
    numbers: HashMap<Arc<Class>, u32>,
    ranks: OnceLock<Ranks>,
    /// Classes that differ in more than state and consent.
    combinations: usize,
}

impl Classes {
    /// Reads the stored classes.
    pub(super) fn read(stored: &[Vec<u8>]) -> Result<Classes, StoreError> {
        let mut classes = Classes::default();
        for bytes in stored {
            let class = read(bytes).ok_or_else(|| StoreError::Damaged("a class is not readable".into()))?;
            classes.add(Arc::new(class));
        }
        Ok(classes)
    }

    /// The class's number and the shared copy of it.
    pub(super) fn find(&self, class: &Class) -> Option<(u32, Arc<Class>)> {
        let number = *self.numbers.get(class)?;
        Some((number, self.by_number[number as usize].clone()))
    }

    /// Gives a new class the next number.
    pub(super) fn add(&mut self, class: Arc<Class>) -> u32 {
        let number = u32::try_from(self.by_number.len()).expect("the bound on classes is far below 2^32");
        self.combinations += usize::from(!self.has_combination(&class));
        self.by_number.push(class.clone());
        self.numbers.insert(class, number);
        self.ranks = OnceLock::new();
        number
    }

    /// Where each class stands in the order of statuses and of categories.
    pub(super) fn ranks(&self) -> &Ranks {
        self.ranks.get_or_init(|| Ranks::new(&self.by_number))
    }

    /// Whether a certificate of this class can be stored: classes are never forgotten, so new ones are bounded. A certificate that is
    /// stored can always move to another state and consent.
    ///
    /// Profiles bind one coding of a category and one of a type, so of those there are few. Any further one is the client's own: all of
    /// them together take at most half of the room.
    pub(super) fn has_room_for(&self, class: &Class) -> bool {
        let room = if has_own_codings(class) { CLASSES_MAX / 2 } else { CLASSES_MAX };
        self.combinations < room || self.numbers.contains_key(class) || self.has_combination(class)
    }

    fn has_combination(&self, class: &Class) -> bool {
        let mut like = class.clone();
        State::ALL.into_iter().any(|state| {
            Consent::ALL.into_iter().any(|consent| {
                (like.state, like.consent) = (state, consent);
                self.numbers.contains_key(&like)
            })
        })
    }

    /// Whether no class has two numbers.
    pub(super) fn is_injective(&self) -> bool {
        self.numbers.len() == self.by_number.len()
    }

    /// Classes in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Class> {
        self.by_number.iter().map(Arc::as_ref)
    }
}

/// Where a class's byte of state holds the consent too. Stores made before there was one have zeros there.
const CONSENT_SHIFT: u32 = 6;

/// The stored form: state with the consent in the upper two bits, profile, then both lists as JSON.
pub(super) fn write(class: &Class) -> Vec<u8> {
    let list = |codings: &[ClassCoding]| -> Codings {
        codings.iter().map(|coding| (coding.system.clone(), coding.code.clone())).collect()
    };
    let mut out = vec![class.state as u8 | class.consent.bits() << CONSENT_SHIFT, class.profile as u8];
    serde_json::to_writer(&mut out, &(list(&class.category), list(&class.kind)))
        .expect("writing to memory does not fail");
    out
}

type Codings = Vec<(Option<Box<str>>, Option<Box<str>>)>;

fn read(bytes: &[u8]) -> Option<Class> {
    let (head, lists) = bytes.split_first_chunk::<2>()?;
    let (category, kind): (Codings, Codings) = serde_json::from_slice(lists).ok()?;
    let list = |codings: Codings| codings.into_iter().map(|(system, code)| ClassCoding { system, code }).collect();
    Some(Class {
        state: State::from_byte(head[0] & ((1 << CONSENT_SHIFT) - 1))?,
        consent: Consent::from_bits(head[0] >> CONSENT_SHIFT)?,
        profile: Profile::from_byte(head[1])?,
        category: list(category),
        kind: list(kind),
    })
}

/// Whether a category or type has more codings than the one that profiles bind.
fn has_own_codings(class: &Class) -> bool {
    class.category.len() > 1 || class.kind.len() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_keeps_its_number_over_a_restart() {
        let class = |state, code: Option<&str>| Class {
            state,
            profile: Profile::Driver,
            consent: Consent::default(),
            category: vec![ClassCoding { system: Some("s\"".into()), code: code.map(Into::into) }],
            kind: vec![],
        };
        let closed = Class { consent: Consent::ALL[3], ..class(State::Completed, None) };
        let all = [class(State::Draft, Some("õ")), class(State::Completed, None), closed];
        let stored: Vec<Vec<u8>> = all.iter().map(write).collect();
        let classes = Classes::read(&stored).unwrap();
        assert_eq!(classes.find(&all[1]).map(|(number, _)| number), Some(1));
        assert_eq!(classes.find(&all[2]).map(|(number, _)| number), Some(2));
        assert_eq!(classes.find(&class(State::Revoked, None)), None);
        assert_eq!(stored[1][0], State::Completed as u8, "as before there was consent");
        assert!(Classes::read(&[vec![1]]).is_err());
    }

    #[test]
    fn combinations_are_bounded_but_every_state_of_a_known_one_has_room() {
        let class = |state, code: usize| Class {
            state,
            profile: Profile::Driver,
            consent: Consent::default(),
            category: vec![ClassCoding { system: None, code: Some(code.to_string().into()) }],
            kind: vec![],
        };
        let mut classes = Classes::default();
        for code in 0..CLASSES_MAX {
            assert!(classes.has_room_for(&class(State::Draft, code)));
            classes.add(Arc::new(class(State::Draft, code)));
        }
        assert!(!classes.has_room_for(&class(State::Draft, CLASSES_MAX)));
        assert!(classes.has_room_for(&class(State::Draft, 0)));
        assert!(classes.has_room_for(&class(State::Revoked, 0)));
        assert!(classes.has_room_for(&Class { consent: Consent::ALL[1], ..class(State::Revoked, 0) }));
        classes.add(Arc::new(Class { consent: Consent::ALL[2], ..class(State::Draft, 0) }));
        classes.add(Arc::new(class(State::Revoked, 0)));
        assert!(!classes.has_room_for(&class(State::Revoked, CLASSES_MAX)));
    }

    #[test]
    fn codings_of_clients_leave_room_for_those_of_the_profiles() {
        let coding = |code: usize| ClassCoding { system: None, code: Some(code.to_string().into()) };
        let class = |codes: &[usize]| Class {
            state: State::Draft,
            profile: Profile::Driver,
            consent: Consent::default(),
            category: codes.iter().map(|code| coding(*code)).collect(),
            kind: vec![],
        };
        let mut classes = Classes::default();
        let mut code = 1;
        while classes.has_room_for(&class(&[0, code])) {
            classes.add(Arc::new(class(&[0, code])));
            code += 1;
        }
        assert_eq!(code - 1, CLASSES_MAX / 2);
        assert!(classes.has_room_for(&class(&[0])) && classes.has_room_for(&class(&[7])));
        assert!(classes.has_room_for(&class(&[0, 1])), "one that is known");
    }
}

//! Patients and practitioners, their names and personal codes.

use super::calendar::Day;
use super::random::RandomStream;
use crate::registry::names::{FAMILY, FEMALE, MALE};
use crate::registry::{PersonalCode, Sex};

/// A person who does not exist. A personal code cannot be made that is valid and surely nobody's, so nothing made here may be
/// sent to a real registry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Person {
    pub code: PersonalCode,
    pub birth: Day,
    pub given: &'static str,
    pub family: &'static str,
}

/// Patient by number; codes of different patients differ.
pub(super) fn patient(seed: u64, index: u64) -> Person {
    person(seed, 1, index, Day::of(1940, 1, 1), Day::of(2001, 12, 31))
}

/// Practitioner by number, from 0 to [`PRACTITIONERS`]; codes of different practitioners differ.
pub(super) fn practitioner(seed: u64, index: u64) -> Person {
    person(seed, 2, index, Day::of(1955, 1, 1), Day::of(1992, 12, 31))
}

pub(super) const PRACTITIONERS: u64 = 4_000;

fn person(seed: u64, group: u64, index: u64, first: Day, last: Day) -> Person {
    // Codes are numbered through and the people spread over them by a factor that shares no divisor with their number, so that
    // no two have the same.
    const SERIALS: u64 = 1_000;
    const SPREAD: u64 = 982_451_653;
    let days = (last.0 - first.0 + 1) as u64;
    let codes = 2 * days * SERIALS;
    let offset = RandomStream::new(seed, group).below(codes);
    let place = (index % codes * SPREAD + offset) % codes;
    let birth = Day(first.0 + (place / 2 % days) as i32);
    let (sex, names) = if place.is_multiple_of(2) { (Sex::Male, MALE) } else { (Sex::Female, FEMALE) };
    let serial = (place / 2 / days) as u16;
    let code = PersonalCode::new(sex, birth.date(), serial).expect("births are of our time and serials below 1000");
    let mut random = RandomStream::new(seed, (index << 8) | 0x10 | group);
    Person { code, birth, given: random.pick(names), family: random.pick(FAMILY) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn codes_are_valid_and_tell_the_sex_and_birth_of_the_person() {
        for index in 0..5_000 {
            for person in [patient(7, index), practitioner(7, index % PRACTITIONERS)] {
                let code = PersonalCode::parse(&person.code.to_string()).unwrap();
                assert_eq!(code.birth_date(), person.birth.date());
                let names = if code.sex() == Sex::Male { MALE } else { FEMALE };
                assert!(names.contains(&person.given), "{} {code}", person.given);
            }
        }
    }

    #[test]
    fn no_two_people_share_a_code() {
        let codes: HashSet<PersonalCode> = (0..100_000).map(|index| patient(3, index).code).collect();
        assert_eq!(codes.len(), 100_000);
        let codes: HashSet<PersonalCode> = (0..PRACTITIONERS).map(|index| practitioner(3, index).code).collect();
        assert_eq!(codes.len() as u64, PRACTITIONERS);
    }

    #[test]
    fn both_sexes_and_both_centuries_are_there() {
        let firsts: HashSet<char> =
            (0..10_000).filter_map(|index| patient(1, index).code.to_string().chars().next()).collect();
        assert_eq!(firsts, HashSet::from(['3', '4', '5', '6']));
    }
}

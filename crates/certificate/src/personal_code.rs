//! Estonian personal codes (isikukood): sex, day of birth, serial number and a check digit in eleven digits.
//!
//! `37605030299`: century and sex (3), year (76), month (05), day (03), serial (029), check digit (9).
//!
//! Source: standard EVS 585:2007.

use std::fmt;

use jiff::civil::Date;

/// A personal code, as ASCII, whose digits, date and check digit are right. Whether such a person lives is another question.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PersonalCode([u8; DIGITS]);

/// The eleven digits of a personal code, without the country `EE` that X-Road and tokens write in front of it. The check digit is not compared.
pub fn digits(text: &str) -> Option<&str> {
    let digits = text.strip_prefix("EE").unwrap_or(text);
    (digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}

/// Sex of a person, as the first digit of the personal code states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sex {
    /// The first digit is odd.
    Male,
    /// The first digit is even.
    Female,
}

/// Why a text is no personal code. Later ones are only looked for where the earlier ones are absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonalCodeError {
    /// A character that is no digit; `position` counts from 1.
    NotADigit {
        /// Position of the first such character, counted in characters.
        position: usize,
    },
    /// Not eleven digits.
    Length {
        /// Number of digits found.
        characters: usize,
    },
    /// The first digit stands for no century (it has to be 1 to 8).
    Century {
        /// The first digit: 0 or 9.
        digit: u8,
    },
    /// Digits 2 to 7 are no day of the calendar.
    BirthDate,
    /// The last digit is not the one the other ten lead to.
    CheckDigit {
        /// The digit that the other ten lead to, 0 to 9.
        expected: u8,
        /// The last digit, 0 to 9.
        found: u8,
    },
}

const DIGITS: usize = 11;

/// Serial numbers of one day and century go from 0 to here.
pub const SERIAL_MAX: u16 = 999;

impl PersonalCode {
    /// Reads a personal code. White space is not trimmed.
    ///
    /// # Errors
    /// The first thing that is wrong, as [`PersonalCodeError`] lists them.
    pub fn parse(text: &str) -> Result<PersonalCode, PersonalCodeError> {
        // The position of a wrong character is worth more than the length of a text full of them.
        if let Some(position) = text.chars().position(|character| !character.is_ascii_digit()) {
            return Err(PersonalCodeError::NotADigit { position: position + 1 });
        }
        let digits: [u8; DIGITS] =
            text.as_bytes().try_into().map_err(|_| PersonalCodeError::Length { characters: text.len() })?;
        let code = PersonalCode(digits);
        if !(1..=8).contains(&code.digit(0)) {
            return Err(PersonalCodeError::Century { digit: code.digit(0) });
        }
        code.date().ok_or(PersonalCodeError::BirthDate)?;
        let (expected, found) = (check_digit(&digits[..DIGITS - 1]), code.digit(DIGITS - 1));
        if expected != found {
            return Err(PersonalCodeError::CheckDigit { expected, found });
        }
        Ok(code)
    }

    /// The code of a person by sex, day of birth and serial number (0 to [`SERIAL_MAX`]).
    ///
    /// Nothing for a year outside 1800 to 2199 or a serial number that is too large.
    pub fn new(sex: Sex, birth: Date, serial: u16) -> Option<PersonalCode> {
        let century = u8::try_from((birth.year() - 1800).div_euclid(100)).ok().filter(|century| *century < 4)?;
        if serial > SERIAL_MAX {
            return None;
        }
        let [year, month, day] = [birth.year() % 100, birth.month().into(), birth.day().into()].map(i16::unsigned_abs);
        let first = 2 * u16::from(century) + if sex == Sex::Male { 1 } else { 2 };
        let mut digits =
            [first, year / 10, year, month / 10, month, day / 10, day, serial / 100, serial / 10, serial, 0]
                .map(|number| b'0' + (number % 10) as u8);
        digits[DIGITS - 1] = b'0' + check_digit(&digits[..DIGITS - 1]);
        Some(PersonalCode(digits))
    }

    /// The eleven digits.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits are ASCII")
    }

    /// The sex that the first digit states.
    pub fn sex(self) -> Sex {
        if self.digit(0) % 2 == 1 { Sex::Male } else { Sex::Female }
    }

    /// The day of birth; the first digit states its century.
    pub fn birth_date(self) -> Date {
        self.date().expect("a code is only made with a day of the calendar")
    }

    fn date(self) -> Option<Date> {
        let two = |at: usize| (10 * self.digit(at) + self.digit(at + 1)) as i8;
        let century = 1800 + 100 * i16::from((self.digit(0) - 1) / 2);
        Date::new(century + i16::from(two(1)), two(3), two(5)).ok()
    }

    fn digit(self, at: usize) -> u8 {
        self.0[at] - b'0'
    }
}

/// Whether a text is a registry code of an Estonian institution or company: eight digits, the last one a check digit.
pub fn is_registry_code(text: &str) -> bool {
    let is_digits = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits && check_digit(&text.as_bytes()[..7]) == text.as_bytes()[7] - b'0'
}

/// The check digit of Estonian personal codes (10 digits before it) and registry codes of institutions (7); digits are ASCII.
///
/// Weights 1, 2, … 9, 1; where the sum leaves 10 over 11, a second round with 3, 4, … 9, 1, 2, 3; where that leaves 10 too, 0.
pub fn check_digit(digits: &[u8]) -> u8 {
    let round = |first: usize| {
        let weighted =
            digits.iter().enumerate().map(|(at, digit)| usize::from(*digit - b'0') * ((at + first - 1) % 9 + 1));
        (weighted.sum::<usize>() % 11) as u8
    };
    [round(1), round(3)].into_iter().find(|rest| *rest < 10).unwrap_or(0)
}

impl fmt::Display for PersonalCode {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl fmt::Debug for PersonalCode {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "PersonalCode({self})")
    }
}

impl fmt::Display for PersonalCodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            PersonalCodeError::NotADigit { position } => write!(formatter, "character {position} is not a digit"),
            PersonalCodeError::Length { characters } => {
                write!(formatter, "a personal code has {DIGITS} digits, not {characters}")
            }
            PersonalCodeError::Century { digit } => {
                write!(formatter, "the first digit is {digit}, but only 1 to 8 stand for a century and sex")
            }
            PersonalCodeError::BirthDate => formatter.write_str("digits 2 to 7 are not a day of the calendar"),
            PersonalCodeError::CheckDigit { expected, found } => {
                write!(formatter, "the check digit is {found}, but should be {expected}")
            }
        }
    }
}

impl std::error::Error for PersonalCodeError {}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn sex_and_day_of_birth_are_read_from_the_digits() {
        for (text, sex, birth) in [
            ("37605030299", Sex::Male, date(1976, 5, 3)),
            ("49403136515", Sex::Female, date(1994, 3, 13)),
            ("36109255737", Sex::Male, date(1961, 9, 25)),
        ] {
            let code = PersonalCode::parse(text).unwrap();
            assert_eq!((code.sex(), code.birth_date()), (sex, birth), "{text}");
            assert_eq!(code.to_string(), text);
        }
    }

    #[test]
    fn the_second_round_of_weights_counts_when_the_first_leaves_ten() {
        // 3·1 + 9·2 + 9·3 + 1·4 + 2·5 + 3·6 + 1·7 = 87 leaves 10; 3·3 + 9·4 + 9·5 + 1·6 + 2·7 + 3·8 + 1·9 = 143 leaves 0.
        assert!(PersonalCode::parse("39912310000").is_ok());
        assert_eq!(PersonalCode::new(Sex::Male, date(1999, 12, 31), 0).unwrap().to_string(), "39912310000");
    }

    #[test]
    fn a_check_digit_is_zero_when_both_rounds_leave_ten() {
        // 3·1 + 7·2 + 6·3 + 0·4 + 5·5 + 0·6 + 3·7 + 0·8 + 9·9 + 2·1 = 164 leaves 10;
        // 3·3 + 7·4 + 6·5 + 0·6 + 5·7 + 0·8 + 3·9 + 0·1 + 9·2 + 2·3 = 153 leaves 10 too.
        let code = PersonalCode::new(Sex::Male, date(1976, 5, 3), 92).unwrap();
        assert_eq!(code.as_str(), "37605030920");
        assert_eq!(PersonalCode::parse("37605030920"), Ok(code));
    }

    #[test]
    fn what_is_wrong_is_named() {
        use PersonalCodeError::*;
        for (text, error) in [
            ("", Length { characters: 0 }),
            ("3760503029", Length { characters: 10 }),
            ("376050302990", Length { characters: 12 }),
            ("3760503029O", NotADigit { position: 11 }),
            (" 37605030299", NotADigit { position: 1 }),
            ("õ7605030299", NotADigit { position: 1 }),
            ("٣7605030299", NotADigit { position: 1 }),
            ("07605030299", Century { digit: 0 }),
            ("97605030299", Century { digit: 9 }),
            ("37613030299", BirthDate),
            ("37602300299", BirthDate),
            ("37600030299", BirthDate),
            ("37605030298", CheckDigit { expected: 9, found: 8 }),
            ("39912310001", CheckDigit { expected: 0, found: 1 }),
            // The patient of the public guide's examples.
            ("39406240016", CheckDigit { expected: 5, found: 6 }),
        ] {
            assert_eq!(PersonalCode::parse(text), Err(error), "{text:?}");
        }
    }

    #[test]
    fn every_century_comes_back_from_its_digit() {
        for (birth, sex, first) in [
            (date(1800, 1, 1), Sex::Male, '1'),
            (date(1899, 12, 31), Sex::Female, '2'),
            (date(1900, 1, 1), Sex::Male, '3'),
            (date(2000, 2, 29), Sex::Female, '6'),
            (date(2199, 12, 31), Sex::Female, '8'),
        ] {
            let code = PersonalCode::new(sex, birth, 7).unwrap();
            assert!(code.to_string().starts_with(first), "{code}");
            assert_eq!((PersonalCode::parse(&code.to_string()).unwrap().birth_date(), code.sex()), (birth, sex));
        }
        assert_eq!(PersonalCode::new(Sex::Male, date(1799, 12, 31), 0), None);
        assert_eq!(PersonalCode::new(Sex::Male, date(2200, 1, 1), 0), None);
        assert_eq!(PersonalCode::new(Sex::Male, date(1976, 5, 3), SERIAL_MAX + 1), None);
    }

    #[test]
    fn registry_codes_of_institutions_use_the_same_check_digit() {
        for code in ["16978044", "90006399"] {
            assert!(is_registry_code(code), "{code}");
        }
        for code in ["", "16978045", "1697804", "169780440", "1697804x", " 16978044", "õõõõ"] {
            assert!(!is_registry_code(code), "{code}");
        }
    }
}

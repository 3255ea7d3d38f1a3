//! What a printed certificate says in words of the service's own.

use certificate::State;
use fhir::outcome::Language;

/// The words of one language.
pub(super) struct PdfWords {
    pub certificate: &'static str,
    pub number: &'static str,
    pub person: &'static str,
    pub name: &'static str,
    pub personal_code: &'static str,
    pub born: &'static str,
    pub patient: &'static str,
    pub facts: &'static str,
    pub state: &'static str,
    pub version: &'static str,
    pub issuer: &'static str,
    pub verification: &'static str,
    pub role: &'static str,
    pub scan: &'static str,
    pub address: &'static str,
    pub entry: &'static str,
    pub code: &'static str,
    pub attached: &'static str,
    pub since: &'static str,
    pub of_sheet: pdf::Words,
    states: [(&'static str, &'static str); 4],
    /// In the order of [`ROLES`].
    roles: [&'static str; ROLES.len()],
}

/// The roles of the table that ships.
const ROLES: [&str; 16] = [
    "doctor",
    "midwife",
    "nurse",
    "clinical-psychologist",
    "speech-therapist",
    "physiotherapist",
    "student",
    "specialist",
    "receptionist",
    "patient",
    "legal-representative",
    "consent-representative",
    "patient-limited",
    "consent-representative-limited",
    "gov-official",
    "org-legal-representative",
];

impl PdfWords {
    pub(super) fn of(language: Language) -> &'static PdfWords {
        match language {
            Language::Estonian => &ESTONIAN,
            Language::English => &ENGLISH,
        }
    }

    /// A role in words with its code: `arst (doctor)`. One of a table of somebody's own is its code.
    pub(super) fn role(&self, code: &str) -> String {
        let words = ROLES.iter().position(|known| *known == code).map(|at| self.roles[at]);
        words.filter(|words| *words != code).map_or_else(|| code.to_owned(), |words| format!("{words} ({code})"))
    }

    /// A state in a word, and what it means. A tombstone has no document.
    pub(super) fn of_state(&self, state: State) -> (&'static str, &'static str) {
        match state {
            State::Draft => self.states[0],
            State::Completed => self.states[1],
            State::Suspended => self.states[2],
            State::Revoked | State::Deleted => self.states[3],
        }
    }
}

const ESTONIAN: PdfWords = PdfWords {
    certificate: "Tervisetõend",
    number: "nr",
    person: "Isik",
    name: "Nimi",
    personal_code: "Isikukood",
    born: "Sünniaeg",
    patient: "Patsient",
    facts: "Tõend",
    state: "Olek",
    version: "Versioon",
    issuer: "Väljastaja",
    verification: "Kontrollimine",
    role: "Koostatud rollile",
    scan: "Ruutkoodis on selle versiooni aadress ja tema päevikukirje räsi. Aadress avaneb sellele, kellel on õigus tõendit näha; \
           kirjet saab võrrelda teenuse konsoolis.",
    address: "Aadress",
    entry: "Päevikukirje",
    code: "Ruutkood tõendi kontrollimiseks: aadress ja päevikukirje räsi",
    attached: "Tõend masinloetaval kujul (FHIR R5 Composition), nagu see roll seda näeb",
    since: "Alates",
    of_sheet: pdf::Words {
        page: "Lk {page}/{pages}",
        no_glyph: "□ tähistab märki, mida selles kirjas ei ole; täielik tekst on manuses composition.json.",
        left_out: "Ülejäänu ei mahtunud siia; kogu sisu on manuses composition.json.",
    },
    states: [
        ("Mustand", "Tervisetõend veel ei kehti."),
        ("Lõpetatud", "Tervisetõend on välja antud."),
        ("Peatatud", "Tervisetõend praegu ei kehti."),
        ("Tühistatud", "Tervisetõend ei kehti."),
    ],
    roles: [
        "arst",
        "ämmaemand",
        "õde",
        "kliiniline psühholoog",
        "logopeed",
        "füsioterapeut",
        "üliõpilane",
        "spetsialist",
        "registraator",
        "patsient",
        "seaduslik esindaja",
        "volitatud esindaja",
        "patsient, piiratud vaade",
        "volitatud esindaja, piiratud vaade",
        "ametnik",
        "tööandja esindaja",
    ],
};

const ENGLISH: PdfWords = PdfWords {
    certificate: "Health certificate",
    number: "No.",
    person: "Person",
    name: "Name",
    personal_code: "Personal code",
    born: "Date of birth",
    patient: "Patient",
    facts: "Certificate",
    state: "State",
    version: "Version",
    issuer: "Issuer",
    verification: "Verification",
    role: "Made for the role",
    scan: "The QR code holds the address of this version and the hash of its entry in the journal. The address opens to those who may see \
           the certificate; the entry can be compared in the console of the service.",
    address: "Address",
    entry: "Journal entry",
    code: "QR code for verification: address and hash of the journal entry",
    attached: "The certificate for machines (FHIR R5 Composition), as this role may see it",
    since: "Since",
    of_sheet: pdf::Words {
        page: "Page {page} of {pages}",
        no_glyph: "□ stands for a character that this typeface does not have; the full text is in the attached composition.json.",
        left_out: "There is more than fits here; everything is in the attached composition.json.",
    },
    states: [
        ("Draft", "The certificate is not valid yet."),
        ("Completed", "The certificate has been issued."),
        ("Suspended", "The certificate is not valid at present."),
        ("Revoked", "The certificate is not valid."),
    ],
    roles: [
        "doctor",
        "midwife",
        "nurse",
        "clinical psychologist",
        "speech therapist",
        "physiotherapist",
        "student",
        "specialist",
        "receptionist",
        "patient",
        "legal representative",
        "representative by consent",
        "patient, limited",
        "representative by consent, limited",
        "official",
        "representative of the employer",
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::rights::{BUILT_IN, permissions};

    #[test]
    fn every_role_of_the_table_that_ships_has_words() {
        let known = permissions::read(BUILT_IN).unwrap();
        let mut roles = ROLES;
        roles.sort_unstable();
        assert_eq!(roles.as_slice(), known.keys().collect::<Vec<_>>());
        assert_eq!(PdfWords::of(Language::Estonian).role("doctor"), "arst (doctor)");
        let english = PdfWords::of(Language::English);
        assert_eq!(["auditor", "nurse"].map(|role| english.role(role)), ["auditor", "nurse"]);
    }
}

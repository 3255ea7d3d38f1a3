//! What a search parameter is, and the table of those of certificates. Query parser, row, SearchParameter resources and
//! CapabilityStatement read it, so a parameter is added in one line.

use Modifier::{Contains, Exact, Identifier, Missing, Not, Patient};

/// One search parameter of a resource type; `target` says what it looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter<L = RowTarget> {
    /// As sent, without modifier.
    pub name: &'static str,
    /// The field that values are compared with.
    pub target: L,
    /// The modifiers it takes.
    pub modifiers: &'static [Modifier],
    /// Whom or what its values name.
    pub names: Named,
    /// The FHIR R5 definition: last part of its canonical address, behind `http://hl7.org/fhir/SearchParameter/`.
    pub definition: &'static str,
    /// For the CapabilityStatement.
    pub documentation: &'static str,
}

/// What a parameter of a resource type looks at.
pub trait ParameterTarget: Copy + 'static {
    /// FHIR type of the parameter.
    fn kind(self) -> &'static str;
}

/// What of a row a parameter looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowTarget {
    /// Id of the certificate.
    Id,
    /// State of the certificate, asked for as `Composition.status`.
    State,
    /// `Composition.category`
    Category,
    /// `Composition.type`
    Kind,
    /// Terms of this field, by `code`, `system|code`, `|code` or `system|`.
    Token(Field),
    /// `target` is the type of resource that a bare id means; `identifier` answers the modifier of that name.
    Reference {
        /// Field of the reference itself.
        field: Field,
        /// Resource type, such as `Patient`.
        target: &'static str,
        /// Field of `Reference.identifier`; nothing where the parameter does not take the modifier.
        identifier: Option<Field>,
    },
    /// A time, compared as a span.
    Time(TimeField),
    /// `Composition.title`
    Title,
    /// Code and text of a section, at any depth.
    SectionCodeText,
    /// Not at the row: at the patient registry, which gives the subjects to look for. Contract 4.6.
    Registry,
}

/// What a term says something about. The numbers are part of the stored row's format.
///
/// Source: specification 4.6; Contract 4.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Field {
    /// `Composition.subject`, without version.
    Subject = 1,
    /// `Composition.subject.identifier`.
    SubjectIdentifier = 2,
    /// `PractitionerRole.practitioner` of the author.
    AuthorPractitioner = 3,
    /// `PractitionerRole.organization` of the author.
    AuthorOrganization = 4,
    /// `Composition.section.entry`, at any depth.
    Entry = 5,
    /// `Composition.section.entry.identifier`, at any depth.
    EntryIdentifier = 6,
    /// `Composition.identifier`.
    Identifier = 7,
    /// Code and text of a section, at any depth.
    SectionCodeText = 8,
    /// What stands as `Entry` in the advice to the employee and nowhere else in the certificate. Contract 7.4, 7.5.
    AdviceEntry = 9,
    /// The same of `EntryIdentifier`.
    AdviceEntryIdentifier = 10,
    /// The same of `SectionCodeText`.
    AdviceSectionCodeText = 11,
}

/// A time of a row that a search can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeField {
    /// `meta.lastUpdated`
    LastUpdated,
    /// `Composition.date`
    Date,
    /// `Composition.event.period`, the validity.
    Period,
}

/// Contract 4.7. A missing value comes last in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SortKey {
    /// Beginning of `Composition.date`.
    Date,
    /// `meta.lastUpdated`
    LastUpdated,
    /// Beginning of the validity; one that is open to the past counts as missing.
    Period,
    /// Status code, by alphabet.
    Status,
    /// Code of the first coding, by alphabet.
    Category,
    /// As a number.
    Id,
    /// Estonian alphabet, case ignored.
    Title,
}

/// What may stand behind the name, after a colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modifier {
    /// `:not`, for what does not have the value.
    Not,
    /// `:missing`, with the value `true` or `false`.
    Missing,
    /// `:identifier`, for `Reference.identifier`.
    Identifier,
    /// `:exact`, for the whole text as written.
    Exact,
    /// `:contains`, for a part of the text.
    Contains,
    /// The type of what a reference points to.
    Patient,
}

/// Whom or what the values of a parameter name. The audit trail tells it of every request, also of a refused one (Contract 7.8), and
/// values that may tell who a person is stay out of addresses we make (Contract 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Nobody: they are codes, times or words.
    Nobody,
    /// Patients, by an identifier such as a personal code.
    PatientIdentifier,
    /// Patients, by id; with `:identifier` by an identifier.
    Patient,
    /// Health workers, by personal code.
    Practitioner,
    /// Institutions, by registry code.
    Organization,
    /// The employer in the section of that code, by registry code.
    Employer,
    /// Certificates, by id.
    Certificate,
    /// Certificates, by number.
    CertificateNumber,
    /// Documents beside the certificate, such as a health declaration, by reference or number.
    Document,
    /// What an audit event concerns: certificates, patients, institutions.
    Entity,
    /// Participants of an audit event: persons, institutions, roles.
    Agent,
}

const SUBJECT: RowTarget =
    RowTarget::Reference { field: Field::Subject, target: "Patient", identifier: Some(Field::SubjectIdentifier) };
const PRACTITIONER: RowTarget =
    RowTarget::Reference { field: Field::AuthorPractitioner, target: "Practitioner", identifier: None };
const ORGANIZATION: RowTarget =
    RowTarget::Reference { field: Field::AuthorOrganization, target: "Organization", identifier: None };
const ENTRY: RowTarget = RowTarget::Reference {
    field: Field::Entry,
    target: "QuestionnaireResponse",
    identifier: Some(Field::EntryIdentifier),
};
const TOKEN: &[Modifier] = &[Not, Missing];

/// Every search parameter there is.
///
/// Source: specification 4.6, rows in its order; then those of Contract 4.2.
#[rustfmt::skip]
pub const PARAMETERS: &[Parameter] = &[
    row("subject:Patient.identifier", RowTarget::Registry, &[], Named::PatientIdentifier, "Patient-identifier",
        "Patient identifier, `system|value`, looked up in the patient registry; `subject` is preferred where possible"),
    row("subject", SUBJECT, &[Not, Missing, Patient, Identifier], Named::Patient, "Composition-subject",
        "Patient id in the patient registry (preferred way to identify the patient), `Patient/<patient_id>`; `subject:identifier` looks at the identifier in the certificate itself"),
    row("patient", SUBJECT, &[Not, Missing, Patient, Identifier], Named::Patient, "clinical-patient",
        "The same as `subject`"),
    row("status", RowTarget::State, TOKEN, Named::Nobody, "Composition-status",
        "Certificate status: preliminary, final, cancelled (suspended), entered-in-error (revoked)"),
    row("category", RowTarget::Category, TOKEN, Named::Nobody, "Composition-category",
        "Use case of the certificate, for example `driver-group-I`"),
    row("section-code-text", RowTarget::SectionCodeText, &[], Named::Employer, "Composition-section-code-text",
        "Code and whole text of a section at any depth; the employer is `employer$<registry_code>`"),
    row("author:PractitionerRole.practitioner", PRACTITIONER, TOKEN, Named::Practitioner, "PractitionerRole-practitioner",
        "Author's personal code, `Practitioner/<personal_code>`"),
    row("author:PractitionerRole.organization", ORGANIZATION, TOKEN, Named::Organization, "PractitionerRole-organization",
        "Author's institution, `Organization/<registry_code>`"),
    row("entry", ENTRY, &[Not, Missing, Identifier], Named::Document, "Composition-entry",
        "Health declaration, `QuestionnaireResponse/<id>`; `entry:identifier` takes the number of an external declaration"),
    row("period", RowTarget::Time(TimeField::Period), &[Missing], Named::Nobody, "Composition-period",
        "Whether the date lies inside the validity period, both end days included, or the instant of a value with a time; prefixes eq, ge, gt, le, lt, sa, eb"),
    row("_id", RowTarget::Id, TOKEN, Named::Certificate, "Resource-id", "Certificate id"),
    row("_lastUpdated", RowTarget::Time(TimeField::LastUpdated), &[Missing], Named::Nobody, "Resource-lastUpdated",
        "When the current version was made; prefixes eq, ne, gt, lt, ge, le, sa, eb, ap"),
    row("identifier", RowTarget::Token(Field::Identifier), TOKEN, Named::CertificateNumber, "clinical-identifier",
        "Certificate number"),
    row("date", RowTarget::Time(TimeField::Date), &[Missing], Named::Nobody, "clinical-date",
        "Creation date and time of the certificate; prefixes eq, ne, gt, lt, ge, le, sa, eb, ap"),
    row("type", RowTarget::Kind, TOKEN, Named::Nobody, "clinical-type", "Type code of the certificate"),
    row("title", RowTarget::Title, &[Missing, Exact, Contains], Named::Nobody, "Composition-title",
        "How the title begins, case and accents ignored"),
];

/// Other names of the chains: without the type, which R5 `search.html#chaining` allows where there is only one type of target,
/// and by `patient`.
pub const OTHER_NAMES: &[(&str, &str)] = &[
    ("subject.identifier", "subject:Patient.identifier"),
    ("patient:Patient.identifier", "subject:Patient.identifier"),
    ("patient.identifier", "subject:Patient.identifier"),
    ("author.practitioner", "author:PractitionerRole.practitioner"),
    ("author.organization", "author:PractitionerRole.organization"),
];

/// What `_sort` takes. Contract 4.7.
pub const SORT_KEYS: &[(&str, SortKey)] = &[
    ("date", SortKey::Date),
    ("_lastUpdated", SortKey::LastUpdated),
    ("period", SortKey::Period),
    ("status", SortKey::Status),
    ("category", SortKey::Category),
    ("_id", SortKey::Id),
    ("title", SortKey::Title),
];

/// Parameters that shape the answer and that others read; they stay in links as sent.
pub const SHAPING: &[&str] = &["_format", "_pretty", "_elements", "_summary"];

/// Filters of R5 for every resource type. They begin as result parameters do, but to drop one would show more than was asked for.
/// Contract 4.9; FHIR R5 `search.html#all`.
const FILTERS_OF_ALL: &[&str] = &[
    "_id",
    "_lastUpdated",
    "_has",
    "_filter",
    "_list",
    "_text",
    "_content",
    "_tag",
    "_profile",
    "_security",
    "_source",
    "_in",
    "_language",
    "_type",
];

/// Why a name is no parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown<L: 'static = RowTarget> {
    /// The table has no parameter of this name.
    Parameter,
    /// The parameter is known; the text behind the colon is none of its modifiers.
    Modifier(&'static Parameter<L>),
}

/// Finds what a name with or without modifier stands for in a table.
pub fn find<L>(
    table: &'static [Parameter<L>],
    sent: &str,
) -> Result<(&'static Parameter<L>, Option<Modifier>), Unknown<L>> {
    if let Some(parameter) = named(table, sent) {
        return Ok((parameter, None));
    }
    let (name, modifier) = sent.rsplit_once(':').ok_or(Unknown::Parameter)?;
    let parameter = named(table, name).ok_or(Unknown::Parameter)?;
    let modifier = parameter.modifiers.iter().find(|known| known.name() == modifier);
    modifier.map(|modifier| (parameter, Some(*modifier))).ok_or(Unknown::Modifier(parameter))
}

/// Whether a name with `_` at its beginning is that of a filter of R5, offered or not, however its letters are cased: a mistyped
/// filter must not widen what is shown (Contract 4.9).
pub fn could_be_filter(name: &str) -> bool {
    FILTERS_OF_ALL.iter().any(|filter| filter.eq_ignore_ascii_case(name))
}

fn named<L>(table: &'static [Parameter<L>], name: &str) -> Option<&'static Parameter<L>> {
    let name = OTHER_NAMES.iter().find(|(other, _)| *other == name).map_or(name, |(_, row)| row);
    table.iter().find(|parameter| parameter.name == name)
}

impl ParameterTarget for RowTarget {
    fn kind(self) -> &'static str {
        match self {
            RowTarget::Id
            | RowTarget::State
            | RowTarget::Category
            | RowTarget::Kind
            | RowTarget::Token(_)
            | RowTarget::Registry => "token",
            RowTarget::Reference { .. } => "reference",
            RowTarget::Time(_) => "date",
            RowTarget::Title => "string",
            RowTarget::SectionCodeText => "composite",
        }
    }
}

impl Field {
    /// Every field.
    pub const ALL: [Field; 11] = [
        Field::Subject,
        Field::SubjectIdentifier,
        Field::AuthorPractitioner,
        Field::AuthorOrganization,
        Field::Entry,
        Field::EntryIdentifier,
        Field::Identifier,
        Field::SectionCodeText,
        Field::AdviceEntry,
        Field::AdviceEntryIdentifier,
        Field::AdviceSectionCodeText,
    ];

    /// The search parameter that asks for it, with its modifier.
    pub fn parameter(self) -> &'static str {
        match self {
            Field::Subject => "subject",
            Field::SubjectIdentifier => "subject:identifier",
            Field::AuthorPractitioner => "author:PractitionerRole.practitioner",
            Field::AuthorOrganization => "author:PractitionerRole.organization",
            Field::Entry | Field::AdviceEntry => "entry",
            Field::EntryIdentifier | Field::AdviceEntryIdentifier => "entry:identifier",
            Field::Identifier => "identifier",
            Field::SectionCodeText | Field::AdviceSectionCodeText => "section-code-text",
        }
    }

    /// Where it stands in a certificate, as FHIRPath. Decision 166.
    pub fn expression(self) -> &'static str {
        match self {
            Field::Subject | Field::SubjectIdentifier => "Composition.subject",
            Field::AuthorPractitioner => "Composition.author.resolve().ofType(PractitionerRole).practitioner",
            Field::AuthorOrganization => "Composition.author.resolve().ofType(PractitionerRole).organization",
            Field::Entry | Field::EntryIdentifier | Field::AdviceEntry | Field::AdviceEntryIdentifier => {
                "Composition.repeat(section).entry"
            }
            Field::Identifier => "Composition.identifier",
            Field::SectionCodeText | Field::AdviceSectionCodeText => "Composition.repeat(section)",
        }
    }
}

impl<L> Parameter<L> {
    /// Canonical address of the definition. All of them are R5's own.
    pub fn definition(&self) -> String {
        format!("http://hl7.org/fhir/SearchParameter/{}", self.definition)
    }

    /// Its modifiers, for messages.
    pub fn modifier_names(&self) -> String {
        if self.modifiers.is_empty() {
            return "none".into();
        }
        let names: Vec<String> = self.modifiers.iter().map(|modifier| format!(":{}", modifier.name())).collect();
        names.join(", ")
    }

    /// Whether values sent with this modifier may tell who a person is.
    pub fn is_personal(&self, modifier: Option<Modifier>) -> bool {
        match self.names {
            Named::PatientIdentifier | Named::Practitioner | Named::Agent => true,
            Named::Patient => modifier == Some(Identifier),
            _ => false,
        }
    }
}

impl Modifier {
    /// The modifier as sent, without its colon.
    pub fn name(self) -> &'static str {
        match self {
            Not => "not",
            Missing => "missing",
            Identifier => "identifier",
            Exact => "exact",
            Contains => "contains",
            Patient => "Patient",
        }
    }
}

/// The names of all parameters a search of a type takes, for messages.
pub fn known_names<L>(table: &[Parameter<L>]) -> String {
    let names = table.iter().map(|parameter| parameter.name).chain(["_count", "_page", "_sort"]);
    names.chain(SHAPING.iter().copied()).collect::<Vec<_>>().join(", ")
}

/// A row of a table.
pub const fn row<L: Copy>(
    name: &'static str,
    target: L,
    modifiers: &'static [Modifier],
    names: Named,
    definition: &'static str,
    documentation: &'static str,
) -> Parameter<L> {
    Parameter { name, target, modifiers, names, definition, documentation }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_stands_once() {
        let names: BTreeSet<&str> = PARAMETERS.iter().map(|parameter| parameter.name).collect();
        assert_eq!(names.len(), PARAMETERS.len());
        assert!(OTHER_NAMES.iter().all(|(other, row)| !names.contains(other) && names.contains(row)));
    }

    #[test]
    fn whatever_refers_to_somebody_says_whom_it_names() {
        for parameter in PARAMETERS.iter().filter(|parameter| parameter.target.kind() == "reference") {
            assert_ne!(parameter.names, Named::Nobody, "{}", parameter.name);
        }
    }

    #[test]
    fn a_chain_is_a_name_and_not_a_modifier() {
        let found = |sent| find(PARAMETERS, sent).map(|(parameter, modifier)| (parameter.name, modifier));
        assert_eq!(found("subject:Patient.identifier"), Ok(("subject:Patient.identifier", None)));
        assert_eq!(found("subject.identifier"), Ok(("subject:Patient.identifier", None)));
        assert_eq!(found("patient:Patient.identifier"), Ok(("subject:Patient.identifier", None)));
        assert_eq!(found("patient:identifier"), Ok(("patient", Some(Identifier))));
        assert_eq!(found("subject:Patient"), Ok(("subject", Some(Patient))));
        assert_eq!(found("subject:identifier"), Ok(("subject", Some(Identifier))));
        let practitioner = "author:PractitionerRole.practitioner";
        assert_eq!(found("author:PractitionerRole.practitioner:not"), Ok((practitioner, Some(Not))));
        assert_eq!(found("author.practitioner"), Ok((practitioner, None)));
    }

    #[test]
    fn every_field_is_asked_for_by_a_parameter_that_looks_at_it() {
        let hidden = [Field::AdviceEntry, Field::AdviceEntryIdentifier, Field::AdviceSectionCodeText];
        for field in Field::ALL.into_iter().filter(|field| !hidden.contains(field)) {
            let (parameter, modifier) = find(PARAMETERS, field.parameter()).unwrap();
            let looks = match parameter.target {
                RowTarget::Token(of) => of == field,
                RowTarget::Reference { field: of, identifier, .. } => match modifier {
                    Some(Identifier) => identifier == Some(field),
                    _ => of == field,
                },
                RowTarget::SectionCodeText => field == Field::SectionCodeText,
                _ => false,
            };
            assert!(looks, "{field:?}");
        }
        assert!(Field::ALL.iter().enumerate().all(|(at, field)| *field as usize == at + 1));
    }

    #[test]
    fn what_no_row_takes_is_unknown() {
        for sent in ["", "author", "author:Practitioner", "Status", "subject:Patient:not", "_count", "x:not"] {
            assert_eq!(find(PARAMETERS, sent).err(), Some(Unknown::Parameter), "{sent}");
        }
        for sent in [
            "status:exact",
            "status:",
            "subject:Group",
            "subject:Patient.name",
            "title:not",
            "period:not",
            "section-code-text:missing",
            "subject:Patient.identifier:not",
            "_id:exact",
        ] {
            assert!(matches!(find(PARAMETERS, sent), Err(Unknown::Modifier(_))), "{sent}");
        }
    }
}

//! What no data file says: the meaning of each element, section and contained resource, and where a rule asks for more
//! than its cardinality.
//!
//! Cardinalities, types, fixed values and code lists are not repeated here: they come from the profiles and from R5.

/// One element in words.
pub(super) struct ElementWords {
    /// Its id in the profile, without the type: `event.period.start`, `component:job.value[x]`.
    pub path: &'static str,
    /// Takes the place of `required` or `optional`, for a draft and for a completed certificate.
    pub need: Option<(&'static str, &'static str)>,
    pub meaning: &'static str,
}

/// One section of the profiles in words.
pub(super) struct SectionWords {
    /// Name of its slice.
    pub slice: &'static str,
    pub need: Option<(&'static str, &'static str)>,
    pub meaning: &'static str,
    /// Elements inside of which more is to be said.
    pub elements: &'static [ElementWords],
}

/// One contained resource of the profiles in words.
pub(super) struct ContainedWords {
    /// Name of its slice.
    pub slice: &'static str,
    pub meaning: &'static str,
    pub elements: &'static [ElementWords],
}

const fn row(path: &'static str, meaning: &'static str) -> ElementWords {
    ElementWords { path, need: None, meaning }
}

const fn needed(
    path: &'static str,
    draft: &'static str,
    completed: &'static str,
    meaning: &'static str,
) -> ElementWords {
    ElementWords { path, need: Some((draft, completed)), meaning }
}

const fn section(slice: &'static str, meaning: &'static str, elements: &'static [ElementWords]) -> SectionWords {
    SectionWords { slice, need: None, meaning, elements }
}

const fn section_needed(
    slice: &'static str,
    draft: &'static str,
    completed: &'static str,
    meaning: &'static str,
    elements: &'static [ElementWords],
) -> SectionWords {
    SectionWords { slice, need: Some((draft, completed)), meaning, elements }
}

const fn contained(slice: &'static str, meaning: &'static str, elements: &'static [ElementWords]) -> ContainedWords {
    ContainedWords { slice, meaning, elements }
}

/// What the rules that no cardinality shows ask for.
const VALIDITY: &str = "required with a positive decision";
const SENT_BY_NOBODY: &str = "leave it out";
const REQUIRED: &str = "required";

/// The elements of the certificate itself.
pub(super) const COMPOSITION: &[ElementWords] = &[
    needed(
        "id",
        SENT_BY_NOBODY,
        SENT_BY_NOBODY,
        "The service gives the id. In an update it may stand here if it is the one of the address.",
    ),
    needed(
        "meta.profile",
        REQUIRED,
        REQUIRED,
        "The kind of the certificate: the address of the profile, once, and no other.",
    ),
    row("text", "The certificate as a page for people (XHTML). Without it the service writes one in Estonian."),
    row("contained", "The author's role and the Observations that sections refer to. A reference must lead to each."),
    row("identifier", "The number of the certificate."),
    row("identifier.system", "The system of these numbers."),
    row("identifier.value", "The number, given by the sender. It cannot change once the certificate is completed."),
    row(
        "status",
        "The state. Send `preliminary` (draft) or `final` (completed). Only `$suspend` and `$cancel` set the others.",
    ),
    row("type", "That this is a medical certificate."),
    row("type.coding", "Each code is this one, with exactly this `display`."),
    row("category", "What the person was examined for. It cannot change once the certificate is completed."),
    row(
        "subject",
        "The patient: `Patient/<id>`, or an `identifier` with a personal code. The registry must know exactly one.",
    ),
    row("date", "When the certificate was written. A time without an offset is Estonian time."),
    row("author", "A reference to the contained role of the author, such as `#author`."),
    row("title", "A heading for people."),
    needed(
        "event",
        VALIDITY,
        VALIDITY,
        "The validity of the certificate. [Rules](#rules) names the positive decisions.",
    ),
    needed("event.period", VALIDITY, VALIDITY, "From when until when the certificate is valid."),
    row("event.period.start", "The first day or moment. It is not after the end."),
    row("event.period.end", "The last day or moment; a day counts to its end, in Estonian time."),
    row("section", "The contents, one section for each subject: see [Sections](#sections)."),
];

/// The elements that every section has.
pub(super) const SECTION: &[ElementWords] = &[
    row(
        "section.code",
        "What it is about: a code of [tervisetoendi-sektsioon](#tervisetoendi-sektsioon) in `coding`, with its system.",
    ),
    row("section.title", "A heading for people."),
    row("section.text", "The text of the section. A section needs a text, an entry or a section inside."),
    row("section.text.status", "How the text came about; the table above says where it must be `additional`."),
    row("section.text.div", "The text as XHTML, in one element `div` of the namespace `http://www.w3.org/1999/xhtml`."),
    row("section.entry", "References to contained resources, such as `#decision`."),
];

/// The sections, in the order in which they are shown.
pub(super) const SECTIONS: &[SectionWords] = &[
    section_needed("decision", "optional", "expected (HCERT-204)", "What the practitioner decided.", &[]),
    section(
        "healthDeclaration",
        "The health declaration of the person, by reference or by its number.",
        &[
            row(
                "entry.reference",
                "`QuestionnaireResponse/<id>`, where the declaration is electronic. The service does not look it up.",
            ),
            row("entry.identifier", "The number of a declaration outside, such as one on paper."),
            row("entry.identifier.system", "The system of these numbers."),
            row("entry.identifier.value", "The number."),
        ],
    ),
    section("medicalRestriction", "The medical restrictions, and a text that explains them.", &[]),
    section("shortenedReason", "Why the certificate is valid for a shorter time than usual.", &[]),
    section_needed(
        "rejectReason",
        "expected with the decision 160910001, unfit for work (HCERT-205)",
        "expected with the decision 160910001, unfit for work (HCERT-205)",
        "Why the decision is negative.",
        &[],
    ),
    section_needed(
        "changeReason",
        "optional",
        "required when a completed certificate is changed (HCERT-148)",
        "Why a completed certificate is changed. Its text is not blank.",
        &[],
    ),
    section_needed(
        "cancelReason",
        SENT_BY_NOBODY,
        SENT_BY_NOBODY,
        "Why the certificate was revoked. `$cancel` writes it; one that a client sends is dropped.",
        &[],
    ),
    section_needed(
        "suspendReason",
        SENT_BY_NOBODY,
        SENT_BY_NOBODY,
        "Why the certificate was suspended. `$suspend` writes it; one that a client sends is dropped.",
        &[],
    ),
    section("riskFactors", "The risk factors of the work, and a text that explains them.", &[]),
    section(
        "employer",
        "The employer: its registry code as text, the employment as entry.",
        &[row(
            "text.div",
            "The registry code of the employer and nothing else: eight digits, as in the employment (HCERT-206). \
             By this text an employer finds its certificates.",
        )],
    ),
    section("additionalConditions", "Conditions under which the person may work, and a text that explains them.", &[]),
    section("employerSuggestions", "What the doctor suggests to the employer.", &[]),
    section(
        "employeeSuggestions",
        "What the doctor suggests to the employee. The view for employers leaves it out.",
        &[],
    ),
];

/// Every contained resource needs it, or no section could refer to it.
const ID: ElementWords =
    needed("id", REQUIRED, REQUIRED, "A name inside the certificate. A reference to it is `#` and this name.");
const PROFILE: ElementWords = row("meta.profile", "The address of the profile of this resource.");
const STATUS: ElementWords = row("status", "The state of the Observation, also inside a draft.");

/// The contained resources, in the order in which they are shown.
pub(super) const CONTAINED: &[ContainedWords] = &[
    contained(
        "author",
        "Who wrote the certificate, and for which institution. `author` refers to it.",
        &[
            ID,
            row("practitioner", "The person: `reference` is `Practitioner/<personal code>` (HCERT-207, HCERT-208)."),
            row(
                "organization",
                "The institution: `reference` is `Organization/<registry code>` (HCERT-207, HCERT-208).",
            ),
        ],
    ),
    contained(
        "decision",
        "What the practitioner decided. The section `decision` refers to it.",
        &[
            ID,
            PROFILE,
            STATUS,
            row("code", "That this is the decision: the code with exactly this `display`."),
            row("value[x]", "The decision. `text` may say it in words."),
        ],
    ),
    contained(
        "medicalRestriction",
        "One medical restriction. The section `medical-restrictions` refers to it.",
        &[
            ID,
            PROFILE,
            STATUS,
            row("code", "That this is a restriction: the code with exactly this `display`."),
            row("note", "A text for this restriction, in `text`."),
            row("component", "The restriction itself."),
            row("component.code", "Which restriction it is."),
            row(
                "component.value[x]:valueQuantity",
                "The detail of a restriction that needs a number, such as kilograms with 586.",
            ),
            row(
                "component.value[x]:valueCodeableConcept",
                "The detail of a restriction that needs a code, such as a risk factor with 750.",
            ),
        ],
    ),
    contained(
        "riskFactor",
        "One risk factor of the work. The section `risk-factors` refers to it.",
        &[
            ID,
            PROFILE,
            STATUS,
            row("code", "That this is a risk factor: the code with exactly this `display`."),
            row("value[x]", "Which risk factor it is. `text` may explain it."),
        ],
    ),
    contained(
        "employment",
        "Where the person works, in which occupation and with which workload. The section `employer` refers to it.",
        &[
            ID,
            PROFILE,
            STATUS,
            row("code", "That this is the employment."),
            row("code.coding", "The code with exactly this `display`."),
            row("value[x]", "It has no meaning here."),
            row("performer", "The employer."),
            row(
                "performer.identifier",
                "Its registry code in `value`, with the system `https://fhir.ee/sid/org/est/br`.",
            ),
            row("performer.display", "Its name."),
            row("note", "A text on the work, such as the title of the position, in `text`."),
            row("component", "Occupation and workload, each once."),
            row("component:job", "The occupation."),
            row("component:job.code", "That this is the occupation: the code with exactly this `display`."),
            row("component:job.value[x]", "Which occupation it is."),
            row("component:rate", "The workload."),
            row("component:rate.code", "That this is the workload: the code with exactly this `display`."),
            row("component:rate.value[x]", "The share of full time in `value`: 1 is full time, 0.75 three quarters."),
            row("component:rate.value[x].unit", "The unit of a share."),
        ],
    ),
    contained(
        "additionalCondition",
        "One condition under which the person may work. The section `work-additional-restrictions` refers to it.",
        &[
            ID,
            PROFILE,
            STATUS,
            row("code", "That this is a condition: the code with exactly this `display`."),
            row("value[x]", "Which condition it is. `text` may explain it."),
        ],
    ),
];

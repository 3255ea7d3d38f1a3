//! The service's own error codes. The names stand here, in order of precedence; texts, issue types and statuses stand in
//! `data/code-systems/hcert-issue.json`, and a test holds the two together.

use std::sync::LazyLock;

use super::concept::{self, IssueConcept};

macro_rules! codes {
    ($($name:ident = $code:literal,)*) => {
        /// Our own codes, ordered by precedence: of several issues the first in this order decides the HTTP status.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Hcert {
            $(
                #[doc = concat!("Code `", $code, "` of the catalogue.")]
                $name,
            )*
        }

        impl Hcert {
            /// All of them, in order.
            pub const ALL: &[Hcert] = &[$(Hcert::$name,)*];

            /// `HCERT-<number>` as callers see it. Source: specification 7; Contract 5.3.
            pub fn code(self) -> &'static str {
                match self { $(Hcert::$name => $code,)* }
            }
        }
    };
}

codes! {
    TokenMissing = "HCERT-176",
    TokenRefused = "HCERT-177",
    Stranger = "HCERT-156",
    TooManyRequests = "HCERT-200",
    TransferCodingUnknown = "HCERT-201",
    BodyEmpty = "HCERT-100",
    BodyNotUtf8 = "HCERT-101",
    JsonSyntax = "HCERT-102",
    JsonTooDeep = "HCERT-103",
    JsonDuplicateKey = "HCERT-104",
    JsonEmptyValue = "HCERT-105",
    ResourceTypeWrong = "HCERT-106",
    ElementUnknown = "HCERT-107",
    ElementTypeWrong = "HCERT-108",
    FormatWrong = "HCERT-109",
    LocalTimeMissing = "HCERT-110",
    TextTooLong = "HCERT-111",
    ReferenceWrong = "HCERT-112",
    PatientNotUnique = "HCERT-008",
    IdMismatch = "HCERT-113",
    ParametersWrong = "HCERT-114",
    ReasonBlank = "HCERT-115",
    ReasonWrong = "HCERT-116",
    HeaderWrong = "HCERT-117",
    HeaderMissing = "HCERT-219",
    SearchParameterUnknown = "HCERT-118",
    SearchModifierUnknown = "HCERT-119",
    SearchValueWrong = "HCERT-120",
    SearchValueEmpty = "HCERT-121",
    SearchParameterRepeated = "HCERT-122",
    SearchTooLong = "HCERT-123",
    SearchLinkExpired = "HCERT-124",
    PageTooLarge = "HCERT-162",
    OperationParameterUnknown = "HCERT-170",
    OperationParameterMissing = "HCERT-171",
    OperationParameterWrong = "HCERT-172",
    OperationParameterRepeated = "HCERT-209",
    OperationParameterType = "HCERT-210",
    HttpMalformed = "HCERT-125",
    NotPermitted = "HCERT-178",
    OutsideRights = "HCERT-179",
    AuthorNotCaller = "HCERT-168",
    AuthorElsewhere = "HCERT-242",
    PathUnknown = "HCERT-126",
    NotFound = "HCERT-127",
    VersionNotFound = "HCERT-128",
    ListNotFound = "HCERT-173",
    CodeNotFound = "HCERT-174",
    MethodNotAllowed = "HCERT-129",
    IdNotAssigned = "HCERT-130",
    NotAcceptable = "HCERT-131",
    BodyTimeout = "HCERT-132",
    StateConflict = "HCERT-133",
    NumberInUse = "HCERT-134",
    Deleted = "HCERT-135",
    LengthRequired = "HCERT-136",
    VersionConflict = "HCERT-137",
    MultipleMatches = "HCERT-138",
    BodyTooLong = "HCERT-139",
    QueryTooLong = "HCERT-140",
    TargetTooLong = "HCERT-220",
    HeadersTooLong = "HCERT-218",
    MediaTypeUnsupported = "HCERT-141",
    ExpectationUnknown = "HCERT-142",
    ProfileWrong = "HCERT-143",
    ProfileVersionUnknown = "HCERT-202",
    StatusNotAllowed = "HCERT-144",
    StatusUnknown = "HCERT-145",
    ElementRepeated = "HCERT-146",
    TooMany = "HCERT-159",
    ClassesFull = "HCERT-160",
    InvariantsTooCostly = "HCERT-244",
    NotExpandable = "HCERT-175",
    ValueSetUnusable = "HCERT-224",
    ValueSetTooLarge = "HCERT-225",
    ElementMissing = "HCERT-147",
    ElementTooFew = "HCERT-180",
    ElementTooMany = "HCERT-181",
    ElementNotAllowed = "HCERT-182",
    SliceTooFew = "HCERT-183",
    SliceTooMany = "HCERT-184",
    SliceUnknown = "HCERT-185",
    ValueNotAsFixed = "HCERT-186",
    TypeNotAllowed = "HCERT-187",
    CodeNotAllowed = "HCERT-188",
    CodeMissing = "HCERT-189",
    TargetWrong = "HCERT-190",
    InvariantBroken = "HCERT-191",
    ContainedIdRepeated = "HCERT-192",
    ContainedIdMissing = "HCERT-193",
    SubjectUnknowable = "HCERT-166",
    ProfileOfOtherType = "HCERT-194",
    NarrativeWrong = "HCERT-195",
    DecisionMissing = "HCERT-204",
    RejectReasonMissing = "HCERT-205",
    EmployerWrong = "HCERT-206",
    ChangeReasonMissing = "HCERT-148",
    ElementFixed = "HCERT-149",
    IndexNotReady = "HCERT-150",
    SearchFailed = "HCERT-229",
    TokenKeysUnavailable = "HCERT-230",
    RequestsFull = "HCERT-231",
    BodiesFull = "HCERT-232",
    AnswersFull = "HCERT-233",
    RequestTimeout = "HCERT-234",
    WritesFull = "HCERT-235",
    HeavySearchesFull = "HCERT-236",
    LongSearchesFull = "HCERT-243",
    LargeAnswersFull = "HCERT-237",
    ConnectionsFull = "HCERT-238",
    StorageReopening = "HCERT-239",
    HeadsTooMany = "HCERT-226",
    LargeResourcesBusy = "HCERT-228",
    StorageUnavailable = "HCERT-152",
    ClockWrong = "HCERT-211",
    VersionAhead = "HCERT-212",
    IdsUsedUp = "HCERT-213",
    StoppingDown = "HCERT-153",
    AuditUnavailable = "HCERT-169",
    AuditIncomplete = "HCERT-245",
    CommitUnknown = "HCERT-154",
    RegistryTimeout = "HCERT-163",
    RegistryUnreachable = "HCERT-164",
    RegistryUnreadable = "HCERT-165",
    RegistryCredential = "HCERT-214",
    StoreDamaged = "HCERT-216",
    Internal = "HCERT-155",
    CodeUnknown = "HCERT-196",
    LinkDead = "HCERT-203",
    AuthorCodeWrong = "HCERT-207",
    AuthorReferenceMissing = "HCERT-208",
    LinksUnknown = "HCERT-167",
    RegistryNotFound = "HCERT-215",
    LeftOut = "HCERT-197",
    AllRight = "HCERT-198",
    Stored = "HCERT-157",
    ConsentSet = "HCERT-199",
    ThereAlready = "HCERT-161",
    ParameterIgnored = "HCERT-158",
}

/// `OperationOutcome.issue.code`, as the catalogue spells it (FHIR R5 value set `issue-type`).
pub type IssueType = String;

/// Language of texts for callers. English unless `Accept-Language` prefers Estonian. Contract 5.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// FHIR language code `en`.
    #[default]
    English,
    /// FHIR language code `et`.
    Estonian,
}

/// What the catalogue says of a code.
#[derive(Debug)]
pub struct CatalogueEntry {
    /// `OperationOutcome.issue.code` of an issue with this code.
    pub issue_type: IssueType,
    /// HTTP status of an answer that this code decides.
    pub status: u16,
    english: String,
    estonian: String,
}

impl CatalogueEntry {
    /// The text with its `<name>` places still open.
    pub fn text(&self, language: Language) -> &str {
        match language {
            Language::English => &self.english,
            Language::Estonian => &self.estonian,
        }
    }
}

/// The catalogue's entry of a code.
pub fn entry(code: Hcert) -> &'static CatalogueEntry {
    &CATALOGUE[code as usize]
}

static CATALOGUE: LazyLock<Vec<CatalogueEntry>> = LazyLock::new(|| {
    let mut concepts = read();
    Hcert::ALL
        .iter()
        .map(|code| {
            let at = concepts.iter().position(|concept| concept.code == code.code());
            let concept = concepts.swap_remove(at.expect("a test holds the catalogue and the codes together"));
            let IssueConcept { issue_type, status, english, estonian, .. } = concept;
            CatalogueEntry { issue_type, status, english, estonian }
        })
        .collect()
});

fn read() -> Vec<IssueConcept> {
    concept::read(include_str!("../../../../data/code-systems/hcert-issue.json"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_catalogue_holds_every_code_once_and_no_other() {
        let written: Vec<String> = read().into_iter().map(|concept| concept.code).collect();
        let known: BTreeSet<&str> = Hcert::ALL.iter().map(|code| code.code()).collect();
        assert_eq!(written.iter().map(String::as_str).collect::<BTreeSet<_>>(), known);
        assert_eq!(written.len(), Hcert::ALL.len());
    }

    #[test]
    fn every_code_has_a_type_a_status_and_both_texts() {
        for code in Hcert::ALL {
            let entry = entry(*code);
            assert!(
                !entry.issue_type.is_empty() && !entry.english.is_empty() && !entry.estonian.is_empty(),
                "{code:?}"
            );
            assert!(
                matches!(entry.status, 200 | 400..=417 | 422 | 429 | 431 | 500 | 501 | 503 | 507),
                "{code:?} has status {}",
                entry.status
            );
        }
    }

    #[test]
    fn what_cannot_be_read_weighs_more_than_a_broken_rule() {
        let last_400 = Hcert::ALL.iter().rposition(|code| entry(*code).status == 400);
        let first_422 = Hcert::ALL.iter().position(|code| entry(*code).status == 422);
        assert!(last_400 < first_422);
    }
}

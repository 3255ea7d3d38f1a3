//! What the validator says of a body.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use certificate::Names;
use certificate::terminology::Terminology;
use certificate::validation::Validator;
use fhir::json::{self, ReadJson};
use fhir::outcome::{self, Issue};
use fhir::shape;
use hcert::interaction::{CertificateRules, PreparedCertificate, UpdateBase, check_certificate};

/// How a body is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// As the body of a create.
    Create,
    /// By R5 and the profile with this id, whatever could be done with it: for forms that only the service makes.
    Under(&'static str),
}

pub(crate) static NAMES: LazyLock<Names> = LazyLock::new(Names::default);
pub(crate) static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| Validator::new(&NAMES).expect("the profiles can be used"));
static TERMINOLOGY: LazyLock<Arc<Terminology>> =
    LazyLock::new(|| Arc::new(Terminology::new(&NAMES, false, &[]).expect("the code lists can be used")));

pub(crate) fn rules() -> CertificateRules<'static> {
    CertificateRules {
        names: &NAMES,
        validator: &VALIDATOR,
        terminology: TERMINOLOGY.clone(),
        final_must_be_usable: false,
    }
}

/// What a create makes of a body: the certificate with its warnings, or the issues.
pub(crate) fn create(body: &[u8]) -> Result<(PreparedCertificate, Vec<Issue>), Vec<Issue>> {
    let created = json::parse_with_problems(body).and_then(|ReadJson { mut value, problems, source }| {
        let rules = rules();
        let mut checked =
            check_certificate(&mut value, source, problems, UpdateBase::default(), &rules, "http://localhost/fhir")?;
        let warnings = std::mem::take(&mut checked.warnings);
        Ok((checked.certificate(&mut value, &rules), warnings))
    });
    created.map_err(|refused| refused.issues().to_vec())
}

/// Everything told of a body, warnings as well.
pub(crate) fn issues(body: &[u8], judged: Judged) -> Vec<Issue> {
    match judged {
        Judged::Create => create(body).map_or_else(|issues| issues, |(_, warnings)| warnings),
        Judged::Under(id) => {
            let ReadJson { mut value, mut problems, .. } = match json::parse_with_problems(body) {
                Ok(read) => read,
                Err(refused) => return refused.issues().to_vec(),
            };
            problems.take_further(shape::check(&mut value, "Composition").problems);
            let profile = profile(id);
            problems.take_further(VALIDATOR.check(&value, Some(profile), &TERMINOLOGY).problems);
            problems.into_issues()
        }
    }
}

/// `HCERT-147 required Composition.status`, sorted; of what is refused the errors alone.
pub(crate) fn told(issues: &[Issue]) -> Vec<String> {
    let refused = issues.iter().any(Issue::is_error);
    let mut told: Vec<String> = issues.iter().filter(|issue| issue.is_error() || !refused).map(line).collect();
    told.sort_unstable();
    told
}

fn line(issue: &Issue) -> String {
    let severity = if issue.is_error() { String::new() } else { format!("{} ", issue.severity_code()) };
    let (code, kind) = (issue.code().code(), &outcome::entry(issue.code()).issue_type);
    format!("{severity}{code} {kind} {}", issue.expression().join(" ")).trim_end().to_owned()
}

/// Names of the profile rules that a body breaks, whether or not they are told beside what else is wrong with it.
pub(crate) fn broken(body: &[u8], judged: Judged) -> BTreeSet<&'static str> {
    let Ok(ReadJson { value, .. }) = json::parse_with_problems(body) else { return BTreeSet::new() };
    let claimed = || value.get("meta")?.items("profile").first()?.as_str();
    let profile = match judged {
        Judged::Create => claimed().and_then(|url| VALIDATOR.profile(url)),
        Judged::Under(id) => Some(profile(id)),
    };
    let broken = VALIDATOR.check(&value, profile, &TERMINOLOGY).broken;
    broken.into_iter().map(|number| VALIDATOR.rules()[usize::from(number)].as_str()).collect()
}

fn profile(id: &str) -> &'static certificate::validation::ProfileRules {
    let known = VALIDATOR.profiles().iter().find(|profile| profile.id == id);
    known.unwrap_or_else(|| panic!("there is no profile {id}"))
}

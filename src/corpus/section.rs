//! The sections of a body, each with its code, its text and what it refers to.
//!
//! Source: specification 2.5; the guide's profiles.

use super::body::{Contents, CorpusBody};
use super::composition::{Declaration, FitnessDecision};
use super::digits::number;
use super::phrases::Topic;
use certificate::State;

impl CorpusBody<'_> {
    /// The list of sections, the last element of a body.
    pub(super) fn sections(&mut self) {
        let Contents { decided, restrictions, risk_factors, conditions, .. } = self.contents;
        let changes = self.certificate.changes(self.at);
        self.push(r#""section":["#);
        if decided {
            self.section("decision", None, &[("decision", 0)]);
        }
        if restrictions > 0 {
            self.section("medical-restrictions", Some((Topic::Restriction, 0)), &[("restriction-", restrictions)]);
        }
        if decided && self.certificate.shortened {
            self.section("shortened-reason", Some((Topic::Shortened, 0)), &[]);
        }
        if decided && self.certificate.decision == FitnessDecision::Unfit {
            self.section("reject-reason", Some((Topic::Reject, changes)), &[]);
        }
        self.declaration();
        if risk_factors > 0 {
            let text = self.contents.risk_text.then_some((Topic::Risk, 0));
            self.section("risk-factors", text, &[("risk-", risk_factors)]);
        }
        self.employer();
        if conditions > 0 {
            self.section("work-additional-restrictions", Some((Topic::Condition, 0)), &[("condition-", conditions)]);
        }
        if self.contents.employer_suggestion {
            self.section("employer-suggestions", Some((Topic::Employer, changes)), &[]);
        }
        if self.contents.employee_suggestion {
            self.section("employee-suggestions", Some((Topic::Employee, changes)), &[]);
        }
        if changes > 0 {
            self.section("change-reason", Some((Topic::Change, changes)), &[]);
        }
        for (state, code, topic) in
            [(State::Suspended, "suspend-reason", Topic::Suspend), (State::Revoked, "cancel-reason", Topic::Cancel)]
        {
            if self.certificate.steps[..=self.at].iter().any(|step| step.state() == state) {
                self.section(code, Some((topic, 0)), &[]);
            }
        }
        // Each section ends with a comma, and that of the declaration is always there.
        self.out.pop();
        self.push("]");
    }

    /// One section with a comma behind it: code, free text (topic and number of changes), and references to what is contained:
    /// a name and how many there are of it, 0 meaning one without a number.
    fn section(&mut self, code: &str, text: Option<(Topic, u8)>, entries: &[(&str, u8)]) {
        self.section_code(code);
        if let Some((topic, changes)) = text {
            self.section_text(|body| body.text(topic, 0, changes));
        }
        for (name, count) in entries {
            self.push(r#","entry":["#);
            for place in 0..(*count).max(1) {
                self.push(if place == 0 { r##"{"reference":"#"## } else { r##",{"reference":"#"## });
                self.push(name);
                if *count > 0 {
                    number(self.out, u64::from(place) + 1);
                }
                self.push(r#""}"#);
            }
            self.push("]");
        }
        self.push("},");
    }

    fn section_code(&mut self, code: &str) {
        self.push(r#"{"code":{"coding":[{"system":"https://fhir.ee/CodeSystem/tervisetoendi-sektsioon","code":""#);
        self.push(code);
        self.push(r#""}]}"#);
    }

    fn section_text(&mut self, write: impl FnOnce(&mut Self)) {
        self.push(r#","text":{"status":"additional","div":"<div xmlns=\"http://www.w3.org/1999/xhtml\">"#);
        write(self);
        self.push(r#"</div>"}"#);
    }

    fn declaration(&mut self) {
        self.section_code("health-declaration");
        match self.certificate.declaration() {
            Declaration::Response(response) => {
                self.push(r#","entry":[{"reference":"QuestionnaireResponse/"#);
                number(self.out, response);
                self.push(r#""}]},"#);
            }
            Declaration::External(value) => {
                self.push(
                    r#","entry":[{"identifier":{"system":"https://fhir.ee/hcert/health-declaration-external-document-number","value":""#,
                );
                self.push(&value);
                self.push(r#""}}]},"#);
            }
        }
    }

    /// The text of this section is the employer's registry code and nothing else: `section-code-text` looks for it.
    fn employer(&mut self) {
        if let Some(employer) = self.certificate.employer() {
            self.section_code("employer");
            self.section_text(|body| number(body.out, employer.code.into()));
            self.push(r##","entry":[{"reference":"#employment"}]},"##);
        }
    }
}

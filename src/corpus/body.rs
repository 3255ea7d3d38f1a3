//! Bodies, written straight as minified FHIR JSON in the element order of the examples.
//!
//! Source: specification, section 2; the guide's profiles; namespaces of Contract 1.1.

use super::calendar::{Day, LocalTime};
use super::composition::{Category, DrawPurpose, FitnessDecision, PlannedCertificate, decision_text};
use super::digits::{number, padded};
use super::phrases::{self, Topic};

/// What the service puts before a body it serves.
#[derive(Clone, Copy)]
pub(super) struct ServedHead {
    pub version: u32,
    pub last_updated: LocalTime,
}

/// A body under way: the certificate, the step whose version is shown, and what that version holds.
pub(super) struct CorpusBody<'a> {
    pub certificate: &'a PlannedCertificate,
    /// Index of the step.
    pub at: usize,
    pub contents: Contents,
    pub out: &'a mut String,
}

/// How much there is of what may be there several times or not at all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contents {
    pub decided: bool,
    pub restrictions: u8,
    /// Where the list of restriction codes is entered, and which of two code systems the driver's codes are told in.
    pub restriction_first: usize,
    pub risk_factors: u8,
    pub conditions: u8,
    pub risk_text: bool,
    pub employer_suggestion: bool,
    pub employee_suggestion: bool,
}

/// Appends the resource as it stands after step `at`: as a client sends it, or with the head as the service serves it.
pub(super) fn write(certificate: &PlannedCertificate, at: usize, head: Option<ServedHead>, out: &mut String) {
    let contents = Contents::of(certificate, at);
    let mut body = CorpusBody { certificate, at, contents, out };
    body.head(head);
    body.narrative();
    body.contained();
    body.elements();
    body.sections();
    body.out.push('}');
}

impl Contents {
    fn of(certificate: &PlannedCertificate, at: usize) -> Contents {
        let mut random = certificate.random(DrawPurpose::Contents);
        let mut up_to = |most: u64| 1 + random.below(most) as u8;
        let (restrictions, risk_factors, conditions) = (up_to(3), up_to(3), up_to(2));
        let occupational = certificate.category == Category::Occupational;
        let decided = certificate.decided(at);
        let limited = decided && certificate.decision == FitnessDecision::FitWithLimits;
        Contents {
            decided,
            restrictions: if limited { restrictions } else { 0 },
            restriction_first: random.below(30) as usize,
            risk_factors: if occupational { risk_factors } else { 0 },
            conditions: if occupational && limited { conditions } else { 0 },
            risk_text: random.percent(40),
            employer_suggestion: occupational && decided && random.percent(60),
            employee_suggestion: occupational && decided && random.percent(50),
        }
    }
}

impl CorpusBody<'_> {
    pub(super) fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// A free text of the certificate; the same one in every version, unless `changes` tells it from those before.
    pub(super) fn text(&mut self, topic: Topic, place: u8, changes: u8) {
        let mut random = self.certificate.random(DrawPurpose::Text(topic, place, changes));
        phrases::write(self.out, topic, self.certificate.date(0).day, &mut random);
    }

    fn head(&mut self, head: Option<ServedHead>) {
        self.push(r#"{"resourceType":"Composition","#);
        if let Some(head) = head {
            self.push(r#""id":""#);
            number(self.out, self.certificate.number);
            self.push(r#"","meta":{"versionId":""#);
            number(self.out, head.version.into());
            self.push(r#"","lastUpdated":""#);
            head.last_updated.write_instant(self.out);
            self.push(r#"","profile":[""#);
        } else {
            self.push(r#""meta":{"profile":[""#);
        }
        self.push("https://fhir.ee/hcert/StructureDefinition/");
        self.push(self.certificate.category.profile().name());
        self.push(r#""]},"#);
    }

    fn narrative(&mut self) {
        self.push(r#""text":{"status":"generated","div":"<div xmlns=\"http://www.w3.org/1999/xhtml\"><p><b>"#);
        self.push(self.certificate.title());
        self.push("</b></p><p>Tervisetõend nr ");
        self.certificate.write_identifier(self.out);
        self.push("</p><p>Patsient: ");
        let person = self.certificate.person();
        self.push(person.given);
        self.push(" ");
        self.push(person.family);
        self.push(", sündinud ");
        person.birth.write_estonian(self.out);
        self.push("</p>");
        if let Some(employer) = self.certificate.employer() {
            self.push("<p>Tööandja: ");
            employer.write_name(self.out);
            self.push("</p>");
        }
        if self.contents.decided {
            self.push("<p>Otsus: ");
            self.push(decision_text(self.certificate.category, self.certificate.decision));
            self.push("</p>");
        } else {
            self.push("<p>Otsust veel ei ole.</p>");
        }
        if self.contents.restrictions > 0 {
            self.push("<ul>");
            for place in 0..self.contents.restrictions {
                self.push("<li>");
                self.restriction_words(place);
                self.push("</li>");
            }
            self.push("</ul>");
        }
        if let Some((first, last)) = self.certificate.validity(self.at) {
            self.push("<p>Kehtib ");
            first.write_estonian(self.out);
            self.push(" kuni ");
            last.write_estonian(self.out);
            self.push("</p>");
        }
        let author = self.certificate.author();
        self.push("<p>Väljastas: ");
        self.push(author.given);
        self.push(" ");
        self.push(author.family);
        self.push(", ");
        self.certificate.institution().write_name(self.out);
        self.push(r#"</p></div>"},"#);
    }

    fn elements(&mut self) {
        self.push(r#""identifier":[{"system":"https://fhir.ee/hcert/health-certificate-number","value":""#);
        self.certificate.write_identifier(self.out);
        self.push(r#""}],"status":""#);
        self.push(self.certificate.steps[self.at].state().status().code());
        self.push(
            r#"","type":{"coding":[{"system":"http://snomed.info/sct","code":"772786005","display":"Medical certificate (record artifact)"}]},"category":[{"coding":[{"system":"https://fhir.ee/CodeSystem/labivaatuse-tyyp","code":""#,
        );
        self.push(self.certificate.category.code());
        self.push(r#"","display":""#);
        self.push(self.certificate.category.display());
        self.push(r#""}]}],"subject":[{"reference":"Patient/"#);
        number(self.out, self.certificate.subject());
        self.push(r#""}],"date":""#);
        self.certificate.date(self.at).write_date_time(self.out);
        self.push(r##"","author":[{"reference":"#author"}],"title":""##);
        self.push(self.certificate.title());
        self.push(r#"","#);
        if let Some((first, last)) = self.certificate.validity(self.at) {
            self.push(r#""event":[{"period":{"start":""#);
            self.end_of_period(first, 0);
            self.push(r#"","end":""#);
            self.end_of_period(last, LocalTime::LAST_SECOND);
            self.push(r#""}}],"#);
        }
    }

    /// One end of the validity; a certificate in eight tells the day only.
    fn end_of_period(&mut self, day: Day, millisecond: u32) {
        if self.certificate.number.is_multiple_of(8) {
            day.write(self.out);
        } else {
            day.at(millisecond).write_date_time(self.out);
        }
    }
}

impl PlannedCertificate {
    /// `TT-2025-0000017`
    pub(super) fn write_identifier(&self, out: &mut String) {
        out.push_str("TT-");
        padded(out, self.tick(0).moment().day.civil().0 as u64, 4);
        out.push('-');
        padded(out, self.number, 7);
    }

    /// The guide wants the title to be that of the category; not everybody does so.
    pub(super) fn title(&self) -> &'static str {
        match (self.category, self.number % 10) {
            (Category::DriverGroupI | Category::DriverGroupII, 3) => "Mootorsõidukijuhi tervisetõend",
            (Category::DriverGroupI, 6) => "Ühekordne läbivaatus: juhiluba, I grupp",
            (Category::DriverGroupII, 6) => "Õppesõit ja juhiluba, II grupp",
            (Category::Occupational, 3) => "Äsja tööle asunu läbivaatus",
            (Category::Occupational, 6) => "Töötervishoiu tervisetõend",
            _ => self.category.display(),
        }
    }
}

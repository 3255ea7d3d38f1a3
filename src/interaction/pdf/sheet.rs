//! A certificate as a sheet of paper: what a patient, an employer and a police officer look for, in this order.

use super::words::PdfWords;
use certificate::narrative::{PrintedCertificate, PrintedRow};
use certificate::{Stamp, State, Version};
use fhir::date_time::instant;
use fhir::json::Json;
use fhir::outcome::Language;
use pdf::{Attachment, Block, Row, Sheet};

/// The name of the attached file.
pub(super) const ATTACHED: &str = "composition.json";

/// What stands on the paper beside the certificate itself.
pub(super) struct PrintFacts<'f> {
    /// Number, or id where it has none.
    pub number: &'f str,
    pub version: Version,
    pub stamp: Stamp,
    pub role: &'f str,
    pub language: Language,
    /// The patient as the registry had them for this version, where it knows them.
    pub patient: Option<&'f Json<'f>>,
    pub estonian_code: &'f str,
    /// Address of the version.
    pub address: &'f str,
    /// Its entry in the journal.
    pub entry: &'f str,
}

/// Lays out the order of a document. `resource` is what is attached.
pub(super) fn sheet(printed: PrintedCertificate, facts: &PrintFacts, resource: Vec<u8>) -> Sheet {
    let words = PdfWords::of(facts.language);
    let version = format!("{}, {}", facts.version, moment(facts.stamp));
    let mut blocks: Vec<Block> = printed.title.clone().map(Block::Paragraph).into_iter().collect();
    if let Some(state) = printed.state.filter(|state| *state != State::Completed) {
        let (name, meaning) = words.of_state(state);
        // A draft is not valid until it is final, and "since" would say the contrary.
        let since = (state != State::Draft).then(|| format!("{} {}.", words.since, day(facts.stamp)));
        let lines = std::iter::once(meaning.to_owned()).chain(since).chain(printed.reasons.clone()).collect();
        blocks.push(Block::Band { text: name.to_uppercase(), lines });
    }
    blocks.push(Block::Heading(words.person.to_owned()));
    blocks.push(Block::Rows(person(&printed, facts, words)));
    blocks.push(Block::Heading(words.facts.to_owned()));
    let mut rows: Vec<Row> = printed.facts.into_iter().map(row).collect();
    rows.iter_mut().take(1).for_each(|row| row.is_strong = printed.is_decided);
    if let Some(state) = printed.state {
        let (name, meaning) = words.of_state(state);
        rows.push(one(words.state, format!("{name}. {meaning}")));
    }
    rows.push(one(words.version, version));
    blocks.push(Block::Rows(rows));
    for section in printed.sections {
        blocks.push(Block::Heading(section.heading));
        if !section.rows.is_empty() {
            blocks.push(Block::Rows(section.rows.into_iter().map(row).collect()));
        }
        blocks.extend(section.paragraphs.into_iter().map(Block::Paragraph));
        if !section.items.is_empty() {
            blocks.push(Block::List(section.items));
        }
    }
    if !printed.issuer.is_empty() {
        blocks.push(Block::Heading(words.issuer.to_owned()));
        blocks.push(Block::Rows(printed.issuer.into_iter().map(row).collect()));
    }
    blocks.push(Block::Heading(words.verification.to_owned()));
    blocks.push(Block::Code {
        content: format!("{}#{}", facts.address, facts.entry),
        alternative: words.code.to_owned(),
        lines: vec![
            format!("{}: {}", words.role, words.role(facts.role)),
            words.scan.to_owned(),
            format!("{}: {}", words.address, facts.address),
            // The hash fills a line.
            format!("{}: {}", words.entry, facts.entry.replacen(':', ":\n", 1)),
        ],
    });
    // The band is at the beginning alone; a later page has to say the state too.
    let state = printed.state.filter(|state| *state != State::Completed);
    let state = state.map_or(String::new(), |state| format!("{} · ", words.of_state(state).0.to_uppercase()));
    Sheet {
        language: match facts.language {
            Language::Estonian => "et",
            Language::English => "en",
        },
        title: format!("{} {} {}", words.certificate, words.number, facts.number),
        creator: concat!("hcert ", env!("CARGO_PKG_VERSION")).to_owned(),
        identifier: format!("{}#{} {}", facts.address, facts.entry, facts.role),
        written_ms: facts.stamp.milliseconds,
        running: format!(
            "{state}{} · {} {} · {}",
            facts.number,
            words.version.to_lowercase(),
            facts.version,
            facts.role
        ),
        words: words.of_sheet,
        blocks,
        attachment: Some(Attachment {
            name: ATTACHED.to_owned(),
            media_type: "application/fhir+json",
            description: words.attached.to_owned(),
            bytes: resource,
        }),
    }
}

/// Who it is about: as the registry has them, else as the certificate says.
fn person(printed: &PrintedCertificate, facts: &PrintFacts, words: &PdfWords) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(patient) = facts.patient {
        let is_usual = |name: &&Json| !matches!(name.text("use"), Some("old" | "nickname" | "anonymous" | "temp"));
        let name = patient.items("name").iter().find(is_usual).or_else(|| patient.items("name").first());
        let name = name.and_then(full_name).map(|name| one(words.name, name));
        rows.extend(name.map(|name| Row { is_strong: true, ..name }));
        let is_code = |identifier: &&Json| identifier.text("system") == Some(facts.estonian_code);
        let code = patient.items("identifier").iter().find(is_code).and_then(|code| code.text("value"));
        rows.extend(code.map(|code| one(words.personal_code, code.to_owned())));
        // An Estonian personal code tells it already.
        let born = patient.text("birthDate").filter(|_| code.is_none());
        rows.extend(born.map(|born| one(words.born, born.rsplit('-').collect::<Vec<_>>().join("."))));
    }
    // What the certificate says itself is a reference, which is for programs.
    if rows.is_empty() && !printed.patient.is_empty() {
        rows.push(Row { label: words.patient.to_owned(), values: printed.patient.clone(), is_strong: false });
    }
    rows
}

/// `Mari Maasikas`
fn full_name(name: &Json) -> Option<String> {
    let given = name.items("given").iter().filter_map(Json::as_str);
    let parts: Vec<&str> = given.chain(name.text("family")).collect();
    let text = if parts.is_empty() { name.text("text")?.to_owned() } else { parts.join(" ") };
    Some(text).filter(|text| !text.trim().is_empty())
}

fn row(printed: PrintedRow) -> Row {
    Row { label: printed.label, values: printed.values, is_strong: false }
}

fn one(label: &str, value: String) -> Row {
    Row { label: label.to_owned(), values: vec![value], is_strong: false }
}

/// `12.01.2025 10:05:07`, by Tallinn's clock.
fn moment(stamp: Stamp) -> String {
    let text = instant(stamp.milliseconds);
    let time = text.split_once('T').map_or("", |(_, time)| time.get(..8).unwrap_or_default());
    format!("{} {time}", day(stamp))
}

/// `12.01.2025`, by Tallinn's clock.
fn day(stamp: Stamp) -> String {
    let text = instant(stamp.milliseconds);
    let date = text.split_once('T').map_or(&*text, |(date, _)| date);
    date.rsplit('-').collect::<Vec<_>>().join(".")
}

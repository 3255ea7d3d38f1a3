//! `hcert audit`: the audit trail verified and written out, through the running server where there is one.

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use super::output::OutputArguments;
use super::{Common, Failure, note, open, say};
use crate::audit::{self, AuditAction, ChainHead, StoreBeside, TRAIL_DAMAGED, TrailFiles};
use crate::bulk::{self, AuditAsked, AuditReader, KnownHead, NewestHeads};
use crate::config::{Config, RegistryMode};
use crate::interaction::{changes, subjects};
use crate::socket::{self, AuditResult, CommandRequest};
use certificate::Id;
use engine::{DAMAGED, Engine, system_clock};
use fhir::date_time;
use fhir::outcome::Language;

/// Verify the audit trail, or write it out
#[derive(Args, Debug)]
pub(super) struct AuditArguments {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    Verify(AuditVerifyArguments),
    Head(AuditHeadArguments),
    Export(AuditExportArguments),
    Who(AuditWhoArguments),
    Accept(Accept),
}

/// Check that the audit trail is as it was written
///
/// Says what is changed, missing or out of order, and prints the head: number and hash of the newest event. A cut end cannot be seen
/// in the trail itself; keep the head elsewhere and give it the next time. A trail in which something is wrong is left as it is, byte for
/// byte; the check of one that is whole is recorded in it.
#[derive(Args, Debug)]
struct AuditVerifyArguments {
    /// A head that was printed earlier and must still be part of the trail
    #[arg(long, value_name = "NUMBER:HASH", value_parser = head)]
    head: Option<ChainHead>,
    /// Tell the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

/// Print the newest heads: what to keep elsewhere, so that a changed or cut history is told
///
/// One line each for the changes of certificates, the register (patients, code lists, marks), and the audit trail: the number of the last entry, and a hash
/// over it and all before it. Give the lines to hcert verify --head at any later time.
#[derive(Args, Debug)]
struct AuditHeadArguments {
    /// Tell them as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

/// Write events as NDJSON of FHIR R5 AuditEvents, the oldest first
#[derive(Args, Debug)]
struct AuditExportArguments {
    /// Only what concerns this patient: an id, or an Estonian personal code
    #[arg(long, value_name = "ID|CODE")]
    patient: Option<String>,
    /// Only what concerns this certificate
    #[arg(long, value_name = "ID", value_parser = certificate)]
    certificate: Option<Id>,
    /// From this time on: a date or a FHIR dateTime, Estonian time where no offset is given
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<i64>,
    /// Up to this time: a date as a whole
    #[arg(long, value_name = "TIME", value_parser = until)]
    until: Option<i64>,
    #[command(flatten)]
    out: OutputArguments,
    #[command(flatten)]
    common: Common,
}

/// Tell a person in words who looked at what concerns them, when and why, the newest first
///
/// The question itself is recorded in the trail, and so is the first thing that it finds.
#[derive(Args, Debug)]
struct AuditWhoArguments {
    /// The person: an Estonian personal code, or the id of a patient
    #[arg(long, value_name = "CODE|ID")]
    patient: String,
    /// From this time on: a date or a FHIR dateTime, Estonian time where no offset is given
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<i64>,
    /// Up to this time: a date as a whole
    #[arg(long, value_name = "TIME", value_parser = until)]
    until: Option<i64>,
    /// Language of the words
    #[arg(long, value_enum, default_value_t = WordsLanguage::Et)]
    language: WordsLanguage,
    #[command(flatten)]
    out: OutputArguments,
    #[command(flatten)]
    common: Common,
}

/// The language of the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WordsLanguage {
    Et,
    En,
}

impl From<WordsLanguage> for Language {
    fn from(language: WordsLanguage) -> Language {
        match language {
            WordsLanguage::Et => Language::Estonian,
            WordsLanguage::En => Language::English,
        }
    }
}

/// Take the audit trail as it is, although it lacks what the store knows of it
///
/// The store keeps number and hash of a recent event. A trail that lacks that event was cut, replaced or removed: the health says so, and
/// audit verify ends with 3. Once it is known why, this ends it. It is recorded in the trail.
#[derive(Args, Debug)]
struct Accept {
    #[command(flatten)]
    common: Common,
}

fn head(text: &str) -> Result<ChainHead, String> {
    match KnownHead::parse(text) {
        Ok(KnownHead::Trail(head)) => Ok(head),
        _ => ChainHead::parse(text).ok_or_else(|| {
            "a head of the trail is a number, a colon and 64 hexadecimal digits, with or without audit/ before it"
                .to_owned()
        }),
    }
}

fn certificate(text: &str) -> Result<Id, String> {
    Id::parse(text).ok_or_else(|| "the id of a certificate is a whole number from 1".to_owned())
}

fn since(text: &str) -> Result<i64, String> {
    span(text).map(|span| span.low)
}

fn until(text: &str) -> Result<i64, String> {
    span(text).map(|span| span.high)
}

fn span(text: &str) -> Result<date_time::Span, String> {
    date_time::search_span(text)
        .map_err(|_| "this is no date or time, such as 2026-11-01 or 2026-11-01T10:00".to_owned())
}

/// What nobody could be called finds nothing, and nothing found reads as if nobody had looked.
fn may_be_patient(text: &str, registry: RegistryMode) -> Result<(), String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // Another registry gives its ids as FHIR permits.
    let is_id = (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
    match registry {
        RegistryMode::Embedded if is_number && text.len() <= 19 => Ok(()),
        RegistryMode::Remote if is_id => Ok(()),
        RegistryMode::Embedded => {
            Err("--patient takes the number of a patient, such as 17 for Patient/17, or an Estonian \
                                       personal code of 11 digits"
                .to_owned())
        }
        RegistryMode::Remote => Err(
            "--patient takes the id of a patient in the registry (letters, digits, - and ., at most 64), such as 17 \
                                     for Patient/17, or an Estonian personal code of 11 digits"
                .to_owned(),
        ),
    }
}

impl AuditArguments {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        open::for_owner_only();
        match self.command {
            AuditCommand::Verify(AuditVerifyArguments { head, json, common }) => {
                let config = common.load(|_| ())?;
                verify(head, json, &config)
            }
            AuditCommand::Head(AuditHeadArguments { json, common }) => {
                let config = common.load(|_| ())?;
                let heads = heads(&config).map_err(Failure::Failed)?;
                let lines = || [Some(&heads.changes), Some(&heads.register), heads.audit.as_ref()];
                match json {
                    true => say(&(serde_json::to_string(&heads).expect("texts have a JSON form") + "\n")),
                    false => say(&lines().into_iter().flatten().map(|head| format!("{head}\n")).collect::<String>()),
                }
            }
            AuditCommand::Accept(Accept { common }) => {
                let config = common.load(|_| ())?;
                let told = accept(&config).map_err(Failure::Failed)?;
                say(&told)
            }
            AuditCommand::Export(AuditExportArguments { patient, certificate, since, until, out, common }) => {
                let config = common.load(|_| ())?;
                if let Some(patient) = &patient {
                    may_be_patient(patient, config.registry.mode).map_err(Failure::Usage)?;
                }
                let certificate = certificate.map(Id::get);
                let asked = AuditAsked { patient, certificate, since, until, by: AuditReader::Export };
                export(&asked, &out, &config, &|event| Ok(Cow::Borrowed(event)))
            }
            AuditCommand::Who(AuditWhoArguments { patient, since, until, language, out, common }) => {
                let config = common.load(|_| ())?;
                may_be_patient(&patient, config.registry.mode).map_err(Failure::Usage)?;
                let asked =
                    AuditAsked { patient: Some(patient), certificate: None, since, until, by: AuditReader::Who };
                export(&asked, &out, &config, &|event| {
                    audit::words::told(event, language.into()).map(|words| Cow::Owned(words.into_bytes()))
                })
            }
        }
    }
}

/// What is next where the trail is not as it was written, or that cannot be told.
const NEXT: &str = "\nnext: keep a copy of the data folder as it is; `hcert verify` names what else is damaged, and `hcert audit verify \
                    --head` compares the trail with a head that was kept elsewhere; tell whoever is responsible for data protection \
                    of a trail that was changed";

fn verify(head: Option<ChainHead>, json: bool, config: &Config) -> Result<(), Failure> {
    let request = CommandRequest::AuditVerify { head: head.map(|head| head.to_string()) };
    let (report, is_whole) = match open::server(config, &request).map_err(Failure::Failed)? {
        Some(server) => told(&server, &mut |_| Ok(())).map_err(Failure::Failed)?,
        None => match expect_trail(config) {
            Ok(()) => at_rest(head, config).map_err(Failure::Failed)?,
            Err(problem) => match missing_trail(config) {
                Some(missing) => (format!("wrong: {missing}\n"), false),
                None => return Err(Failure::Failed(problem)),
            },
        },
    };
    say(&match json {
        true => json!({"whole": is_whole, "report": report.lines().collect::<Vec<_>>()}).to_string() + "\n",
        false => report,
    })?;
    if is_whole {
        Ok(())
    } else {
        Err(Failure::Wrong(format!("the audit trail is not as it was written, or that cannot be told{NEXT}")))
    }
}

/// The newest heads, from the running server where there is one. Those of a stopped folder are none of a trail that is damaged: who keeps
/// one believes that it stands for everything before.
fn heads(config: &Config) -> Result<NewestHeads, String> {
    if let Some(server) = open::ask(config, &CommandRequest::Heads)? {
        return server.answer::<Result<NewestHeads, String>>()?;
    }
    let engine = open::look(config)?;
    let found = trail_at_rest(config, open::kept_head(&engine)).and_then(|trail| bulk::heads(&engine, trail));
    engine.close();
    found
}

/// The head of the trail of a stopped folder; none where there is no trail. `kept` is the one that the store kept of it.
///
/// # Errors
/// It cannot be read, or is not as it was written.
fn trail_at_rest(config: &Config, kept: Option<ChainHead>) -> Result<Option<ChainHead>, String> {
    let folder = audit::folder(&config.storage.data);
    if !folder.is_dir() {
        return Ok(None);
    }
    let verified = audit::verify(&TrailFiles::list(&folder).map_err(|error| error.to_string())?, kept.as_slice())?;
    match verified.is_whole() {
        true => Ok(Some(verified.head)),
        false => Err(format!("{TRAIL_DAMAGED}: hcert audit verify says what is wrong")),
    }
}

/// What is wrong with a folder without a trail. None when its store has never had one, or cannot be opened.
fn missing_trail(config: &Config) -> Option<String> {
    let engine = open::look(config).ok()?;
    let problem = bulk::missing_trail(&engine);
    engine.close();
    problem
}

/// Checks the trail of a folder without a server. The event of the check is written only behind a trail that is whole: opening a damaged
/// one to write would cut its end off.
fn at_rest(head: Option<ChainHead>, config: &Config) -> Result<(String, bool), String> {
    let trail = TrailFiles::list(&audit::folder(&config.storage.data)).map_err(|error| error.to_string())?;
    // Its lock keeps another process from the trail. A store that is damaged is no reason not to look at the trail.
    let engine = open::look(config).map(Arc::new);
    let kept = engine.as_deref().ok().and_then(open::kept_head);
    let known: Vec<ChainHead> = head.into_iter().chain(kept).collect();
    let at_hand = engine.as_ref().ok();
    let subjects = at_hand.map(subjects);
    let hashes = at_hand.map(|engine| |change| bulk::hash_of_change(engine, change));
    let beside = StoreBeside { subjects: subjects.as_ref(), hashes: hashes.as_ref().map(|hashes| hashes as _) };
    let verified = audit::verify_with(&trail, &known, beside)?;
    let (told, is_possible) = match &engine {
        Ok(engine) => match bulk::beside_store(engine, &verified) {
            Ok(note) => (note.map(|note| format!("note: {note}\n")).unwrap_or_default(), true),
            Err(problem) => (problem + "\n", false),
        },
        Err(problem) if problem.contains(DAMAGED) => {
            // Only the store, or a head kept elsewhere, reports a trail whose end was cut off.
            let end = if head.is_some() {
                ""
            } else {
                ", which alone tells whether its end was cut off: give one with --head"
            };
            (format!("the trail was not compared with the store{end}: {problem}\n"), head.is_some())
        }
        Err(problem) => return Err(problem.clone()),
    };
    let is_whole = verified.is_whole() && is_possible;
    if let Ok(engine) = engine
        && is_whole
    {
        open::tell_of_look(config, &engine, AuditAction::AuditVerify, "hcert audit verify")?;
    }
    Ok((verified.report() + &told, is_whole))
}

/// Makes of an event, a line of JSON, what is written of it.
type EventWriter<'f> = &'f dyn Fn(&[u8]) -> Result<Cow<[u8]>, String>;

/// Writes the events that are asked for as `form` makes them of lines of JSON.
fn export(asked: &AuditAsked, out: &OutputArguments, config: &Config, form: EventWriter) -> Result<(), Failure> {
    let mut out = out.open()?;
    let done = exported(asked, config, &mut |event| {
        out.write_all(&form(event)?).map_err(|error| format!("writing failed: {error}"))
    });
    let is_whole = done.as_ref().is_ok_and(|(_, is_whole)| *is_whole);
    let report = out.finish(done.map(|(report, _)| report))?;
    match report {
        Some(report) if !is_whole => Err(Failure::Wrong(report)),
        report => {
            report.into_iter().for_each(note);
            Ok(())
        }
    }
}

/// Hands over the events that are asked for, each a line of JSON. Tells how many, and whether all could be read.
fn exported(
    asked: &AuditAsked,
    config: &Config,
    each: &mut dyn FnMut(&[u8]) -> Result<(), String>,
) -> Result<(String, bool), String> {
    if let Some(server) = open::server(config, &CommandRequest::AuditExport(asked.clone()))? {
        return told(&server, each);
    }
    let engine = engine(config)?;
    let log = open::trail_of_before(config, &engine)?;
    let names = open::names(config, &config.base_url());
    let done = bulk::export_audit(&engine, &log, asked, &names, each);
    let done = done.and_then(|done| bulk::hand_head_over(&engine, &log).map(|()| done));
    drop(log);
    engine.close();
    done
}

/// Copies the events that a server sends; its last line says how it ended.
fn told(
    server: &socket::CommandConnection,
    each: &mut dyn FnMut(&[u8]) -> Result<(), String>,
) -> Result<(String, bool), String> {
    match server.until_end("{\"resourceType\"", each)? {
        AuditResult::Done { report, is_whole } => Ok((report, is_whole)),
        AuditResult::Failed { problem } => Err(problem),
    }
}

/// The data folder. Its lock keeps another process from the trail.
fn engine(config: &Config) -> Result<Engine, String> {
    expect_trail(config)?;
    open::engine(config, system_clock())
}

fn accept(config: &Config) -> Result<String, String> {
    if let Some(server) = open::server(config, &CommandRequest::AuditAccept)? {
        return told(&server, &mut |_| Ok(())).map(|(report, _)| report + "\n");
    }
    let engine = engine(config)?;
    let log = open::trail_of_before(config, &engine)?;
    let now = system_clock()();
    let done = bulk::accept_lost(&engine, &log, now)
        .and_then(|()| changes::catch_up(&engine, &log, now))
        .and_then(|_| bulk::accept_trail(&engine, &log));
    drop(log);
    engine.close();
    done.map(|report| report + "\n")
}

fn expect_trail(config: &Config) -> Result<(), String> {
    let folder = &config.storage.data;
    open::expect_regular_files(folder)?;
    match audit::folder(folder).is_dir() {
        true => Ok(()),
        false => {
            open::expect_store(config)?;
            Err(format!("{}: there is no audit trail", folder.display()))
        }
    }
}

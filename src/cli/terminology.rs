//! `hcert terminology`: code lists into the data folder, out of it, and what is there, through the running server where there is one.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{Common, Failure, open, report, say};
use crate::audit::AuditAction;
use crate::config::Config;
use crate::interaction::limits::TERMINOLOGY_FILE_BYTES_MAX;
use crate::interaction::{ListLine, Lists};
use crate::socket::CommandRequest;
use certificate::terminology;
use engine::{Engine, system_clock};
use fhir::date_time::instant;

/// Load, list or remove code systems and value sets
#[derive(Args, Debug)]
pub(super) struct TerminologyArguments {
    #[command(subcommand)]
    command: TerminologyCommand,
}

#[derive(Debug, Subcommand)]
enum TerminologyCommand {
    Load(TerminologyLoadArguments),
    List(TerminologyListArguments),
    Remove(Remove),
}

/// Add code systems and value sets, or replace those with the same address
///
/// A file holds a CodeSystem, a ValueSet, a Bundle of them, or one of these on each line. All lists of a command are taken, or none.
/// A running server uses them from the next request on.
#[derive(Args, Debug)]
struct TerminologyLoadArguments {
    /// The files to read, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Tell the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

/// Show every code system and value set, those that ship and those that were loaded
#[derive(Args, Debug)]
struct TerminologyListArguments {
    /// Tell the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

/// Remove a loaded list; the one that ships under its address is used again
#[derive(Args, Debug)]
struct Remove {
    /// Address of the code system or value set
    url: String,
    /// Tell the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

impl TerminologyArguments {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        match self.command {
            TerminologyCommand::Load(TerminologyLoadArguments { files, json, common }) => {
                show(&load(&files, &settings(common)?)?, json)
            }
            TerminologyCommand::List(TerminologyListArguments { json, common }) => {
                show(&list(&settings(common)?)?, json)
            }
            TerminologyCommand::Remove(Remove { url, json, common }) => remove(&url, json, &settings(common)?),
        }
    }
}

fn settings(common: Common) -> Result<Config, Failure> {
    let config = common.load(|_| ())?;
    open::for_owner_only();
    Ok(config)
}

fn load(files: &[PathBuf], config: &Config) -> Result<Vec<ListLine>, Failure> {
    let mut lists = Vec::new();
    let mut problems = Vec::new();
    for file in files {
        let read = read(file).and_then(|bytes| terminology::read_file(&bytes));
        match read {
            Ok(read) => read.iter().for_each(|list| {
                list.write(&mut lists);
                lists.push(b'\n');
            }),
            Err(told) => problems.extend(told.iter().map(|problem| format!("{}: {problem}", file.display()))),
        }
    }
    if !problems.is_empty() {
        return Err(failed(&problems));
    }
    let done: Result<Vec<ListLine>, Vec<String>> = match ask(config, &CommandRequest::TerminologyLoad, &lists)? {
        Some(answer) => answer,
        None => in_folder(open::engine(config, system_clock()), config, Some("hcert terminology load"), |own| {
            own.load(&lists, system_clock()())
        })?,
    };
    done.map_err(|problems| failed(&problems))
}

fn list(config: &Config) -> Result<Vec<ListLine>, Failure> {
    Ok(match ask(config, &CommandRequest::TerminologyList, b"")? {
        Some(lines) => lines,
        None => in_folder(open::existing(config), config, None, Lists::lines)?,
    })
}

fn remove(url: &str, json: bool, config: &Config) -> Result<(), Failure> {
    let done: Result<(), Vec<String>> =
        match ask(config, &CommandRequest::TerminologyRemove { url: url.to_owned() }, b"")? {
            Some(done) => done,
            None => {
                in_folder(open::existing(config), config, Some("hcert terminology remove"), |lists| lists.remove(url))?
            }
        };
    done.map_err(|problems| failed(&problems))?;
    report(json, format_args!("removed {url}"), &json!({"removed": url}))
}

/// The bytes of a file, no more than are allowed.
fn read(file: &Path) -> Result<Vec<u8>, Vec<String>> {
    let mut bytes = Vec::new();
    let read = |source: &mut dyn Read, bytes| source.take(TERMINOLOGY_FILE_BYTES_MAX as u64 + 1).read_to_end(bytes);
    let done = match file.as_os_str() == "-" {
        true => read(&mut io::stdin(), &mut bytes),
        false => File::open(file).and_then(|mut file| read(&mut file, &mut bytes)),
    };
    done.map_err(|error| vec![error.to_string()])?;
    if bytes.len() > TERMINOLOGY_FILE_BYTES_MAX {
        return Err(vec![format!("larger than {TERMINOLOGY_FILE_BYTES_MAX} bytes")]);
    }
    Ok(bytes)
}

/// Asks the running server; nothing when there is none.
fn ask<T: DeserializeOwned>(config: &Config, request: &CommandRequest, mut bytes: &[u8]) -> Result<Option<T>, Failure> {
    let folder = &config.storage.data;
    let problem = |error: io::Error| Failure::Failed(format!("{}: {error}", folder.display()));
    let Some(connection) = open::server(config, request).map_err(Failure::Failed)? else { return Ok(None) };
    connection.send_all(&mut bytes).map_err(problem)?;
    let mut line = String::new();
    connection.lines().and_then(|mut lines| lines.read_line(&mut line)).map_err(problem)?;
    let answer = serde_json::from_str(&line);
    answer.map(Some).map_err(|error| Failure::Failed(format!("the server's answer is not understood: {error}")))
}

/// Works on the lists of a folder that no server has. `command` changes them, so it is written down.
fn in_folder<T>(
    opened: Result<Engine, String>,
    config: &Config,
    command: Option<&str>,
    work: impl FnOnce(&Lists) -> T,
) -> Result<T, Failure> {
    let engine = Arc::new(opened.map_err(Failure::Failed)?);
    if let Some(command) = command {
        open::tell(config, &engine, AuditAction::TerminologyChange, command, None, None).map_err(Failure::Failed)?;
    }
    let names = open::names(config, &config.base_url());
    let lists = Lists::open_to_mend(engine.clone(), names, config.validation.strict);
    let done = lists.map(|lists| work(&lists));
    engine.close();
    done.map_err(Failure::Failed)
}

/// One line for each list, with columns that are separated by tabs, or a JSON list.
fn show(lines: &[ListLine], json: bool) -> Result<(), Failure> {
    if json {
        return say(&format!("{}\n", json!(lines)));
    }
    let line = |line: &ListLine| {
        let ListLine { resource_type, url, is_complete, codes, loaded_at } = line;
        let content = if *is_complete { "complete" } else { "fragment" };
        let codes = codes.map_or("-".to_owned(), |codes| codes.to_string());
        let origin = loaded_at.map_or("shipped".to_owned(), |at| format!("loaded\t{}", instant(at)));
        format!("{resource_type}\t{url}\t{content}\t{codes}\t{origin}\n")
    };
    say(&lines.iter().map(line).collect::<String>())
}

fn failed(problems: &[String]) -> Failure {
    Failure::Failed(format!("nothing was changed:\n  {}", problems.join("\n  ")))
}

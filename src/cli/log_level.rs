//! `hcert log level`: what a running service writes to its log.

use std::io::BufRead;

use clap::{Args, Subcommand};

use super::{Common, Failure, open, say};
use crate::socket::CommandRequest;
use base::log::{LogOrder, LogState};

/// Look at the log of the running service, or change what is written to it
#[derive(Args, Debug)]
pub(super) struct LogCommand {
    #[command(subcommand)]
    what: LevelRequest,
}

#[derive(Subcommand, Debug)]
enum LevelRequest {
    Level(LevelOf),
}

/// Show or change the level and the sampling of the running service's log
///
/// Without a level and without --sample it shows what holds. A change holds until the service stops; its next start takes the settings
/// log.level and log.sample.
#[derive(Args, Debug)]
struct LevelOf {
    /// Least important line that is written: error, warn, info, debug or trace. Without --target for all modules
    level: Option<String>,
    /// Module that the level is for, such as hcert::http
    #[arg(long, value_name = "MODULE", requires = "level")]
    target: Option<String>,
    /// Of answers below status 400 one in N has a line, 1 to 1000000; failures are not sampled
    #[arg(long, value_name = "N")]
    sample: Option<u32>,
    /// Tell the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

impl LogCommand {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        let LevelRequest::Level(LevelOf { level, target, sample, json, common }) = self.what;
        let config = common.load(|_| ())?;
        let order = LogOrder { level, target, sample };
        order.check().map_err(Failure::Usage)?;
        let Some(server) = open::ask(&config, &CommandRequest::Log(order)).map_err(Failure::Failed)? else {
            open::expect_store(&config).map_err(Failure::Failed)?;
            let folder = config.storage.data.display();
            let advice = "the next start takes the settings log.level and log.sample";
            return Err(Failure::Failed(format!("no service runs on {folder}; {advice}")));
        };
        let mut line = String::new();
        let read = server.lines().and_then(|mut lines| lines.read_line(&mut line));
        read.map_err(|error| Failure::Failed(error.to_string()))?;
        let told = serde_json::from_str::<Result<LogState, String>>(&line);
        let told = told.map_err(|error| Failure::Failed(format!("the server's answer is not understood: {error}")))?;
        let state = told.map_err(Failure::Failed)?;
        say(&match json {
            true => serde_json::to_string(&state).expect("texts and numbers have a JSON form") + "\n",
            false => in_words(&state),
        })
    }
}

fn in_words(state: &LogState) -> String {
    let targets = state.targets.iter().map(|(target, level)| format!("{target:20} {level}\n"));
    format!("{:20} {}\n{}{:20} {}\n", "level", state.level, targets.collect::<String>(), "sample", state.sample)
}

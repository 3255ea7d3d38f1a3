//! `hcert clock`: how the clock is, and what an operator decides about it; in the running server where there is one.

use std::io::BufRead;

use clap::{Args, Subcommand};

use super::{Common, Failure, open, say};
use crate::bulk;
use crate::config::Config;
use crate::socket::{CommandConnection, CommandRequest};
use engine::{ClockDecision, ClockState};
use fhir::date_time;

/// Show whether the system clock is trusted, or decide about it
///
/// Changes are refused while the clock is more than a minute behind the newest time stamp, or has jumped forward by more than ten
/// minutes since the server started. Without a running server only the first can be seen.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct ClockArguments {
    #[command(subcommand)]
    decide: Option<Decide>,
    /// Tell it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Subcommand)]
enum Decide {
    /// Take changes from now on: the clock is right
    ///
    /// While the clock is behind the newest time stamp, all changes get that time stamp. A jump forward is trusted.
    Accept(Common),
    /// Let time begin again at the system clock
    ///
    /// Time stamps of changes from now on may be smaller than those before; the numbers of changes still order them. For a store that a
    /// wrong clock has led into the future. Set the clock right first.
    Reset(Common),
}

impl ClockArguments {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        let (common, decision) = match self.decide {
            None => (self.common, None),
            Some(Decide::Accept(common)) => (common, Some(ClockDecision::Accept)),
            Some(Decide::Reset(common)) => (common, Some(ClockDecision::Reset)),
        };
        let config = common.load(|_| ())?;
        open::for_owner_only();
        let state = clock(&config, decision).map_err(Failure::Failed)?;
        say(&match self.json {
            true => serde_json::to_string(&state).expect("texts and numbers have a JSON form") + "\n",
            false => in_words(&state),
        })
    }
}

fn clock(config: &Config, decision: Option<ClockDecision>) -> Result<ClockState, String> {
    let request = CommandRequest::Clock { decision };
    let Some(decision) = decision else {
        let Some(server) = open::ask(config, &request)? else {
            let engine = open::look(config)?;
            let state = engine.clock();
            engine.close();
            return Ok(state);
        };
        return answered(&server);
    };
    if let Some(server) = open::server(config, &request)? {
        return answered(&server);
    }
    let engine = open::existing(config)?;
    let decided = open::trail(config, &engine).and_then(|trail| {
        let decided = bulk::clock(&engine, &trail, Some(decision))?;
        bulk::hand_head_over(&engine, &trail).map(|()| decided)
    });
    engine.close();
    decided
}

fn answered(server: &CommandConnection) -> Result<ClockState, String> {
    let mut line = String::new();
    server.lines().and_then(|mut lines| lines.read_line(&mut line)).map_err(|error| error.to_string())?;
    let told = serde_json::from_str::<Result<ClockState, String>>(&line);
    told.map_err(|error| format!("the server's answer is not understood: {error}"))?
}

fn in_words(state: &ClockState) -> String {
    let newest = state.newest.map_or("none".to_owned(), date_time::instant);
    let verdict = match &state.problem {
        Some(problem) => format!(
            "changes are refused, since {problem}\n\n\
             Set the clock right: changes are taken again within a second. Or decide:\n  \
             hcert clock accept   the clock is right; time stamps stay at the newest one until the clock has caught up\n  \
             hcert clock reset    time begins again at this clock\n"
        ),
        None if state.is_accepted => {
            "changes are taken, and get the newest time stamp until the clock has caught up (accepted)\n".to_owned()
        }
        None => "changes are taken\n".to_owned(),
    };
    let reset = state.reset.map_or(String::new(), |reset| {
        format!("time began again  behind change {}, at {}\n", reset.change, date_time::instant(reset.at))
    });
    format!("system clock      {}\nnewest time stamp {newest}\n{reset}{verdict}", date_time::instant(state.at))
}

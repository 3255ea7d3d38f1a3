//! `hcert token`: an access token by the developer's key, for trying the service out.

use std::io::BufRead;

use clap::Args;

use super::{Common, Failure, note, open, say};
use crate::access::token::{DEVELOPER_KEY_FILE, TokenRequest, issue_in};
use crate::bulk;
use crate::config::Config;
use crate::socket::CommandRequest;
use engine::{FolderPurpose, STORE_FILE, system_clock};

/// Print an access token for trying the service out
///
/// It is signed with the key in the data folder, which is made if it is not there. `hcert dev` over the same folder takes it, and
/// `hcert serve` takes none of them; none has to run for it to be made. Nothing but the token goes to standard output: TOKEN=$(hcert token …)
#[derive(Args, Debug)]
pub(super) struct TokenArguments {
    /// What the caller is, such as doctor, patient or gov-official
    #[arg(long)]
    role: String,
    /// The caller's personal code
    #[arg(long, value_name = "CODE")]
    person: String,
    /// Registry code of the caller's institution
    #[arg(long, value_name = "CODE")]
    organization: Option<String>,
    /// Personal code of the patient the caller acts for [default for a patient: the caller]
    #[arg(long, value_name = "CODE")]
    patient: Option<String>,
    /// Registry code of the employer the caller acts for
    #[arg(long, value_name = "CODE")]
    represented_party: Option<String>,
    /// Name of the caller's software
    #[arg(long, value_name = "NAME")]
    application: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Writes down that a token was made, through the running server where there is one.
fn tell(config: &Config, request: &TokenRequest) -> Result<(), String> {
    let (person, role, organization) = (request.person.clone(), request.role.clone(), request.organization.clone());
    let request =
        CommandRequest::TokenIssued { person: person.clone(), role: role.clone(), organization: organization.clone() };
    let Some(server) = open::server(config, &request)? else {
        let folder = &config.storage.data;
        // One that was filled and never served: whether it is for real data is not the key's to say.
        if folder.join(STORE_FILE).exists() && !folder.join(DEVELOPER_KEY_FILE).exists() {
            let engine = open::engine(config, system_clock())?;
            engine.expect_purpose(FolderPurpose::Developer).map_err(|error| error.to_string())?;
            engine.close();
            return Err("no hcert dev has served this data folder yet; start hcert dev over it first".to_owned());
        }
        let engine = open::developers_engine(config, system_clock())?;
        let log = open::trail_of_before(config, &engine)?;
        let written = bulk::write_token_down(&log, person, role, organization);
        let written = written.and_then(|()| bulk::hand_head_over(&engine, &log));
        drop(log);
        engine.close();
        return written;
    };
    let mut line = String::new();
    server.lines().and_then(|mut lines| lines.read_line(&mut line)).map_err(|error| error.to_string())?;
    serde_json::from_str(&line).map_err(|error| format!("the server's answer is not understood: {error}"))?
}

impl TokenArguments {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        let TokenArguments { role, person, organization, patient, represented_party, application, common } = self;
        let config = common.load(|_| ())?;
        let request = TokenRequest {
            person,
            role,
            organization,
            patient,
            represented_party,
            application,
            ..TokenRequest::default()
        }
        .checked();
        let request = request.map_err(|wrong| Failure::Usage(wrong.0))?;
        let policy = open::policy(&config).map_err(Failure::Usage)?;
        open::for_owner_only();
        open::expect_regular_files(&config.storage.data).map_err(Failure::Failed)?;
        let folder = &config.storage.data;
        let problem = |error: &dyn std::fmt::Display| Failure::Failed(format!("{}: {error}", folder.display()));
        open::expect_writable(folder).map_err(Failure::Failed)?;
        std::fs::create_dir_all(folder).map_err(|error| problem(&error))?;
        // Before a key is made: a folder of `hcert serve` would be none any more with it.
        tell(&config, &request).map_err(|error| problem(&error))?;
        let now = system_clock()().div_euclid(1000);
        let issued = issue_in(folder, &config, &request, now).map_err(|error| problem(&error))?;
        say(&format!("{}\n", issued.token))?;
        let unknown = policy.permissions.unknown_role(&request.role);
        unknown.into_iter().for_each(|problem| note(format_args!("warning: {problem}")));
        Ok(())
    }
}

//! `hcert completions` and `hcert man`: what shells and `man` need to know of the command line, made of the command line itself.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use super::{Failure, say};

/// Print completions for a shell
///
/// bash:  hcert completions bash > /etc/bash_completion.d/hcert
/// zsh:   hcert completions zsh > "${fpath[1]}/_hcert"
/// fish:  hcert completions fish > ~/.config/fish/completions/hcert.fish
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(super) struct Completions {
    #[arg(value_enum)]
    shell: Shell,
}

/// Print the man page of hcert, or write the pages of all commands into a folder
///
/// To read one without installing it: hcert man > hcert.1; man ./hcert.1
#[derive(Args, Debug)]
pub(super) struct Man {
    /// Write all pages into this folder, which has to be there: hcert.1, hcert-serve.1 and so on
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Completions {
    /// Runs the command, a part of the command line of `program`.
    pub(super) fn run(self, mut program: Command) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, "hcert", &mut script);
        say(&String::from_utf8_lossy(&script))
    }
}

impl Man {
    /// Runs the command, a part of the command line of `program`.
    pub(super) fn run(self, program: Command) -> Result<(), Failure> {
        // The pages of the commands say what `hcert help` would.
        let program = program.disable_help_subcommand(true);
        if let Some(folder) = self.dir {
            let written = clap_mangen::generate_to(program, &folder);
            return written.map_err(|error| Failure::Failed(format!("{}: {error}", folder.display())));
        }
        let mut page = Vec::new();
        clap_mangen::Man::new(program).render(&mut page).map_err(|error| Failure::Failed(error.to_string()))?;
        say(&String::from_utf8_lossy(&page))
    }
}

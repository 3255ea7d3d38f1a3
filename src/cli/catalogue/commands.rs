//! `docs/reference/commands.md`: the help of every command.

use std::fmt::Write;

use clap::Command;

const ABOUT: &str = "\
<!-- Made by `hcert catalogue --page commands`; a test compares. -->

# Commands

For everybody who types: what `hcert COMMAND --help` prints, for every command.
";

/// Characters of a line of help.
const LINE_CHARACTERS: usize = 100;

/// The whole file, of the command line of the program.
pub(super) fn page(program: Command) -> String {
    let mut program = program.term_width(LINE_CHARACTERS);
    // Makes the names that usage lines begin with.
    program.build();
    let mut text = ABOUT.to_owned();
    add(&mut program, "hcert", &mut text);
    text
}

/// A command and those below it.
fn add(command: &mut Command, name: &str, text: &mut String) {
    let _ = writeln!(text, "\n## {name}\n\n```text\n{}\n```", command.render_long_help().to_string().trim_end());
    for below in command.get_subcommands_mut().filter(|below| !below.is_hide_set()) {
        let name = format!("{name} {}", below.get_name());
        if !name.ends_with(" help") {
            add(below, &name, text);
        }
    }
}

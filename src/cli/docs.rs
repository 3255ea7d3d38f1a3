//! `hcert docs`: the documents that the program carries, as a list and one by one.

use super::{Failure, say};
use crate::documents::Documents;
use clap::Args;

/// Show the documents of hcert: a list of all pages, or one of them
///
/// The pages are part of the program, so they describe this version of it. They are Markdown. `hcert docs install | less`
/// shows one screen at a time. The files that pages tell to copy are there too: `hcert docs hcert.toml > hcert.toml`.
#[derive(Args, Debug)]
pub(super) struct DocsArguments {
    /// The page: its path in the list, the last part of that, or its folder, in any case [default: the list]
    #[arg(value_name = "PAGE")]
    page: Option<String>,
}

impl DocsArguments {
    /// Runs the command.
    pub(super) fn run(self, documents: &Documents) -> Result<(), Failure> {
        let Some(name) = self.page else { return say(&list(documents)) };
        let text = documents.page(&name).map(|page| page.text).or_else(|| documents.picture(&name));
        let text = text.or_else(|| documents.file(&name));
        say(text.ok_or_else(|| Failure::Usage(unknown(documents, &name)))?)
    }
}

/// Paths and titles, by group.
fn list(documents: &Documents) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let width = documents.pages().map(|page| page.path.len()).max().unwrap_or_default();
    let mut shown = format!(
        "The documents of hcert {version}; `hcert docs PAGE` prints one, by its path or the last part of it.\n\n"
    );
    let mut group = "";
    for page in documents.pages() {
        if page.group != group {
            group = page.group;
            shown.push_str(&format!("\n{group}\n"));
        }
        shown.push_str(&format!("  {:width$}  {}\n", page.path, page.title));
    }
    shown.push_str("\nFiles to copy\n");
    documents.file_paths().for_each(|path| shown.push_str(&format!("  {path}\n")));
    shown
}

/// Why there is no such page, and what to do.
fn unknown(documents: &Documents, name: &str) -> String {
    if let Some(file) = documents.in_sources(name) {
        return format!("the page {file} is for those who change the code; it is in the sources, not in the program");
    }
    let near = documents.nearest(name);
    let meant = if near.is_empty() { ";".to_owned() } else { format!("; did you mean {}?", near.join(", ")) };
    format!("there is no page '{name}'{meant} `hcert docs` lists all pages")
}

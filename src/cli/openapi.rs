//! `hcert openapi`: the description of the API, and the requests of it in the forms of programs that send requests.

mod bruno;
mod http_file;
mod postman;

use std::io::Write;
use std::path::PathBuf;

use super::Failure;
use super::config::ServingCommand;
use super::open::{names, token_policy};
use super::output::OutputArguments;
use crate::interaction::openapi::sample::SampleRequest;
use crate::interaction::openapi::{ApiSettings, description};
use certificate::search::paging::Counts;

/// Write the description of the API (OpenAPI 3.1), or its requests for a program that sends them
///
/// A running service has the same description at /openapi.json.
///
/// For an editor with an HTTP client:  hcert openapi --as http --out hcert.http
/// For Bruno:                          hcert openapi --as bruno --dir hcert-bruno
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(super) struct OpenApi {
    /// What to write
    #[arg(long = "as", value_enum, default_value_t = Form::Openapi)]
    form: Form,

    /// The command that serves it: with serve, requests bring a token
    #[arg(long = "for", value_enum, value_name = "COMMAND", default_value = "dev")]
    command: ServingCommand,

    #[command(flatten)]
    out: OutputArguments,

    /// With --as bruno: the folder to write the collection into, which is made where it is missing
    #[arg(long, value_name = "DIR", conflicts_with = "out", required_if_eq("form", "bruno"))]
    dir: Option<PathBuf>,

    /// File with settings, for addresses, namespaces and tokens [default: hcert.toml in the working directory, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// OpenAPI 3.1 in JSON
    Openapi,
    /// A file of requests for editors (IntelliJ, Visual Studio Code)
    Http,
    /// A collection for Postman and what reads its form (v2.1)
    Postman,
    /// A folder for Bruno
    Bruno,
}

impl OpenApi {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        let mut config = super::settings(self.config)?;
        config.access.mode = self.command.mode();
        let base_url = config.base_url();
        let (names, tokens) = (names(&config, &base_url), token_policy(&config));
        let count = Counts { default: config.search.count_default, max: config.search.count_max };
        let document = description(&ApiSettings { base_url: &base_url, names: &names, count, tokens: &tokens });
        let requests = SampleRequest::all(&document);
        let text = match self.form {
            Form::Openapi => format!("{document:#}\n"),
            Form::Http => http_file::text(&requests, &base_url),
            Form::Postman => format!("{:#}\n", postman::collection(&requests, &base_url)),
            Form::Bruno => {
                let folder = self.dir.unwrap_or_default();
                return bruno::write(&requests, &base_url, &folder)
                    .map_err(|error| Failure::Failed(format!("{}: {error}", folder.display())));
            }
        };
        let mut out = self.out.open()?;
        let done = out.write_all(text.as_bytes()).map_err(|error| error.to_string());
        out.finish(done).map(drop)
    }
}

//! `hcert generate`: synthetic certificates as NDJSON, one FHIR history `Bundle.entry` per line, ready for `hcert import`; or their
//! patients, for `hcert patients import`.

use std::io::{self, Write};
use std::path::PathBuf;

use super::Failure;
use super::output::OutputArguments;
use crate::bench::parse_count;
use crate::corpus::Corpus;
use certificate::Renaming;

/// Write synthetic certificates with their histories, one change per line, in the order of time.
///
/// The same count, seed and [namespaces] give the same bytes on every machine. The people do not exist, but a valid personal code may be
/// somebody's: do not send these data to a real registry.
#[derive(Debug, clap::Args)]
pub(super) struct Generate {
    /// Certificates to generate, 1 to 100 million, such as 1000, 10k or 1M; each has 1.4 versions on average.
    #[arg(long, value_name = "N", default_value = "1000", value_parser = parse_count)]
    pub count: u64,

    /// Any number; another one gives other certificates.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,

    #[command(flatten)]
    pub out: OutputArguments,

    /// File with settings, for the namespaces [default: hcert.toml in the working directory, if it is there]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Write the patients that these certificates refer to instead, for `hcert patients import`.
    #[arg(long)]
    pub patients: bool,
}

impl Generate {
    /// Runs the command.
    pub(super) fn run(self) -> Result<(), Failure> {
        let config = super::settings(self.config.clone())?;
        let renaming = Renaming::new(&super::open::names(&config, &config.base_url()));
        generate(&self, &renaming)
    }
}

fn generate(args: &Generate, renaming: &Renaming) -> Result<(), Failure> {
    let corpus = Corpus::new(args.seed, args.count);
    let mut out = args.out.open()?;
    let done = match args.patients {
        true => write_patients(&corpus, renaming, &mut out),
        false => write(corpus, renaming, &mut out),
    };
    out.finish(done.map_err(|error| error.to_string())).map(drop)
}

fn write(corpus: Corpus, renaming: &Renaming, out: &mut impl Write) -> io::Result<()> {
    let mut line = String::new();
    for change in corpus {
        line.clear();
        change.write_entry(&mut line);
        renaming.apply(&mut line);
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

fn write_patients(corpus: &Corpus, renaming: &Renaming, out: &mut impl Write) -> io::Result<()> {
    let mut line = String::new();
    for subject in corpus.subjects() {
        line.clear();
        corpus.write_patient(subject, &mut line);
        renaming.apply(&mut line);
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        args: Generate,
    }

    fn parse(arguments: &[&str]) -> Result<Generate, String> {
        Command::try_parse_from([&["generate"], arguments].concat())
            .map(|command| command.args)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_count_outside_its_bounds_is_refused_in_clear_words() {
        for (count, words) in [
            ("0", "at least one certificate"),
            ("100000001", "at most 100000000 certificates"),
            ("-5", "'-5'"),
            ("ten", "not a number of certificates"),
            ("", "not a number of certificates"),
        ] {
            let refused = parse(&["--count", count]).unwrap_err();
            assert!(refused.contains(words), "{count:?}: {refused}");
        }
        assert_eq!(parse(&["--count", "100M"]).unwrap().count, 100_000_000);
    }

    #[test]
    fn a_file_gets_one_line_per_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("corpus.ndjson");
        let args = parse(&["--count", "50", "--seed", "3", "--out", path.to_str().unwrap()]).unwrap();
        generate(&args, &Renaming::default()).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), Corpus::new(3, 50).count());
        assert!(text.ends_with("}}\n"));
    }

    #[test]
    fn the_patients_of_certificates_are_written_instead_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("patients.ndjson");
        let arguments = ["--patients", "--count", "50", "--seed", "3", "--out", path.to_str().unwrap()];
        generate(&parse(&arguments).unwrap(), &Renaming::default()).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), Corpus::new(3, 50).subjects().count());
        assert!(text.lines().all(|line| line.starts_with(r#"{"resourceType":"Patient","id":"10"#)), "{text}");
    }

    #[test]
    fn a_file_that_cannot_be_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing").join("corpus.ndjson");
        let args = parse(&["--out", path.to_str().unwrap()]).unwrap();
        let error = generate(&args, &Renaming::default()).unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
    }
}

//! `hcert generate`: synthetic certificates as NDJSON, one FHIR history `Bundle.entry` per line, ready for `hcert import`; or their
//! patients, for `hcert patients import`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use super::Failure;
use crate::config::Config;
use crate::corpus::{Corpus, Renaming};
use crate::limits::CORPUS_CERTIFICATES_MAX;

/// Write synthetic certificates with their histories, one change per line, in the order of time.
///
/// The same count, seed and [namespaces] give the same bytes on every machine. The people do not exist, but a valid personal code may be
/// somebody's: do not send these data to a real registry.
#[derive(Debug, clap::Args)]
pub struct Generate {
    /// Certificates to generate, 1 to 100 million; each has 1.4 versions on average.
    #[arg(long, value_name = "N", default_value = "1000", value_parser = count)]
    pub count: u64,

    /// Any number; another one gives other certificates.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,

    /// File to write, replaced if it exists; standard output without it.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// File with settings, for the namespaces [default: hcert.toml in the working directory, if it is there]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Write the patients that these certificates refer to instead, for `hcert patients import`.
    #[arg(long)]
    pub patients: bool,
}

impl Generate {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let config = Config::load(self.config.as_deref(), std::env::vars_os(), |_| ())?;
        let renaming = Renaming::new(&super::open::names(&config, &config.base_url()));
        generate(&self, &renaming).map_err(|error| Failure::Failed(error.to_string()))
    }
}

/// Writes the corpus.
///
/// # Errors
/// The file cannot be made, or writing fails. A reader that closes the pipe has read enough: that is no error.
fn generate(args: &Generate, renaming: &Renaming) -> io::Result<()> {
    let corpus = Corpus::new(args.seed, args.count);
    let write = |out: &mut dyn Write| match args.patients {
        true => write_patients(&corpus, renaming, out),
        false => write(corpus, renaming, out),
    };
    let written = match &args.out {
        Some(path) => File::create(path)
            .and_then(|mut file| write(&mut file))
            .map_err(|error| io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))),
        None => write(&mut io::stdout().lock()),
    };
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

fn write(corpus: Corpus, renaming: &Renaming, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(256 * 1024, out);
    let mut line = String::new();
    for change in corpus {
        line.clear();
        change.write_entry(&mut line);
        renaming.apply(&mut line);
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    out.flush()
}

fn write_patients(corpus: &Corpus, renaming: &Renaming, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(256 * 1024, out);
    let mut line = String::new();
    for subject in corpus.subjects() {
        line.clear();
        corpus.write_patient(subject, &mut line);
        renaming.apply(&mut line);
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    out.flush()
}

fn count(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("at least one certificate has to be generated".to_owned()),
        Ok(count) if count <= CORPUS_CERTIFICATES_MAX => Ok(count),
        Ok(_) => Err(format!("at most {CORPUS_CERTIFICATES_MAX} certificates can be generated at once")),
        Err(_) => Err(format!("not a whole number from 1 to {CORPUS_CERTIFICATES_MAX}")),
    }
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
            ("ten", "not a whole number"),
            ("", "not a whole number"),
        ] {
            let refused = parse(&["--count", count]).unwrap_err();
            assert!(refused.contains(words), "{count:?}: {refused}");
        }
        assert_eq!(parse(&["--count", "100000000"]).unwrap().count, 100_000_000);
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

    #[test]
    fn a_full_disk_is_an_error() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert_eq!(
            write(Corpus::new(1, 3), &Renaming::default(), Full).unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
    }
}

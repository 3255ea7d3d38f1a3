//! The texts of the documents. They belong to the program and not to its library, so that a changed document is compiled into the
//! program alone. A test compares this table with `docs/SUMMARY.md`, and `tests/tidy` the summary with the folder.

use hcert::documents::Documents;

/// What `hcert docs` shows.
pub(crate) const DOCUMENTS: Documents =
    Documents { summary: include_str!("../docs/SUMMARY.md"), texts: TEXTS, pictures: PICTURES, files: FILES };

/// Pairs of a file, named as the summary names it, and its text.
macro_rules! texts {
    ($($file:literal,)*) => { &[$(($file, include_str!(concat!("../docs/", $file)))),*] };
}

#[rustfmt::skip]
const TEXTS: &[(&str, &str)] = texts![
    "../README.md",
    "tutorial/README.md",
    "tutorial/node.md",
    "tutorial/python.md",
    "how-to/README.md",
    "how-to/call-with-curl.md",
    "how-to/console.md",
    "how-to/print-certificates.md",
    "how-to/install.md",
    "how-to/secure-with-keycloak.md",
    "how-to/back-up-and-restore.md",
    "how-to/upgrade.md",
    "how-to/monitor.md",
    "how-to/move-data-in.md",
    "how-to/change-rights.md",
    "reference/api.md",
    "reference/driver-certificate.md",
    "reference/occupational-certificate.md",
    "ERRORS.md",
    "CONTRACT.md",
    "CHANGELOG.md",
    "reference/settings.md",
    "reference/commands.md",
    "reference/metrics.md",
    "OPERATIONS.md",
    "BACKUP.md",
    "MONITORING.md",
    "LOGGING.md",
    "AUDIT.md",
    "TRANSPORT.md",
    "LIMITS.md",
    "explanation/README.md",
    "explanation/architecture.md",
    "explanation/storage.md",
    "explanation/search.md",
    "explanation/decisions.md",
    "ACCESS.md",
    "VALIDATION.md",
    "SECURITY.md",
    "THREATS.md",
    "CRYPTOGRAPHY.md",
    "BENCHMARKS.md",
    "data-protection.md",
    "acceptance.md",
    "deviations.md",
    "e-its.md",
    "et/README.md",
    "et/liidestujale.md",
    "et/kaitajale.md",
];

/// Pictures of the pages, in SVG.
#[rustfmt::skip]
const PICTURES: &[(&str, &str)] = texts![
    "explanation/states.svg",
    "explanation/write.svg",
    "latency.svg",
];

/// Files of the project that its pages tell to copy.
#[rustfmt::skip]
const FILES: &[(&str, &str)] = texts![
    "../hcert.toml",
    "../data/permissions.json",
    "../packaging/hcert.toml",
    "../packaging/hcert.service",
    "../packaging/hcert-realm.json",
    "../packaging/monitoring/alerts.yaml",
    "../packaging/monitoring/grafana.json",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn the_table_has_the_pages_of_the_summary_and_no_others() {
        let of_summary = DOCUMENTS.entries().filter(|entry| entry.is_in_program()).map(|entry| entry.file);
        let of_table = TEXTS.iter().map(|(file, _)| *file);
        assert_eq!(of_table.collect::<Vec<_>>(), of_summary.collect::<Vec<_>>(), "TEXTS of src/texts.rs");
        assert!(
            DOCUMENTS.entries().any(|entry| !entry.is_in_program()),
            "the summary has no group for those who change the code"
        );
        let files: BTreeSet<&str> = DOCUMENTS.entries().map(|entry| entry.file).collect();
        assert_eq!(files.len(), DOCUMENTS.entries().count(), "the summary names a page twice");
        let paths: BTreeSet<&str> = DOCUMENTS.pages().map(|page| page.path).collect();
        assert_eq!(paths.len(), DOCUMENTS.pages().count(), "two pages have the same path");
    }

    #[test]
    fn every_page_begins_with_a_heading_and_has_a_title_and_every_picture_is_one() {
        for page in DOCUMENTS.pages() {
            let begins = page.text.trim_start();
            let behind_comment = begins.strip_prefix("<!--").and_then(|rest| rest.split_once("-->"));
            let begins = behind_comment.map_or(begins, |(_, rest)| rest.trim_start());
            assert!(begins.starts_with("# ") && !page.title.is_empty(), "{}", page.path);
        }
        for (file, text) in PICTURES {
            assert!(text.contains("<svg") && DOCUMENTS.picture(file) == Some(*text), "{file}");
        }
        let mut there = pictures_below(Path::new("docs"));
        there.sort();
        assert_eq!(there, PICTURES.iter().map(|(file, _)| format!("docs/{file}")).collect::<Vec<_>>());
    }

    fn pictures_below(folder: &Path) -> Vec<String> {
        let paths = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let of = |path: PathBuf| match path.is_dir() {
            true => pictures_below(&path),
            false => vec![path.to_string_lossy().into_owned()],
        };
        paths.flat_map(of).filter(|path| path.ends_with(".svg")).collect()
    }

    #[test]
    fn a_page_is_found_by_path_folder_or_last_part_in_any_case() {
        let path = |name: &str| DOCUMENTS.page(name).map(|page| page.path);
        for name in ["how-to/install", "how-to/install.md", "docs/how-to/install.md", "Install", "install/"] {
            assert_eq!(path(name), Some("how-to/install"), "{name}");
        }
        for name in ["ACCESS", "access", "Access.md", "docs/ACCESS.md", "../ACCESS.md#rights"] {
            assert_eq!(path(name), Some("ACCESS"), "{name}");
        }
        assert_eq!(path("README.md"), Some("README"), "the project's own, not that of a folder");
        assert_eq!((path("how-to"), path("et/")), (Some("how-to/README"), Some("et/README")));
        assert_eq!(path("security"), Some("SECURITY"), "how to report a vulnerability is in the sources");
        for name in ["", "to/install", ".md", "latency", "latency.svg", "hot-paths", "contributing"] {
            assert_eq!(path(name), None, "{name}");
        }
    }

    #[test]
    fn a_file_to_copy_is_found_by_its_path_and_by_its_name() {
        for (name, path) in [
            ("hcert.toml", "hcert.toml"),
            ("packaging/hcert.toml", "packaging/hcert.toml"),
            ("permissions.json", "data/permissions.json"),
            ("hcert.service", "packaging/hcert.service"),
        ] {
            assert_eq!(DOCUMENTS.file(name), Some(fs::read_to_string(path).unwrap().as_str()), "{name}");
        }
        assert_eq!(DOCUMENTS.file("toml"), None);
        // A page of the sources with the same last part is another one.
        assert_eq!(DOCUMENTS.page("DECISIONS").map(|page| page.path), None);
        assert_eq!(DOCUMENTS.in_sources("DECISIONS").as_deref(), Some("docs/DECISIONS.md"));
    }

    #[test]
    fn what_is_in_the_sources_alone_is_named_with_its_file() {
        assert_eq!(
            DOCUMENTS.in_sources("docs/performance/hot-paths.md").as_deref(),
            Some("docs/performance/hot-paths.md")
        );
        assert_eq!(DOCUMENTS.in_sources("Contributing").as_deref(), Some("CONTRIBUTING.md"));
        assert_eq!(DOCUMENTS.in_sources("how-to/install"), None);
        for entry in DOCUMENTS.entries().filter(|entry| !entry.is_in_program()) {
            let file = DOCUMENTS.in_sources(entry.file).unwrap();
            assert!(Path::new(&file).is_file(), "{file}");
        }
    }

    #[test]
    fn a_misspelt_name_has_its_likely_pages() {
        assert_eq!(DOCUMENTS.nearest("instal").first(), Some(&"how-to/install"));
        assert_eq!(DOCUMENTS.nearest("OPERATION").first(), Some(&"OPERATIONS"));
        assert_eq!(DOCUMENTS.nearest("keycloak"), ["how-to/secure-with-keycloak"]);
        assert_eq!(DOCUMENTS.nearest("how-to/upgrad").first(), Some(&"how-to/upgrade"));
        assert_eq!(
            DOCUMENTS.nearest("certificate"),
            ["how-to/print-certificates", "reference/driver-certificate", "reference/occupational-certificate"]
        );
        for name in ["", "x", "qqqq"] {
            assert!(DOCUMENTS.nearest(name).is_empty(), "{name}: {:?}", DOCUMENTS.nearest(name));
        }
        assert!(DOCUMENTS.nearest("e").len() <= 3 && DOCUMENTS.nearest("how-to").len() == 3);
    }
}

//! Files and folders of the settings, and those in the data folder, that other users of the machine can read or change.

use std::fs;
use std::io::BufReader;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::Value;

use super::{Config, SettingsFile};
use base::{owner, regular_file};
use engine::JOURNAL_FILES;

impl SettingsFile {
    /// A warning where others can change it, or read a credential in it.
    pub fn exposed(&self) -> Option<String> {
        let what = if self.is_secret { "the settings with registry.remote.token" } else { "the settings" };
        exposed(what, &self.path, self.is_secret)
    }
}

/// What of a data folder is worth a look of its own: a link leads out of it.
const IN_DATA: [(&str, &str); 9] = [
    ("the store", "store.redb"),
    ("the store's journal", JOURNAL_FILES[0]),
    ("the store's journal", JOURNAL_FILES[1]),
    ("the search index", "index"),
    ("the audit trail", "audit"),
    ("the key that archives are signed with", "backup-signing-key"),
    ("the developer's key", "developer-key.pem"),
    ("the developer's secret", "developer-secret"),
    ("the socket for commands", "hcert.sock"),
];

/// Warnings about everything that the settings name and that others can change, or read although it is secret; the settings file first.
pub fn all(config: &Config) -> Vec<String> {
    let (token, remote, tls) = (&config.access.token, &config.registry.remote, &config.tls);
    let keys = token.jwks.as_deref().filter(|_| !token.jwks_is_address()).map(Path::new);
    let secret = remote.exchange.client_secret_file.as_deref().map(Path::new);
    let files = [
        ("the data folder", Some(&*config.storage.data), true),
        ("access.permissions", config.access.permissions.as_deref(), false),
        ("access.token.jwks", keys, keys.is_some_and(holds_private_key)),
        ("access.token.jwks_ca", token.jwks_ca.as_deref(), false),
        ("access.token.denied", token.denied.as_deref(), false),
        ("console.client_secret_file", config.console.client_secret_file.as_deref(), true),
        ("registry.remote.ca_file", remote.ca_file.as_deref(), false),
        ("registry.remote.token_file", remote.token_file.as_deref(), true),
        ("registry.remote.exchange.ca_file", remote.exchange.ca_file.as_deref(), false),
        ("registry.remote.exchange.client_secret_file", secret, true),
        ("tls.key", tls.key.as_deref(), true),
        ("tls.certificate", tls.certificate.as_deref(), false),
        ("tls.client_ca", tls.client_ca.as_deref(), false),
        ("management.token_file", config.management.token_file.as_deref(), true),
        ("management.key", config.management.key.as_deref(), true),
        ("management.certificate", config.management.certificate.as_deref(), false),
        ("backup.folder", config.backup.folder.as_deref(), false),
    ];
    let data = &config.storage.data;
    let passes = lets_pass(data);
    let within = IN_DATA.iter().filter_map(|(what, name)| exposed_within(what, &data.join(name), passes));
    let texts = config.console.texts.iter().map(|file| ("console.texts", Some(&**file), false));
    let lists = tls.client_crl.iter().map(|list| ("tls.client_crl", Some(&**list), false));
    let named = files
        .into_iter()
        .chain(lists)
        .chain(texts)
        .filter_map(|(what, path, is_secret)| exposed(what, path?, is_secret));
    let of_backups =
        config.backup.folder.iter().find_map(|folder| of_files("backup.folder", folder, lets_pass(folder), &[]));
    // What is reported by name is not reported once more as one of the files.
    let rest = of_files("the data folder", data, passes, &IN_DATA.map(|(_, name)| name));
    let named = named.chain(within).chain(rest).chain(of_backups);
    config.file.iter().filter_map(SettingsFile::exposed).chain(named).collect()
}

/// Whether a file of JSON Web Keys has a key that signs, which a service that only verifies need not have. RFC 7518, 6.2.2, 6.3.2, 6.4.1.
fn holds_private_key(path: &Path) -> bool {
    let read = regular_file::open(path).ok().and_then(|file| serde_json::from_reader(BufReader::new(file)).ok());
    let signs = |key: &Value| ["d", "k"].iter().any(|member| key.get(member).is_some());
    let set = read.unwrap_or(Value::Null);
    set["keys"].as_array().is_some_and(|keys| keys.iter().any(signs)) || signs(&set)
}

/// A warning about a file with a secret that a command was given.
pub fn secret(what: &str, path: &Path) -> Option<String> {
    exposed(what, path, true)
}

/// A warning about a file or a folder, or about a link to it. Nothing where it is not there.
fn exposed(what: &str, path: &Path, is_secret: bool) -> Option<String> {
    foreign(what, path).or_else(|| open(what, path, is_secret)).or_else(|| replaceable(what, path))
}

/// As [`exposed`], of what lies in a folder that is looked at itself: the modes in it matter only where a link leads out of it, or where
/// others may pass through the folder, as many as it lets list what is in it or not.
fn exposed_within(what: &str, path: &Path, passes: bool) -> Option<String> {
    let of_target = || open(what, path, true).or_else(|| replaceable(what, path));
    foreign(what, path)
        .or_else(|| of_target().filter(|_| passes || path.is_symlink()))
        .or_else(|| of_files(what, path, passes, &[]))
}

/// The first file in a folder, but those of some names, that belongs to somebody else, or, where others may pass through the folder, that is open to them.
fn of_files(what: &str, folder: &Path, passes: bool, but: &[&str]) -> Option<String> {
    let what = format!("a file of {what}");
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files = files.filter(|entry| !but.iter().any(|name| entry.file_name() == *name)).map(|entry| entry.path());
    files.find_map(|path| foreign(&what, &path).or_else(|| open(&what, &path, true).filter(|_| passes)))
}

/// Whether others may pass through a folder to what they know the name of.
fn lets_pass(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|found| found.mode() & 0o011 != 0)
}

/// Who can write to a folder above it, or above a link on the way to it, can put another one in its place. In a folder with the sticky bit
/// only the owner can.
fn replaceable(what: &str, path: &Path) -> Option<String> {
    path.exists().then_some(())?;
    let owner::ResolvedPath { folders, links } = owner::ResolvedPath::of(path);
    let of_link = links.iter().find_map(|link| foreign(&format!("a link on the way to {what}"), link));
    let above = of_link.or_else(|| {
        folders.iter().find_map(|above| {
            let is_sticky = fs::metadata(above).is_ok_and(|found| found.mode() & 0o1000 != 0);
            let name = format!("the folder above {what}");
            foreign(&name, above).or_else(|| open(&name, above, false).filter(|_| !is_sticky))
        })
    })?;
    Some(format!("{above}; until then {what} can be exchanged for another"))
}

/// Whatever its mode, its owner can change it, and who made a link can lay it to another file.
fn foreign(what: &str, path: &Path) -> Option<String> {
    let (owner, own) = (owner::other_owner(path)?, owner::own_user());
    let path = path.display();
    Some(format!(
        "{what} ({path}) belongs to another user of this machine (number {owner}), who can change it; run: chown {own} {path}"
    ))
}

/// Nothing where it is open to a group in which nobody is but the service's own user: root gives a service its files so.
fn open(what: &str, path: &Path, is_secret: bool) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    let open = owner::rights_of_others(path, &found) & if is_secret { 0o066 } else { 0o022 };
    let done = match (open & 0o044 != 0, open & 0o022 != 0) {
        (false, false) => return None,
        (true, false) => "read",
        (false, true) => "changed",
        (true, true) => "read and changed",
    };
    let rights = if is_secret { "go-rwx" } else { "go-w" };
    let (mode, path) = (found.mode() & 0o7777, path.display());
    Some(format!(
        "{what} ({path}) can be {done} by other users of this machine (mode {mode:04o}); run: chmod {rights} {path}"
    ))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_others_can_read_or_change_is_told_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, mode| {
            let path = folder.path().join(name);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        for (mode, is_secret, told) in [
            (0o600, true, None),
            (0o644, false, None),
            (0o644, true, Some("can be read by")),
            (0o622, true, Some("can be changed by")),
            (0o666, true, Some("can be read and changed by")),
            (0o666, false, Some("can be changed by")),
            (0o602, false, Some("run: chmod go-w")),
            (0o604, true, Some("run: chmod go-rwx")),
        ] {
            let found = exposed("it", &file("file", mode), is_secret);
            let is_right = match told {
                Some(words) => found.as_ref().is_some_and(|found| found.contains(words)),
                None => found.is_none(),
            };
            assert!(is_right, "{mode:o} {is_secret}: {found:?}");
        }
        assert_eq!(exposed("it", &folder.path().join("absent"), true), None);
        // Only root can give a file to a group that it is not in.
        let given = file("file", 0o640);
        if std::os::unix::fs::chown(&given, None, Some(54_321)).is_ok() {
            assert!(exposed("it", &given, true).is_some_and(|told| told.contains("can be read by")));
            assert_eq!(exposed("it", &given, false), None);
        }
    }

    #[test]
    fn keys_that_sign_are_secret_and_those_that_only_verify_are_not() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let path = folder.path().join("keys.json");
        let mut config = Config::default();
        config.storage.data = folder.path().join("data");
        config.access.token.jwks = Some(path.to_str().unwrap().to_owned());
        for (keys, is_told) in [
            (r#"{"keys":[{"kty":"EC","x":"AQ"}]}"#, false),
            (r#"{"keys":[{"kty":"EC","x":"AQ"},{"kty":"EC","x":"AQ","d":"AQ"}]}"#, true),
            (r#"{"keys":[{"kty":"oct","k":"AQ"}]}"#, true),
            (r#"{"kty":"EC","d":"AQ"}"#, true),
            ("no JSON", false),
        ] {
            fs::write(&path, keys).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            let told = all(&config);
            assert_eq!(told.iter().any(|told| told.contains("access.token.jwks")), is_told, "{keys}: {told:?}");
        }
    }

    #[test]
    fn what_belongs_to_somebody_else_or_leads_out_of_the_data_folder_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let (data, elsewhere) = (folder.path().join("data"), folder.path().join("elsewhere"));
        for path in [&data, &elsewhere] {
            fs::create_dir(path).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
        }
        let mut config = Config::default();
        config.storage.data = data.clone();
        let audit = data.join("audit");
        fs::create_dir(&audit).unwrap();
        fs::set_permissions(&audit, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(all(&config), Vec::<String>::new(), "nobody comes through the folder");
        fs::remove_dir(&audit).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &audit).unwrap();
        assert_eq!(all(&config), Vec::<String>::new());
        fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o777)).unwrap();
        let told = all(&config);
        assert!(
            told.len() == 1 && told[0].contains("the audit trail") && told[0].contains("read and changed"),
            "{told:?}"
        );
        // Who can write to a folder above can exchange what lies in it, unless the sticky bit keeps others' hands off.
        for (mode, told) in [(0o777, true), (0o1777, false), (0o755, false)] {
            fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o700)).unwrap();
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            let found = all(&config);
            assert_eq!(found.iter().any(|found| found.contains("exchanged")), told, "{mode:o}: {found:?}");
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        // So can who can write where a link to it lies.
        let links = folder.path().join("links");
        fs::create_dir(&links).unwrap();
        std::os::unix::fs::symlink(&data, links.join("data")).unwrap();
        config.storage.data = links.join("data");
        for (mode, is_told) in [(0o777, true), (0o1777, false), (0o755, false)] {
            fs::set_permissions(&links, fs::Permissions::from_mode(mode)).unwrap();
            let found = all(&config);
            assert_eq!(
                found.iter().any(|found| found.contains("links) can be changed")),
                is_told,
                "{mode:o}: {found:?}"
            );
        }
        config.storage.data = data.clone();
        // Who is not root gives nothing away.
        for (path, what) in [(&data, "the data folder"), (&elsewhere, "the audit trail")] {
            if std::os::unix::fs::lchown(path, Some(54_321), None).is_ok() {
                let told = all(&config);
                assert!(told.iter().any(|told| told.contains(what) && told.contains("54321")), "{told:?}");
                std::os::unix::fs::lchown(path, Some(0), None).unwrap();
            }
        }
    }

    #[test]
    fn single_files_are_told_where_others_may_pass_through_their_folder_or_own_them() {
        let folder = tempfile::tempdir().unwrap();
        let (data, archives) = (folder.path().join("data"), folder.path().join("archives"));
        let mut config = Config::default();
        (config.storage.data, config.backup.folder) = (data.clone(), Some(archives.clone()));
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for path in [&data, &data.join("audit"), &archives] {
            fs::create_dir(path).unwrap();
            mode(path, 0o700);
        }
        for file in ["data/store.redb.format-1", "data/audit/00000001.zst", "archives/hcert-x.tar"] {
            let (path, above) = (folder.path().join(file), if file.starts_with("data") { &data } else { &archives });
            fs::write(&path, "").unwrap();
            mode(&path, 0o644);
            assert_eq!(all(&config), Vec::<String>::new(), "nobody comes to {file}");
            mode(above, 0o711);
            let told = all(&config);
            // The data folder itself is to be closed as well.
            assert!(told.iter().any(|told| told.contains(file) && told.contains("can be read by")), "{file}: {told:?}");
            mode(above, 0o700);
            if std::os::unix::fs::chown(&path, Some(54_321), None).is_ok() {
                let told = all(&config);
                assert!(told.iter().any(|told| told.contains(file) && told.contains("54321")), "{file}: {told:?}");
            }
            fs::remove_file(&path).unwrap();
        }
        // One that is reported by its name hides no other.
        mode(&data, 0o711);
        for file in ["store.redb", "store.redb.format-2"] {
            fs::write(data.join(file), "").unwrap();
            mode(&data.join(file), 0o644);
        }
        let told = all(&config);
        assert!(
            told.len() == 2 && told[0].contains("the store (") && told[1].contains("store.redb.format-2"),
            "{told:?}"
        );
    }

    #[test]
    fn every_file_that_settings_name_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("open");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let text = path.display().to_string();
        let mut config =
            Config { file: Some(SettingsFile { path: path.clone(), is_secret: true }), ..Config::default() };
        config.storage.data = path.clone();
        config.backup.folder = Some(path.clone());
        config.access.permissions = Some(path.clone());
        config.access.token.jwks = Some(text.clone());
        (config.access.token.jwks_ca, config.access.token.denied) = (Some(path.clone()), Some(path.clone()));
        let remote = &mut config.registry.remote;
        remote.exchange.client_secret_file = Some(text);
        for setting in [
            &mut remote.ca_file,
            &mut remote.token_file,
            &mut remote.exchange.ca_file,
            &mut config.tls.key,
            &mut config.tls.certificate,
            &mut config.tls.client_ca,
            &mut config.management.token_file,
            &mut config.management.key,
            &mut config.management.certificate,
        ] {
            *setting = Some(path.clone());
        }
        config.tls.client_crl = vec![path.clone(), path.clone()];
        assert_eq!(all(&config).len(), 19, "{:#?}", all(&config));
        config.access.token.jwks = Some("https://issuer.example.ee/jwks".to_owned());
        assert_eq!(all(&config).len(), 18);
    }
}

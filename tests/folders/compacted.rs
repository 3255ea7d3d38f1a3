//! `hcert compact`: smaller afterwards, and the same.

use redb::{Database, TableDefinition};

use super::Folder;
use super::process::{Process, hcert};

const BALLAST: TableDefinition<u64, &[u8]> = TableDefinition::new("ballast");

#[test]
fn a_compacted_folder_is_smaller_and_says_the_same() {
    let folder = Folder::newest();
    // Pages that were used once and are free now.
    let database = Database::open(folder.store()).unwrap();
    for _ in 0..2 {
        let transaction = database.begin_write().unwrap();
        {
            let mut table = transaction.open_table(BALLAST).unwrap();
            for number in 0..2_000 {
                table.insert(number, vec![7; 2_000].as_slice()).unwrap();
            }
        }
        transaction.commit().unwrap();
    }
    let transaction = database.begin_write().unwrap();
    transaction.delete_table(BALLAST).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let run = |command: &str| {
        let data = folder.data();
        let mut command = hcert(&[command, "--data", data.to_str().unwrap()]);
        command.current_dir(folder.path("")).env("HCERT__AUDIT__FILE_MB", "1").output().unwrap()
    };
    let before = folder.store().metadata().unwrap().len();
    let ran = run("compact");
    assert!(ran.status.success(), "{ran:?}");
    let after = folder.store().metadata().unwrap().len();
    assert!(after < before / 2, "{before} {after}");
    let told = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(told.contains(&format!("store.redb: {before} bytes before, {after} after")), "{told}");
    assert!(told.contains("index: "), "{told}");
    assert_eq!(String::from_utf8(run("export").stdout).unwrap(), folder.text("versions.ndjson"));
    assert!(folder.verified().is_whole());
}

#[test]
fn a_running_server_keeps_its_folder_from_being_compacted() {
    let folder = Folder::newest();
    let data = folder.data();
    let server = Process::start_with(&data, |command| {
        command.env("HCERT__AUDIT__FILE_MB", "1");
    });
    let ran = hcert(&["compact", "--data", data.to_str().unwrap()]).current_dir(folder.path("")).output().unwrap();
    assert_eq!(ran.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("a server is running"), "{ran:?}");
    assert!(server.stop().success());
}

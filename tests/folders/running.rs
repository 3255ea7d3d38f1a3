//! A check of a server that is being written to: what is under way is neither missing nor too much.

use std::process::{Command, Stdio};

use super::Folder;
use super::process::{Process, hcert};

#[test]
fn a_server_that_takes_an_import_is_whole_at_every_check() {
    let folder = Folder::newest();
    let data = folder.data();
    let run = |arguments: &[&str]| -> Command {
        let mut command = hcert(arguments);
        command.current_dir(folder.path("")).env("HCERT__AUDIT__FILE_MB", "1");
        command
    };
    let data = data.to_str().expect("temporary folders have names in ASCII");
    let made = run(&["generate", "--count", "1500", "--seed", "11", "--out", "more.ndjson"]).status().unwrap();
    assert!(made.success());
    let patients =
        run(&["generate", "--count", "1500", "--seed", "11", "--patients", "--out", "people.ndjson"]).status();
    assert!(patients.unwrap().success());
    // Ids that nobody has yet.
    let text = std::fs::read_to_string(folder.path("more.ndjson")).unwrap();
    let moved = text
        .replace("\"Composition/", "\"Composition/77")
        .replace("\"Composition\",\"id\":\"", "\"Composition\",\"id\":\"77");
    std::fs::write(folder.path("more.ndjson"), moved).unwrap();
    let server = Process::start_with(&folder.data(), |command| {
        command.env("HCERT__AUDIT__FILE_MB", "1");
    });
    let import = |arguments: &[&str]| run(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut imports = [
        import(&["import", "--data", data, "more.ndjson"]),
        import(&["patients", "import", "--data", data, "people.ndjson"]),
    ];
    let mut checks = 0;
    loop {
        let ended = imports.iter_mut().all(|import| import.try_wait().unwrap().is_some());
        let checked = run(&["verify", "--data", data]).output().unwrap();
        assert_eq!(checked.status.code(), Some(0), "{checked:?}");
        checks += 1;
        if ended {
            break;
        }
    }
    for mut import in imports {
        assert!(import.wait().unwrap().success());
    }
    assert!(checks > 1, "{checks}");
    assert!(server.stop().success());
    let verified = folder.verified();
    assert!(verified.is_whole() && verified.versions > 2_000, "{}", verified.told());
}

//! No core file holds what the service keeps, whatever the machine allows.

use std::fs;
use std::process::Command;

use super::Place;
use super::process::{Process, hcert};

/// What was seen: a crash outside the unit of systemd wrote personal codes into the working directory.
#[test]
fn a_crash_writes_no_memory_to_the_disk() {
    let place = Place::new();
    let mut command = Command::new("sh");
    command.args(["-c", r#"ulimit -S -c "$(ulimit -H -c)"; exec "$0" "$@""#]).arg(hcert(&[]).get_program());
    command.args(["dev", "--data", "data", "--listen", "127.0.0.1:0"]).current_dir(place.path("."));
    command.env("HCERT__MANAGEMENT__LISTEN", "127.0.0.1:0");
    let mut server = Process::launch(command, place.path("data.log"));
    let of_process = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", server.id())).unwrap();
    let limits = of_process("limits");
    let core = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).unwrap();
    assert!(matches!(core.split_whitespace().next(), Some("0" | "1")), "{core}");
    // Its user still sees it, and it still sees who asks.
    assert!(of_process("environ").contains("HCERT__MANAGEMENT__LISTEN"));
    assert!(fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap().count() > 3);
    place.run(&["stats", "--data", "data"]).expect(0);
    // SAFETY: the call takes numbers; the process was started here and is not waited for yet.
    assert_eq!(unsafe { libc::kill(server.id() as libc::pid_t, libc::SIGABRT) }, 0);
    assert!(!server.ends_by_itself().success());
    for entry in fs::read_dir(place.path(".")).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(!name.to_string_lossy().starts_with("core"), "{name:?}");
    }
}

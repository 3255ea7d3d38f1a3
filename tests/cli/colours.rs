//! Colours are for terminals alone, and for none with `NO_COLOR`.

use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Stdio};

use super::{Place, hcert};

/// Both ends of a terminal of our own: what it shows, and what a program writes to.
fn terminal() -> (File, OwnedFd) {
    let (mut shows, mut written) = (0, 0);
    // SAFETY: the call writes two numbers of open files to where they live; no name and no settings are asked for.
    unsafe {
        let (name, settings, size) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
        assert_eq!(libc::openpty(&raw mut shows, &raw mut written, name, settings, size), 0);
        // SAFETY: both were opened just now, and nobody else has them.
        (File::from_raw_fd(shows), OwnedFd::from_raw_fd(written))
    }
}

/// What a command shows on a terminal until it has shown these words, or has ended.
fn shown(mut command: Command, words: &str) -> String {
    let (mut shows, written) = terminal();
    command.stdin(Stdio::null()).stdout(written.try_clone().unwrap()).stderr(written);
    let mut child = command.spawn().unwrap();
    // It holds the ends that are written to.
    drop(command);
    let (mut all, mut piece) = (Vec::new(), [0; 4096]);
    // The end shows as an error where the last program that could write has ended.
    while let Ok(bytes @ 1..) = shows.read(&mut piece) {
        all.extend_from_slice(&piece[..bytes]);
        if String::from_utf8_lossy(&all).contains(words) {
            break;
        }
    }
    drop(child.kill());
    child.wait().unwrap();
    String::from_utf8_lossy(&all).into_owned()
}

#[test]
fn a_terminal_has_colours_unless_its_user_wants_none() {
    let place = Place::new();
    let lines: [(&[&str], &str); 2] = [
        (&["dev", "--listen", "127.0.0.1:0", "--data", "data"], "started"),
        (&["stats", "--no-such-flag"], "For more information"),
    ];
    for (line, words) in lines {
        for (no_color, has_colours) in [(None, true), (Some(""), true), (Some("1"), false)] {
            let mut command = hcert(line);
            command.current_dir(place.path(".")).env("TERM", "xterm").env_remove("CLICOLOR_FORCE");
            command.env("HCERT__MANAGEMENT__LISTEN", "").env("HCERT__LOG__LEVEL", "info");
            match no_color {
                Some(set) => command.env("NO_COLOR", set),
                None => command.env_remove("NO_COLOR"),
            };
            let shown = shown(command, words);
            assert!(shown.contains(words), "{line:?}: {shown}");
            assert_eq!(shown.contains('\x1b'), has_colours, "{line:?}, NO_COLOR {no_color:?}: {shown:?}");
        }
    }
}

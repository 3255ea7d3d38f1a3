//! Colours are for terminals alone, and for none with `NO_COLOR`.

use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Stdio};

use super::process::eventually;
use super::{Place, hcert};

/// Both ends of a terminal of our own: what it shows, and what a program writes to.
fn terminal() -> (File, OwnedFd) {
    let (mut shows, mut written) = (0, 0);
    // SAFETY: the first call writes two numbers of open files to where they live, and no name and no settings are asked for; the second
    // changes how one of them is read. Nobody else has them.
    unsafe {
        let (name, settings, size) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
        assert_eq!(libc::openpty(&raw mut shows, &raw mut written, name, settings, size), 0);
        assert_eq!(libc::fcntl(shows, libc::F_SETFL, libc::O_NONBLOCK), 0);
        (File::from_raw_fd(shows), OwnedFd::from_raw_fd(written))
    }
}

/// What a command shows on a terminal until it has shown these words.
fn shown(mut command: Command, words: &str) -> String {
    let (mut shows, written) = terminal();
    command.stdin(Stdio::null()).stdout(written.try_clone().unwrap()).stderr(written);
    let mut child = command.spawn().unwrap();
    // It holds the ends that are written to.
    drop(command);
    let (mut all, mut piece) = (Vec::new(), [0; 4096]);
    eventually(words, || {
        while let Ok(bytes @ 1..) = shows.read(&mut piece) {
            all.extend_from_slice(&piece[..bytes]);
        }
        String::from_utf8_lossy(&all).contains(words)
    });
    drop(child.kill());
    child.wait().unwrap();
    String::from_utf8_lossy(&all).into_owned()
}

#[test]
fn a_terminal_has_colours_unless_its_user_wants_none() {
    let place = Place::new();
    let lines: [(&[&str], &str); 2] = [
        (&["dev", "--listen", "127.0.0.1:0", "--data", "data"], "the service answers requests"),
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
            assert_eq!(shown.contains('\x1b'), has_colours, "{line:?}, NO_COLOR {no_color:?}: {shown:?}");
        }
    }
}

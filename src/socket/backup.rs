//! A backup on its way through the socket: members as the server takes them, told with their sizes, and the command makes an archive
//! of them. The server never writes where a caller says.

use std::io::{self, BufRead, Read, Write};

use serde::{Deserialize, Serialize};

use super::CommandConnection;
use crate::audit::AuditTrail;
use crate::backup::{self, ArchiveMember, ArchiveProgress, Sink, TakeOptions};
use engine::Engine;

/// What the server sends, one a line; behind a member come its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum BackupMessage {
    Member {
        name: String,
        bytes: u64,
    },
    At(ArchiveProgress),
    /// Nothing follows.
    Done,
    Failed {
        problem: String,
    },
}

/// Takes a backup and sends it.
///
/// # Errors
/// The command is gone.
pub(super) fn send(out: &mut impl Write, engine: &Engine, trail: &AuditTrail, taking: &TakeOptions) -> io::Result<()> {
    let mut sending = MessageSender { out };
    // The sink and the report both send; what the report sends comes before the next member.
    let waiting = std::cell::Cell::new(None);
    let mut told = ProgressSink { sending: &mut sending, waiting: &waiting };
    let done = backup::take(engine, trail, taking, &mut told, &mut |progress| waiting.set(Some(progress)));
    let end = match done {
        Ok(_) => BackupMessage::Done,
        Err(problem) => BackupMessage::Failed { problem },
    };
    sending.line(&end)?;
    sending.out.flush()
}

/// Says why none is taken.
///
/// # Errors
/// The command is gone.
pub(super) fn refuse(out: &mut impl Write, problem: String) -> io::Result<()> {
    MessageSender { out }.line(&BackupMessage::Failed { problem })
}

struct MessageSender<'o, W> {
    out: &'o mut W,
}

impl<W: Write> MessageSender<'_, W> {
    fn line(&mut self, sent: &BackupMessage) -> io::Result<()> {
        serde_json::to_writer(&mut *self.out, sent)?;
        self.out.write_all(b"\n")
    }

    fn member(&mut self, member: &ArchiveMember, bytes: u64, content: &mut dyn Read) -> io::Result<()> {
        self.line(&BackupMessage::Member { name: member.to_string(), bytes })?;
        let copied = io::copy(&mut content.take(bytes), self.out)?;
        match copied == bytes {
            true => self.out.flush(),
            false => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it is shorter than it was")),
        }
    }
}

struct ProgressSink<'t, 'o, W> {
    sending: &'t mut MessageSender<'o, W>,
    waiting: &'t std::cell::Cell<Option<ArchiveProgress>>,
}

impl<W: Write> Sink for ProgressSink<'_, '_, W> {
    fn member(&mut self, member: &ArchiveMember, bytes: u64, content: &mut dyn Read) -> Result<(), String> {
        let told = self.waiting.take().map_or(Ok(()), |progress| self.sending.line(&BackupMessage::At(progress)));
        let sent = told.and_then(|()| self.sending.member(member, bytes, content));
        sent.map_err(|error| format!("{member} cannot be sent: {error}"))
    }
}

impl CommandConnection {
    /// Hands the members of a backup that was asked for on, until its end.
    ///
    /// # Errors
    /// The server failed or went away, or what `sink` returned.
    pub fn receive_backup(&self, sink: &mut dyn Sink, report: &mut dyn FnMut(ArchiveProgress)) -> Result<(), String> {
        let broken = |error: io::Error| format!("the server's answer broke off: {error}");
        let mut lines = self.lines().map_err(broken)?;
        let mut line = String::new();
        loop {
            line.clear();
            lines.read_line(&mut line).map_err(broken)?;
            if line.is_empty() {
                return Err("the server closed the connection before the backup was whole".to_owned());
            }
            let sent = serde_json::from_str(&line);
            match sent.map_err(|error| format!("the server's answer is not understood: {error}"))? {
                BackupMessage::Member { name, bytes } => {
                    let member =
                        ArchiveMember::parse(&name).ok_or_else(|| format!("the server sent a member {name:?}"))?;
                    sink.member(&member, bytes, &mut (&mut lines).take(bytes))?;
                }
                BackupMessage::At(progress) => report(progress),
                BackupMessage::Done => return Ok(()),
                BackupMessage::Failed { problem } => return Err(problem),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Names and contents.
    type Members = Vec<(String, Vec<u8>)>;

    /// What was received, and how it ended, of a server that sends these bytes and goes away.
    fn received(sent: &[u8]) -> (Members, Result<(), String>) {
        struct Kept(Members);
        impl Sink for Kept {
            fn member(&mut self, member: &ArchiveMember, bytes: u64, content: &mut dyn Read) -> Result<(), String> {
                let mut read = vec![0; usize::try_from(bytes).unwrap()];
                content.read_exact(&mut read).map_err(|error| error.to_string())?;
                self.0.push((member.to_string(), read));
                Ok(())
            }
        }
        let (client, mut server) = UnixStream::pair().unwrap();
        server.write_all(sent).unwrap();
        drop(server);
        let mut kept = Kept(Vec::new());
        let done = CommandConnection::new(client).receive_backup(&mut kept, &mut |_| {});
        (kept.0, done)
    }

    #[test]
    fn members_come_with_their_bytes_and_only_an_end_that_was_told_is_one() {
        let mut sent = Vec::new();
        let mut sending = MessageSender { out: &mut sent };
        sending.member(&ArchiveMember::Changes(1), 5, &mut &b"a\n{}b"[..]).unwrap();
        sending.line(&BackupMessage::At(ArchiveProgress { changes: 1, ..ArchiveProgress::default() })).unwrap();
        sending.member(&ArchiveMember::Changes(2), 0, &mut &b""[..]).unwrap();
        let without_end = sent.len();
        MessageSender { out: &mut sent }.line(&BackupMessage::Done).unwrap();
        let (members, done) = received(&sent);
        assert_eq!(done, Ok(()));
        assert_eq!(members, [("changes/00000001".into(), b"a\n{}b".to_vec()), ("changes/00000002".into(), vec![])]);
        for end in 0..=without_end {
            assert!(received(&sent[..end]).1.is_err(), "the first {end} bytes");
        }
        let failed = |told: &[u8]| received(told).1.unwrap_err();
        assert_eq!(failed(b"{\"failed\":{\"problem\":\"no\"}}\n"), "no");
        assert!(failed(b"{\"member\":{\"name\":\"../evil\",\"bytes\":0}}\n").contains("../evil"));
        assert!(failed(b"what?\n").contains("not understood"));
    }

    #[test]
    fn a_member_that_is_shorter_than_it_was_is_not_sent_as_a_whole() {
        let mut sent = Vec::new();
        assert!(MessageSender { out: &mut sent }.member(&ArchiveMember::About, 5, &mut &b"abc"[..]).is_err());
    }
}

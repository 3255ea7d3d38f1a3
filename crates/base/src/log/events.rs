//! Every event of the system log. A line is written by `event!`, which takes its level, its name and its message from here, so that
//! no line exists that the table and `docs/LOGGING.md` do not name. Decision 175.

use tracing::Level;

/// What a line of the log is about.
#[derive(Debug)]
pub struct LogEvent {
    /// Level at which the line is written.
    pub level: Level,
    /// `event.action` of the line: stable, for searches and alarms.
    pub action: &'static str,
    /// `message` of the line, in English.
    pub message: &'static str,
    /// When it is written, and what to do.
    pub when: &'static str,
}

macro_rules! events {
    ($($name:ident $level:ident $action:literal $message:literal $when:literal;)*) => {
        $(#[doc = concat!("`", $action, "`: ", $message, ".")]
        pub const $name: LogEvent =
            LogEvent { level: Level::$level, action: $action, message: $message, when: $when };)*

        /// All of them, in the order of their names.
        pub const ALL: &[(&str, &LogEvent)] = &[$((stringify!($name), &$name),)*];
    };
}

events! {
    ARCHIVE_BAD         WARN  "backup.archive-bad"  "an archive cannot be used"
        "The folder of backups holds a file that is no whole archive. The next backup is a full one where it has to be; remove the file.";
    ARCHIVE_KEPT        WARN  "backup.archive-kept" "an old backup cannot be removed"
        "Retention of backups failed. Look at the rights of the folder.";
    AUDIT_COMPLETED     WARN  "audit.completed"     "the audit trail was completed from changes that a crash kept out of it"
        "At the start after a crash. Nothing to do.";
    AUDIT_CUT           ERROR "audit.cut"           "the audit trail lacks an event that the store knows"
        "It was cut, replaced or removed while the service was stopped. Put it back from a backup while the service is stopped, or accept it with hcert audit accept.";
    AUDIT_DAMAGED       ERROR "audit.damaged"       "the audit trail is not as it was written"
        "Met by hcert verify, hcert audit verify, a search of the trail or a backup. Keep the folder as it is: OPERATIONS.md says what can be done.";
    AUDIT_FAILING       ERROR "audit.failing"       "the audit trail fails"
        "Writing or syncing failed: requests are refused until it is mended. Make room, or look at the disk.";
    AUDIT_FILES_KEPT    WARN  "audit.files-kept"    "the audit trail's full files cannot be cared for"
        "Retention of the audit trail failed. Look at the disk.";
    AUDIT_FULL          ERROR "audit.full"          "the audit trail runs out of room"
        "The next file cannot be prepared. Make room before the present one is full.";
    AUDIT_HEAD_NOT_KEPT ERROR "audit.head-not-kept" "the store could not be told the head of the audit trail"
        "A trail that is cut by then is noticed only up to the head before. See store.not-written.";
    AUDIT_INDEX_FAILED  WARN  "audit.index-failed"  "the index of a file of the audit trail cannot be written"
        "Searches of the trail read all events of that file. Look at the disk, or make room.";
    AUDIT_LEFT_OPEN     ERROR "audit.sync-unknown"  "the end of the audit trail may not be durable"
        "At the stop. The next start checks the end of the trail.";
    AUDIT_NEW_FILE      INFO  "audit.new-file"      "the audit trail goes on in a new file"
        "After a failure. Nothing to do.";
    AUDIT_REPAIRED      WARN  "audit.repaired"      "the audit trail was repaired"
        "At the start after a crash: an event that was half written was cut off.";
    AUDIT_ROOM          INFO  "audit.room"          "the audit trail has room again"
        "After audit.full. Nothing to do.";
    AUDIT_STILL_FAILING WARN  "audit.still-failing" "the audit trail still fails"
        "While requests are refused, at each try to go on.";
    AUDIT_UNMARKED      ERROR "audit.unmarked"      "the next process cannot be told that the audit trail failed"
        "The mark of a failed sync could not be written. Run hcert audit verify after the next start.";
    AUDIT_WAITS         ERROR "audit.waits"         "changes wait to be written into the audit trail"
        "The changes are durable; their events follow when the trail can be written.";
    AUDIT_WRITTEN_AGAIN INFO  "audit.recovered"     "the audit trail can be written again"
        "After audit.failing. Nothing to do.";
    BACKUP_FAILED       ERROR "backup.failed"       "a scheduled backup failed"
        "It is tried again at the next time. Look at the folder of backups.";
    BACKUP_TAKEN        INFO  "backup.taken"        "a backup was taken"
        "By the clock.";
    CLOCK_RIGHT         WARN  "clock.right"         "the system clock is believed again: changes are taken"
        "After clock.wrong, or after hcert clock accept. Nothing to do.";
    CLOCK_WRONG         ERROR "clock.wrong"         "the system clock is not believed: changes are refused until the clock is right again"
        "It is behind the newest time stamp, or has jumped. Set it right; hcert clock says what else can be done.";
    COMMAND_BROKE       WARN  "command.broke"       "a command's connection broke"
        "A command of this machine went away before its answer.";
    COMMAND_NO_THREAD   ERROR "command.no-thread"   "no thread for a command"
        "The system gives out no more threads.";
    CONNECTIONS_CUT     WARN  "connections.cut"     "connections were still busy and are cut"
        "At the stop, behind server.drain_timeout_s.";
    CONNECTIONS_FEWER   WARN  "connections.fewer"   "the limit of open files allows fewer connections than the setting"
        "At the start. Raise LimitNOFILE, or lower server.connections_max.";
    CONNECTION_REFUSED  WARN  "connection.refused"  "a connection could not be accepted"
        "Mostly too many open files.";
    HANGUP_WITHOUT_TLS  INFO  "tls.hangup"          "SIGHUP: without TLS there is nothing to read again"
        "At each SIGHUP.";
    INDEX_AHEAD         WARN  "index.ahead"         "the index is ahead of the store and is built again"
        "The data folder was put together from two. Nothing to do; searches wait.";
    INDEX_BUILT         INFO  "index.build"         "the index is built from the store"
        "At the start, where there is none that fits. Searches wait.";
    INDEX_DAMAGED       WARN  "index.damaged"       "the index is damaged and is built again"
        "At the start. Look at the disk; searches wait.";
    INDEX_EMPTY         DEBUG "index.empty"         "an empty index is made"
        "At the first start of a data folder.";
    INDEX_GIVEN_UP      ERROR "index.given-up"      "the index is given up and built again"
        "While running. Look at the disk; searches wait.";
    INDEX_MERGE_FAILED  WARN  "index.merge-failed"  "a merge of the index failed"
        "It is tried again later. Look at the disk.";
    INDEX_NONE_YET      ERROR "index.none-yet"      "no new index can be made yet"
        "It is tried again. Make room, or look at the disk.";
    INDEX_NOT_RENEWED   WARN  "index.not-renewed"   "the index of an earlier release stays in use"
        "The next start builds it again. Make room, or look at the disk.";
    INDEX_NO_ROOM       ERROR "index.no-room"       "the index cannot be written; searches go on with what it has"
        "Searches miss the newest changes. Make room.";
    INDEX_OUTDATED      INFO  "index.outdated"      "the index is of an earlier release and is built again beside"
        "At the first start after an upgrade. Searches go on.";
    INDEX_UNREADABLE    WARN  "index.unreadable"    "the index could not be read and is built again"
        "At the start. Look at the disk; searches wait.";
    INDEX_WRITTEN_AGAIN WARN  "index.recovered"     "the index is written again"
        "After index.no-room. Nothing to do.";
    INTRODUCTION_UNREAD DEBUG "service.unread"      "nobody reads the introduction"
        "Standard output is closed.";
    KEY_FAILED          ERROR "token.key-failed"    "the developer's key cannot be made"
        "Developer mode gives out no tokens. Look at the data folder.";
    KEY_UNAVAILABLE     ERROR "token.key-unavailable" "the developer's key cannot be shown"
        "See token.key-failed.";
    LIBRARY_PANICKED    DEBUG "store.nonsense"      "a library panicked while it read stored bytes"
        "While a damaged store is read; the answer or the command says more.";
    LOG_CHANGED         WARN  "log.level"           "the level or the sampling of the log was changed"
        "By hcert log level; it holds until the next start.";
    LOG_LINES_DROPPED   WARN  "log.dropped"         "lines of the log were dropped, because its reader was too slow or failed"
        "Once the reader takes lines again; hcert.lines is their number.";
    MANAGEMENT_CONNECTION_REFUSED WARN "management.connection-refused" "a connection to the management listener could not be accepted"
        "Mostly too many open files.";
    MANAGEMENT_IN_USE   WARN  "management.in-use"   "metrics and health are off, since the usual address is in use; management.listen names another address"
        "At the start. Another process listens there.";
    MANAGEMENT_TOKEN_LOST ERROR "management.token-lost" "the last token of the management address stays in use"
        "The file of management.token_file cannot be read or holds no token. Put the right one there.";
    MANAGEMENT_UNUSABLE ERROR "management.unusable" "the management listener cannot be used"
        "At the start. A fault of the service or the system; metrics and health are off.";
    MEMORY_BEYOND_LIMIT WARN  "memory.beyond-limit" "the bounds on memory together exceed the limit of the process"
        "At the start. Raise the limit, or lower the settings that the problem names.";
    PANICKED            ERROR "panic"               "panicked"
        "A fault of the service. The request got 500; report the line.";
    REGISTRY_ACCEPTS    INFO  "registry.accepts"    "the patient registry accepts this service's own credential again"
        "After registry.refuses. Nothing to do.";
    REGISTRY_ANSWERS    INFO  "registry.answers"    "the patient registry answers again"
        "After registry.fails. Nothing to do.";
    REGISTRY_FAILS      WARN  "registry.fails"      "the patient registry fails and is not asked for a while"
        "The circuit breaker opened. Look at the registry and the way there.";
    REGISTRY_REFUSES    ERROR "registry.refuses"    "the patient registry refuses this service's own credential"
        "Renew registry.remote.token, or the file of registry.remote.token_file.";
    REGISTRY_TOKEN_BACK INFO  "registry.token-back" "the token for the patient registry can be read again"
        "After registry.token-lost. Nothing to do.";
    REGISTRY_TOKEN_LOST ERROR "registry.token-lost" "the last token for the patient registry stays in use"
        "The file of registry.remote.token_file cannot be read.";
    REINDEX_LEFT        WARN  "index.left-over"     "a folder left by a reindex cannot be removed"
        "Remove it by hand.";
    REPEATED            WARN  "log.repeated"        "the same line was left out"
        "A line came more often than 100 times in 10 seconds; hcert.count lines were left out. It has the level of these lines.";
    SAMPLES_NOT_STORED  WARN  "registry.samples"    "the sample patients were not stored"
        "At the start, while the clock is not believed. The next start stores them.";
    SERVICE_HANGS       ERROR "service.hangs"       "the threads that answer requests hang"
        "/live is 503 from then on, and systemd restarts the service. Report it with what the machine did meanwhile.";
    SERVICE_RUNS_AGAIN  INFO  "service.runs-again"  "the threads that answer requests run again"
        "After service.hangs.";
    SERVICE_START       INFO  "service.start"       "the service answers requests"
        "At the start, with the version, the settings' hash, the store's format and epoch, and the addresses.";
    SERVICE_STOP        INFO  "service.stop"        "the service has stopped"
        "At the end, when everything is closed.";
    SERVICE_STOPPING    INFO  "service.stopping"    "stopping; a second signal ends at once"
        "At SIGTERM or Ctrl-C.";
    SETTINGS_WARNING    WARN  "settings.warning"    "a setting, a variable, a file or a folder is most likely not as it was meant"
        "At the start. The problem says what to change.";
    STORE_COPIED        INFO  "store.copied"        "the store was copied before it is brought to a new format"
        "At the first start of a new release.";
    STORE_DAMAGED       ERROR "store.damaged"       "damage was met in the store"
        "Something that was read cannot have been written so. Run hcert verify, which names all of it.";
    STORE_GONE          ERROR "store.gone"          "store.redb is not the file that was opened"
        "It was removed, moved, replaced or cut, or its disk was unmounted. Writes are refused. Put it back, or restore a backup, and start the server again.";
    STORE_MIGRATED      INFO  "store.migrated"      "the store has the format of this release"
        "At the first start of a new release.";
    STORE_MIGRATES      INFO  "store.migrates"      "the store is brought to the next format"
        "At the first start of a new release, for each step.";
    STORE_NOT_OPEN      ERROR "store.not-open"      "the store cannot be opened again yet"
        "After store.not-written, at each try. Look at the disk.";
    STORE_NOT_SETTLED   WARN  "store.not-settled"   "the store's file could not be made durable at the stop"
        "Nothing is lost: the next start reads it from the journal. Look at the disk.";
    STORE_NOT_WRITTEN   ERROR "store.not-written"   "a batch was not stored"
        "The changes of the batch were refused. Make room, or look at the disk.";
    STORE_OPEN_AGAIN    WARN  "store.recovered"     "the store is open again"
        "After store.not-written. Nothing to do.";
    STORE_REPLAYED      INFO  "store.replayed"      "changes were read from the journal of the store"
        "At the start after a crash. Nothing to do.";
    STORE_SYNCED        WARN  "store.synced"        "what a failed sync of the store was for is on the disk"
        "After a failed sync. Nothing to do.";
    STORE_SYNC_UNMARKED ERROR "store.sync-unmarked" "a sync of the store failed, and the next process cannot be told"
        "Run hcert verify after the next start.";
    SYSTEMD_UNREACHED   DEBUG "systemd.unreached"   "systemd was not reached; it is tried again in a second"
        "The socket of NOTIFY_SOCKET took nothing.";
    SYSTEMD_UNUSABLE    WARN  "systemd.unusable"    "systemd is not told how the service is: NOTIFY_SOCKET cannot be used"
        "Once for each kind of failure. The service runs; a unit of Type=notify is not taken for started. Look at the unit.";
    THREAD_OF_AUDIT     ERROR "audit.thread"        "a thread of the audit trail panicked"
        "At the stop. A fault of the service; report it with the line panic.";
    THREAD_OF_BACKUP    ERROR "backup.thread"       "the thread of backups panicked"
        "At the stop. A fault of the service; report it with the line panic.";
    THREAD_OF_ENGINE    ERROR "engine.thread"       "a thread of the engine panicked"
        "At the stop. A fault of the service; report it with the line panic.";
    THREAD_OF_SOCKET    ERROR "command.thread"      "the socket's thread panicked"
        "At the stop. A fault of the service; report it with the line panic.";
    THREAD_OF_WRITER    ERROR "engine.writer"       "the writer panicked; its batch was given up"
        "A fault of the service; report it with the line panic.";
    TLS_CLIENT_REVOKED  WARN  "tls.client-revoked"  "a client was refused because of the revocation lists"
        "Its certificate was revoked, or its authority has no list in tls.client_crl that is still valid: put a newer one there.";
    TLS_FILES_BAD       ERROR "tls.files-bad"       "the new files of TLS cannot be used; those before stay in use"
        "Half written, or the key of another certificate. Put the right pair there.";
    TLS_FILES_READ      INFO  "tls.files-read"      "certificate and key of TLS were read anew"
        "After a renewal.";
    TLS_FILES_UNKNOWN   ERROR "tls.files-unknown"   "the files of TLS could not be looked at"
        "Look at their folder and its rights.";
    TLS_WARNING         WARN  "tls.warning"         "there is a problem with a TLS certificate"
        "The certificate ends soon, or its files are not as they should be.";
    TOKENS_DENIED       INFO  "token.denied"        "the list of tokens and persons that are denied was read again"
        "Nothing. The number of its entries is in the line; whoever is on it gets 401 from now on.";
    TOKENS_DENIED_OLD   ERROR "token.denied-old"    "the list of denied tokens known last stays in use"
        "Its file cannot be read, or the line that is named can match nothing. Look at access.token.denied.";
    TOKEN_KEYS_NONE     WARN  "token.keys-none"     "there are no keys of tokens"
        "No token can be verified. Look at access.token.jwks and the way there.";
    TOKEN_KEYS_OLD      WARN  "token.keys-old"      "the keys of tokens known last stay in use"
        "Their source cannot be read. Look at access.token.jwks and the way there.";
    TOKEN_NOT_ISSUED    ERROR "token.not-issued"    "no token can be given out"
        "See token.key-failed.";
    TOKEN_ROLE_UNKNOWN  WARN  "token.role-unknown"  "a token was issued for a role that the table of permissions does not have"
        "Developer mode. The token grants nothing; the answer says which roles there are.";
}

/// Writes a line about an event of the table: `event!(INDEX_DAMAGED, problem, at = 7)`. Fields are those of `tracing`.
#[macro_export]
macro_rules! event {
    ($event:ident $(, $($fields:tt)+)?) => {
        $crate::log::tracing::event!(
            name: $crate::log::events::$event.action,
            target: $crate::log::events::target(module_path!(), concat!("hcert::", module_path!())),
            $crate::log::events::$event.level,
            message = $crate::log::events::$event.message,
            $($($fields)+)?
        )
    };
}

/// The target of a line: its module below `hcert`, whichever crate that is in, since `hcert log level --target` takes no other.
#[must_use]
pub const fn target(module: &'static str, below: &'static str) -> &'static str {
    match module.as_bytes() {
        [b'h', b'c', b'e', b'r', b't'] | [b'h', b'c', b'e', b'r', b't', b':', ..] => module,
        _ => below,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_target_is_below_the_service() {
        assert_eq!(target("hcert", "hcert::hcert"), "hcert");
        assert_eq!(target("hcert::http", "hcert::hcert::http"), "hcert::http");
        assert_eq!(target("engine::writer", "hcert::engine::writer"), "hcert::engine::writer");
        assert_eq!(target("hcerts", "hcert::hcerts"), "hcert::hcerts");
    }

    #[test]
    fn names_are_unique_and_in_order() {
        let names: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
        assert!(names.is_sorted(), "{names:?}");
        let actions: BTreeSet<&str> = ALL.iter().map(|(_, event)| event.action).collect();
        assert_eq!(actions.len(), ALL.len());
        let is_plain = |character: char| character.is_ascii_lowercase() || "-.".contains(character);
        assert!(actions.iter().all(|action| action.chars().all(is_plain)), "{actions:?}");
    }
}

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
    ARCHIVE_BAD         WARN  "backup.archive-invalid"  "an archive cannot be used"
        "The folder of backups has a file that is not a complete archive. The next backup is a full one if it has to be. Remove the file.";
    ARCHIVE_KEPT        WARN  "backup.retention-failed" "an old backup cannot be removed"
        "The retention of backups failed. Check the permissions of the folder.";
    AUDIT_COMPLETED     WARN  "audit.completed"     "events of changes before a crash were added to the audit trail"
        "At the start after a crash. Nothing to do.";
    AUDIT_CUT           ERROR "audit.cut"           "the audit trail lacks an event that the store knows"
        "It was cut, replaced or removed while the service was stopped. Put it back from a backup while the service is stopped, or accept it with hcert audit accept.";
    AUDIT_DAMAGED       ERROR "audit.damaged"       "the audit trail is not as it was written"
        "Found by hcert verify, hcert audit verify, a search of the trail or a backup. Keep the folder as it is: OPERATIONS.md says what can be done.";
    AUDIT_FAILING       ERROR "audit.failing"       "the audit trail cannot be written"
        "Writing or syncing failed. Requests are refused until it works again. Free disk space, or check the disk.";
    AUDIT_FILES_KEPT    WARN  "audit.retention-failed"    "the retention of the audit trail failed"
        "Full files could not be compressed or removed. Check the disk.";
    AUDIT_FULL          ERROR "audit.full"          "the audit trail is running out of disk space"
        "The next file cannot be prepared. Free disk space before the present file is full.";
    AUDIT_HEAD_NOT_KEPT ERROR "audit.head-not-stored" "the head of the audit trail could not be recorded in the store"
        "If the trail is cut now, only a cut before the head recorded last is noticed. See store.write-failed.";
    AUDIT_INDEX_FAILED  WARN  "audit.index-failed"  "the index of a file of the audit trail cannot be written"
        "Searches of the trail read all events of that file. Check the disk, or free disk space.";
    AUDIT_LEFT_OPEN     ERROR "audit.sync-unknown"  "the end of the audit trail may not be durable"
        "At the stop. The next start checks the end of the trail.";
    AUDIT_NEW_FILE      INFO  "audit.new-file"      "the audit trail continues in a new file"
        "After a failure. Nothing to do.";
    AUDIT_REPAIRED      WARN  "audit.repaired"      "the audit trail was repaired"
        "At the start after a crash: an event that was written only in part was removed.";
    AUDIT_ROOM          INFO  "audit.space-available"          "the audit trail has enough disk space again"
        "After audit.full. Nothing to do.";
    AUDIT_STILL_FAILING WARN  "audit.still-failing" "the audit trail still cannot be written"
        "While requests are refused, at each new try.";
    AUDIT_UNMARKED      ERROR "audit.mark-failed"      "the failure of the audit trail could not be recorded for the next start"
        "The mark of a failed sync could not be written. Run hcert audit verify after the next start.";
    AUDIT_WAITS         ERROR "audit.backlog"         "changes are waiting to be written to the audit trail"
        "The changes are durable; their events follow when the trail can be written.";
    AUDIT_WRITTEN_AGAIN INFO  "audit.recovered"     "the audit trail can be written again"
        "After audit.failing. Nothing to do.";
    BACKUP_FAILED       ERROR "backup.failed"       "a scheduled backup failed"
        "It is tried again at the next time. Check the folder of backups.";
    BACKUP_TAKEN        INFO  "backup.taken"        "a backup was taken"
        "By the schedule.";
    CLOCK_RIGHT         WARN  "clock.right"         "the system clock is trusted again: changes are accepted"
        "After clock.wrong, or after hcert clock accept. Nothing to do.";
    CLOCK_WRONG         ERROR "clock.wrong"         "the system clock is not trusted: changes are refused until the clock is right again"
        "It is behind the newest time stamp, or has jumped. Set it right; hcert clock says what else can be done.";
    COMMAND_BROKE       WARN  "command.connection-lost"       "the connection of a command was lost"
        "A command on this machine ended before it had its answer.";
    COMMAND_NO_THREAD   ERROR "command.no-thread"   "no thread could be started for a command"
        "The system does not allow more threads.";
    CONNECTIONS_CUT     WARN  "connections.aborted"     "connections were still busy and were closed"
        "At the stop, after server.drain_timeout_s.";
    CONNECTIONS_FEWER   WARN  "connections.limited"   "the limit of open files allows fewer connections than the setting"
        "At the start. Raise LimitNOFILE, or lower server.connections_max.";
    CONNECTION_REFUSED  WARN  "connection.refused"  "a connection could not be accepted"
        "Usually too many open files.";
    HANGUP_WITHOUT_TLS  INFO  "tls.hangup"          "SIGHUP was ignored: without TLS there are no files to read again"
        "At each SIGHUP.";
    INDEX_AHEAD         WARN  "index.ahead"         "the index is ahead of the store and is built again"
        "The files of the data folder are from two folders. Nothing to do. Searches are refused meanwhile.";
    INDEX_BUILT         INFO  "index.build"         "the index is built from the store"
        "At the start, if there is no index that fits the store. Searches are refused meanwhile.";
    INDEX_DAMAGED       WARN  "index.damaged"       "the index is damaged and is built again"
        "At the start. Check the disk. Searches are refused meanwhile.";
    INDEX_EMPTY         DEBUG "index.empty"         "an empty index was created"
        "At the first start of a data folder.";
    INDEX_GIVEN_UP      ERROR "index.discarded"      "the index failed and is built again"
        "While running. Check the disk. Searches are refused meanwhile.";
    INDEX_MERGE_FAILED  WARN  "index.merge-failed"  "a merge of the index failed"
        "It is tried again later. Check the disk.";
    INDEX_NONE_YET      ERROR "index.create-failed"      "a new index cannot be created yet"
        "It is tried again. Free disk space, or check the disk.";
    INDEX_NOT_RENEWED   WARN  "index.upgrade-failed"   "the index of an earlier release stays in use"
        "The next start builds it again. Free disk space, or check the disk.";
    INDEX_NO_ROOM       ERROR "index.write-failed"       "the index cannot be written; searches use what it has"
        "Searches do not find the newest changes. Free disk space.";
    INDEX_OUTDATED      INFO  "index.outdated"      "the index is of an earlier release; a new one is built beside it"
        "At the first start after an upgrade. Searches work meanwhile.";
    INDEX_UNREADABLE    WARN  "index.unreadable"    "the index could not be read and is built again"
        "At the start. Check the disk. Searches are refused meanwhile.";
    INDEX_WRITTEN_AGAIN WARN  "index.recovered"     "the index can be written again"
        "After index.write-failed. Nothing to do.";
    INTRODUCTION_UNREAD DEBUG "service.output-closed"      "the start message could not be written"
        "Standard output is closed.";
    KEY_FAILED          ERROR "token.key-failed"    "the developer's key cannot be created"
        "Developer mode issues no tokens. Check the data folder.";
    KEY_UNAVAILABLE     ERROR "token.key-unavailable" "the developer's key cannot be shown"
        "See token.key-failed.";
    LIBRARY_PANICKED    DEBUG "store.read-panic"      "a library panicked while it read stored bytes"
        "While a damaged store is read; the answer or the command says more.";
    LOG_CHANGED         WARN  "log.level"           "the level or the sampling of the log was changed"
        "By hcert log level; it holds until the next start.";
    LOG_LINES_DROPPED   WARN  "log.dropped"         "lines of the log were dropped, because its reader was too slow or failed"
        "When the reader takes lines again; hcert.lines is their number.";
    MANAGEMENT_CONNECTION_REFUSED WARN "management.connection-refused" "a connection to the management listener could not be accepted"
        "Usually too many open files.";
    MANAGEMENT_IN_USE   WARN  "management.in-use"   "metrics and health are off, since the usual address is in use; management.listen names another address"
        "At the start. Another process listens there.";
    MANAGEMENT_TOKEN_LOST ERROR "management.token-unreadable" "the token of the management address cannot be read; the last one stays in use"
        "The file of management.token_file cannot be read or has no token. Put the right one there.";
    MANAGEMENT_UNUSABLE ERROR "management.failed" "the management listener failed"
        "At the start. A fault of the service or the system; metrics and health are off.";
    MEMORY_BEYOND_LIMIT WARN  "memory.beyond-limit" "the bounds on memory together exceed the limit of the process"
        "At the start. Raise the limit, or lower the settings that the problem names.";
    PANICKED            ERROR "panic"               "panicked"
        "A fault of the service. The request got 500; report the line.";
    REGISTRY_ACCEPTS    INFO  "registry.credential-accepted"    "the patient registry accepts this service's own credential again"
        "After registry.credential-refused. Nothing to do.";
    REGISTRY_ANSWERS    INFO  "registry.recovered"    "the patient registry answers again"
        "After registry.failing. Nothing to do.";
    REGISTRY_FAILS      WARN  "registry.failing"      "the patient registry fails and gets no requests for a while"
        "The circuit breaker opened. Check the registry and the network to it.";
    REGISTRY_REFUSES    ERROR "registry.credential-refused"    "the patient registry refuses this service's own credential"
        "Renew registry.remote.token, or the file of registry.remote.token_file. Where the problem names the issuer: the secret of registry.remote.exchange.";
    REGISTRY_TOKEN_BACK INFO  "registry.token-recovered" "the token for the patient registry can be read again"
        "After registry.token-unreadable. Nothing to do.";
    REGISTRY_TOKEN_LOST ERROR "registry.token-unreadable" "the token for the patient registry cannot be read; the last one stays in use"
        "The file of registry.remote.token_file cannot be read.";
    REINDEX_LEFT        WARN  "index.cleanup-failed"     "a folder left by a reindex cannot be removed"
        "Remove it by hand.";
    REPEATED            WARN  "log.repeated"        "the same line was left out"
        "A line came more often than 100 times in 10 seconds; hcert.count lines were left out. It has the level of these lines.";
    SAMPLES_NOT_STORED  WARN  "registry.samples-not-stored"    "the sample patients were not stored"
        "At the start, while the clock is not trusted. The next start stores them.";
    SERVICE_HANGS       ERROR "service.hangs"       "the threads that answer requests hang"
        "/live is 503 from then on, and systemd restarts the service. Report it with what the machine did meanwhile.";
    SERVICE_RUNS_AGAIN  INFO  "service.recovered"  "the threads that answer requests run again"
        "After service.hangs.";
    SERVICE_START       INFO  "service.start"       "the service answers requests"
        "At the start, with the version, the settings' hash, the store's format and epoch, and the addresses.";
    SERVICE_STOP        INFO  "service.stop"        "the service has stopped"
        "At the end, when everything is closed.";
    SERVICE_STOPPING    INFO  "service.stopping"    "stopping; a second signal ends at once"
        "At SIGTERM or Ctrl-C.";
    SETTINGS_WARNING    WARN  "settings.warning"    "a setting, a variable, a file or a folder is probably not as intended"
        "At the start. The problem says what to change.";
    SIGN_IN_FAILED      WARN  "console.sign-in-failed"  "somebody could not sign in to the console"
        "Of an attempt that the issuer led back from. Look at [console], the endpoints in [access.token] and the client at the issuer.";
    STORE_COPIED        INFO  "store.copied"        "the store was copied before it is brought to a new format"
        "At the first start of a new release.";
    STORE_DAMAGED       ERROR "store.damaged"       "the store is damaged"
        "Data that were read cannot have been written so. Run hcert verify, which names all damage.";
    STORE_GONE          ERROR "store.file-replaced"          "store.redb is not the file that was opened"
        "It was removed, moved, replaced or cut, or its disk was unmounted. Writes are refused. Put it back, or restore a backup, and start the server again.";
    STORE_MIGRATED      INFO  "store.migrated"      "the store has the format of this release"
        "At the first start of a new release.";
    STORE_MIGRATES      INFO  "store.migrating"      "the store is brought to the next format"
        "At the first start of a new release, for each step.";
    STORE_NOT_OPEN      ERROR "store.reopen-failed"      "the store cannot be opened again yet"
        "After store.write-failed, at each try. Check the disk.";
    STORE_NOT_SETTLED   WARN  "store.final-sync-failed"   "the store's file could not be made durable at the stop"
        "Nothing is lost: the next start reads it from the journal. Check the disk.";
    STORE_NOT_WRITTEN   ERROR "store.write-failed"   "a batch was not stored"
        "The changes of the batch were refused. Free disk space, or check the disk.";
    STORE_OPEN_AGAIN    WARN  "store.recovered"     "the store is open again"
        "After store.write-failed. Nothing to do.";
    STORE_REPLAYED      INFO  "store.replayed"      "changes were read from the journal of the store"
        "At the start after a crash. Nothing to do.";
    STORE_SYNCED        WARN  "store.sync-recovered"        "the data of a failed sync of the store are on the disk now"
        "After a failed sync. Nothing to do.";
    STORE_SYNC_UNMARKED ERROR "store.sync-mark-failed" "a sync of the store failed, and this could not be recorded for the next start"
        "Run hcert verify after the next start.";
    SYSTEMD_UNREACHED   DEBUG "systemd.unreachable"   "systemd could not be reached; it is tried again in a second"
        "The socket of NOTIFY_SOCKET accepted no message.";
    SYSTEMD_UNUSABLE    WARN  "systemd.unusable"    "the state of the service cannot be sent to systemd: NOTIFY_SOCKET cannot be used"
        "Once for each kind of failure. The service runs, but systemd does not regard a unit of Type=notify as started. Check the unit.";
    THREAD_OF_AUDIT     ERROR "audit.thread"        "a thread of the audit trail panicked"
        "At the stop. A fault of the service; report it with the line panic.";
    THREAD_OF_BACKUP    ERROR "backup.thread"       "the thread of backups panicked"
        "At the stop. A fault of the service; report it with the line panic.";
    THREAD_OF_ENGINE    ERROR "engine.thread"       "a thread of the engine panicked"
        "At the stop. A fault of the service; report it with the line panic.";
    THREAD_OF_SOCKET    ERROR "command.thread"      "the socket's thread panicked"
        "At the stop. A fault of the service; report it with the line panic.";
    THREAD_OF_WRITER    ERROR "engine.writer"       "the writer panicked; its batch was refused"
        "A fault of the service; report it with the line panic.";
    TLS_CLIENT_REVOKED  WARN  "tls.client-revoked"  "a client was refused because of the revocation lists"
        "Its certificate was revoked, or its authority has no list in tls.client_crl that is still valid: put a newer one there.";
    TLS_FILES_BAD       ERROR "tls.files-invalid"       "the new files of TLS cannot be used; those before stay in use"
        "A file is incomplete, or the key belongs to another certificate. Put the right pair there.";
    TLS_FILES_READ      INFO  "tls.files-read"      "certificate and key of TLS were read again"
        "After a renewal.";
    TLS_FILES_UNKNOWN   ERROR "tls.files-unreadable"   "the files of TLS cannot be checked"
        "Check the permissions of their folder.";
    TLS_WARNING         WARN  "tls.warning"         "there is a problem with a TLS certificate"
        "The certificate expires soon, or there is a problem with its files.";
    TOKENS_DENIED       INFO  "token.denied"        "the list of tokens and persons that are denied was read again"
        "Nothing. The number of its entries is in the line; whoever is on it gets 401 from now on.";
    TOKENS_DENIED_OLD   ERROR "token.denied-old"    "the list of denied tokens known last stays in use"
        "Its file cannot be read, or the line that is named can match nothing. Look at access.token.denied.";
    TOKEN_KEYS_CHANGED  INFO  "token.keys-changed"  "the keys that tokens are verified with"
        "Nothing after a start or when the issuer has changed its keys; otherwise somebody else has changed access.token.jwks. The audit trail has the same (service.keys).";
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

//! Every metric of the service. A value is told under a name, with the labels and the help of this table alone, so that no metric
//! exists that `docs/reference/metrics.md` does not name.

use prometheus_client::registry::{Metric, Registry, Unit};

/// What a metric is called, and what it tells.
#[derive(Debug)]
pub struct MetricDefinition {
    /// How its values behave.
    pub kind: MetricKind,
    /// The name in queries: that of a counter ends in `_total`, one with a unit in `_seconds` or `_bytes`.
    pub name: &'static str,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    /// What a value means, without a full stop.
    pub help: &'static str,
}

/// Source: OpenMetrics 1.0, "Metric Types".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only grows while the process runs.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Counts of values by their size.
    Histogram,
}

impl MetricKind {
    /// As OpenMetrics calls it.
    pub fn name(self) -> &'static str {
        match self {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        }
    }
}

impl MetricDefinition {
    /// Puts values under this name. The library adds a unit and `_total` to a name by itself.
    pub(super) fn register(&self, registry: &mut Registry, metric: impl Metric) {
        let name = self.name.strip_suffix("_total").unwrap_or(self.name);
        let units = [("_seconds", Unit::Seconds), ("_bytes", Unit::Bytes)];
        match units.into_iter().find_map(|(suffix, unit)| Some((name.strip_suffix(suffix)?, unit))) {
            Some((name, unit)) => registry.register_with_unit(name, self.help, unit, metric),
            None => registry.register(name, self.help, metric),
        }
    }
}

macro_rules! metrics {
    ($($constant:ident $kind:ident $name:literal [$($label:literal)*] $help:literal;)*) => {
        $(#[doc = concat!("`", $name, "`: ", $help, ".")]
        pub const $constant: MetricDefinition =
            MetricDefinition { kind: MetricKind::$kind, name: $name, labels: &[$($label),*], help: $help };)*

        /// All of them, in the order of their names.
        pub const ALL: &[&MetricDefinition] = &[$(&$constant,)*];
    };
}

metrics! {
    AUDIT_LAG_EVENTS Gauge "hcert_audit_lag_events" []
        "Events of the audit trail that are not durable yet";
    AUDIT_LAG_SECONDS Gauge "hcert_audit_lag_seconds" []
        "How long the first event that is not durable yet has waited";
    AUDIT_LAST_EVENT Gauge "hcert_audit_last_event" []
        "Number of the newest event of the audit trail";
    BACKUP_AGE_SECONDS Gauge "hcert_backup_age_seconds" []
        "How long ago the last backup was taken";
    BACKUP_LAST_CHANGE Gauge "hcert_backup_last_change" []
        "Number of the last change that the last backup holds";
    BACKUP_LAST_SECONDS Gauge "hcert_backup_last_seconds" []
        "When the last backup was taken, seconds since 1970 UTC";
    BUILD_INFO Gauge "hcert_build_info" ["version"]
        "This program, always 1";
    CACHE_ENTRIES Gauge "hcert_cache_entries" ["cache"]
        "Entries of a cache: token (verified tokens), registry (patients of another system's registry)";
    CACHE_HITS Counter "hcert_cache_hits_total" ["cache"]
        "How often an entry of a cache was looked for and found";
    CACHE_MISSES Counter "hcert_cache_misses_total" ["cache"]
        "How often an entry of a cache was looked for and not found";
    CLOCK_AHEAD_SECONDS Gauge "hcert_clock_ahead_seconds" []
        "How far the clock has jumped forward and is not trusted";
    CLOCK_BEHIND_SECONDS Gauge "hcert_clock_behind_seconds" []
        "How far the clock is behind the newest time stamp of the store";
    COMMIT_DURATION Histogram "hcert_commit_duration_seconds" []
        "Time of a durable commit, from the last decision until the disk confirmed the write";
    COMMITS_FAILED Counter "hcert_commits_failed_total" []
        "Batches that were not stored, or whose result is unknown";
    CONNECTIONS Gauge "hcert_connections" []
        "Connections that have a place";
    CONNECTIONS_ACCEPTED Counter "hcert_connections_accepted_total" []
        "Connections accepted";
    CONNECTIONS_CLOSED Counter "hcert_connections_closed_total" ["why"]
        "Connections closed by the service, by why: made-room (a newcomer needed the place), refused (there was no place), handshake-failed (TLS), answer-unread, http2-excess (HTTP/2 beyond its bounds)";
    DISK_FREE Gauge "hcert_disk_free_bytes" []
        "Free space of the file system that holds the data folder";
    DISK_TOTAL Gauge "hcert_disk_total_bytes" []
        "Size of the file system that holds the data folder";
    ERRORS Counter "hcert_errors_total" ["code"]
        "Requests refused, by the code that decides their status; reflected stands for codes of other systems, together";
    HTTP_REQUEST_DURATION Histogram "hcert_http_request_duration_seconds" ["route"]
        "Time from the head of a request to its finished answer, sending left out";
    HTTP_REQUESTS_IN_FLIGHT Gauge "hcert_http_requests_in_flight" []
        "Requests being answered, waiting ones included";
    HTTP_REQUESTS_REFUSED Counter "hcert_http_requests_refused_total" ["why"]
        "Requests refused because of load, by why: full (too many at once), throttled (too many of one caller), given-up (too long), body-late (the body came too slowly)";
    HTTP_REQUESTS Counter "hcert_http_requests_total" ["method" "route" "status"]
        "Requests answered";
    HTTP_REQUESTS_WAITING Gauge "hcert_http_requests_waiting" []
        "Requests that wait to be worked on, those about large resources included";
    HTTP_REQUESTS_WORKING Gauge "hcert_http_requests_working" []
        "Requests that are worked on, those about large resources included";
    INDEX_BUILT Gauge "hcert_index_built_ratio" []
        "How much of the index is built; 1 when searches are answered";
    INDEX_LAG_CHANGES Gauge "hcert_index_lag_changes" []
        "Changes that the index does not hold yet; searches see them nevertheless";
    INDEX_REBUILT Counter "hcert_index_rebuilt_total" []
        "Times the index was given up and built again";
    INDEX_ROUND_DURATION Histogram "hcert_index_round_duration_seconds" []
        "Time of a round of the index that had something to take in";
    LAST_CHANGE Gauge "hcert_last_change" []
        "Number of the last change that was acknowledged";
    LOG_LINES_DROPPED Counter "hcert_log_lines_dropped_total" ["reason"]
        "Lines of the log that were not written, by reason: queue (it was full), write (the system refused), long (above 64 KiB)";
    LOG_QUEUE Gauge "hcert_log_queue_bytes" []
        "Lines of the log that wait to be written; 4 MiB at most";
    OVERLAY_ROWS Gauge "hcert_overlay_rows" []
        "Rows of changes that the index does not hold yet";
    PART_STATE Gauge "hcert_part_state" ["part" "state"]
        "1 for the state that a part of the service is in, as /health says, else 0; the part service is the worst of them";
    READY Gauge "hcert_ready" []
        "Whether requests are welcome, as /ready says: 1 or 0";
    REGISTRY_BREAKER Gauge "hcert_registry_breaker" ["registry" "state"]
        "1 for the state of the breaker in front of a remote registry (closed, half-open, open), else 0";
    REGISTRY_CREDENTIAL Gauge "hcert_registry_credential" ["registry" "state"]
        "1 for the state of this service's own credential at a remote registry (accepted, refused, or unreadable: its file), else 0";
    STORE_REOPENED Counter "hcert_store_reopened_total" []
        "Times the store was opened again after a failure";
    TLS_CERTIFICATE_END Gauge "hcert_tls_certificate_end_seconds" []
        "When the certificate of the service ends, seconds since 1970 UTC";
    TOKEN_KEYS Gauge "hcert_token_keys" []
        "Keys of the issuer that tokens are verified with; left out where no issuer is configured";
    TOKEN_KEYS_AGE Gauge "hcert_token_keys_age_seconds" []
        "How long ago the issuer's keys were read; left out until they were read once";
    TURNS_WAITING Gauge "hcert_turns_waiting" ["turn"]
        "Requests that wait for their turn: heavy searches, long ones (histories with _at, searches of AuditEvent), large answers";
    WRITE_BATCH_JOBS Histogram "hcert_write_batch_jobs" []
        "Requests decided in one transaction";
    WRITE_QUEUE_JOBS Gauge "hcert_write_queue_jobs" []
        "Requests that wait for the writer; at 4096, the next is refused with 503";
    X_ROAD_HEADERS_DROPPED Counter "hcert_x_road_headers_dropped_total" []
        "Requests whose X-Road headers were dropped, because x_road.from does not name their sender";
    PROCESS_CPU Counter "process_cpu_seconds_total" []
        "Time of the processor, kernel included";
    PROCESS_MAX_FDS Gauge "process_max_fds" []
        "Open files and sockets that the system allows";
    PROCESS_OPEN_FDS Gauge "process_open_fds" []
        "Open files and sockets";
    PROCESS_RESIDENT_MEMORY Gauge "process_resident_memory_bytes" []
        "Memory that the process has in RAM, with mapped pages of files";
    PROCESS_START_TIME Gauge "process_start_time_seconds" []
        "When the service began, seconds since 1970 UTC";
    PROCESS_THREADS Gauge "process_threads" []
        "Threads of the process";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_in_order_and_say_their_kind() {
        let names: Vec<&str> = ALL.iter().map(|metric| metric.name).collect();
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "{names:?}");
        for metric in ALL {
            assert_eq!(metric.name.ends_with("_total"), metric.kind == MetricKind::Counter, "{}", metric.name);
            assert!(!metric.help.ends_with('.'), "{}", metric.name);
        }
    }
}

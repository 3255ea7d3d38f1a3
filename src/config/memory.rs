//! The sum of all bounds on memory: what the process takes when every one of them is used up at once. Decision 180.

use super::Config;
use crate::config::limits::{
    ANSWERS_BYTES_MAX, AUDIT_INDEX_MEMORY_BYTES, AUDIT_PENDING_BYTES_MAX, BODY_EXPANSION, BUNDLE_BYTES_MAX,
    CONNECTION_MEMORY_BYTES, HEAD_MEMORY_BYTES, HEADS_BYTES_MAX, HTTP2_SMALL_ANSWER_BYTES, HTTP2_WINDOW_BYTES,
    LARGE_ANSWERS, LARGE_BODIES, LARGE_BODIES_HELD, OVERLAY_ROW_MEMORY_BYTES, PROCESS_MEMORY_BYTES,
    REGISTRY_ANSWER_BYTES_MAX, REGISTRY_CACHE_BYTES_MAX, REGISTRY_LARGE_ANSWERS, REQUEST_MEMORY_BYTES,
    SMALL_ANSWER_BYTES, SMALL_BODIES_BYTES_MAX, STREAMS_MAX,
};
use crate::output::limits::LOG_QUEUE_BYTES_MAX;
use certificate::terminology::limits::TERMINOLOGY_BYTES_MAX;
use engine::limits::{OVERLAY_ROWS_MAX, STORE_ASIDE_BYTES_MAX};

/// One bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBound {
    /// What takes the memory, as `docs/OPERATIONS.md` lists it.
    pub what: &'static str,
    pub bytes: u64,
    /// The setting that makes it smaller, if one does.
    pub setting: Option<&'static str>,
}

impl Config {
    /// Every bound on memory under these settings.
    pub fn memory_bounds(&self) -> Vec<MemoryBound> {
        // The longest answer of HTTP/1.1 that needs no room of the budget, or those of all streams of HTTP/2.
        let small_answers = SMALL_ANSWER_BYTES.max(STREAMS_MAX as usize * HTTP2_SMALL_ANSWER_BYTES);
        let connection = CONNECTION_MEMORY_BYTES + HEAD_MEMORY_BYTES + HTTP2_WINDOW_BYTES as usize + small_answers;
        let held = LARGE_BODIES_HELD * self.server.body_bytes_max;
        let processed = LARGE_BODIES * self.server.body_bytes_max * BODY_EXPANSION;
        let mut bounds = vec![
            fixed("the program, its threads and mapped files in use", PROCESS_MEMORY_BYTES),
            // Measured: the pages of a cache take 1.4 times their bytes.
            set("pages of the store", self.storage.cache_mb * 1024 * 1024 / 5 * 7, "storage.cache_mb"),
            fixed("changes that are not indexed yet", OVERLAY_ROWS_MAX * OVERLAY_ROW_MEMORY_BYTES),
            fixed(
                "writes while the disk takes none: store and audit trail",
                STORE_ASIDE_BYTES_MAX + AUDIT_PENDING_BYTES_MAX,
            ),
            fixed("index of the newest audit events", AUDIT_INDEX_MEMORY_BYTES),
            fixed("code lists", 2 * TERMINOLOGY_BYTES_MAX),
            set(
                "connections, each with a head, a window and small answers",
                self.server.connections_max * connection,
                "server.connections_max",
            ),
            fixed("further heads of HTTP/2", HEADS_BYTES_MAX),
            set("requests under way", 2 * self.server.requests_max * REQUEST_MEMORY_BYTES, "server.requests_max"),
            fixed("bodies up to 64 KiB, with what they become", SMALL_BODIES_BYTES_MAX),
            set("bodies above 64 KiB that arrive or wait", held, "server.body_bytes_max"),
            set("resources above 64 KiB that are processed", processed, "server.body_bytes_max"),
            fixed("answers not read yet", ANSWERS_BYTES_MAX),
            fixed("large answers", LARGE_ANSWERS * BUNDLE_BYTES_MAX * 3 / 2),
            // One buffer fills while the other is written.
            fixed("lines of the log", 2 * LOG_QUEUE_BYTES_MAX),
        ];
        if self.registry.remote.address.is_some() {
            let large = REGISTRY_LARGE_ANSWERS * REGISTRY_ANSWER_BYTES_MAX * BODY_EXPANSION;
            bounds.push(fixed("answers of the patient registry", REGISTRY_CACHE_BYTES_MAX as usize + large));
        }
        bounds
    }

    /// Bytes of memory that the process may take under these settings.
    pub fn memory_bytes_max(&self) -> u64 {
        self.memory_bounds().iter().map(|bound| bound.bytes).sum()
    }
}

fn fixed(what: &'static str, bytes: usize) -> MemoryBound {
    MemoryBound { what, bytes: bytes as u64, setting: None }
}

fn set(what: &'static str, bytes: usize, setting: &'static str) -> MemoryBound {
    MemoryBound { what, bytes: bytes as u64, setting: Some(setting) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1024 * 1024;

    /// Rows of a table of a document, without its first column's marks.
    fn table(document: &str, after: &str) -> Vec<Vec<String>> {
        let lines = document.lines().skip_while(|line| !line.starts_with(after)).skip(1);
        let lines = lines.skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|')).skip(2);
        let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect();
        lines.map(cells).collect()
    }

    #[test]
    fn the_operators_table_has_every_bound_and_the_unit_their_sum() {
        let config = Config::default();
        let mib = |bytes: u64| bytes.div_ceil(MIB).to_string();
        let mut rows: Vec<Vec<String>> = Vec::new();
        for MemoryBound { what, bytes, setting } in config.memory_bounds() {
            rows.push(vec![what.to_owned(), mib(bytes), setting.unwrap_or("–").to_owned()]);
        }
        rows.push(vec!["in all".to_owned(), mib(config.memory_bytes_max()), "–".to_owned()]);
        let document = include_str!("../../docs/OPERATIONS.md");
        assert_eq!(table(document, "### Memory at most"), rows);
        let unit = include_str!("../../packaging/hcert.service");
        let max = unit.lines().find_map(|line| line.strip_prefix("MemoryMax=")?.strip_suffix('M')?.parse::<u64>().ok());
        let max = max.expect("the unit bounds its memory") * MIB;
        let mut remote = config;
        remote.registry.remote.address = Some("https://registry.example.ee/fhir".to_owned());
        let largest = remote.memory_bytes_max();
        assert!(largest / 20 * 21 <= max, "{largest} bytes and a twentieth do not fit the unit's {max}");
    }

    #[test]
    fn settings_move_the_sum() {
        let mut config = Config::default();
        let usual = config.memory_bytes_max();
        config.server.connections_max /= 4;
        config.storage.cache_mb /= 2;
        let less = config.memory_bytes_max();
        assert!(less + 500 * MIB < usual, "{less} of {usual}");
        for bound in config.memory_bounds() {
            let known = bound.setting.is_none_or(|setting| {
                include_str!("../../hcert.toml").contains(&setting[setting.find('.').unwrap() + 1..])
            });
            assert!(known && bound.bytes > 0, "{bound:?}");
        }
    }
}

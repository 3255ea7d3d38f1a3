//! What is measured, in one table: what is asked, by how many clients, beside which floor, with which goal.

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// As `--only` takes it.
    pub name: &'static str,
    pub title: &'static str,
    pub kind: RequestKind,
    pub clients: ClientCount,
    /// What is compared with the floor and with the smallest size.
    pub measure: Measure,
    pub floor: Floor,
    pub goal: PerformanceGoal,
    /// How many times as much it may cost at most as at the smallest size; `ANY` where the design sets no bound.
    pub growth: f64,
}

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    Read,
    Vread,
    History,
    /// The certificate in print.
    Pdf,
    Subject,
    EmployerPeriod,
    Practitioner,
    /// Half of all certificates and more: two of three categories, completed. `page` from 1.
    Dense {
        page: u64,
        by_date: bool,
    },
    /// The same with `_count=0`.
    Count,
    /// All versions of all certificates, from a time on.
    TypeHistory {
        since: HistorySince,
        /// A page in the older half; else the first.
        far: bool,
        /// After an import that made times fall behind the order of changes.
        unordered: bool,
    },
    /// Four of five requests read or search, one writes.
    Mixed,
    /// A create, then a search for it on the same connection; the search is timed.
    AfterWrite,
    Update,
    Suspend,
    Create,
    /// Stops, kills and starts; no requests of its own.
    Restart,
}

/// Since when versions are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistorySince {
    Ever,
    /// About half of all versions are as old or older.
    Middle,
    /// Few are as new or newer.
    Recent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCount {
    One,
    /// As `--clients` says.
    Some,
    Many,
}

/// Clients of [`ClientCount::Many`].
pub(super) const MANY: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// CPU time of the server per request.
    Cpu,
    /// The time half of the requests stay within.
    P50,
    /// Requests per second.
    Rate,
}

/// What it costs at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floor {
    None,
    /// 4 KB from memory through the same HTTP code.
    Http,
    /// What the journal writes for a create, appended to a preallocated file with one `fdatasync`; so many of them at a time.
    Append(usize),
    /// The same search after a pause as long as the write.
    Pause,
}

/// Source: DESIGN, section 7.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PerformanceGoal {
    None,
    /// So many times the floor.
    AtMost(f64),
    /// Microseconds of CPU.
    CpuUs(f64),
}

/// The design sets no bound on growth.
pub(super) const ANY: f64 = f64::INFINITY;

/// The design calls it flat. Larger stores miss caches more often, so even a read costs some more there.
const FLAT: f64 = 1.4;

use ClientCount::{Many, One, Some};
use HistorySince::{Ever, Middle, Recent};
use Measure::{Cpu, P50, Rate};
use PerformanceGoal::{AtMost, CpuUs};
use RequestKind::{
    AfterWrite, Count, Create, Dense, EmployerPeriod, History, Mixed, Pdf, Practitioner, Read, Restart, Subject,
    Suspend, TypeHistory, Update, Vread,
};

/// What [`RequestKind::Mixed`] is made of.
pub(super) const MIXED: [RequestKind; 6] = [Read, Subject, Practitioner, dense(1), Create, Update];

/// All scenarios, in the order they are run: what changes nothing comes first, what adds most comes later, and last what cannot be undone.
#[rustfmt::skip]
pub const SCENARIOS: &[Scenario] = &[
    row("read",                 "read",                                    Read,                     Some, Cpu,  Floor::Http,       AtMost(2.0)),
    row("vread",                "vread",                                   Vread,                    Some, Cpu,  Floor::Http,       PerformanceGoal::None),
    row("history",              "history of a certificate",                History,                  Some, Cpu,  Floor::Http,       PerformanceGoal::None),
    row("subject",              "search by subject",                       Subject,                  Some, Cpu,  Floor::Http,       AtMost(4.0)).grows(1.4),
    row("employer-period",      "search by employer and period",           EmployerPeriod,           Some, Cpu,  Floor::Http,       PerformanceGoal::None),
    row("practitioner",         "search by practitioner",                  Practitioner,             Some, Cpu,  Floor::Http,       PerformanceGoal::None),
    row("dense-page-1",         "category and status, page 1",             dense(1),                 Some, Cpu,  Floor::Http,       CpuUs(1e3)),
    row("dense-page-50",        "category and status, page 50",            dense(50),                Some, Cpu,  Floor::Http,       CpuUs(1e3)),
    row("dense-page-1000",      "category and status, page 1000",          dense(1000),              Some, Cpu,  Floor::Http,       CpuUs(1e3)),
    row("dense-date-page-1",    "category and status by -date, page 1",    by_date(1),               Some, Cpu,  Floor::Http,       CpuUs(1e3)),
    row("dense-date-page-50",   "category and status by -date, page 50",   by_date(50),              Some, Cpu,  Floor::Http,       CpuUs(1e3)),
    row("dense-date-page-1000", "category and status by -date, page 1000", by_date(1000),            Some, Cpu,  Floor::Http,       CpuUs(1e3)),
    row("dense-count",          "category and status, _count=0",           Count,                    Some, Cpu,  Floor::Http,       PerformanceGoal::None),
    row("history-all",          "all versions, page 1",                    ordered(Ever, false),     Some, Cpu,  Floor::Http,       CpuUs(1e3)).grows(FLAT),
    row("history-all-far",      "all versions, far back",                  ordered(Ever, true),      Some, Cpu,  Floor::Http,       CpuUs(1e3)).grows(FLAT),
    row("history-since",        "all versions since the middle",           ordered(Middle, false),   Some, Cpu,  Floor::Http,       CpuUs(1e3)).grows(FLAT),
    row("history-since-far",    "all versions since the middle, far back", ordered(Middle, true),    Some, Cpu,  Floor::Http,       CpuUs(1e3)).grows(FLAT),
    row("history-recent",       "all versions since lately",               ordered(Recent, false),   Some, Cpu,  Floor::Http,       CpuUs(1e3)).grows(FLAT),
    row("pdf",                  "$pdf",                                    Pdf,                      One,  P50,  Floor::None,       CpuUs(1e4)).grows(FLAT),
    row("mixed",                "mixed: 80 % read and search, 20 % write", Mixed,                    Some, Cpu,  Floor::None,       PerformanceGoal::None),
    row("after-write",          "search straight after a write",           AfterWrite,               One,  P50,  Floor::Pause,      AtMost(1.2)),
    row("update",               "update",                                  Update,                   One,  P50,  Floor::Append(1),  PerformanceGoal::None),
    row("suspend",              "$suspend",                                Suspend,                  One,  P50,  Floor::Append(1),  PerformanceGoal::None),
    row("create-1",             "create, 1 client",                        Create,                   One,  P50,  Floor::Append(1),  AtMost(3.0)).grows(1.3),
    row("create-64",            "create, 64 clients",                      Create,                   Many, Rate, Floor::Append(32), CpuUs(120.0)),
    row("restart",              "start, kill, memory",                     Restart,                  Some, P50,  Floor::None,       PerformanceGoal::None),
    row("unordered-all",        "late import: all versions, page 1",       unordered(Ever, false),   Some, Cpu,  Floor::Http,       CpuUs(1e3)).grows(FLAT),
    row("unordered-all-far",    "late import: all versions, far back",     unordered(Ever, true),    Some, Cpu,  Floor::Http,       CpuUs(1e3)).grows(FLAT),
    row("unordered-since",      "late import: since the middle",           unordered(Middle, false), Some, Cpu,  Floor::Http,       CpuUs(1e3)).grows(FLAT),
    row("unordered-since-far",  "late import: since the middle, far back", unordered(Middle, true),  Some, Cpu,  Floor::Http,       CpuUs(1e3)).grows(FLAT),
    row("unordered-recent",     "late import: since lately",               unordered(Recent, false), Some, Cpu,  Floor::Http,       CpuUs(1e3)).grows(FLAT),
];

const fn row(
    name: &'static str,
    title: &'static str,
    kind: RequestKind,
    clients: ClientCount,
    measure: Measure,
    floor: Floor,
    goal: PerformanceGoal,
) -> Scenario {
    Scenario { name, title, kind, clients, measure, floor, goal, growth: ANY }
}

const fn dense(page: u64) -> RequestKind {
    Dense { page, by_date: false }
}

const fn by_date(page: u64) -> RequestKind {
    Dense { page, by_date: true }
}

const fn ordered(since: HistorySince, far: bool) -> RequestKind {
    TypeHistory { since, far, unordered: false }
}

const fn unordered(since: HistorySince, far: bool) -> RequestKind {
    TypeHistory { since, far, unordered: true }
}

impl Scenario {
    const fn grows(self, growth: f64) -> Scenario {
        Scenario { growth, ..self }
    }

    /// By the name `--only` takes.
    pub fn named(name: &str) -> Option<&'static Scenario> {
        SCENARIOS.iter().find(|scenario| scenario.name == name)
    }

    /// How many clients ask at once, when `some` of them do by default.
    pub fn clients(&self, some: usize) -> usize {
        match self.clients {
            One => 1,
            Some => some,
            Many => MANY,
        }
    }

    /// Its requests change the store, so the server still works on them when the last was answered.
    pub fn writes(&self) -> bool {
        matches!(self.kind, Mixed | AfterWrite | Update | Suspend | Create)
    }

    /// It is run after an import out of order, which cannot be undone.
    pub fn is_unordered(&self) -> bool {
        matches!(self.kind, TypeHistory { unordered: true, .. })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_told_apart_and_found_again() {
        let names: HashSet<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        assert_eq!(names.len(), SCENARIOS.len());
        assert!(SCENARIOS.iter().all(|scenario| Scenario::named(scenario.name).unwrap().name == scenario.name));
        assert!(Scenario::named("reed").is_none());
    }

    #[test]
    fn what_changes_nothing_comes_before_what_does() {
        let first_write = SCENARIOS.iter().position(Scenario::writes).unwrap();
        let first_unordered = SCENARIOS.iter().position(Scenario::is_unordered).unwrap();
        let writing = &SCENARIOS[first_write..first_unordered];
        assert!(writing.iter().all(|scenario| scenario.writes() || scenario.kind == Restart));
        assert!(SCENARIOS[first_unordered..].iter().all(Scenario::is_unordered));
    }
}

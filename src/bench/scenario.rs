//! What is measured, in one table: what is asked, by how many clients, beside which floor, with which goal.

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// As `--only` takes it.
    pub name: &'static str,
    pub title: &'static str,
    pub asks: Asks,
    pub clients: ClientCount,
    /// What is compared with the floor and with the smallest size.
    pub measure: Measure,
    pub floor: Floor,
    pub goal: PerformanceGoal,
}

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    Read,
    Vread,
    History,
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
    /// One durable commit of the same rows.
    Commit,
    /// Durable commits of [`GROUP`] such rows each.
    Group,
    /// The same search without a write before it.
    Search,
}

/// Rows of a commit of [`Floor::Group`].
pub(super) const GROUP: usize = 32;

/// Source: DESIGN, section 5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PerformanceGoal {
    None,
    /// So many times the floor.
    AtMost(f64),
    /// At least so much of the floor.
    AtLeast(f64),
    /// Milliseconds of CPU.
    CpuMs(f64),
}

use Asks::{
    AfterWrite, Count, Create, Dense, EmployerPeriod, History, Mixed, Practitioner, Read, Restart, Subject, Suspend,
    Update, Vread,
};
use ClientCount::{Many, One, Some};
use Measure::{Cpu, P50, Rate};
use PerformanceGoal::{AtLeast, AtMost, CpuMs};

/// What [`Asks::Mixed`] is made of.
pub(super) const MIXED: [Asks; 6] = [Read, Subject, Practitioner, dense(1), Create, Update];

/// All scenarios, in the order they are run: what changes nothing comes first, what adds most comes last.
#[rustfmt::skip]
pub const SCENARIOS: &[Scenario] = &[
    row("read",                 "read",                                  Read,           Some, Cpu,  Floor::Http,   AtMost(2.5)),
    row("vread",                "vread",                                 Vread,          Some, Cpu,  Floor::Http,   PerformanceGoal::None),
    row("history",              "history of a certificate",              History,        Some, Cpu,  Floor::Http,   PerformanceGoal::None),
    row("subject",              "search by subject",                     Subject,        Some, Cpu,  Floor::Http,   AtMost(6.0)),
    row("employer-period",      "search by employer and period",         EmployerPeriod, Some, Cpu,  Floor::Http,   PerformanceGoal::None),
    row("practitioner",         "search by practitioner",                Practitioner,   Some, Cpu,  Floor::Http,   PerformanceGoal::None),
    row("dense-page-1",         "category and status, page 1",           dense(1),       Some, Cpu,  Floor::Http,   CpuMs(0.5)),
    row("dense-page-50",        "category and status, page 50",          dense(50),      Some, Cpu,  Floor::Http,   PerformanceGoal::None),
    row("dense-page-1000",      "category and status, page 1000",        dense(1000),    Some, Cpu,  Floor::Http,   CpuMs(5.0)),
    row("dense-date-page-1",    "category and status by -date, page 1",  by_date(1),     Some, Cpu,  Floor::Http,   CpuMs(0.5)),
    row("dense-date-page-50",   "category and status by -date, page 50", by_date(50),    Some, Cpu,  Floor::Http,   PerformanceGoal::None),
    row("dense-date-page-1000", "category and status by -date, page 1000", by_date(1000),  Some, Cpu,  Floor::Http,   CpuMs(5.0)),
    row("dense-count",          "category and status, _count=0",         Count,          Some, Cpu,  Floor::Http,   PerformanceGoal::None),
    row("mixed",                "mixed: 80 % read and search, 20 % write", Mixed,        Some, Cpu,  Floor::None,   PerformanceGoal::None),
    row("after-write",          "search straight after a write",         AfterWrite,     One,  P50,  Floor::Search, AtMost(1.5)),
    row("update",               "update",                                Update,         One,  P50,  Floor::Commit, PerformanceGoal::None),
    row("suspend",              "$suspend",                              Suspend,        One,  P50,  Floor::Commit, PerformanceGoal::None),
    row("create-1",             "create, 1 client",                      Create,         One,  P50,  Floor::Commit, AtMost(3.0)),
    row("create-64",            "create, 64 clients",                    Create,         Many, Rate, Floor::Group,  AtLeast(0.35)),
    row("restart",              "start, kill, memory",                   Restart,        Some, P50,  Floor::None,   PerformanceGoal::None),
];

const fn row(
    name: &'static str,
    title: &'static str,
    asks: Asks,
    clients: ClientCount,
    measure: Measure,
    floor: Floor,
    goal: PerformanceGoal,
) -> Scenario {
    Scenario { name, title, asks, clients, measure, floor, goal }
}

const fn dense(page: u64) -> Asks {
    Dense { page, by_date: false }
}

const fn by_date(page: u64) -> Asks {
    Dense { page, by_date: true }
}

impl Scenario {
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
        matches!(self.asks, Mixed | AfterWrite | Update | Suspend | Create)
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
        let after = &SCENARIOS[first_write..];
        assert!(after.iter().all(|scenario| scenario.writes() || scenario.asks == Restart));
    }
}

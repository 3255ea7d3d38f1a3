//! Whether all bounds on memory together fit what the process may take.

use std::fs;
use std::path::Path;

use crate::management::{HealthPart, HealthStatus, PartReports, WatchedPart};

/// Compares the sum of all bounds with the limit that holds for this process, both in bytes.
pub struct MemorySum {
    pub bytes_max: u64,
    pub limit: MemoryLimit,
}

/// How much memory a process may take, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryLimit {
    /// A control group, of systemd or of a container.
    ControlGroup(u64),
    /// The memory of the machine.
    Machine(u64),
    Unknown,
}

impl MemoryLimit {
    /// The smallest limit of the control groups that this process is in, else the memory of the machine.
    pub fn of_process() -> MemoryLimit {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let machine = machine_bytes();
        match (of_groups(&groups, Path::new("/sys/fs/cgroup")), machine) {
            // Version 1 has a huge number where there is none.
            (Some(bytes), machine) if machine.is_none_or(|machine| bytes < machine) => MemoryLimit::ControlGroup(bytes),
            (_, Some(bytes)) => MemoryLimit::Machine(bytes),
            _ => MemoryLimit::Unknown,
        }
    }

    fn bytes(&self) -> Option<u64> {
        match self {
            MemoryLimit::ControlGroup(bytes) | MemoryLimit::Machine(bytes) => Some(*bytes),
            MemoryLimit::Unknown => None,
        }
    }
}

impl MemorySum {
    /// What is wrong, in words, where the sum does not fit.
    pub fn problem(&self) -> Option<String> {
        let whose = match self.limit {
            MemoryLimit::ControlGroup(_) => "its control group allows",
            MemoryLimit::Machine(_) => "the machine has",
            MemoryLimit::Unknown => return None,
        };
        let limit = self.limit.bytes().filter(|limit| self.bytes_max > *limit)?;
        Some(format!(
            "The bounds on memory allow {} MiB in all, but {whose} {} MiB: raise that limit, or lower \
             server.connections_max, storage.cache_mb, server.requests_max or server.body_bytes_max.",
            mebibytes(self.bytes_max),
            mebibytes(limit)
        ))
    }
}

impl WatchedPart for MemorySum {
    fn check(&self, told: &mut PartReports) {
        let part = match self.problem() {
            Some(problem) => HealthPart::new("memory", HealthStatus::Degraded, problem),
            None => HealthPart::new("memory", HealthStatus::Ok, "All bounds on memory together fit."),
        };
        let part = part.with("bytes_max", self.bytes_max);
        told.add(match self.limit.bytes() {
            Some(limit) => part.with("limit_bytes", limit),
            None => part,
        });
    }
}

fn mebibytes(bytes: u64) -> u64 {
    bytes / (1024 * 1024)
}

/// The smallest limit from the groups of a process up to the root; `groups` is its `/proc/self/cgroup`.
///
/// Source: cgroups(7); Linux, `admin-guide/cgroup-v2.rst`, `memory.max`.
fn of_groups(groups: &str, root: &Path) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { return Vec::new() };
        let (root, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            some if some.split(',').any(|controller| controller == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return Vec::new(),
        };
        // In a container the path may be that of the machine, where only its end or its root is seen.
        let group = root.join(group.trim_start_matches('/'));
        let folders = group.ancestors().take_while(|folder| folder.starts_with(&root));
        folders.filter_map(|folder| fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()).collect()
    });
    limits.min()
}

/// Bytes of the machine's memory. `/proc/meminfo` is not seen under `ProcSubset=pid` of systemd.
fn machine_bytes() -> Option<u64> {
    // SAFETY: both calls only return a number.
    let (pages, bytes) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let (pages, bytes) = (u64::try_from(pages).ok()?, u64::try_from(bytes).ok()?);
    pages.checked_mul(bytes).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_up_to_the_root_holds() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("system.slice/hcert.service/memory.max", "max\n");
        write("system.slice/memory.max", "3000000\n");
        write("memory.max", "4000000\n");
        let of = |groups: &str| of_groups(groups, folder.path());
        assert_eq!(of("0::/system.slice/hcert.service\n"), Some(3_000_000));
        assert_eq!(of("0::/\n"), Some(4_000_000));
        // Another container's path, of which nothing is seen here.
        assert_eq!(of("0::/docker/0123\n"), Some(4_000_000));
        write("system.slice/hcert.service/memory.max", "2000000\n");
        assert_eq!(of("0::/system.slice/hcert.service\n"), Some(2_000_000));
        write("memory/docker/memory.limit_in_bytes", "1000000\n");
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        let first = "12:cpu,cpuacct:/docker\n5:memory:/docker\n1:name=systemd:/docker\n";
        assert_eq!(of(first), Some(1_000_000));
        for none in ["", "nonsense", "1:cpu:/a\n"] {
            assert_eq!(of(none), None, "{none}");
        }
        assert_eq!(of_groups("0::/a", &folder.path().join("empty")), None);
    }

    #[test]
    fn a_sum_that_does_not_fit_is_told_with_both_numbers_and_what_to_lower() {
        let memory = |limit| MemorySum { bytes_max: 300 << 20, limit };
        assert_eq!(memory(MemoryLimit::Unknown).problem(), None);
        assert_eq!(memory(MemoryLimit::ControlGroup(300 << 20)).problem(), None);
        let problem = memory(MemoryLimit::ControlGroup(299 << 20)).problem().unwrap();
        for expected in ["300 MiB", "control group", "299 MiB", "server.connections_max", "storage.cache_mb"] {
            assert!(problem.contains(expected), "{problem}");
        }
        let mut told = PartReports::default();
        memory(MemoryLimit::Machine(1 << 20)).check(&mut told);
        assert_eq!((told.parts[0].name, told.parts[0].status), ("memory", HealthStatus::Degraded));
        assert!(told.parts[0].words.contains("the machine has 1 MiB"));
        assert!(machine_bytes().is_some_and(|bytes| bytes > 64 << 20));
    }
}

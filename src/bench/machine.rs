//! The machine a bench ran on, as far as it can be told without asking anybody.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::scratch::file_system;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BenchMachine {
    pub cores: usize,
    pub cpu: String,
    pub memory_bytes: u64,
    pub kernel: String,
    /// Of the folder the data lay in.
    pub file_system: String,
}

impl BenchMachine {
    pub fn here(folder: &Path) -> BenchMachine {
        let unknown = || "unknown".to_owned();
        let text = |file: &str| fs::read_to_string(file).unwrap_or_default();
        BenchMachine {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            cpu: field(&text("/proc/cpuinfo"), "model name").unwrap_or_else(unknown),
            memory_bytes: field(&text("/proc/meminfo"), "MemTotal").and_then(|value| kibibytes(&value)).unwrap_or(0),
            kernel: Some(text("/proc/sys/kernel/osrelease").trim().to_owned())
                .filter(|release| !release.is_empty())
                .map_or_else(unknown, |release| format!("Linux {release}")),
            file_system: file_system(folder).map_or_else(unknown, |about| name(about.f_type)),
        }
    }

    /// One line for people.
    pub fn line(&self) -> String {
        let gigabytes = self.memory_bytes as f64 / f64::from(1 << 30);
        let BenchMachine { cores, cpu, kernel, file_system, .. } = self;
        format!("{cores} cores ({cpu}), {gigabytes:.0} GiB of memory, {kernel}, data on {file_system}")
    }
}

/// Value behind `name`, a colon and spaces.
pub(super) fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.split(':').next().is_some_and(|word| word.trim() == name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// `17 kB` in bytes.
pub(super) fn kibibytes(value: &str) -> Option<u64> {
    value.strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

/// Source: statfs(2).
#[allow(clippy::unnecessary_cast, reason = "the type of the number differs between platforms")]
fn name<T: TryInto<i64>>(kind: T) -> String {
    match kind.try_into().unwrap_or_default() {
        0xef53 => "ext4".to_owned(),
        0x5846_5342 => "xfs".to_owned(),
        0x9123_683e => "btrfs".to_owned(),
        0x2fc1_2fc1 => "zfs".to_owned(),
        0x794c_7630 => "overlayfs".to_owned(),
        0x0102_1994 => "tmpfs (memory: nothing is durable there)".to_owned(),
        0x6969 => "nfs".to_owned(),
        other => format!("a file system of type {other:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_proc_are_found_by_their_whole_name() {
        let text = "MemTotalX:  1 kB\nMemTotal:       24681612 kB\nmodel name\t: AMD: EPYC\n";
        assert_eq!(field(text, "MemTotal").as_deref(), Some("24681612 kB"));
        assert_eq!(field(text, "model name").as_deref(), Some("AMD: EPYC"));
        assert_eq!(field(text, "Mem"), None);
        assert_eq!(kibibytes("24681612 kB"), Some(24_681_612 * 1024));
        assert_eq!(kibibytes("many"), None);
    }

    #[test]
    fn the_machine_says_what_it_is() {
        let machine = BenchMachine::here(Path::new("."));
        assert!(machine.cores >= 1 && machine.memory_bytes > 0);
        assert!(machine.line().contains("Linux "), "{}", machine.line());
    }
}

//! Both logs do the same, whatever is done to them.

use redb::backends::InMemoryBackend;

use std::ops::Bound;

use super::table::{RowRange, TableRow};
use super::*;

const ROWS: TableDefinition<(u64, u32), &[u8]> = TableDefinition::new("rows");
const NAMES: TableDefinition<(&str, &str, u64), ()> = TableDefinition::new("names");
const NEVER: TableDefinition<u64, u64> = TableDefinition::new("never");

const NAME: [&str; 4] = ["", "a", "aa", "õ"];

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn both() -> [Log; 2] {
    let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
    [Log::of_redb(database), Log::Memory(MemoryLog::default())]
}

/// What a table answers to everything that it can be asked about some keys.
fn asked(log: &Log, numbers: &mut Numbers) -> String {
    let reading = log.begin_read().unwrap();
    assert!(reading.find_table(NEVER).unwrap().is_none());
    let Some(rows) = reading.find_table(ROWS).unwrap() else { return "no table".into() };
    let told = |row: Option<TableRow<'_, (u64, u32), &'static [u8]>>| {
        row.map(|(key, value)| (key.value(), value.value().to_vec()))
    };
    let mut out = format!("{} {:?} {:?}", rows.len().unwrap(), told(rows.first().unwrap()), told(rows.last().unwrap()));
    for _ in 0..8 {
        let [from, to] = [0, 1].map(|_| (numbers.below(5), numbers.below(5) as u32));
        let found = rows.get(from).unwrap().map(|value| value.value().to_vec());
        let later = rows.get_owned(from).unwrap().map(|value| value.value().to_vec());
        assert_eq!(found, later);
        let all = |rows: RowRange<'_, (u64, u32), &'static [u8]>| {
            rows.map(|row| told(Some(row.unwrap()))).collect::<Vec<_>>()
        };
        let bounds = match numbers.below(3) {
            0 => (Bound::Included(from), Bound::Included(to)),
            1 => (Bound::Excluded(from), Bound::Excluded(to)),
            _ => (Bound::Excluded(from), Bound::Unbounded),
        };
        let (forth, back) = (all(rows.range(bounds).unwrap()), rows.range(bounds).unwrap().rev().count());
        assert_eq!(forth.len(), back);
        out += &format!(" | {found:?} {:?} {forth:?}", told(rows.last_up_to(from).unwrap()));
    }
    let names = reading.open_table(NAMES).unwrap();
    let names: Vec<_> = names.iter().unwrap().map(|row| format!("{:?}", row.unwrap().0.value())).collect();
    out + &names.join(" ")
}

/// The same steps, from the same numbers, and what is there after each transaction.
fn played(log: &Log, seed: u64) -> Vec<String> {
    let mut numbers = Numbers(seed);
    let mut out = Vec::new();
    for _ in 0..12 {
        let before = log.begin_read().unwrap();
        let known = |reading: &ReadTransaction| reading.find_table(ROWS).unwrap().map(|rows| rows.len().unwrap());
        let stood = known(&before);
        let mut writing = log.begin_write().unwrap();
        writing.durable(true).unwrap();
        {
            let (mut rows, mut names) = (writing.open_table(ROWS).unwrap(), writing.open_table(NAMES).unwrap());
            for _ in 0..numbers.below(12) {
                let key = (numbers.below(5), numbers.below(5) as u32);
                match numbers.below(8) {
                    0 => rows.remove(key).unwrap(),
                    1 if numbers.below(6) == 0 => rows.clear().unwrap(),
                    2 => {
                        let last = rows.last().unwrap().map_or(0, |(key, _)| key.value().0);
                        rows.append([((last + 1, 0), &b"x"[..]), ((last + 1, 1), &b""[..])]).unwrap();
                    }
                    _ => out.push(rows.insert(key, &[key.1 as u8; 3][..]).unwrap().to_string()),
                }
                let name = |numbers: &mut Numbers| NAME[numbers.below(4) as usize];
                names.insert((name(&mut numbers), name(&mut numbers), key.0), ()).unwrap();
            }
        }
        match numbers.below(4) {
            0 => writing.abort().unwrap(),
            1 => drop(writing),
            _ => writing.commit().unwrap(),
        }
        assert_eq!(known(&before), stood, "a moment stays what it was");
        out.push(asked(log, &mut numbers));
    }
    out
}

#[test]
fn the_log_in_memory_answers_as_that_of_redb_does() {
    for seed in 0..200 {
        let [redb, memory] = both().map(|log| played(&log, seed));
        assert_eq!(redb, memory, "seed {seed}");
    }
}

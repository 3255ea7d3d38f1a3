//! A search by hand: look at every row, keep what fits, sort, cut a page out.

use std::collections::BTreeMap;
use std::sync::Arc;

use certificate::{Seq, State};
use engine::Engine;

use crate::known::Known;
use crate::order::{self, Order};
use crate::questions::Question;

/// All current rows at one moment.
#[derive(Clone, Default)]
pub(crate) struct World {
    pub rows: BTreeMap<u64, Arc<Known>>,
}

/// What a page must be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub total: u64,
    pub hits: Vec<(u64, u32)>,
}

impl World {
    /// All rows that meet every question, in order.
    pub(crate) fn find(&self, questions: &[Question], order: &Order) -> Vec<&Known> {
        let fits = |row: &&Known| questions.iter().all(|question| question.holds(row));
        let mut found: Vec<&Known> = self.rows.values().map(Arc::as_ref).filter(fits).collect();
        found.sort_by(|left, right| order::compare(order, left, right));
        found
    }

    /// One page, from 1.
    pub(crate) fn page(&self, questions: &[Question], order: &Order, page: u64, count: u32) -> Answer {
        page_of(&self.find(questions, order), page, count)
    }
}

pub(crate) fn page_of(found: &[&Known], page: u64, count: u32) -> Answer {
    let skip = (page as usize - 1).saturating_mul(count as usize);
    let hits = found.iter().skip(skip).take(count as usize).map(|row| row.hit()).collect();
    Answer { total: found.len() as u64, hits }
}

/// Every change of a store, from which the state at any moment follows.
pub(crate) struct Log {
    /// The change of seq n stands at n - 1: id, and what it brought; none for a deletion.
    pub changes: Vec<(u64, Option<Arc<Known>>)>,
}

impl Log {
    pub(crate) fn read(engine: &Engine) -> Log {
        let mut changes = Vec::new();
        loop {
            let chunk = engine.ledger().versions_after(Seq(changes.len() as u64), 500).unwrap();
            if chunk.is_empty() {
                return Log { changes };
            }
            for (seq, stored) in chunk {
                assert_eq!(seq.0, changes.len() as u64 + 1, "changes are counted without gaps");
                let known = (stored.state != State::Deleted).then(|| Arc::new(Known::read(&stored.resource)));
                if let Some(known) = &known {
                    assert_eq!(known.hit(), (stored.id.get(), stored.version.get()));
                    assert_eq!(known.updated, stored.stamp.milliseconds);
                }
                changes.push((stored.id.get(), known));
            }
        }
    }

    /// The world after the last change.
    pub(crate) fn world(&self) -> World {
        let mut world = World::default();
        self.changes.iter().for_each(|change| world.apply(change));
        world
    }
}

impl World {
    pub(crate) fn apply(&mut self, (id, known): &(u64, Option<Arc<Known>>)) {
        match known {
            Some(known) => self.rows.insert(*id, known.clone()),
            None => self.rows.remove(id),
        };
    }
}

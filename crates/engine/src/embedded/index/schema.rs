//! Fields of the index, and what it was made from.

use serde::{Deserialize, Serialize};
use tantivy::schema::{BytesOptions, Field, INDEXED, NumericOptions, Schema};

/// What the index was made from; another one is not ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::embedded) struct IndexOrigin {
    /// Store uuid.
    pub store: String,
    /// Of the store: a restore makes another one, and the index from before it may know changes that are gone.
    pub epoch: String,
    /// The layout of fields and the rules that fill them. What a row says is decided when its version is written, and stored.
    pub schema: String,
}

impl IndexOrigin {
    /// The origin of an index that this release makes.
    pub(in crate::embedded) fn new(store: String, epoch: String) -> IndexOrigin {
        IndexOrigin { store, epoch, schema: format!("layout {LAYOUT}") }
    }

    /// Whether an index of an origin can be searched as one of this origin, though a rebuild may fill it otherwise.
    pub(super) fn reads(&self, found: &IndexOrigin) -> bool {
        let layout = |origin: &IndexOrigin| origin.schema.strip_prefix("layout ")?.parse::<u32>().ok();
        let is_read = || layout(found).is_some_and(|number| (LAYOUT_READ_MIN..=LAYOUT).contains(&number));
        (&self.store, &self.epoch) == (&found.store, &found.epoch) && (self.schema == found.schema || is_read())
    }
}

#[derive(Serialize, Deserialize)]
pub(in crate::embedded) struct Payload {
    #[serde(flatten)]
    pub origin: IndexOrigin,
    pub seq: u64,
    /// Certificates it holds.
    pub rows: u64,
}

/// Number of this layout of fields and of the rules that fill them; part of [`IndexOrigin::schema`].
pub(in crate::embedded) const LAYOUT: u32 = 1;

/// The first layout with these fields whose rows this release finds. Such an index is searched until one of [`LAYOUT`] is built beside it; one of an
/// earlier layout is built again while searches wait.
const LAYOUT_READ_MIN: u32 = if cfg!(test) { 0 } else { 1 };

/// Bytes the indexing thread may hold before it writes a segment.
pub(in crate::embedded) const ARENA_BYTES: usize = 64 * 1024 * 1024;

#[derive(Clone, Copy)]
pub(in crate::embedded) struct IndexFields {
    pub id: Field,
    pub version: Field,
    pub last_updated: Field,
    pub class: Field,
    pub date_low: Field,
    pub date_high: Field,
    pub period_low: Field,
    pub period_high: Field,
    pub title: Field,
    pub term: Field,
}

pub(in crate::embedded) fn schema() -> (Schema, IndexFields) {
    let mut builder = Schema::builder();
    let column = || NumericOptions::default().set_fast();
    let fields = IndexFields {
        id: builder.add_u64_field("id", column() | INDEXED),
        version: builder.add_u64_field("version", column()),
        last_updated: builder.add_i64_field("last_updated", column()),
        class: builder.add_u64_field("class", column()),
        date_low: builder.add_i64_field("date_low", column()),
        date_high: builder.add_i64_field("date_high", column()),
        period_low: builder.add_i64_field("period_low", column()),
        period_high: builder.add_i64_field("period_high", column()),
        title: builder.add_bytes_field("title", BytesOptions::default().set_fast()),
        term: builder.add_bytes_field("term", BytesOptions::default().set_indexed()),
    };
    (builder.build(), fields)
}

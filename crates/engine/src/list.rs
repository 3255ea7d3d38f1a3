//! Code lists that an operator loaded, as the engine keeps them: it does not look into them.

/// A CodeSystem or ValueSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredList {
    /// Type and canonical URL; a new list replaces the one with the same key.
    pub key: ListKey,
    /// When it was loaded, milliseconds since 1970 UTC.
    pub at: i64,
    /// The resource as JSON.
    pub text: Vec<u8>,
}

/// What a list is known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListKey {
    /// `CodeSystem` or `ValueSet`.
    pub resource_type: String,
    /// The canonical `url` of the resource.
    pub url: String,
}

/// One step of a change of the lists. All steps of a change are stored together.
#[derive(Clone, Debug)]
pub enum ListChange {
    /// In the place of one with the same key.
    Put(StoredList),
    /// Removes the list with this key.
    Remove(ListKey),
}

impl ListChange {
    /// Bytes it brings.
    pub fn bytes(&self) -> usize {
        match self {
            ListChange::Put(list) => list.text.len(),
            ListChange::Remove(_) => 0,
        }
    }
}

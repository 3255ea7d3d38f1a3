//! What goes wrong in the index.

use base::threads::explained;

/// Every failure of the index: the caller deletes it and builds it again.
#[derive(Debug)]
pub(in crate::embedded) struct IndexError(pub String);

impl From<tantivy::TantivyError> for IndexError {
    fn from(error: tantivy::TantivyError) -> Self {
        IndexError(explained(error.to_string()))
    }
}

impl From<std::io::Error> for IndexError {
    fn from(error: std::io::Error) -> Self {
        IndexError(explained(error.to_string()))
    }
}

//! What goes wrong in the index.

use base::threads::explained;

/// Every failure of the index: the caller deletes it and builds it again.
#[derive(Debug)]
pub(in crate::embedded) struct Error(pub String);

impl From<tantivy::TantivyError> for Error {
    fn from(error: tantivy::TantivyError) -> Self {
        Error(explained(error.to_string()))
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error(explained(error.to_string()))
    }
}

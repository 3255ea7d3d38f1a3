//! Why a file cannot be made.

use std::fmt;

/// Why a file cannot be made. No text of the document does this, only the content of a QR code and what the program itself states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PdfFault {
    /// The content of a QR code is too long for one.
    CodeTooLong {
        /// Length of the content.
        bytes: usize,
    },
    /// The time of writing is not in the years 0 to 9999.
    Time(i64),
    /// The media type of the attachment has not the form of one.
    MediaType(&'static str),
    /// The file would break PDF/A-3a or PDF/UA-1, or a font could not be embedded.
    File(String),
}

impl fmt::Display for PdfFault {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            PdfFault::CodeTooLong { bytes } => {
                write!(formatter, "a content of {bytes} bytes is too long for a QR code")
            }
            PdfFault::Time(ms) => write!(formatter, "{ms} ms is not a time in the years 0 to 9999"),
            PdfFault::MediaType(text) => write!(formatter, "'{text}' is not a media type"),
            PdfFault::File(reason) => write!(formatter, "the file cannot be written: {reason}"),
        }
    }
}

impl std::error::Error for PdfFault {}

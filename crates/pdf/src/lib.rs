//! Lays out a document and writes it as one file that is PDF/A-3a and PDF/UA-1 at once.
//!
//! [`make`] takes a [`Sheet`], the text of a document as a list of blocks, and returns the bytes of the file. The same sheet gives the
//! same bytes. What the text means is the caller's matter.

mod draw;
mod fault;
mod font;
mod layout;
mod line;
mod sheet;
mod strip;
#[cfg(test)]
mod tests;

pub use fault::PdfFault;
pub use font::Fonts;
pub use sheet::{Attachment, Block, PAGES_MAX, Sheet, SheetRow as Row, SheetWords as Words};

/// Lays out a sheet and writes the file.
///
/// Texts may hold any Unicode: a character that the fonts lack is shown as "□", with a footnote. What goes beyond [`PAGES_MAX`] pages is
/// left out, and the last line says so.
///
/// # Errors
/// The content of a QR code does not fit into one, the time or the media type cannot be written, or the file would break one of the
/// standards.
pub fn make(sheet: &Sheet, fonts: &Fonts) -> Result<Vec<u8>, PdfFault> {
    let layout = layout::lay_out(sheet, fonts)?;
    draw::draw(sheet, layout, fonts)
}

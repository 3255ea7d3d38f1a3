//! What a document consists of, before it is laid out.

/// Pages of a file. A certificate needs one or two; free text of 10,000 characters needs three or four more.
pub const PAGES_MAX: usize = 20;

/// A document.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Language of the document, as a language tag.
    pub language: &'static str,
    /// Title in the metadata, and the first heading.
    pub title: String,
    /// Program that made the document.
    pub creator: String,
    /// What the id of the document is made from: the same for all versions of one document.
    pub identifier: String,
    /// Date of creation and of the attachment, in Unix milliseconds.
    pub written_ms: i64,
    /// Text at the top of every page. Screen readers do not read it.
    pub running: String,
    /// The words of the layout itself.
    pub words: SheetWords,
    /// The text, in reading order.
    pub blocks: Vec<Block>,
    /// A file inside the file.
    pub attachment: Option<Attachment>,
}

/// The words that the layout adds, in the language of the document.
#[derive(Clone, Copy, Debug)]
pub struct SheetWords {
    /// At the bottom of every page, with `{page}` and `{pages}` in place of the numbers.
    pub page: &'static str,
    /// Footnote when a character is shown as a box.
    pub no_glyph: &'static str,
    /// Last line when there is more than [`PAGES_MAX`] pages hold.
    pub left_out: &'static str,
}

/// A part of the text.
#[derive(Clone, Debug)]
pub enum Block {
    /// A frame across the page, with a large text and smaller lines below it.
    Band {
        /// The large text.
        text: String,
        /// The lines below it.
        lines: Vec<String>,
    },
    /// A heading, which has an entry in the outline and stays with what follows.
    Heading(String),
    /// A table of labels and values. A row stays on one page when a page can hold it.
    Rows(Vec<SheetRow>),
    /// A list with bullets.
    List(Vec<String>),
    /// Text across the page.
    Paragraph(String),
    /// A QR code with lines beside it.
    Code {
        /// What the code holds.
        content: String,
        /// What a screen reader says in its place.
        alternative: String,
        /// The lines beside it.
        lines: Vec<String>,
    },
}

/// A row of a table.
#[derive(Clone, Debug)]
pub struct SheetRow {
    /// The header of the row.
    pub label: String,
    /// Each begins on a line of its own.
    pub values: Vec<String>,
    /// Whether the values stand out.
    pub is_strong: bool,
}

/// The source that the document was made from.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// Name of the file.
    pub name: String,
    /// Its media type.
    pub media_type: &'static str,
    /// What it is.
    pub description: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

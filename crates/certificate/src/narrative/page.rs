//! A div under way: lines of markup of our own around texts of others, within bounds.

use fhir::json::Json;
use fhir::narrative::is_blank;
use fhir::outcome::Language;

/// Lines of a narrative that is made from a certificate's fields. A certificate has about ten; one of a hundred restrictions is read
/// in its fields.
const GENERATED_LINES_MAX: usize = 50;

/// Characters of a generated narrative with its markup.
const GENERATED_CHARACTERS_MAX: usize = 10_000;

/// Characters of one text in a generated narrative.
const GENERATED_TEXT_CHARACTERS_MAX: usize = 1_000;

/// Characters that the marks of what was left out and the tags of lists take at most.
const ENDING_CHARACTERS: usize = 200;

/// Markup that grows line by line. When it is full, its last line is `…` and nothing comes after it.
pub(super) struct NarrativePage {
    markup: String,
    lines: usize,
    characters: usize,
    is_full: bool,
}

impl NarrativePage {
    pub(super) fn new(markup: String) -> NarrativePage {
        NarrativePage { lines: 0, characters: markup.len(), is_full: false, markup }
    }

    /// A paragraph, left out when `write` says that there is nothing to tell.
    pub(super) fn line(&mut self, write: impl FnOnce(&mut NarrativeLine) -> bool) {
        self.element("<p>", "</p>", write);
    }

    /// A paragraph in bold.
    pub(super) fn heading(&mut self, write: impl FnOnce(&mut NarrativeLine) -> bool) {
        self.element("<p><b>", "</b></p>", write);
    }

    /// A list; no items, no list.
    pub(super) fn list<T>(&mut self, items: impl Iterator<Item = T>, write: impl Fn(&mut NarrativeLine, T) -> bool) {
        let start = self.markup.len();
        self.markup.push_str("<ul>");
        let empty = self.markup.len();
        for item in items.take(GENERATED_LINES_MAX) {
            self.element("<li>", "</li>", |line| write(line, item));
        }
        match self.markup.len() == empty {
            true => self.markup.truncate(start),
            false => self.markup.push_str("</ul>"),
        }
    }

    fn element(&mut self, open: &str, close: &str, write: impl FnOnce(&mut NarrativeLine) -> bool) {
        if self.is_full {
            return;
        }
        let start = self.markup.len();
        self.markup.push_str(open);
        let mut line = NarrativeLine {
            markup: &mut self.markup,
            left: GENERATED_TEXT_CHARACTERS_MAX,
            is_cut: false,
            is_plain: false,
            language: Language::Estonian,
        };
        if !write(&mut line) {
            return self.markup.truncate(start);
        }
        self.markup.push_str(close);
        self.lines += 1;
        self.characters += self.markup[start..].chars().count();
        let room = GENERATED_CHARACTERS_MAX - ENDING_CHARACTERS;
        if self.lines >= GENERATED_LINES_MAX || self.characters > room {
            self.is_full = true;
            self.markup.truncate(start);
            self.markup.extend([open, "…", close]);
        }
    }

    pub(super) fn end(mut self) -> String {
        self.markup.push_str("</div>");
        self.markup
    }
}

/// One line while it is written.
pub(super) struct NarrativeLine<'p> {
    markup: &'p mut String,
    /// Characters of texts that it still takes.
    left: usize,
    is_cut: bool,
    /// Texts stand as they are, since it is no markup.
    is_plain: bool,
    language: Language,
}

/// A line without markup, with at most so many characters of texts; nothing when `write` says that there is nothing to tell.
pub(super) fn plain_line(
    language: Language,
    characters_max: usize,
    write: impl FnOnce(&mut NarrativeLine) -> bool,
) -> Option<String> {
    let mut text = String::new();
    let mut line = NarrativeLine { markup: &mut text, left: characters_max, is_cut: false, is_plain: true, language };
    write(&mut line).then_some(text)
}

impl NarrativeLine<'_> {
    /// Words of our own in its language.
    pub(super) fn own(&self, estonian: &'static str, english: &'static str) -> &'static str {
        match self.language {
            Language::Estonian => estonian,
            Language::English => english,
        }
    }

    /// Words of our own, without markup.
    pub(super) fn words(&mut self, words: &str) {
        self.markup.push_str(words);
    }

    /// A text from the certificate: on one line, escaped, without the characters that XML forbids, cut where the line
    /// is full. False for a blank text, and when the line is full already.
    pub(super) fn text(&mut self, text: &str) -> bool {
        let start = self.markup.len();
        for word in text.split_whitespace() {
            let mut gap = if self.markup.len() > start { " " } else { "" };
            for character in word.chars().filter(is_shown) {
                if self.left == 0 {
                    self.cut();
                    return self.markup.len() > start;
                }
                self.markup.push_str(gap);
                self.left -= 1;
                gap = "";
                match character {
                    plain if self.is_plain => self.markup.push(plain),
                    '&' => self.markup.push_str("&amp;"),
                    '<' => self.markup.push_str("&lt;"),
                    '>' => self.markup.push_str("&gt;"),
                    other => self.markup.push(other),
                }
            }
        }
        self.markup.len() > start
    }

    fn cut(&mut self) {
        if !std::mem::replace(&mut self.is_cut, true) {
            self.markup.push('…');
        }
    }

    /// Words of our own and a text; neither when the text is blank.
    pub(super) fn part(&mut self, before: &str, text: &str) -> bool {
        let start = self.markup.len();
        self.markup.push_str(before);
        let is_told = self.text(text);
        if !is_told {
            self.markup.truncate(start);
        }
        is_told
    }

    /// Texts in brackets, those that are not blank. `before` stands before each of them.
    pub(super) fn in_brackets<'t>(&mut self, texts: impl Iterator<Item = &'t str>) {
        let mut before = " (";
        for text in texts {
            if self.part(before, text) {
                before = "; ";
            }
        }
        if before == "; " {
            self.markup.push(')');
        }
    }

    /// The amount and unit of a Quantity: `kuni 7,5 kg` for `<=`. `unit` is the one of the code list, for a quantity without one.
    pub(super) fn quantity(&mut self, before: &str, quantity: &Json, unit: Option<&str>) -> bool {
        let Some(Json::Number(amount)) = quantity.get("value") else { return false };
        let comparator = match quantity.text("comparator") {
            Some("<") => self.own("alla ", "less than "),
            Some("<=") => self.own("kuni ", "at most "),
            Some(">=") => self.own("vähemalt ", "at least "),
            Some(">") => self.own("üle ", "more than "),
            _ => "",
        };
        self.words(before);
        self.words(comparator);
        let is_told = self.text(&amount.replace('.', self.own(",", ".")));
        // `1` is UCUM's unit of a plain number.
        let units = [quantity.text("unit"), quantity.text("code"), unit];
        if let Some(unit) = units.into_iter().flatten().find(|unit| !is_blank(unit)).filter(|unit| *unit != "1") {
            self.part(" ", unit);
        }
        is_told
    }
}

fn is_shown(character: &char) -> bool {
    !character.is_control() && !matches!(character, '\u{fffe}' | '\u{ffff}')
}

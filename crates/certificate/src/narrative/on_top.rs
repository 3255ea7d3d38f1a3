//! What stands at the top of a narrative of a certificate that is not valid. Contract 8.5.

use super::fields::NarrativeFields;
use super::page::NarrativePage;
use crate::State;
use crate::section::{CANCEL_REASON, SUSPEND_REASON};

/// The part for the top of a narrative; nothing for a certificate whose state needs none.
pub(super) fn on_top(certificate: &NarrativeFields) -> Option<String> {
    let state = certificate.state()?;
    let words = match state {
        State::Suspended => "Olek: Peatatud. Tervisetõend praegu ei kehti.",
        State::Revoked => "Olek: Tühistatud. Tervisetõend ei kehti.",
        State::Draft | State::Completed | State::Deleted => return None,
    };
    let mut page = NarrativePage::new(OPENING.to_owned());
    page.heading(|line| {
        line.words(words);
        true
    });
    // The newest first: what was suspended may be cancelled, never the other way round.
    page.line(|line| certificate.section_text(line, CANCEL_REASON));
    page.line(|line| {
        line.words(if state == State::Revoked { "Varem peatatud. " } else { "" });
        certificate.section_text(line, SUSPEND_REASON)
    });
    Some(page.end())
}

/// How the part of a narrative begins that only the service writes.
pub(super) const OPENING: &str = r#"<div class="hcert-state" lang="et" xml:lang="et">"#;

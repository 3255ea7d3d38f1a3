//! What may not stand in a line as it came.

use uuid::Uuid;

/// What a caller chose, as the log may show it: a caller may have put a personal code there, which is eleven digits in a row.
pub fn shown(text: &str) -> &str {
    // Signs between its digits hide it from nobody who reads; the groups of a uuid, alone or at the end, are no code.
    let at_end = text.len().checked_sub(36).and_then(|at| text.split_at_checked(at));
    let before = at_end.filter(|(_, end)| Uuid::try_parse(end).is_ok()).map_or(text, |(before, _)| before);
    let is_apart = |character: char| character.is_ascii_alphabetic();
    let digits = |piece: &str| piece.bytes().filter(u8::is_ascii_digit).count();
    let names_somebody = text.split(|character: char| !character.is_ascii_digit()).any(|digits| digits.len() >= 11)
        || (Uuid::try_parse(text).is_err() && before.split(is_apart).any(|piece| digits(piece) >= 11));
    if names_somebody { "(not shown)" } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_of_a_uuid_are_no_personal_code() {
        let uuid = "12345678-1234-4234-8234-1234567890ab";
        for id in [uuid.to_owned(), format!("EE-{uuid}"), format!("ee-dev/GOV:{uuid}")] {
            assert_eq!(shown(&id), id);
        }
        for id in [
            format!("39406-240015-{uuid}"),
            format!("{uuid}-394062-40015"),
            "12345678-1234-4234-8234-123456789012".to_owned(),
        ] {
            assert_eq!(shown(&id), "(not shown)", "{id}");
        }
    }
}

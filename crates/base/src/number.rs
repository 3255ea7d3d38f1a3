//! Numbers in messages.

/// A number with what it counts, in the right form of the noun: `1 change`, `2 changes`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_agree_with_what_they_count() {
        let told = [0, 1, 2].map(|number| counted(number, "change", "changes"));
        assert_eq!(told, ["0 changes", "1 change", "2 changes"]);
    }
}

//! Text from outside as one word of a shell.

/// A text as one word of a POSIX shell. None for what is empty, too long, holds a control character, or reads as an
/// option: no quoting makes that a harmless one.
pub fn word(text: &str) -> Option<String> {
    let odd = text.is_empty() || text.len() > 300 || text.starts_with('-') || text.chars().any(char::is_control);
    if odd {
        return None;
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:=@%+,-~#".contains(c);
    // Only at the start of a word do `~` and `=` expand and `#` begin a comment.
    if text.chars().all(plain) && !text.starts_with(['~', '#', '=']) {
        Some(text.to_owned())
    } else {
        Some(format!("'{}'", text.replace('\'', r"'\''")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_word_stays_one(text in any_text()) {
            if let Some(word) = word(&text) {
                let inner = word.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                match inner {
                    Some(inner) => proptest::prop_assert!(!inner.replace(r"'\''", "").contains('\'')),
                    None => proptest::prop_assert!(!word.contains([' ', '\'', '"', '`', '$', ';', '&', '|', '<', '>', '(', ')', '*', '?', '\\', '!'])),
                }
            }
        }
    }

    fn any_text() -> impl proptest::strategy::Strategy<Value = String> {
        "[ -~\\n]{0,40}"
    }
}

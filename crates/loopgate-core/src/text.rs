//! Cuts texts that others wrote to a length that a document, a line or a name has room for.

/// The first `most` characters.
pub fn start(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// The first line, at most `most` characters of it.
pub fn first_line(text: &str, most: usize) -> String {
    start(text.lines().next().unwrap_or_default(), most)
}

/// All words on one line, at most `most` characters.
pub fn one_line(text: &str, most: usize) -> String {
    start(&text.split_whitespace().collect::<Vec<_>>().join(" "), most)
}

/// Whole lines, each with a line break behind it, as many as stay below `most` bytes.
pub fn whole_lines(lines: impl IntoIterator<Item = String>, most: usize) -> String {
    let mut text = String::new();
    for line in lines {
        if text.len() + line.len() + 1 >= most {
            break;
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(start("größer", 3), "grö");
        assert_eq!(first_line("one two\nthree", 20), "one two");
        assert_eq!(one_line("  one\n\ttwo  three", 9), "one two t");
        assert_eq!(
            whole_lines(["one", "two", "three"].map(String::from), 9),
            "one\ntwo\n"
        );
        assert_eq!(
            [start("", 3), first_line("", 3), one_line(" \n", 3)],
            ["", "", ""]
        );
    }
}

//! Which lines of a file hold nothing but blanks and comments.

use super::SourceLanguage;

/// How a language writes comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comments {
    line: &'static [&'static str],
    block: Option<(&'static str, &'static str)>,
}

impl Comments {
    /// By the path's language; for files of none, by the end of their name.
    pub fn of(path: &str) -> Self {
        const C: Comments = Comments { line: &["//"], block: Some(("/*", "*/")) };
        const MARKUP: Comments = Comments { line: &["//"], block: Some(("<!--", "-->")) };
        /// Files of no language whose comments begin with `#`.
        const HASHES: [&str; 15] = [
            ".yml",
            ".yaml",
            ".toml",
            ".env",
            ".properties",
            ".ini",
            ".cfg",
            ".conf",
            ".tf",
            ".rake",
            ".gemspec",
            "Gemfile",
            "Dockerfile",
            "Makefile",
            "requirements.txt",
        ];
        const HASH: Comments = Comments { line: &["#"], block: None };
        use SourceLanguage as L;
        match SourceLanguage::of(path) {
            Some(L::Python | L::Ruby | L::Shell | L::Perl | L::R | L::Elixir) => HASH,
            Some(L::Php) => Self { line: &["//", "#"], ..C },
            Some(L::Sql | L::Lua | L::Haskell) => Self { line: &["--"], block: None },
            Some(L::Vue | L::Svelte) => MARKUP,
            None if HASHES.iter().any(|end| path.ends_with(end)) => HASH,
            None if [".html", ".xml"].iter().any(|end| path.ends_with(end)) => MARKUP,
            _ => C,
        }
    }

    /// Whether a hunk begins inside a block comment: the next mark in it is an end. `below` are the lines of the patch
    /// after the hunk's header.
    pub fn opened_before(&self, below: &[&str]) -> bool {
        let Some((open, close)) = self.block else { return false };
        let lines = below.iter().take_while(|line| !line.starts_with("@@ ")).filter(|line| !line.starts_with('-'));
        // All of it stands in one, as documentation is written that is longer than what a diff shows.
        let is_starred = |line: &&str| {
            line.get(1..).is_some_and(|line| matches!(line.trim(), "*") || line.trim_start().starts_with("* "))
        };
        if open == "/*" && lines.clone().next().is_some() && lines.clone().all(is_starred) {
            return true;
        }
        for line in lines {
            match (find(line, open), find(line, close)) {
                (Some(opens), Some(closes)) => return closes < opens,
                (Some(_), None) => return false,
                // `*/` in code is a product of a dereference or part of a glob, and stands alone nowhere.
                (None, Some(_)) => {
                    let text = line.get(1..).unwrap_or_default().trim_start();
                    return text.starts_with('*') || text.ends_with(close);
                }
                (None, None) => {}
            }
        }
        false
    }

    /// A line without the comment at its end, where it is sure to be one: no quote stands behind its mark, and those
    /// before it are closed.
    pub fn without_trailing<'l>(&self, line: &'l str) -> &'l str {
        const QUOTES: [char; 3] = ['"', '\'', '`'];
        let begins = |mark: &&str| {
            let is_apart = |at: &usize| line[..*at].ends_with(' ') && line[at + mark.len()..].starts_with(' ');
            find(line, mark)?;
            line.match_indices(mark).map(|(at, _)| at).find(is_apart)?.checked_sub(1)
        };
        let Some((code, comment)) = self.line.iter().filter_map(begins).min().map(|at| line.split_at(at)) else {
            return line;
        };
        let is_closed = |quote: &char| code.matches(*quote).count() % 2 == 0;
        let is_comment = !code.contains('\\') && !comment.contains(QUOTES) && QUOTES.iter().all(is_closed);
        if is_comment { code } else { line }
    }

    /// Whether a line holds anything but blanks and comments. `inside` is carried from line to line: whether a block
    /// comment is open.
    pub fn has_code(&self, line: &str, inside: &mut bool) -> bool {
        let mut rest = line.trim();
        loop {
            if *inside {
                let Some((_, after)) = self.block.and_then(|(_, close)| rest.split_once(close)) else { return false };
                (*inside, rest) = (false, after.trim_start());
                continue;
            }
            // PHP writes comments in both ways, and its attributes as `#[Name]`.
            let is_attribute = rest.starts_with("#[") && self.line.contains(&"//");
            if rest.is_empty() || !is_attribute && self.line.iter().any(|mark| rest.starts_with(mark)) {
                return false;
            }
            match self.block.and_then(|(open, _)| rest.strip_prefix(open)) {
                Some(after) => (*inside, rest) = (true, after),
                None => {
                    // Code, and perhaps a comment behind it that goes on below.
                    if let Some((open, close)) = self.block
                        && find(rest, open).is_some()
                        && let Some((before, after)) = rest.rsplit_once(open)
                        && !after.contains(close)
                        && !self.line.iter().any(|mark| before.contains(mark))
                    {
                        *inside = before.matches(['"', '\'', '`']).count() % 2 == 0;
                    }
                    return true;
                }
            }
        }
    }
}

/// Where a mark begins. Few lines hold its first letter, and that is found faster than the mark.
fn find(line: &str, mark: &str) -> Option<usize> {
    let from = line.find(mark.chars().next()?)?;
    line[from..].find(mark).map(|at| from + at)
}

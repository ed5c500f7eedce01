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
        const SLASHES: Comments = Comments { line: &["//"], block: None };
        const HASH: Comments = Comments { line: &["#"], block: None };
        const MARKUP: Comments = Comments { line: &["//"], block: Some(("<!--", "-->")) };
        /// Files of no language, by the end of their name. A block's marks in a file that has no blocks would hide code:
        /// `cp src/* dist`. So what is not here has none.
        const OF_NO_LANGUAGE: [(Comments, &str); 3] = [
            (
                HASH,
                ".yml .yaml .toml .env .properties .ini .cfg .conf .tf .hcl .rake .ru .gemspec .podspec .jbuilder .cr .ps1 \
                 .psm1 .graphql .gql .nix .bzl .cmake .fish .zsh .mk Gemfile Rakefile Podfile Fastfile Vagrantfile Dockerfile \
                 Containerfile Makefile Caddyfile CODEOWNERS requirements.txt",
            ),
            (C, ".proto .gradle .thrift .bicep .css .scss .less .jsonc .json5 .sol Jenkinsfile"),
            (MARKUP, ".html .xml"),
        ];
        use SourceLanguage as L;
        match SourceLanguage::of(path) {
            Some(L::Python | L::Ruby | L::Shell | L::Perl | L::R | L::Elixir | L::Julia | L::Nim) => HASH,
            Some(L::Php) => Self { line: &["//", "#"], ..C },
            Some(L::Sql | L::Lua | L::Haskell) => Self { line: &["--"], block: None },
            Some(L::Clojure) => Self { line: &[";"], block: None },
            Some(L::Erlang) => Self { line: &["%"], block: None },
            Some(L::VisualBasic) => Self { line: &["'"], block: None },
            Some(L::OCaml) => Self { line: &[], block: Some(("(*", "*)")) },
            Some(L::FSharp | L::Zig) => SLASHES,
            Some(L::Vue | L::Svelte) => MARKUP,
            Some(_) => C,
            None => OF_NO_LANGUAGE
                .iter()
                .find(|(_, ends)| ends.split(' ').any(|end| path.ends_with(end)))
                .map_or(SLASHES, |(comments, _)| *comments),
        }
    }

    /// Whether a hunk begins inside a block comment: the next mark in it is an end. `below` are the lines of the patch
    /// after the hunk's header.
    pub fn opened_before(&self, below: &[&str]) -> bool {
        let Some((open, close)) = self.block else { return false };
        let lines = below.iter().take_while(|line| !line.starts_with("@@ ")).filter(|line| !line.starts_with('-'));
        // Only what stays tells it. What arrives could end a comment that never began, and hide what stands above.
        let staying = lines.clone().filter(|line| !line.starts_with('+'));
        // All of it stands in one, as documentation is written that is longer than what a diff shows.
        let is_starred = |line: &&str| {
            line.get(1..).is_some_and(|line| matches!(line.trim(), "*") || line.trim_start().starts_with("* "))
        };
        if open == "/*" && staying.clone().next().is_some() && lines.clone().all(is_starred) {
            return true;
        }
        for line in staying {
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
                if ends_a_string(rest) {
                    *inside = false;
                    return true;
                }
                let Some((_, after)) = self.block.and_then(|(_, close)| rest.split_once(close)) else { return false };
                (*inside, rest) = (false, after.trim_start());
                continue;
            }
            if rest.is_empty() || self.line.iter().any(|mark| rest.starts_with(mark)) && !self.is_code_after_mark(rest)
            {
                return false;
            }
            match self.block.and_then(|(open, _)| rest.strip_prefix(open)) {
                Some(after) => (*inside, rest) = (true, after),
                // A comment that begins behind code hides nothing below: its mark may be part of an expression, as in
                // JavaScript's `/^\/*/`.
                None => return true,
            }
        }
    }

    /// Whether code may stand behind the mark that a line begins with: an attribute of PHP (`#[Name]`), what Ruby, Elixir and
    /// Crystal put into a string of several lines (`#{name}`), Lua's blocks, and the end of PHP.
    fn is_code_after_mark(&self, line: &str) -> bool {
        let slashes = self.line.contains(&"//");
        slashes && line.starts_with("#[")
            || !slashes && line.starts_with("#{")
            || ["--[[", "--[="].iter().any(|open| line.starts_with(open))
            || self.line.len() > 1 && line.contains("?>")
    }
}

/// Whether a line of a block comment looks like the end of a string of several lines, in which the comment's mark stood.
/// What follows is code then.
fn ends_a_string(line: &str) -> bool {
    ['`', '"'].iter().any(|quote| line.matches(*quote).count() % 2 == 1)
}

/// Where a mark begins. Few lines hold its first letter, and that is found faster than the mark.
fn find(line: &str, mark: &str) -> Option<usize> {
    let from = line.find(mark.chars().next()?)?;
    line[from..].find(mark).map(|at| from + at)
}

//! Which lines of a file hold nothing but blanks and comments.

use super::SourceLanguage;

/// How a language writes comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comments {
    line: &'static [&'static str],
    block: Option<(&'static str, &'static str)>,
    /// What takes the lines between two marks out of the program: a comment, a string, a condition of the build. Without a
    /// second mark it reaches as far as it does.
    swallows: &'static [(&'static str, &'static str)],
}

impl Comments {
    /// By the path's language; for files of none, by the end of their name.
    pub fn of(path: &str) -> Self {
        const BLOCK: (&str, &str) = ("/*", "*/");
        const C: Comments = Comments { line: &["//"], block: Some(BLOCK), swallows: &[BLOCK] };
        const SLASHES: Comments = Comments { line: &["//"], block: None, swallows: &[] };
        const HASH: Comments = Comments { line: &["#"], block: None, swallows: &[] };
        const MARKUP: Comments =
            Comments { line: &["//"], block: Some(("<!--", "-->")), swallows: &[("<!--", "-->"), BLOCK, ("`", "`")] };
        const fn dashes(swallows: &'static [(&'static str, &'static str)]) -> Comments {
            Comments { line: &["--"], block: None, swallows }
        }
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
            Some(L::Python) => Self { swallows: &[("\"\"\"", "\"\"\""), ("'''", "'''")], ..HASH },
            Some(L::Ruby) => Self { swallows: &[("=begin", "=end"), ("__END__", "")], ..HASH },
            Some(L::Perl) => Self { swallows: &[("=pod", "=cut"), ("__END__", "")], ..HASH },
            Some(L::Shell | L::R | L::Elixir | L::Julia | L::Nim) => HASH,
            Some(L::Php) => Self { line: &["//", "#"], ..C },
            Some(L::Sql) => dashes(&[BLOCK]),
            Some(L::Lua) => dashes(&[("--[[", "]]")]),
            Some(L::Haskell) => dashes(&[("{-", "-}")]),
            Some(L::Clojure) => Self { line: &[";"], block: None, swallows: &[] },
            Some(L::Erlang) => Self { line: &["%"], block: None, swallows: &[] },
            Some(L::VisualBasic) => Self { line: &["'"], block: None, swallows: &[] },
            Some(L::OCaml) => Self { line: &[], block: Some(("(*", "*)")), swallows: &[("(*", "*)")] },
            Some(L::FSharp) => Self { swallows: &[("(*", "*)")], ..SLASHES },
            Some(L::Zig) => SLASHES,
            Some(L::Vue | L::Svelte) => MARKUP,
            Some(L::C | L::Cpp | L::ObjectiveC | L::CSharp | L::Swift) => {
                Self { swallows: &[BLOCK, ("#if", "#endif")], ..C }
            }
            Some(L::JavaScript | L::TypeScript) => Self { swallows: &[BLOCK, ("`", "`")], ..C },
            Some(L::Rust) => Self { swallows: &[BLOCK, ("#[cfg", "")], ..C },
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

    /// Whether lines that arrive in place of others take lines beside them out of the program, or put them back: the marks
    /// that they leave open are not those that were left open before.
    pub fn swallow<'l>(&self, arrive: impl Iterator<Item = &'l str>, leave: impl Iterator<Item = &'l str>) -> bool {
        !self.swallows.is_empty() && self.left_open(arrive) != self.left_open(leave)
    }

    fn left_open<'l>(&self, lines: impl Iterator<Item = &'l str>) -> Vec<&'static str> {
        let mut open: Vec<&'static str> = Vec::new();
        for line in lines {
            let line = without_strings(line);
            let mut at = 0;
            while let Some((begin, mark, closes)) = self.first_mark(&line[at..], open.last().copied()) {
                at += begin + mark.len();
                match closes {
                    true => open.truncate(open.len() - 1),
                    false => open.push(mark),
                }
            }
        }
        open
    }

    /// The first mark of a line: where it begins, and whether it closes what is open.
    fn first_mark(&self, line: &str, open: Option<&str>) -> Option<(usize, &'static str, bool)> {
        let marks = self.swallows.iter().flat_map(|(opens, closes)| {
            let ends = !closes.is_empty() && open == Some(opens);
            [(*opens, false), (*closes, ends)]
                .into_iter()
                .filter(move |(_, is_end)| *is_end || opens != closes || !ends)
        });
        let found =
            marks.filter(|(mark, _)| !mark.is_empty()).filter_map(|(mark, ends)| Some((find(line, mark)?, mark, ends)));
        found.min_by_key(|(at, _, ends)| (*at, !ends))
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
    /// Crystal put into a string of several lines (`#{name}`), Lua's blocks; whatever ends a comment before its line ends,
    /// or joins the next line to it; and what a tool reads there as an order.
    fn is_code_after_mark(&self, line: &str) -> bool {
        /// Go's directives and its cgo, interpreters, frontends and escapes of container files, encodings of source files.
        const ORDERS: [&str; 13] = [
            "//go:",
            "//export",
            "// +build",
            "//line ",
            "// #cgo",
            "// #include",
            "// #define",
            "#!",
            "# syntax",
            "#syntax",
            "# escape",
            "#escape",
            "# check=",
        ];
        /// JavaScript's, Unicode's and C#'s ends of a line; Java reads `\u000a` as one.
        const ENDS: [char; 4] = ['\r', '\u{85}', '\u{2028}', '\u{2029}'];
        let lower = line.to_ascii_lowercase();
        let slashes = self.line.contains(&"//");
        slashes && line.starts_with("#[")
            || !slashes && line.starts_with("#{")
            || ["--[[", "--[="].iter().any(|open| line.starts_with(open))
            || ORDERS.iter().any(|order| lower.starts_with(order))
            || line.contains(ENDS)
            || ["\\u000a", "\\u000d", "\\u0085", "?>", "</script", "coding:", "coding="]
                .iter()
                .any(|end| lower.contains(end))
            || ["\\", "??/"].iter().any(|end| line.trim_end().ends_with(end))
    }
}

/// A line without the strings in it, where it is sure that they are some: outside of them stands no slash that could begin an
/// expression of JavaScript, in which a quote is no quote.
fn without_strings(line: &str) -> std::borrow::Cow<'_, str> {
    let (mut kept, mut rest) = (String::new(), line);
    while let Some(at) = rest.find(['"', '\'']) {
        let (before, quoted) = rest.split_at(at);
        let quote = &quoted[..1];
        let Some(end) = quoted[1..].find(quote) else { return line.into() };
        let string = &quoted[1..=end];
        // Three quotes in a row are a mark of their own.
        if string.contains('\\') || string.is_empty() && quoted[2..].starts_with(quote) {
            return line.into();
        }
        kept.push_str(before);
        rest = &quoted[end + 2..];
    }
    kept.push_str(rest);
    let outside = kept.replace("//", "").replace("/*", "").replace("*/", "");
    if outside.contains('/') { line.into() } else { kept.into() }
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

//! The added lines of a diff that can be code: not blank, not a comment alone.
//!
//! Go's profile and LLVM's count every line between the first and the last of a block, blank lines and comments
//! included, Go's also the brace that ends one. Nobody can write a test for those, and a change of nothing but comments
//! has no coverable line. So they are left out, whatever a report says (decisions.md, V8).

use crate::{
    observed::{ChangedFile, hunk_start},
    source_files::SourceLanguage,
};

/// Added lines of the file, by their number at the head, that can be code; none when there is no patch to read.
pub fn coverable_lines(file: &ChangedFile) -> Option<Vec<u32>> {
    let patch = file.patch.as_deref()?;
    let comments = Comments::of(&file.path);
    let is_go = SourceLanguage::of(&file.path) == Some(SourceLanguage::Go);
    let lines: Vec<&str> = patch.split('\n').collect();
    let (mut coverable, mut number, mut inside) = (Vec::new(), 0_u32, false);
    for (index, text) in lines.iter().enumerate() {
        if let Some(header) = text.strip_prefix("@@ ") {
            number = hunk_start(header)?;
            inside = comments.opened_before(lines.get(index + 1..).unwrap_or_default());
            continue;
        }
        let (is_added, content) = match text.as_bytes().first() {
            Some(b'+') => (true, &text[1..]),
            Some(b'-' | b'\\') => continue,
            Some(_) => (false, text.get(1..).unwrap_or_default()),
            None => (false, ""),
        };
        let is_code = comments.has_code(content, &mut inside);
        if is_added && is_code && !(is_go && ends_only(content)) {
            coverable.push(number);
        }
        number = number.saturating_add(1);
    }
    Some(coverable)
}

/// Whether a line holds nothing but ends: `}`, `})`, `},`.
fn ends_only(line: &str) -> bool {
    line.trim().chars().all(|c| "})],;".contains(c))
}

/// How a language writes comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Comments {
    line: &'static [&'static str],
    block: Option<(&'static str, &'static str)>,
}

impl Comments {
    fn of(path: &str) -> Self {
        const C: Comments = Comments { line: &["//"], block: Some(("/*", "*/")) };
        const MARKUP: Comments = Comments { line: &["//"], block: Some(("<!--", "-->")) };
        const HASH: Comments = Comments { line: &["#"], block: None };
        use SourceLanguage as L;
        match SourceLanguage::of(path) {
            Some(L::Python | L::Ruby | L::Shell | L::Perl | L::R | L::Elixir) => HASH,
            Some(L::Php) => Self { line: &["//", "#"], ..C },
            Some(L::Sql | L::Lua | L::Haskell) => Self { line: &["--"], block: None },
            Some(L::Vue | L::Svelte) => MARKUP,
            None if [".yml", ".yaml", ".toml"].iter().any(|end| path.ends_with(end)) => HASH,
            None if [".html", ".xml"].iter().any(|end| path.ends_with(end)) => MARKUP,
            _ => C,
        }
    }

    /// Whether a hunk begins inside a block comment: the next mark in it is an end.
    fn opened_before(&self, below: &[&str]) -> bool {
        let Some((open, close)) = self.block else { return false };
        let lines = below.iter().take_while(|line| !line.starts_with("@@ "));
        for line in lines.filter(|line| !line.starts_with('-')) {
            match (line.find(open), line.find(close)) {
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

    /// Whether a line holds anything but blanks and comments. `inside` is carried from line to line: whether a block
    /// comment is open.
    fn has_code(&self, line: &str, inside: &mut bool) -> bool {
        let mut rest = line.trim();
        loop {
            if *inside {
                let Some((_, after)) = self.block.and_then(|(_, close)| rest.split_once(close)) else { return false };
                (*inside, rest) = (false, after.trim_start());
                continue;
            }
            if rest.is_empty() || self.line.iter().any(|mark| rest.starts_with(mark)) {
                return false;
            }
            match self.block.and_then(|(open, _)| rest.strip_prefix(open)) {
                Some(after) => (*inside, rest) = (true, after),
                None => {
                    // Code, and perhaps a comment behind it that goes on below.
                    if let Some((open, close)) = self.block
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observed::FileStatus;

    fn lines(path: &str, patch: &str) -> Vec<u32> {
        let file = ChangedFile {
            path: path.to_owned(),
            previous_path: None,
            status: FileStatus::Modified,
            additions: 0,
            deletions: 0,
            blob: None,
            patch: Some(patch.to_owned()),
        };
        coverable_lines(&file).unwrap()
    }

    #[test]
    fn comments_and_blank_lines_are_no_code() {
        let table: [(&str, &str, &[u32]); 14] = [
            ("a.go", "@@ -1 +1,3 @@\n+if a {\n+\tf()\n+}", &[1, 2]),
            ("a.rs", "@@ -1 +1,3 @@\n+if a {\n+    f();\n+}", &[1, 2, 3]),
            ("a.rs", "@@ -1,2 +1,6 @@\n fn a() {\n+    // why\n+\n+    let x = 1; // code\n+    /// doc\n }", &[4]),
            ("a.go", "@@ -0,0 +1,5 @@\n+/*\n+ many words\n+*/\n+x := 1\n+/* a */ y := 2", &[4, 5]),
            ("a.go", "@@ -0,0 +1,3 @@\n+x := 1 /* begins\n+ends */\n+y := 2", &[1, 3]),
            ("a.py", "@@ -1 +1,4 @@\n+# why\n+x = 1  # code\n+\t\n+//", &[2, 4]),
            ("a.php", "@@ -1 +1,2 @@\n+# why\n+// why\n+$x = 1;", &[3]),
            // The comment began above the hunk.
            ("A.java", "@@ -7,3 +7,4 @@\n  * words\n+ * more words\n  */\n+int x;", &[10]),
            ("a.ts", "@@ -7,3 +7,2 @@\n+more words\n+end. */\n+let x;", &[9]),
            // A glob in a string opens nothing.
            ("a.js", "@@ -1 +1,2 @@\n+const g = 'src/**/*.js';\n+let y;", &[1, 2]),
            ("a.js", "@@ -1 +1,2 @@\n+const g = `src/*`;\n+let y;", &[1, 2]),
            ("a.js", "@@ -1 +1,2 @@\n+f(); // not /* open\n+let y;", &[1, 2]),
            ("a.rs", "@@ -1,3 +1,3 @@\n-gone\n+new\n a\n\\ No newline at end of file", &[1]),
            ("a.rs", "@@ -1 +1 @@\n+a\n@@ -9 +9,2 @@\n b\n+c", &[1, 10]),
        ];
        for (path, patch, expected) in table {
            assert_eq!(lines(path, patch), expected, "{path}: {patch}");
        }
    }
}

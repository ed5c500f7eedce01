//! The added lines of a diff that can be code: not blank, not a comment alone.
//!
//! Go's profile and LLVM's count every line between the first and the last of a block, blank lines and comments
//! included, Go's also the brace that ends one. Nobody can write a test for those, and a change of nothing but comments
//! has no coverable line. So they are left out, whatever a report says.

use crate::{
    observed::ChangedFile,
    source_files::{Syntax, language_of},
};

/// Added lines of the file, by their number at the head, that can be code; `None` when there is no patch to read.
pub fn coverable_lines(file: &ChangedFile) -> Option<Vec<u32>> {
    let patch = file.read_patch()?;
    let syntax = Syntax::of(&file.path);
    let is_go = language_of(&file.path) == Some("go");
    let mut coverable = Vec::new();
    for hunk in &patch.hunks {
        let lines: Vec<_> = hunk.lines.iter().filter(|line| line.is_new()).collect();
        let (code, above) = syntax.without_comments(lines.iter().map(|line| line.text));
        let is_code = |code: &str| !(code.trim().is_empty() || is_go && ends_only(code));
        // Only a line that stays can end a comment that began above the hunk: what arrives could hide what stands above it.
        let is_told = above > 0 && !lines[above - 1].is_changed();
        let added = lines.iter().zip(&code).skip(if is_told { above } else { 0 });
        coverable.extend(added.filter(|(line, code)| line.is_changed() && is_code(code)).map(|(line, _)| line.new));
    }
    Some(coverable)
}

/// Whether a line holds nothing but ends: `}`, `})`, `},`.
fn ends_only(line: &str) -> bool {
    line.trim().chars().all(|c| "})],;".contains(c))
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
            ("a.ts", "@@ -7,2 +7,3 @@\n+more words\n end. */\n+let x;", &[9]),
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

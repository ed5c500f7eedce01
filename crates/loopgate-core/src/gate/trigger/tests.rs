use std::collections::BTreeSet;

use super::*;
use crate::{
    evidence::SourceLocation,
    gate::{assess::world::*, report::MatchReason as Why},
    observed::ChangedFiles::{Complete, TooLarge},
    policy::{Context, LinePatterns, NameGlob, PathGlobs, Pattern},
};

fn branches(texts: &[&str]) -> Vec<NameGlob> {
    texts.iter().map(|text| NameGlob::parse(text).unwrap()).collect()
}

fn globs(texts: &[&str]) -> PathGlobs {
    PathGlobs::new(texts.iter().map(|text| NameGlob::path(text).unwrap()).collect())
}

fn lines(pattern: &str, except: &[&str]) -> GateTrigger {
    GateTrigger::AddedLines(condition(pattern, except))
}

fn condition(pattern: &str, except: &[&str]) -> LineCondition {
    let patterns = LinePatterns::new(vec![Pattern::parse(pattern).unwrap().named("a_name".parse().ok())]);
    LineCondition { patterns, except: globs(except), ..LineCondition::default() }
}

fn paths_except(included: &[&str], excluded: &[&str]) -> GateTrigger {
    let paths = PathCondition { globs: globs(included), except: globs(excluded), ..PathCondition::default() };
    GateTrigger::Paths(paths)
}

fn without_patch(path: &str) -> ChangedFile {
    ChangedFile { patch: None, ..file(path, "") }
}

fn not(trigger: GateTrigger) -> GateTrigger {
    GateTrigger::Not(Box::new(trigger))
}

/// What opens a gate with this trigger, on a pull request with these files.
fn opens(trigger: GateTrigger, files: ChangedFiles) -> Option<Vec<Why>> {
    let mut world = World::new();
    world.snapshot.files = files;
    opens_in(trigger, &world)
}

fn opens_in(trigger: GateTrigger, world: &World) -> Option<Vec<Why>> {
    let found = Scene::new(&world.snapshot, &world.findings).triggered(&gate_policy(trigger, &[]), &BTreeSet::new());
    found.map(|found| found.matches.into_iter().map(|found| found.reason).collect())
}

fn path_of(glob: &str) -> Why {
    Why::Path { name: None, glob: Some(glob.into()) }
}

#[test]
fn paths_match_by_either_name_of_a_rename() {
    let renamed =
        ChangedFile { previous_path: Some("src/auth/old.rs".into()), ..file("lib/new.rs", "@@ -1 +1 @@\n+x") };
    assert_eq!(opens(paths("src/auth/**"), Complete(vec![renamed])), Some(vec![path_of("src/auth/**")]));
    assert_eq!(opens(paths("src/auth/**"), Complete(vec![file("src/a.rs", "")])), None);
}

#[test]
fn an_exception_for_one_folder_covers_no_folder_below_it() {
    let trigger = || paths_except(&["src/**"], &["src/*.sql"]);
    assert_eq!(opens(trigger(), Complete(vec![file("src/a.sql", "@@ -1 +1 @@\n+x")])), None);
    assert!(opens(trigger(), Complete(vec![file("src/auth/a.sql", "@@ -1 +1 @@\n+x")])).is_some());
    let trigger = || lines("eval", &["docs/*"]);
    assert_eq!(opens(trigger(), Complete(vec![file("docs/a.md", "@@ -1 +1 @@\n+eval")])), None);
    assert!(opens(trigger(), Complete(vec![file("docs/tool/run.rb", "@@ -1 +1 @@\n+eval")])).is_some());
}

#[test]
fn a_package_below_src_main_is_no_folder_of_tests() {
    const CODE: &str = "src/main/java/test/acme/Shop.java";
    let is_excepted = |path: &str, except: &str| {
        let files = || Complete(vec![file(path, "@@ -1 +1 @@\n+eval")]);
        let by_line = opens(lines("eval", &[except]), files()).is_none();
        assert_eq!(opens(paths_except(&["**"], &[except]), files()).is_none(), by_line, "{path} {except}");
        by_line
    };
    assert!(!is_excepted(CODE, "**/{test,tests}/**"));
    assert!(is_excepted("src/test/java/acme/Shop.java", "**/test/**"));
    assert!(is_excepted("src/main/java/test/acme/generated/Shop.java", "**/{test,generated}/**"));
    assert!(is_excepted(CODE, "src/main/java/test/**"));
}

#[test]
fn deletions_symlinks_submodules_and_mode_changes_touch_their_path() {
    for (status, patch) in [
        (FileStatus::Removed, None),
        (FileStatus::Changed, None),
        (FileStatus::Modified, Some("@@ -1 +1 @@\n-Subproject commit a\n+Subproject commit b")),
        (FileStatus::Added, Some("@@ -0,0 +1 @@\n+../../etc/passwd")),
    ] {
        let file = ChangedFile { status, patch: patch.map(str::to_owned), ..file("src/auth/x", "") };
        assert!(opens(paths("src/auth/**"), Complete(vec![file])).is_some(), "{status:?}");
    }
}

#[test]
fn excepted_paths_do_not_match_by_that_name() {
    let trigger = || paths_except(&["src/**"], &["src/tests/**"]);
    assert_eq!(opens(trigger(), Complete(vec![file("src/tests/a.rs", "")])), None);
    let moved = ChangedFile { previous_path: Some("src/tests/a.rs".into()), ..file("src/a.rs", "") };
    assert!(opens(trigger(), Complete(vec![moved])).is_some());
}

#[test]
fn added_lines_match_with_their_line_and_removed_ones_do_not() {
    let patch = "@@ -3,2 +7,2 @@\n-password()\n+let token = password();\n context password";
    let mut world = World::new();
    world.snapshot.files = Complete(vec![file("a.rs", patch)]);
    let found = Scene::new(&world.snapshot, &[])
        .triggered(&gate_policy(lines("password", &[]), &[]), &BTreeSet::new())
        .unwrap();
    assert_eq!(found.matches.len(), 1);
    assert_eq!((found.matches[0].file.as_deref(), found.matches[0].line), (Some("a.rs"), Some(7)));
    assert_eq!(opens(lines("password", &["*.rs"]), Complete(vec![file("a.rs", patch)])), None);
}

fn hits(wanted: LineCondition, removed: bool, files: Vec<ChangedFile>) -> Option<Vec<Why>> {
    opens(if removed { GateTrigger::RemovedLines(wanted) } else { GateTrigger::AddedLines(wanted) }, Complete(files))
}

#[test]
fn removed_lines_match_with_their_line_at_the_base_and_their_name() {
    let patch = "@@ -30,3 +40,2 @@\n a\n-@login_required\n b";
    let mut world = World::new();
    world.snapshot.files = Complete(vec![file("a.py", patch)]);
    let trigger = GateTrigger::RemovedLines(condition("login_required", &[]));
    let found = matches(&gate_policy(trigger, &[]), &world.snapshot, &[]);
    let (name, excerpt) = ("a_name".parse().ok(), "@login_required".to_owned());
    assert_eq!((found[0].line, &found[0].reason), (Some(31), &Why::RemovedLine { name, excerpt }));
    assert_eq!(hits(condition("login_required", &[]), false, vec![file("a.py", patch)]), None);
    // A new file takes nothing away; one whose removed lines GitHub does not show may take anything away.
    let unseen = |deletions| vec![ChangedFile { deletions, ..without_patch("a.py") }];
    assert_eq!(hits(condition("x", &[]), true, unseen(0)), None);
    assert_eq!(hits(condition("x", &[]), true, unseen(3)), Some(vec![Why::Unreadable]));
    assert_eq!(hits(condition("x", &["*.py"]), true, unseen(3)), None);
}

#[test]
fn nothing_is_excused() {
    let code = || LineCondition { code_only: true, ..condition("check", &[]) };
    for (patches, removed, added) in [
        // Indented anew, moved to another file, moved within one: it is removed and added.
        (&["@@ -1 +1 @@\n-check(a)\n+    check( a )"][..], true, true),
        (&["@@ -1 +0,0 @@\n-check(a)", "@@ -0,0 +1 @@\n+check(a)"], true, true),
        (&["@@ -1,3 +1,3 @@\n-check(a)\n delete(a)\n+check(a)"], true, true),
        (&["@@ -1,2 +1 @@\n-check(a)\n-check(a)\n+check(a)"], true, true),
        // An import, and a module that is called one of tests.
        (&["@@ -1 +1 @@\n-use a::check;\n+use b::check;"], true, true),
        (&["@@ -9 +9 @@ mod tests {\n-check(a)\n+check(b)"], true, true),
        (&["@@ -9,2 +9,2 @@\n mod tests {\n-check(a)\n+check(b)"], true, true),
        // Lines that stay are taken out of the program, or put back.
        (&["@@ -1,2 +1,4 @@\n+/*\n check(a)\n+*/\n b"], true, true),
        (&["@@ -1,4 +1,2 @@\n-/*\n check(a)\n-*/\n b"], true, true),
        (&["@@ -1,2 +1,4 @@\n+b(); /*\n check(a)\n+*/ b();\n b"], true, true),
        (&["@@ -1,2 +1,3 @@\n+#[cfg(never)]\n check(a)\n b"], true, true),
        // Comments stay comments.
        (&["@@ -1 +1,2 @@\n+// check\n+/* check\n+check */"], false, false),
        (&["@@ -1,3 +1,3 @@\n-/** One.\n+/** Two.\n  check(a)\n  */"], false, false),
        (&["@@ -1,2 +1,3 @@\n+let all = \"src/*\";\n check(a)"], false, false),
    ] {
        let files = || patches.iter().enumerate().map(|(at, patch)| file(&format!("{at}.rs"), patch)).collect();
        assert_eq!(hits(code(), true, files()).is_some(), removed, "{patches:?}");
        assert_eq!(hits(code(), false, files()).is_some(), added, "{patches:?}");
    }
    // What swallows lines in other languages.
    for (path, patch) in [
        ("a.py", "@@ -1,2 +1,4 @@\n+\"\"\"\n check(a)\n+\"\"\"\n b"),
        ("a.js", "@@ -1,2 +1,4 @@\n+const s = `\n check(a)\n+`\n b"),
        ("a.js", "@@ -1,2 +1,4 @@\n+const q = /\"/; /* \"\n check(a)\n+*/\n b"),
        ("a.c", "@@ -1,2 +1,4 @@\n+#if 0\n check(a)\n+#endif\n b"),
        ("a.rb", "@@ -1,2 +1,4 @@\n+=begin\n check(a)\n+=end\n b"),
        ("a.rb", "@@ -1,2 +1,3 @@\n+__END__\n check(a)\n b"),
        ("a.hs", "@@ -1,2 +1,4 @@\n+{-\n check a\n+-}\n b"),
        ("a.lua", "@@ -1,2 +1,4 @@\n+--[[\n check(a)\n+]]\n b"),
        ("a.vue", "@@ -1,2 +1,4 @@\n+<!--\n check(a)\n+-->\n b"),
    ] {
        assert!(hits(code(), true, vec![file(path, patch)]).is_some(), "{path} {patch}");
    }
}

#[test]
fn a_comments_mark_hides_no_code() {
    let opens_for = |path: &str, patch: &str| {
        let code = LineCondition { code_only: true, ..condition("check", &[]) };
        hits(code, false, vec![file(path, patch)]).is_some()
    };
    for (path, patch) in [
        // The end of a comment that never began.
        ("a.ts", "@@ -1 +1,3 @@\n+check(a)\n+// */\n let b"),
        ("a.ts", "@@ -0,0 +1,2 @@\n+* check(a)\n+* b"),
        // Part of an expression.
        ("a.js", "@@ -1 +1,3 @@\n+const slashes = /^\\/*/\n+check(a)"),
        // In a string of several lines.
        ("a.ts", "@@ -1 +1,5 @@\n+let s = `\n+/*\n+`\n+check(a)\n+let t = `*/`"),
        ("A.java", "@@ -1 +1,5 @@\n+s = \"\"\"\n+/*\n+\"\"\";\n+check(a);\n+/* */"),
        // In a file that has no such comments.
        ("Rakefile", "@@ -1 +1,3 @@\n+/* \n+check(a)"),
        ("src/new.lang", "@@ -1 +1,3 @@\n+/* \n+check(a)"),
        ("a.jl", "@@ -1 +1,3 @@\n+/*(a, b)\n+check(a)"),
        ("a.zig", "@@ -1 +1,3 @@\n+/* \n+check(a)"),
        // Behind a comment's mark.
        ("a.rb", "@@ -1 +1,3 @@\n+s = <<~S\n+  #{check(a)}\n+S"),
        ("a.lua", "@@ -1 +1 @@\n+--[[ one ]] check(a)"),
        ("a.php", "@@ -1 +1 @@\n+// ?><?php check(a);"),
        // Behind what ends a comment before its line ends, and where a tool reads an order.
        ("a.js", "@@ -1 +1 @@\n+// x\u{2028} check(a)"),
        ("a.js", "@@ -1 +1 @@\n+// x\r check(a)"),
        ("A.java", "@@ -1 +1 @@\n+// \\u000a check(a);"),
        ("a.py", "@@ -1 +1 @@\n+# coding: unicode_escape check"),
        ("a.go", "@@ -1 +1 @@\n+//go:linkname check a.check"),
        ("a.go", "@@ -1 +1 @@\n+// #include \"check.h\""),
        ("Dockerfile", "@@ -1 +1 @@\n+# syntax=evil/check"),
        ("a.c", "@@ -1 +1 @@\n+// check \\"),
    ] {
        assert!(opens_for(path, patch), "{path} {patch}");
    }
    for (path, patch) in [
        ("a.ts", "@@ -7,2 +7,3 @@\n+ check(a)\n  */\n let b"),
        ("a.ts", "@@ -7,2 +7,3 @@\n  * one\n+ * check(a)\n  * three"),
        ("a.ts", "@@ -1 +1,4 @@\n+/**\n+ * Don't `check(a)` \"here\".\n+ */"),
        ("a.cr", "@@ -1 +1,2 @@\n+# check(a)"),
        ("a.clj", "@@ -1 +1,2 @@\n+; check(a)"),
        ("a.erl", "@@ -1 +1,2 @@\n+% check(a)"),
        ("a.vb", "@@ -1 +1,2 @@\n+' check(a)"),
        ("a.ml", "@@ -1 +1,3 @@\n+(* one\n+   check(a) *)"),
        ("a.jl", "@@ -1 +1,2 @@\n+# check(a)"),
        ("a.ps1", "@@ -1 +1,2 @@\n+# check(a)"),
    ] {
        assert!(!opens_for(path, patch), "{path} {patch}");
    }
}

#[test]
fn another_tag_of_an_action_is_a_new_version_and_another_commit_is_not() {
    let opens_for = |path: &str, removed: &str, added: &str| {
        let globs = globs(&[".github/**", "src/**"]);
        let paths = GateTrigger::Paths(PathCondition { globs, code_only: true, ..PathCondition::default() });
        let patch = format!("@@ -9 +9 @@ jobs:\n-      - uses: {removed}\n+      - uses: {added}");
        opens(paths, Complete(vec![file(path, &patch)])).is_some()
    };
    const WORKFLOW: &str = ".github/workflows/ci.yml";
    assert!(!opens_for(WORKFLOW, "actions/checkout@v4", "actions/checkout@v5.0.1"));
    assert!(!opens_for(WORKFLOW, "a/b/.github/workflows/c.yml@1.2", "a/b/.github/workflows/c.yml@2.0 # why"));
    assert!(opens_for("src/uses.yml", "actions/checkout@v4", "actions/checkout@v5"));
    let [one, other] = ["1", "2"].map(|digit| format!("actions/checkout@{}", digit.repeat(40)));
    for (removed, added) in [
        ("actions/checkout@v4", "evil/checkout@v4"),
        ("actions/checkout@v4", "actions/checkout@main"),
        ("actions/checkout@v4", &one),
        (&one, &other),
    ] {
        assert!(opens_for(WORKFLOW, removed, added), "{removed} {added}");
    }
}

/// Whether a call that stays opens the gate where the diff shows it: in the block of a change, and where it holds it.
fn beside(patch: &str) -> (bool, bool) {
    let asked = |context| {
        let wanted = LineCondition { code_only: true, with_context: Some(context), ..condition(r"\bcall\(", &[]) };
        let found = hits(wanted, false, vec![file("a.ts", patch)]);
        assert!(found.iter().flatten().all(|why| matches!(why, Why::ContextLine { .. })), "{patch}");
        found.is_some()
    };
    (asked(Context::Block), asked(Context::Enclosing))
}

#[test]
fn a_line_that_stays_counts_where_its_block_changes() {
    for (patch, block, holds) in [
        // The argument of a call, and the function that a hunk names.
        ("@@ -4,3 +4,3 @@\n  await call({\n-    limit: 1,\n+    limit: 2,\n   });", true, true),
        ("@@ -9 +9 @@ function call(x) {\n-  a = 1\n+  a = 2", true, true),
        ("@@ -9,2 +9 @@ function call(x) {\n-  a = 1\n   b = 2", true, true),
        // Beside it, before and after, and behind lines of its own.
        ("@@ -4,2 +4,3 @@\n   const x = call(1);\n+  x.limit = 2;", true, false),
        ("@@ -4,2 +4,3 @@\n+  const limit = 2;\n \n   call(limit)\n     .then(y);", true, false),
        ("@@ -4,3 +4,4 @@\n   const x = call(1);\n   if (x) {\n+    y(2);\n   }", true, false),
        // Another function, at the margin and in a class; another hunk.
        ("@@ -4,5 +4,5 @@\n   call(1);\n }\n \n function b() {\n-  x(1);\n+  x(2);", false, false),
        ("@@ -4,5 +4,5 @@\n     call(1);\n   }\n \n   b() {\n-    x(1);\n+    x(2);", false, false),
        ("@@ -4 +4 @@\n-x(1);\n+x(2);\n@@ -14 +14 @@\n call(1);", false, false),
        ("@@ -9,3 +9,3 @@ function call(x) {\n }\n \n-const a = 1\n+const a = 2", false, false),
        // Nothing but comments or logs changes; a comment beside a change. An import and a line that moves are code.
        ("@@ -4,2 +4,3 @@\n   call(1);\n+  // again", false, false),
        ("@@ -1,2 +1,3 @@\n   call(1);\n+import { x } from 'y';", true, false),
        ("@@ -1,2 +1,3 @@\n   call(1);\n+  console.log('called');", false, false),
        ("@@ -4,3 +4,3 @@\n-  x();\n   call(1);\n+  x();", true, false),
        ("@@ -4,2 +4,3 @@\n   // call(1)\n+  x();", false, false),
        ("@@ -4,2 +4,3 @@\n   import call('y');\n+  x();", true, false),
    ] {
        assert_eq!(beside(patch), (block, holds), "{patch}");
    }
    let bare = hits(condition(r"\bcall\(", &[]), false, vec![file("a.ts", "@@ -4 +4 @@\n call({\n+  a: 1\n })")]);
    assert_eq!(bare, None, "only where it is asked for");
}

#[test]
fn identifiers_are_their_words() {
    for (text, words) in [
        ("userSession", "user session"),
        ("USER_SESSION = x_1", "user session = x 1"),
        ("HTTPClient.getURL()", "http client.get url()"),
        ("sign-in - 1", "sign in - 1"),
        ("OAuth2Client", "o auth2 client"),
        ("Größe_Neu", "größe neu"),
        ("this._urlSigner.__sign(_)", "this.url signer.sign(_)"),
    ] {
        assert_eq!(split_words(text), words, "{text}");
    }
    let words = LineCondition { split_words: true, ..condition(r"\bsign in\(", &[]) };
    let line = |text: &str| vec![file("a.rs", &format!("@@ -1 +1 @@\n+{text}"))];
    assert!(hits(words.clone(), false, line("await signIn(user)")).is_some());
    assert_eq!(hits(words.clone(), false, line("await signing(user)")), None);
    let patterns = LinePatterns::new(vec![Pattern::parse("^log").unwrap()]);
    let unless = LineCondition { unless: patterns, ..words };
    assert_eq!(hits(unless, false, line("log.signIn(user)")), None);
}

#[test]
fn a_missing_or_broken_patch_counts_as_matching() {
    for file in [without_patch("logo.png"), file("a.rs", "@@ broken\n+x")] {
        assert_eq!(opens(lines("x", &[]), Complete(vec![file])), Some(vec![Why::Unreadable]));
    }
    let removed = ChangedFile { status: FileStatus::Removed, ..without_patch("logo.png") };
    let renamed = ChangedFile {
        status: FileStatus::Renamed,
        previous_path: Some("b.png".into()),
        additions: 0,
        ..without_patch("a.png")
    };
    assert_eq!(opens(lines("x", &[]), Complete(vec![removed, renamed.clone()])), None);
    // Out of an exception, the whole file is new.
    assert_eq!(opens(lines("x", &["b.png"]), Complete(vec![renamed])), Some(vec![Why::Unreadable]));
}

#[test]
fn a_list_that_is_not_whole_matches_every_question_about_content() {
    let cut = || TooLarge { known: Vec::new(), reason: "too many".into() };
    for trigger in [
        paths("src/auth/**"),
        lines("x", &[]),
        GateTrigger::DependenciesAdded,
        GateTrigger::NewTopLevelFolder,
        GateTrigger::Size { lines: Some(1_000_000), files: None },
    ] {
        assert_eq!(opens(trigger.clone(), cut()), Some(vec![Why::TooLarge]), "{trigger:?}");
        assert_eq!(opens(not(trigger.clone()), cut()), Some(vec![Why::TooLarge]), "not {trigger:?}");
    }
}

#[test]
fn what_cannot_be_told_stays_so_through_not() {
    let files = || Complete(vec![without_patch("big.bin")]);
    assert!(opens(not(lines("x", &[])), files()).is_some());
    assert!(opens(not(not(lines("x", &[]))), files()).is_some());
    let both = GateTrigger::All(vec![paths("big.*"), not(lines("x", &[]))]);
    assert!(opens(both, files()).is_some());
    assert_eq!(opens(not(lines("x", &[])), Complete(vec![file("a", "@@ -1 +1 @@\n+x")])), None);
    assert_eq!(opens(not(lines("y", &[])), Complete(vec![file("a", "@@ -1 +1 @@\n+x")])), Some(vec![Why::NotExcluded]));
}

#[test]
fn any_and_all_combine() {
    let files = || Complete(vec![file("src/a.rs", "@@ -1 +1 @@\n+x"), file("doc/b.md", "@@ -1 +1 @@\n+y")]);
    let any = GateTrigger::Any(vec![paths("src/**"), paths("doc/**"), paths("none/**")]);
    assert_eq!(opens(any, files()), Some(vec![path_of("src/**"), path_of("doc/**")]));
    let all = |second| GateTrigger::All(vec![paths("src/**"), second]);
    assert_eq!(opens(all(paths("none/**")), files()), None);
    assert!(opens(all(lines("y", &[])), files()).is_some());
    assert_eq!(opens(GateTrigger::Any(Vec::new()), files()), None);
}

#[test]
fn one_file_is_asked_for_all_of_it() {
    let files = || Complete(vec![file("src/a.rs", "@@ -1 +1 @@\n+x"), file("doc/b.md", "@@ -1 +1 @@\n+y")]);
    let both = |pattern| vec![paths("src/**"), lines(pattern, &[])];
    assert!(opens(GateTrigger::All(both("y")), files()).is_some());
    assert_eq!(opens(GateTrigger::SameFile(both("y")), files()), None);
    let found = opens(GateTrigger::SameFile(both("x")), files()).unwrap();
    assert!(matches!(found.as_slice(), [Why::Path { .. }, Why::AddedLine { .. }]), "{found:?}");

    // Another file in `doc/` changes nothing for one outside; for the whole pull request it does.
    let outside = || vec![not(paths("doc/**"))];
    assert_eq!(opens(GateTrigger::All(outside()), files()), None);
    assert_eq!(opens(GateTrigger::SameFile(outside()), files()), Some(vec![Why::NotExcluded]));
    let mut world = World::new();
    world.snapshot.files = files();
    let policy = gate_policy(GateTrigger::SameFile(outside()), &[]);
    let found = Scene::new(&world.snapshot, &[]).triggered(&policy, &BTreeSet::new()).unwrap();
    assert_eq!(found.scope, Scope::Files(BTreeSet::from([0])));

    let unreadable = || Complete(vec![without_patch("src/big.bin"), file("doc/b.md", "@@ -1 +1 @@\n+y")]);
    assert!(opens(GateTrigger::SameFile(both("y")), unreadable()).is_some());
    assert_eq!(opens(GateTrigger::SameFile(vec![paths("doc/**"), lines("z", &[])]), unreadable()), None);
    assert_eq!(
        opens(GateTrigger::SameFile(both("x")), TooLarge { known: Vec::new(), reason: "too many".into() }),
        Some(vec![Why::TooLarge])
    );
}

#[test]
fn owners_of_packages_say_nothing_of_a_path() {
    let words = |word: &str| {
        let words = LinePatterns::new(vec![Pattern::parse(&format!(r"\b{word}\b")).unwrap()]);
        GateTrigger::Paths(PathCondition { words, code_only: true, ..PathCondition::default() })
    };
    let changes = |path: &str, line: &str| Complete(vec![file(path, &format!("@@ -1 +1 @@\n+{line}"))]);
    assert!(opens(words("github"), changes("src/github.rs", "use a::b;")).is_some(), "an import is code");
    for (path, opens_it) in [
        ("app/src/main/java/io/github/somebody/Cart.java", false),
        ("src/main/kotlin/com/github/acme/Cart.kt", false),
        ("src/main/java/com/acme/github/Client.java", true),
        ("java/com/github", true),
        ("services/github/client.go", true),
    ] {
        assert_eq!(opens(words("github"), changes(path, "x")).is_some(), opens_it, "{path}");
    }
}

#[test]
fn a_repositorys_own_name_means_no_partner() {
    let skips = |pattern: &str, path: &str, line: &str, repository: &str| {
        let patterns = LinePatterns::new(vec![Pattern::parse(pattern).unwrap()]);
        let words = PathCondition { words: patterns.clone(), skip_own_name: true, ..PathCondition::default() };
        let lines = LineCondition { patterns, split_words: true, skip_own_name: true, ..LineCondition::default() };
        let mut world = World::new();
        world.snapshot.repository = repository.parse().unwrap();
        world.snapshot.files = Complete(vec![file(path, &format!("@@ -1 +1 @@\n+{line}"))]);
        let trigger = GateTrigger::Any(vec![GateTrigger::Paths(words), GateTrigger::AddedLines(lines)]);
        opens_in(trigger, &world).is_none()
    };
    for (pattern, path, line, repository, skipped) in [
        (r"\bbtc pay\b", "BTCPayServer/Cart.cs", "x", "btcpayserver/btcpayserver", true),
        (r"\bbtc pay\b", "BTCPayServer/Cart.cs", "x", "acme/shop", false),
        (r"\bgogs\.", "a.go", "gogs.run()", "gogs/gogs", true),
        (r"\bgogs\.|\bslack\.", "a.go", "gogs.run(slack.call())", "gogs/gogs", false),
        (r"\bslack\b", "src/slack.java", "x", "jenkinsci/slack-plugin", false),
        (r"\bnextcloud\b", "src/NextcloudFiles.kt", "x", "nextcloud/android", true),
        (r"\bs3\b", "src/s3.go", "x", "s3/proxy", false),
        (r"\bshopify\b", "app/shopify.rb", "x", "acme/shop", false),
        (r"\bspotify\b", "spotify_player/src/main.rs", "x", "aome510/spotify-player", true),
        (r"\bspotify\b", "spotify_player/src/spotify.rs", "x", "aome510/spotify-player", false),
        // A folder made of the words of both names; one word alone is what the repository is about.
        (r"\baws\b", "aws_lambda_tools/s3.py", "x", "aws-tools/tools-lambda-python", true),
        (r"\bslack\b", "slack/send.py", "x", "acme/slack-plugin", false),
        (r"\bpocket casts\b", "Sources/PocketCastsUtils/Search.swift", "x", "acme/pocket-casts-ios", true),
        (r"https://[\w.]+", "a.go", r#"x = "https://app.gogs.io/v1""#, "gogs/gogs", true),
        (r"env\('[\w ]+ token", "a.php", "env('ACME_API_TOKEN')", "acme/shop", true),
        (r"env\('[\w ]+ token", "a.php", "env('SLACK_API_TOKEN')", "acme/shop", false),
        (r"https://[\w.]+", "a.go", r#"x = "https://api.slack.com""#, "jenkinsci/slack-plugin", false),
    ] {
        assert_eq!(skips(pattern, path, line, repository), skipped, "{pattern} {path} {line} {repository}");
    }
}

#[test]
fn conditions_about_the_pull_request_do_not_widen_a_gates_own_diff() {
    let trigger = GateTrigger::All(vec![paths("src/**"), GateTrigger::BaseBranch(branches(&["main"]))]);
    let mut world = World::new();
    world.snapshot.files = Complete(vec![file("doc/b.md", ""), file("src/a.rs", "")]);
    let found = Scene::new(&world.snapshot, &[]).triggered(&gate_policy(trigger, &[]), &BTreeSet::new()).unwrap();
    assert_eq!(found.scope, Scope::Files(BTreeSet::from([1])));
}

#[test]
fn facts_about_the_pull_request_match() {
    let mut world = World::new();
    let branch = || GateTrigger::BaseBranch(branches(&["main", "release/*"]));
    assert_eq!(opens_in(branch(), &world), Some(vec![Why::BaseBranch { branch: "main".into() }]));
    let author = || GateTrigger::Author(vec![login("AUTHOR")]);
    assert_eq!(opens_in(author(), &world), Some(vec![Why::Author { login: login("author") }]));
    assert_eq!(opens_in(GateTrigger::Draft, &world), None);
    let size = |lines, files| GateTrigger::Size { lines, files };
    assert_eq!(opens_in(size(Some(1), Some(1)), &world), None);
    assert_eq!(opens_in(size(Some(0), None), &world), Some(vec![Why::Size { lines: 1, files: 1 }]));
    world.snapshot.pull_request.labels = BTreeSet::from(["Risky".to_owned()]);
    let labels = GateTrigger::Labels(vec!["risky".into()]);
    assert_eq!(opens_in(labels, &world), Some(vec![Why::Label { label: "Risky".into() }]));
    assert_eq!(opens_in(GateTrigger::Always, &world), Some(vec![Why::Always]));
}

#[test]
fn findings_of_the_severity_or_worse_match() {
    let mut world = World::new();
    let finding = |severity, rule: &str| Finding {
        rule: rule.into(),
        severity,
        message: String::new(),
        location: Some(SourceLocation { file: "src/auth/login.rs".into(), line: Some(3), function: None }),
    };
    world.findings = vec![finding(FindingSeverity::Medium, "m"), finding(FindingSeverity::Critical, "c")];
    let found = opens_in(GateTrigger::Findings(FindingSeverity::High), &world);
    assert_eq!(found, Some(vec![Why::Finding { rule: "c".into() }]));
}

#[test]
fn a_new_folder_at_the_top_is_told_from_a_new_file_in_an_old_one() {
    let added = |path: &str| ChangedFile { status: FileStatus::Added, ..file(path, "@@ -0,0 +1 @@\n+x") };
    let mut world = World::new();
    world.snapshot.files = Complete(vec![added("src/new.rs"), added("services/pay/main.rs"), added("README")]);
    let new = |folder: &str| Why::NewTopLevelFolder { folder: folder.into() };
    assert_eq!(opens_in(GateTrigger::NewTopLevelFolder, &world), Some(vec![new("services")]));
    // Without the base's folders in sight, one in which nothing is old counts as new.
    world.snapshot.base_folders = None;
    assert_eq!(opens_in(GateTrigger::NewTopLevelFolder, &world), Some(vec![new("src"), new("services")]));
    world.snapshot.files = Complete(vec![added("src/new.rs"), file("src/old.rs", "@@ -1 +1 @@\n+x")]);
    assert_eq!(opens_in(GateTrigger::NewTopLevelFolder, &world), None);
}

#[test]
fn new_dependencies_match_and_bumps_do_not() {
    let bump = "@@ -2 +2 @@\n [dependencies]\n-a = \"1\"\n+a = \"2\"";
    assert_eq!(opens(GateTrigger::DependenciesAdded, Complete(vec![file("Cargo.toml", bump)])), None);
    let new = "@@ -2 +2 @@\n [dependencies]\n+b = \"2\"";
    let found = opens(GateTrigger::DependenciesAdded, Complete(vec![file("Cargo.toml", new)]));
    assert_eq!(found, Some(vec![Why::Dependency { name: "b".into() }]));
}

#[test]
fn matches_are_bounded_and_the_rest_counted() {
    let patch = format!("@@ -0,0 +1,40 @@\n{}", "+x\n".repeat(40));
    let files = (0..100).map(|number| file(&format!("{number}.rs"), &patch)).collect();
    let mut world = World::new();
    world.snapshot.files = Complete(files);
    let found =
        Scene::new(&world.snapshot, &[]).triggered(&gate_policy(lines("x", &[]), &[]), &BTreeSet::new()).unwrap();
    assert_eq!(found.matches.len(), MATCHES_KEPT);
    assert_eq!(found.not_kept, 100 * 40 - MATCHES_KEPT);
    assert_eq!(found.scope.files(world.snapshot.files.known()).len(), 100, "all of them are the gate's own");
}

mod fingerprints {
    use super::*;

    fn of(files: Vec<ChangedFile>) -> String {
        let mut world = World::new();
        world.snapshot.files = Complete(files);
        fingerprint(&Scope::Whole, &world.snapshot)
    }

    #[test]
    fn line_numbers_and_order_do_not_matter() {
        let (a, b) = (file("a", "@@ -1,3 +1,3 @@ fn x\n c\n+y"), file("b", "@@ -1 +1 @@\n+z"));
        let moved = file("a", "@@ -41,3 +57,3 @@ fn x\n c\n+y");
        assert_eq!(of(vec![a, b.clone()]), of(vec![b, moved]));
    }

    #[test]
    fn everything_else_does() {
        let patch = "@@ -1,2 +1,2 @@\n c\n+y";
        let first = file("a", patch);
        let others = [
            file("b", patch),
            file("a", "@@ -1,2 +1,2 @@\n c\n+z"),
            file("a", "@@ -1,2 +1,2 @@ fn other\n c\n+y"),
            file("a", "@@ -1,2 +1,2 @@\n d\n+y"),
            file("a", "@@ -1,2 +1,2 @@\n c\n+y "),
            ChangedFile { previous_path: Some("z".into()), ..first.clone() },
            ChangedFile { status: FileStatus::Added, ..first.clone() },
            ChangedFile { additions: 7, ..first.clone() },
            without_patch("a"),
            ChangedFile { blob: None, ..without_patch("a") },
            ChangedFile { blob: Some(sha(9)), ..without_patch("a") },
        ];
        let mut seen = BTreeSet::from([of(vec![first.clone()]), of(vec![first.clone(), first])]);
        for other in others {
            assert!(seen.insert(of(vec![other.clone()])), "{other:?}");
        }
    }

    #[test]
    fn without_a_patch_the_blob_decides_and_without_that_the_head() {
        let mut world = World::new();
        let of = |world: &World| fingerprint(&Scope::Whole, &world.snapshot);
        world.snapshot.files = Complete(vec![without_patch("a")]);
        let first = of(&world);
        world.snapshot.pull_request.head.sha = sha(2);
        assert_eq!(of(&world), first);
        world.snapshot.files = Complete(vec![ChangedFile { blob: None, ..without_patch("a") }]);
        let without_blob = of(&world);
        world.snapshot.pull_request.head.sha = sha(3);
        assert_ne!(of(&world), without_blob);
    }
}

#[test]
fn an_empty_file_adds_no_line() {
    let empty = |blob: &str| {
        let status = FileStatus::Added;
        let blob = Some(blob.parse().unwrap());
        ChangedFile { status, additions: 0, blob, ..without_patch("scripts/.gitkeep") }
    };
    assert_eq!(opens(lines("x", &[]), Complete(vec![empty("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")])), None);
    // Without a patch anything else may hold anything.
    let other = empty("0123456789abcdef0123456789abcdef01234567");
    assert_eq!(opens(lines("x", &[]), Complete(vec![other])), Some(vec![Why::Unreadable]));
}

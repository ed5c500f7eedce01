use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};

use super::*;
use crate::{
    concerns::gates::{RuleEvidence, assess::world::*, report::MatchReason as Why},
    evidence::{FindingSeverity, SourceLocation},
    observed::{
        ChangedFiles::{self, Complete, TooLarge},
        FileStatus,
    },
    policy::{
        ChosenRules, LineCondition, NameGlob, PathCondition, PathGlobs, Pattern, RuleBook, RuleTier,
    },
};

fn branches(texts: &[&str]) -> Vec<NameGlob> {
    texts
        .iter()
        .map(|text| NameGlob::parse(text).unwrap())
        .collect()
}

fn globs(texts: &[&str]) -> PathGlobs {
    PathGlobs::new(
        texts
            .iter()
            .map(|text| NameGlob::path(text).unwrap())
            .collect(),
    )
}

fn lines(pattern: &str, except: &[&str]) -> GateTrigger {
    GateTrigger::AddedLines(condition(pattern, except))
}

fn condition(pattern: &str, except: &[&str]) -> LineCondition {
    let mut pattern = Pattern::parse(pattern).unwrap();
    pattern.name = "a_name".parse().ok();
    let patterns = vec![pattern];
    LineCondition {
        patterns,
        except: globs(except),
    }
}

fn paths_except(included: &[&str], excluded: &[&str]) -> GateTrigger {
    let paths = PathCondition {
        globs: globs(included),
        except: globs(excluded),
        ..PathCondition::default()
    };
    GateTrigger::Paths(paths)
}

fn without_patch(path: &str) -> ChangedFile {
    ChangedFile {
        patch: None,
        ..file(path, "")
    }
}

fn not(trigger: GateTrigger) -> GateTrigger {
    GateTrigger::Not(Box::new(trigger))
}

/// One rule that opens, with the key that says what it looks for.
fn by_rule(looks_for: Value) -> GateTrigger {
    let mut written =
        json!({ "id": "it", "gate": "own", "says": "", "tier": "opens", "opens": [], "quiet": [] });
    written
        .as_object_mut()
        .unwrap()
        .extend(looks_for.as_object().unwrap().clone());
    let book = Arc::new(RuleBook::new(vec![serde_json::from_value(written).unwrap()]).unwrap());
    GateTrigger::Rules(ChosenRules::of_preset(&book, &gate("own")))
}

fn ruled(evidence: RuleEvidence) -> Why {
    Why::Rule {
        id: "it".parse().unwrap(),
        preset: gate("own"),
        says: String::new(),
        tier: RuleTier::Opens,
        evidence,
    }
}

/// What opens a gate with this trigger, on a pull request with these files.
fn opens(trigger: GateTrigger, files: ChangedFiles) -> Option<Vec<Why>> {
    let mut world = World::new();
    world.snapshot.files = files;
    opens_in(trigger, &world)
}

fn opens_in(trigger: GateTrigger, world: &World) -> Option<Vec<Why>> {
    let found = ReadDiff::new(&world.snapshot, &world.findings)
        .triggered(&gate_policy(trigger, &[]), &BTreeSet::new());
    found.map(|found| {
        found
            .matches
            .into_iter()
            .map(|found| found.reason)
            .collect()
    })
}

fn path_of(glob: &str) -> Why {
    Why::Path {
        name: None,
        glob: Some(glob.into()),
    }
}

#[test]
fn paths_match_by_either_name_of_a_rename() {
    let renamed = ChangedFile {
        previous_path: Some("src/auth/old.rs".into()),
        ..file("lib/new.rs", "@@ -1 +1 @@\n+x")
    };
    assert_eq!(
        opens(paths("src/auth/**"), Complete(vec![renamed])),
        Some(vec![path_of("src/auth/**")])
    );
    assert_eq!(
        opens(paths("src/auth/**"), Complete(vec![file("src/a.rs", "")])),
        None
    );
}

#[test]
fn an_exception_for_one_folder_covers_no_folder_below_it() {
    let trigger = || paths_except(&["src/**"], &["src/*.sql"]);
    assert_eq!(
        opens(
            trigger(),
            Complete(vec![file("src/a.sql", "@@ -1 +1 @@\n+x")])
        ),
        None
    );
    assert!(
        opens(
            trigger(),
            Complete(vec![file("src/auth/a.sql", "@@ -1 +1 @@\n+x")])
        )
        .is_some()
    );
    let trigger = || lines("eval", &["docs/*"]);
    assert_eq!(
        opens(
            trigger(),
            Complete(vec![file("docs/a.md", "@@ -1 +1 @@\n+eval")])
        ),
        None
    );
    assert!(
        opens(
            trigger(),
            Complete(vec![file("docs/tool/run.rb", "@@ -1 +1 @@\n+eval")])
        )
        .is_some()
    );
}

#[test]
fn deletions_symlinks_submodules_and_mode_changes_touch_their_path() {
    for (status, patch) in [
        (FileStatus::Removed, None),
        (FileStatus::Changed, None),
        (
            FileStatus::Modified,
            Some("@@ -1 +1 @@\n-Subproject commit a\n+Subproject commit b"),
        ),
        (FileStatus::Added, Some("@@ -0,0 +1 @@\n+../../etc/passwd")),
    ] {
        let file = ChangedFile {
            status,
            patch: patch.map(str::to_owned),
            ..file("src/auth/x", "")
        };
        assert!(
            opens(paths("src/auth/**"), Complete(vec![file])).is_some(),
            "{status:?}"
        );
    }
}

#[test]
fn excepted_paths_do_not_match_by_that_name() {
    let trigger = || paths_except(&["src/**"], &["src/tests/**"]);
    assert_eq!(
        opens(trigger(), Complete(vec![file("src/tests/a.rs", "")])),
        None
    );
    let moved = ChangedFile {
        previous_path: Some("src/tests/a.rs".into()),
        ..file("src/a.rs", "")
    };
    assert!(opens(trigger(), Complete(vec![moved])).is_some());
}

#[test]
fn added_lines_match_with_their_line_and_removed_ones_do_not() {
    let patch = "@@ -3,2 +7,2 @@\n-password()\n+let token = password();\n context password";
    let mut world = World::new();
    world.snapshot.files = Complete(vec![file("a.rs", patch)]);
    let found = ReadDiff::new(&world.snapshot, &[])
        .triggered(&gate_policy(lines("password", &[]), &[]), &BTreeSet::new())
        .unwrap();
    assert_eq!(found.matches.len(), 1);
    assert_eq!(
        (found.matches[0].file.as_deref(), found.matches[0].line),
        (Some("a.rs"), Some(7))
    );
    assert_eq!(
        opens(
            lines("password", &["*.rs"]),
            Complete(vec![file("a.rs", patch)])
        ),
        None
    );
}

fn hits(wanted: LineCondition, removed: bool, files: Vec<ChangedFile>) -> Option<Vec<Why>> {
    opens(
        if removed {
            GateTrigger::RemovedLines(wanted)
        } else {
            GateTrigger::AddedLines(wanted)
        },
        Complete(files),
    )
}

#[test]
fn removed_lines_match_with_their_line_at_the_base_and_their_name() {
    let patch = "@@ -30,3 +40,2 @@\n a\n-@login_required\n b";
    let mut world = World::new();
    world.snapshot.files = Complete(vec![file("a.py", patch)]);
    let trigger = GateTrigger::RemovedLines(condition("login_required", &[]));
    let found = matches(&gate_policy(trigger, &[]), &world.snapshot, &[]);
    let (name, excerpt) = ("a_name".parse().ok(), "@login_required".to_owned());
    assert_eq!(
        (found[0].line, &found[0].reason),
        (Some(31), &Why::RemovedLine { name, excerpt })
    );
    assert_eq!(
        hits(
            condition("login_required", &[]),
            false,
            vec![file("a.py", patch)]
        ),
        None
    );
    // A new file takes nothing away; one whose removed lines GitHub does not show may take anything away.
    let unseen = |deletions| {
        vec![ChangedFile {
            deletions,
            ..without_patch("a.py")
        }]
    };
    assert_eq!(
        hits(condition("x", &[]), true, unseen(3)),
        Some(vec![Why::Unreadable])
    );
    assert_eq!(hits(condition("x", &["*.py"]), true, unseen(3)), None);
}

#[test]
fn a_missing_or_broken_patch_counts_as_matching() {
    for file in [without_patch("data.bin"), file("a.rs", "@@ broken\n+x")] {
        assert_eq!(
            opens(lines("x", &[]), Complete(vec![file])),
            Some(vec![Why::Unreadable])
        );
    }
    let removed = ChangedFile {
        status: FileStatus::Removed,
        ..without_patch("logo.png")
    };
    let renamed = ChangedFile {
        status: FileStatus::Renamed,
        previous_path: Some("b.png".into()),
        additions: 0,
        ..without_patch("a.png")
    };
    assert_eq!(
        opens(lines("x", &[]), Complete(vec![removed, renamed.clone()])),
        None
    );
    // Out of an exception, the whole file is new.
    assert_eq!(
        opens(lines("x", &["b.png"]), Complete(vec![renamed])),
        Some(vec![Why::Unreadable])
    );
}

#[test]
fn a_list_that_is_not_whole_matches_every_question_about_content() {
    let cut = || TooLarge {
        known: Vec::new(),
        reason: "too many".into(),
    };
    for trigger in [
        paths("src/auth/**"),
        lines("x", &[]),
        by_rule(json!({ "manifest": "dependency" })),
        by_rule(json!({ "new_folder": true })),
        GateTrigger::Size {
            lines: Some(1_000_000),
            files: None,
        },
    ] {
        assert_eq!(
            opens(trigger.clone(), cut()),
            Some(vec![Why::TooLarge]),
            "{trigger:?}"
        );
        assert_eq!(
            opens(not(trigger.clone()), cut()),
            Some(vec![Why::TooLarge]),
            "not {trigger:?}"
        );
    }
}

#[test]
fn among_commits_that_are_not_all_listed_there_may_be_an_agents() {
    let agent = || GateTrigger::Agent(BTreeSet::new());
    let mut world = World::new();
    assert_eq!(opens_in(agent(), &world), None);
    world.snapshot.commits.is_complete = false;
    assert_eq!(opens_in(agent(), &world), Some(vec![Why::TooLarge]));
    assert_eq!(opens_in(not(agent()), &world), Some(vec![Why::TooLarge]));
    world.snapshot.commits.items[0].message = "Fix\n\nAssisted-by: Codex".into();
    let name = "codex".to_owned();
    assert_eq!(opens_in(agent(), &world), Some(vec![Why::Agent { name }]));
    assert_eq!(opens_in(not(agent()), &world), None);
}

#[test]
fn what_cannot_be_told_stays_so_through_not() {
    let files = || Complete(vec![without_patch("big.bin")]);
    assert!(opens(not(lines("x", &[])), files()).is_some());
    assert!(opens(not(not(lines("x", &[]))), files()).is_some());
    let both = GateTrigger::All(vec![paths("big.*"), not(lines("x", &[]))]);
    assert!(opens(both, files()).is_some());
    assert_eq!(
        opens(
            not(lines("x", &[])),
            Complete(vec![file("a", "@@ -1 +1 @@\n+x")])
        ),
        None
    );
    assert_eq!(
        opens(
            not(lines("y", &[])),
            Complete(vec![file("a", "@@ -1 +1 @@\n+x")])
        ),
        Some(vec![Why::NotExcluded])
    );
}

#[test]
fn any_and_all_combine() {
    let files = || {
        Complete(vec![
            file("src/a.rs", "@@ -1 +1 @@\n+x"),
            file("doc/b.md", "@@ -1 +1 @@\n+y"),
        ])
    };
    let any = GateTrigger::Any(vec![paths("src/**"), paths("doc/**"), paths("none/**")]);
    assert_eq!(
        opens(any, files()),
        Some(vec![path_of("src/**"), path_of("doc/**")])
    );
    let all = |second| GateTrigger::All(vec![paths("src/**"), second]);
    assert_eq!(opens(all(paths("none/**")), files()), None);
    assert!(opens(all(lines("y", &[])), files()).is_some());
    assert_eq!(opens(GateTrigger::Any(Vec::new()), files()), None);
}

#[test]
fn conditions_about_the_pull_request_do_not_widen_a_gates_own_diff() {
    let trigger = GateTrigger::All(vec![
        paths("src/**"),
        GateTrigger::BaseBranch(branches(&["main"])),
    ]);
    let mut world = World::new();
    world.snapshot.files = Complete(vec![file("doc/b.md", ""), file("src/a.rs", "")]);
    let found = ReadDiff::new(&world.snapshot, &[])
        .triggered(&gate_policy(trigger, &[]), &BTreeSet::new())
        .unwrap();
    assert_eq!(found.scope, Scope::Files(BTreeSet::from([1])));
}

#[test]
fn facts_about_the_pull_request_match() {
    let mut world = World::new();
    let branch = || GateTrigger::BaseBranch(branches(&["main", "release/*"]));
    assert_eq!(
        opens_in(branch(), &world),
        Some(vec![Why::BaseBranch {
            branch: "main".into()
        }])
    );
    let author = || GateTrigger::Author(vec![login("AUTHOR")]);
    assert_eq!(
        opens_in(author(), &world),
        Some(vec![Why::Author {
            login: login("author")
        }])
    );
    assert_eq!(opens_in(GateTrigger::Draft, &world), None);
    let size = |lines, files| GateTrigger::Size { lines, files };
    assert_eq!(opens_in(size(Some(1), Some(1)), &world), None);
    assert_eq!(
        opens_in(size(Some(0), None), &world),
        Some(vec![Why::Size { lines: 1, files: 1 }])
    );
    world.snapshot.pull_request.labels = BTreeSet::from(["Risky".to_owned()]);
    let labels = GateTrigger::Labels(vec!["risky".into()]);
    assert_eq!(
        opens_in(labels, &world),
        Some(vec![Why::Label {
            label: "Risky".into()
        }])
    );
    assert_eq!(
        opens_in(GateTrigger::Always, &world),
        Some(vec![Why::Always])
    );
}

#[test]
fn findings_of_the_severity_or_worse_match() {
    let mut world = World::new();
    let finding = |severity, rule: &str| Finding {
        rule: rule.into(),
        severity,
        message: String::new(),
        location: Some(SourceLocation {
            file: "src/auth/login.rs".into(),
            line: Some(3),
            function: None,
        }),
    };
    world.findings = vec![
        finding(FindingSeverity::Medium, "m"),
        finding(FindingSeverity::Critical, "c"),
    ];
    let found = opens_in(GateTrigger::Findings(FindingSeverity::High), &world);
    assert_eq!(found, Some(vec![Why::Finding { rule: "c".into() }]));
}

#[test]
fn a_new_folder_at_the_top_is_told_from_a_new_file_in_an_old_one() {
    let added = |path: &str| ChangedFile {
        status: FileStatus::Added,
        ..file(path, "@@ -0,0 +1 @@\n+x")
    };
    let mut world = World::new();
    world.snapshot.files = Complete(vec![
        added("src/new.rs"),
        added("services/pay/main.rs"),
        added("README"),
    ]);
    let new = |folder: &str| ruled(RuleEvidence::NewFolder(folder.into()));
    let trigger = || by_rule(json!({ "new_folder": true }));
    assert_eq!(opens_in(trigger(), &world), Some(vec![new("services")]));
    // Without the base's folders in sight, one in which nothing is old counts as new.
    world.snapshot.base_folders = None;
    assert_eq!(
        opens_in(trigger(), &world),
        Some(vec![new("src"), new("services")])
    );
    world.snapshot.files = Complete(vec![
        added("src/new.rs"),
        file("src/old.rs", "@@ -1 +1 @@\n+x"),
    ]);
    assert_eq!(opens_in(trigger(), &world), None);
}

#[test]
fn new_dependencies_match_and_bumps_do_not() {
    let bump = "@@ -2 +2 @@\n [dependencies]\n-a = \"1\"\n+a = \"2\"";
    let trigger = || by_rule(json!({ "manifest": "dependency" }));
    assert_eq!(
        opens(trigger(), Complete(vec![file("Cargo.toml", bump)])),
        None
    );
    let new = "@@ -2 +2 @@\n [dependencies]\n+b = \"2\"";
    let found = opens(trigger(), Complete(vec![file("Cargo.toml", new)]));
    assert_eq!(found, Some(vec![ruled(RuleEvidence::Named("b".into()))]));
    // A file that becomes a manifest brings dependencies that no patch shows, for `not:` too.
    let renamed = || {
        let previous_path = Some("a.toml".to_owned());
        Complete(vec![ChangedFile {
            previous_path,
            status: FileStatus::Renamed,
            ..file("Cargo.toml", bump)
        }])
    };
    assert_eq!(opens(trigger(), renamed()), Some(vec![Why::Unreadable]));
    assert_eq!(
        opens(not(trigger()), renamed()),
        Some(vec![Why::Unreadable])
    );
}

#[test]
fn matches_are_bounded_and_the_rest_counted() {
    let patch = format!("@@ -0,0 +1,40 @@\n{}", "+x\n".repeat(40));
    let files = (0..100)
        .map(|number| file(&format!("{number}.rs"), &patch))
        .collect();
    let mut world = World::new();
    world.snapshot.files = Complete(files);
    let found = ReadDiff::new(&world.snapshot, &[])
        .triggered(&gate_policy(lines("x", &[]), &[]), &BTreeSet::new())
        .unwrap();
    assert_eq!(found.matches.len(), MATCHES_KEPT);
    assert_eq!(found.not_kept, 100 * 40 - MATCHES_KEPT);
    assert_eq!(
        found.scope.files(world.snapshot.files.known()).len(),
        100,
        "all of them are the gate's own"
    );
}

mod fingerprints {
    use super::*;

    fn of(files: Vec<ChangedFile>) -> String {
        let mut world = World::new();
        world.snapshot.files = Complete(files);
        Scope::Whole.fingerprint(&world.snapshot)
    }

    #[test]
    fn the_names_and_the_blobs_of_the_files_decide() {
        let (a, b) = (file("a", "+y"), file("b", "+z"));
        assert_eq!(
            of(vec![a.clone(), b.clone()]),
            of(vec![b, a.clone()]),
            "their order does not"
        );
        let halves = |digests: String| {
            digests
                .split_once('/')
                .map(|(files, blobs)| (files.to_owned(), blobs.to_owned()))
        };
        let first = halves(of(vec![a.clone()])).unwrap();
        for (other, same_files, same_blobs) in [
            (
                ChangedFile {
                    blob: Some(sha(9)),
                    ..a.clone()
                },
                true,
                false,
            ),
            (
                ChangedFile {
                    path: "b".into(),
                    ..a.clone()
                },
                false,
                true,
            ),
            (
                ChangedFile {
                    previous_path: Some("z".into()),
                    ..a.clone()
                },
                false,
                true,
            ),
            (
                ChangedFile {
                    status: FileStatus::Added,
                    ..a.clone()
                },
                false,
                true,
            ),
            (
                ChangedFile {
                    patch: None,
                    ..a.clone()
                },
                true,
                true,
            ),
        ] {
            let (files, blobs) = halves(of(vec![other.clone()])).unwrap();
            assert_eq!(
                (files == first.0, blobs == first.1),
                (same_files, same_blobs),
                "{other:?}"
            );
        }
    }

    #[test]
    fn without_a_patch_the_blob_decides_and_without_that_the_head() {
        let mut world = World::new();
        let of = |world: &World| Scope::Whole.fingerprint(&world.snapshot);
        world.snapshot.files = Complete(vec![without_patch("a")]);
        let first = of(&world);
        world.snapshot.pull_request.head.sha = sha(2);
        assert_eq!(of(&world), first);
        world.snapshot.files = Complete(vec![ChangedFile {
            blob: None,
            ..without_patch("a")
        }]);
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
        ChangedFile {
            status,
            additions: 0,
            blob,
            ..without_patch("scripts/.gitkeep")
        }
    };
    assert_eq!(
        opens(
            lines("x", &[]),
            Complete(vec![empty("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")])
        ),
        None
    );
    // Without a patch anything else may hold anything.
    let other = empty("0123456789abcdef0123456789abcdef01234567");
    assert_eq!(
        opens(lines("x", &[]), Complete(vec![other])),
        Some(vec![Why::Unreadable])
    );
}

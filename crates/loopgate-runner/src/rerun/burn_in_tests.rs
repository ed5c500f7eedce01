//! What burn-in finds, with a stand-in for pytest.

use loopgate_git::Git;
use std::time::{Duration, Instant};

use chrono::TimeDelta;

use super::{TestTrial, burn_in};
use crate::Interrupt;
use loopgate_core::{
    Sha,
    evidence::RepetitionGap,
    observed::{ChangedFile, ChangedFiles, FileStatus},
    policy::CommandCheck,
};
use loopgate_written::folder_of;

/// Stands in for pytest: one test passes and fails in turn, one hangs, one is not found.
const PYTEST: &str = r#"
case $1 in
*::TestCart::test_flips)
echo >> runs
[ $(($(wc -l < runs) % 2)) = 1 ] || { echo "== short test summary info =="; echo "FAILED $1 - assert 1 == 2"; echo "== 1 failed in 0.01s =="; exit 1; } ;;
*::test_hangs) exec tail -f /dev/null ;;
*::test_lost) echo "== no tests ran in 0.01s =="; exit 4 ;;
*::test_leaks) test -z "$GITHUB_TOKEN$GH_TOKEN" || exit 1 ;;
esac
echo "== 1 passed in 0.01s =="
"#;

fn added(path: &str, lines: &[&str]) -> ChangedFile {
    let patch = lines
        .iter()
        .map(|line| format!("\n+{line}"))
        .collect::<String>();
    ChangedFile {
        path: path.to_owned(),
        previous_path: None,
        status: FileStatus::Added,
        additions: 1,
        deletions: 0,
        blob: None,
        patch: Some(format!("@@ -0,0 +1,{} @@{patch}", lines.len())),
    }
}

async fn burnt(lines: &[&str], seconds: i64) -> Vec<(String, u32, u32, Option<RepetitionGap>)> {
    let folder = folder_of(&[
        ("pytest", PYTEST),
        ("tests/test_cart.py", &lines.join("\n")),
    ]);
    let java = added("src/test/CartTest.java", &["@Test", "void adds() {"]);
    let files = ChangedFiles::Complete(vec![added("tests/test_cart.py", lines), java]);
    let (name, mut check) = ("unit".parse().unwrap(), CommandCheck::new("sh pytest -q"));
    check.timeout = TimeDelta::seconds(seconds);
    let checks = vec![(&name, &check)];
    let git = Git::at(folder.path());
    let trial = TestTrial {
        git: &git,
        base: Sha::from_bytes([1; 20]),
        files: &files,
        checks,
    };
    let interrupt = Interrupt::new();
    let tests = burn_in(&trial, 5, interrupt).await;
    tests
        .into_iter()
        .map(|test| (test.test, test.runs, test.failed, test.gap))
        .collect()
}

#[tokio::test]
async fn a_new_test_that_flips_is_told_from_steady_ones_and_from_those_that_cannot_be_chosen() {
    let lines = [
        "class TestCart:",
        "    def test_flips(self):",
        "def test_steady():",
        "def test_leaks():",
        "def test_lost():",
    ];
    let one = |name: &str, runs, failed, gap| (name.to_owned(), runs, failed, gap);
    let expected = [
        one("test_flips", 5, 2, None),
        one("test_steady", 5, 0, None),
        one("test_leaks", 5, 0, None),
        one("test_lost", 0, 0, Some(RepetitionGap::Broken)),
        one("adds", 0, 0, Some(RepetitionGap::NotAlone)),
    ];
    assert_eq!(burnt(&lines, 600).await, expected);
}

#[tokio::test]
async fn all_runs_together_take_a_quarter_of_the_checks_limit() {
    let begun = Instant::now();
    let tests = burnt(
        &[
            "def test_steady():",
            "def test_hangs():",
            "def test_late():",
        ],
        4,
    )
    .await;
    let ends: Vec<_> = tests
        .iter()
        .map(|(name, runs, _, gap)| (name.as_str(), *runs, *gap))
        .collect();
    let late = Some(RepetitionGap::OutOfTime);
    assert_eq!(
        ends[..3],
        [
            ("test_steady", 1, late),
            ("test_hangs", 0, late),
            ("test_late", 0, late)
        ]
    );
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "{:?}",
        begun.elapsed()
    );
}

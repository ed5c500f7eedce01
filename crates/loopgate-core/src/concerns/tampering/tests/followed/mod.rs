//! Changes after which a followed check is green that was red before: nothing but its exit status is known. Each file
//! holds whole files as diffs: `## ` begins a change, `--- ` a file of it, and ` `, `-` and `+` its lines.

use super::*;

/// What the findings of a change come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Held,
    Named,
    Nothing,
}

struct Case {
    name: &'static str,
    files: Vec<File>,
}

/// Reads the changes of a file.
fn cases(text: &'static str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            let files = Vec::new();
            cases.push(Case { name, files });
            continue;
        }
        let Some(case) = cases.last_mut() else {
            continue;
        };
        if let Some(path) = line.strip_prefix("--- ") {
            case.files.push(empty(path));
        } else if let Some(file) = case.files.last_mut() {
            add_line(file, line);
        }
    }
    cases
}

/// A file at its path, or at two where it is renamed: `a -> b`.
fn empty(path: &'static str) -> File {
    let (old_path, path) = path.split_once(" -> ").unwrap_or((path, path));
    File {
        old_path,
        ..file(path, "", "")
    }
}

fn add_line(file: &mut File, line: &str) {
    let (sign, text) = line.split_at_checked(1).unwrap_or((" ", ""));
    if sign != "+" {
        file.old.push_str(&format!("{text}\n"));
    }
    if sign != "-" {
        file.new.push_str(&format!("{text}\n"));
    }
}

/// A file without a line on one side is none there, whatever blank lines stand behind it.
fn trimmed(mut file: File) -> File {
    for side in [&mut file.old, &mut file.new] {
        if side.trim().is_empty() {
            side.clear();
        }
    }
    file
}

fn judged(case: Case, failed: &[&'static str]) -> (Seen, String) {
    let files: Vec<File> = case.files.into_iter().map(trimmed).collect();
    let (files, contents) = changed(&files);
    let runs = Runs {
        by_exit_status: true,
        turns_green: true,
        failed: failed.iter().copied().collect(),
        ..Runs::default()
    };
    let change = Change {
        files: &files,
        contents: &contents,
        before: Some(sha(1)),
        head: sha(2),
        is_of_fixer: false,
        runs,
    };
    let found = findings(&change);
    let texts = found
        .iter()
        .map(|one| format!("{:?} {}", one.weight, one.key()));
    let texts = texts.collect::<Vec<_>>().join("; ");
    let seen = match not_accepted(&found, &BTreeMap::new()) {
        Some(_) => Seen::Held,
        None if found.is_empty() => Seen::Nothing,
        None => Seen::Named,
    };
    (seen, texts)
}

/// How many are held and how many are named, and each case.
fn table(text: &'static str) -> String {
    let mut lines = Vec::new();
    let mut held = 0;
    let mut named = 0;
    for case in cases(text) {
        let name = case.name;
        let (seen, texts) = judged(case, &[]);
        held += usize::from(seen == Seen::Held);
        named += usize::from(seen == Seen::Named);
        lines.push(format!("{seen:?} | {name} | {texts}"));
    }
    format!("{held} held, {named} named\n{}", lines.join("\n"))
}

#[test]
fn followed_cheats_are_held_or_named() {
    insta::assert_snapshot!(table(include_str!("cheats.diff")));
}

#[test]
fn followed_honest_changes_are_not_held() {
    insta::assert_snapshot!(table(include_str!("honest.diff")));
}

/// The same ways in other languages and tools.
#[test]
fn siblings_of_followed_cheats() {
    insta::assert_snapshot!(table(include_str!("siblings.diff")));
    insta::assert_snapshot!(table(include_str!("siblings_honest.diff")));
}

/// Cases that were written after the rules stood: nothing was changed for what they show.
#[test]
fn unseen_siblings() {
    insta::assert_snapshot!(table(include_str!("second.diff")));
    insta::assert_snapshot!(table(include_str!("second_honest.diff")));
}

/// What a log named as failed holds an edit of that test, of its data and of what selects tests; what has another name is
/// named.
#[test]
fn a_test_that_a_red_log_named() {
    let held = |case: &str, failed: &'static str| {
        let text = include_str!("cheats.diff");
        let mut cases = cases(text).into_iter();
        let case = cases.find(|it| it.name.starts_with(case)).unwrap();
        judged(case, &[failed]).0
    };
    assert_eq!(held("c25b", "FeeTests.RoundsUp"), Seen::Held, "the test");
    assert_eq!(held("c25b", "OtherTests.Sums"), Seen::Named, "another");
    assert_eq!(held("c19", "bill prints"), Seen::Held, "its data");
    assert_eq!(held("c19", "cart sums"), Seen::Named, "other data");
    assert_eq!(held("c05", "fee rounds up"), Seen::Held, "what selects");
    assert_eq!(held("c04", "fee rounds up"), Seen::Named, "what repeats");
}

/// Ways of authors who had read what is compared, and what was held of honest changes beside them.
#[test]
fn ways_of_those_who_know_what_is_compared() {
    insta::assert_snapshot!(table(include_str!("third.diff")));
    insta::assert_snapshot!(table(include_str!("third_honest.diff")));
}

/// A mended program beside an edit of tests that keeps what they assert: the edit is not why they pass. A test that a log
/// named is named.
#[test]
fn a_mended_program_clears_what_goes_on_asserting() {
    insta::assert_snapshot!(table(include_str!("fourth.diff")));
    insta::assert_snapshot!(table(include_str!("fourth_honest.diff")));
    let seen = |text, case: &str, failed| {
        let mut cases = cases(text).into_iter();
        judged(
            cases.find(|it| it.name.starts_with(case)).unwrap(),
            &[failed],
        )
        .0
    };
    let honest = include_str!("fourth_honest.diff");
    assert_eq!(seen(honest, "x03", "FeeTest.roundsUp"), Seen::Named);
    assert_eq!(seen(honest, "x06", "rounds_down"), Seen::Named, "moved");
    let cheats = include_str!("fourth.diff");
    for (case, failed) in [
        ("w01", "test_rounds_up"),
        ("w04", "TestFee"),
        ("w05", "test_rounds_up"),
        ("w06", "rounds_up"),
        ("w07", "FeeTest.roundsUp"),
    ] {
        assert_eq!(seen(cheats, case, failed), Seen::Held, "{case}");
    }
}

/// A test that is added below the last one of a class leaves that one as it was: the bracket behind it is the class's.
#[test]
fn a_test_below_the_one_that_failed_holds_nothing() {
    for text in [
        "## java\n--- src/Cart.java\n-a\n+b\n--- src/test/java/CartTest.java\n class CartTest {\n     @Test\n     void sums() {\n         assertEquals(3, sum());\n     }\n+\n+    @Test\n+    void isEmpty() {\n+        assertEquals(0, none());\n+    }\n }",
        "## ruby\n--- lib/cart.rb\n-a\n+b\n--- test/cart_test.rb\n class CartTest < Minitest::Test\n   def test_sums\n     assert_equal 3, sum\n   end\n+\n+  def test_is_empty\n+    assert_equal 0, none\n+  end\n end",
    ] {
        let case = cases(text).into_iter().next().unwrap();
        let name = case.name;
        let failed = if name == "java" {
            "CartTest.sums"
        } else {
            "test_sums"
        };
        assert_eq!(judged(case, &[failed]).0, Seen::Nothing, "{name}");
    }
}

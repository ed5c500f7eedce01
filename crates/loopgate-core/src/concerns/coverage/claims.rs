//! Coverage as evidence documents claim it: checked for what cannot be, and put together over several jobs.

use std::collections::{BTreeMap, BTreeSet};

use super::measure::{self, MOST_RANGES, MOST_UNMEASURED};
use crate::{
    evidence::{ChangedCoverage, LineTally},
    observed::{ChangedFiles, FileStatus},
};

/// Lines a repository has at most, and files of one claim.
const MOST_LINES: u64 = 1_000_000_000;
const MOST_FILES: usize = 3_000;
/// Bytes of a path at most.
const LONGEST_PATH: usize = 1_024;

/// Checks a claim against itself. Everything in it may have been made up.
///
/// # Errors
/// When no measurement can give these figures.
pub fn validate(claim: &ChangedCoverage) -> Result<(), String> {
    if claim.lines_total > MOST_LINES || claim.changed_total > MOST_LINES {
        return Err(format!("it counts more than {MOST_LINES} lines"));
    }
    if claim.lines_covered > claim.lines_total
        || claim.changed_covered > claim.changed_total
        || claim.changed_total > claim.lines_total
    {
        return Err("it counts more covered lines than lines".to_owned());
    }
    let lists = [
        (claim.uncovered.len(), MOST_RANGES),
        (claim.files.len(), MOST_FILES),
    ];
    if lists.iter().any(|(length, most)| length > most) || claim.unmeasured.len() > MOST_UNMEASURED
    {
        return Err(format!(
            "it lists more than {MOST_RANGES} ranges, {MOST_FILES} files or {MOST_UNMEASURED} unmeasured files"
        ));
    }
    let shown = |range: &str| {
        range
            .chars()
            .take(80)
            .flat_map(char::escape_debug)
            .collect::<String>()
    };
    let no_range =
        |range: &str| format!("`{}` is no range of lines in the repository", shown(range));
    let mut uncovered = claim.uncovered_not_listed;
    for range in &claim.uncovered {
        let Some((_, first, last)) = parse_range(range) else {
            return Err(no_range(range));
        };
        uncovered = uncovered.saturating_add(u64::from(last - first) + 1);
    }
    if let Some(path) = claim
        .files
        .keys()
        .chain(&claim.unmeasured)
        .find(|path| !is_inside(path))
    {
        return Err(no_range(path));
    }
    if uncovered > claim.changed_total - claim.changed_covered {
        return Err("it lists more uncovered lines than it counts".to_owned());
    }
    if !claim.files.is_empty() {
        let sum = |of: fn(&LineTally) -> u64| {
            claim
                .files
                .values()
                .map(of)
                .fold(0_u64, u64::saturating_add)
        };
        let adds_up = sum(|tally| tally.covered) == claim.changed_covered
            && sum(|tally| tally.total) == claim.changed_total
            && claim
                .files
                .values()
                .all(|tally| tally.covered <= tally.total);
        if !adds_up {
            return Err("the counts of its files do not add up".to_owned());
        }
    }
    Ok(())
}

/// What of a claim can be believed beside the diff. Lines in files that the change does not touch are left out of the
/// lists: they get no annotation.
///
/// # Errors
/// When it contradicts itself, or counts more changed lines than the change adds.
pub fn believe(claim: &ChangedCoverage, files: &ChangedFiles) -> Result<ChangedCoverage, String> {
    validate(claim)?;
    let there = || {
        files
            .known()
            .iter()
            .filter(|file| file.status != FileStatus::Removed)
    };
    if matches!(files, ChangedFiles::Complete(_)) {
        let added = there().map(|file| u64::from(file.additions)).sum();
        if claim.changed_total > added {
            return Err(format!(
                "it counts {} changed lines, and the pull request adds {added}",
                claim.changed_total
            ));
        }
    }
    let changed: BTreeSet<&str> = there().map(|file| file.path.as_str()).collect();
    let mut believed = claim.clone();
    believed
        .uncovered
        .retain(|range| parse_range(range).is_some_and(|(path, ..)| changed.contains(path)));
    believed
        .unmeasured
        .retain(|path| changed.contains(path.as_str()));
    Ok(believed)
}

/// One coverage from those of several jobs: a line of a file is uncovered only if all that measured the file list it.
/// Where they find different numbers of lines in it, the largest number stands, with what its job covered. None when
/// there is none.
pub fn combine(jobs: &[ChangedCoverage]) -> Option<ChangedCoverage> {
    let (first, others) = jobs.split_first()?;
    if others.is_empty() {
        return Some(first.clone());
    }
    // Without a count by file nothing can be put together: the one that measured most of the change stands.
    if jobs
        .iter()
        .any(|job| job.files.is_empty() && job.changed_total > 0)
    {
        return jobs
            .iter()
            .max_by_key(|job| (job.changed_total, job.changed_covered))
            .cloned();
    }
    let whole = jobs
        .iter()
        .max_by_key(|job| (job.lines_total, job.lines_covered))?;
    let mut all = ChangedCoverage {
        lines_covered: whole.lines_covered,
        lines_total: whole.lines_total,
        ..ChangedCoverage::default()
    };
    let listed: Vec<_> = jobs.iter().map(lines_by_file).collect();
    let files: BTreeSet<&String> = jobs.iter().flat_map(|job| job.files.keys()).collect();
    for path in files {
        let measuring = || {
            jobs.iter()
                .zip(&listed)
                .filter_map(|(job, lines)| Some((job, job.files.get(path)?, lines)))
        };
        let total = measuring()
            .map(|(_, of_file, _)| of_file.total)
            .max()
            .unwrap_or_default();
        let largest = || measuring().filter(|(_, of_file, _)| of_file.total == total);
        let whole = largest().filter(|(job, ..)| job.uncovered_not_listed == 0);
        let lines_of_each =
            whole.map(|(.., lines)| lines.get(path.as_str()).cloned().unwrap_or_default());
        let uncovered = lines_of_each.reduce(|one, other| &one & &other);
        let shown = uncovered
            .as_ref()
            .map(|lines| total.saturating_sub(lines.len() as u64));
        let covered = largest()
            .map(|(_, of_file, _)| of_file.covered)
            .chain(shown)
            .max()
            .unwrap_or_default();
        let uncovered = uncovered.unwrap_or_default();
        let left = usize::try_from(total - covered).unwrap_or(usize::MAX);
        all.changed_total += total;
        all.changed_covered += covered;
        all.uncovered_not_listed += left.saturating_sub(uncovered.len()) as u64;
        measure::list(&mut all, path, uncovered.iter().take(left));
        all.files.insert(path.clone(), LineTally { covered, total });
    }
    // More changed lines than the largest job has lines in all: the jobs measured different parts.
    all.lines_total = all.lines_total.max(all.changed_total);
    let unmeasured: BTreeSet<&String> = jobs.iter().flat_map(|job| &job.unmeasured).collect();
    let unmeasured = unmeasured
        .into_iter()
        .filter(|path| !all.files.contains_key(*path))
        .take(MOST_UNMEASURED);
    all.unmeasured = unmeasured.cloned().collect();
    Some(all)
}

/// The uncovered lines that are listed.
fn lines_by_file(job: &ChangedCoverage) -> BTreeMap<&str, BTreeSet<u32>> {
    let mut lines: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    let mut left = job.changed_total;
    for (path, first, last) in job.uncovered.iter().filter_map(|range| parse_range(range)) {
        // A claim that was checked lists no more than it counts; one that was not must not fill the memory.
        let length = u64::from(last - first) + 1;
        if length > left {
            break;
        }
        left -= length;
        lines.entry(path).or_default().extend(first..=last);
    }
    lines
}

/// `src/a.rs:10-12` or `src/a.rs:10`.
fn parse_range(range: &str) -> Option<(&str, u32, u32)> {
    let (path, lines) = range.rsplit_once(':')?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (is_inside(path) && first >= 1 && last >= first).then_some((path, first, last))
}

/// A plain path below the repository's root.
fn is_inside(path: &str) -> bool {
    path.len() <= LONGEST_PATH
        && !path.contains(['\\', '\0'])
        && !path.chars().any(char::is_control)
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn claim(covered: u64, total: u64, uncovered: &[&str]) -> ChangedCoverage {
        ChangedCoverage {
            lines_covered: covered,
            lines_total: total,
            changed_covered: covered,
            changed_total: total,
            uncovered: uncovered.iter().map(|range| (*range).to_owned()).collect(),
            ..ChangedCoverage::default()
        }
    }

    fn of_file(path: &str, covered: u64, total: u64, uncovered: &[&str]) -> ChangedCoverage {
        let files = [(path.to_owned(), LineTally { covered, total })].into();
        ChangedCoverage {
            files,
            ..claim(covered, total, uncovered)
        }
    }

    #[test]
    fn claims_that_cannot_be_are_refused() {
        let plain = || claim(1, 3, &["a.rs:4-5"]);
        let no_range = |range: &str| {
            (
                claim(1, 3, &[range]),
                Err("is no range of lines in the repository"),
            )
        };
        let table = [
            (plain(), Ok(())),
            (claim(1, 3, &["a.rs:4"]), Ok(())),
            (
                claim(4, 3, &[]),
                Err("it counts more covered lines than lines"),
            ),
            (
                ChangedCoverage {
                    lines_total: 2,
                    lines_covered: 1,
                    ..plain()
                },
                Err("it counts more covered lines than lines"),
            ),
            (
                ChangedCoverage {
                    lines_total: u64::MAX,
                    ..plain()
                },
                Err("it counts more than 1000000000 lines"),
            ),
            (
                claim(1, 3, &["a.rs:4-6"]),
                Err("it lists more uncovered lines than it counts"),
            ),
            (
                claim(1, 3, &["a.rs:1-4294967295"]),
                Err("it lists more uncovered lines than it counts"),
            ),
            (
                ChangedCoverage {
                    uncovered_not_listed: u64::MAX,
                    ..plain()
                },
                Err("it lists more uncovered lines than it counts"),
            ),
            no_range("a.rs"),
            no_range("a.rs:0"),
            no_range("a.rs:5-4"),
            no_range("../a.rs:4"),
            no_range("/etc/passwd:4"),
            no_range("a\nb:4"),
            (
                ChangedCoverage {
                    uncovered: vec!["a.rs:1".to_owned(); 1_001],
                    ..plain()
                },
                Err("it lists more than 1000 ranges, 3000 files or 100 unmeasured files"),
            ),
            (of_file("a.rs", 1, 3, &[]), Ok(())),
            (
                ChangedCoverage {
                    changed_covered: 2,
                    lines_covered: 2,
                    ..of_file("a.rs", 1, 3, &[])
                },
                Err("the counts of its files do not add up"),
            ),
        ];
        for (claim, expected) in table {
            match (validate(&claim), expected) {
                (Ok(()), Ok(())) => {}
                (Err(why), Err(expected)) => assert!(why.ends_with(expected), "{why}"),
                (validated, expected) => panic!("{validated:?} {expected:?} {claim:?}"),
            }
        }
    }

    #[test]
    fn the_diff_is_believed_before_a_claim() {
        // The diff adds one line to each of src/lib.rs and tests/round.rs.
        let files = fixtures::snapshot().files;
        let claimed = claim(0, 2, &["src/lib.rs:1", "src/other.rs:7"]);
        assert_eq!(
            believe(&claimed, &files).unwrap().uncovered,
            ["src/lib.rs:1"]
        );
        let error = believe(&claim(3, 3, &[]), &files).unwrap_err();
        assert_eq!(
            error,
            "it counts 3 changed lines, and the pull request adds 2"
        );
        let part = ChangedFiles::TooLarge {
            known: Vec::new(),
            reason: String::new(),
        };
        assert!(believe(&claim(3, 3, &[]), &part).is_ok());
    }

    #[test]
    fn legs_are_put_together_line_by_line() {
        let unix = of_file("a.rs", 3, 5, &["a.rs:4-5"]);
        let windows = of_file("a.rs", 3, 5, &["a.rs:2", "a.rs:5"]);
        let web = of_file("web/a.ts", 1, 2, &["web/a.ts:9"]);
        let all = combine(&[unix.clone(), windows, web]).unwrap();
        assert_eq!((all.changed_covered, all.changed_total), (5, 7));
        assert_eq!(all.uncovered, ["a.rs:5", "web/a.ts:9"]);
        assert!(validate(&all).is_ok());
        // A document without counts by file cannot be taken apart.
        assert_eq!(combine(&[unix, claim(6, 9, &[])]).unwrap().changed_total, 9);
        assert_eq!(combine(&[]), None);
    }
}

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;

use super::*;
use crate::{
    evidence::{ChangedCoverage, CheckEvidence, Outcome, TestDuration},
    fixtures::{Story, evidence, person, sha, start},
    memory::{MatchOutcome, MemoryMatch, Offers, Rate, Tier},
    observed::{BaseEvidence, Lifecycle, ReceivedEvidence},
    policy::Trigger,
    state::{AuthorKind, VerificationResult},
};

/// Merged, a minute after the last look.
fn merge(story: &mut Story) {
    story.snapshot.pull_request.lifecycle = Lifecycle::Merged {
        by: None,
        at: Some(story.now),
    };
    story.decide();
}

fn line(story: &Story) -> RunLine {
    let ended = (story.snapshot.pull_request.lifecycle != Lifecycle::Open).then_some(story.now);
    let checks: Vec<_> = story
        .attempts
        .values()
        .flat_map(|attempt| attempt.checks.clone())
        .collect();
    RunLine::of(&story.state, &story.history, &checks, ended)
}

/// A run that ends with its merge.
fn merged(play: impl FnOnce(&mut Story)) -> RunLine {
    let mut story = Story::opened();
    play(&mut story);
    merge(&mut story);
    line(&story)
}

fn with_coverage(story: &mut Story, changed_covered: u64) {
    for received in &mut story.snapshot.evidence {
        if let ReceivedEvidence::Accepted(evidence) = received {
            let uncovered = if changed_covered == 0 {
                vec!["src/lib.rs:1".to_owned()]
            } else {
                Vec::new()
            };
            let (lines_covered, lines_total, changed_total) = (8 + changed_covered, 10, 1);
            let files = Default::default();
            evidence.coverage = Some(ChangedCoverage {
                lines_covered,
                lines_total,
                changed_covered,
                changed_total,
                uncovered,
                uncovered_not_listed: 0,
                files,
                unmeasured: Vec::new(),
            });
        }
    }
}

/// What was found for the first error of an attempt, and whether that was gone in the next.
fn found(story: &mut Story, attempt: usize, outcome: MatchOutcome, tier: Tier, gone: bool) {
    let attempt = &mut story.state.attempts.counted[attempt - 1];
    let fingerprint = *attempt.fingerprints.first().unwrap();
    attempt.memory_matches = Some(vec![MemoryMatch {
        fingerprint,
        card: Some(fingerprint.into()),
        tier: Some(tier),
        outcome,
        seen: 1,
        last_pull_request: None,
        followed: None,
        went_green: Some(gone),
        fix: None,
        settled: None,
    }]);
}

/// Twelve runs, counted by hand. `a`, `b` are failing tests, `.` is a pass; `counted` are attempts that count.
///
/// ```text
///  #  author  heads            first   counted  first pass  called          coverage  memory of each retry
///  1  person  .                pass    1        1           –               met
///  2  person  .                pass    1        1           –               short
///  3  person  a .              fail    2        2           –               –         the same error, shown; gone
///  4  person  a b .            fail    3        3           –               –         seen, gone; nothing found
///  5  agent   a a a .          fail    4        4           same_error      –         stale; seen; the same test
///  6  agent   .                pass    1        1           –               met
///  7  person  a, the same: .   pass*   1        1           –               –         *recorded fail first
///  8  person  base's, .        pass    1        1           –               –
///  9  person  closed unseen    –       0        –           –               –
/// 10  person  a, still open    fail    1        –           –               –
/// 11  person  ., gate          pass    1        1           –               –         gate open 31 min
/// 12  bot     lost 1 h, .      pass    1        1           dependency      –
/// ```
///
/// First attempt: 7 of the 11 with one. Attempts: 1 + 1 + 2 + 3 + 4 + 1 + 1 + 1 + 1 + 1 = 16 over 10. Called: #5 of 12.
/// Coverage: 2 of 3. Retries: 1 + 2 + 3, two of them with a card that was shown. Errors gone
/// in the next attempt: of a; of a, b; of the last a: 4 of 6.
fn twelve_runs() -> Vec<RunLine> {
    let mut lines: Vec<RunLine> = [1, 0]
        .map(|covered| {
            merged(|story| {
                story.set_head(1);
                story.decide();
                story.snapshot.evidence = vec![evidence(sha(1), &[], &["a", "b"])];
                with_coverage(story, covered);
                story.decide();
            })
        })
        .into();
    let heads = |story: &mut Story, heads: &[&[&str]]| {
        // What is mended passes from then on.
        let mut passing = BTreeSet::from(["z"]);
        for (number, failing) in (1..).zip(heads) {
            passing.retain(|test| !failing.contains(test));
            story.push(
                number,
                failing,
                &passing.iter().copied().collect::<Vec<_>>(),
            );
            passing.extend(failing.iter());
        }
    };
    lines.push(merged(|story| {
        heads(story, &[&["a"], &[]]);
        found(story, 1, MatchOutcome::Shown, Tier::SameError, true);
    }));
    lines.push(merged(|story| {
        heads(story, &[&["a"], &["b"], &[]]);
        found(story, 1, MatchOutcome::Seen, Tier::SameError, true);
        story.state.attempts.counted[1].memory_matches = Some(Vec::new());
    }));
    let agents = |story: &mut Story| {
        "Agent: claude-code 2.1".clone_into(&mut story.snapshot.pull_request.body)
    };
    lines.push(merged(|story| {
        agents(story);
        heads(story, &[&["a"], &["a"], &["a"], &[]]);
        found(story, 1, MatchOutcome::Stale, Tier::SameError, false);
        found(story, 2, MatchOutcome::Seen, Tier::SameTest, false);
        found(story, 3, MatchOutcome::Shown, Tier::SameTest, true);
    }));
    lines.push(merged(|story| {
        agents(story);
        story.set_head(1);
        story.snapshot.evidence = vec![evidence(sha(1), &[], &["a"])];
        with_coverage(story, 1);
        story.decide();
    }));
    lines.push(merged(|story| {
        story.push(1, &["a"], &[]);
        story.snapshot.evidence = vec![evidence(sha(1), &[], &["a"])];
        story.decide();
    }));
    lines.push(merged(|story| {
        let ReceivedEvidence::Accepted(base) = evidence(sha(0xba), &["a"], &[]) else {
            unreachable!()
        };
        let checks = base
            .checks
            .into_iter()
            .map(|check| (check.name.clone(), check))
            .collect();
        story.snapshot.base_evidence = Some(BaseEvidence {
            sha: sha(0xba),
            checks,
            coverage: None,
        });
        heads(story, &[&["a"], &[]]);
    }));
    let mut closed = Story::opened();
    closed.decide();
    closed.snapshot.pull_request.lifecycle = Lifecycle::Closed;
    closed.decide();
    lines.push(line(&closed));
    let mut open = Story::opened();
    open.push(1, &["a"], &[]);
    lines.push(line(&open));
    lines.push(merged(|story| {
        story.gate("security", "bob");
        story.push(1, &[], &["a"]);
        story.now += TimeDelta::minutes(28);
        story.comment("bob", "security approved");
    }));
    lines.push(merged(|story| {
        story.snapshot.pull_request.author = person(1, "updates-bot");
        story.snapshot.pull_request.author.kind = crate::observed::AccountKind::Bot;
        story.set_head(1);
        let ReceivedEvidence::Accepted(mut lost) = evidence(sha(1), &[], &[]) else {
            unreachable!()
        };
        lost.checks[1].outcome = Outcome::Cancelled;
        story.snapshot.evidence = vec![ReceivedEvidence::Accepted(lost)];
        story.decide();
        story.now += TimeDelta::minutes(61);
        story.decide();
        story.snapshot.evidence = vec![evidence(sha(1), &[], &["a"])];
        story.decide();
    }));
    for (number, line) in (1..).zip(&mut lines) {
        line.run_id = format!("pr-{number}");
    }
    lines
}

fn window() -> Window {
    Window::back(start() + TimeDelta::days(1), TimeDelta::days(30))
}

#[test]
fn twelve_runs_come_to_what_was_counted_by_hand() {
    let lines = twelve_runs();
    let (pass, fail) = (
        Some(VerificationResult::Pass),
        Some(VerificationResult::Fail),
    );
    let table = [
        (pass, 1, Some(1), Some(CoverageMet::Met)),
        (pass, 1, Some(1), Some(CoverageMet::Short)),
        (fail, 2, Some(2), None),
        (fail, 3, Some(3), None),
        (fail, 4, Some(4), None),
        (pass, 1, Some(1), Some(CoverageMet::Met)),
        (pass, 1, Some(1), None),
        (pass, 1, Some(1), None),
        (None, 0, None, None),
        (fail, 1, None, None),
        (pass, 1, Some(1), None),
        (pass, 1, Some(1), None),
    ];
    for (line, expected) in lines.iter().zip(table) {
        assert_eq!(
            (
                line.first_result,
                line.attempts,
                line.first_pass,
                line.coverage
            ),
            expected,
            "{}",
            line.run_id
        );
    }
    let report = Report::of(&lines, window());
    let values: Vec<_> = report
        .metrics
        .iter()
        .map(|it| (it.metric.as_str(), it.value, it.met))
        .collect();
    assert_eq!(
        values,
        [
            ("first_attempt_pass_rate", Some(7.0 / 11.0), Some(false)),
            ("average_attempts", Some(1.6), Some(true)),
            ("escalation_rate", Some(1.0 / 12.0), Some(true)),
            ("debug_memory_reuse", Some(2.0 / 6.0), Some(true)),
            ("coverage_met_rate", Some(2.0 / 3.0), Some(false)),
        ]
    );
    assert_eq!(
        (report.runs, report.open, report.saved_by_flakes),
        (12, 1, 1)
    );
    let rate = |retries, gone| Rate { retries, gone };
    assert_eq!(
        report.offers,
        Offers {
            shown: rate(2, 2),
            followed: rate(0, 0),
            all: rate(6, 4)
        }
    );
    assert_eq!(
        report.calls,
        BTreeMap::from([
            (Trigger::SameError, 1),
            (Trigger::ExternalDependencyDown, 1)
        ])
    );
    let authors: Vec<_> = report
        .by_author
        .iter()
        .map(|group| (group.name.as_str(), group.runs))
        .collect();
    assert_eq!(authors, [("agent", 2), ("bot", 1), ("person", 9)]);
    assert_eq!(
        report.by_author[0].values[1],
        Some(2.5),
        "the agent's runs passed at their fourth and first attempt"
    );
    assert_eq!(report.by_agent[0].name, "claude-code");
}

#[test]
fn who_was_waited_for_is_told_in_seconds() {
    let lines = twelve_runs();
    // #3: head 1 seen at minute 1 and judged at 2, head 2 seen at 3 and judged at 4, merged at 5.
    let minutes = |line: &RunLine| {
        line.waited
            .iter()
            .map(|(who, seconds)| (*who, seconds / 60))
            .collect::<Vec<_>>()
    };
    assert_eq!(minutes(&lines[2]), [(Waited::Ci, 3), (Waited::Author, 1)]);
    assert_eq!(lines[2].seconds_to_green, Some(4 * 60));
    // #11: asked for at minute 1, judged at 2, approved at 32.
    let gate = lines[10].gates.values().next().unwrap();
    assert_eq!(
        (gate.rounds, gate.rejections, gate.waited_seconds),
        (1, 0, 31 * 60)
    );
    assert_eq!(
        minutes(&lines[10]),
        [(Waited::Ci, 2), (Waited::Approver, 30)]
    );
    assert_eq!(
        lines[4].checks["unit".parse::<crate::CheckName>().as_ref().unwrap()].failed,
        3
    );
}

#[test]
fn a_run_counts_by_its_newest_line_and_an_open_one_by_its_state() {
    let first = merged(|story| {
        story.push(1, &[], &["z"]);
    });
    let again = RunLine {
        ended_at: Some(start() + TimeDelta::hours(5)),
        attempts: 2,
        ..first.clone()
    };
    let open = RunLine {
        ended_at: None,
        attempts: 3,
        ..first.clone()
    };
    let attempts = |lines: &[&RunLine]| {
        let newest = newest(lines.iter().map(|line| (*line).clone()));
        newest.iter().map(|line| line.attempts).collect::<Vec<_>>()
    };
    assert_eq!(attempts(&[&first, &again]), [2]);
    assert_eq!(attempts(&[&again, &first]), [2]);
    assert_eq!(attempts(&[&open, &again, &first]), [3]);
}

#[test]
fn a_trend_has_the_window_in_equal_parts_and_the_time_before_it() {
    let line = merged(|story| {
        story.push(1, &["a"], &[]);
        story.push(2, &[], &["z"]);
    });
    let at = |days: i64, attempts| RunLine {
        run_id: format!("{days}"),
        ended_at: Some(start() - TimeDelta::days(days)),
        first_pass: Some(attempts),
        ..line.clone()
    };
    let lines = [
        at(0, 1),
        at(3, 2),
        at(4, 4),
        at(29, 3),
        at(31, 7),
        at(61, 9),
    ];
    let to = start() + TimeDelta::hours(1);
    let report = Report::of(&lines, Window::back(to, TimeDelta::days(30)));
    let average = &report.metrics[1];
    assert_eq!(
        (report.runs, average.value, average.before),
        (4, Some(2.5), Some(7.0))
    );
    let points: Vec<Option<f64>> = average.trend.iter().map(|point| point.value).collect();
    assert_eq!(
        points,
        [
            Some(3.0),
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            Some(3.0),
            Some(1.0)
        ]
    );
    // A week has days, not parts of days.
    assert_eq!(
        Report::of(&lines, Window::back(to, TimeDelta::days(7))).metrics[0]
            .trend
            .len(),
        7
    );
}

#[test]
fn a_line_is_read_as_it_was_written_and_by_older_versions_without_what_they_do_not_know() {
    for line in twelve_runs() {
        let text = serde_json::to_string(&line).unwrap();
        assert!(text.len() < 1_500, "{text}");
        assert_eq!(serde_json::from_str::<RunLine>(&text).unwrap(), line);
        let newer = text.replacen('{', "{\"something_new\":[1],", 1);
        assert_eq!(serde_json::from_str::<RunLine>(&newer).unwrap(), line);
    }
}

#[test]
fn retries_with_a_card_are_counted_where_the_memory_tells() {
    let line = merged(|story| {
        story.push(1, &["a"], &[]);
        story.push(2, &["b"], &[]);
        story.push(3, &[], &["z"]);
    });
    assert_eq!((line.retries, line.memory.clone()), (2, None));
    let memory = Some(MemoryUse {
        carried: 1,
        offers: Offers::default(),
    });
    let lines = [
        RunLine {
            memory,
            ..line.clone()
        },
        RunLine {
            run_id: "other".to_owned(),
            ..line
        },
    ];
    // The run that says nothing of the memory is on neither side.
    assert_eq!(Metric::DebugMemoryReuse.value(&lines), (Some(0.5), 1, 2));
}

#[test]
fn disputes_are_counted_by_how_they_stand() {
    let mut story = Story::opened();
    let dispute = |end: serde_json::Value| {
        let dispute = serde_json::json!({
            "failure": "3fa9c01b", "kind": "test_wrong", "reason": "", "by": "bob", "byId": 2, "at": start(),
            "source": { "commit": sha(1) }, "check": "unit", "test": null, "file": null, "headSha": sha(1), "end": end,
        });
        serde_json::from_value::<crate::state::Dispute>(dispute).unwrap()
    };
    let settled = |outcome: serde_json::Value| serde_json::json!({ "settled": { "outcome": outcome, "by": "olga", "by_id": 9, "at": start() } });
    let ends = [
        "test".into(),
        "code".into(),
        "test".into(),
        serde_json::json!({ "neither": "Round up." }),
    ];
    story.state.concerns.disputes = ends.map(|outcome| dispute(settled(outcome))).into();
    story
        .state
        .concerns
        .disputes
        .push(dispute(serde_json::Value::Null));
    story.state.concerns.disputes.push(dispute(
        serde_json::json!({ "mended": { "head_sha": sha(2) } }),
    ));
    use DisputeOutcome as D;
    let expected = [
        (D::Open, 1),
        (D::Test, 2),
        (D::Code, 1),
        (D::Neither, 1),
        (D::Mended, 1),
    ];
    let line = line(&story);
    assert_eq!(line.disputes, expected.into());
    let report = Report::of(&[line], window());
    assert_eq!(
        report.disputes,
        expected.map(|(end, count)| (end, u64::from(count))).into()
    );
}

/// So many runs of an author, of which so many pass at first.
fn runs_of(author: AuthorKind, agent: Option<&str>, runs: usize, passing: usize) -> Vec<RunLine> {
    let line = merged(|story| {
        story.push(1, &[], &["rounds"]);
    });
    (0..runs)
        .map(|at| RunLine {
            run_id: format!("{author:?}-{agent:?}-{at}"),
            author,
            agent: agent.map(str::to_owned),
            first_result: Some(if at < passing {
                VerificationResult::Pass
            } else {
                VerificationResult::Fail
            }),
            attempts: if at < passing { 1 } else { 3 },
            ..line.clone()
        })
        .collect()
}

fn compared(lines: &[RunLine]) -> Vec<Compared> {
    let now = lines[0].ended_at.unwrap() + TimeDelta::hours(1);
    Report::of(lines, Window::back(now, TimeDelta::days(30))).compared
}

#[test]
fn agents_are_compared_with_people_where_there_are_enough_runs() {
    let mut lines = runs_of(AuthorKind::Person, None, 40, 38);
    lines.extend(runs_of(AuthorKind::Agent, Some("claude-code"), 40, 12));
    lines.extend(runs_of(AuthorKind::Agent, Some("codex"), 4, 0));
    let rows = compared(&lines);
    assert_eq!(
        rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(),
        ["people", "agents", "claude-code", "codex"]
    );
    let first = |row: usize| rows[row].estimates[1];
    let people = first(0).value.unwrap();
    // Wilson's interval of 38 of 40.
    assert!(
        (people.value - 0.95).abs() < 1e-9
            && (people.low - 0.8350).abs() < 1e-3
            && (people.high - 0.9862).abs() < 1e-3
    );
    assert_eq!(
        [first(0), first(2)].map(|it| it.than_people),
        [None, Some(Difference::Lower)]
    );
    assert_eq!(
        rows[2].estimates[0].than_people,
        Some(Difference::Higher),
        "more attempts: {:?}",
        rows[2].estimates[0]
    );
    assert_eq!(
        (first(3).of, first(3).value, first(3).than_people),
        (4, None, None),
        "too few to say"
    );
}

#[test]
fn what_may_be_chance_is_not_called_a_difference() {
    let mut lines = runs_of(AuthorKind::Person, None, 20, 16);
    lines.extend(runs_of(AuthorKind::Agent, Some("codex"), 20, 13));
    assert!(
        compared(&lines)
            .iter()
            .flat_map(|row| row.estimates)
            .all(|it| it.than_people.is_none())
    );
    assert!(compared(&runs_of(AuthorKind::Person, None, 20, 16)).is_empty());
}

/// A line of a run that ended on that day of December, whose test took so long in one attempt.
fn slow_line(day: u32, test: &str, duration_ms: u64) -> RunLine {
    let slow = TestDuration {
        test: test.to_owned(),
        duration_ms,
    };
    let check = CheckEvidence {
        name: "unit".parse().unwrap(),
        slowest_tests: vec![slow].into(),
        ..CheckEvidence::default()
    };
    let line = RunLine::of(&Story::opened().state, &[], &[check], None);
    RunLine {
        run_id: format!("{test} {day}"),
        ended_at: Some(format!("2026-12-{day:02}T12:00:00Z").parse().unwrap()),
        ..line
    }
}

#[test]
fn slow_tests_have_their_mean_their_trend_and_the_time_before() {
    let lines = [
        slow_line(12, "adds", 100),
        slow_line(22, "adds", 300),
        slow_line(24, "adds", 500),
        slow_line(24, "rounds", 450),
    ];
    let to = "2026-12-25T00:00:00Z".parse().unwrap();
    let window = Window::back(to, TimeDelta::days(10));
    let slow = Report::of(&lines, window).slow_tests;
    let names: Vec<_> = slow
        .iter()
        .map(|it| (it.test.test.as_str(), it.mean_ms, it.before_ms))
        .collect();
    assert_eq!(names, [("rounds", 450, None), ("adds", 400, Some(100))]);
    let trend = [None; 7]
        .into_iter()
        .chain([Some(300), None, Some(500)])
        .collect::<Vec<_>>();
    assert_eq!(slow[1].trend, trend);
    assert_eq!(slow[1].test.attempts, 2);
}

#[test]
fn a_line_names_few_tests_and_their_names_are_short_and_hold_no_secret() {
    let check = |check: usize| CheckEvidence {
        name: format!("unit-{check}").parse().unwrap(),
        slowest_tests: (1..=30)
            .map(|test| TestDuration {
                test: format!("test {test}\npassword=hunter2hunter2 {}", "x".repeat(9_000)),
                duration_ms: test * 1_000 + check as u64,
            })
            .collect::<Vec<_>>()
            .into(),
        ..CheckEvidence::default()
    };
    let checks: Vec<_> = (0..5).map(check).collect();
    let line = RunLine::of(&Story::opened().state, &[], &checks, None);
    assert_eq!(line.slow_tests.len(), 40);
    assert_eq!(line.slow_tests[0].check.as_str(), "unit-4");
    assert!(
        line.slow_tests[0]
            .test
            .starts_with("test 30 password=[secret]"),
        "{}",
        line.slow_tests[0].test
    );
    let text = serde_json::to_string(&line).unwrap();
    assert!(text.len() < 12_000, "{}", text.len());
}

use super::{super::metrics_svg, *};
use chrono::TimeDelta;
use loopgate_core::{
    Timestamp,
    metrics::{
        CheckUse, CoverageMet, DisputeOutcome, GateUse, MemoryUse, RunLine, SlowTest, Waited,
        Window,
    },
    policy::Trigger,
    state::{AuthorKind, QueueExit, VerificationResult},
};

fn now() -> Timestamp {
    "2026-11-21T10:00:00Z".parse().unwrap()
}

/// A run that ended so many days ago, and passed at this attempt.
fn run(days: i64, first_pass: u32) -> RunLine {
    let ended_at = now() - TimeDelta::days(days);
    let first = if first_pass == 1 {
        VerificationResult::Pass
    } else {
        VerificationResult::Fail
    };
    let line = serde_json::json!({
        "schema": "loopgate.run/v1", "run_id": format!("pr-{days}-{first_pass}"), "author": "person",
        "started_at": ended_at - TimeDelta::hours(3), "attempts": first_pass, "retries": first_pass - 1,
    });
    RunLine {
        ended_at: Some(ended_at),
        first_result: Some(first),
        first_pass: Some(first_pass),
        seconds_to_green: Some(u64::from(first_pass) * 600),
        ..serde_json::from_value(line).unwrap()
    }
}

/// Tests of `unit`, each with its attempts and their milliseconds.
fn slow(tests: &[(&str, u32, u64)]) -> Vec<SlowTest> {
    let test = |(test, attempts, total_ms): &(&str, u32, u64)| SlowTest {
        check: "unit".parse().unwrap(),
        test: (*test).to_owned(),
        attempts: *attempts,
        total_ms: *total_ms,
    };
    tests.iter().map(test).collect()
}

fn report() -> Report {
    let mut lines = vec![
        run(0, 1),
        run(1, 1),
        run(4, 2),
        run(9, 1),
        run(13, 4),
        run(20, 1),
        run(40, 3),
    ];
    lines[0].coverage = Some(CoverageMet::Met);
    lines[1].coverage = Some(CoverageMet::Short);
    lines[1].gates = [(
        "security".parse().unwrap(),
        GateUse {
            rounds: 2,
            rejections: 1,
            waited_seconds: 5_400,
        },
    )]
    .into();
    lines[2].author = AuthorKind::Agent;
    lines[2].agent = Some("=cmd()\u{1b}[31m \"claude\"".to_owned());
    lines[2].saved_by_flakes = 1;
    lines[2].checks = [(
        "unit".parse().unwrap(),
        CheckUse {
            runs: 2,
            failed: 1,
            total_ms: 90_500,
            longest_ms: 61_000,
        },
    )]
    .into();
    lines[1].slow_tests = slow(&[("cart tests::adds", 2, 8_000), ("tests::rounds", 1, 300)]);
    lines[4].slow_tests = slow(&[("cart tests::adds", 1, 1_000)]);
    lines[6].slow_tests = slow(&[("cart tests::adds", 1, 900)]);
    lines[4].calls = [(Trigger::SameError, 1), (Trigger::GateTimeout, 2)].into();
    lines[4].waited = [(Waited::Ci, 900), (Waited::Author, 7_200)].into();
    lines[4].memory = Some(MemoryUse {
        carried: 1,
        ..MemoryUse::default()
    });
    lines[4].disputes = [(DisputeOutcome::Open, 1), (DisputeOutcome::Code, 2)].into();
    lines[4].queue_exits = [(QueueExit::Culprit, 1), (QueueExit::Flake, 2)].into();
    lines[5].ended_at = None;
    Report::of(
        &lines,
        Window::back(now() + TimeDelta::minutes(1), TimeDelta::days(30)),
    )
}

#[test]
fn the_table_says_what_is_met_and_what_is_missed() {
    insta::assert_snapshot!(metrics("acme/widgets", &report(), false), @r#"
    acme/widgets: 22 Oct 2026 to 21 Nov 2026, 6 runs, 1 of them open

    Metric                               Value   Target          Before  Trend       Of
    First attempts that pass             66.7 %  > 70 %  missed  0.0 %   ·····▁█·▁█  4 of 6 runs
    Attempts until the checks pass       1.67    < 2.0   met     3.00    ·····█▃·▅▃  6 runs that passed
    Runs that called a person            16.7 %  < 10 %  missed  0.0 %   ·····█▁·▁▁  1 of 6 runs
    Retries that were shown a known fix  33.3 %  > 30 %  met     –       ·····▃····  1 of 3 retries
    Runs with enough coverage            50.0 %  > 90 %  missed  –       ·········▅  1 of 2 runs

    Green after, median  10 min
    Waited for           authors 2 h, checks 15 min
    Calls for a human    a gate has waited too long for its approvers (2), the same error keeps coming back (1)
    Disputes             the code was right (2), open (1)
    Left merge queue     its own failure (1), a flaky test (2)
    Saved as flaky       1 attempt

    Author  Runs  First   Attempts  Escalated  Memory  Coverage  Green after
    agent   1     0.0 %   2.00      0.0 %      –       –         20 min
    person  5     80.0 %  1.60      20.0 %     33.3 %  50.0 %    10 min

    Agent            Runs  First  Attempts  Escalated  Memory  Coverage  Green after
    =cmd() "claude"  1     0.0 %  2.00      0.0 %      –       –         20 min

    Gate      Runs  Requests  Rejections  Waited, mean
    security  1     2         1           1 h 30 min

    Check  Runs  Failed  Mean    Longest
    unit   2     1       45.2 s  1 min 1 s

    Check  Slowest test      Mean    Before  Trend       Of
    unit   cart tests::adds  3.0 s   900 ms  ·····▃···█  3 attempts
    unit   tests::rounds     300 ms  –       ·········█  1 attempt
    "#);
}

#[test]
fn agents_stand_beside_people_with_what_may_be_chance() {
    let mut lines = Vec::new();
    for (author, agent, runs, passing) in [
        (AuthorKind::Person, None, 40, 38),
        (AuthorKind::Agent, Some("claude-code"), 40, 12),
        (AuthorKind::Agent, Some("codex"), 4, 0),
    ] {
        lines.extend((0..runs).map(|at| RunLine {
            run_id: format!("{agent:?}-{at}"),
            author,
            agent: agent.map(str::to_owned),
            ..run(1, if at < passing { 1 } else { 3 })
        }));
    }
    let report = Report::of(
        &lines,
        Window::back(now() + TimeDelta::minutes(1), TimeDelta::days(30)),
    );
    let text = metrics("acme/widgets", &report, false);
    let table: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("Compared"))
        .take(5)
        .collect();
    insta::assert_snapshot!(table.join("\n"));
}

#[test]
fn numbers_are_rows_and_no_name_is_a_formula() {
    let csv = metrics_csv(&report());
    let first: Vec<&str> = csv.lines().take(5).collect();
    assert_eq!(
        first,
        [
            "section,name,measure,value",
            "all,\"\",runs,6",
            "all,\"\",open,1",
            "all,\"\",first_attempt_pass_rate,0.6666666666666666",
            "before,\"\",first_attempt_pass_rate,0",
        ]
    );
    assert!(
        csv.contains("agent,\"'=cmd() \"\"claude\"\"\",runs,1\n"),
        "{csv}"
    );
    assert!(
        csv.contains("gate,\"security\",waited_seconds,5400\n"),
        "{csv}"
    );
    let columns = csv.lines().filter(|line| !line.contains("claude"));
    assert!(
        columns
            .into_iter()
            .all(|line| line.matches(',').count() == 3),
        "{csv}"
    );
}

#[test]
fn the_picture_is_xml_with_every_number_as_text() {
    let svg = metrics_svg("acme/widgets <script>", &report());
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    assert!(
        !svg.contains("<script") && svg.contains("acme/widgets &lt;script&gt;"),
        "{svg}"
    );
    for text in [
        ">66.7 %<",
        "target &gt; 70 %: missed",
        "target &lt; 2.0: met",
        ">1.67<",
        "before 3.00",
    ] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    let empty = Report::of(&[], Window::back(now(), TimeDelta::days(7)));
    let svg = metrics_svg("acme/widgets", &empty);
    assert!(svg.contains("unknown") && !svg.contains("NaN"), "{svg}");
}

#[test]
fn the_name_of_a_slow_test_is_one_line_and_no_command() {
    let mut line = run(1, 1);
    let name = "\u{1b}[31m=cmd(),\n\"a\"\tb ".to_owned() + &"x".repeat(150);
    line.slow_tests = slow(&[(&name, 1, 2_000)]);
    let report = Report::of(&[line], Window::back(now(), TimeDelta::days(30)));
    let text = metrics("acme/widgets", &report, false);
    let row = text.lines().last().unwrap();
    assert!(row.starts_with("unit   =cmd(), \"a\" b xxx"), "{row}");
    assert!(
        !text.contains('\u{1b}') && row.chars().count() < 140,
        "{row}"
    );
    let csv = metrics_csv(&report);
    let rows: Vec<&str> = csv
        .lines()
        .filter(|row| row.starts_with("slow_test,"))
        .collect();
    assert_eq!(rows.len(), 3, "{csv}");
    assert!(
        rows.iter()
            .all(|row| row.starts_with("slow_test,\"unit =cmd(), \"\"a\"\" b xxx")),
        "{csv}"
    );
}

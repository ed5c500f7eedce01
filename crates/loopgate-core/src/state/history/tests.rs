use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection, option, prelude::*};
use serde_json::json;

use super::*;
use crate::{
    fixtures,
    ids::{CheckName, GateName, Login, RuleId, Score, Sha},
    observed::CodeType,
    policy::Trigger,
    stage::Stage,
    state::{
        AnswerOutcome, Blocked, CritiqueItem, DistanceToSuccess, FixMaker, Major, Resume,
        RunStatus, Settings, Skip, StopReason, Trace, WordSource,
    },
};

/// Lines of every event, as they were written when a payload was still a map of any values.
const OLD_LINES: &str = include_str!("../testdata/history.jsonl");

fn written(line: &HistoryLine) -> String {
    serde_json::to_string(line).unwrap()
}

#[test]
fn old_lines_are_typed_and_written_again_with_their_kind() {
    for old in OLD_LINES.lines() {
        let line: HistoryLine = serde_json::from_str(old).unwrap();
        assert!(
            !matches!(line.event, Event::Other { .. }),
            "not understood: {old}"
        );
        let new = written(&line);
        assert_eq!(serde_json::from_str::<HistoryLine>(&new).unwrap(), line);
        let again: Value = serde_json::from_str(&new).unwrap();
        assert!(
            fixtures::keeps(&again, &serde_json::from_str(old).unwrap()),
            "{new} instead of {old}"
        );
    }
}

#[test]
fn the_kind_of_a_line_goes_before_its_fields() {
    let change = json!({ "kind": "pull_request", "from": "in_progress", "reason": null, "words": null, "by": "eve" });
    let line: HistoryLine = serde_json::from_str(&line_of("stopped", &change)).unwrap();
    assert!(
        matches!(line.event, Event::Stopped(RunEnd::PullRequest(_))),
        "{line:?}"
    );
    let unknown = line_of(
        "stopped",
        &json!({ "kind": "by_moonlight", "from": "passed", "reason": null }),
    );
    assert_eq!(
        written(&serde_json::from_str(&unknown).unwrap()),
        unknown,
        "kept as it is"
    );
}

#[test]
fn every_event_is_among_the_old_lines() {
    let names: BTreeSet<String> = OLD_LINES
        .lines()
        .map(|line| {
            serde_json::from_str::<HistoryLine>(line)
                .unwrap()
                .event
                .name()
        })
        .collect();
    assert_eq!(names.into_iter().collect::<Vec<_>>().join(" "), EVENTS);
}

const EVENTS: &str = "artifact_created check_skipped checks_prepared command_run completed critique_done escalated \
     evaluation_done failed gate_approved gate_invalidated gate_rejected gate_requested iteration_advanced \
     merged_with_open_gates phase_error phase_switched plan_created refinement_done resumed run_started stopped";

/// A line with this event and payload, as text.
fn line_of(event: &str, payload: &Value) -> String {
    json!({
        "ts": "2026-11-20T10:15:00Z", "run_id": "calc-20261120-101500", "iteration": 1, "phase": "A",
        "step": "EVALUATE", "status": "ok", "event": event, "payload": payload,
    })
    .to_string()
}

#[test]
fn events_of_newer_versions_are_kept() {
    let rounds = [
        // An event this version does not know, and one whose payload it cannot read.
        line_of(
            "moon_landed",
            &json!({ "by": ["eagle"], "at": { "sea": "tranquillity" } }),
        ),
        line_of("phase_switched", &json!({ "to": "C" })),
        line_of("stopped", &json!({})),
    ];
    for text in &rounds {
        assert_eq!(written(&serde_json::from_str(text).unwrap()), *text);
    }
    let bare = line_of("phase_switched", &json!({})).replace(",\"payload\":{}", "");
    assert!(serde_json::from_str::<HistoryLine>(&bare).is_ok(), "{bare}");
}

#[test]
fn what_was_confirmed_is_none_where_an_older_version_wrote_the_line() {
    let old = line_of(
        "run_started",
        &json!({ "title": "feat: x", "task": "x", "max_iterations": 3 }),
    );
    let Event::RunStarted(RunStarted::LocalLoop(begun)) =
        serde_json::from_str::<HistoryLine>(&old).unwrap().event
    else {
        panic!("a local loop's: {old}")
    };
    assert_eq!((begun.max_iterations, begun.confirmed), (3, None));
}

fn text() -> BoxedStrategy<String> {
    prop_oneof!["[a-z /:]{0,12}", Just("„ünï\n\"quoted\"".to_owned())].boxed()
}

fn sha() -> BoxedStrategy<Sha> {
    any::<[u8; 20]>().prop_map(Sha::from_bytes).boxed()
}

fn login() -> BoxedStrategy<Login> {
    "[a-z]{1,9}".prop_map(|name| name.parse().unwrap()).boxed()
}

fn gate() -> BoxedStrategy<GateName> {
    prop::sample::select(vec!["security", "design"])
        .prop_map(|name| name.parse().unwrap())
        .boxed()
}

fn checks() -> BoxedStrategy<Vec<CheckName>> {
    collection::vec(prop::sample::select(vec!["build", "unit", "lint"]), 0..3)
        .prop_map(|names| {
            names
                .into_iter()
                .map(|name| name.parse().unwrap())
                .collect()
        })
        .boxed()
}

fn rules() -> BoxedStrategy<Vec<RuleId>> {
    checks()
        .prop_map(|names| {
            names
                .iter()
                .map(|name| name.as_str().parse().unwrap())
                .collect()
        })
        .boxed()
}

fn score() -> BoxedStrategy<Score> {
    (0u8..=100)
        .prop_map(|hundredths| Score::from_ratio(f64::from(hundredths), 100.0))
        .boxed()
}

fn at() -> BoxedStrategy<Timestamp> {
    (0i64..100_000_000)
        .prop_map(|millis| fixtures::start() + chrono::TimeDelta::milliseconds(millis))
        .boxed()
}

fn trigger() -> BoxedStrategy<Trigger> {
    prop::sample::select(vec![
        Trigger::Tampering,
        Trigger::SameError,
        Trigger::Stagnation,
    ])
    .boxed()
}

fn reason() -> BoxedStrategy<StopReason> {
    use StopReason::{
        IterationLimit, NoMajorIssues, PhaseError, Stagnation, ThresholdReached, UserStop,
    };
    let all = vec![
        ThresholdReached,
        NoMajorIssues,
        IterationLimit,
        UserStop,
        Stagnation,
        PhaseError,
    ];
    prop::sample::select(all).boxed()
}

fn texts() -> BoxedStrategy<Vec<String>> {
    collection::vec(text(), 0..3).boxed()
}

fn counts() -> BoxedStrategy<BTreeMap<String, u32>> {
    collection::btree_map("[a-z]{1,5}", 0u32..9, 0..3).boxed()
}

fn change() -> BoxedStrategy<StatusChange> {
    let from = prop::sample::select(vec![RunStatus::InProgress, RunStatus::Passed]);
    (from, option::of(reason()), option::of(text()))
        .prop_map(|(from, reason, words)| StatusChange {
            from,
            reason,
            words,
        })
        .boxed()
}

fn blocked() -> BoxedStrategy<Blocked> {
    (
        trigger(),
        collection::vec(trigger(), 0..3),
        0u32..9,
        1u32..4,
        sha(),
        at(),
    )
        .prop_map(|(trigger, also, attempt, call, head_sha, since)| Blocked {
            trigger,
            also,
            attempt,
            call,
            head_sha,
            since,
        })
        .boxed()
}

fn settings() -> BoxedStrategy<Settings> {
    (
        checks(),
        score(),
        score(),
        1u32..11,
        option::of(text()),
        option::of(text()),
        any::<bool>(),
    )
        .prop_map(
            |(mandatory, threshold_a, threshold_b, limit, produce, base, strict)| Settings {
                task_type: CodeType::BugFix,
                checks: mandatory
                    .iter()
                    .map(|name| (name.clone(), "true".to_owned()))
                    .collect(),
                mandatory,
                threshold_a,
                threshold_b,
                major: if strict { Major::Warn } else { Major::Fail },
                limit,
                produce: produce.clone(),
                document: base.clone(),
                fix_command: produce,
                config: base.clone(),
                base,
            },
        )
        .boxed()
}

fn run_started() -> BoxedStrategy<RunStarted> {
    let confirmed = (option::of(text()), sha(), sha(), settings()).prop_map(
        |(ideal_result, began_at, base_sha, settings)| Confirmed {
            ideal_result,
            began_at,
            base_sha,
            settings,
        },
    );
    let of_loop = (text(), text(), 1u32..11, option::of(confirmed)).prop_map(
        |(title, task, max_iterations, confirmed)| {
            RunStarted::LocalLoop(Box::new(LocalLoopStarted {
                title,
                task,
                max_iterations,
                confirmed,
            }))
        },
    );
    let lost = (text(), 0u32..9).prop_map(|(title, lost_attempts)| RunStarted::AfterLostRecord {
        title,
        lost_attempts,
        lost_trace: Trace::CheckRun,
    });
    prop_oneof![
        of_loop,
        lost,
        text().prop_map(|title| RunStarted::PullRequest { title })
    ]
    .boxed()
}

fn artifact_created() -> BoxedStrategy<ArtifactCreated> {
    let gates = collection::btree_map(gate(), text(), 0..2);
    prop_oneof![
        (sha(), text()).prop_map(|(head, hash)| ArtifactCreated::Produced { head, hash }),
        (sha(), option::of(text()), gates, at(), option::of(sha())).prop_map(
            |(head, base, gates, at, stale_head)| {
                ArtifactCreated::HeadSeen {
                    head,
                    base,
                    gates,
                    merge_base: stale_head,
                    at,
                    stale_head,
                }
            }
        ),
        sha().prop_map(|head| ArtifactCreated::Head { head }),
    ]
    .boxed()
}

fn command_run() -> BoxedStrategy<CommandRun> {
    let answer = prop_oneof![
        Just(AnswerOutcome::Shown),
        Just(AnswerOutcome::Stopped),
        checks().prop_map(|names| AnswerOutcome::RunAgain {
            checks: names.into_iter().collect()
        }),
    ];
    let source =
        any::<u32>().prop_map(|id| WordSource::Comment(crate::ids::CommentId::new(id.into())));
    prop_oneof![
        (text(), login(), text(), answer, source, sha()).prop_map(
            |(command, by, url, answer, source, head)| {
                CommandRun::Written {
                    command,
                    by,
                    url,
                    answer,
                    source,
                    head,
                }
            }
        ),
        (text(), login(), any::<bool>()).prop_map(|(command, by, button)| CommandRun::Pressed {
            command,
            by,
            button
        }),
        checks().prop_map(|names| {
            CommandRun::Own(OwnCommand::Rerun {
                by: ByNobody,
                checks: names.into_iter().collect(),
            })
        }),
        (login(), sha(), any::<u32>()).prop_map(|(by, head, run)| {
            let runs = [crate::ids::WorkflowRunId::new(run.into())].into();
            CommandRun::Own(OwnCommand::ApproveRuns {
                by: vec![by],
                head,
                runs,
            })
        }),
        blocked().prop_map(|senior| CommandRun::Own(OwnCommand::SeniorFixer {
            by: ByNobody,
            senior
        })),
    ]
    .boxed()
}

fn escalated() -> BoxedStrategy<Escalated> {
    let triggers = || collection::vec(trigger(), 0..3);
    prop_oneof![
        (triggers(), option::of(text()), option::of(blocked())).prop_map(
            |(triggers, pattern, blocked)| Escalated::PullRequest {
                triggers,
                pattern,
                blocked
            }
        ),
        (trigger(), triggers(), texts()).prop_map(|(trigger, also, notes)| Escalated::LocalLoop {
            trigger,
            also,
            notes
        }),
    ]
    .boxed()
}

fn resumed() -> BoxedStrategy<Resumed> {
    let resume = (0u32..9, login(), at()).prop_map(|(after_attempt, by, at)| Resume {
        after_attempt,
        by,
        by_id: crate::UserId::new(7),
        at,
        settled: None,
        accepted: Vec::new(),
    });
    prop_oneof![
        text().prop_map(|recovered| Resumed::Recovered { recovered }),
        (login(), resume, option::of(trigger()), counts()).prop_map(
            |(by, resume, accepted, accepted_tampering)| {
                Resumed::PullRequest {
                    by,
                    resume,
                    accepted,
                    accepted_tampering,
                }
            }
        ),
        (
            login(),
            option::of(trigger()),
            option::of(trigger()),
            counts()
        )
            .prop_map(
                |(by, cause, accepted, accepted_tampering)| Resumed::LocalLoop {
                    by,
                    cause,
                    accepted,
                    accepted_tampering
                }
            ),
    ]
    .boxed()
}

fn stopped() -> BoxedStrategy<RunEnd> {
    let distance = (score(), score(), rules(), 0usize..9).prop_map(
        |(threshold, score, blocking_rule_ids, number)| DistanceToSuccess {
            threshold,
            score,
            gap: Score::percent(threshold.hundredths().saturating_sub(score.hundredths())),
            failed_fail_rules: number,
            blocking_rule_ids,
            passed_rules: number,
            total_rules: number,
        },
    );
    prop_oneof![
        change().prop_map(RunEnd::PullRequest),
        (reason(), option::of(text()), login()).prop_map(|(reason, words, by)| RunEnd::ByPerson {
            reason,
            words,
            by
        }),
        (reason(), distance).prop_map(|(reason, distance_to_success)| RunEnd::ShortOfPassing {
            reason,
            distance_to_success
        }),
    ]
    .boxed()
}

fn failed() -> BoxedStrategy<RunEnd> {
    prop_oneof![
        change().prop_map(RunEnd::PullRequest),
        Just(RunEnd::Broken {
            reason: StopReason::PhaseError
        }),
        trigger().prop_map(|reason| RunEnd::Aborted { reason }),
    ]
    .boxed()
}

/// Events of pull requests and of both kinds of runs.
fn shared_event() -> BoxedStrategy<Event> {
    let skip = (text(), login(), at()).prop_map(|(reason, by, at)| Skip {
        check: "unit".parse().unwrap(),
        reason,
        by,
        at,
    });
    let completed = prop_oneof![
        change().prop_map(RunEnd::PullRequest),
        (reason(), 1u32..9)
            .prop_map(|(reason, iterations)| RunEnd::LocalLoop { reason, iterations }),
    ];
    prop_oneof![
        run_started().prop_map(Event::RunStarted),
        artifact_created().prop_map(Event::ArtifactCreated),
        (1u32..9, sha(), score(), any::<bool>(), rules()).prop_map(
            |(attempt, head, score, passed, failed_rules)| {
                Event::EvaluationDone {
                    attempt,
                    head,
                    score,
                    passed,
                    failed_rules,
                }
            }
        ),
        command_run().prop_map(Event::CommandRun),
        escalated().prop_map(Event::Escalated),
        resumed().prop_map(Event::Resumed),
        stopped().prop_map(Event::Stopped),
        failed().prop_map(Event::Failed),
        completed.prop_map(Event::Completed),
        skip.prop_map(Event::CheckSkipped),
        (texts(), option::of(login()))
            .prop_map(|(bypassed, by)| Event::MergedWithOpenGates { bypassed, by }),
    ]
    .boxed()
}

fn gate_event() -> BoxedStrategy<Event> {
    let stage = prop::sample::select(Stage::ALL.to_vec());
    let invalidated = prop_oneof![
        (gate(), text(), login(), option::of(login())).prop_map(
            |(gate, tampered_comment, written_by, changed_by)| {
                GateInvalidated::CommentChanged {
                    gate,
                    tampered_comment,
                    written_by,
                    changed_by,
                }
            }
        ),
        (option::of(sha()), gate())
            .prop_map(|(was_bound_to, gate)| GateInvalidated::Unbound { was_bound_to, gate }),
    ];
    prop_oneof![
        (1u32..9, stage, gate()).prop_map(|(round, holds, gate)| Event::GateRequested {
            round,
            holds,
            gate
        }),
        (collection::vec(login(), 0..3), option::of(sha()), gate())
            .prop_map(|(by, head, gate)| Event::GateApproved { by, head, gate }),
        (login(), gate()).prop_map(|(by, gate)| Event::GateRejected { by, gate }),
        invalidated.prop_map(Event::GateInvalidated),
    ]
    .boxed()
}

/// Events that only local loops have.
fn step_event() -> BoxedStrategy<Event> {
    let item =
        (text(), text(), text()).prop_map(|(rule, issue, fix)| CritiqueItem { rule, issue, fix });
    let maker = prop::sample::select(vec![
        FixMaker::Fixer,
        FixMaker::SeniorFixer,
        FixMaker::Person,
    ]);
    let cost = option::of((0u32..900).prop_map(|cents| f64::from(cents) / 100.0));
    let refined = (text(), maker, sha(), text(), texts(), texts(), cost).prop_map(
        |(previous_artifact_hash, by, head, subject, files_modified, outside_scope, cost_usd)| {
            let diff_summary = "+5/-2".to_owned();
            Event::RefinementDone {
                previous_artifact_hash,
                by,
                head,
                subject,
                diff_summary,
                files_modified,
                outside_scope,
                cost_usd,
            }
        },
    );
    prop_oneof![
        texts().prop_map(|plan| Event::PlanCreated { plan }),
        checks().prop_map(|checks| Event::ChecksPrepared { checks }),
        collection::vec(item, 0..3).prop_map(|items| Event::CritiqueDone { items }),
        refined,
        Just(Event::PhaseSwitched { to: Phase::B }),
        (1u32..9).prop_map(|to| Event::IterationAdvanced { to }),
        (text(), any::<bool>()).prop_map(|(why, retried)| Event::PhaseError {
            step: Step::Refine,
            why,
            retried
        }),
    ]
    .boxed()
}

proptest! {
    #[test]
    fn every_event_is_read_as_what_was_written(
        event in prop_oneof![shared_event(), gate_event(), step_event()],
        is_ok in any::<bool>(),
    ) {
        let status = if is_ok { EventStatus::Ok } else { EventStatus::Fail };
        let state = LoopState::begin(&fixtures::snapshot(), &fixtures::policy(), fixtures::start());
        let line = HistoryLine::of(&state, fixtures::start(), event, status);
        let text = written(&line);
        let again: HistoryLine = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&again, &line, "{}", text);
        prop_assert_eq!(written(&again), text);
        prop_assert!(EVENTS.split(' ').any(|name| name == again.event.name()));
    }
}

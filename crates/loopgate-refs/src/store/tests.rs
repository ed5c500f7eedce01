use serde_json::{Value, json};

use super::*;
use crate::{
    RefName, Retry, Seal, SealOf, archive_entry, archived,
    fixtures::{FakeObjects, begun, judged, line, record, sample_state},
};
use loopgate_core::{
    PrNumber,
    evidence::CheckEvidence,
    state::{RunDocument, RunStatus},
};

fn name() -> RefName {
    RefName::pull_request(PrNumber::new(12))
}

fn save<'a>(state: &'a LoopState, lines: &'a [HistoryLine]) -> Save<'a> {
    Save {
        state,
        lines,
        attempt: None,
        artifact: "# report\n",
        subject: "attempt 1: retry",
        statement: None,
    }
}

fn attempt(number: u32) -> (String, String) {
    attempt::attempt_document(&record(number), &[], false, None).unwrap()
}

fn other(title: &str) -> LoopState {
    let mut state = sample_state();
    state.run.title = title.into();
    state
}

/// Commits files as somebody else would, past the store.
async fn meddle(objects: &FakeObjects, files: &[(&str, &str)]) {
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    let parent = objects.read_ref(&name()).await.unwrap();
    let commit = NewCommit {
        parent,
        files: &files,
        subject: "meddled",
        ..NewCommit::default()
    };
    let commit = objects.write_commit(commit).await.unwrap();
    objects
        .compare_and_swap(&name(), parent, commit)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_run_is_saved_and_loaded_as_it_was_unknown_fields_included() {
    let objects = FakeObjects::default();
    let store = StateStore::new(&objects, name());
    let nothing = store.load().await.unwrap();
    assert!(nothing.tip.is_none() && nothing.whole.is_none() && nothing.damaged.is_none());
    let state = sample_state();
    store
        .save(&nothing, &save(&state, &[line(begun(), 1)]))
        .await
        .unwrap()
        .unwrap();
    let loaded = store.load().await.unwrap();
    assert_eq!(loaded.intact(), Some(&state));
    assert_eq!(
        loaded.intact().unwrap().extra["fromTheFuture"]["kept"],
        true
    );
    assert_eq!(objects.file(&name(), "artifact.md").unwrap(), "# report\n");
}

#[tokio::test]
async fn the_state_of_another_pull_request_is_not_gone_on_from_nor_is_what_lies_beside_it() {
    let objects = FakeObjects::default();
    let store = StateStore::new(&objects, name());
    let nothing = store.load().await.unwrap();
    let mine = other("mine");
    store
        .save(&nothing, &save(&mine, &[line(begun(), 1)]))
        .await
        .unwrap();
    let mut foreign = other("theirs");
    foreign.run.pull_request = Some(PrNumber::new(99));
    meddle(
        &objects,
        &[(STATE_FILE, &serde_json::to_string(&foreign).unwrap())],
    )
    .await;
    let (state, told) = store.load().await.unwrap().state(|| other("fresh"));
    assert_eq!(state.run.title, "mine", "an older commit of its own");
    assert!(
        told.unwrap()
            .starts_with("the saved state is that of another pull request; went back to")
    );
}

#[tokio::test]
async fn nothing_is_saved_when_only_the_time_has_passed() {
    let objects = FakeObjects::default();
    let store = StateStore::new(&objects, name());
    let state = sample_state();
    store
        .save(&store.load().await.unwrap(), &save(&state, &[]))
        .await
        .unwrap();
    let loaded = store.load().await.unwrap();
    let mut later = state;
    later.run.updated_at += chrono::TimeDelta::hours(1);
    assert_eq!(store.save(&loaded, &save(&later, &[])).await.unwrap(), None);
    assert!(
        store
            .save(&loaded, &save(&later, &[line(judged(), 1)]))
            .await
            .unwrap()
            .is_some()
    );
    assert_eq!(objects.log(&name()).len(), 2);
}

#[tokio::test]
async fn the_history_only_grows_and_attempts_stay() {
    let objects = FakeObjects::default();
    let store = StateStore::new(&objects, name());
    let state = sample_state();
    for (number, event) in [(1, begun()), (2, judged())] {
        let loaded = store.load().await.unwrap();
        let lines = [line(event, number)];
        let save = Save {
            attempt: Some(attempt(number)),
            ..save(&state, &lines)
        };
        store.save(&loaded, &save).await.unwrap();
    }
    let history = objects.file(&name(), HISTORY_FILE).unwrap();
    assert_eq!(history.lines().count(), 2);
    assert!(history.starts_with(
        r#"{"ts":"2026-11-20T10:15:00Z","run_id":"pr-12-20261120-101500","iteration":1,"#
    ));
    for path in ["attempts/001.json", "attempts/002.json"] {
        let written: Value = serde_json::from_str(&objects.file(&name(), path).unwrap()).unwrap();
        assert_eq!(written["schema"], "loopgate.attempt/v1");
    }
}

#[tokio::test]
async fn of_two_writers_one_is_told_to_look_again() {
    let objects = FakeObjects::default();
    let store = StateStore::new(&objects, name());
    let (one, two) = (store.load().await.unwrap(), store.load().await.unwrap());
    store.save(&one, &save(&other("one"), &[])).await.unwrap();
    let lost = store
        .save(&two, &save(&other("two"), &[]))
        .await
        .unwrap_err();
    assert_eq!(lost, RefsError::RefMoved { name: name() });
    let again = store.load().await.unwrap();
    assert_eq!(again.intact().unwrap().run.title, "one");
    store.save(&again, &save(&other("two"), &[])).await.unwrap();
    assert_eq!(
        store.load().await.unwrap().intact().unwrap().run.title,
        "two"
    );
}

#[tokio::test]
async fn a_broken_state_is_rebuilt_from_history_and_attempts() {
    let objects = FakeObjects::default();
    let store = StateStore::new(&objects, name());
    let state = sample_state();
    let lines = [line(begun(), 1), line(judged(), 1)];
    let first = Save {
        attempt: Some(attempt(1)),
        ..save(&state, &lines)
    };
    store
        .save(&store.load().await.unwrap(), &first)
        .await
        .unwrap();
    let mut fresh = sample_state();
    fresh.run.id = "pr-12-new".into();
    fresh.attempts.counted.clear();
    let fresh = || fresh.clone();
    for broken in ["{", "[]", r#"{"schema":"loopgate.evidence/v1"}"#, "\u{0}"] {
        meddle(&objects, &[(STATE_FILE, broken)]).await;
        let (rebuilt, how) = store.load().await.unwrap().state(fresh);
        assert_eq!(
            (&rebuilt.run.id, rebuilt.attempts.counted),
            (&state.run.id, vec![record(1).digest]),
            "the run goes on"
        );
        assert!(
            how.unwrap().contains(
                "rebuilt from 2 lines of history and 1 attempts, on the state of commit "
            )
        );
        let alone = FakeObjects::default();
        let history = objects.file(&name(), HISTORY_FILE).unwrap();
        meddle(
            &alone,
            &[
                (STATE_FILE, broken),
                (HISTORY_FILE, &history),
                ("attempts/001.json", &attempt(1).1),
            ],
        )
        .await;
        let (rebuilt, how) = StateStore::new(&alone, name())
            .load()
            .await
            .unwrap()
            .state(fresh);
        assert_eq!(
            (rebuilt.run.id, rebuilt.attempts.counted),
            (state.run.id.clone(), vec![record(1).digest])
        );
        assert!(
            how.unwrap()
                .ends_with("rebuilt from 2 lines of history and 1 attempts")
        );
    }
    let loaded = store.load().await.unwrap();
    store
        .save(&loaded, &save(&state, &[]))
        .await
        .unwrap()
        .expect("a recovery is always saved");
    let history = store
        .history(store.load().await.unwrap().tip.unwrap())
        .await
        .unwrap();
    let Event::Resumed(Resumed::Recovered { recovered }) = &history.last().unwrap().event else {
        panic!("noted")
    };
    assert!(recovered.contains("rebuilt"), "{recovered}");
}

#[tokio::test]
async fn without_a_history_the_newest_good_parent_counts_and_without_any_a_new_run_begins() {
    let objects = FakeObjects::default();
    let store = StateStore::new(&objects, name());
    meddle(&objects, &[(STATE_FILE, "nonsense")]).await;
    let (state, how) = store.load().await.unwrap().state(|| other("fresh"));
    assert_eq!(state.run.title, "fresh");
    assert!(how.unwrap().contains("a new run was begun"));

    store
        .save(&store.load().await.unwrap(), &save(&other("good"), &[]))
        .await
        .unwrap();
    for _ in 0..3 {
        meddle(
            &objects,
            &[
                (STATE_FILE, "nonsense"),
                (HISTORY_FILE, "nonsense\n{\"event\":1}\n"),
            ],
        )
        .await;
    }
    let (state, how) = store.load().await.unwrap().state(|| other("fresh"));
    assert_eq!(state.run.title, "good");
    assert!(how.unwrap().contains("went back to the state of commit"));
}

fn sealing() -> Option<SealOf> {
    let seal = Seal::derived_from([b"a webhook secret".as_slice()]).unwrap();
    Some(seal.of(&"acme/widgets".parse().unwrap(), PrNumber::new(12)))
}

/// A state that somebody gave himself a skip in.
fn forged() -> LoopState {
    let skip = serde_json::json!({
        "check": "unit", "reason": "trust me", "by": "mallory", "at": "2026-11-20T10:15:00Z",
    });
    let mut state = serde_json::to_value(sample_state()).unwrap();
    state["people"]["skips"] = serde_json::json!([skip]);
    serde_json::from_value(state).unwrap()
}

#[tokio::test]
async fn a_rewritten_state_gives_way_to_the_last_sealed_one() {
    let objects = FakeObjects::default();
    let store = StateStore::new(&objects, name()).sealed(sealing());
    let mut honest = sample_state();
    honest.people.skips.clear();
    store
        .save(
            &store.load().await.unwrap(),
            &save(&honest, &[line(begun(), 1)]),
        )
        .await
        .unwrap();
    assert_eq!(
        store.load().await.unwrap().intact(),
        Some(&honest),
        "our own is believed"
    );

    let rewritten = serde_json::to_string(&forged()).unwrap();
    meddle(&objects, &[(STATE_FILE, &rewritten), (HISTORY_FILE, "")]).await;
    let loaded = store.load().await.unwrap();
    let (state, how) = loaded.state(|| unreachable!("an older state is there"));
    assert_eq!(state, honest);
    assert!(
        how.unwrap().starts_with(
            "the saved state does not carry this App's seal; went back to the state of"
        )
    );
    store
        .save(&loaded, &save(&state, &[]))
        .await
        .unwrap()
        .expect("what was put right is saved");
    assert_eq!(store.load().await.unwrap().intact(), Some(&honest));
}

#[tokio::test]
async fn a_state_that_never_was_sealed_is_used_without_what_it_could_grant() {
    let objects = FakeObjects::default();
    let workflow = StateStore::new(&objects, name());
    workflow
        .save(&workflow.load().await.unwrap(), &save(&forged(), &[]))
        .await
        .unwrap();
    assert_eq!(
        workflow
            .load()
            .await
            .unwrap()
            .intact()
            .unwrap()
            .people
            .skips
            .len(),
        1,
        "without a key it counts"
    );

    let app = StateStore::new(&objects, name()).sealed(sealing());
    let (state, how) = app
        .load()
        .await
        .unwrap()
        .state(|| unreachable!("there is a state"));
    assert!(
        state.people.skips.is_empty()
            && state.head.sightings.is_empty()
            && state.people.resumes.is_empty()
    );
    assert_eq!(state.attempts.counted, sample_state().attempts.counted);
    assert_eq!(
        how.unwrap(),
        "the saved state does not carry this App's seal; kept the attempts, dropped skips, resumes and when heads \
         were first seen"
    );

    meddle(&objects, &[(STATE_FILE, "nonsense"), (HISTORY_FILE, "{}")]).await;
    let (state, _) = app
        .load()
        .await
        .unwrap()
        .state(|| unreachable!("there is a state below"));
    assert!(
        state.people.skips.is_empty(),
        "nor do its ancestors grant anything"
    );
}

#[tokio::test]
async fn an_oversized_state_is_not_read() {
    let objects = FakeObjects::default();
    let store = StateStore::new(&objects, name());
    meddle(&objects, &[(STATE_FILE, &" ".repeat(STATE_LIMIT + 1))]).await;
    let (_, how) = store.load().await.unwrap().state(sample_state);
    assert!(how.unwrap().contains("larger than"));
}

#[tokio::test]
async fn a_run_moves_to_the_archive_and_back() {
    let objects = FakeObjects::default();
    let store = StateStore::new(&objects, name());
    let mut ended = sample_state();
    ended.run.status = RunStatus::Completed;
    let tip = store
        .save(&store.load().await.unwrap(), &save(&ended, &[]))
        .await
        .unwrap()
        .unwrap();
    let quarters = [
        ("2026-03-31T00:00:00Z", Sha::from_bytes([7; 20])),
        ("2026-04-01T00:00:00Z", tip),
    ];
    for (moment, commit) in quarters {
        let entry = [archive_entry(PrNumber::new(12), commit)];
        let fold = objects
            .write_commit(NewCommit {
                files: &entry,
                ..NewCommit::default()
            })
            .await
            .unwrap();
        objects
            .compare_and_swap(&RefName::quarter(moment.parse().unwrap()), None, fold)
            .await
            .unwrap();
    }
    objects.delete_ref(&name()).await.unwrap();
    assert!(store.load().await.unwrap().tip.is_none());
    assert_eq!(
        store.tip().await.unwrap(),
        Some(tip),
        "the newest quarter counts"
    );
    assert_eq!(archived(&objects, PrNumber::new(1)).await.unwrap(), None);
    assert_eq!(store.unfold(tip).await.unwrap().intact(), Some(&ended));
    let again = store.unfold(Sha::from_bytes([7; 20])).await.unwrap();
    assert_eq!(again.tip, Some(tip), "somebody was faster");
}

#[test]
fn a_short_log_is_recorded_although_all_of_it_is_a_head() {
    use loopgate_core::evidence::{CheckKind, Outcome};
    let bare = CheckEvidence::bare("build".parse().unwrap(), CheckKind::Build, Outcome::Failed);
    let check = CheckEvidence {
        log_head: "error: no such target\n".into(),
        ..bare
    };
    let record = loopgate_core::deciding::AttemptRecord {
        checks: vec![check],
        ..record(3)
    };
    let (_, file) = attempt::attempt_document(&record, &[], false, None).unwrap();
    let written: Value = serde_json::from_str(&file).unwrap();
    let check = &written["checks"][0];
    assert_eq!(
        (&check["log_tail"], &check["log_cut_bytes"]),
        (&"error: no such target\n".into(), &0.into())
    );
}

#[test]
fn an_attempt_stays_small_however_much_it_has_to_tell() {
    let mut record = record(3);
    let mut check = CheckEvidence::bare(
        "unit".parse().unwrap(),
        loopgate_core::evidence::CheckKind::Test,
        loopgate_core::evidence::Outcome::Failed,
    );
    check.log_tail = "é".repeat(50_000);
    check.failures = (0..200)
        .map(|nth| loopgate_core::evidence::Failure {
            test_name: Some(format!("test_{nth}")),
            error_message: "x".repeat(4_000),
            stack_trace: Some("y".repeat(30_000)),
            ..Default::default()
        })
        .collect();
    record.checks = vec![check; 5];
    let (_, file) = attempt::attempt_document(&record, &[], true, None).unwrap();
    assert!(file.len() <= 20_000, "{}", file.len());
    let written: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(
        (&written["attempt"], &written["phase"]),
        (&3.into(), &"verify_fix".into())
    );
    let check = &written["checks"][0];
    assert_eq!(
        check["failures"].as_array().unwrap().len() as u64
            + check["failures_not_kept"].as_u64().unwrap(),
        200
    );
}

/// Sentences in a state are kept as they were written, in any version.
#[tokio::test]
async fn words_in_a_state_of_an_older_version_stay_as_they_are() {
    let mut old = json!(RunDocument::from(sample_state()));
    // The best attempt is derived.
    old.as_object_mut().unwrap().shift_remove("bestAttempt");
    old["critique"] = json!(["unit: calc.sh:3: adds: the sum begins at 1 → Begin it at 0."]);
    old["stop"] =
        json!({ "passed": false, "reason": "phase_error", "words": "there is no result of unit" });
    old["acceptedTampering"] = json!({ "tests/a.py has 1 test fewer (test_a)": 1 });
    old["attempts"] = json!([record(1).digest]);
    old["attempts"][0]["summary"] = json!("unit: adds — expected 2, got 3");
    old["reflex"] = json!({
        "settings": {
            "taskType": "bug_fix", "mandatory": [], "thresholdA": 0.8, "thresholdB": 0.9, "major": "fail", "limit": 4,
        },
        "beganAt": sample_state().head.sha,
        "broken": { "step": "EVALUATE", "iteration": 2, "why": "the checks edited calc.sh" },
        "fixes": [],
        "spent": { "calls": 1, "wallMs": 5, "costUsd": 0.5 },
        "senior": "used",
        "notes": ["What was seen: 3 failing attempts in a row, always the same error."],
        "ask": { "question": "How should this go on?", "options": ["Stop the loop."] },
    });
    let objects = FakeObjects::default();
    meddle(&objects, &[(STATE_FILE, &old.to_string())]).await;
    let loaded = StateStore::new(&objects, name()).load().await.unwrap();
    let again = loaded.intact().expect("a readable state").clone();
    let again = json!(RunDocument::from(again));
    assert!(loopgate_core::fixtures::keeps(&again, &old), "{again}");
}

#[tokio::test]
async fn the_first_statement_about_a_merge_is_written_also_when_nothing_else_changes_and_stays() {
    let objects = FakeObjects::default();
    let store = StateStore::new(&objects, name());
    let state = sample_state();
    store
        .save(&store.load().await.unwrap(), &save(&state, &[]))
        .await
        .unwrap();
    for (statement, is_saved) in [
        (None, false),
        (Some("first"), true),
        (Some("first"), false),
        (Some("later"), false),
    ] {
        let loaded = store.load().await.unwrap();
        let saved = store
            .save(
                &loaded,
                &Save {
                    statement,
                    ..save(&state, &[])
                },
            )
            .await
            .unwrap();
        assert_eq!(saved.is_some(), is_saved, "{statement:?}");
    }
    let loaded = store.load().await.unwrap();
    store
        .save(
            &loaded,
            &Save {
                statement: Some("later"),
                ..save(&other("later"), &[])
            },
        )
        .await
        .unwrap()
        .unwrap();
    assert_eq!(objects.file(&name(), STATEMENT_FILE).unwrap(), "first");
}

/// What a process of a newer version saved is whole: an older one beside it neither rebuilds nor overwrites it.
#[tokio::test]
async fn a_state_of_a_newer_version_is_left_alone() {
    let objects = FakeObjects::default();
    let store = StateStore::new(&objects, name());
    let (empty, state) = (store.load().await.unwrap(), other("good"));
    store.save(&empty, &save(&state, &[])).await.unwrap();
    let newer = r#"{"schema":"loopgate.loop-state/v3","run":{}}"#;
    meddle(&objects, &[(STATE_FILE, newer)]).await;
    let refused = store.load().await.unwrap_err();
    assert!(
        matches!(
            &refused,
            RefsError::Fault {
                retry: Retry::WhenAnswered,
                ..
            }
        ),
        "{refused:?}"
    );
    insta::assert_snapshot!(refused, @"loop-state.json is of schema loopgate.loop-state/v3; this version reads loopgate.loop-state/v2 and older; a newer Loopgate wrote it, so it is left as it is");
    assert_eq!(objects.file(&name(), STATE_FILE).unwrap(), newer);

    // Under no seal of ours, anyone may have written it to stop the run.
    let store = store.sealed(sealing());
    let (_, how) = store.load().await.unwrap().state(|| other("fresh"));
    assert!(how.unwrap().starts_with("loop-state.json is of schema"));
}

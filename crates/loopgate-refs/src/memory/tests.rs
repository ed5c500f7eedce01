use std::{collections::BTreeSet, sync::Arc};

use chrono::TimeDelta;

use super::*;
use crate::{LocalRepository, fixtures::FakeObjects};
use loopgate_core::{
    evidence::{CheckResults, Failure},
    memory::{AppliedFix, MEMORY_SCHEMA},
    observed::{ChangedFile, FileStatus},
};

const RETENTION: Retention = Retention { days: 30 };

fn at(day: i64) -> Timestamp {
    "2026-11-16T10:00:00Z".parse::<Timestamp>().unwrap() + TimeDelta::days(day)
}

fn line(run: &str, attempt: u32, day: i64, message: Option<&str>) -> MemoryLine {
    let failure = |message: &str| Failure {
        test_name: Some(format!("{message}::test")),
        error_message: message.to_owned(),
        ..Failure::default()
    };
    let file = ChangedFile {
        path: "src/a.rs".into(),
        previous_path: None,
        status: FileStatus::Modified,
        additions: 1,
        deletions: 1,
        blob: None,
        patch: Some("@@ -1,2 +1,2 @@\n fn a() {\n-b\n+c".into()),
    };
    let fix = AppliedFix::of(
        Sha::from_bytes([9; 20]),
        "c it is",
        &[file],
        &BTreeSet::new(),
    );
    MemoryLine {
        schema: MEMORY_SCHEMA.to_owned(),
        session_id: run.to_owned(),
        pull_request: None,
        file_path: None,
        attempt,
        timestamp: at(day) + TimeDelta::minutes(i64::from(attempt)),
        code_hash: format!("{attempt:064}"),
        head_sha: Sha::from_bytes([1; 20]),
        environment: None,
        test_results: CheckResults::default(),
        failures: message.map(failure).into_iter().collect(),
        analysis: None,
        fix_applied: (attempt > 1).then_some(fix),
        status: if message.is_some() {
            LineStatus::Failed
        } else {
            LineStatus::Passed
        },
        weakened: false,
        fixed: ["boom::test", "bang::test"].map(str::to_owned).into(),
        flaky: BTreeSet::new(),
        memory_matches: Vec::new(),
        settled: Vec::new(),
        rights: Rights::Write,
    }
}

fn notes(lines: impl IntoIterator<Item = MemoryLine>) -> MemoryNotes {
    MemoryNotes {
        lines: lines.into_iter().collect(),
        merged: BTreeSet::new(),
    }
}

#[tokio::test]
async fn a_mended_run_becomes_a_card_whatever_keeps_it() {
    let (fake, directory) = (FakeObjects::default(), tempfile::tempdir().unwrap());
    loopgate_git::Git::at(directory.path())
        .command(&["init", "-q"])
        .run_async()
        .await
        .unwrap();
    let local = LocalRepository::open(directory.path()).unwrap();
    async fn play<G: ListObjects>(objects: &G) {
        let store = MemoryStore::new(objects, RETENTION, at(0));
        store
            .record(&notes([line("pr-1", 1, 0, Some("boom"))]))
            .await
            .unwrap();
        assert!(store.load().await.unwrap().cards.is_empty());
        // The next attempt comes a week later: it is still the same run.
        let passed = notes([line("pr-1", 2, 7, None)]);
        let store = MemoryStore::new(objects, RETENTION, at(7));
        store.record(&passed).await.unwrap();
        let memory = store.load().await.unwrap();
        assert_eq!(
            (
                memory.cards.len(),
                memory.weeks.len(),
                memory.offers.all.gone
            ),
            (1, 2, 1)
        );
        // Recorded twice, written once.
        let tip = objects.read_ref(&RefName::memory_cards()).await.unwrap();
        store.record(&passed).await.unwrap();
        assert_eq!(
            objects.read_ref(&RefName::memory_cards()).await.unwrap(),
            tip
        );
        assert_eq!(store.lines().await.unwrap().len(), 2);

        let id = *memory.cards.keys().next().unwrap();
        assert_eq!(store.forget(id).await.unwrap(), 1);
        let tip = objects
            .read_ref(&RefName::memory_week(Week::of(at(0))))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            objects.parent(tip).await.unwrap(),
            None,
            "what told of it is not reachable"
        );
        let (left, memory) = (store.lines().await.unwrap(), store.load().await.unwrap());
        assert!(left.iter().all(|line| line.failures.is_empty()) && memory.cards.is_empty());
        store.clear().await.unwrap();
        assert_eq!(
            objects.read_ref(&RefName::memory_cards()).await.unwrap(),
            None
        );
    }
    play(&fake).await;
    play(&local).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_at_once_lose_no_line() {
    let objects = Arc::new(FakeObjects::default());
    for round in 0..20 {
        let writers = (0..3).map(|writer| {
            let objects = Arc::clone(&objects);
            tokio::spawn(async move {
                let (shared, own) = (format!("pr-{round}"), format!("pr-{round}-{writer}"));
                let lines = [
                    line(&shared, writer + 1, 0, Some("boom")),
                    line(&own, 1, 0, Some("bang")),
                ];
                MemoryStore::new(objects.as_ref(), RETENTION, at(0))
                    .record(&notes(lines))
                    .await
                    .unwrap();
            })
        });
        futures::future::try_join_all(writers).await.unwrap();
    }
    let store = MemoryStore::new(objects.as_ref(), RETENTION, at(0));
    assert_eq!(store.lines().await.unwrap().len(), 20 * 6);
    let memory = store.load().await.unwrap();
    let seen: Vec<u32> = memory
        .recurring
        .values()
        .map(|seen| seen.occurrences)
        .collect();
    assert_eq!(seen, [60, 60]);
}

#[tokio::test]
async fn a_week_goes_as_a_whole_and_what_taught_or_was_escalated_stays_longer() {
    let objects = FakeObjects::default();
    let on = |day| MemoryStore::new(&objects, RETENTION, at(day));
    let escalated = MemoryLine {
        status: LineStatus::Escalated,
        ..line("pr-3", 1, 0, Some("stuck"))
    };
    let first = [
        line("pr-1", 1, 0, Some("boom")),
        line("pr-1", 2, 0, None),
        line("pr-2", 1, 0, Some("bang")),
        escalated,
    ];
    on(0).record(&notes(first)).await.unwrap();
    let runs = async |day| {
        on(day)
            .record(&notes([line(
                &format!("pr-day-{day}"),
                1,
                day,
                Some("new"),
            )]))
            .await
            .unwrap();
        let lines = on(day).lines().await.unwrap();
        lines
            .into_iter()
            .map(|line| line.session_id)
            .filter(|run| run.len() == 4)
            .collect::<BTreeSet<_>>()
    };
    let of = |names: &[&str]| {
        names
            .iter()
            .map(ToString::to_string)
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(runs(29).await, of(&["pr-1", "pr-2", "pr-3"]));
    // Without a write for a while: what is too old is not read all the same.
    let cards = async |day| on(day).load().await.unwrap().cards.len();
    assert_eq!((cards(59).await, cards(61).await), (1, 0));
    assert_eq!(on(61).lines().await.unwrap().len(), 1, "what was escalated");
    assert_eq!(runs(38).await, of(&["pr-1", "pr-3"]));
    assert_eq!(
        objects
            .read_ref(&RefName::memory_week(Week::of(at(0))))
            .await
            .unwrap(),
        None
    );
    assert_eq!(cards(38).await, 1);
    assert_eq!(runs(80).await, of(&["pr-3"]));
    assert_eq!(runs(130).await, of(&[]));
    assert_eq!(cards(130).await, 0);
}

#[tokio::test]
async fn a_long_run_has_several_files_and_a_fork_teaches_once_it_is_merged() {
    let objects = FakeObjects::default();
    let store = MemoryStore::new(&objects, RETENTION, at(0));
    let long: Vec<MemoryLine> = (1..60)
        .map(|attempt| {
            let mut line = line("pr-1", attempt, 0, Some("boom"));
            line.failures = vec![
                Failure {
                    stack_trace: Some("x y z ".repeat(150)),
                    ..line.failures[0].clone()
                };
                11
            ];
            MemoryLine {
                rights: Rights::None,
                ..line
            }
        })
        .chain([MemoryLine {
            rights: Rights::None,
            ..line("pr-1", 60, 0, None)
        }])
        .collect();
    for lines in long.chunks(20) {
        store.record(&notes(lines.to_vec())).await.unwrap();
    }
    let week = RefName::memory_week(Week::of(at(0)));
    let sizes: Vec<usize> = ["", ".2", ".3", ".4"]
        .iter()
        .filter_map(|nth| {
            objects
                .file(&week, &format!("failures/pr-1{nth}.jsonl"))
                .map(|file| file.len())
        })
        .collect();
    assert!(
        sizes.len() >= 3 && sizes.iter().all(|size| *size <= MOST_BYTES),
        "{sizes:?}"
    );
    assert_eq!(store.lines().await.unwrap().len(), 60);
    assert!(store.load().await.unwrap().cards.is_empty());
    let merged = MemoryNotes {
        lines: Vec::new(),
        merged: ["pr-1".to_owned()].into(),
    };
    store.record(&merged).await.unwrap();
    assert_eq!(store.load().await.unwrap().cards.len(), 1);
}

#[tokio::test]
async fn what_others_wrote_there_breaks_nothing() {
    let objects = FakeObjects::default();
    let store = MemoryStore::new(&objects, RETENTION, at(0));
    let files = [
        (
            "cards.json".to_owned(),
            r#"{"cards":[{"id":"x"},7],"weeks":["2026-W47"],"offers":{}}"#.to_owned(),
        ),
        ("recurring.json".to_owned(), "[{},".to_owned()),
    ];
    for files in [&files[1..], &files[..]] {
        let tip = objects.read_ref(&RefName::memory_cards()).await.unwrap();
        let commit = NewCommit {
            parent: None,
            files,
            subject: "",
            ..NewCommit::default()
        };
        let commit = objects.write_commit(commit).await.unwrap();
        objects
            .compare_and_swap(&RefName::memory_cards(), tip, commit)
            .await
            .unwrap();
        assert!(store.load().await.unwrap().cards.is_empty());
    }
    let odd = line("../../heads/main", 1, 0, Some("boom"));
    store.record(&notes([odd])).await.unwrap();
    let week = RefName::memory_week(Week::of(at(0)));
    assert!(
        objects
            .file(&week, "failures/------heads-main.jsonl")
            .is_some()
    );
}

/// Older cards do not show which of them come from a weakened attempt, so they are dropped.
#[tokio::test]
async fn cards_of_an_older_document_are_dropped_when_they_are_read() {
    let objects = FakeObjects::default();
    let store = MemoryStore::new(&objects, RETENTION, at(0));
    store
        .record(&notes([
            line("pr-1", 1, 0, Some("boom")),
            line("pr-1", 2, 0, None),
        ]))
        .await
        .unwrap();
    let cards = async || store.load().await.unwrap().cards.len();
    assert_eq!(cards().await, 1);
    let name = RefName::memory_cards();
    let older = objects
        .file(&name, CARDS_FILE)
        .unwrap()
        .replace("memory-cards/v2", "memory-cards/v1");
    let tip = objects.read_ref(&name).await.unwrap();
    let files = [(CARDS_FILE.to_owned(), older)];
    let commit = objects
        .write_commit(NewCommit {
            parent: None,
            files: &files,
            subject: "",
            ..NewCommit::default()
        })
        .await
        .unwrap();
    objects.compare_and_swap(&name, tip, commit).await.unwrap();
    assert_eq!(cards().await, 0);
    assert_eq!(
        store.load().await.unwrap().recurring.len(),
        1,
        "what failed stays known"
    );
}

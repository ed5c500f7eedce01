//! What the queue relies on, asked of a real file.

use chrono::TimeDelta;
use uuid::Uuid;

use super::{super::*, write::ordered, *};
use loopgate_core::{CheckRunId, PrNumber, Sha};

struct Kept {
    store: Store,
    writer: Writer,
    directory: tempfile::TempDir,
}

impl Kept {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (store, writer) = open(directory.path()).await.unwrap();
        Self { store, writer, directory }
    }

    async fn one(&mut self, change: Change) -> Applied {
        self.writer.apply(&[change]).await.unwrap().remove(0)
    }

    async fn loaded(&self, number: u64) -> Option<TargetWork> {
        self.store.load(&key(number)).await.unwrap()
    }

    async fn counts(&self) -> (u64, u64) {
        let counts = self.store.counts().await.unwrap();
        (counts.waiting, counts.dead)
    }

    /// Settles what is there now.
    async fn settle(&mut self, number: u64, how: WorkEnd) {
        let covered = self.loaded(number).await.unwrap().covered;
        self.one(Change::Settle { key: key(number), covered, how, now: at(0) }).await;
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
}

fn target(number: u64) -> Target {
    Target::PullRequest { repository: "acme/widgets".parse().unwrap(), number: PrNumber::new(number) }
}

fn key(number: u64) -> Key {
    Key { installation: InstallationId::new(u64::MAX), target: target(number) }
}

fn delivery(id: &str, number: u64, hints: Vec<Hint>) -> Change {
    let work = Work { installation: InstallationId::new(u64::MAX), targets: vec![target(number)], hints };
    Change::Accept(Delivery { id: id.parse().unwrap(), event: "push".into(), received_at: at(0), work })
}

fn hint(text: &str) -> Hint {
    let sha = "0123456789abcdef0123456789abcdef01234567".parse().unwrap();
    Hint::MergeGroup { head: sha, base: sha, base_ref: text.to_owned(), head_ref: None }
}

fn is_fresh(applied: &Applied) -> bool {
    matches!(applied, Applied::New(arrivals) if !arrivals.is_empty())
}

fn trouble(failures: u32) -> Trouble {
    Trouble { failures, failing_since: at(0), reason: "no".into(), retry_at: at(60) }
}

#[tokio::test]
async fn of_copies_the_first_is_fresh_in_one_batch_and_in_another() {
    let mut kept = Kept::new().await;
    let batch: Vec<_> = ["a", "b", "a", "c"].map(|id| delivery(id, 1, vec![])).into();
    let fresh = |applied: Vec<Applied>| applied.iter().map(is_fresh).collect::<Vec<_>>();
    assert_eq!(fresh(kept.writer.apply(&batch).await.unwrap()), [true, true, false, true]);
    let batch: Vec<_> = ["d", "a", "d"].map(|id| delivery(id, 1, vec![])).into();
    assert_eq!(fresh(kept.writer.apply(&batch).await.unwrap()), [true, false, false]);
    // More than the largest chunk.
    let batch: Vec<_> = (0..200).map(|n| delivery(&format!("n{}", n % 190), n, vec![])).collect();
    assert_eq!(fresh(kept.writer.apply(&batch).await.unwrap()).iter().filter(|fresh| **fresh).count(), 190);
    assert_eq!(kept.counts().await, (190, 0));
}

#[tokio::test]
async fn what_comes_while_a_job_runs_stays_with_its_own_hints() {
    let mut kept = Kept::new().await;
    let batch = [delivery("a", 1, vec![hint("ä")]), delivery("b", 1, vec![hint("b"), hint("c")])];
    kept.writer.apply(&batch).await.unwrap();
    let loaded = kept.loaded(1).await.unwrap();
    assert_eq!(loaded.hints, [hint("ä"), hint("b"), hint("c")]);
    assert_eq!(loaded.origin.delivery, "b");
    kept.one(delivery("d", 1, vec![hint("d")])).await;
    kept.one(Change::Settle {
        key: key(1),
        covered: loaded.covered,
        how: WorkEnd::Done(Requeue::OnEvent.into()),
        now: at(0),
    })
    .await;
    assert_eq!(kept.loaded(1).await.unwrap().hints, [hint("d")]);
    kept.settle(1, WorkEnd::Done(Requeue::OnEvent.into())).await;
    assert_eq!(kept.loaded(1).await, None);
    assert_eq!(kept.counts().await, (0, 0));
}

#[tokio::test]
async fn hints_are_kept_once_and_bounded() {
    let mut kept = Kept::new().await;
    for n in 0..300 {
        kept.one(delivery(&n.to_string(), 1, vec![hint(&n.to_string())])).await;
        kept.one(delivery(&format!("{n}-again"), 1, vec![hint(&n.to_string())])).await;
    }
    let loaded = kept.loaded(1).await.unwrap();
    assert!(loaded.covered.hints < 4500);
    let expected: Vec<_> = (0..loaded.hints.len()).map(|n| hint(&n.to_string())).collect();
    assert!(expected.len() > 20 && loaded.hints == expected, "{:?}", loaded.hints);
}

#[tokio::test]
async fn failures_add_up_until_something_ends_well() {
    let mut kept = Kept::new().await;
    kept.one(delivery("a", 1, vec![])).await;
    kept.settle(1, WorkEnd::Failed(trouble(3))).await;
    kept.one(delivery("b", 1, vec![])).await;
    assert_eq!(kept.loaded(1).await.unwrap().failures, 3, "an event does not make it well");
    let page = kept.store.page(InstallationId::new(u64::MAX), None, 10).await.unwrap();
    assert_eq!(page.pending[0].retry_at, Some(at(60)));
    let loaded = kept.loaded(1).await.unwrap();
    kept.one(delivery("c", 1, vec![])).await;
    kept.one(Change::Settle {
        key: key(1),
        covered: loaded.covered,
        how: WorkEnd::Done(Requeue::OnEvent.into()),
        now: at(0),
    })
    .await;
    assert_eq!(kept.loaded(1).await.unwrap().failures, 0);
}

#[tokio::test]
async fn the_dead_are_listed_apart_and_live_again_with_anything_new() {
    let dead = || WorkEnd::Dead { trouble: trouble(10), at: at(9) };
    let mut kept = Kept::new().await;
    let revivals: [fn() -> Change; 3] =
        [|| delivery("a", 1, vec![]), || delivery("new", 1, vec![]), || Change::Replay(key(1))];
    for revival in revivals {
        kept.one(delivery("a", 1, vec![])).await;
        kept.settle(1, dead()).await;
        assert_eq!(kept.loaded(1).await, None);
        assert_eq!(kept.counts().await, (0, 1));
        assert!(kept.store.installations().await.unwrap().is_empty());
        let letters = kept.store.dead_letters().await.unwrap();
        assert_eq!(letters, [DeadLetter { key: key(1), failures: 10, reason: "no".into(), died_at: at(9) }]);
        assert!(is_fresh(&kept.one(revival()).await));
        assert_eq!(kept.loaded(1).await.unwrap().failures, 0);
        kept.settle(1, WorkEnd::Done(Requeue::OnEvent.into())).await;
        assert!(!is_fresh(&kept.one(Change::Replay(key(1))).await), "there is nothing to replay");
        sqlx::query("DELETE FROM seen").execute(kept.writer.connection()).await.unwrap();
    }
    // Something came during the tenth attempt: that has ten of its own.
    kept.one(delivery("x", 1, vec![])).await;
    let covered = kept.loaded(1).await.unwrap().covered;
    kept.one(delivery("y", 1, vec![])).await;
    kept.one(Change::Settle { key: key(1), covered, how: dead(), now: at(0) }).await;
    assert_eq!(kept.loaded(1).await.unwrap().failures, 0);
    assert!(kept.store.dead_letters().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_commit_is_replaced_by_its_pull_requests_at_once() {
    let mut kept = Kept::new().await;
    kept.one(delivery("a", 1, vec![])).await;
    let origin = WorkOrigin { delivery: "a".into(), event: "status".into(), received_at: at(0) };
    let pressed = Hint::ButtonPressed {
        check_run: CheckRunId::new(1),
        identifier: "x".into(),
        by: loopgate_core::observed::Actor { id: loopgate_core::UserId::new(7), login: "alice".parse().unwrap() },
    };
    let hints = vec![pressed];
    let into = vec![key(2), key(3)];
    kept.settle(1, WorkEnd::Resolved { into, origin: origin.clone(), hints: hints.clone(), urgency: Urgency::Spread })
        .await;
    assert_eq!(kept.loaded(1).await, None);
    for number in [2, 3] {
        let loaded = kept.loaded(number).await.unwrap();
        assert_eq!((loaded.origin, loaded.hints), (origin.clone(), hints.clone()));
    }
}

#[tokio::test]
async fn wakeups_become_work_when_they_are_due() {
    let mut kept = Kept::new().await;
    for number in [1, 2] {
        kept.one(delivery(&number.to_string(), number, vec![])).await;
        kept.settle(number, WorkEnd::Done(Requeue::At(at(60 * number as i64)).into())).await;
    }
    assert_eq!(kept.store.next_wakeup().await.unwrap(), Some(at(60)));
    assert!(is_fresh(&kept.one(Change::Wake { now: at(60) }).await));
    assert_eq!(kept.store.next_wakeup().await.unwrap(), Some(at(120)));
    assert_eq!(kept.loaded(1).await.unwrap().origin.event, "wakeup");
    assert_eq!(kept.loaded(2).await, None);
    // An answer without a time takes an older one back.
    kept.one(delivery("x", 2, vec![])).await;
    kept.settle(2, WorkEnd::Done(Requeue::OnEvent.into())).await;
    assert_eq!(kept.store.next_wakeup().await.unwrap(), None);
}

#[tokio::test]
async fn pages_walk_over_everything_once() {
    let mut kept = Kept::new().await;
    for number in 1..=25 {
        kept.one(delivery(&number.to_string(), number, vec![])).await;
    }
    kept.settle(7, WorkEnd::Dead { trouble: trouble(10), at: at(0) }).await;
    let (mut after, mut met) = (None, Vec::new());
    loop {
        let page = kept.store.page(InstallationId::new(u64::MAX), after.as_ref(), 10).await.unwrap();
        met.extend(page.pending.into_iter().map(|pending| pending.target));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    met.sort();
    assert_eq!(met, (1..=25).filter(|number| *number != 7).map(target).collect::<Vec<_>>());
    let nobody = kept.store.page(InstallationId::new(1), None, 10).await.unwrap();
    assert_eq!(nobody, Page { pending: vec![], next: None });
}

#[tokio::test]
async fn ids_are_remembered_for_nine_days_and_the_dead_for_thirty() {
    let mut kept = Kept::new().await;
    kept.one(delivery("a", 1, vec![])).await;
    kept.settle(1, WorkEnd::Dead { trouble: trouble(10), at: at(0) }).await;
    let after =
        |days: i64, seconds: i64| Change::Prune { now: at(0) + TimeDelta::days(days) + TimeDelta::seconds(seconds) };
    assert_eq!(kept.one(after(9, 0)).await, Applied::Pruned(0));
    assert_eq!(kept.one(after(9, 1)).await, Applied::Pruned(1));
    kept.one(after(30, 0)).await;
    assert_eq!(kept.store.dead_letters().await.unwrap().len(), 1);
    kept.one(after(30, 1)).await;
    assert_eq!(kept.store.dead_letters().await.unwrap().len(), 0);
}

#[tokio::test]
async fn names_of_repositories_are_one_whatever_their_case() {
    let mut kept = Kept::new().await;
    kept.one(delivery("a", 1, vec![])).await;
    let repository = "ACME/Widgets".parse().unwrap();
    let shouted = Key {
        installation: InstallationId::new(u64::MAX),
        target: Target::PullRequest { repository, number: PrNumber::new(1) },
    };
    assert!(kept.store.load(&shouted).await.unwrap().is_some());
}

#[test]
fn ids_that_arrive_together_are_indexed_together() {
    let id = |text: &str| ordered(&text.parse().unwrap());
    // GitHub's own examples, years apart, and one a little later than the first.
    let old = id("72d3162e-cc78-11e3-81ab-4c9367dc0958");
    let little_later = id("02d3162e-cc79-11e3-81ab-4c9367dc0958");
    let new = id("d159ef00-247f-11ea-8d08-0862e7465cb1");
    assert!(old < little_later && little_later < new);
    let random = Uuid::from_u128(0x1234_5678_9abc_4ef0_8234_5678_9abc_def0);
    assert_eq!(id(&random.to_string()), random.as_bytes());
    assert_ne!(id("0123456789abcdef"), id("30313233-3435-3637-3839-616263646566"));
}

#[tokio::test]
async fn a_writer_that_failed_works_again_as_soon_as_there_is_room() {
    let mut kept = Kept::new().await;
    kept.one(delivery("d-1", 1, vec![])).await;
    // As a full disk: SQLite answers SQLITE_FULL, and rolls back by itself or not.
    sqlx::query("PRAGMA max_page_count = 1").execute(kept.writer.connection()).await.unwrap();
    let many: Vec<_> = (2..400).map(|number| delivery(&format!("d-{number}"), number, vec![])).collect();
    let error = kept.writer.apply(&many).await.unwrap_err();
    assert!(error.to_string().contains("full"), "{error}");
    assert_eq!(kept.counts().await, (1, 0), "nothing of the batch was kept");
    kept.writer.apply(&many).await.unwrap();
    assert_eq!(kept.counts().await, (399, 0));
}

#[tokio::test]
async fn a_failed_delivery_is_due_at_once_and_then_ever_later_until_one_is_taken() {
    let mut kept = Kept::new().await;
    let attempt = |id, minutes: i64, status_code| {
        let delivered_at = at(60 * minutes);
        Change::Log {
            attempts: vec![DeliveryAttempt { id, guid: "g".into(), delivered_at, status_code }],
            until: delivered_at,
        }
    };
    let due = async |kept: &Kept, minutes: i64| kept.store.redeliveries(at(60 * minutes), 9).await.unwrap();
    assert_eq!(kept.store.log_known_until().await.unwrap(), None);
    kept.one(attempt(1, 0, 0)).await;
    assert_eq!(kept.store.log_known_until().await.unwrap(), Some(at(0)));
    assert_eq!(due(&kept, 0).await, [1]);
    kept.one(Change::Redelivery { attempt: 1, due_at: None }).await;
    kept.one(attempt(1, 0, 0)).await;
    assert_eq!(due(&kept, 600).await, [0; 0], "asked for, however often the log shows it");
    kept.one(attempt(2, 1, 502)).await;
    assert_eq!((due(&kept, 5).await, due(&kept, 6).await), (vec![], vec![2]));
    kept.one(attempt(3, 10, 502)).await;
    assert_eq!((due(&kept, 19).await, due(&kept, 20).await), (vec![], vec![3]));
    kept.one(attempt(1, 0, 0)).await;
    assert_eq!(due(&kept, 20).await, [3], "an older attempt tells nothing new");
    kept.one(attempt(4, 21, 202)).await;
    assert_eq!(due(&kept, 600).await, [0; 0]);
    kept.one(attempt(5, 30, 502)).await;
    kept.one(Change::Prune { now: at(8 * 86_400) }).await;
    assert_eq!(due(&kept, 100_000).await, [0; 0], "GitHub keeps it no longer");
}

#[tokio::test]
async fn a_resync_wants_looks_at_what_a_list_says_something_new_of() {
    let mut kept = Kept::new().await;
    let installation = InstallationId::new(u64::MAX);
    let sha = |digit: char| digit.to_string().repeat(40).parse().unwrap();
    // Each is `(number, minute of the last change, digit of the head)`.
    let listed = |hours: i64, pulls: &[(u64, i64, char)], is_complete| Change::Listed {
        installation,
        repository: "acme/widgets".parse().unwrap(),
        pulls: pulls
            .iter()
            .map(|&(number, minute, head)| {
                let (number, updated_at) = (PrNumber::new(number), at(60 * minute));
                serde_json::from_value(serde_json::json!({
                    "number": number, "updated_at": updated_at, "head": { "sha": Sha::to_string(&sha(head)) },
                }))
                .unwrap()
            })
            .collect(),
        is_complete,
        now: at(3_600 * hours),
    };
    let asked = async |kept: &mut Kept, hours: i64, most| {
        let change = Change::Resync { installation, most, now: at(3_600 * hours) };
        let Applied::New(arrivals) = kept.one(change).await else { panic!("arrivals") };
        assert!(arrivals.iter().all(|it| it.urgency == Urgency::Spread));
        let number =
            |it: Arrival| if let Target::PullRequest { number, .. } = it.key.target { number.get() } else { 0 };
        arrivals.into_iter().map(number).collect::<Vec<_>>()
    };
    let looked = async |kept: &mut Kept, number: u64, hours: i64, seen| {
        let covered = kept.loaded(number).await.unwrap().covered;
        let how = WorkEnd::Done(LookOutcome { requeue: Requeue::OnEvent, seen });
        kept.one(Change::Settle { key: key(number), covered, how, now: at(3_600 * hours) }).await;
    };
    let open = |minute: i64, head, is_final| Seen::Open { updated_at: at(60 * minute), head: sha(head), is_final };

    let all = [(1, 1, 'a'), (2, 2, 'a'), (3, 3, 'a'), (4, 0, 'a')];
    kept.one(listed(0, &all, true)).await;
    assert_eq!(asked(&mut kept, 0, 2).await, [3, 2], "what changed last comes first");
    assert_eq!(asked(&mut kept, 1, 9).await, [1, 4], "each is asked for once");
    looked(&mut kept, 1, 1, open(1, 'a', true)).await;
    looked(&mut kept, 2, 1, Seen::Nothing).await;
    looked(&mut kept, 3, 1, open(3, 'a', false)).await;
    kept.settle(4, WorkEnd::Dead { trouble: trouble(10), at: at(0) }).await;
    kept.one(listed(6, &all, true)).await;
    assert_eq!(asked(&mut kept, 6, 9).await, [3], "its verdict was not final; what was given up stays so");
    looked(&mut kept, 3, 6, open(3, 'a', true)).await;
    kept.one(listed(12, &[(1, 9, 'a'), (3, 3, 'b')], false)).await;
    assert_eq!(asked(&mut kept, 12, 9).await, [1, 3], "something changed, or the head did");
    // A look that had begun before the list was read saw something older.
    looked(&mut kept, 1, 12, open(1, 'a', true)).await;
    looked(&mut kept, 3, 12, open(3, 'b', true)).await;
    kept.one(listed(18, &[(1, 9, 'a'), (3, 3, 'b')], true)).await;
    assert_eq!(asked(&mut kept, 18, 9).await, [1, 2], "the second is open no more");
    looked(&mut kept, 1, 18, open(9, 'a', true)).await;
    looked(&mut kept, 2, 18, Seen::Ended).await;
    kept.one(listed(24, &[(1, 9, 'a'), (3, 3, 'b')], true)).await;
    assert_eq!(asked(&mut kept, 24, 9).await, [0; 0]);
    kept.one(listed(31, &[(1, 9, 'a'), (3, 3, 'b')], true)).await;
    assert_eq!(asked(&mut kept, 31, 9).await, [3], "once a day, whatever the list says");
}

#[tokio::test]
async fn the_oldest_work_is_as_old_as_the_first_delivery_not_dealt_with() {
    let mut kept = Kept::new().await;
    let delivery = |id, seconds| {
        let work = Work { installation: InstallationId::new(u64::MAX), targets: vec![target(1)], hints: vec![] };
        Change::Accept(Delivery { id: str::parse(id).unwrap(), event: "push".into(), received_at: at(seconds), work })
    };
    let oldest = async |kept: &Kept| kept.store.counts().await.unwrap().oldest;
    assert_eq!(oldest(&kept).await, None);
    kept.one(delivery("a", 1)).await;
    kept.one(delivery("b", 2)).await;
    assert_eq!(oldest(&kept).await, Some(at(1)));
    let covered = kept.loaded(1).await.unwrap().covered;
    kept.one(delivery("c", 3)).await;
    let how = WorkEnd::Done(Requeue::OnEvent.into());
    kept.one(Change::Settle { key: key(1), covered, how, now: at(4) }).await;
    assert_eq!(oldest(&kept).await, Some(at(3)), "what came meanwhile waits since then");
    kept.settle(1, WorkEnd::Dead { trouble: trouble(10), at: at(5) }).await;
    assert_eq!(oldest(&kept).await, None, "a dead letter waits for nothing");
    kept.one(delivery("d", 6)).await;
    assert_eq!(oldest(&kept).await, Some(at(6)));
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_was_removed_is_put_back_with_all_it_had() {
    let mut kept = Kept::new().await;
    kept.one(delivery("00000000-0000-4000-8000-000000000001", 1, Vec::new())).await;
    let (directory, file) = (kept.directory.path().to_owned(), kept.directory.path().join(FILE));
    // Only the file: the lock beside it is still ours.
    fs::remove_file(&file).unwrap();
    kept.one(delivery("00000000-0000-4000-8000-000000000002", 2, Vec::new())).await;
    assert!(kept.loaded(1).await.is_some() && kept.loaded(2).await.is_some());
    // While the directory cannot be used, nothing is let go.
    fs::remove_dir_all(&directory).unwrap();
    fs::write(&directory, "").unwrap();
    kept.writer.apply(&[Change::Probe { now: at(1) }]).await.unwrap_err();
    fs::remove_file(&directory).unwrap();
    kept.one(delivery("00000000-0000-4000-8000-000000000003", 3, Vec::new())).await;
    assert!(kept.loaded(1).await.is_some() && kept.loaded(3).await.is_some());
}

#[tokio::test]
async fn a_directory_that_goes_while_nothing_is_open_is_made_anew() {
    let mut kept = Kept::new().await;
    kept.one(delivery("d-1", 1, vec![])).await;
    sqlx::query("PRAGMA max_page_count = 1").execute(kept.writer.connection()).await.unwrap();
    let many: Vec<_> = (2..400).map(|number| delivery(&format!("d-{number}"), number, vec![])).collect();
    kept.writer.apply(&many).await.unwrap_err();
    std::fs::remove_dir_all(kept.directory.path()).unwrap();
    kept.writer.apply(&many).await.unwrap();
    assert_eq!(kept.store.counts().await.unwrap().waiting, 398, "what was open no more is lost, and nothing else");
}

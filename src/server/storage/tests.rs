//! What the queue relies on, tested on a real file and on a real server.

use std::fs;

use chrono::TimeDelta;
use uuid::Uuid;

use super::{sqlite::FILE, write::ordered, *};
use crate::{
    github::{Need, Want},
    render::{Filter, OpenLoop},
    server::reconciler::Standing,
};
use loopgate_core::{CheckRunId, PrNumber, Sha, deciding::Part};

#[path = "../../../tests/fixtures/postgres.rs"]
mod postgres;

/// An open loop as the index holds it.
pub(in crate::server) fn sample(title: &str, part: Part, who: &[&str], since: Timestamp) -> OpenLoop {
    serde_json::from_value(serde_json::json!({
        "title": title, "url": "https://github.com/acme/widgets/pull/1", "author": "Alice", "author_kind": "agent",
        "head_sha": "0123456789abcdef0123456789abcdef01234567", "agent": "Copilot", "private": true, "part": part,
        "who": who, "icon": "🔁", "verdict": "Attempt 1 of 3 failed: `unit` — Alice pushes a fix",
        "action": "push a fix", "action_url": "https://github.com/acme/widgets/pull/1/checks",
        "stage": "VERIFY", "attempt": 1, "max_attempts": 3, "score": 0.5, "since": since,
    }))
    .expect("an open loop")
}

struct Kept {
    store: Store,
    writer: Writer,
    directory: tempfile::TempDir,
    address: Option<Secret>,
}

impl Kept {
    async fn new() -> Self {
        Self::at(None).await
    }

    async fn at(address: Option<Secret>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (store, writer) = open(address.as_ref(), directory.path()).await.unwrap();
        Self { store, writer, directory, address }
    }

    /// Another process on the same database, after this one ended without a word where only one can be there.
    async fn next(mut self) -> (Self, Option<Self>) {
        if let Some(address) = self.address.clone() {
            return (Self::at(Some(address)).await, Some(self));
        }
        let directory = self.directory;
        self.writer.tasks.shutdown().await;
        drop((self.store, self.writer));
        let (store, writer) = open(None, directory.path()).await.unwrap();
        (Self { store, writer, directory, address: None }, None)
    }

    const fn is_shared(&self) -> bool {
        self.address.is_some()
    }

    fn connection(&mut self) -> On<'_> {
        &mut **self.writer.connection.as_mut().expect("a writer that just wrote has a connection")
    }

    /// The first column of each row.
    async fn sql(&mut self, sql: &'static str) -> Vec<i64> {
        let rows: Vec<(i64,)> = Query::new(sql).fetch(self.connection()).await.unwrap();
        rows.into_iter().map(|(number,)| number).collect()
    }

    async fn begin(&mut self, number: u64) -> Option<TargetWork> {
        let Applied::Begun(begun) = self.one(Change::Begin(key(number), at(0))).await else {
            panic!("an answer to another question")
        };
        begun.map(|begun| *begun)
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
        let loaded = self.loaded(number).await.unwrap();
        self.settle_what(number, &loaded, how).await;
    }

    /// Settles what was there when it was loaded.
    async fn settle_what(&mut self, number: u64, loaded: &TargetWork, how: WorkEnd) {
        self.one(Change::Settle { key: key(number), covered: loaded.covered, how, now: at(0) }).await;
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

async fn of_copies_the_first_is_fresh_in_one_batch_and_in_another(mut kept: Kept) {
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

async fn what_comes_while_a_job_runs_stays_with_its_own_hints(mut kept: Kept) {
    let batch = [delivery("a", 1, vec![hint("ä")]), delivery("b", 1, vec![hint("b"), hint("c")])];
    kept.writer.apply(&batch).await.unwrap();
    let loaded = kept.loaded(1).await.unwrap();
    assert_eq!(loaded.hints, [hint("ä"), hint("b"), hint("c")]);
    assert_eq!(loaded.origin.delivery, "b");
    kept.one(delivery("d", 1, vec![hint("d")])).await;
    kept.settle_what(1, &loaded, WorkEnd::Done(LookOutcome::default())).await;
    assert_eq!(kept.loaded(1).await.unwrap().hints, [hint("d")]);
    kept.settle(1, WorkEnd::Done(LookOutcome::default())).await;
    assert_eq!(kept.loaded(1).await, None);
    assert_eq!(kept.counts().await, (0, 0));
}

async fn hints_are_kept_once_and_bounded(mut kept: Kept) {
    for n in 0..300 {
        kept.one(delivery(&n.to_string(), 1, vec![hint(&n.to_string())])).await;
        kept.one(delivery(&format!("{n}-again"), 1, vec![hint(&n.to_string())])).await;
    }
    let loaded = kept.loaded(1).await.unwrap();
    assert!(loaded.covered.hints < 4500);
    let expected: Vec<_> = (0..loaded.hints.len()).map(|n| hint(&n.to_string())).collect();
    assert!(expected.len() > 20 && loaded.hints == expected, "{:?}", loaded.hints);
}

async fn failures_add_up_until_something_ends_well(mut kept: Kept) {
    kept.one(delivery("a", 1, vec![])).await;
    kept.settle(1, WorkEnd::Failed(trouble(3))).await;
    kept.one(delivery("b", 1, vec![])).await;
    assert_eq!(kept.loaded(1).await.unwrap().failures, 3, "an event does not make it well");
    let page = kept.store.page((InstallationId::new(u64::MAX), WorkClass::Spread), None, 10).await.unwrap();
    assert_eq!(page.pending[0].retry_at, Some(at(60)));
    let loaded = kept.loaded(1).await.unwrap();
    kept.one(delivery("c", 1, vec![])).await;
    kept.settle_what(1, &loaded, WorkEnd::Done(LookOutcome::default())).await;
    assert_eq!(kept.loaded(1).await.unwrap().failures, 0);
}

async fn the_dead_are_listed_apart_and_live_again_with_anything_new(mut kept: Kept) {
    let dead = || WorkEnd::Dead { trouble: trouble(10), at: at(9) };
    let revivals: [fn() -> Change; 3] =
        [|| delivery("a", 1, vec![]), || delivery("new", 1, vec![]), || Change::Replay(key(1))];
    for revival in revivals {
        kept.one(delivery("a", 1, vec![])).await;
        kept.settle(1, dead()).await;
        assert_eq!(kept.loaded(1).await, None);
        assert_eq!(kept.counts().await, (0, 1));
        assert!(kept.store.installations(Timestamp::MAX_UTC).await.unwrap().is_empty());
        let letters = kept.store.dead_letters().await.unwrap();
        assert_eq!(letters, [DeadLetter { key: key(1), failures: 10, reason: "no".into(), died_at: at(9) }]);
        assert!(is_fresh(&kept.one(revival()).await));
        assert_eq!(kept.loaded(1).await.unwrap().failures, 0);
        kept.settle(1, WorkEnd::Done(LookOutcome::default())).await;
        assert!(!is_fresh(&kept.one(Change::Replay(key(1))).await), "there is nothing to replay");
        kept.sql("DELETE FROM seen").await;
    }
    // Something came during the tenth attempt: that has ten of its own.
    kept.one(delivery("x", 1, vec![])).await;
    let covered = kept.loaded(1).await.unwrap().covered;
    kept.one(delivery("y", 1, vec![])).await;
    kept.one(Change::Settle { key: key(1), covered, how: dead(), now: at(0) }).await;
    assert_eq!(kept.loaded(1).await.unwrap().failures, 0);
    assert!(kept.store.dead_letters().await.unwrap().is_empty());
}

async fn a_commit_is_replaced_by_its_pull_requests_at_once(mut kept: Kept) {
    kept.one(delivery("a", 1, vec![])).await;
    let origin = WorkOrigin { delivery: "a".into(), event: "status".into(), received_at: at(0) };
    let pressed = Hint::ButtonPressed {
        check_run: CheckRunId::new(1),
        identifier: "x".into(),
        by: loopgate_core::observed::Actor { id: loopgate_core::UserId::new(7), login: "alice".parse().unwrap() },
    };
    let hints = vec![pressed];
    let into = vec![key(2), key(3)];
    kept.settle(1, WorkEnd::Resolved { into, origin: origin.clone(), hints: hints.clone(), class: WorkClass::Spread })
        .await;
    assert_eq!(kept.loaded(1).await, None);
    for number in [2, 3] {
        let loaded = kept.loaded(number).await.unwrap();
        assert_eq!((loaded.origin, loaded.hints), (origin.clone(), hints.clone()));
    }
}

async fn wakeups_become_work_when_they_are_due(mut kept: Kept) {
    for number in [1, 2] {
        kept.one(delivery(&number.to_string(), number, vec![])).await;
        kept.settle(
            number,
            WorkEnd::Done(LookOutcome { requeue: Some(at(60 * number as i64)), ..LookOutcome::default() }),
        )
        .await;
    }
    assert_eq!(kept.store.next_wakeup().await.unwrap(), Some(at(60)));
    assert!(is_fresh(&kept.one(Change::Wake(at(60))).await));
    assert_eq!(kept.store.next_wakeup().await.unwrap(), Some(at(120)));
    assert_eq!(kept.loaded(1).await.unwrap().origin.event, "wakeup");
    assert_eq!(kept.loaded(2).await, None);
    // An answer without a time takes an older one back.
    kept.one(delivery("x", 2, vec![])).await;
    kept.settle(2, WorkEnd::Done(LookOutcome::default())).await;
    assert_eq!(kept.store.next_wakeup().await.unwrap(), None);
}

async fn pages_walk_over_everything_once(mut kept: Kept) {
    for number in 1..=25 {
        kept.one(delivery(&number.to_string(), number, vec![])).await;
    }
    kept.settle(7, WorkEnd::Dead { trouble: trouble(10), at: at(0) }).await;
    let (mut after, mut met) = (None, Vec::new());
    loop {
        let page =
            kept.store.page((InstallationId::new(u64::MAX), WorkClass::Spread), after.as_ref(), 10).await.unwrap();
        met.extend(page.pending.into_iter().map(|pending| pending.target));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    met.sort();
    assert_eq!(met, (1..=25).filter(|number| *number != 7).map(target).collect::<Vec<_>>());
    let nobody = kept.store.page((InstallationId::new(1), WorkClass::Spread), None, 10).await.unwrap();
    assert_eq!(nobody, Page { pending: vec![], next: None });
}

async fn ids_are_remembered_for_nine_days_and_the_dead_for_thirty(mut kept: Kept) {
    kept.one(delivery("a", 1, vec![])).await;
    kept.one(delivery("b", 2, vec![])).await;
    kept.settle(2, WorkEnd::Dead { trouble: trouble(10), at: at(0) }).await;
    let after = |days: i64| Change::Prune(at(0) + TimeDelta::days(days));
    for days in 0..=9 {
        kept.one(after(days)).await;
        assert_eq!(kept.one(delivery("a", 1, vec![])).await, Applied::Duplicate, "after {days} days");
    }
    kept.one(after(10)).await;
    assert!(is_fresh(&kept.one(delivery("a", 1, vec![])).await));
    kept.one(after(30)).await;
    assert_eq!(kept.store.dead_letters().await.unwrap().len(), 1);
    kept.one(Change::Prune(at(1) + TimeDelta::days(30))).await;
    assert_eq!(kept.store.dead_letters().await.unwrap().len(), 0);
}

async fn work_is_one_processs_until_it_ends_or_that_is_gone(mut kept: Kept) {
    kept.one(delivery("a", 1, vec![])).await;
    let first = kept.begin(1).await.unwrap();
    assert!(stands(&kept, &first).await);
    let again = kept.begin(1).await.unwrap();
    assert_eq!(again.begun, 0, "what a process holds has not been its end");
    assert!(!kept.is_shared() || !stands(&kept, &first).await);

    let (mut next, mut former) = kept.next().await;
    if let Some(former) = &mut former {
        assert_eq!(next.begin(1).await, None, "another process works on it");
        assert_eq!(next.store.installations(Timestamp::MAX_UTC).await.unwrap(), []);
        let page = next.store.page((InstallationId::new(u64::MAX), WorkClass::Spread), None, 9).await.unwrap();
        assert_eq!(page, Page { pending: vec![], next: None });
        // It is stopped for longer than it has time.
        former.writer.tasks.shutdown().await;
        next.sql("UPDATE process SET alive_until = 0 WHERE id = (SELECT holder FROM work)").await;
    }
    assert_eq!(next.store.installations(at(0)).await.unwrap(), [InstallationId::new(u64::MAX)]);
    let second = next.begin(1).await.unwrap();
    assert_eq!(second.begun, 1, "it was begun once and never ended");
    assert!(second.covered.fence > again.covered.fence, "fences rise");
    let settle = |work: &TargetWork| {
        let how = WorkEnd::Done(LookOutcome { requeue: Some(at(9)), ..LookOutcome::default() });
        Change::Settle { key: key(1), covered: work.covered, how, now: at(0) }
    };
    if let Some(former) = &mut former {
        // It wakes.
        next.sql("UPDATE process SET alive_until = 9223372036854775807").await;
        assert!(!stands(former, &again).await && stands(&next, &second).await);
        assert!(!former.store.fence(None).holds().await.unwrap() || !next.store.fence(None).holds().await.unwrap());
    }
    let late = former.as_mut().unwrap_or(&mut next);
    assert_eq!(late.one(settle(&again)).await, Applied::Recorded);
    assert!(next.loaded(1).await.is_some(), "an end that comes too late changes nothing");
    assert_eq!(next.store.next_wakeup().await.unwrap(), None);
    next.one(settle(&second)).await;
    assert_eq!(next.loaded(1).await, None);
    assert_eq!(next.store.next_wakeup().await.unwrap(), Some(at(9)));
}

async fn what_no_process_survives_is_counted(mut kept: Kept) {
    kept.one(delivery("a", 1, vec![])).await;
    for died in 0..4 {
        assert_eq!(kept.begin(1).await.unwrap().begun, died);
        let (mut next, former) = kept.next().await;
        if let Some(mut former) = former {
            former.writer.tasks.shutdown().await;
            next.sql("UPDATE process SET alive_until = 0 WHERE id = (SELECT holder FROM work)").await;
        }
        kept = next;
    }
    // One that ends in order gives back what it holds.
    let work = kept.begin(1).await.unwrap();
    kept.one(Change::Settle { key: key(1), covered: work.covered, how: WorkEnd::Failed(trouble(1)), now: at(0) }).await;
    assert_eq!(kept.loaded(1).await.unwrap().begun, 0);
}

async fn a_retry_is_due_by_time_and_events_join_it(mut kept: Kept) {
    kept.one(delivery("a", 1, vec![hint("a")])).await;
    kept.settle(1, WorkEnd::Failed(trouble(1))).await;
    kept.one(delivery("b", 1, vec![hint("b")])).await;
    assert_eq!(kept.store.installations(at(59)).await.unwrap(), []);
    assert_eq!(kept.store.installations(at(60)).await.unwrap().len(), 1);
    let page = kept.store.page((InstallationId::new(u64::MAX), WorkClass::Spread), None, 9).await.unwrap();
    assert_eq!(page.pending[0].retry_at, Some(at(60)));
    let Applied::Begun(Some(work)) = kept.one(Change::Begin(key(1), at(60))).await else { panic!("due") };
    assert_eq!((work.hints, work.failures), (vec![hint("a"), hint("b")], 1));
}

/// Whether a request for this work would be sent.
async fn stands(kept: &Kept, work: &TargetWork) -> bool {
    kept.store.fence(Some((&key(1), work.covered))).holds().await.unwrap()
}

async fn looked(kept: &mut Kept, number: u64, standing: Standing) {
    kept.one(delivery(&Uuid::new_v4().to_string(), number, vec![])).await;
    kept.settle(number, WorkEnd::Done(LookOutcome { standing, ..LookOutcome::default() })).await;
}

async fn an_open_loop_is_listed_as_the_last_look_left_it(mut kept: Kept) {
    let open = |title, part, who: &[&str], since| Standing::Open(Box::new(sample(title, part, who, at(since))));
    looked(&mut kept, 1, open("one", Part::Approver, &["Bob", "acme/security"], 5)).await;
    looked(&mut kept, 2, open("two", Part::Approver, &["carol"], 3)).await;
    looked(&mut kept, 3, open("three", Part::Agent, &["Alice"], 1)).await;
    looked(&mut kept, 4, open("four", Part::Ci, &[], 1)).await;
    let listed = async |kept: &Kept, filter: IndexFilter| {
        let mut titles = Vec::new();
        for (part, count, _) in kept.store.count_loops(&filter).await.unwrap() {
            let loops = kept.store.loops((&filter, part), 0, 9).await.unwrap();
            assert_eq!(loops.len() as u64, count);
            titles.extend(loops.into_iter().map(|(_, _, open)| open.title));
        }
        titles.join(" ")
    };
    let all = || IndexFilter { sees: Sees::Everything, ..IndexFilter::default() };
    let only = |shown: Filter| IndexFilter { shown, ..all() };
    assert_eq!(listed(&kept, all()).await, "two one three four");
    let counts = kept.store.count_loops(&all()).await.unwrap();
    assert_eq!(counts[0], (Part::Approver, 2, at(3)));
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(
        listed(&kept, only(Filter { person: name("ALICE"), ..Filter::default() })).await,
        "two one three four",
        "hers"
    );
    assert_eq!(listed(&kept, only(Filter { me: name("alice"), ..Filter::default() })).await, "three");
    assert_eq!(listed(&kept, only(Filter { person: name("acme/security"), ..Filter::default() })).await, "one");
    for hostile in ["bo", "%", "bob' OR '1'='1", "_ob"] {
        assert_eq!(listed(&kept, only(Filter { person: name(hostile), ..Filter::default() })).await, "", "{hostile}");
    }
    assert_eq!(listed(&kept, only(Filter { agent: name("other"), ..Filter::default() })).await, "");
    let named = |name: &str| name.parse::<RepoName>().ok().map(|name| name.to_string());
    let repository = |name: &str| only(Filter { repository: named(name), ..Filter::default() });
    assert_eq!(listed(&kept, repository("Acme/Widgets")).await, "two one three four");
    assert_eq!(listed(&kept, repository("acme/other")).await, "");
    let second = kept.store.loops((&all(), Part::Approver), 1, 1).await.unwrap();
    assert_eq!((second.len(), second[0].1.get()), (1, 1));
    let these = |names: &[&str]| Sees::These(Arc::new(names.iter().map(|name| name.parse().unwrap()).collect()));
    let seen = async |sees: Sees| kept.store.repositories(sees).await.unwrap();
    assert_eq!(seen(Sees::Everything).await, [("acme/widgets".parse().unwrap(), 4)]);
    assert_eq!(seen(these(&["acme/other", "ACME/Widgets"])).await.len(), 1);
    for sees in [Sees::default(), these(&["acme/other"])] {
        assert_eq!(seen(sees.clone()).await, []);
        assert_eq!(listed(&kept, IndexFilter { sees, ..all() }).await, "", "what is not seen is not counted");
    }

    looked(&mut kept, 1, Standing::NotSaid).await;
    looked(&mut kept, 2, Standing::Over).await;
    kept.one(delivery("dead", 3, vec![])).await;
    kept.settle(3, WorkEnd::Dead { trouble: trouble(10), at: at(0) }).await;
    assert_eq!(listed(&kept, all()).await, "three one four", "what was given up comes first");
}

async fn a_broken_configuration_is_known_since_the_look_that_noticed_it(mut kept: Kept) {
    let mut known = Vec::new();
    for (problem, now) in [(Some("3:1: no"), 5), (Some("3:1: no"), 9), (Some("4:1: no"), 12), (None, 15)] {
        kept.one(delivery(&Uuid::new_v4().to_string(), 1, vec![])).await;
        let open = sample("one", Part::Author, &["alice"], at(0));
        let standing = Standing::Open(Box::new(OpenLoop { problem: problem.map(str::to_owned), ..open }));
        let how = WorkEnd::Done(LookOutcome { standing, ..LookOutcome::default() });
        let covered = kept.loaded(1).await.unwrap().covered;
        kept.one(Change::Settle { key: key(1), covered, how, now: at(now) }).await;
        let problems = kept.store.problems().await.unwrap();
        known.push(problems.into_iter().map(|(_, problem, since)| (problem, since)).collect::<Vec<_>>());
    }
    let row = |problem: &str, since| vec![(problem.to_owned(), at(since))];
    assert_eq!(known, [row("3:1: no", 5), row("3:1: no", 5), row("4:1: no", 12), Vec::new()]);
}

async fn an_index_that_cannot_be_written_harms_no_look(mut kept: Kept) {
    kept.one(Change::Probe(at(0))).await;
    kept.sql("DROP TABLE open_loop").await;
    kept.one(delivery("a", 2, vec![])).await;
    looked(&mut kept, 1, Standing::Over).await;
    assert_eq!((kept.loaded(1).await, kept.counts().await), (None, (1, 0)));
}

async fn tokens_are_their_owners_and_end(mut kept: Kept) {
    let [alice, bob] = [7, u64::MAX].map(loopgate_core::UserId::new);
    let digest = |name: &str| TokenDigest::of(name);
    let token = |owner, name: &str, made: i64| AccessToken {
        digest: digest(name),
        owner,
        login: "alice".parse().unwrap(),
        name: name.to_owned(),
        made_at: at(made),
        used_at: None,
        ends_at: at(made + 100),
    };
    let change = async |kept: &mut Kept, change| kept.one(Change::Tokens(change)).await;
    for made in 0..=i64::from(MOST_TOKENS) {
        let is_too_many = made == i64::from(MOST_TOKENS);
        let applied = change(&mut kept, TokenChange::Make(token(alice, &format!("t{made}"), made))).await;
        assert_eq!(applied, Applied::Rows(u64::from(!is_too_many)), "{made}");
    }
    change(&mut kept, TokenChange::Make(token(bob, "bobs", 1))).await;
    assert_eq!(kept.store.token(&digest("bobs"), at(100)).await.unwrap(), Some(token(bob, "bobs", 1)));
    assert_eq!(kept.store.token(&digest("bobs"), at(101)).await.unwrap(), None, "it has ended");
    assert_eq!(kept.store.token(&digest("another"), at(0)).await.unwrap(), None);

    change(&mut kept, TokenChange::Use(digest("t1"), at(30))).await;
    change(&mut kept, TokenChange::Revoke(bob, digest("t2"))).await;
    change(&mut kept, TokenChange::Revoke(alice, digest("t3"))).await;
    let tokens = kept.store.tokens_of(alice, at(50)).await.unwrap();
    let named: Vec<_> = tokens.iter().map(|it| (it.name.as_str(), it.used_at)).collect();
    assert_eq!(
        (named.len(), named[0], &named[16..]),
        (19, ("t19", None), &[("t2", None), ("t1", Some(at(30))), ("t0", None)][..],)
    );
    assert_eq!(
        change(&mut kept, TokenChange::Make(token(alice, "later", 100))).await,
        Applied::Rows(1),
        "one has ended"
    );
    kept.one(Change::Prune(at(100))).await;
    assert_eq!(kept.sql("SELECT 1 FROM access_token").await.len(), 20, "what has ended is gone");
    change(&mut kept, TokenChange::RevokeAll(alice)).await;
    assert_eq!(kept.store.tokens_of(alice, at(50)).await.unwrap(), []);
    assert_eq!(kept.store.tokens_of(bob, at(50)).await.unwrap().len(), 1);
}

/// sqlx adds the line of PostgreSQL's own source, which reads like a line of ours.
async fn errors_name_no_place_in_the_databases_source(mut kept: Kept) {
    let answer = Query::new("SELECT * FROM nowhere").fetch::<()>(kept.connection()).await;
    let words = StoreError::from(answer.err().unwrap()).to_string();
    assert!(words.contains("nowhere") && !words.contains("at line"), "{words}");
}

/// A person with a database tool may hold the lock for some seconds; GitHub waits ten for an answer.
#[tokio::test]
async fn a_write_lock_of_somebody_else_is_waited_for() {
    let mut kept = Kept::new().await;
    let rows = kept.sql("PRAGMA busy_timeout").await;
    assert_eq!(rows[0], 8_000);
}

macro_rules! on_both {
    ($($name:ident,)*) => {
        mod on_sqlite {
            $(#[tokio::test] async fn $name() { super::$name(super::Kept::new().await).await })*
        }
        mod on_postgres {
            $(#[tokio::test] async fn $name() {
                if let Some(address) = super::postgres::schema().await {
                    super::$name(super::Kept::at(Some(super::Secret::new(address))).await).await
                }
            })*
        }
    };
}

on_both! {
    of_copies_the_first_is_fresh_in_one_batch_and_in_another,
    what_comes_while_a_job_runs_stays_with_its_own_hints,
    hints_are_kept_once_and_bounded,
    errors_name_no_place_in_the_databases_source,
    failures_add_up_until_something_ends_well,
    the_dead_are_listed_apart_and_live_again_with_anything_new,
    a_commit_is_replaced_by_its_pull_requests_at_once,
    wakeups_become_work_when_they_are_due,
    pages_walk_over_everything_once,
    ids_are_remembered_for_nine_days_and_the_dead_for_thirty,
    work_is_one_processs_until_it_ends_or_that_is_gone,
    what_no_process_survives_is_counted,
    a_retry_is_due_by_time_and_events_join_it,
    names_of_repositories_are_one_whatever_their_case,
    a_creation_counts_from_its_answer_where_that_comes_late,
    a_failed_delivery_is_due_at_once_and_then_ever_later_until_one_is_taken,
    a_resync_wants_looks_at_what_a_list_says_something_new_of,
    the_oldest_work_is_as_old_as_the_first_delivery_not_dealt_with,
    what_people_wait_for_is_found_first,
    what_processes_take_of_a_limit_is_booked_in_one_place,
    whose_turn_it_is_all_processes_know,
    an_open_loop_is_listed_as_the_last_look_left_it,
    a_broken_configuration_is_known_since_the_look_that_noticed_it,
    an_index_that_cannot_be_written_harms_no_look,
    tokens_are_their_owners_and_end,
}

#[tokio::test]
async fn four_processes_share_the_work_and_wait_for_nobody() {
    let Some(address) = postgres::schema().await else { return };
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(Kept::at(Some(Secret::new(&address))).await);
    }
    // Each process stores work on each target, in an order of its own; then each takes what it gets.
    let rounds = all.iter_mut().enumerate().map(|(process, kept)| async move {
        let mut numbers: Vec<u64> = (0..200).collect();
        numbers.rotate_left(process * 50);
        if process % 2 == 1 {
            numbers.reverse();
        }
        let mut taken = Vec::new();
        for round in 0..3 {
            let id = |number: u64| format!("{process}-{round}-{number}");
            let batch: Vec<_> = numbers.iter().map(|&number| delivery(&id(number), number, vec![])).collect();
            assert!(kept.writer.apply(&batch).await.unwrap().iter().all(is_fresh));
        }
        let batch: Vec<_> = numbers.iter().map(|&number| Change::Begin(key(number), at(0))).collect();
        for (number, applied) in numbers.iter().zip(kept.writer.apply(&batch).await.unwrap()) {
            if let Applied::Begun(Some(_)) = applied {
                taken.push(*number);
            }
        }
        taken
    });
    let mut taken = futures::future::join_all(rounds).await.concat();
    taken.sort_unstable();
    assert_eq!(taken, (0..200).collect::<Vec<_>>(), "each target is one process's");
}

#[tokio::test]
async fn a_session_that_was_ended_is_replaced_and_a_newer_version_may_have_been_here() {
    let Some(address) = postgres::schema().await else { return };
    let mut kept = Kept::at(Some(Secret::new(&address))).await;
    let session = kept.sql("SELECT pg_backend_pid()::BIGINT").await[0];
    let mut other = Kept::at(Some(Secret::new(&address))).await;
    let end = Query::new("SELECT pg_terminate_backend($1::INTEGER)").bind(session);
    end.execute(other.connection()).await.unwrap();
    assert!(is_fresh(&kept.one(delivery("a", 1, vec![])).await), "nobody is told to send it again");
    // The same where others gave up their places long ago.
    other
        .sql(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
               SELECT MAX(version) + 2, 'later', TRUE, '', 0 FROM _sqlx_migrations",
        )
        .await;
    assert!(Kept::at(Some(Secret::new(&address))).await.loaded(1).await.is_some());
    other.sql("UPDATE _sqlx_migrations SET version = version + 1 WHERE description = 'later'").await;
    let error = open(Some(&Secret::new(&address)), other.directory.path()).await.unwrap_err();
    assert!(matches!(error, StoreError::TooNew { .. }), "{error}");
}

#[tokio::test]
async fn a_file_of_a_version_that_is_too_new_is_refused_with_what_to_do() {
    let mut kept = Kept::new().await;
    kept.sql(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         SELECT MAX(version) + 3, 'later', TRUE, x'00', 0 FROM _sqlx_migrations",
    )
    .await;
    let Kept { store, writer, directory, .. } = kept;
    writer.close().await.unwrap();
    drop(store);
    let error = open(None, directory.path()).await.unwrap_err().to_string();
    assert!(error.contains("has step 13, and this version knows 10") && error.contains("only a queue"), "{error}");
}

#[tokio::test]
async fn a_damaged_file_is_moved_aside_and_begun_anew() {
    let mut kept = Kept::new().await;
    let many: Vec<_> = (1..400).map(|number| delivery(&format!("d-{number}"), number, vec![])).collect();
    kept.writer.apply(&many).await.unwrap();
    let Kept { store, writer, directory, .. } = kept;
    writer.close().await.unwrap();
    drop(store);
    let file = directory.path().join(FILE);
    let mut bytes = fs::read(&file).unwrap();
    for byte in &mut bytes[4_096..8_192] {
        *byte ^= 0x5a;
    }
    fs::write(&file, bytes).unwrap();
    let (store, mut writer) = open(None, directory.path()).await.unwrap();
    assert_eq!(store.counts().await.unwrap().waiting, 0);
    writer.apply(&[delivery("new", 1, vec![])]).await.unwrap();
    let names = fs::read_dir(directory.path()).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().any(|name| name.starts_with("inbox.sqlite.damaged-")), "it can be looked at");
}

async fn what_processes_take_of_a_limit_is_booked_in_one_place(kept: Kept) {
    let (mut one, other) = kept.next().await;
    let claim = |points: u32, seconds: i64| {
        let (installation, takes) = (InstallationId::new(7), TimeDelta::seconds(2));
        Change::TakePoints(PointsClaim { installation, points, most: 3, now: at(seconds), takes })
    };
    assert_eq!(one.one(claim(2, 0)).await, Applied::Points(true));
    let mut two = other.unwrap_or(one);
    assert_eq!(two.one(claim(1, 1)).await, Applied::Points(true));
    assert_eq!(two.one(claim(1, 1)).await, Applied::Points(false), "the minute is used up");
    assert_eq!(two.one(claim(1, 61)).await, Applied::Points(false), "it may have been used a moment later");
    assert_eq!(two.one(claim(2, 62)).await, Applied::Points(true));
}

/// A creation for the head of a pull request, asked for at a second.
fn creation(of: u8, need: Need, seconds: i64) -> Change {
    Change::Create(CreationClaim {
        installation: InstallationId::new(7),
        want: Some(Want { head: hex::encode([of; 20]).parse().unwrap(), need, behind: 0 }),
        now: at(seconds),
        takes: TimeDelta::seconds(2),
    })
}

/// A turn that one process keeps is kept by the others, too, whichever of them works on the pull request then.
async fn whose_turn_it_is_all_processes_know(kept: Kept) {
    let (mut one, other) = kept.next().await;
    for of in 0..80 {
        assert!(matches!(one.one(creation(of, Need::Verify, 0)).await, Applied::Created(Ok(_))));
    }
    let later = |ms: i64| Applied::Created(Err(at(62) + TimeDelta::milliseconds(ms)));
    assert_eq!(one.one(creation(100, Need::Comment, 1)).await, later(8), "of 80, eight more are over");
    let mut two = other.unwrap_or(one);
    assert_eq!(two.one(creation(101, Need::Comment, 1)).await, later(9));
    assert_eq!(two.one(creation(102, Need::Verify, 1)).await, later(0));
    assert_eq!(two.one(creation(100, Need::Comment, 1)).await, later(8), "asking again changes nothing");
    for of in 100..103 {
        let came = two.one(creation(of, Need::Comment, 63)).await;
        assert!(matches!(came, Applied::Created(Ok(_))), "{came:?}");
    }
}

async fn a_creation_counts_from_its_answer_where_that_comes_late(mut kept: Kept) {
    let installation = InstallationId::new(7);
    for nth in 0..80 {
        let until = at(2) + TimeDelta::milliseconds(nth);
        assert_eq!(kept.one(creation(1, Need::Verify, 0)).await, Applied::Created(Ok(until)), "each has its own end");
    }
    let created = CreationEnd { installation, booked_until: at(2), answered_at: at(9) };
    assert_eq!(kept.one(Change::CreationEnd(created)).await, Applied::Recorded);
    let moved = at(62) + TimeDelta::milliseconds(1);
    assert_eq!(kept.one(creation(1, Need::Verify, 61)).await, Applied::Created(Err(moved)));
}

/// An hour's work, ten deliveries a second (`LOOPGATE_LOAD=36000`; else a tenth of it), while somebody's forgotten
/// transaction keeps every old row from being vacuumed.
#[tokio::test]
async fn beside_a_forgotten_transaction_an_hour_of_work_leaves_little_behind() {
    let Some(address) = postgres::schema().await else { return };
    let mut kept = Kept::at(Some(Secret::new(&address))).await;
    let load: u64 = std::env::var("LOOPGATE_LOAD").ok().and_then(|text| text.parse().ok()).unwrap_or(3_600);
    let mut other = postgres::connect(&address).await;
    sqlx::raw_sql("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT txid_current()").execute(&mut other).await.unwrap();
    let mut sizes = Vec::new();
    for hour in 0..2 {
        let mut times = Vec::new();
        for minute in 0..load / 60 {
            let begun = std::time::Instant::now();
            let numbers: Vec<u64> = (0..60).map(|nth| (minute * 60 + nth) % 300).collect();
            let id = |number: u64| format!("{hour}-{minute}-{number}");
            let batch: Vec<_> = numbers.iter().map(|&number| delivery(&id(number), number, vec![])).collect();
            kept.writer.apply(&batch).await.unwrap();
            let begin = |number: &u64| Change::Begin(key(*number), at(0));
            let begun_work = kept.writer.apply(&numbers.iter().map(begin).collect::<Vec<_>>()).await.unwrap();
            let settle = |(number, applied): (&u64, Applied)| {
                let Applied::Begun(Some(work)) = applied else { panic!("nobody else is there") };
                let how = WorkEnd::Done(LookOutcome::default());
                Change::Settle { key: key(*number), covered: work.covered, how, now: at(0) }
            };
            kept.writer.apply(&numbers.iter().zip(begun_work).map(settle).collect::<Vec<_>>()).await.unwrap();
            times.push(begun.elapsed());
        }
        let part = times.len() / 10;
        let of =
            |times: &[std::time::Duration]| times.iter().sum::<std::time::Duration>() * 60 / times.len() as u32 / 60;
        let sql = "SELECT pg_total_relation_size('work')";
        let used = kept.sql(sql).await[0];
        println!(
            "{load} deliveries: 60 take {:.1?} at first, {:.1?} at last; {} kB before a vacuum",
            of(&times[..part]),
            of(&times[times.len() - part..]),
            used / 1024
        );
        if hour == 0 {
            sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
        }
        // Transactions of other tests keep old rows as well, while they last.
        let others = "SELECT COUNT(*) FROM pg_stat_activity
                      WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND datname = current_database()";
        while kept.sql(others).await[0] > 0 {}
        sqlx::raw_sql("VACUUM work").execute(&mut other).await.unwrap();
        sizes.push(used);
    }
    assert_eq!(kept.counts().await, (0, 0));
    // But for pages that a transaction of another test kept meanwhile.
    assert!(sizes[1] <= sizes[0] + sizes[0] / 8, "what was vacuumed is used again: {sizes:?}");
    // Ids leave nothing at all.
    let ids = "SELECT SUM(pg_relation_size(inhrelid::regclass))::BIGINT FROM pg_inherits
               WHERE inhparent = 'seen'::regclass";
    assert!(kept.sql(ids).await[0] > 0);
    kept.one(Change::Prune(at(0) + TimeDelta::days(10))).await;
    assert_eq!(kept.sql(ids).await[0], 0);
}

#[tokio::test]
async fn others_are_told_of_new_work() {
    let Some(address) = postgres::schema().await else { return };
    let kept = Kept::at(Some(Secret::new(&address))).await;
    let other = Kept::at(Some(Secret::new(&address))).await;
    // A notification is lost until the other listens.
    let told = other.store.told();
    let mut told = std::pin::pin!(told);
    loop {
        kept.store.tell();
        if tokio::time::timeout(std::time::Duration::from_millis(100), &mut told).await.is_ok() {
            break;
        }
    }
}

async fn names_of_repositories_are_one_whatever_their_case(mut kept: Kept) {
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
    kept.sql("PRAGMA max_page_count = 1").await;
    let many: Vec<_> = (2..400).map(|number| delivery(&format!("d-{number}"), number, vec![])).collect();
    let error = kept.writer.apply(&many).await.unwrap_err();
    assert!(error.to_string().contains("full"), "{error}");
    assert_eq!(kept.counts().await, (1, 0), "nothing of the batch was kept");
    kept.writer.apply(&many).await.unwrap();
    assert_eq!(kept.counts().await, (399, 0));
}

async fn a_failed_delivery_is_due_at_once_and_then_ever_later_until_one_is_taken(mut kept: Kept) {
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
    kept.one(Change::Prune(at(8 * 86_400))).await;
    assert_eq!(due(&kept, 100_000).await, [0; 0], "GitHub keeps it no longer");
}

async fn a_resync_wants_looks_at_what_a_list_says_something_new_of(mut kept: Kept) {
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
                let head = serde_json::json!({ "sha": Sha::to_string(&sha(head)) });
                serde_json::from_value(serde_json::json!({
                    "number": number, "updated_at": updated_at, "state": "open", "head": head, "base": head,
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
        assert!(arrivals.iter().all(|it| it.class == WorkClass::Spread));
        let number =
            |it: Arrival| if let Target::PullRequest { number, .. } = it.key.target { number.get() } else { 0 };
        arrivals.into_iter().map(number).collect::<Vec<_>>()
    };
    let looked = async |kept: &mut Kept, number: u64, hours: i64, seen| {
        let covered = kept.loaded(number).await.unwrap().covered;
        let how = WorkEnd::Done(LookOutcome { seen, ..LookOutcome::default() });
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

async fn the_oldest_work_is_as_old_as_the_first_delivery_not_dealt_with(mut kept: Kept) {
    let delivery = |id, seconds| {
        let work = Work { installation: InstallationId::new(u64::MAX), targets: vec![target(1)], hints: vec![] };
        Change::Accept(Delivery { id: str::parse(id).unwrap(), event: "push".into(), received_at: at(seconds), work })
    };
    let oldest = async |kept: &Kept| kept.store.counts().await.unwrap().oldest.into_iter().flatten().min();
    assert_eq!(oldest(&kept).await, None);
    kept.one(delivery("a", 1)).await;
    kept.one(delivery("b", 2)).await;
    assert_eq!(oldest(&kept).await, Some(at(1)));
    let covered = kept.loaded(1).await.unwrap().covered;
    kept.one(delivery("c", 3)).await;
    let how = WorkEnd::Done(LookOutcome::default());
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
    kept.writer.apply(&[Change::Probe(at(1))]).await.unwrap_err();
    fs::remove_file(&directory).unwrap();
    kept.one(delivery("00000000-0000-4000-8000-000000000003", 3, Vec::new())).await;
    assert!(kept.loaded(1).await.is_some() && kept.loaded(3).await.is_some());
}

#[tokio::test]
async fn a_log_that_was_removed_takes_nothing_with_it() {
    let mut kept = Kept::new().await;
    kept.one(delivery("d-1", 1, Vec::new())).await;
    let directory = kept.directory.path().to_owned();
    let file = |part: &str| directory.join(format!("{FILE}{part}"));
    fs::remove_file(file("-wal")).unwrap();
    kept.writer.tend().await.unwrap();
    kept.one(delivery("d-2", 2, Vec::new())).await;
    fs::remove_file(file("-shm")).unwrap();
    kept.one(delivery("d-3", 3, Vec::new())).await;
    // As after a kill: what is on disk is all there is.
    let copy = tempfile::tempdir().unwrap();
    for part in ["", "-wal"] {
        fs::copy(file(part), copy.path().join(format!("{FILE}{part}"))).unwrap();
    }
    let (store, _writer) = open(None, copy.path()).await.unwrap();
    assert_eq!(store.counts().await.unwrap().waiting, 3);
}

#[tokio::test]
async fn a_directory_that_goes_while_nothing_is_open_is_made_anew() {
    let mut kept = Kept::new().await;
    kept.one(delivery("d-1", 1, vec![])).await;
    kept.sql("PRAGMA max_page_count = 1").await;
    let many: Vec<_> = (2..400).map(|number| delivery(&format!("d-{number}"), number, vec![])).collect();
    kept.writer.apply(&many).await.unwrap_err();
    std::fs::remove_dir_all(kept.directory.path()).unwrap();
    kept.writer.apply(&many).await.unwrap();
    assert_eq!(kept.store.counts().await.unwrap().waiting, 398, "what was open no more is lost, and nothing else");
}

fn event(id: &str, event: &str, number: u64) -> Change {
    let Change::Accept(delivery) = delivery(id, number, vec![]) else { unreachable!("it is a delivery") };
    Change::Accept(Delivery { event: event.to_owned(), ..delivery })
}

async fn what_people_wait_for_is_found_first(mut kept: Kept) {
    let events = ["check_run", "pull_request", "issue_comment", "push", "pull_request", "check_run"];
    let deliveries: Vec<_> =
        (1..).zip(events).map(|(number, name)| event(&format!("first-{number}"), name, number)).collect();
    kept.writer.apply(&deliveries).await.unwrap();
    // Somebody comments where a check went on, and a check goes on where somebody has commented.
    kept.writer.apply(&[event("more-6", "issue_comment", 6), event("more-3", "check_run", 3)]).await.unwrap();
    let page = async |kept: &Kept, class| {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = kept.store.page((InstallationId::new(u64::MAX), class), after.as_ref(), 1).await.unwrap();
            found.extend(page.pending.into_iter().map(|pending| match pending.target {
                Target::PullRequest { number, .. } => number.get(),
                other => panic!("{other:?}"),
            }));
            after = page.next;
            if after.is_none() {
                return found;
            }
        }
    };
    let expected = [vec![3, 6], vec![2, 5], vec![1], vec![4]];
    for (class, expected) in WorkClass::ALL.into_iter().zip(expected) {
        assert_eq!(page(&kept, class).await, expected, "{class:?}");
    }
    let oldest = kept.store.counts().await.unwrap().oldest;
    assert_eq!(oldest, [Some(at(0)); WorkClass::ALL.len()]);
    // What is dealt with starts anew, and the version before this one writes no class.
    kept.settle(3, WorkEnd::Done(LookOutcome::default())).await;
    kept.one(event("again-3", "status", 3)).await;
    kept.sql(
        "INSERT INTO work (installation, repository, what, newest, delivery, event, received_at)
         SELECT installation, repository, 'pr:7', newest, delivery, event, received_at FROM work WHERE what = 'pr:1'",
    )
    .await;
    assert_eq!(page(&kept, WorkClass::Person).await, [6]);
    assert_eq!(page(&kept, WorkClass::Progress).await, [1, 3]);
    assert_eq!(page(&kept, WorkClass::Author).await, [2, 5, 7]);
}

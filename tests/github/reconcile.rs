use std::collections::BTreeSet;

use chrono::TimeDelta;
use http::{Method, StatusCode};
use loopgate::github::{
    GithubObjects, Reconcile, ReconcileOutcome, ReconcileRequest, ReconcileResult, Summary,
    fold_ended_runs,
};
use loopgate_core::{deciding::DecisionWord, observed::Hint};
use loopgate_refs::{GitObjects as _, NewCommit, RefName, Retry};
use loopgate_simulator::{
    CheckSpec, CommitSpec, Conclusion, Harm, Often, Pr, PullSpec, PullView, RefView, RequestFault,
    Role, RunSpec, SecondaryLimits, Simulator,
};

use crate::bench::{Bench, CI, CONFIG, app, archive, evidence};

impl Bench {
    pub fn job(&self, pr: &Pr) -> ReconcileRequest {
        let hints = match self.sim.pull_request(pr) {
            Ok(pull) => vec![Hint::HeadSeen {
                sha: pull.head_sha,
                at: self.now(),
            }],
            Err(_) => Vec::new(),
        };
        ReconcileRequest {
            installation: Some(self.installation()),
            repository: pr.repo.clone(),
            number: pr.number,
            hints,
        }
    }

    pub async fn run(&self, reconcile: &Reconcile, pr: &Pr) -> ReconcileOutcome {
        reconcile.run(&self.job(pr), self.now()).await.unwrap()
    }

    pub async fn decided(&self, reconcile: &Reconcile, pr: &Pr) -> Summary {
        match self.run(reconcile, pr).await.result {
            ReconcileResult::Decided(summary) => summary,
            other => panic!("{other:?}"),
        }
    }

    pub fn view(&self, pr: &Pr) -> PullView {
        self.sim.pull_request(pr).unwrap()
    }

    pub fn state(&self, pr: &Pr) -> RefView {
        self.sim
            .state_ref(&self.repo, &format!("refs/loopgate/pr/{}", pr.number))
            .unwrap()
            .unwrap()
    }

    /// A push's checks end: the build as a check run, the tests in an artifact.
    pub fn checked(&self, pr: &Pr, tests: &str) {
        let head = self.view(pr).head_sha;
        self.sim
            .ci("other-ci")
            .check_run(
                &self.repo,
                head,
                CheckSpec::concluded("build", Conclusion::Success),
            )
            .unwrap();
        let run = self
            .sim
            .start_workflow(&self.repo, RunSpec::new(head, CI))
            .unwrap();
        let zip = archive(&evidence(head, run.get(), tests));
        let artifacts = vec![("loopgate-evidence-test-00000000-1".to_owned(), zip.into())];
        self.sim
            .finish_workflow(&self.repo, run, Conclusion::Success, artifacts)
            .unwrap();
    }
}

pub fn ours(pull: &PullView) -> Vec<&str> {
    let comments = pull
        .comments
        .iter()
        .filter(|comment| comment.author == "loopgate[bot]");
    comments.map(|comment| comment.body.as_str()).collect()
}

pub fn security_team(sim: &Simulator, bench: &Bench) {
    let team = sim.admin().add_team("acme/security", &["bob"]).unwrap();
    sim.admin()
        .grant_team(&team, &bench.repo, Role::Write)
        .unwrap();
}

pub fn change() -> PullSpec {
    PullSpec::new("Check tokens").file("src/auth/token.rs", "fn check_token() {}\n")
}

#[tokio::test]
async fn a_new_pull_request_is_greeted_with_everything_it_needs() {
    let bench = Bench::new().await;
    security_team(&bench.sim, &bench);
    let pr = bench.opens(change());
    let reconcile = Reconcile::new(bench.github.clone());
    let summary = bench.decided(&reconcile, &pr).await;
    assert_eq!(
        (summary.word, summary.problems.as_slice()),
        (DecisionWord::Wait, [].as_slice())
    );
    let pull = bench.view(&pr);
    assert!(
        pull.labels.contains(&"needs:security-review".to_owned()),
        "{:?}",
        pull.labels
    );
    assert!(
        pull.labels.contains(&"loop:verifying".to_owned())
            || pull.labels.contains(&"loop:waiting".to_owned())
    );
    assert_eq!(pull.requested_teams, ["security"]);
    let said = ours(&pull);
    assert_eq!(
        said.iter()
            .filter(|body| body.starts_with("<!-- loopgate:status -->"))
            .count(),
        1
    );
    assert_eq!(
        said.iter()
            .filter(|body| body.starts_with("<!-- loopgate:gate:security:1 -->"))
            .count(),
        1
    );
    assert_eq!(
        pull.check_run("loopgate / verify").unwrap().status,
        "in_progress"
    );
    assert!(pull.check_run("loopgate / gates").is_some());
    let state = bench.state(&pr);
    assert_eq!(state.commits[0].1, summary.subject);
    let files: Vec<_> = state.files.keys().map(String::as_str).collect();
    assert_eq!(files, ["artifact.md", "history.jsonl", "loop-state.json"]);
}

#[tokio::test]
async fn an_unchanged_pull_request_costs_ten_free_reads_and_no_write() {
    let bench = Bench::new().await;
    security_team(&bench.sim, &bench);
    let pr = bench.opens(change());
    bench
        .sim
        .user("bob")
        .comment(&pr, "security approved")
        .unwrap();
    bench.checked(&pr, "failed");
    let reconcile = Reconcile::new(bench.github.clone());
    bench.run(&reconcile, &pr).await;
    // What was just written is observed, and what was asked of reviewers remembered; then nothing changes any more.
    bench.run(&reconcile, &pr).await;
    bench.run(&reconcile, &pr).await;
    bench.sim.forget_requests();
    let summary = bench.decided(&reconcile, &pr).await;
    let counts = bench.sim.request_counts();
    let paths: Vec<_> = bench
        .sim
        .requests()
        .iter()
        .map(|request| format!("{} {}", request.method, request.path))
        .collect();
    assert!(counts.total <= 10, "{paths:#?}");
    assert_eq!(
        (counts.not_modified, counts.writes),
        (counts.total, 0),
        "{paths:#?}"
    );
    assert_eq!((summary.saved, summary.effects), (None, 0));
}

#[tokio::test]
async fn a_first_turn_costs_twenty_one_reads() {
    let bench = Bench::new().await;
    security_team(&bench.sim, &bench);
    let pr = bench.opens(change());
    bench.github.identity(&bench.client()).await.unwrap();
    bench
        .client()
        .repo(&bench.repo)
        .open_pull_requests(None)
        .await
        .unwrap();
    bench.sim.forget_requests();
    bench.run(&Reconcile::new(bench.github.clone()), &pr).await;
    let counts = bench.sim.request_counts();
    let paths: Vec<_> = bench
        .sim
        .requests()
        .iter()
        .map(|request| format!("{} {}", request.method, request.path))
        .collect();
    // Six of them are shared: the organisation's defaults by all its repositories, and who may write by all pull requests,
    // for five minutes; the debug memory and the workflows by all pull requests as long as they are the same.
    assert!(counts.total - counts.writes <= 21, "{paths:#?}");
}

#[tokio::test]
async fn attempts_are_counted_told_and_kept() {
    let bench = Bench::new().await;
    let alice = bench.sim.user("alice");
    let pr = alice.open_pull_request(&bench.repo, change()).unwrap();
    let reconcile = Reconcile::new(bench.github.clone());
    bench.run(&reconcile, &pr).await;
    bench.checked(&pr, "failed");
    let failed = bench.decided(&reconcile, &pr).await;
    assert_eq!((failed.word, failed.attempt), (DecisionWord::Retry, 1));
    assert_eq!(
        bench
            .view(&pr)
            .check_run("loopgate / verify")
            .unwrap()
            .conclusion,
        Some(Conclusion::Failure)
    );
    assert!(bench.view(&pr).labels.contains(&"loop:retry".to_owned()));
    let before = bench.view(&pr).head_sha;
    alice
        .push(&pr, &[("src/lib.rs", "fn two() {}\n")], "Mend")
        .unwrap();
    bench.run(&reconcile, &pr).await;
    bench.checked(&pr, "passed");
    let passed = bench.decided(&reconcile, &pr).await;
    assert_eq!(passed.attempt, 2, "{}", passed.subject);
    assert_eq!(
        bench
            .view(&pr)
            .check_run("loopgate / verify")
            .unwrap()
            .conclusion,
        Some(Conclusion::Success)
    );
    let state = bench.state(&pr);
    assert!(
        state.files.contains_key("attempts/001.json")
            && state.files.contains_key("attempts/002.json")
    );
    assert!(state.files["attempts/001.json"].contains(&before.to_string()));
    assert!(state.commits.len() >= 3, "{:?}", state.commits);
    assert_eq!(
        ours(&bench.view(&pr))
            .iter()
            .filter(|body| body.contains("loopgate:status"))
            .count(),
        1
    );
}

#[tokio::test]
async fn check_runs_of_a_superseded_head_are_cancelled() {
    let bench = Bench::new().await;
    let alice = bench.sim.user("alice");
    let pr = alice.open_pull_request(&bench.repo, change()).unwrap();
    let reconcile = Reconcile::new(bench.github.clone());
    bench.run(&reconcile, &pr).await;
    let old = bench.view(&pr).check_run("loopgate / verify").unwrap().id;
    alice
        .push(&pr, &[("src/lib.rs", "fn two() {}\n")], "More")
        .unwrap();
    bench.run(&reconcile, &pr).await;
    let path = format!("/repos/{}/check-runs/{old}", bench.repo);
    let run: serde_json::Value = bench.client().get(&path).await.unwrap();
    assert_eq!(
        (&run["status"], &run["conclusion"]),
        (&"completed".into(), &"cancelled".into())
    );
}

#[tokio::test]
async fn a_repository_that_has_not_switched_it_on_gets_nothing() {
    let bench = Bench::with_config(None).await;
    let pr = bench.opens(change());
    let reconcile = Reconcile::new(bench.github.clone());
    for _ in 0..2 {
        assert_eq!(
            bench.run(&reconcile, &pr).await.result,
            ReconcileResult::Dormant
        );
    }
    assert_eq!(ours(&bench.view(&pr)), [""; 0]);
    assert!(bench.view(&pr).check_runs.is_empty());
    assert!(
        bench
            .sim
            .refs(&bench.repo)
            .unwrap()
            .iter()
            .all(|name| !name.contains("loopgate"))
    );
}

#[tokio::test]
async fn two_processes_at_once_agree_on_one_state_and_one_surface() {
    let bench = Bench::new().await;
    security_team(&bench.sim, &bench);
    let pr = bench.opens(change());
    let (one, two) = (bench.github.clone(), app(&bench.sim, &bench.clock));
    let (one, two) = (Reconcile::new(one), Reconcile::new(two));
    futures::join!(bench.run(&one, &pr), bench.run(&two, &pr));
    futures::join!(bench.run(&one, &pr), bench.run(&two, &pr));
    bench.run(&one, &pr).await;
    let pull = bench.view(&pr);
    let said = ours(&pull);
    assert_eq!(
        said.iter()
            .filter(|body| body.starts_with("<!-- loopgate:status -->"))
            .count(),
        1,
        "{said:#?}"
    );
    let state = bench.state(&pr);
    let begun = state.files["history.jsonl"]
        .matches("\"run_started\"")
        .count();
    assert_eq!(begun, 1, "one run: {}", state.files["history.jsonl"]);
}

#[tokio::test]
async fn a_reviewer_that_github_refuses_is_told_and_does_not_stop_the_rest() {
    let config = format!(
        "{}gates:\n  security: {{ approvers: {{ users: [mallory, bob] }} }}\n",
        CONFIG
    );
    let bench = Bench::with_config(Some(&config)).await;
    let pr = bench.opens(change());
    let reconcile = Reconcile::new(bench.github.clone());
    let summary = bench.decided(&reconcile, &pr).await;
    let what: Vec<_> = summary
        .problems
        .iter()
        .map(|problem| problem.what.as_str())
        .collect();
    assert_eq!(what, ["request a review by mallory"]);
    let pull = bench.view(&pr);
    assert_eq!(pull.requested_reviewers, ["bob"]);
    let status = ours(&pull)
        .into_iter()
        .find(|body| body.contains("loopgate:status"))
        .unwrap()
        .to_owned();
    assert!(
        status.contains("mallory") && status.contains("request a review"),
        "{status}"
    );
    bench.run(&reconcile, &pr).await;
    bench.sim.forget_requests();
    bench.run(&reconcile, &pr).await;
    assert_eq!(
        bench.sim.request_counts().writes,
        0,
        "and it stays told, without asking again"
    );
}

#[tokio::test]
async fn a_state_somebody_broke_is_recovered_and_people_are_told() {
    let bench = Bench::new().await;
    let pr = bench.opens(change());
    let reconcile = Reconcile::new(bench.github.clone());
    let run = bench.decided(&reconcile, &pr).await.run_id;
    bench.checked(&pr, "failed");
    bench.run(&reconcile, &pr).await;
    let objects = GithubObjects::new(bench.client(), bench.repo.clone());
    let (name, files) = (
        RefName::pull_request(pr.number),
        [("loop-state.json".to_owned(), "{}".to_owned())],
    );
    let parent = objects.read_ref(&name).await.unwrap();
    let meddled = objects
        .write_commit(NewCommit {
            parent,
            files: &files,
            subject: "meddled",
            ..NewCommit::default()
        })
        .await
        .unwrap();
    objects
        .compare_and_swap(&name, parent, meddled)
        .await
        .unwrap();
    let summary = bench
        .decided(&Reconcile::new(app(&bench.sim, &bench.clock)), &pr)
        .await;
    assert_eq!((summary.run_id, summary.attempt), (run, 1));
    assert!(bench.state(&pr).files["history.jsonl"].contains("rebuilt from"));
    let said = ours(&bench.view(&pr)).join("\n");
    assert!(said.contains("rebuilt from"), "{said}");
}

#[tokio::test]
async fn a_merged_branch_is_deleted_where_the_configuration_says_so() {
    let bench = Bench::with_config(Some(&format!(
        "{}on_complete: {{ delete_branch: true }}\n",
        CONFIG
    )))
    .await;
    let pr = bench.opens(change());
    let other = bench.opens(change());
    let reconcile = Reconcile::new(bench.github.clone());
    for pr in [&pr, &other] {
        bench.run(&reconcile, pr).await;
        bench.sim.user("olga").merge(pr).unwrap();
    }
    let (branch, left) = (
        |pr: &Pr| format!("refs/heads/{}", bench.view(pr).head_branch),
        || bench.sim.refs(&bench.repo).unwrap(),
    );
    bench.run(&reconcile, &pr).await;
    assert!(!left().contains(&branch(&pr)), "{:?}", left());
    bench
        .sim
        .user("alice")
        .push(&other, &[("README.md", "more\n")], "more")
        .unwrap();
    bench.run(&reconcile, &other).await;
    assert!(
        left().contains(&branch(&other)),
        "somebody still works on it"
    );
    let said = ours(&bench.view(&other)).join("\n");
    assert!(
        said.contains("somebody pushed to it after the merge"),
        "{said}"
    );
}

#[tokio::test]
async fn a_merge_completes_the_run_which_is_folded_and_left_alone() {
    let bench = Bench::new().await;
    let pr = bench.opens(change());
    let reconcile = Reconcile::new(bench.github.clone());
    bench.run(&reconcile, &pr).await;
    bench.sim.user("olga").merge(&pr).unwrap();
    bench.run(&reconcile, &pr).await;
    let merged = bench.run(&reconcile, &pr).await;
    let ReconcileResult::Decided(summary) = &merged.result else {
        panic!("{merged:?}")
    };
    assert_eq!(summary.word, DecisionWord::Proceed);
    bench.clock.advance(TimeDelta::days(15));
    let folded = fold_ended_runs(
        bench.client().repo(&bench.repo),
        &BTreeSet::new(),
        100,
        bench.now(),
    )
    .await
    .unwrap();
    assert_eq!(folded.runs, 1);
    assert_eq!(
        bench.run(&reconcile, &pr).await.result,
        ReconcileResult::Nothing,
        "a late comment begins no new run"
    );
}

#[tokio::test]
async fn a_configuration_that_a_commit_took_away_takes_labels_and_requests_with_it() {
    let bench = Bench::new().await;
    security_team(&bench.sim, &bench);
    let pr = bench.opens(change());
    let reconcile = Reconcile::new(bench.github.clone()).staying();
    // Who is asked is recorded by the look that the request itself causes.
    bench.decided(&reconcile, &pr).await;
    bench.decided(&reconcile, &pr).await;
    let asked = bench.view(&pr);
    assert!(
        asked.labels.len() == 3 && !asked.requested_teams.is_empty(),
        "{asked:?}"
    );
    let olga = bench.sim.user("olga");
    let file = ".github/loopgate.yml";
    let removed = CommitSpec::new("Off").remove(file);
    olga.push_to(&bench.repo, "main", removed).unwrap();
    let mut first = None;
    for process in [
        &reconcile,
        &reconcile,
        &Reconcile::new(app(&bench.sim, &bench.clock)).staying(),
    ] {
        bench.clock.advance(TimeDelta::minutes(1));
        assert_eq!(
            bench.run(process, &pr).await.result,
            ReconcileResult::Dormant
        );
        let left = bench.view(&pr);
        assert_eq!(
            (left.labels.len(), left.requested_teams.len()),
            (0, 0),
            "{left:?}"
        );
        let said = ours(&left);
        assert!(
            said[0].contains("switched off here") && said[0].contains("`main`"),
            "{said:?}"
        );
        let said = said.join("\n");
        assert_eq!(
            first.get_or_insert_with(|| said.clone()),
            &said,
            "it is said once"
        );
    }
    olga.push_to(
        &bench.repo,
        "main",
        CommitSpec::new("On").file(file, CONFIG),
    )
    .unwrap();
    bench.clock.advance(TimeDelta::minutes(1));
    bench.decided(&reconcile, &pr).await;
    let back = bench.view(&pr);
    assert_eq!(
        (&back.labels, &back.requested_teams),
        (&asked.labels, &asked.requested_teams)
    );
    assert!(!ours(&back)[0].contains("switched off here"));
}

#[tokio::test]
async fn a_reopened_pull_request_gets_its_run_back() {
    let bench = Bench::new().await;
    let alice = bench.sim.user("alice");
    let pr = alice.open_pull_request(&bench.repo, change()).unwrap();
    let reconcile = Reconcile::new(bench.github.clone());
    let run = bench.decided(&reconcile, &pr).await.run_id;
    alice.close(&pr).unwrap();
    bench.run(&reconcile, &pr).await;
    bench.run(&reconcile, &pr).await;
    bench.clock.advance(TimeDelta::days(20));
    fold_ended_runs(
        bench.client().repo(&bench.repo),
        &BTreeSet::new(),
        100,
        bench.now(),
    )
    .await
    .unwrap();
    assert!(
        bench
            .sim
            .state_ref(&bench.repo, &format!("refs/loopgate/pr/{}", pr.number))
            .unwrap()
            .is_none()
    );
    alice.reopen(&pr).unwrap();
    assert_eq!(bench.decided(&reconcile, &pr).await.run_id, run);
}

#[tokio::test]
async fn a_rate_limit_is_handed_up_with_the_time_to_come_back() {
    let bench = Bench::new().await;
    let pr = bench.opens(change());
    bench.sim.add_fault(
        RequestFault::on("/git/trees", Harm::secondary_limit(90))
            .unwrap()
            .method(http::Method::POST),
    );
    let reconcile = Reconcile::new(bench.github.clone());
    let failed = reconcile
        .run(&bench.job(&pr), bench.now())
        .await
        .unwrap_err();
    assert_eq!(
        failed.retry,
        Retry::At(bench.now() + TimeDelta::seconds(90))
    );
    bench.sim.heal();
    bench.clock.advance(TimeDelta::seconds(90));
    bench.decided(&reconcile, &pr).await;
}

#[tokio::test]
async fn a_turn_that_broke_off_anywhere_is_healed_by_the_next() {
    let whole = {
        let bench = Bench::new().await;
        security_team(&bench.sim, &bench);
        let pr = bench.opens(change());
        bench.run(&Reconcile::new(bench.github.clone()), &pr).await;
        settled(&bench, &pr)
    };
    for nth in 0..12 {
        let bench = Bench::new().await;
        security_team(&bench.sim, &bench);
        let pr = bench.opens(change());
        // The nth write is carried out, but its answer is lost, as when the process dies.
        let spare = RequestFault::on("/repos/", Harm::Delay(std::time::Duration::ZERO)).unwrap();
        bench
            .sim
            .add_fault(spare.method(http::Method::POST).often(Often::Times(nth)));
        let lost = RequestFault::on("/repos/", Harm::DropAnswer)
            .unwrap()
            .method(http::Method::POST);
        bench.sim.add_fault(lost.often(Often::Times(1)));
        let first = Reconcile::new(bench.github.clone())
            .run(&bench.job(&pr), bench.now())
            .await;
        bench.sim.heal();
        bench
            .run(&Reconcile::new(app(&bench.sim, &bench.clock)), &pr)
            .await;
        assert_eq!(
            settled(&bench, &pr),
            whole,
            "after losing the answer to write {nth}: {first:?}"
        );
    }
}

#[tokio::test]
async fn comments_that_follow_from_what_another_process_saved_just_now_are_left_to_it() {
    let bench = Bench::new().await;
    security_team(&bench.sim, &bench);
    let pr = bench.opens(change());
    let other = Reconcile::new(app(&bench.sim, &bench.clock));
    bench.clock.advance(TimeDelta::seconds(2));
    // One process saves, and is slow to show it: here it never does.
    let lost = RequestFault::on("/issues/", Harm::Drop)
        .unwrap()
        .method(http::Method::POST);
    bench.sim.add_fault(lost);
    let _ = Reconcile::new(bench.github.clone())
        .run(&bench.job(&pr), bench.now())
        .await;
    bench.sim.heal();
    let outcome = other.run(&bench.job(&pr), bench.now()).await.unwrap();
    assert_eq!(ours(&bench.view(&pr)), [""; 0]);
    let again = outcome.revisit_at.expect("it looks again soon");
    assert!(again <= bench.now() + TimeDelta::seconds(10), "{again}");
    bench.clock.advance(TimeDelta::seconds(10));
    other.run(&bench.job(&pr), bench.now()).await.unwrap();
    assert_eq!(
        ours(&bench.view(&pr)).len(),
        3,
        "the status and two requests"
    );
}

/// What people see in the end: labels, reviewers, our comments' markers, check runs.
pub fn settled(bench: &Bench, pr: &Pr) -> String {
    let pull = bench.view(pr);
    let mut labels = pull.labels.clone();
    labels.sort();
    let mut markers: Vec<_> = ours(&pull)
        .iter()
        .filter_map(|body| body.lines().next())
        .map(str::to_owned)
        .collect();
    markers.sort();
    let run = |name| {
        pull.check_run(name)
            .map(|run| (run.status, run.conclusion, run.title.clone()))
    };
    let checks = (run("loopgate / verify"), run("loopgate / gates"));
    format!(
        "{labels:?} {:?} {:?} {markers:?} {checks:?}",
        pull.requested_reviewers, pull.requested_teams
    )
}

#[tokio::test]
async fn a_commit_on_the_base_branch_that_leaves_the_configuration_alone_changes_nothing() {
    let bench = Bench::new().await;
    let pr = bench.opens(change());
    let reconcile = Reconcile::new(bench.github.clone());
    bench.run(&reconcile, &pr).await;
    bench.run(&reconcile, &pr).await;
    bench
        .sim
        .user("olga")
        .push_to(
            &bench.repo,
            "main",
            CommitSpec::new("Other").file("other.txt", "x"),
        )
        .unwrap();
    let summary = bench.decided(&reconcile, &pr).await;
    assert_eq!((summary.saved, summary.effects), (None, 0));
}

#[tokio::test]
async fn a_head_that_the_api_does_not_show_yet_is_looked_at_again_soon() {
    let bench = Bench::new().await;
    let pr = bench.opens(change());
    let reconcile = Reconcile::new(bench.github.clone());
    bench.run(&reconcile, &pr).await;
    let newer = Hint::HeadSeen {
        sha: bench.sim.sha(&bench.repo, "main").unwrap(),
        at: bench.now(),
    };
    let job = ReconcileRequest {
        hints: vec![newer],
        ..bench.job(&pr)
    };
    let outcome = reconcile.run(&job, bench.now()).await.unwrap();
    assert!(
        outcome
            .revisit_at
            .is_some_and(|at| at <= bench.now() + TimeDelta::minutes(1)),
        "{outcome:?}"
    );
}

/// A list of comments as it was the last time, for a server whose replicas lag behind.
fn stale(path: &str, times: u32) -> RequestFault {
    RequestFault::on(path, Harm::Stale)
        .unwrap()
        .method(Method::GET)
        .often(Often::Times(times))
}

#[tokio::test]
async fn what_an_event_told_is_waited_for_until_the_api_shows_it() {
    let bench = Bench::new().await;
    let pr = bench.opens(change());
    let reconcile = Reconcile::new(bench.github.clone()).staying();
    // From here on the simulator remembers what it answered.
    bench.sim.add_fault(stale("/comments", 0));
    bench.run(&reconcile, &pr).await;
    let comment = bench.sim.user("alice").comment(&pr, "/loop help").unwrap();
    bench.sim.add_fault(stale("/comments", 7));
    let told = ReconcileRequest {
        hints: vec![Hint::CommentWritten { comment }],
        ..bench.job(&pr)
    };
    let since = bench.now();
    let first = reconcile.run(&told, since).await.unwrap();
    assert_eq!(first.revisit_at, Some(since + TimeDelta::seconds(2)));
    // Without the hint, which is gone with its delivery. Looks that other events lead to cost none of those that are
    // due.
    for _ in 0..5 {
        let between = reconcile.run(&bench.job(&pr), bench.now()).await.unwrap();
        assert_eq!(between.revisit_at, first.revisit_at);
    }
    bench.clock.advance(TimeDelta::seconds(2));
    let second = reconcile.run(&bench.job(&pr), bench.now()).await.unwrap();
    assert_eq!(second.revisit_at, Some(since + TimeDelta::seconds(8)));
    let third = reconcile.run(&bench.job(&pr), bench.now()).await.unwrap();
    assert!(
        third
            .revisit_at
            .is_none_or(|at| at > since + TimeDelta::seconds(30)),
        "{third:?}"
    );
    let ReconcileResult::Decided(summary) = third.result else {
        panic!("{third:?}")
    };
    assert!(summary.effects > 0, "the command was answered: {summary:?}");
}

#[tokio::test]
async fn what_was_posted_is_not_posted_again_while_the_list_lags_behind() {
    let bench = Bench::new().await;
    let pr = bench.opens(change());
    // Listed once before anything was posted, so that there is something old to show.
    bench.sim.add_fault(stale("/comments|/check-runs", 0));
    let client = bench.github.client(Some(bench.installation()));
    let read = async |what: &str| {
        client
            .get::<serde_json::Value>(&format!("/repos/{}/{what}", pr.repo))
            .await
            .unwrap()
    };
    let head = bench.view(&pr).head_sha;
    read(&format!("issues/{}/comments?per_page=100", pr.number)).await;
    read(&format!("commits/{head}/check-runs?per_page=100")).await;
    bench.sim.add_fault(stale("/comments|/check-runs", 1_000));
    let reconcile = Reconcile::new(bench.github.clone());
    for _ in 0..3 {
        bench.run(&reconcile, &pr).await;
    }
    let posts = |below: &str| {
        let requests = bench.sim.requests();
        requests
            .iter()
            .filter(|it| it.method == "POST" && it.path.ends_with(below))
            .count()
    };
    let view = bench.view(&pr);
    let ours = ours(&view);
    let markers: BTreeSet<_> = ours.iter().filter_map(|body| body.lines().next()).collect();
    assert_eq!(
        (posts("/comments"), posts("/check-runs")),
        (markers.len(), 2),
        "{ours:?}"
    );
}

#[tokio::test]
async fn a_configuration_that_seemed_absent_is_looked_for_again() {
    let bench = Bench::new().await;
    let pr = bench.opens(change());
    let absent = Harm::status(StatusCode::NOT_FOUND);
    let once = RequestFault::on("contents/.github/loopgate.yml", absent)
        .unwrap()
        .often(Often::Times(1));
    bench.sim.add_fault(once);
    let reconcile = Reconcile::new(bench.github.clone()).staying();
    let mut outcome = reconcile.run(&bench.job(&pr), bench.now()).await.unwrap();
    // An event of a second later is a look that does not ask GitHub: its wish replaces that of the first.
    bench.clock.advance(TimeDelta::seconds(1));
    outcome.revisit_at = bench.run(&reconcile, &pr).await.revisit_at;
    assert_eq!(outcome.result, ReconcileResult::Dormant);
    let again = outcome
        .revisit_at
        .expect("one answer that may be wrong switches no repository off");
    assert!(again <= bench.now() + TimeDelta::minutes(1), "{again}");
    bench.clock.advance(again - bench.now());
    assert!(matches!(
        bench.run(&reconcile, &pr).await.result,
        ReconcileResult::Decided(_)
    ));
}

#[tokio::test]
async fn rights_that_could_not_be_read_are_asked_for_within_seconds() {
    let bench = Bench::new().await;
    let pr = bench.opens(change());
    let reconcile = Reconcile::new(bench.github.clone());
    bench.run(&reconcile, &pr).await;
    bench.sim.user("olga").comment(&pr, "/loop retry").unwrap();
    let away = Harm::status(StatusCode::SERVICE_UNAVAILABLE);
    bench.sim.add_fault(
        RequestFault::on("/permission$", away)
            .unwrap()
            .often(Often::Times(3)),
    );
    let outcome = reconcile.run(&bench.job(&pr), bench.now()).await.unwrap();
    assert!(
        outcome
            .revisit_at
            .is_some_and(|at| at <= bench.now() + TimeDelta::seconds(5)),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn retry_has_github_run_the_workflow_again_once() {
    let bench = Bench::new().await;
    let spec = PullSpec::new("Count").file("src/lib.rs", "// One.\n");
    let pr = bench.opens(spec);
    bench.checked(&pr, "failed");
    let reconcile = Reconcile::new(bench.github.clone());
    bench.run(&reconcile, &pr).await;
    bench.sim.user("alice").comment(&pr, "/loop retry").unwrap();
    bench.sim.forget_requests();
    for _ in 0..3 {
        bench.run(&reconcile, &pr).await;
    }
    let requests = bench.sim.requests();
    let again = requests
        .iter()
        .filter(|request| request.path.ends_with("/rerun"))
        .count();
    assert_eq!(again, 1, "{requests:?}");
    let pull = bench.view(&pr);
    let status = ours(&pull)
        .into_iter()
        .find(|body| body.starts_with("<!-- loopgate:status -->"))
        .unwrap();
    assert!(
        status.contains("asked GitHub to run `unit` again on this commit"),
        "{status}"
    );
    assert!(
        pull.labels.contains(&"loop:verifying".to_owned()),
        "it runs: {:?}",
        pull.labels
    );
}

/// One process is about to save what it decided about a head, when there is another head, and another process saves
/// what it decided about that.
#[tokio::test(flavor = "multi_thread")]
async fn a_save_that_comes_second_looks_again_where_the_first_saw_another_head() {
    let bench = Bench::new().await;
    let pr = bench.opens(change());
    // Processes of their own: within one, writes wait for each other.
    let [slow, quick] = [(); 2].map(|()| Reconcile::new(app(&bench.sim, &bench.clock)));
    bench.decided(&quick, &pr).await;
    bench.checked(&pr, "failed");
    let first = bench.view(&pr).head_sha;
    let save = RequestFault::on("/git/refs/loopgate/pr/", Harm::Hold)
        .unwrap()
        .often(Often::Times(1));
    bench.sim.add_fault(save.method(http::Method::PATCH));
    let (job, now) = (bench.job(&pr), bench.now());
    let late = slow.run(&job, now);
    let meanwhile = async {
        let waits = |sim: &Simulator| sim.hanging() == 1;
        bench
            .sim
            .wait_until(waits, std::time::Duration::from_secs(30))
            .await
            .unwrap();
        bench
            .sim
            .user("alice")
            .push(&pr, &[("src/lib.rs", "fn two() {}\n")], "More")
            .unwrap();
        let summary = bench.decided(&quick, &pr).await;
        bench.sim.heal();
        summary
    };
    let (late, quick) = futures::join!(late, meanwhile);
    let ReconcileResult::Decided(late) = late.unwrap().result else {
        panic!("it decides in the end")
    };
    assert_eq!(
        (late.word, late.attempt),
        (quick.word, 1),
        "it sees what the other saw"
    );
    let state = loopgate_core::fixtures::run_document(&bench.state(&pr).files["loop-state.json"]);
    assert_eq!(
        state["headSha"],
        serde_json::json!(bench.view(&pr).head_sha)
    );
    assert_eq!(
        state["attempts"],
        serde_json::json!([]),
        "what ended on the old head came too late"
    );
    let heads = state["firstSeenHeads"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|seen| seen["sha"] == serde_json::json!(first));
    assert_eq!(
        heads.count(),
        1,
        "the older head did not come back: {state:#}"
    );
}

/// Ten failing attempts, each with its own failures (the ref may grow by 20 KB for each).
#[tokio::test(flavor = "multi_thread")]
async fn the_state_of_ten_attempts_stays_small_and_reads_as_a_log() {
    let bench = Bench::new().await;
    let pr = bench.sim.user("alice").open_pull_request(
        &bench.repo,
        PullSpec::new("Add one").file("src/lib.rs", "1\n"),
    );
    let pr = pr.unwrap();
    let reconcile = Reconcile::new(bench.github.clone());
    bench.decided(&reconcile, &pr).await;
    for nth in 1..=10 {
        if nth > 1 {
            let file = format!("fn number_{nth}() {{}}\n");
            bench
                .sim
                .user("alice")
                .push(&pr, &[("src/lib.rs", &file)], "Try again")
                .unwrap();
            bench.decided(&reconcile, &pr).await;
        }
        bench.checked(&pr, "failed");
        bench.decided(&reconcile, &pr).await;
    }
    let state = bench.state(&pr);
    let attempts = state
        .files
        .keys()
        .filter(|path| path.starts_with("attempts/"))
        .count();
    assert_eq!(attempts, 10, "{:?}", state.files.keys());
    let tip: usize = state.files.values().map(String::len).sum();
    println!(
        "{} commits; the files of the newest weigh {tip} bytes:",
        state.commits.len()
    );
    for (path, text) in &state.files {
        println!("  {:>6} {path}", text.len());
    }
    for (_, message) in &state.commits {
        println!("{}", message.lines().next().unwrap_or_default());
    }
    assert!(tip <= 10 * 20_000, "{tip} bytes");
    assert!(
        state.commits.len() <= 22,
        "one save for each look that changed something: {}",
        state.commits.len()
    );
    let failing = state
        .commits
        .iter()
        .filter(|(_, message)| message.starts_with("attempt "))
        .count();
    assert!(failing >= 10, "{:?}", state.commits);
}

#[tokio::test]
async fn beyond_five_hundred_creations_an_hour_comments_wait_and_verdicts_appear() {
    let bench = Bench::new().await;
    bench.sim.keep_limits(SecondaryLimits::CREATES);
    let reconcile = Reconcile::new(bench.github.clone()).staying();
    let mut pulls = Vec::new();
    for nth in 0..110 {
        let spec = change().branch(&format!("branch-{nth}"));
        let pr = bench.opens(spec);
        let outcome = bench.run(&reconcile, &pr).await;
        let run = bench
            .view(&pr)
            .check_run("loopgate / verify")
            .cloned()
            .expect("the verdict is there");
        assert!(
            run.summary.is_some_and(|summary| !summary.is_empty()),
            "and says what the comment would"
        );
        pulls.push((pr, outcome.revisit_at));
        bench.clock.advance(TimeDelta::seconds(15));
    }
    let refused = bench
        .sim
        .requests()
        .iter()
        .filter(|it| it.status == Some(StatusCode::FORBIDDEN))
        .count();
    assert_eq!(refused, 0);
    let (last, revisit_at) = pulls.pop().unwrap();
    assert_eq!(
        (ours(&bench.view(&last)), bench.view(&last).labels),
        (vec![], vec![])
    );
    let again = revisit_at.unwrap();
    assert!(again - bench.now() < TimeDelta::hours(1), "{again}");
    // Nobody else comes back here, so it takes until nobody is waited for.
    bench.clock.advance(TimeDelta::hours(2));
    bench.run(&reconcile, &last).await;
    let view = bench.view(&last);
    assert!(
        !ours(&view).is_empty() && !view.labels.is_empty(),
        "{view:?}"
    );
}

#[tokio::test]
async fn an_archived_repository_is_not_written_to_until_it_is_back() {
    let bench = Bench::new().await;
    let reconcile = Reconcile::new(bench.github.clone());
    let spec = PullSpec::new("feat: sign in").file("src/auth/login.rs", "// In.\n");
    let pr = bench.opens(spec);
    bench.sim.admin().archive_repo(&bench.repo, true).unwrap();
    bench.sim.forget_requests();
    assert_eq!(
        bench.run(&reconcile, &pr).await.result,
        ReconcileResult::ReadOnly
    );
    let writes = bench
        .sim
        .requests()
        .into_iter()
        .filter(|it| it.method != Method::GET && it.path.starts_with("/repos/"));
    assert_eq!(writes.count(), 0);

    bench.sim.admin().archive_repo(&bench.repo, false).unwrap();
    bench.decided(&reconcile, &pr).await;
    assert!(!bench.view(&pr).comments.is_empty(), "the status comment");

    // It is archived between what is read and what is written.
    bench
        .sim
        .user("bob")
        .comment(&pr, "security approved")
        .unwrap();
    let archive = RequestFault::on("/git/commits$", Harm::status(StatusCode::FORBIDDEN)).unwrap();
    bench.sim.add_fault(archive);
    let outcome = bench.run(&reconcile, &pr).await;
    assert!(
        matches!(outcome.result, ReconcileResult::Decided(_)),
        "a refusal is no outage: {outcome:?}"
    );
}

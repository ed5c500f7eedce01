use loopgate::github::{Error, Observer};
use loopgate_core::{
    observed::{
        ChangedFiles, CheckProgress, CodeType, Conclusion as Concluded, Hint, Lifecycle,
        Permission, ReceivedEvidence, ReviewVerdict, Standing,
    },
    policy::PolicyOrigin,
};
use loopgate_simulator::{
    CheckSpec, Conclusion, Harm, Often, Protection, PullSpec, RequestFault, ReviewEvent, Role,
    RunSpec, StatusState,
};

use crate::bench::{Bench, CI, CONFIG, app, archive, evidence};

fn auth_change() -> PullSpec {
    PullSpec::new("Check tokens")
        .file("src/auth/token.rs", "fn check() {}\n")
        .body("Fixes #7")
}

#[tokio::test]
async fn everything_the_decision_needs_is_observed() {
    let bench = Bench::new().await;
    let (sim, repo) = (&bench.sim, &bench.repo);
    let team = sim.admin().add_team("acme/security", &["bob"]).unwrap();
    sim.admin().grant_team(&team, repo, Role::Write).unwrap();
    let pr = sim
        .user("alice")
        .open_pull_request(repo, auth_change())
        .unwrap();
    let head = sim.pull_request(&pr).unwrap().head_sha;
    sim.user("bob").comment(&pr, "security approved").unwrap();
    let noise = sim.user("carol").comment(&pr, "nice weather").unwrap();
    sim.user("olga")
        .hide_comment(&pr, noise, "OFF_TOPIC")
        .unwrap();
    sim.user("bob")
        .review(&pr, ReviewEvent::Approve, "fine")
        .unwrap();
    let failing = CheckSpec::concluded("build", Conclusion::Failure).annotation(
        "src/lib.rs",
        1,
        "no such type",
    );
    sim.ci("other-ci").check_run(repo, head, failing).unwrap();
    sim.ci("other-ci")
        .status(repo, head, "ci/legacy", StatusState::Pending)
        .unwrap();
    let run = sim.start_workflow(repo, RunSpec::new(head, CI)).unwrap();
    let zip = archive(&evidence(head, run.get(), "failed"));
    let artifacts = vec![("loopgate-evidence-test-00000000-1".to_owned(), zip.into())];
    sim.finish_workflow(repo, run, Conclusion::Failure, artifacts)
        .unwrap();

    let observer = Observer::new(bench.github.clone());
    let observed = bench.observe(&observer, &pr).await.unwrap().unwrap();
    let snapshot = &observed.snapshot;
    assert_eq!(snapshot.problems, []);
    let pull_request = &snapshot.pull_request;
    assert_eq!(
        (pull_request.title.as_str(), pull_request.body.as_str()),
        ("Check tokens", "Fixes #7")
    );
    assert_eq!(
        (pull_request.head.sha, &pull_request.lifecycle),
        (head, &Lifecycle::Open)
    );
    assert_ne!(pull_request.head.tree, head, "the tree is known");
    assert!(
        pull_request
            .head
            .known_since
            .is_some_and(|since| since >= pull_request.created_at)
    );
    let ChangedFiles::Complete(files) = &snapshot.files else {
        panic!("{:?}", snapshot.files)
    };
    assert_eq!(files[0].path, "src/auth/token.rs");
    assert_eq!(files[0].added_lines().unwrap(), [(1, "fn check() {}")]);
    assert_eq!(snapshot.commits.items.len(), 1);
    assert!(snapshot.comments.is_complete);
    let hidden: Vec<_> = snapshot
        .comments
        .items
        .iter()
        .map(|comment| comment.is_hidden)
        .collect();
    assert_eq!(hidden, [false, true]);
    assert_eq!(snapshot.reviews.items[0].verdict, ReviewVerdict::Approved);
    assert_eq!(snapshot.reviews.items[0].commit, Some(head));

    let build = snapshot
        .checks
        .iter()
        .find(|check| check.name == "build")
        .unwrap();
    assert!(matches!(
        build.progress,
        CheckProgress::Completed {
            conclusion: Concluded::Failure,
            ..
        }
    ));
    assert_eq!(build.annotations[0].message, "no such type");
    let legacy = snapshot
        .checks
        .iter()
        .find(|check| check.name == "ci/legacy")
        .unwrap();
    assert_eq!(
        (legacy.id, &legacy.progress),
        (None, &CheckProgress::InProgress)
    );
    let [ReceivedEvidence::Accepted(received)] = snapshot.evidence.as_slice() else {
        panic!("{:?}", snapshot.evidence)
    };
    assert_eq!(received.checks[0].name.as_str(), "unit");
    assert_eq!(snapshot.workflow_runs[0].path, CI);

    let bob = snapshot.comments.items[0].author.id;
    let Some(Standing::Known { permission, teams }) = snapshot.authority.people.get(&bob) else {
        panic!()
    };
    assert_eq!(
        (*permission, teams.contains(&team)),
        (Permission::Write, true)
    );
    assert!(matches!(&snapshot.authority.teams[&team], Ok(members) if members.len() == 1));
    let carol = snapshot.comments.items[1].author.id;
    assert!(
        !snapshot.authority.people.contains_key(&carol),
        "who only chats is not looked up"
    );
    assert!(
        matches!(observed.policy.origin, PolicyOrigin::Base { commit } if commit == sim.sha(repo, "main").unwrap())
    );
}

#[tokio::test]
async fn a_first_look_costs_twenty_reads_and_an_unchanged_one_ten_that_are_free() {
    let bench = Bench::new().await;
    let team = bench
        .sim
        .admin()
        .add_team("acme/security", &["bob"])
        .unwrap();
    bench
        .sim
        .admin()
        .grant_team(&team, &bench.repo, Role::Write)
        .unwrap();
    let pr = bench.opens(auth_change());
    bench.sim.user("bob").comment(&pr, "looks good").unwrap();
    let observer = Observer::new(bench.github.clone());
    bench.github.identity(&bench.client()).await.unwrap();
    let seen = Hint::HeadSeen {
        sha: bench.sim.pull_request(&pr).unwrap().head_sha,
        at: bench.now(),
    };
    bench
        .client()
        .repo(&bench.repo)
        .open_pull_requests(None)
        .await
        .unwrap();
    bench.sim.forget_requests();
    bench
        .observe_with(&observer, &pr, vec![seen.clone()], None)
        .await
        .unwrap()
        .unwrap();
    // Reading the state ref comes on top, here and below. Three are the workflows at the base, by their content; one is
    // who may write, for all pull requests of the repository for five minutes.
    let first = bench.sim.request_counts();
    assert!(
        first.total <= 19 && first.writes == 0,
        "{first:?} {:#?}",
        paths(&bench)
    );
    bench.sim.forget_requests();
    bench
        .observe_with(&observer, &pr, vec![seen], None)
        .await
        .unwrap()
        .unwrap();
    let again = bench.sim.request_counts();
    assert!(again.total <= 9, "{again:?} {:#?}", paths(&bench));
    assert_eq!(
        (again.not_modified, again.writes),
        (again.total, 0),
        "{:#?}",
        paths(&bench)
    );
}

fn paths(bench: &Bench) -> Vec<String> {
    let line = |record: &loopgate_simulator::RequestRecord| {
        format!(
            "{} {} {:?}",
            record.method,
            record.path,
            record.status.map(|status| status.as_u16())
        )
    };
    bench.sim.requests().iter().map(line).collect()
}

#[tokio::test]
async fn a_repository_without_configuration_costs_four_reads_once_it_is_known() {
    let bench = Bench::with_config(None).await;
    let pr = bench.opens(auth_change());
    let observer = Observer::new(bench.github.clone());
    assert!(bench.observe(&observer, &pr).await.unwrap().is_none());
    bench.sim.forget_requests();
    assert!(bench.observe(&observer, &pr).await.unwrap().is_none());
    assert!(
        bench.sim.request_counts().total <= 4,
        "{:#?}",
        paths(&bench)
    );

    bench
        .sim
        .user("olga")
        .push_to(&bench.repo, "main", commit(CONFIG))
        .unwrap();
    assert!(
        bench.observe(&observer, &pr).await.unwrap().is_some(),
        "switched on by a commit on the base branch"
    );
}

fn commit(config: &str) -> loopgate_simulator::CommitSpec {
    loopgate_simulator::CommitSpec::new("Configure").file(".github/loopgate.yml", config)
}

#[tokio::test]
async fn the_last_good_configuration_governs_while_the_newest_is_wrong() {
    let bench = Bench::new().await;
    let olga = bench.sim.user("olga");
    let good = bench.sim.sha(&bench.repo, "main").unwrap();
    let pr = bench.opens(auth_change());
    for broken in ["version: 1\nmood: good\n", "version: 1\nnonsense: 2\n"] {
        olga.push_to(&bench.repo, "main", commit(broken)).unwrap();
    }
    let observer = Observer::new(bench.github.clone());
    let observed = bench.observe(&observer, &pr).await.unwrap().unwrap();
    let PolicyOrigin::LastGood { commit, error, .. } = &observed.policy.origin else {
        panic!()
    };
    assert_eq!((*commit, error.line, error.column), (good, 2, 1));
    assert!(error.message.contains("nonsense"), "{}", error.message);
    assert_eq!(observed.policy.verify.workflows, [CI]);
}

#[tokio::test]
async fn presets_govern_where_nothing_was_ever_good() {
    let bench = Bench::with_config(Some("version: [")).await;
    let pr = bench.opens(auth_change());
    let observer = Observer::new(bench.github.clone());
    let observed = bench.observe(&observer, &pr).await.unwrap().unwrap();
    assert!(matches!(
        observed.policy.origin,
        PolicyOrigin::Presets { .. }
    ));
    assert!(!observed.policy.gates.is_empty(), "never no gates");
}

#[tokio::test]
async fn the_pull_requests_own_configuration_is_not_read() {
    let bench = Bench::new().await;
    let relaxed = PullSpec::new("Relax").file(
        ".github/loopgate.yml",
        "version: 1\ngates: { security: off }\n",
    );
    let pr = bench.opens(relaxed);
    let observer = Observer::new(bench.github.clone());
    let observed = bench.observe(&observer, &pr).await.unwrap().unwrap();
    assert!(
        observed
            .policy
            .gates
            .keys()
            .any(|gate| gate.as_str() == "security")
    );
}

#[tokio::test]
async fn a_push_is_seen_and_the_files_of_each_head_are_its_own() {
    let bench = Bench::new().await;
    let alice = bench.sim.user("alice");
    let pr = alice.open_pull_request(&bench.repo, auth_change()).unwrap();
    let observer = Observer::new(bench.github.clone());
    bench.observe(&observer, &pr).await.unwrap().unwrap();
    let head = alice
        .push(&pr, &[("src/lib.rs", "fn two() {}\n")], "More")
        .unwrap();
    let observed = bench.observe(&observer, &pr).await.unwrap().unwrap();
    assert_eq!(observed.snapshot.pull_request.head.sha, head);
    assert_eq!(observed.snapshot.files.known().len(), 2);
    assert_eq!(observed.snapshot.commits.items.last().unwrap().sha, head);
}

#[tokio::test]
async fn a_fork_is_observed_like_a_branch() {
    let bench = Bench::new().await;
    let pr = bench
        .sim
        .user("dave")
        .open_pull_request(&bench.repo, auth_change().from_fork())
        .unwrap();
    let head = bench.sim.pull_request(&pr).unwrap().head_sha;
    let observer = Observer::new(bench.github.clone());
    let observed = bench.observe(&observer, &pr).await.unwrap().unwrap();
    assert_eq!(
        observed
            .snapshot
            .pull_request
            .head
            .repository
            .as_ref()
            .unwrap()
            .owner(),
        "dave"
    );
    assert_eq!(observed.snapshot.files.known()[0].path, "src/auth/token.rs");
    assert_eq!(
        bench
            .client()
            .repo(&bench.repo)
            .pull_requests_with_head(head)
            .await
            .unwrap(),
        [pr.number]
    );
}

#[tokio::test]
async fn evidence_that_lies_is_refused_and_said_so() {
    let bench = Bench::new().await;
    let (sim, repo) = (&bench.sim, &bench.repo);
    let pr = sim
        .user("mallory")
        .open_pull_request(repo, auth_change().from_fork())
        .unwrap();
    let head = sim.pull_request(&pr).unwrap().head_sha;
    let main = sim.sha(repo, "main").unwrap();
    let run = sim.start_workflow(repo, RunSpec::new(head, CI)).unwrap();
    let lie = archive(&evidence(main, run.get(), "passed"));
    let artifacts = vec![
        ("loopgate-evidence-x".to_owned(), lie.into()),
        ("coverage".to_owned(), vec![0].into()),
    ];
    sim.finish_workflow(repo, run, Conclusion::Success, artifacts)
        .unwrap();
    let unlisted =
        RunSpec::new(head, ".github/workflows/evil.yml").artifact("loopgate-evidence-y", vec![0]);
    sim.workflow_run(repo, unlisted, Conclusion::Success)
        .unwrap();
    let observer = Observer::new(bench.github.clone());
    let observed = bench.observe(&observer, &pr).await.unwrap().unwrap();
    let [
        ReceivedEvidence::Refused {
            artifact, reason, ..
        },
    ] = observed.snapshot.evidence.as_slice()
    else {
        panic!("{:?}", observed.snapshot.evidence)
    };
    assert_eq!(artifact, "loopgate-evidence-x");
    assert!(reason.starts_with("it is about commit"), "{reason}");
}

#[tokio::test]
async fn required_approvals_come_from_the_base_branchs_rules() {
    let bench = Bench::new().await;
    let rules = Protection {
        required_approvals: 2,
        ..Protection::default()
    };
    bench
        .sim
        .admin()
        .protect(&bench.repo, "main", rules)
        .unwrap();
    let pr = bench.opens(auth_change());
    let observer = Observer::new(bench.github.clone());
    let observed = bench.observe(&observer, &pr).await.unwrap().unwrap();
    assert_eq!(observed.snapshot.required_approvals, 2);
}

#[tokio::test]
async fn a_check_with_our_name_by_another_app_is_reported_and_not_believed() {
    let bench = Bench::new().await;
    let pr = bench.opens(auth_change());
    let head = bench.sim.pull_request(&pr).unwrap().head_sha;
    let forged = CheckSpec::concluded("loopgate / gates", Conclusion::Success);
    bench
        .sim
        .ci("other-ci")
        .check_run(&bench.repo, head, forged)
        .unwrap();
    bench
        .sim
        .ci("other-ci")
        .status(&bench.repo, head, "loopgate / verify", StatusState::Success)
        .unwrap();
    let observer = Observer::new(bench.github.clone());
    let observed = bench.observe(&observer, &pr).await.unwrap().unwrap();
    let mut forged: Vec<_> = observed
        .snapshot
        .forged_checks
        .iter()
        .map(|check| (check.name.as_str(), check.app.as_deref()))
        .collect();
    forged.sort_unstable();
    assert_eq!(
        forged,
        [
            ("loopgate / gates", Some("other-ci")),
            ("loopgate / verify", None)
        ]
    );
    assert_eq!(
        (observed.snapshot.checks, observed.surface.check_runs),
        (vec![], vec![])
    );
}

#[tokio::test]
async fn rights_that_cannot_be_looked_up_are_none_with_the_reason() {
    let bench = Bench::new().await;
    let pr = bench.opens(auth_change());
    bench
        .sim
        .user("bob")
        .comment(&pr, "security approved")
        .unwrap();
    let broken = RequestFault::on(
        "/collaborators/",
        Harm::status(http::StatusCode::BAD_GATEWAY),
    )
    .unwrap();
    bench.sim.add_fault(broken.often(Often::Always));
    let observer = Observer::new(bench.github.clone());
    let observed = bench.observe(&observer, &pr).await.unwrap().unwrap();
    let bob = observed.snapshot.comments.items[0].author.id;
    assert!(
        matches!(&observed.snapshot.authority.people[&bob], Standing::Unknown(reason) if reason.contains("502"))
    );
    bench.sim.heal();
    let observed = bench.observe(&observer, &pr).await.unwrap().unwrap();
    assert!(
        matches!(
            observed.snapshot.authority.people[&bob],
            Standing::Known { .. }
        ),
        "a failure is not remembered"
    );
}

#[tokio::test]
async fn what_is_not_there_is_not_found_and_a_limit_ends_it() {
    let bench = Bench::new().await;
    let pr = bench.opens(auth_change());
    let observer = Observer::new(bench.github.clone());
    let missing = loopgate_simulator::Pr {
        number: loopgate_core::PrNumber::new(99),
        ..pr.clone()
    };
    assert!(matches!(
        bench.observe(&observer, &missing).await,
        Err(Error::NotFound { .. })
    ));
    bench
        .sim
        .add_fault(RequestFault::on("/comments", Harm::secondary_limit(30)).unwrap());
    assert!(matches!(
        bench.observe(&observer, &pr).await,
        Err(Error::RateLimited { .. })
    ));
    let other = app(&bench.sim, &bench.clock);
    bench.sim.heal();
    assert!(
        bench.observe(&Observer::new(other), &pr).await.is_err(),
        "this process keeps to the limit it met"
    );
}

#[tokio::test]
async fn a_label_declares_the_type_of_a_change_if_somebody_with_write_put_it_there() {
    let bench = Bench::new().await;
    let (sim, repo) = (&bench.sim, &bench.repo);
    sim.admin()
        .add_collaborator(repo, "dave", Role::Triage)
        .unwrap();
    let pr = sim
        .user("alice")
        .open_pull_request(repo, auth_change())
        .unwrap();
    let asked = || {
        sim.requests()
            .iter()
            .filter(|request| request.path.ends_with("/events"))
            .count()
    };
    let declared = async || {
        // Each with a memory of its own, since rights are believed for five minutes.
        let observed = bench
            .observe(&Observer::new(bench.github.clone()), &pr)
            .await
            .unwrap()
            .unwrap();
        observed.snapshot.pull_request.declared_type
    };
    sim.user("dave").label(&pr, "bug").unwrap();
    assert_eq!(
        (declared().await, asked()),
        (None, 0),
        "labels that declare nothing cost nothing"
    );
    sim.user("dave").label(&pr, "type: refactor").unwrap();
    assert_eq!((declared().await, asked()), (None, 1));
    sim.user("bob").label(&pr, "Type/fix").unwrap();
    assert_eq!(declared().await, Some(CodeType::BugFix));
    sim.user("bob").unlabel(&pr, "Type/fix").unwrap();
    sim.user("dave").label(&pr, "Type/fix").unwrap();
    assert_eq!(
        declared().await,
        None,
        "who put it there last is asked about"
    );
}

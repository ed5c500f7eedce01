//! What only our own simulator can show: duplicate deliveries, and how many requests a look costs.

use std::sync::Arc;

use chrono::TimeDelta;
use http::StatusCode;

use loopgate::github::{
    ApiUrl, AppCredentials, Clock as _, Credentials, Github, Reconcile, ReconcileRequest,
    ReconcileResult, Secret, Setup, SystemClock,
};
use loopgate_simulator::{
    CheckSpec, Conclusion, Conditional, Config, Harm, Pr, PullSpec, RequestFault, Role, Simulator,
    StatusState,
};

use crate::{
    bases::{CHECKS, GATES},
    gates, triggers,
    world::{GitHub, World},
};

const CONFIGURATION: &str = include_str!("../fixtures/small.loopgate.yml");
const FILES: &[(&str, &str)] = &[(".github/loopgate.yml", CONFIGURATION)];

#[tokio::test(flavor = "multi_thread")]
async fn duplicate_deliveries_change_nothing() {
    let world = World::simulated().await;
    let repo = world.repository("widgets", FILES);
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &[("src/auth/login.rs", "// In.\n")])
        .await;
    world.person("mallory").says(&pr, "security approved").await;
    world.person("bob").says(&pr, "security approved").await;

    let GitHub::Simulated(github) = &world.github else {
        panic!("simulated above")
    };
    let (before, saved) = (github.pull_request(&pr).unwrap(), world.state_commits(&pr));
    let deliveries = github.deliveries();
    assert!(deliveries.len() > 3, "{deliveries:?}");
    github.forget_requests();
    for delivery in &deliveries {
        github.redeliver(delivery).unwrap();
    }
    world.settle().await;
    assert!(github.deliveries().len() >= 2 * deliveries.len());
    assert_eq!(github.pull_request(&pr).unwrap(), before);
    assert_eq!(world.state_commits(&pr), saved);
    assert_eq!(world.writes(), Vec::<String>::new());
    println!(
        "{} deliveries came twice: nothing was written",
        deliveries.len()
    );
}

/// What another App says under one of our names is not among what is read. Nobody waits to see it there.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_bears_our_name_delays_no_call() {
    let world = World::quick(None).await;
    let repo = triggers::watched(&world, "delayed", "", "");
    let pr = triggers::opened(&world, &repo).await;
    triggers::fails_in_turn(&world, &pr, &["expected a comma", "expected a comma"]).await;
    triggers::pushes(&world, &pr, 2).await;
    let head = world.head(&pr).parse().unwrap();
    let namesake = CheckSpec::concluded("loopgate / gates", Conclusion::Success);
    world
        .simulator()
        .ci("other-ci")
        .check_run(&repo, head, namesake)
        .unwrap();
    triggers::fails(&world, &pr, "expected a comma").await;
    assert_eq!(
        triggers::calls(&world.look(&pr)).len(),
        1,
        "{:?}",
        world.look(&pr)
    );
}

/// Nobody accepts their own work, unless nobody else could.
#[tokio::test(flavor = "multi_thread")]
async fn the_only_person_with_write_access_accepts_what_their_change_weakens() {
    let world = World::quick(None).await;
    let repo = triggers::watched(&world, "alone", "", "");
    let pr = world
        .person("olga")
        .opens(
            &repo,
            "feat: sums",
            &[("tests/sums.rs", triggers::ONE_TEST)],
        )
        .await;
    triggers::passes(&world, &pr).await;
    world
        .person("olga")
        .says(&pr, "/loop resume --accept tampering")
        .await;
    assert!(
        world.look(&pr).has_label("loop:blocked"),
        "alice and bob may write: {:?}",
        world.look(&pr)
    );

    world
        .simulator()
        .admin()
        .set_base_role("acme", None)
        .unwrap();
    // No event announces it: what was read of people's rights is believed for five minutes.
    world.wait(TimeDelta::minutes(6));
    world
        .person("olga")
        .says(&pr, "/loop resume --accept tampering")
        .await;
    let look = world.look(&pr);
    assert!(look.has_label("loop:passed"), "{look:?}");
    let sentence = "olga, the only person with write access, accepted that tests/sums.rs: the test “adds” is removed.";
    look.tells(sentence);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_maintainer_who_is_alone_in_an_organisation_is_told_that_nobody_can_open_a_gate() {
    let world = World::quick(None).await;
    let gate = "version: 1\ngates: { deploy: off, security: {} }\n";
    let repo = world.repository("alone", &[(".github/loopgate.yml", gate)]);
    let request = async |title: &str| {
        let login = [("src/auth/login.rs", "pub fn login() {}\n")];
        let pr = world.person("olga").opens(&repo, title, &login).await;
        let look = world.look(&pr);
        let requests = look.marked("<!-- loopgate:gate:security:");
        assert_eq!(requests.len(), 1, "{look:?}");
        requests[0].to_owned()
    };
    let alone = request("feat: sign in").await;
    assert!(alone.contains("Nobody can open it yet"), "{alone}");
    let admin = world.simulator().admin();
    admin
        .add_collaborator(&repo, "bob", Role::Maintain)
        .unwrap();
    let of_two = request("feat: sign in again").await;
    assert!(!of_two.contains("Nobody can open it yet"), "{of_two}");
}

/// GitHub moves the pull requests of a renamed branch to its new name. What was approved is the same change into the
/// same branch.
#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_default_branch_voids_no_approval() {
    let world = World::quick(None).await;
    let gate = "version: 1\ngates: { deploy: off, security: { approvers: { users: [bob] } } }\n";
    let repo = world.repository("renamed", &[(".github/loopgate.yml", gate)]);
    let login = [("src/auth/login.rs", "pub fn login() {}\n")];
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &login)
        .await;
    world.person("bob").says(&pr, "security approved").await;
    let gates = |world: &World| {
        world
            .look(&pr)
            .concluded("loopgate / gates")
            .map(str::to_owned)
    };
    assert_eq!(gates(&world).as_deref(), Some("success"));

    let admin = world.simulator().admin();
    admin.rename_branch(&repo, "main", "trunk").unwrap();
    world.settle().await;
    let pull_request = world.simulator().pull_request(&pr).unwrap();
    assert_eq!(pull_request.base_branch, "trunk");
    assert_eq!(
        gates(&world).as_deref(),
        Some("success"),
        "{:?}",
        world.look(&pr)
    );

    // Another branch takes the old name: nothing says any more that it was this one.
    let other = [("README.md", "Another main.\n")];
    world.person("olga").pushes_to(&repo, "main", &other).await;
    world.person("alice").says(&pr, "/loop explain").await;
    assert_eq!(
        gates(&world).as_deref(),
        Some("action_required"),
        "{:?}",
        world.look(&pr)
    );
}

/// A team of an enterprise is one of its organisation's teams whose slug begins with `ent:`.
#[tokio::test(flavor = "multi_thread")]
async fn a_team_of_an_enterprise_opens_a_gate() {
    let world = World::quick(None).await;
    let gate = "version: 1\ngates: { deploy: off, security: { approvers: { teams: [\"acme/ent:security\"] } } }\n";
    let repo = world.repository("enterprise", &[(".github/loopgate.yml", gate)]);
    let admin = world.simulator().admin();
    let team = admin.add_team("acme/ent:security", &["bob"]).unwrap();
    admin.grant_team(&team, &repo, Role::Write).unwrap();
    let login = [("src/auth/login.rs", "pub fn login() {}\n")];
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &login)
        .await;
    let look = world.look(&pr);
    let [request] = look.marked("<!-- loopgate:gate:security:")[..] else {
        panic!("{look:?}")
    };
    // An invisible character keeps the colon from beginning an address.
    let named = "**Who decides:** a member of team acme/ent:\u{2060}security";
    assert!(request.contains(named), "{request}");
    assert_eq!(look.requested, ["@ent:security"]);
    world.person("carol").says(&pr, "security approved").await;
    let gates = |world: &World| {
        world
            .look(&pr)
            .concluded("loopgate / gates")
            .map(str::to_owned)
    };
    assert_eq!(gates(&world).as_deref(), Some("action_required"));
    world.person("bob").says(&pr, "security approved").await;
    assert_eq!(
        gates(&world).as_deref(),
        Some("success"),
        "{:?}",
        world.look(&pr)
    );
    // His account is deleted: GitHub shows `ghost` in its place.
    admin.delete_user("bob").unwrap();
    world.person("carol").says(&pr, "/loop status").await;
    assert_eq!(gates(&world).as_deref(), Some("action_required"));
    let look = world.look(&pr);
    let gone = "does not count: the account ghost is suspended or gone";
    look.tells(gone);
    let asked = world.requests();
    assert!(!asked.iter().any(|it| it.contains("/ghost")), "{asked:?}");
}

/// A request for approval is never changed again: it waits for who decides.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_asked_before_it_is_known_who_decides() {
    let world = World::quick(None).await;
    let gate = "version: 1\nlabels: { state: true }\ngates:\n  deploy: off\n  security: { approvers: { users: [bob] } }\n";
    let repo = world.repository("asked", &[(".github/loopgate.yml", gate)]);
    let away = RequestFault::on("^/users/bob$", Harm::status(StatusCode::NOT_FOUND)).unwrap();
    world.simulator().add_fault(away);
    let pr = world
        .person("alice")
        .opens(
            &repo,
            "feat: sign in",
            &[("src/auth/login.rs", "pub fn login() {}\n")],
        )
        .await;
    let asked = |world: &World| -> Vec<String> {
        world
            .look(&pr)
            .marked("<!-- loopgate:gate:security:")
            .into_iter()
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(asked(&world), Vec::<String>::new(), "{:?}", world.look(&pr));
    assert!(
        world.look(&pr).has_label("needs:security-review"),
        "{:?}",
        world.look(&pr).labels
    );
    world.simulator().heal();
    world.wait(TimeDelta::seconds(60));
    world.person("alice").says(&pr, "/loop help").await;
    let [request] = &asked(&world)[..] else {
        panic!("{:?}", world.look(&pr))
    };
    assert!(
        request.contains("**Who decides:** bob.") && !request.contains("cannot approve"),
        "{request}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn looking_at_what_did_not_change_is_nearly_free() {
    let github = Simulator::start(Config::default()).await.unwrap();
    let repo = github.create_repo("acme/widgets", FILES).unwrap();
    let spec = PullSpec::new("feat: sign in").file("src/auth/login.rs", "// In.\n");
    let pr = github.user("alice").open_pull_request(&repo, spec).unwrap();

    let key = Secret::new(github.app_key().private_pem());
    let credentials = AppCredentials::new(github.app_id(), &key).unwrap();
    let setup = Setup {
        clock: Arc::new(SystemClock),
        ..Setup::default()
    };
    let client = Github::new(
        ApiUrl::parse(&github.url()).unwrap(),
        Credentials::App(credentials),
        setup,
    )
    .unwrap();
    let reconcile = Reconcile::new(client);
    let installation = Some(github.installation_id());
    let job = ReconcileRequest {
        installation,
        repository: repo,
        number: pr.number,
        hints: Vec::new(),
    };

    let mut counts = Vec::new();
    // The second look meets what the first one wrote, and the third what the second read.
    for _ in 0..4 {
        github.forget_requests();
        let outcome = reconcile.run(&job, SystemClock.now()).await.unwrap();
        assert!(
            matches!(outcome.result, ReconcileResult::Decided(_)),
            "{outcome:?}"
        );
        counts.push(github.request_counts());
    }
    println!(
        "requests of a first reconcile: {:?}; of an unchanged one: {:?}",
        counts[0], counts[3]
    );
    let unconditional: Vec<_> = github
        .requests()
        .into_iter()
        .filter(|request| request.conditional == Conditional::No)
        .collect();
    assert_eq!(counts[3].writes, 0, "{:?}", github.requests());
    assert!(unconditional.is_empty(), "{unconditional:?}");
    assert!(counts[3].total <= 10, "{:?}", counts[3]);
    assert_eq!(
        counts[3].not_modified,
        counts[3].total,
        "{:?}",
        github.requests()
    );
}

/// A check run of another App ends. How often the head's check runs were read for that.
async fn looks_after(world: &World, pr: &Pr, app: &str, check: &str) -> usize {
    let github = world.simulator();
    // What the deed before led to is over.
    world.settle().await;
    github.forget_requests();
    let spec = CheckSpec::concluded(check, Conclusion::Failure);
    github
        .ci(app)
        .check_run(&pr.repo, github.head(pr).unwrap(), spec)
        .unwrap();
    world.settle().await;
    github
        .requests()
        .iter()
        .filter(|request| request.path.contains("/check-runs"))
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_nobody_configured_costs_no_look() {
    // What a look read is believed for five minutes.
    let world = World::quick(None).await;
    let configuration = format!("{CHECKS}{GATES}");
    let repo = world.repository("widgets", &[(".github/loopgate.yml", &configuration)]);
    let pr = world
        .person("alice")
        .opens(&repo, "feat: totals", &[("src/totals.rs", "// In.\n")])
        .await;
    assert_eq!(
        looks_after(&world, &pr, "github-actions", "storybook").await,
        0
    );
    let answers = world.simulator().deliveries();
    let answer = answers
        .iter()
        .rev()
        .find(|delivery| delivery.event == "check_run")
        .unwrap();
    assert!(answer.accepted(), "{answer:?}");

    assert_ne!(
        looks_after(&world, &pr, "other-ci", "ci / build").await,
        0,
        "it is configured"
    );
    let look = world.look(&pr);
    assert!(
        look.status().contains("Waiting for unit"),
        "of the build it has heard: {look:?}"
    );
    assert_ne!(
        looks_after(&world, &pr, "other-ci", "loopgate / gates").await,
        0,
        "the name is ours"
    );

    // Another pull request with the same head, into a base whose configuration names the check.
    let other = configuration.replace("ci / test", "storybook");
    world
        .person("olga")
        .pushes_to(&repo, "release", &[(".github/loopgate.yml", &other)])
        .await;
    let second = world
        .person("alice")
        .opens_from(&repo, "feat: totals again", &world.branch(&pr), "release")
        .await;
    assert_ne!(
        looks_after(&world, &second, "other-ci", "storybook").await,
        0,
        "the other base asks for it"
    );

    // Once it is closed the next look sees that the head is one pull request's again.
    world.person("alice").closes(&second).await;
    assert_ne!(
        looks_after(&world, &pr, "other-ci", "storybook again").await,
        0
    );
    assert_eq!(
        looks_after(&world, &pr, "github-actions", "storybook at last").await,
        0
    );
}

/// Whose suites matter is known once somebody reports a check that is configured without its App.
#[tokio::test(flavor = "multi_thread")]
async fn a_suite_costs_a_look_if_its_app_reports_what_is_configured() {
    let world = World::quick(None).await;
    let configuration = format!("{}{GATES}", CHECKS.replace(", app: other-ci", ""));
    let repo = world.repository("widgets", &[(".github/loopgate.yml", &configuration)]);
    let pr = world
        .person("alice")
        .opens(&repo, "feat: totals", &[("src/totals.rs", "// In.\n")])
        .await;
    assert_ne!(
        looks_after(&world, &pr, "github-actions", "storybook").await,
        0,
        "nobody reports the build yet"
    );
    assert_ne!(looks_after(&world, &pr, "other-ci", "ci / build").await, 0);
    assert_ne!(
        looks_after(&world, &pr, "github-actions", "pages").await,
        0,
        "nobody reports the tests yet"
    );
    let head = world.head(&pr).parse().unwrap();
    world
        .simulator()
        .ci("other-ci")
        .status(&repo, head, "ci / test", StatusState::Success)
        .unwrap();
    assert_eq!(
        looks_after(&world, &pr, "github-actions", "storybook again").await,
        0
    );
    assert_ne!(
        looks_after(&world, &pr, "other-ci", "lint").await,
        0,
        "it reports the build"
    );
    assert_ne!(
        looks_after(&world, &pr, "github-actions", "ci / build").await,
        0,
        "so does another App now"
    );
}

/// Between the approval and the merge a team goes by another name, is deleted, and people lose what they may do.
#[tokio::test(flavor = "multi_thread")]
async fn who_may_approve_no_more_opens_nothing_any_more() {
    let world = World::quick(None).await;
    let gates = "  security: { approvers: { teams: [acme/sec] } }\n  \
                 payments: { when: { paths: [\"src/auth/**\"] }, approvers: { permission: write } }\n";
    let repo = gates::guarded_as(&world, "widgets", gates).await;
    world.team("sec", &["bob"], &repo);
    world.lets_write(&repo, "dave").await;
    let login = [("src/auth/login.rs", "pub fn login() {}\n")];
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sign in", &login)
        .await;
    world.person("bob").says(&pr, "security approved").await;
    world.person("dave").says(&pr, "payments approved").await;
    let standing = async || {
        world.settle().await;
        ["security", "payments"].map(|gate| gates::status(&world, &pr, gate))
    };
    let says = |words: &str| {
        let look = world.look(&pr);
        assert_ne!(
            look.concluded("loopgate / gates"),
            Some("success"),
            "{look:?}"
        );
        assert!(look.status().contains(words), "{words}: {}", look.status());
    };
    assert_eq!(standing().await, ["approved", "approved"]);
    let admin = world.simulator().admin();
    let [former, present] = ["acme/sec", "acme/guards"].map(|name| name.parse().unwrap());
    admin.rename_team(&former, "guards").unwrap();
    assert_eq!(standing().await, ["requested", "approved"]);
    says("bob is not an approver of this gate");
    says("acme/sec");
    admin.rename_team(&present, "sec").unwrap();
    assert_eq!(standing().await, ["approved", "approved"]);
    admin.add_collaborator(&repo, "dave", Role::Triage).unwrap();
    assert_eq!(standing().await, ["approved", "requested"]);
    says("dave is not an approver of this gate. It opens for anyone with write access");
    admin.add_collaborator(&repo, "dave", Role::Write).unwrap();
    assert_eq!(standing().await, ["approved", "approved"]);
    admin.remove_collaborator(&repo, "dave").unwrap();
    admin.delete_team(&former).unwrap();
    assert_eq!(standing().await, ["requested", "requested"]);
    says("acme/sec");
}

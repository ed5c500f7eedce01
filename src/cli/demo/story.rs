//! The story: who does what, and what must come of it.

use super::{
    DemoError,
    ci::{self, Failing, Test},
    demo_world::DemoWorld,
    narrator::Narrator,
};
use loopgate_simulator::{Pr, PullSpec, PullView};

/// The repository at the beginning.
pub(super) const REPOSITORY: &[(&str, &str)] = &[
    (".github/loopgate.yml", CONFIGURATION),
    (".github/workflows/ci.yml", "name: CI\non: pull_request\n"),
    ("tests/all.rs", "// The tests.\n"),
    ("Cargo.toml", "[package]\nname = \"widgets\"\nversion = \"0.1.0\"\nedition = \"2024\"\n"),
    ("src/lib.rs", "pub mod lifetime;\n"),
    ("src/lifetime.rs", "pub fn lifetime() -> u64 {\n    0\n}\n"),
];

const CONFIGURATION: &str = "\
version: 1
verify:
  workflows: [.github/workflows/ci.yml]
  checks:
    build: { kind: build, run: cargo build --locked }
    unit:  { kind: test, run: cargo test, needs: [build] }
    lint:  { kind: lint, run: cargo clippy -- -D warnings }
gates:
  security: { approvers: { teams: [acme/security] } }
  deploy: off
";

/// The story as it was played.
pub(super) struct Played {
    pub pr: Pr,
    /// Every label that was ever on the pull request.
    pub labels_seen: std::collections::BTreeSet<String>,
    /// What did not happen as it is told.
    pub surprises: Vec<String>,
}

struct DemoRun<'a> {
    demo_world: &'a DemoWorld,
    narrator: Narrator,
    played: Played,
}

const LIFETIME: &str = "lifetime::tests::lasts_an_hour";
const RENEWAL: &str = "lifetime::tests::renewal_keeps_the_user";
const EXPIRED: &str = "lifetime::tests::an_expired_one_is_refused";

fn tests(failing: &[(&'static str, Failing)]) -> Vec<Test> {
    [LIFETIME, RENEWAL, EXPIRED]
        .into_iter()
        .map(|name| {
            let failure = failing.iter().find(|(test, _)| *test == name).map(|(_, failure)| Failing { ..*failure });
            Test { name, failure }
        })
        .collect()
}

const WRONG_UNIT: Failing = Failing { file: "src/lifetime.rs", line: 21, left: "60", right: "3600" };
const LOST_USER: Failing = Failing { file: "src/lifetime.rs", line: 30, left: "None", right: "Some(\"alice\")" };

/// Plays all acts.
pub(super) async fn play(demo_world: &DemoWorld, narrator: Narrator) -> Result<Played, DemoError> {
    narrator
        .says("A GitHub on this machine's loopback, the real Loopgate server in front of it, and one pull request.");
    narrator.act(1, "A pull request is opened, and a test fails");
    narrator.does("alice", "opens “feat: let widgets last an hour”");
    let spec = PullSpec::new("feat: let widgets last an hour")
        .body("Widgets end after an hour.\n\nCloses #7")
        .branch("alice/lifetime")
        .file("src/lifetime.rs", lifetime("60", "user"))
        .file("tests/lifetime.rs", "// The tests of the lifetime.\n");
    let pr = demo_world.github.user("alice").open_pull_request(&demo_world.repo, spec)?;
    let played = Played { pr, labels_seen: Default::default(), surprises: Vec::new() };
    let mut stage = DemoRun { demo_world, narrator, played };
    stage.settle().await?;
    stage.ci(&tests(&[(LIFETIME, WRONG_UNIT)])).await?;
    stage.expect("the label loop:retry", |pull| pull.has_label("loop:retry"))?;
    let pull = stage.pull()?;
    if let Some(status) = pull.comments.iter().find(|comment| comment.body.starts_with(crate::render::STATUS_MARKER)) {
        stage.narrator.reads("The status comment, as alice reads it:", &status.body);
    }

    stage.narrator.act(2, "The same error again");
    stage.push("src/lifetime.rs", &lifetime("60 ", "user"), "fix: count the hour").await?;
    stage.ci(&tests(&[(LIFETIME, WRONG_UNIT)])).await?;
    stage.expect("the label loop:retry", |pull| pull.has_label("loop:retry"))?;

    stage.narrator.act(3, "A fix that breaks another test: a human is called");
    stage.push("src/lifetime.rs", &lifetime("3600", "nobody"), "fix: an hour has 3600 seconds").await?;
    stage.ci(&tests(&[(RENEWAL, LOST_USER)])).await?;
    stage.expect("the label loop:blocked", |pull| pull.has_label("loop:blocked"))?;
    stage.expect("one escalation", |pull| escalations(pull) == 1)?;
    let pull = stage.pull()?;
    if let Some(report) = pull.comments.iter().find(|comment| is_escalation(&comment.body)) {
        stage.narrator.reads("The escalation, as bob reads it:", &report.body);
    }

    stage.narrator.act(4, "bob looks, and lets it go on");
    stage.comment("bob", "Renewal must keep the user; the lifetime is right now.\n\n/loop resume").await?;
    stage.expect("the block is lifted", |pull| !pull.has_label("loop:blocked"))?;

    stage.narrator.act(5, "A push that passes, and touches src/auth");
    stage.push("src/auth/renewal.rs", RENEWAL_CODE, "fix: keep the user when a widget is renewed").await?;
    stage.ci(&tests(&[])).await?;
    stage.expect("the security gate", |pull| pull.has_label("needs:security-review"))?;
    stage.expect("verification green", |pull| concluded(pull, "loopgate / verify") == "success")?;

    stage.narrator.act(6, "An outsider says it is approved");
    stage.comment("mallory", "security approved").await?;
    stage.expect("the gate stays closed", |pull| pull.has_label("needs:security-review"))?;

    stage.narrator.act(7, "The right person approves");
    stage.comment("bob", "Read it, the token never leaves the process.\n\nsecurity approved").await?;
    stage.expect("the gate is open", |pull| !pull.has_label("needs:security-review"))?;
    stage.expect("gates green", |pull| concluded(pull, "loopgate / gates") == "success")?;
    stage.expect("the label loop:passed", |pull| pull.has_label("loop:passed"))?;

    stage.narrator.act(8, "The merge");
    stage.narrator.does("olga", "merges");
    demo_world.github.user("olga").merge(&stage.played.pr)?;
    stage.settle().await?;
    let pull = stage.pull()?;
    if let Some(status) = pull.comments.iter().find(|comment| comment.body.starts_with(crate::render::STATUS_MARKER)) {
        stage.narrator.reads("The status comment is the handoff now:", &status.body);
    }
    let reference = format!("refs/loopgate/pr/{}", stage.played.pr.number);
    if let Some(state) = demo_world.github.state_ref(&demo_world.repo, &reference)? {
        stage.narrator.says(&format!("\nWhat `git log {reference}` says, newest first:"));
        for (sha, message) in &state.commits {
            let subject = message.lines().next().unwrap_or_default();
            stage.narrator.says(&format!("   {} {subject}", sha.short()));
        }
    }
    Ok(stage.played)
}

impl DemoRun<'_> {
    fn pull(&self) -> Result<PullView, DemoError> {
        Ok(self.demo_world.github.pull_request(&self.played.pr)?)
    }

    async fn settle(&mut self) -> Result<(), DemoError> {
        self.demo_world.settle().await;
        let pull = self.pull()?;
        self.played.labels_seen.extend(pull.labels.iter().cloned());
        self.narrator.looks(&pull);
        Ok(())
    }

    async fn ci(&mut self, tests: &[Test]) -> Result<(), DemoError> {
        let failing = tests.iter().filter(|test| test.failure.is_some()).count();
        self.narrator.does("CI", &format!("runs the checks: {} of {} tests pass", tests.len() - failing, tests.len()));
        ci::run(self.demo_world, &self.played.pr, tests)?;
        self.settle().await
    }

    async fn push(&mut self, path: &str, content: &str, message: &str) -> Result<(), DemoError> {
        self.narrator.does("alice", &format!("pushes “{message}”"));
        self.demo_world.github.user("alice").push(&self.played.pr, &[(path, content)], message)?;
        self.settle().await
    }

    async fn comment(&mut self, who: &str, body: &str) -> Result<(), DemoError> {
        self.narrator.does(who, &format!("writes “{}”", body.replace("\n\n", " / ")));
        self.demo_world.github.user(who).comment(&self.played.pr, body)?;
        self.settle().await
    }

    fn expect(&mut self, what: &str, holds: impl FnOnce(&PullView) -> bool) -> Result<(), DemoError> {
        if !holds(&self.pull()?) {
            self.played.surprises.push(format!("expected {what}"));
        }
        Ok(())
    }
}

pub(super) fn is_escalation(body: &str) -> bool {
    body.starts_with("<!-- loopgate:escalation:")
}

pub(super) fn escalations(pull: &PullView) -> usize {
    pull.comments.iter().filter(|comment| is_escalation(&comment.body)).count()
}

pub(super) fn concluded(pull: &PullView, name: &str) -> String {
    let conclusion = pull.check_run(name).and_then(|run| run.conclusion);
    conclusion.map_or_else(|| "none".to_owned(), |conclusion| conclusion.as_str().to_owned())
}

fn lifetime(seconds: &str, user: &str) -> String {
    format!(
        "//! How long a widget lasts.\n\npub fn lifetime() -> u64 {{\n    {seconds}\n}}\n\n\
         pub fn renew({user}: Option<&str>) -> Option<&str> {{\n    {user}\n}}\n"
    )
}

const RENEWAL_CODE: &str = "\
//! Renewal of a widget's token.

pub fn renew(user: Option<&str>) -> Option<&str> {
    user
}
";

//! The story: who does what, and what it must lead to.

use super::{
    AGENT, DemoWorld,
    ci::{self, Failing, HOUR, REMAINING, RENEWAL, Test},
    narrator::Narrator,
};
use crate::cli::CliError;
use loopgate_core::RepoName;
use loopgate_render::{self as render, STATUS_MARKER};
use loopgate_simulator::{Pr, PullSpec, PullView, Simulator};
use minijinja::context;

/// The repository at the beginning.
pub(super) fn repository(github: &Simulator) -> Result<RepoName, CliError> {
    let (configuration, pause) = (
        render::text("demo/configuration.txt", context! {}),
        ci::on_main(),
    );
    let files = [
        (".github/loopgate.yml", configuration.as_str()),
        (".github/workflows/ci.yml", "name: CI\non: pull_request\n"),
        (
            "Cargo.toml",
            "[package]\nname = \"widgets\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
        ),
        ("src/lib.rs", "mod lifetime;\nmod pause;\n"),
        ("src/lifetime.rs", "//! How long a widget lasts.\n"),
        (ci::PAUSE, &pause),
    ];
    Ok(github.create_repo("acme/widgets", &files)?)
}

/// The story as it was played.
pub(super) struct Played {
    /// The agent's pull request.
    pub pr: Pr,
    /// Every label that was ever on the pull request.
    pub labels_seen: std::collections::BTreeSet<String>,
    /// How often a fix of another pull request was shown.
    pub memory_matches: usize,
    /// What did not happen as planned.
    pub surprises: Vec<String>,
}

/// The story while it is played.
pub(super) struct DemoRun<'a> {
    demo_world: &'a DemoWorld,
    narrator: Narrator,
    played: Played,
    /// Who pushes.
    author: &'static str,
}

const WRONG_UNIT: Failing = Failing {
    file: SOURCE,
    line: 17,
    left: "60",
    right: "3600",
};
const LOST_USER: Failing = Failing {
    file: SOURCE,
    line: 22,
    left: "None",
    right: "Some(\"alice\")",
};
const OFF_BY_ONE: Failing = Failing {
    file: SOURCE,
    line: 27,
    left: "0",
    right: "1",
};

const SOURCE: &str = "src/lifetime.rs";

/// The tests of the suite, of which these fail.
fn tests(failing: &[(&'static str, Failing)]) -> Vec<Test> {
    ci::tests(failing, &ci::on_main())
}

/// Plays until the second pull request has failed as the first one did.
pub(super) async fn until_it_fails_again(
    demo_world: &DemoWorld,
    narrator: Narrator,
) -> Result<DemoRun<'_>, CliError> {
    narrator.print("A simulated GitHub on this machine, the real server, and two pull requests.");
    narrator.act("Yesterday: alice's pull request fails, and she fixes it");
    narrator.does("alice", "opens “feat: widgets last an hour”");
    let spec = |title: &str, branch: &str, seconds: &str| {
        let lifetime = lifetime(seconds, "user", "1");
        PullSpec::new(title)
            .body("Widgets end after an hour.\n\nCloses #7")
            .branch(branch)
            .file(SOURCE, lifetime)
    };
    let opened = spec("feat: widgets last an hour", "alice/lifetime", "60");
    let pr = demo_world
        .github
        .user("alice")
        .open_pull_request(&demo_world.repo, opened)?;
    let played = Played {
        pr,
        labels_seen: Default::default(),
        memory_matches: 0,
        surprises: Vec::new(),
    };
    let mut stage = DemoRun {
        demo_world,
        narrator,
        played,
        author: "alice",
    };
    stage.settle().await?;
    stage.ci(&tests(&[(HOUR, WRONG_UNIT)])).await?;
    stage
        .push(
            &lifetime("60 * 60", "user", "1"),
            "fix: an hour has 3600 seconds",
        )
        .await?;
    stage.ci(&tests(&[])).await?;
    stage.expect("alice's pull request is ready", |pull| stands(pull, "✅"))?;
    stage.merge().await?;

    stage
        .narrator
        .act("An agent opens a pull request that fails the same way");
    stage
        .narrator
        .does(AGENT, "opens “feat: renewed widgets last an hour too”");
    let opened = spec(
        "feat: renewed widgets last an hour too",
        "agent/renewal",
        "60",
    );
    stage.played.pr = demo_world
        .github
        .user(AGENT)
        .open_pull_request(&demo_world.repo, opened)?;
    stage.played.labels_seen.clear();
    stage.author = AGENT;
    stage.settle().await?;
    stage.ci(&tests(&[(HOUR, WRONG_UNIT)])).await?;
    stage.expect("a fix is asked for", |pull| stands(pull, "🔁"))?;
    let remembers = |pull: &PullView| status(pull).matches("**Before:**").count();
    stage.played.memory_matches = remembers(&stage.pull()?);
    stage.expect("alice's fix is remembered", |pull| remembers(pull) > 0)?;
    Ok(stage)
}

/// Plays all acts.
pub(super) async fn play(demo_world: &DemoWorld, narrator: Narrator) -> Result<Played, CliError> {
    let mut stage = until_it_fails_again(demo_world, narrator).await?;
    stage.reads_status("The status comment, as the agent's owner reads it:", 9)?;

    stage.narrator.act("The same error again");
    stage
        .push(&lifetime("61", "user", "1"), "fix: count the hour")
        .await?;
    stage.ci(&tests(&[(HOUR, WRONG_UNIT)])).await?;
    stage.expect("a fix is asked for", |pull| stands(pull, "🔁"))?;
    stage.reads_status("What is new in the status comment:", 2)?;

    stage
        .narrator
        .act("A fix that breaks another test: a person is asked");
    stage
        .push(
            &lifetime("60 * 60", "None", "1"),
            "fix: an hour has 3600 seconds",
        )
        .await?;
    stage.ci(&tests(&[(RENEWAL, LOST_USER)])).await?;
    stage.expect("a person is asked", |pull| stands(pull, "🚫"))?;
    stage.expect("one escalation", |pull| escalations(pull) == 1)?;
    stage.reads("The escalation, as bob reads it:", is_escalation, 4)?;

    stage.narrator.act("bob looks, and resumes the loop");
    stage
        .comment(
            "bob",
            "Renewal must keep the user; the lifetime is right now.\n\n/loop resume",
        )
        .await?;
    stage.expect("the block is lifted", |pull| !stands(pull, "🚫"))?;

    stage
        .narrator
        .act("The agent cheats: the failing test is gone");
    let cheated =
        context! { seconds => "60 * 60", kept => "None", left => "1", has_renewal_test => false };
    let cheated = render::text("demo/lifetime.txt", cheated);
    stage.push(&cheated, "fix: all tests pass").await?;
    stage
        .ci(&tests(&[])
            .into_iter()
            .filter(|test| test.name != RENEWAL)
            .collect::<Vec<_>>())
        .await?;
    stage.expect("the cheat is caught", |pull| stands(pull, "🚫"))?;
    stage.reads("What bob is asked:", is_escalation, 4)?;
    stage
        .push(
            &lifetime("60 * 60", "user", "1"),
            "fix: keep the user when a widget is renewed",
        )
        .await?;
    stage
        .comment("bob", "The test is back.\n\n/loop resume")
        .await?;
    stage.expect("the block is lifted", |pull| !stands(pull, "🚫"))?;

    stage
        .narrator
        .act("The agent disputes a test, and a person settles it");
    stage.ci(&tests(&[(REMAINING, OFF_BY_ONE)])).await?;
    let failure = failure(&stage.pull()?).unwrap_or_default();
    stage
        .comment(
            AGENT,
            &format!("/loop dispute {failure} an hour of 3600 seconds leaves 0, not 1"),
        )
        .await?;
    stage.expect("a person is called", |pull| stands(pull, "🚫"))?;
    stage
        .comment(
            "olga",
            &format!("The test counts one too many.\n\n/loop settle {failure} code"),
        )
        .await?;
    stage.expect("the loop goes on", |pull| !stands(pull, "🚫"))?;

    stage
        .narrator
        .act("A push that passes, and touches src/auth");
    let files = [
        ("src/auth/renewal.rs", RENEWAL_CODE),
        (SOURCE, &lifetime("60 * 60", "user", "0")),
    ];
    stage
        .pushes(&files, "fix: nothing is left after an hour")
        .await?;
    stage.ci(&tests(&[])).await?;
    stage.expect("the security gate", |pull| {
        pull.has_label("needs:security-review")
    })?;
    stage.expect("verification green", |pull| {
        concluded(pull, "loopgate / verify") == "success"
    })?;
    stage.reads(
        "The request for the gate:",
        |body| body.starts_with("<!-- loopgate:gate:"),
        7,
    )?;

    stage.narrator.act("An outsider says it is approved");
    stage.comment("mallory", "security approved").await?;
    stage.expect("the gate stays closed", |pull| {
        pull.has_label("needs:security-review")
    })?;
    stage.reads_status("What is new in the status comment:", 6)?;

    stage.narrator.act("The right person approves");
    stage
        .comment(
            "bob",
            "Read it, the token never leaves the process.\n\nsecurity approved",
        )
        .await?;
    stage.expect("the gate is open", |pull| {
        !pull.has_label("needs:security-review")
    })?;
    stage.expect("gates green", |pull| {
        concluded(pull, "loopgate / gates") == "success"
    })?;
    stage.expect("all green", |pull| stands(pull, "✅"))?;

    stage.narrator.act("The merge");
    stage.merge().await?;
    stage.reads_status("The status comment is the handoff now:", 7)?;
    let reference = format!("refs/loopgate/pr/{}", stage.played.pr.number);
    if let Some(state) = demo_world.github.state_ref(&demo_world.repo, &reference)? {
        let decisions = state.commits.len();
        stage.narrator.print(&format!(
            "\n   `git log {reference}` has a commit for each of {decisions} decisions."
        ));
    }
    // What happened, and what to do next.
    stage
        .narrator
        .print(render::text("demo/ending.txt", context! {}).trim_end());
    Ok(stage.played)
}

impl DemoRun<'_> {
    /// The pull request as it stands.
    pub(super) fn pull(&self) -> Result<PullView, CliError> {
        Ok(self.demo_world.github.pull_request(&self.played.pr)?)
    }

    async fn settle(&mut self) -> Result<(), CliError> {
        self.demo_world.settle().await;
        let pull = self.pull()?;
        self.played.labels_seen.extend(pull.labels.iter().cloned());
        self.narrator.looks(&pull);
        Ok(())
    }

    async fn ci(&mut self, tests: &[Test]) -> Result<(), CliError> {
        let failing = tests.iter().filter(|test| test.failure.is_some()).count();
        self.narrator.does(
            "CI",
            &format!(
                "runs the checks: {} of {} tests pass",
                tests.len() - failing,
                tests.len()
            ),
        );
        ci::run(self.demo_world, &self.played.pr, tests)?;
        self.settle().await
    }

    async fn push(&mut self, lifetime: &str, message: &str) -> Result<(), CliError> {
        self.pushes(&[(SOURCE, lifetime)], message).await
    }

    async fn pushes(&mut self, files: &[(&str, &str)], message: &str) -> Result<(), CliError> {
        self.narrator
            .does(self.author, &format!("pushes “{message}”"));
        self.demo_world
            .github
            .user(self.author)
            .push(&self.played.pr, files, message)?;
        self.settle().await
    }

    async fn comment(&mut self, who: &str, body: &str) -> Result<(), CliError> {
        self.narrator
            .does(who, &format!("writes “{}”", body.replace("\n\n", " / ")));
        self.demo_world
            .github
            .user(who)
            .comment(&self.played.pr, body)?;
        self.settle().await
    }

    async fn merge(&mut self) -> Result<(), CliError> {
        self.narrator.does("olga", "merges");
        self.demo_world.github.user("olga").merge(&self.played.pr)?;
        self.settle().await
    }

    fn reads_status(&mut self, title: &str, most: usize) -> Result<(), CliError> {
        self.reads(title, |body| body.starts_with(STATUS_MARKER), most)
    }

    /// The first `most` lines of the newest comment of a kind that were not printed before.
    fn reads(
        &mut self,
        title: &str,
        is_wanted: impl Fn(&str) -> bool,
        most: usize,
    ) -> Result<(), CliError> {
        let pull = self.pull()?;
        if let Some(comment) = pull
            .comments
            .iter()
            .rfind(|comment| is_wanted(&comment.body))
        {
            self.narrator.reads(title, &comment.body, most);
        }
        Ok(())
    }

    fn expect(
        &mut self,
        what: &str,
        holds: impl FnOnce(&PullView) -> bool,
    ) -> Result<(), CliError> {
        if !holds(&self.pull()?) {
            self.played.surprises.push(format!("expected {what}"));
        }
        Ok(())
    }
}

/// The status comment.
pub(super) fn status(pull: &PullView) -> &str {
    let found = pull
        .comments
        .iter()
        .find(|comment| comment.body.starts_with(STATUS_MARKER));
    found.map_or("", |comment| &comment.body)
}

/// Whether the heading of the status comment begins with this sign.
fn stands(pull: &PullView, sign: &str) -> bool {
    status(pull)
        .lines()
        .any(|line| line.starts_with(&format!("### {sign}")))
}

/// The id of the first failure in the status comment.
fn failure(pull: &PullView) -> Option<String> {
    let (_, document) = status(pull).rsplit_once("```json\n")?;
    let document: serde_json::Value = serde_json::from_str(document.split_once("\n```")?.0).ok()?;
    document["failures"][0]["id"].as_str().map(str::to_owned)
}

pub(super) fn is_escalation(body: &str) -> bool {
    body.starts_with("<!-- loopgate:escalation:")
}

pub(super) fn escalations(pull: &PullView) -> usize {
    pull.comments
        .iter()
        .filter(|comment| is_escalation(&comment.body))
        .count()
}

pub(super) fn concluded(pull: &PullView, name: &str) -> String {
    let conclusion = pull.check_run(name).and_then(|run| run.conclusion);
    conclusion.map_or_else(
        || "none".to_owned(),
        |conclusion| conclusion.as_str().to_owned(),
    )
}

/// The one source file of the widgets: an hour, whom a renewal keeps, what a test takes for left.
fn lifetime(seconds: &str, kept: &str, left: &str) -> String {
    render::text(
        "demo/lifetime.txt",
        context! { seconds, kept, left, has_renewal_test => true },
    )
}

const RENEWAL_CODE: &str = "\
//! Renewal of a widget's token.

pub fn renew(user: Option<&str>) -> Option<&str> {
    user
}
";

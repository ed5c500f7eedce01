//! `loopgate demo`: a pull request's whole life on a simulated GitHub, without an account.
//!
//! Only GitHub, the people and their CI are simulated. The server is the real one: it receives events as signed
//! webhooks over HTTP, and everything it does goes through its API client to the simulated GitHub.

mod ci;
mod narrator;
#[cfg(test)]
mod picture_tests;
mod story;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::IsTerminal as _,
    path::PathBuf,
    time::{Duration, Instant},
};

use chrono::TimeDelta;
use clap::Args;
use serde_json::{Value, json};

use self::{
    narrator::Narrator,
    story::{Played, concluded, escalations},
};
use super::{
    CliError, CommandResult, exit,
    output::{self, Format},
    setup,
};
use crate::{
    github::Setup,
    server::{Running, SimulatedClock, serve_simulated, settle_simulated},
};
use loopgate_core::{
    RepoName,
    state::{GateStatus, LoopState},
};
use loopgate_simulator::{Config, PullState, Role, Simulator};

#[derive(Debug, Args)]
pub struct DemoArguments {
    /// Play it without pauses [default: where the output is no terminal]
    #[arg(long)]
    fast: bool,

    /// Print only the final facts, as JSON
    #[arg(long, conflicts_with = "serve")]
    json: bool,

    /// Afterwards let people play on in a browser, until Ctrl-C
    #[arg(long)]
    serve: bool,
}

/// Plays the story. The exit code is 0 only if it ended as planned.
pub async fn run(arguments: &DemoArguments) -> CommandResult {
    let json = arguments.json || output::format() == Format::Json;
    if json && arguments.serve {
        return Err(CliError::usage("--serve is for people: it has no JSON"));
    }
    let is_watched = std::io::stdout().is_terminal() && !arguments.fast;
    let narrator = Narrator::new(Some(is_watched).filter(|_| !json));
    let started = Instant::now();
    let pages = if arguments.serve {
        Some(setup::bind("127.0.0.1:0").await?)
    } else {
        None
    };
    let url = pages
        .as_ref()
        .map(|(_, address)| format!("http://{address}"));
    let demo_world = DemoWorld::open(url).await?;
    let ending = story::play(&demo_world, narrator).await;
    let facts = match &ending {
        Ok(played) => Some(facts_of(&demo_world, played, started.elapsed())?),
        Err(_) => None,
    };
    if let (Some(pages), Ok(_)) = (pages, &ending) {
        ci::until_stopped(&demo_world, pages).await?;
    }
    demo_world.close().await;
    let played = ending?;
    if let Some(facts) = facts.filter(|_| json) {
        output::json(&facts)?;
    }
    for surprise in &played.surprises {
        output::note_line(format_args!("the story went another way: {surprise}"));
    }
    Ok(if played.surprises.is_empty() {
        exit::OK
    } else {
        exit::RETRY
    })
}

/// The document of `loopgate demo --json`.
fn facts_of(demo_world: &DemoWorld, played: &Played, elapsed: Duration) -> Result<Value, CliError> {
    let github = &demo_world.github;
    let pull = github.pull_request(&played.pr)?;
    let state_ref = format!("refs/loopgate/pr/{}", played.pr.number);
    let saved = github.state_ref(&demo_world.repo, &state_ref)?;
    let files = saved.as_ref().map(|saved| &saved.files);
    let state: Option<LoopState> = files
        .and_then(|files| files.get("loop-state.json"))
        .map(|text| serde_json::from_str(text))
        .transpose()?;
    let refused = pull
        .comments
        .iter()
        .filter(|comment| comment.reactions.iter().any(|(_, kind)| kind == "confused"))
        .count();
    let deliveries = github.deliveries();
    let mut guids = BTreeSet::new();
    let duplicate = deliveries
        .iter()
        .filter(|delivery| !guids.insert(delivery.guid))
        .count();
    let accepted = deliveries
        .iter()
        .filter(|delivery| delivery.accepted())
        .count();
    let requests = github.request_counts();
    let records = files
        .into_iter()
        .flatten()
        .filter(|(path, _)| path.starts_with("attempts/"));
    let attempt = |record: Value| {
        json!({
            "number": record["attempt"], "head_sha": record["head_sha"], "decision": record["decision"],
            "score": record["score"], "failed_rules": record["failed_rules"],
        })
    };
    let attempts = records
        .map(|(_, text)| serde_json::from_str(text).map(attempt))
        .collect::<Result<Vec<_>, _>>()?;
    let gates = state.iter().flat_map(|state| &state.concerns.gates);
    let gates = gates
        .filter(|(_, gate)| gate.status != GateStatus::NotApplicable)
        .map(|(name, gate)| {
            let people: Vec<String> = gate
                .approved_by
                .iter()
                .flatten()
                .map(ToString::to_string)
                .collect();
            (
                name.to_string(),
                json!({ "status": gate.status, "approved_by": people, "refused": refused }),
            )
        });
    let check_runs =
        ["loopgate / verify", "loopgate / gates"].map(|name| (name, concluded(&pull, name)));
    Ok(json!({
        "merged": matches!(pull.state, PullState::Merged { .. }),
        "stage": state.as_ref().map(|state| state.run.stage),
        "attempts": attempts,
        "escalations": escalations(&pull),
        "disputes": state.as_ref().map_or(0, |state| state.concerns.disputes.len()),
        "memory_matches": played.memory_matches,
        "gates": gates.collect::<BTreeMap<_, _>>(),
        "labels_seen": played.labels_seen,
        "check_runs": BTreeMap::from(check_runs),
        "state_ref": state_ref,
        "state_commits": saved.as_ref().map_or(0, |saved| saved.commits.len()),
        "deliveries": { "sent": deliveries.len(), "accepted": accepted, "duplicate": duplicate },
        "api_requests": { "total": requests.total, "not_modified": requests.not_modified },
        "elapsed_ms": u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
    }))
}

/// Between two things that people do, this much time passes in the story.
const PACE: TimeDelta = TimeDelta::minutes(7);

/// The author of the second pull request.
pub(super) const AGENT: &str = "mender-agent";

/// Everything that runs during the demo.
pub(super) struct DemoWorld {
    pub github: Simulator,
    pub repo: RepoName,
    server: Running,
    data: PathBuf,
}

impl DemoWorld {
    /// With the address of GitHub's pages, where there are any.
    pub async fn open(pages_url: Option<String>) -> Result<Self, CliError> {
        let github = Simulator::start(Config {
            pace: PACE,
            pages_url,
            ..Config::default()
        })
        .await?;
        let repo = story::repository(&github)?;
        let team = github.admin().add_team("acme/Security", &["bob"])?;
        github.admin().grant_team(&team, &repo, Role::Write)?;
        github.admin().add_user(AGENT)?;
        github.admin().add_collaborator(&repo, AGENT, Role::Write)?;

        let data = std::env::temp_dir().join(format!("loopgate-demo-{}", std::process::id()));
        let clock = SimulatedClock(github.clock());
        let server = serve_simulated(&github, &data, clock, Setup::default(), |_, _| {}).await?;
        Ok(Self {
            github,
            repo,
            server,
            data,
        })
    }

    /// Waits until every webhook was delivered, all its work was done, and that work sent no new webhook.
    pub async fn settle(&self) {
        settle_simulated(&self.github, &self.server).await;
    }

    pub async fn close(self) {
        self.server.shutdown().await;
        // A directory that is left in the temporary directory does no harm.
        let _ = std::fs::remove_dir_all(self.data);
    }
}

//! `loopgate explain OWNER/REPO#N`: why a pull request is where it is, why each gate is closed, and who can open it.

use clap::Args;
use minijinja::value::Serde;

use super::{
    CliError, CommandResult, exit,
    online::{Online, PullRequest},
    output,
};
use crate::github::{Clock as _, Preview, Reconcile, ReconcileRequest, SystemClock};
use loopgate_core::{GateName, policy::StateBackend, state::history::Event};
use loopgate_render as render;

#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// The pull request
    #[arg(value_name = "OWNER/REPO#N")]
    pull_request: PullRequest,
    /// Only this gate: each rule that found something, its line, and how to turn it off
    #[arg(long, value_name = "NAME")]
    gate: Option<GateName>,
}

pub async fn run(arguments: &ExplainArguments) -> CommandResult {
    let looked = look(&arguments.pull_request).await?;
    let (decision, snapshot, policy) = (&looked.decision, &looked.snapshot, &looked.policy);
    let is_unknown = decision
        .events
        .iter()
        .any(|line| matches!(line.event, Event::RunStarted(_)));
    if policy.state == StateBackend::Artifact && is_unknown {
        // Whose artifact counts is known to its workflow alone.
        output::note_line(
            "note: the state is in an artifact (`state.backend`), so earlier attempts and skips are not known here",
        );
    }
    if let Some(gate) = &arguments.gate {
        let rules = render::gate_rules(decision, snapshot, gate).ok_or_else(|| {
            let known: Vec<&str> = policy.gates.keys().map(GateName::as_str).collect();
            CliError::usage(format!(
                "there is no gate `{gate}` here; the gates are {}",
                known.join(", ")
            ))
        })?;
        output::show(&rules, || {
            render::text("gate_rules.txt", Serde(&rules).into())
        })?;
        return Ok(exit::of(decision.word()));
    }
    output::show(&render::explanation(&looked.subject()), || {
        render::plain(&render::explain(&looked.subject()))
    })?;
    Ok(exit::of(decision.word()))
}

/// What would be decided of a pull request now.
pub(super) async fn look(
    PullRequest { repository, number }: &PullRequest,
) -> Result<Preview, CliError> {
    let online = Online::as_anybody()?;
    online.reach(repository).await?;
    let installation = online.installation(repository).await?;
    let job = ReconcileRequest {
        installation,
        repository: repository.clone(),
        number: *number,
        hints: Vec::new(),
    };
    let looked = Reconcile::new(online.github)
        .peek(&job, SystemClock.now())
        .await?;
    looked.ok_or_else(|| {
        CliError::bad_data(format!(
            "there is no {repository}#{number} that Loopgate looks after: the repository has no .github/loopgate.yml, or \
             no such pull request is shown to these credentials"
        ))
    })
}

//! `loopgate reconcile`: Action-only mode. What the server does for a webhook, done by a workflow's job for its event.
//!
//! Nothing of the pull request is checked out or executed: everything is read from the API. Two jobs at once are two
//! writers of one state ref, as two servers are; see [`github`](crate::github).

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use chrono::{TimeDelta, Utc};
use clap::Args;
use minijinja::{Value as Model, value::Serde};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{CliError, CommandResult, actions, exit, online::set_here, output};
use crate::{
    channels::Channels,
    github::{
        self, AnsweredGroup, ApiUrl, AppSlug, Client, Credentials, Failed, Github, GroupAnswer,
        MergeGroup, Reconcile, ReconcileRequest, ReconcileResult, Secret, Setup, StateArtifact,
        Usage,
    },
};
use loopgate_core::{AppId, PrNumber, RepoName, Timestamp, WorkflowRunId, observed::Hint};
use loopgate_refs::Retry;
use loopgate_render as render;
use loopgate_webhook::{InWorkflow, Irrelevant, OwnApp, Target, route_in_workflow};

/// What looking at one pull request costs, roughly: eleven reads, and some writes.
const REQUESTS_PER_LOOK: u64 = 15;
/// How often a look that failed is repeated: no other event may come to do it.
const MOST_TRIES: u32 = 3;
/// A look that asks for another one this soon is given it, since no server waits to do it.
const WAITED_FOR: TimeDelta = TimeDelta::seconds(45);
/// Pull requests that ended so lately are looked at where a run of their head ended.
const ENDED_LATELY: TimeDelta = TimeDelta::hours(1);
/// Looks at one pull request at most.
const MOST_LOOKS: u32 = 4;

#[derive(Debug, Args)]
pub struct ReconcileArguments {
    /// What happened
    #[arg(long, env = "GITHUB_EVENT_NAME", value_name = "NAME")]
    event: String,
    /// The event's payload
    #[arg(long, env = "GITHUB_EVENT_PATH", value_name = "FILE")]
    payload: PathBuf,
    /// The repository whose pull requests are looked at
    #[arg(long, env = "GITHUB_REPOSITORY", value_name = "OWNER/NAME")]
    repository: RepoName,
    /// The API's address
    #[arg(
        long,
        env = "GITHUB_API_URL",
        default_value = "https://api.github.com",
        value_name = "URL"
    )]
    api_url: String,
    /// The workflow run this is part of: heads are first seen when it was created
    #[arg(long, env = "GITHUB_RUN_ID", value_name = "ID", hide = true)]
    run_id: Option<u64>,
    /// How often this workflow has run: which pull requests come first when there are too many for one run
    #[arg(
        long,
        env = "GITHUB_RUN_NUMBER",
        default_value_t = 0,
        value_name = "N",
        hide = true
    )]
    run_number: u64,
    /// Where states are left for the workflow to upload, if the configuration keeps them in an artifact
    #[arg(long, env = "LOOPGATE_STATE_FOLDER", value_name = "FOLDER")]
    state_folder: Option<PathBuf>,
    /// The workflow file this is part of: states are believed that runs of the same file uploaded
    #[arg(
        long,
        env = "GITHUB_WORKFLOW_REF",
        value_name = "FILE@REF",
        hide = true
    )]
    workflow_ref: Option<String>,
    /// Requests after which no further pull request is begun; a repository's token has 1,000 an hour
    #[arg(long, default_value_t = 600, value_name = "N")]
    most_requests: u64,
}

pub async fn run(arguments: &ReconcileArguments) -> CommandResult {
    let unset = || {
        CliError::bad_data(
            "GITHUB_TOKEN is not set: give the step `env: GITHUB_TOKEN: ${{ github.token }}`",
        )
    };
    let token = set_here("GITHUB_TOKEN").ok_or_else(unset)?;
    let app = match set_here("LOOPGATE_APP_SLUG") {
        Some(slug) => slug
            .parse()
            .map_err(|error| CliError::bad_data(format!("LOOPGATE_APP_SLUG: {error}")))?,
        None => AppSlug::actions(),
    };
    // Warnings of the rooms below, as plain lines: a workflow's log is read by people.
    let filter = output::log_filter(std::env::var("LOOPGATE_LOG").ok(), "warn")?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(std::io::stderr)
        .init();
    let api = ApiUrl::parse(&arguments.api_url).map_err(CliError::bad_data)?;
    let credentials = Credentials::Job {
        token: Secret::new(token.trim()),
        app: app.clone(),
    };
    let github = Github::new(api, credentials, Setup::default())?;
    let report = ReconcileRun {
        arguments,
        github,
        app,
    }
    .go()
    .await?;
    report.print()?;
    Ok(if report.has_failed() {
        exit::UNAVAILABLE
    } else {
        exit::OK
    })
}

/// One run of the job.
struct ReconcileRun<'a> {
    arguments: &'a ReconcileArguments,
    github: Github,
    app: AppSlug,
}

impl ReconcileRun<'_> {
    async fn go(self) -> Result<ReconcileReport, CliError> {
        let client = self.github.client(None);
        let (schema, event) = ("loopgate.reconcile/v1", self.arguments.event.clone());
        let mut report = ReconcileReport {
            schema,
            event,
            ..ReconcileReport::default()
        };
        let (targets, mut hints) = match self.routed(&client).await? {
            InWorkflow::Look { targets, hints } => (targets, hints),
            InWorkflow::Irrelevant(why) => {
                report.irrelevant = Some(why);
                return Ok(report);
            }
            InWorkflow::Unsuitable(why) => return Err(CliError::bad_data(why)),
        };
        let mut found = self.pull_requests(&client, &targets).await?;
        let channels = Channels::from_env(|variable| std::env::var(variable).ok())
            .map_err(CliError::bad_data)?;
        let artifact = match (&self.arguments.state_folder, &self.arguments.workflow_ref) {
            (Some(folder), Some(workflow)) => {
                let artifact =
                    StateArtifact::new(folder.clone(), workflow, &self.arguments.repository);
                Some(Arc::new(artifact.map_err(CliError::bad_data)?))
            }
            _ => None,
        };
        let mut reconcile = Reconcile::new(self.github.clone()).calling(channels);
        reconcile.artifact = artifact.clone();
        for target in &targets {
            let Some(group) = MergeGroup::of(None, target, &hints) else {
                continue;
            };
            let answer = async || Box::pin(reconcile.merge_group(&group, Utc::now())).await;
            let answer = trying(group.head.short(), answer, sleep).await;
            if let Ok(AnsweredGroup { result, pulls, .. }) = &answer {
                hints.extend(
                    result
                        .clone()
                        .map(|result| Hint::QueueGroup(Box::new(result))),
                );
                found.extend(
                    pulls
                        .iter()
                        .map(|number| (group.repository.clone(), *number)),
                );
            }
            report
                .merge_groups
                .push(answered(&group, answer.map(|answer| answer.answer)));
        }
        let mut place = 0;
        while let Some((repository, number)) = found.get(place).cloned() {
            if !may_begin(
                place,
                self.github.counts().usage.total,
                self.arguments.most_requests,
            ) {
                report.left = found.len() - place;
                break;
            }
            // If the event names some pull requests, a head was seen on those only: on another one it may have come
            // later.
            let other = |hint: &Hint| matches!(hint, Hint::NamedPulls { pulls } if !pulls.contains(&number));
            let is_another = hints.iter().any(other);
            let applies = |hint: &&Hint| !(is_another && matches!(hint, Hint::HeadSeen { .. }));
            let hints = hints.iter().filter(applies).cloned().collect();
            let job = ReconcileRequest {
                installation: None,
                repository: repository.clone(),
                number,
                hints,
            };
            let (ended, above) = self.look(&reconcile, &job).await;
            // What changed in one layer of a stack concerns the next.
            if let Some(above) =
                above.filter(|above| !found[place..].iter().any(|(_, number)| number == above))
            {
                found.push((repository.clone(), above));
            }
            let waits = matches!(
                &ended,
                Err(Failed {
                    retry: Retry::At(_),
                    ..
                })
            );
            report
                .pull_requests
                .push(looked(&repository, number, ended));
            if waits {
                // GitHub asks to wait: the next pull request would meet the same.
                report.left = found.len() - place - 1;
                break;
            }
            place += 1;
        }
        // A pass over everything also folds what has ended long ago: no server does it.
        if let ([Target::Repository(repository)], 0) = (&targets[..], report.left) {
            let open = found.iter().map(|(_, number)| *number).collect();
            let left = self
                .arguments
                .most_requests
                .saturating_sub(self.github.counts().usage.total);
            let left = usize::try_from(left).unwrap_or(usize::MAX);
            match github::fold_ended_runs(client.repo(repository), &open, left, Utc::now()).await {
                Ok(folded) if folded.runs == 0 => {}
                Ok(folded) => output::note_line(format_args!(
                    "refs of {} ended runs are folded",
                    folded.runs
                )),
                Err(error) => {
                    output::note_line(format_args!("refs of ended runs are not folded: {error}"))
                }
            }
        }
        if let Some(artifact) = &artifact {
            report.state_folder = artifact.to_upload().await.map(Path::to_owned);
        }
        report.usage = self.github.counts().usage;
        Ok(report)
    }

    /// What the event asks for. An event about a head is dated by the workflow run's creation, which GitHub
    /// noted when the event happened; by now the job may have waited for a runner for minutes, and approvals written
    /// meanwhile would count as older than the head.
    async fn routed(&self, client: &Client) -> Result<InWorkflow, CliError> {
        let body = actions::read_event(&self.arguments.payload)?;
        let bot = format!("{}[bot]", self.app.as_str()).parse().ok();
        // Only events about our own check runs ask for the id, and those start no workflow.
        let own = OwnApp {
            app_id: AppId::new(0),
            bot,
        };
        let read = |at: Timestamp| {
            route_in_workflow(
                &self.arguments.event,
                &body,
                &own,
                &self.arguments.repository,
                at,
            )
            .map_err(|error| {
                CliError::bad_data(format!("{}: {error}", self.arguments.payload.display()))
            })
        };
        let routed = read(Utc::now())?;
        let dated = matches!(&routed, InWorkflow::Look { hints, .. }
            if hints.iter().any(|hint| matches!(hint, Hint::HeadSeen { .. })));
        let Some(run) = self.arguments.run_id.filter(|_| dated) else {
            return Ok(routed);
        };
        match client
            .repo(&self.arguments.repository)
            .workflow_run_created_at(WorkflowRunId::new(run))
            .await
        {
            Ok(Some(created_at)) => read(created_at),
            // Too late a moment costs somebody a second approval, nothing worse.
            Ok(None) | Err(_) => Ok(routed),
        }
    }

    /// The pull requests to look at, each once, in the order in which they are.
    async fn pull_requests(
        &self,
        client: &Client,
        targets: &[Target],
    ) -> Result<Vec<(RepoName, PrNumber)>, CliError> {
        let mut found = Vec::new();
        for target in targets {
            found.extend(client.pull_requests_of(target).await?);
            // The relay's run names the commit and not what happened, which may have been the end.
            if let Target::Head { repository, sha } = target {
                let since = Utc::now() - ENDED_LATELY;
                let ended = client.repo(repository).ended_with_head(*sha, since).await?;
                found.extend(ended.into_iter().map(|number| (repository.clone(), number)));
            }
        }
        found.sort();
        found.dedup();
        Ok(in_turn(
            found,
            self.arguments.run_number,
            self.arguments.most_requests,
        ))
    }

    /// Looks until nothing asks to be looked at again soon.
    async fn look(
        &self,
        reconcile: &Reconcile,
        job: &ReconcileRequest,
    ) -> (TurnEnd, Option<PrNumber>) {
        let mut looks = 1;
        let mut above = None;
        loop {
            let look = async || Box::pin(reconcile.run(job, Utc::now())).await;
            let outcome = match trying(format!("#{}", job.number), look, sleep).await {
                Ok(outcome) => outcome,
                Err(failed) => return (Err(failed), above),
            };
            above = outcome.above.or(above);
            let now = Utc::now();
            match outcome.revisit_at {
                Some(at) if at <= now + WAITED_FOR && looks < MOST_LOOKS => {
                    sleep((at - now).to_std().unwrap_or_default()).await;
                    looks += 1;
                }
                revisit_at => return (Ok((outcome.result, revisit_at)), above),
            }
        }
    }
}

/// Tries again a little later, unless GitHub names a time to come back.
async fn trying<T>(
    what: String,
    once: impl AsyncFn() -> Result<T, Failed>,
    pause: impl AsyncFn(Duration),
) -> Result<T, Failed> {
    let mut tries = 1;
    loop {
        match once().await {
            Err(failed)
                if !matches!(failed.retry, Retry::At(_) | Retry::Paced(_))
                    && tries < MOST_TRIES =>
            {
                output::note_line(format_args!("{what}: {failed}; trying again"));
                pause(Duration::from_secs(1 << tries)).await;
                tries += 1;
            }
            ended => return ended,
        }
    }
}

/// Whether the pull request at this place may be begun after so many requests. The first always may. A run has its
/// share of the 1,000 an hour that a repository's `GITHUB_TOKEN` has
/// (<https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api>).
const fn may_begin(place: usize, asked: u64, most: u64) -> bool {
    place == 0 || asked + REQUESTS_PER_LOOK <= most
}

/// All in the order in which they are looked at: each run of the workflow goes on about where the one before had to
/// stop, so that none is left out for ever.
fn in_turn<T>(mut all: Vec<T>, run_number: u64, most_requests: u64) -> Vec<T> {
    let per_run = (most_requests / REQUESTS_PER_LOOK).max(1);
    let count = all.len() as u64;
    if count > per_run {
        // Less than the count, which is a length.
        let first = (run_number % count) * (per_run % count) % count;
        all.rotate_left(usize::try_from(first).unwrap_or(0));
    }
    all
}

/// All of one run, as programs read it.
#[derive(Default, Serialize)]
struct ReconcileReport {
    schema: &'static str,
    event: String,
    irrelevant: Option<Irrelevant>,
    /// The questions of merge queues, and the pull requests.
    merge_groups: Vec<Value>,
    pull_requests: Vec<Value>,
    /// Pull requests left for the next run.
    left: usize,
    /// States to be uploaded as an artifact.
    state_folder: Option<PathBuf>,
    #[serde(rename = "api_requests")]
    usage: Usage,
}

/// How one look at a pull request ended, and when time alone changes something.
type TurnEnd = Result<(ReconcileResult, Option<Timestamp>), Failed>;

/// The result for the question of a merge queue.
fn answered(
    MergeGroup {
        repository, head, ..
    }: &MergeGroup,
    answer: Result<GroupAnswer, Failed>,
) -> Value {
    let (result, reason) = match answer {
        Ok(GroupAnswer::Final) => ("answered", None),
        Ok(GroupAnswer::Unfinished) => ("unfinished", None),
        Ok(GroupAnswer::Dormant) => ("dormant", None),
        Err(failed) => ("failed", Some(failed.reason)),
    };
    json!({ "repository": repository, "head": head, "result": result, "reason": reason })
}

/// The result of a look at a pull request.
fn looked(repository: &RepoName, number: PrNumber, ended: TurnEnd) -> Value {
    let unchanged = |result: &str, at| json!({ "result": result, "revisit_at": at });
    let mut row = match ended {
        Err(Failed { reason, retry }) => {
            let retry_at = if let Retry::At(at) | Retry::Paced(at) = retry {
                Some(at)
            } else {
                None
            };
            json!({ "result": "failed", "reason": reason, "retry_at": retry_at })
        }
        Ok((ReconcileResult::Dormant, at)) => unchanged("dormant", at),
        Ok((ReconcileResult::Nothing, at)) => unchanged("nothing", at),
        Ok((ReconcileResult::ReadOnly, at)) => unchanged("read_only", at),
        Ok((ReconcileResult::Decided(summary), at)) => {
            let problems = summary
                .problems
                .iter()
                .map(|problem| format!("{}: {}", problem.what, problem.reason));
            json!({
                "result": "decided", "revisit_at": at, "decision": summary.word, "status": summary.status,
                "stage": summary.stage, "score": summary.score, "attempt": summary.attempt,
                "failed_rules": summary.failed_rules, "subject": summary.subject, "saved": summary.saved,
                "effects": summary.effects, "problems": Vec::from_iter(problems),
            })
        }
    };
    (row["repository"], row["number"]) = (json!(repository), json!(number));
    row
}

impl ReconcileReport {
    fn has_failed(&self) -> bool {
        self.merge_groups
            .iter()
            .chain(&self.pull_requests)
            .any(|row| row["result"] == "failed")
    }

    fn print(&self) -> Result<(), CliError> {
        let lines = render::text("reconcile.txt", Model::from(Serde(self)));
        output::show(self, || &lines)?;
        // GitHub shows what is appended to this file on the run's page.
        let summary = lines
            .lines()
            .fold(String::from("### Loopgate\n\n"), |mut text, line| {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "- {}", render::plain_line(line.trim()));
                text
            });
        output::append_to_file_of("GITHUB_STEP_SUMMARY", "the job summary", &summary);
        // Outputs are about one pull request; of several, none would be right.
        if let [row] = &self.pull_requests[..]
            && row["result"] == "decided"
        {
            actions::write_decision(row, None);
        }
        if let Some(folder) = &self.state_folder {
            // For the step that uploads the states.
            actions::write_outputs(&[("state-path", folder.display().to_string())]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::{Cell, RefCell},
        collections::BTreeSet,
    };

    use super::*;

    #[test]
    fn one_look_is_always_allowed_and_the_last_stays_within_the_budget() {
        assert!(may_begin(0, 3, 0) && !may_begin(1, 3, 0));
        assert!(may_begin(1, 85, 100) && !may_begin(1, 86, 100));
    }

    #[test]
    fn everybody_has_a_turn() {
        assert_eq!(
            in_turn(vec![1, 2, 3], 7, 600),
            [1, 2, 3],
            "enough for all: in order"
        );
        for (count, most) in [(100_usize, 600), (41, 600), (7, 15), (300, 150), (10, 90)] {
            let per_run = usize::try_from(most / REQUESTS_PER_LOOK).unwrap();
            let mut seen = BTreeSet::new();
            for run in 0..(2 * count as u64) {
                seen.extend(
                    in_turn((0..count).collect(), run, most)
                        .into_iter()
                        .take(per_run),
                );
            }
            assert_eq!(seen.len(), count, "{count} of which {per_run} a run");
        }
    }

    #[tokio::test]
    async fn what_fails_is_tried_three_times_unless_github_says_when_to_come_back() {
        let failed = |retry| Failed {
            reason: "no answer".into(),
            retry,
        };
        // Fails so often, with this time to wait for; how often it was tried, and the pauses in seconds.
        let table = [
            (0, Retry::WhenAnswered, 1, vec![]),
            (2, Retry::WhenAnswered, 3, vec![2, 4]),
            (9, Retry::Later, 3, vec![2, 4]),
            (9, Retry::At(Utc::now()), 1, vec![]),
        ];
        for (failures, retry, expected, waited) in table {
            let (tries, pauses) = (Cell::new(0), RefCell::new(Vec::new()));
            let once = async || {
                tries.set(tries.get() + 1);
                if tries.get() <= failures {
                    Err(failed(retry))
                } else {
                    Ok(())
                }
            };
            let pause = async |time: Duration| pauses.borrow_mut().push(time.as_secs());
            let ended = trying("#12".into(), once, pause).await;
            assert_eq!(
                (ended.is_ok(), tries.get(), pauses.take()),
                (failures < 3, expected, waited)
            );
        }
    }
}

#[cfg(test)]
mod report_tests {
    use super::*;
    use crate::github::{Problem, Summary};
    use loopgate_core::{Score, deciding::DecisionWord, stage::Stage, state::RunStatus};

    fn looked(number: u64, ended: TurnEnd) -> Value {
        super::looked(
            &"acme/widgets".parse().unwrap(),
            PrNumber::new(number),
            ended,
        )
    }

    fn report_of(event: &str) -> ReconcileReport {
        ReconcileReport {
            schema: "loopgate.reconcile/v1",
            event: event.to_owned(),
            ..ReconcileReport::default()
        }
    }

    fn lines(report: &ReconcileReport) -> String {
        render::text("reconcile.txt", Model::from(Serde(report)))
    }

    fn report() -> ReconcileReport {
        let summary = Summary {
            word: DecisionWord::Retry,
            status: RunStatus::InProgress,
            stage: Stage::Test,
            score: Score::ZERO,
            failed_rules: vec!["unit".parse().unwrap()],
            subject: "attempt 2: retry — 1 failed rule (unit)".into(),
            run_id: "pr-12-20261120-101500".into(),
            attempt: 2,
            saved: None,
            effects: 3,
            problems: vec![Problem {
                what: "add the label loop:retry".into(),
                reason: "not permitted".into(),
            }],
            unknown_rights: None,
        };
        let revisit_at = Some("2026-11-20T11:15:00Z".parse().unwrap());
        let until = "2026-11-20T11:00:00Z".parse().unwrap();
        let failed = Failed {
            reason: "GitHub's rate limit is used up".into(),
            retry: Retry::At(until),
        };
        ReconcileReport {
            pull_requests: vec![
                looked(12, Ok((ReconcileResult::Decided(summary), revisit_at))),
                looked(13, Ok((ReconcileResult::Nothing, None))),
                looked(14, Err(failed)),
            ],
            left: 7,
            usage: Usage {
                total: 61,
                not_modified: 4,
                writes: 9,
            },
            ..report_of("schedule")
        }
    }

    #[test]
    fn a_log_says_what_came_of_each_and_what_it_cost() {
        insta::assert_snapshot!(lines(&report()), @r"
        acme/widgets#12: attempt 2: retry — 1 failed rule (unit); changes made: 3; time alone changes something after 2026-11-20 11:15 UTC
          could not add the label loop:retry: not permitted
        acme/widgets#13: there is nothing to loop over
        acme/widgets#14: not done: GitHub's rate limit is used up
        7 more are left for the next run
        61 requests to GitHub, 9 of them writes, 4 answered 304
        ");
        let chat = ReconcileReport {
            irrelevant: Some(Irrelevant::Chat),
            ..report_of("issue_comment")
        };
        insta::assert_snapshot!(lines(&chat), @r"
        issue_comment: nothing to look at (chat)
        0 requests to GitHub, 0 of them writes, 0 answered 304
        ");
    }

    #[test]
    fn a_document_says_the_same_and_one_failure_fails_the_run() {
        let report = report();
        assert!(report.has_failed() && !report_of("push").has_failed());
        let document = serde_json::to_value(&report).unwrap();
        assert_eq!(document["schema"], "loopgate.reconcile/v1");
        assert_eq!(document["pull_requests"][0]["decision"], "retry");
        assert_eq!(
            document["pull_requests"][0]["problems"][0],
            "add the label loop:retry: not permitted"
        );
        assert_eq!(document["pull_requests"][1]["result"], "nothing");
        assert_eq!(
            document["pull_requests"][2]["retry_at"],
            "2026-11-20T11:00:00Z"
        );
        assert_eq!(
            (&document["left"], &document["api_requests"]["total"]),
            (&7.into(), &61.into())
        );
    }
}

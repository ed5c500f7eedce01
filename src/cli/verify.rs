//! `loopgate verify`: runs the checks here, evaluates them, writes the evidence.

use std::{
    collections::BTreeSet,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    thread,
};

use chrono::Utc;
use clap::{Args, FromArgMatches as _};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    CliError, CommandResult,
    actions::{self, ActionsRun},
    exit,
    exit::FailOn,
    feedback, kept_evidence, kept_results, output,
    output::Format,
    progress,
    working_tree::{self, CONFIGURATION},
};
use loopgate_core::{
    CheckName, RuleId, Score, Sha, Timestamp,
    concerns::{checks::gather, coverage},
    deciding::{Decision, DecisionWord, decide},
    evidence::{CheckEvidence, CheckKind, Evidence, EvidenceExtent, Outcome, RepeatedTest},
    failure::{self, FeedbackLine},
    observed::{ChangedFiles, PullRequest, Snapshot},
    policy::{CheckSource, Policy, RequiredTest},
    stage::Stage,
    state::{LoopState, RunStatus},
};
use loopgate_git::{Git, Outsider};
use loopgate_refs::LocalRepository;
use loopgate_render::{self as render, Feedback, PlantedSettings, Subject};
use loopgate_runner::{self as runner, Changes, Checkout, Head, Plan, TestTrial};

#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// Run only these checks, and what they need
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    checks: Vec<CheckName>,
    /// The configuration to use [default: .github/loopgate.yml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The branch the change is measured against [default: in a workflow the pull request's, else the remote's default
    /// branch]
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
    /// How many checks run at once [default: the number of cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// The evidence.json of the base, for telling its failures and coverage from this change's
    #[arg(long, value_name = "FILE")]
    base_evidence: Option<PathBuf>,
    /// Run the tests that the change edits once more as they were before it [default: in a workflow]
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "true|false")]
    base_tests: Option<bool>,
    /// How often each test that the change adds runs once more by itself, to find the flaky ones; 0: never
    #[arg(long, env = "LOOPGATE_BURN_IN", default_value_t = 5, value_parser = clap::value_parser!(u32).range(..=100), value_name = "N")]
    burn_in: u32,
    /// Where evidence.json is written
    #[arg(long, default_value = working_tree::EVIDENCE, value_name = "DIRECTORY")]
    evidence: PathBuf,
    /// Which decisions end with an exit code other than 0 [default: all but proceed; in the Action: failure]
    #[arg(long, env = "LOOPGATE_FAIL_ON", value_enum, value_name = "WHICH")]
    fail_on: Option<FailOn>,
}

impl VerifyArguments {
    /// These checks alone, or all if there are none, against this base; the rest as on a command line that does not
    /// set it.
    pub(super) fn of(checks: Vec<CheckName>, base: Option<String>) -> Result<Self, CliError> {
        let usual =
            Self::augment_args(clap::Command::new("verify")).try_get_matches_from(["verify"])?;
        Ok(Self {
            checks,
            base,
            ..Self::from_arg_matches(&usual)?
        })
    }
}

/// A verification that went to its end: the working tree, seen as a pull request that is not open yet.
pub(super) struct Verified {
    snapshot: Snapshot,
    policy: Policy,
    evidence: Evidence,
    decision: Decision,
    /// Where the evidence is.
    path: PathBuf,
    /// Whether nothing is configured, and among the usual checks is no test.
    lacks_tests: bool,
    pub feedback: Feedback,
}

/// The report for people, beside the evidence.
const REPORT: &str = "report.md";

pub async fn run(arguments: &VerifyArguments) -> CommandResult {
    let Some(verified) = verify(arguments, runner::asked_to_stop()).await? else {
        output::note_line("interrupted: what was running has been ended");
        return Ok(exit::INTERRUPTED);
    };
    report(&verified)?;
    let Verified {
        evidence, decision, ..
    } = &verified;
    if actions::is_here() && output::format() != Format::Github {
        // Beside the results, not among them: a program may be reading those.
        output::note_text(render::annotation_commands(&decision.view));
    }
    let code = match code(decision, evidence) {
        exit::OK if verified.lacks_tests => {
            output::note_line(
                "No test was run, so nothing shows that the code works. Name the command that tests it as a check of \
                 `kind: test` in .github/loopgate.yml; `loopgate init` begins that file.",
            );
            exit::NO_TESTS
        }
        code => code,
    };
    let failing = evidence
        .checks
        .iter()
        .filter(|check| check.outcome.is_failure())
        .count();
    Ok(arguments
        .fail_on
        .map_or(code, |fail_on| fail_on.leaves(code, failing)))
}

/// Runs the checks, decides, and writes everything down; none where it was stopped.
pub(super) async fn verify(
    arguments: &VerifyArguments,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<Option<Verified>, CliError> {
    let git = Git::at(&std::env::current_dir()?);
    // People wait for both before the first check begins.
    let (checkout, changes) = thread::scope(|scope| {
        let changes = scope.spawn(|| working_tree::changes(&git, arguments.base.as_deref()));
        (Checkout::of(&git), changes.join())
    });
    let checkout = checkout.map_err(CliError::bad_data)?;
    let changed = changes.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    // Gates aside, and only the checks that can be run here.
    let (mut policy, detected) = working_tree::policy(&checkout.root, arguments.config.as_deref())?;
    if let Some((is_unconfigured, detected)) = &detected {
        progress::show_detected(*is_unconfigured, detected);
    }
    policy.gates.clear();
    if policy.verify.checks.is_empty() {
        return Err(nothing_to_run(&checkout));
    }
    let named: BTreeSet<CheckName> = arguments.checks.iter().cloned().collect();
    let only = Some(&named).filter(|named| !named.is_empty());
    let plan = Plan::new(&policy.verify.checks, only, &checkout.git, arguments.jobs);
    let plan = plan
        .map_err(CliError::bad_data)?
        .repeating(policy.retry.external_retry.commands());
    let mut kinds = plan.checks.values().map(|planned| planned.kind);
    let lacks_tests = detected.is_some() && only.is_none() && !kinds.any(CheckKind::is_of_tests);
    if plan.checks.is_empty() {
        return Err(nothing_to_run(&checkout));
    }
    let mut base_evidence = None;
    if let Some(path) = &arguments.base_evidence {
        let evidence: Evidence =
            serde_json::from_str(&output::read_text(path)?).map_err(|error| {
                CliError::bad_data(format!(
                    "{} is no evidence of a base: {error}",
                    path.display()
                ))
            })?;
        base_evidence = Some(gather::base(evidence.head_sha, vec![evidence]));
    }
    let directory = checkout.root.join(&arguments.evidence);
    // However this process ends, what is left does not look like the evidence of something that did.
    let mut evidence = unfinished(&checkout, &plan, changed.1.as_ref());
    let path = write(&evidence, &directory)?;
    actions::write_evidence(&path);
    // Nor like its verdict.
    let _ = std::fs::remove_file(directory.join(feedback::FILE));
    execute(
        arguments,
        &plan,
        &checkout,
        &changed,
        &policy,
        stop,
        &mut evidence,
    )
    .await;
    // In a workflow the loop remembers it.
    if evidence.extent == EvidenceExtent::Whole && !actions::is_here() {
        kept_results::compare(&checkout, &policy, &mut evidence);
    }
    write(&evidence, &directory)?;
    let planted = working_tree::planted(&checkout.git);
    working_tree::say_planted(&planted);
    if evidence.extent == EvidenceExtent::Interrupted {
        return Ok(None);
    }
    let (base, changes) = changed;
    let snapshot = Snapshot {
        base_evidence,
        ..observed(&checkout, base.as_deref(), changes, &evidence)
    };
    // Only what was run can be asked for.
    policy
        .verify
        .checks
        .retain(|name, _| evidence.checks.iter().any(|check| &check.name == name));
    let mut decision = decided(&snapshot, &policy);
    if decision.memory_questions(&policy).look_up
        && let Ok(repository) = LocalRepository::of(&checkout.git)
    {
        let found =
            working_tree::look_up(&repository, &checkout.root, &decision, &snapshot, &policy);
        decision.remember(found.await);
    }
    let summary = render::job_summary(&decision, &snapshot, &policy);
    output::append_to_file_of("GITHUB_STEP_SUMMARY", "the job summary", &summary);
    output::write(&path.with_file_name(REPORT), &summary)?;
    let mut feedback = Feedback::of(&Subject::new(&decision, &snapshot, &policy));
    if !actions::is_here() {
        feedback.working_tree = working_tree::tree(&checkout.git, &arguments.evidence);
    }
    // Of a commit, and all of its checks: what fails here is known again where it is the base.
    if feedback.working_tree == Some(checkout.tree) && only.is_none() {
        kept_evidence::keep(&checkout.git, &evidence);
    }
    feedback.planted = planted;
    output::write(&directory.join(feedback::FILE), &feedback.written())?;
    Ok(Some(Verified {
        snapshot,
        policy,
        evidence,
        decision,
        path,
        lacks_tests,
        feedback,
    }))
}

/// No check is configured or known that can be run here.
fn nothing_to_run(checkout: &Checkout) -> CliError {
    let lacks = match checkout.root.join(CONFIGURATION).is_file() {
        true => "has no check with `run:`",
        false => "is not there",
    };
    CliError::bad_data(format!(
        "there is no check to run here: {CONFIGURATION} {lacks}, and {} is no project whose usual checks are known. Add \
         a check with `run:` under verify.checks.",
        checkout.root.display()
    ))
}

/// Runs the checks, and the tests of the change beside them, into their evidence, which is whole unless it was stopped.
async fn execute(
    arguments: &VerifyArguments,
    plan: &Plan,
    checkout: &Checkout,
    (base, changes): &(Option<String>, Option<Changes>),
    policy: &Policy,
    stop: impl Future<Output = ()> + Send + 'static,
    evidence: &mut Evidence,
) {
    let observer = progress::observer();
    let (interrupt, _watch) = runner::interrupt_at(stop);
    // Tools are asked for their versions, and an analyzer is asked, beside the checks and after them.
    let exposed = checkout.git.expose(Outsider::Checks);
    let (mut ran, environment) = tokio::join!(
        runner::run(plan, interrupt.clone(), observer),
        runner::environment(plan)
    );
    let nothing = ChangedFiles::Complete(Vec::new());
    let files = changes.as_ref().map_or(&nothing, |changes| &changes.files);
    if let Some(command) = policy
        .verify
        .analyzer
        .as_deref()
        .filter(|_| !interrupt.is_cancelled())
    {
        // The answer does not change the outcome of the verification.
        let of = failure::Changes::of(files);
        match runner::ask_analyzer(
            command,
            plan.root(),
            &mut ran.checks,
            &of,
            interrupt.clone(),
        )
        .await
        {
            Ok(0) => {}
            Ok(count) => output::note_line(format_args!(
                "the analyzer explained {count} of the failures"
            )),
            Err(why) => output::note_line(format_args!(
                "the analyzer was of no use: {why}. Loopgate's own analysis stands."
            )),
        }
    }
    if let Some(changes) = changes.as_ref().filter(|_| !interrupt.is_cancelled()) {
        let checks = policy
            .verify
            .checks
            .iter()
            .filter_map(|(name, check)| match &check.source {
                CheckSource::Command(command) if check.kind == CheckKind::Test => {
                    Some((name, command))
                }
                CheckSource::Command(_) | CheckSource::External(_) | CheckSource::Reviewer(_) => {
                    None
                }
            });
        let trial = TestTrial {
            git: &checkout.git,
            base: changes.merge_base,
            files,
            checks: checks.collect(),
        };
        // Whether the type of this change asks for the proof that a fix's tests distinguish the fix from its absence.
        let pull_request = pull_request(checkout, base.as_deref(), changes.merge_base, Utc::now());
        let code_type = coverage::change_type(&pull_request, files, &policy.coverage);
        let wanted = [
            RequiredTest::RegressionTest,
            RequiredTest::OriginalBugReproduction,
        ];
        let mut judged = policy.coverage.judged_tests(code_type);
        if policy.coverage.prove_regression && judged.any(|sort| wanted.contains(&sort)) {
            output::note_line("running the tests of this change on the base and on the head");
            evidence.regression_proof = Some(runner::prove(&trial, interrupt.clone()).await);
        }
        if arguments.base_tests.unwrap_or_else(actions::is_here) && !interrupt.is_cancelled() {
            let observer = progress::observer();
            evidence.base_tests =
                runner::base_tests(&trial, plan, checkout.head, interrupt.clone(), observer).await;
        }
        if arguments.burn_in > 0 && !interrupt.is_cancelled() {
            evidence.burn_in = runner::burn_in(&trial, arguments.burn_in, interrupt.clone()).await;
            render::not_repeated(&evidence.burn_in)
                .iter()
                .for_each(output::note_line);
        }
    }
    drop(exposed);
    evidence.coverage = ran
        .coverage
        .map(|reports| coverage::measure(files, &reports));
    (evidence.checks, evidence.environment, evidence.ended_at) =
        (ran.checks, environment, Utc::now());
    if !interrupt.is_cancelled() {
        evidence.extent = EvidenceExtent::Whole;
    }
}

/// The evidence of checks none of which has run yet.
fn unfinished(checkout: &Checkout, plan: &Plan, changes: Option<&Changes>) -> Evidence {
    let run = ActionsRun::current();
    let repository = run.as_ref().map_or_else(
        || working_tree::repository_name(checkout),
        |run| run.repository.clone(),
    );
    let head = run
        .as_ref()
        .and_then(|run| run.head)
        .unwrap_or(checkout.head);
    let checks = plan.checks.iter();
    let checks = checks
        .map(|(name, planned)| CheckEvidence::bare(name.clone(), planned.kind, Outcome::Cancelled));
    Evidence {
        base_sha: changes.map(|changes| changes.merge_base),
        pull_request: run.as_ref().and_then(|run| run.pull_request),
        workflow: run.map(|run| run.origin),
        extent: EvidenceExtent::Interrupted,
        ..working_tree::evidence(repository, head, checkout.tree, checks.collect())
    }
}

fn write(evidence: &Evidence, directory: &Path) -> Result<PathBuf, CliError> {
    let path = directory.join(kept_evidence::FILE);
    let text = serde_json::to_string_pretty(evidence).map_err(CliError::bad_data)?;
    let write = || {
        // A folder that we make is one git need not see. One that was there before belongs to somebody, and stays as it
        // is.
        if !directory.exists() {
            std::fs::create_dir_all(directory)?;
            std::fs::write(directory.join(".gitignore"), "*\n")?;
        }
        std::fs::write(&path, text + "\n")
    };
    write().map_err(|error| {
        CliError::unavailable(format!("{} cannot be written: {error}", path.display()))
    })?;
    Ok(path)
}

/// The pull request there is or may be: in the Action with its title and text, elsewhere named after the branch.
fn pull_request(
    checkout: &Checkout,
    base: Option<&str>,
    base_sha: Sha,
    at: Timestamp,
) -> PullRequest {
    let head = Head {
        commit: checkout.head,
        tree: checkout.tree,
    };
    let words = ActionsRun::current().and_then(|run| run.words);
    let (title, body) = words.unwrap_or_else(|| (working_tree::branch(checkout), String::new()));
    PullRequest {
        body,
        ..working_tree::pull_request(checkout, head, base_sha, base, title, at)
    }
}

/// The working tree with its evidence.
fn observed(
    checkout: &Checkout,
    base: Option<&str>,
    changes: Option<Changes>,
    evidence: &Evidence,
) -> Snapshot {
    if !checkout.is_clean {
        output::note_line(format_args!(
            "The working tree differs from {}: the evidence is of what is here.",
            checkout.head.short()
        ));
    }
    let (base_sha, files) = match changes {
        Some(Changes { merge_base, files }) => (merge_base, files),
        None => (checkout.head, ChangedFiles::Complete(Vec::new())),
    };
    let mut pull_request = pull_request(checkout, base, base_sha, evidence.started_at);
    pull_request.head.sha = evidence.head_sha;
    pull_request.head.repository = Some(evidence.repository.clone());
    let mut snapshot = working_tree::snapshot(
        evidence.repository.clone(),
        pull_request,
        files,
        Some(evidence.clone()),
    );
    working_tree::read_files(checkout, base_sha, &mut snapshot);
    snapshot
}

/// The decision that a pull request would get for this evidence.
fn decided(snapshot: &Snapshot, policy: &Policy) -> Decision {
    let now = Utc::now();
    let mut state = LoopState::begin(snapshot, policy, now);
    state.run.pull_request = None;
    state.run.alias.clear();
    decide(snapshot, &state, policy, now)
}

const VERIFY_SCHEMA: &str = "loopgate.verify/v1";

/// A verification for programs, on standard output.
#[derive(Serialize, JsonSchema)]
struct VerifyDocument<'v> {
    #[schemars(extend("const" = VERIFY_SCHEMA))]
    schema: &'static str,
    decision: DecisionWord,
    status: RunStatus,
    /// How far the change would come without gates.
    stage: Stage,
    score: Score,
    attempt: u32,
    failed_rules: Vec<RuleId>,
    warnings: Vec<RuleId>,
    /// What must be known although it decides nothing.
    notes: Vec<String>,
    feedback: Vec<FeedbackLine>,
    /// The checks as the evidence document has them.
    #[schemars(with = "Vec<Map<String, Value>>")]
    checks: &'v [CheckEvidence],
    /// Added tests that were run again and again, and how that went.
    #[schemars(with = "Vec<Map<String, Value>>")]
    burn_in: &'v [RepeatedTest],
    /// What came into git's configuration while code of the change ran here.
    planted: &'v [PlantedSettings],
    evidence_path: &'v Path,
}

fn report(verified: &Verified) -> Result<(), CliError> {
    let Verified {
        snapshot,
        policy,
        evidence,
        decision,
        path,
        ..
    } = verified;
    let view = &decision.view;
    let report = path.with_file_name(REPORT);
    let document = render::marked(json!(VerifyDocument {
        schema: VERIFY_SCHEMA,
        decision: decision.word(),
        status: decision.next.run.status,
        stage: view.evidence_stage,
        score: view.evaluation.score,
        attempt: view.attempt,
        failed_rules: view.evaluation.failed_rules(),
        warnings: view.evaluation.warnings(),
        notes: render::notes(decision, snapshot),
        feedback: render::feedback(&view.feedback, policy.retry.feedback_max_length),
        checks: &evidence.checks,
        burn_in: &evidence.burn_in,
        planted: &verified.feedback.planted,
        evidence_path: path,
    }));
    actions::write_decision(&document, Some([path, &report]));
    match output::format() {
        Format::Github => output::text(render::annotation_commands(view)),
        Format::Human => {
            let is_whole = output::options().verbose;
            let text =
                render::terminal_report(decision, snapshot, policy, is_whole, output::colour());
            output::text(if actions::is_here() {
                actions::silenced(&text)
            } else {
                text
            });
            output::line(format_args!("Report: {}", report.display()));
            output::line(format_args!("Evidence: {}", path.display()));
        }
        Format::Json => output::json(&document)?,
    }
    Ok(())
}

/// Code 4 separates "nothing was tested" from "something failed".
fn code(decision: &Decision, evidence: &Evidence) -> u8 {
    let failing = || {
        evidence
            .checks
            .iter()
            .filter(|check| check.outcome.is_failure())
    };
    let only_empty = failing().all(|check| check.outcome == Outcome::NoTestsExecuted);
    match decision.word() {
        DecisionWord::Retry | DecisionWord::Escalate
            if failing().next().is_some() && only_empty =>
        {
            exit::NO_TESTS
        }
        word => exit::of(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_that_is_shipped_is_that_of_the_document() {
        loopgate_written::assert_schema::<render::Marked<VerifyDocument<'_>>>(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/config/schemas/verify.schema.json"
        ));
    }
}

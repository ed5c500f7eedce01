//! Why nothing is heard of a check: what is known to keep it from starting, and what of the same CI did report.

use crate::{
    concerns::{checks::external, gates},
    observed::{ACTIONS, ExternalCheck, Snapshot, WorkflowRun},
    policy::{CheckPolicy, CheckSource, Policy},
};

/// Jobs that did report, named at most.
const MOST_NAMED: usize = 5;

/// Words in the message of a head commit for which GitHub starts no workflow of `push` and `pull_request`
/// (<https://docs.github.com/en/actions/how-tos/manage-workflow-runs/skip-workflow-runs>).
const SKIP_WORDS: [&str; 5] = [
    "[skip ci]",
    "[ci skip]",
    "[no ci]",
    "[skip actions]",
    "[actions skip]",
];

/// The trailer that does the same.
const SKIP_TRAILER: &str = "skip-checks";

/// Why nothing was heard of a check.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Silence {
    /// The pull request conflicts with its base, so GitHub starts none of its workflows.
    Conflict,
    /// The message of the head commit asks for no run.
    SkipWord { word: String },
    /// The head commit is a workflow's, and nothing started: GitHub starts no workflow for what one pushes with its own
    /// token (<https://docs.github.com/en/actions/concepts/security/github_token>).
    WorkflowToken,
    /// A run of a workflow that is to bring its evidence ended without any.
    EndedWithout,
    /// Nothing explains it. `beside` names jobs of the same CI that did report and that no check follows, at most 5.
    Unexplained { beside: Vec<String> },
}

impl Silence {
    /// Whether the author ends it by a push, so that nobody is called.
    pub const fn is_authors(&self) -> bool {
        matches!(
            self,
            Self::Conflict | Self::SkipWord { .. } | Self::WorkflowToken
        )
    }

    /// Whether it is certain as soon as it is seen; the others may be a matter of seconds.
    const fn is_at_once(&self) -> bool {
        matches!(self, Self::Conflict | Self::SkipWord { .. })
    }
}

/// Why nothing of this check is on the head; `None` while it is early to ask. `is_overdue` is whether its time is over.
pub fn of_check(
    snapshot: &Snapshot,
    policy: &Policy,
    check: &CheckPolicy,
    is_overdue: bool,
) -> Option<Silence> {
    let known = is_of_actions(check)
        .then(|| known_cause(snapshot))
        .flatten();
    if !is_overdue {
        // Where some workflow started, its others may yet.
        let is_quiet =
            snapshot.all_runs.is_empty() && !snapshot.checks.iter().any(ExternalCheck::is_job);
        return known.filter(|known| is_quiet && known.is_at_once());
    }
    let is_command = matches!(check.source, CheckSource::Command(_));
    let ended = || is_command && external::silent_runs(snapshot).next().is_some();
    Some(known.unwrap_or_else(|| {
        if ended() {
            Silence::EndedWithout
        } else {
            let beside = beside(snapshot, policy, check);
            Silence::Unexplained { beside }
        }
    }))
}

/// A run that may yet bring the check: none of its own is there, and a workflow of the head has not ended. Jobs that
/// need others, and those of a run that waits for its turn, are listed only once they begin.
pub fn awaited_run<'s>(snapshot: &'s Snapshot, check: &CheckPolicy) -> Option<&'s WorkflowRun> {
    let may_be_of_actions = match &check.source {
        CheckSource::External(source) => source.app.as_deref().is_none_or(|app| app == ACTIONS),
        CheckSource::Command(_) => true,
        CheckSource::Reviewer(_) => false,
    };
    let runs = snapshot.all_runs.iter().filter(|_| may_be_of_actions);
    let mut unfinished = runs.filter(|run| run.progress.conclusion().is_none());
    unfinished.next()
}

/// Whether its evidence certainly comes of a workflow of GitHub Actions.
fn is_of_actions(check: &CheckPolicy) -> bool {
    match &check.source {
        CheckSource::External(source) => source.app.as_deref() == Some(ACTIONS),
        CheckSource::Command(_) => true,
        CheckSource::Reviewer(_) => false,
    }
}

fn known_cause(snapshot: &Snapshot) -> Option<Silence> {
    if snapshot.pull_request.is_mergeable == Some(false) {
        return Some(Silence::Conflict);
    }
    let head = snapshot.pull_request.head.sha;
    let commit = snapshot.commits.items.iter().find(|one| one.sha == head)?;
    if let Some(word) = skip_word(&commit.message) {
        return Some(Silence::SkipWord { word });
    }
    let is_workflow = |login: &str| login.eq_ignore_ascii_case(gates::ACTIONS);
    let committer = commit.committer.as_ref().or(commit.author.as_ref());
    let by_workflow = committer.is_some_and(|account| is_workflow(account.login.as_str()));
    // Another token of the workflow's starts workflows, and then something has.
    let nothing_ran =
        snapshot.all_runs.is_empty() && !snapshot.checks.iter().any(ExternalCheck::is_job);
    (by_workflow && nothing_ran).then_some(Silence::WorkflowToken)
}

/// The word of a commit message for which GitHub starts nothing, as it stands there.
fn skip_word(message: &str) -> Option<String> {
    let word = SKIP_WORDS.into_iter().find(|word| message.contains(word));
    let is_trailer = |line: &str| {
        let (key, value) = line.split_once(':').unwrap_or_default();
        key == SKIP_TRAILER && value.trim() == "true"
    };
    let trailer = message
        .trim_end()
        .lines()
        .next_back()
        .filter(|line| is_trailer(line));
    word.or(trailer).map(str::to_owned)
}

/// Jobs of the same App that are on the head and that no check of the policy follows: one of them may be the check
/// under a new name.
fn beside(snapshot: &Snapshot, policy: &Policy, check: &CheckPolicy) -> Vec<String> {
    let CheckSource::External(wanted) = &check.source else {
        return Vec::new();
    };
    let is_followed = |job: &ExternalCheck| {
        policy.verify.checks.values().any(
            |check| matches!(&check.source, CheckSource::External(source) if source.takes(job)),
        )
    };
    let of_app = |job: &&ExternalCheck| wanted.app.is_none() || wanted.app == job.app;
    let jobs = snapshot.checks.iter().filter(of_app);
    let names = jobs
        .filter(|job| !is_followed(job))
        .map(|job| job.name.clone());
    names.take(MOST_NAMED).collect()
}

//! The outputs of `loopgate reconcile`: a document for programs, which a template shows to people in the log and the job
//! summary, and the outputs of the step.

use std::{fmt::Write as _, path::PathBuf};

use minijinja::{Value as Model, value::Serde};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    cli::{
        CliError, actions,
        output::{self, Format},
    },
    github::{Failed, GroupAnswer, MergeGroup, Settled, Usage, webhook::Irrelevant},
    refs::Retry,
    render,
};
use loopgate_core::{PrNumber, RepoName, Timestamp};

/// All of one run, as programs read it.
#[derive(Serialize)]
pub(super) struct ReconcileReport {
    schema: &'static str,
    event: String,
    pub irrelevant: Option<Irrelevant>,
    /// The questions of merge queues, and the pull requests.
    pub merge_groups: Vec<Value>,
    pub pull_requests: Vec<Value>,
    /// Pull requests left for the next run.
    pub left: usize,
    /// States to be uploaded as an artifact.
    pub state_folder: Option<PathBuf>,
    #[serde(rename = "api_requests")]
    pub usage: Usage,
}

/// How one look at a pull request ended, and when time alone changes something.
pub(super) type Ended = Result<(Settled, Option<Timestamp>), Failed>;

/// What came of the question of a merge queue.
pub(super) fn answered(MergeGroup { repository, head, .. }: &MergeGroup, answer: Result<GroupAnswer, Failed>) -> Value {
    let (result, reason) = match answer {
        Ok(GroupAnswer::Final) => ("answered", None),
        Ok(GroupAnswer::Unfinished) => ("unfinished", None),
        Ok(GroupAnswer::Dormant) => ("dormant", None),
        Err(failed) => ("failed", Some(failed.reason)),
    };
    json!({ "repository": repository, "head": head, "result": result, "reason": reason })
}

/// What came of a look at a pull request.
pub(super) fn looked(repository: &RepoName, number: PrNumber, ended: Ended) -> Value {
    let of = |result: &str| json!({ "repository": repository, "number": number, "result": result });
    let (mut row, more) = match ended {
        Err(Failed { reason, retry }) => {
            let retry_at = if let Retry::At(at) | Retry::Paced(at) = retry { Some(at) } else { None };
            (of("failed"), json!({ "reason": reason, "retry_at": retry_at }))
        }
        Ok((Settled::Dormant, at)) => (of("dormant"), json!({ "revisit_at": at })),
        Ok((Settled::Nothing, at)) => (of("nothing"), json!({ "revisit_at": at })),
        Ok((Settled::ReadOnly, at)) => (of("read_only"), json!({ "revisit_at": at })),
        Ok((Settled::Decided(summary), at)) => {
            let problems = summary.problems.iter().map(|problem| format!("{}: {}", problem.what, problem.reason));
            let more = json!({
                "revisit_at": at, "decision": summary.word, "status": summary.status, "stage": summary.stage,
                "score": summary.score, "attempt": summary.attempt, "failed_rules": summary.failed_rules,
                "subject": summary.subject, "saved": summary.saved, "effects": summary.effects,
                "problems": Vec::from_iter(problems),
            });
            (of("decided"), more)
        }
    };
    for (key, value) in more.as_object().into_iter().flatten() {
        row[key] = value.clone();
    }
    row
}

impl ReconcileReport {
    pub(super) fn new(event: &str) -> Self {
        Self {
            schema: "loopgate.reconcile/v1",
            event: event.to_owned(),
            irrelevant: None,
            merge_groups: Vec::new(),
            pull_requests: Vec::new(),
            left: 0,
            state_folder: None,
            usage: Usage::default(),
        }
    }

    pub(super) fn failed(&self) -> bool {
        self.merge_groups.iter().chain(&self.pull_requests).any(|row| row["result"] == "failed")
    }

    pub(super) fn print(&self, format: Format) -> Result<(), CliError> {
        let lines = render::text("reconcile.txt", Model::from(Serde(self)));
        format.show(self, || &lines)?;
        // GitHub shows what is appended to this file on the run's page.
        let summary = lines.lines().fold(String::from("### Loopgate\n\n"), |mut text, line| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "- {}", render::plain_line(line.trim()));
            text
        });
        output::append_to_file_of("GITHUB_STEP_SUMMARY", "the job summary", &summary);
        // Outputs are about one pull request; of several, none would be right.
        if let [row] = &self.pull_requests[..]
            && row["result"] == "decided"
        {
            actions::tell_decision(row, None);
        }
        if let Some(folder) = &self.state_folder {
            actions::tell_state_folder(folder);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::github::{Problem, Summary};
    use loopgate_core::{Score, deciding::DecisionWord, stage::Stage, state::RunStatus};

    fn looked(number: u64, ended: Ended) -> Value {
        super::looked(&"acme/widgets".parse().unwrap(), PrNumber::new(number), ended)
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
            problems: vec![Problem { what: "add the label loop:retry".into(), reason: "not permitted".into() }],
            unknown_rights: None,
            open: None,
            ended: None,
        };
        let revisit_at = Some("2026-11-20T11:15:00Z".parse().unwrap());
        let until = "2026-11-20T11:00:00Z".parse().unwrap();
        let failed = Failed { reason: "GitHub's rate limit is used up".into(), retry: Retry::At(until) };
        ReconcileReport {
            pull_requests: vec![
                looked(12, Ok((Settled::Decided(summary), revisit_at))),
                looked(13, Ok((Settled::Nothing, None))),
                looked(14, Err(failed)),
            ],
            left: 7,
            usage: Usage { total: 61, not_modified: 4, writes: 9 },
            ..ReconcileReport::new("schedule")
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
        let chat = ReconcileReport { irrelevant: Some(Irrelevant::Chat), ..ReconcileReport::new("issue_comment") };
        insta::assert_snapshot!(lines(&chat), @r"
        issue_comment: nothing to look at (chat)
        0 requests to GitHub, 0 of them writes, 0 answered 304
        ");
    }

    #[test]
    fn a_document_says_the_same_and_one_failure_fails_the_run() {
        let report = report();
        assert!(report.failed() && !ReconcileReport::new("push").failed());
        let document = serde_json::to_value(&report).unwrap();
        assert_eq!(document["schema"], "loopgate.reconcile/v1");
        assert_eq!(document["pull_requests"][0]["decision"], "retry");
        assert_eq!(document["pull_requests"][0]["problems"][0], "add the label loop:retry: not permitted");
        assert_eq!(document["pull_requests"][1]["result"], "nothing");
        assert_eq!(document["pull_requests"][2]["retry_at"], "2026-11-20T11:00:00Z");
        assert_eq!((&document["left"], &document["api_requests"]["total"]), (&7.into(), &61.into()));
    }
}

//! The outputs of `loopgate reconcile`: lines for the log, a document for programs, the job summary, the outputs.

use std::{fmt::Write as _, path::PathBuf};

use serde_json::{Value, json};

use crate::refs::Retry;
use crate::{
    cli::{
        CliError,
        action_outputs::{Outputs, tell_state_folder},
        output::{self, Format},
    },
    github::{Failed, GroupAnswer, MergeGroup, Settled, Usage, webhook::Irrelevant},
    render,
};
use loopgate_core::{PrNumber, RepoName, Timestamp};

/// All of one run.
pub(super) struct ReconcileReport {
    event: String,
    pub irrelevant: Option<Irrelevant>,
    pub answered: Vec<Answered>,
    pub looked: Vec<Looked>,
    /// Pull requests left for the next run.
    pub left: usize,
    /// States to be uploaded as an artifact.
    pub state_folder: Option<PathBuf>,
    pub usage: Usage,
}

/// One merge queue's question.
pub(super) struct Answered {
    pub group: MergeGroup,
    pub answer: Result<GroupAnswer, Failed>,
}

/// One pull request.
pub(super) struct Looked {
    pub repository: RepoName,
    pub number: PrNumber,
    pub ended: Ended,
}

pub(super) enum Ended {
    Settled { result: Settled, revisit_at: Option<Timestamp> },
    Failed(Failed),
}

impl ReconcileReport {
    pub(super) fn new(event: &str) -> Self {
        let event = event.to_owned();
        Self {
            event,
            irrelevant: None,
            answered: Vec::new(),
            looked: Vec::new(),
            left: 0,
            state_folder: None,
            usage: Usage::default(),
        }
    }

    pub(super) fn failed(&self) -> bool {
        self.looked.iter().any(|looked| matches!(looked.ended, Ended::Failed(_)))
            || self.answered.iter().any(|answered| answered.answer.is_err())
    }

    pub(super) fn print(&self, format: Format) -> Result<(), CliError> {
        format.show(&self.document(), || self.lines())?;
        self.append_to_summary();
        // Outputs are about one pull request; of several, none would be right.
        if let [Looked { ended: Ended::Settled { result: Settled::Decided(summary), .. }, .. }] = &self.looked[..] {
            let outputs = Outputs {
                decision: summary.word,
                status: summary.status,
                score: summary.score,
                attempt: summary.attempt,
                stage: summary.stage,
                failed_rules: summary.failed_rules.clone(),
                files: None,
            };
            outputs.tell();
        }
        if let Some(folder) = &self.state_folder {
            tell_state_folder(folder);
        }
        Ok(())
    }

    fn lines(&self) -> String {
        let mut text = String::new();
        if let Some(why) = self.irrelevant {
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(text, "{}: nothing to look at ({})", self.event, why.as_str().replace('_', " "));
        } else if self.looked.is_empty() && self.answered.is_empty() {
            let _ = writeln!(text, "{}: no open pull request is concerned", self.event);
        }
        for answered in &self.answered {
            let (group, (_, words)) = (&answered.group, answered.result());
            let _ = writeln!(text, "merge queue, {}@{}: {words}", group.repository, group.head.short());
        }
        for looked in &self.looked {
            let _ = writeln!(text, "{}#{}: {}", looked.repository, looked.number, looked.ended.result().1);
            for problem in looked.ended.problems() {
                let _ = writeln!(text, "  could not {problem}");
            }
        }
        if self.left > 0 {
            let _ = writeln!(text, "{} more are left for the next run", self.left);
        }
        let Usage { total, not_modified, writes } = self.usage;
        let _ = writeln!(text, "{total} requests to GitHub, {writes} of them writes, {not_modified} answered 304");
        text
    }

    fn document(&self) -> Value {
        json!({
            "schema": "loopgate.reconcile/v1",
            "event": self.event,
            "irrelevant": self.irrelevant.map(Irrelevant::as_str),
            "merge_groups": self.answered.iter().map(Answered::document).collect::<Vec<_>>(),
            "pull_requests": self.looked.iter().map(Looked::document).collect::<Vec<_>>(),
            "left": self.left,
            "state_folder": self.state_folder,
            "api_requests": self.usage,
        })
    }

    /// GitHub shows what is appended to this file on the run's page.
    fn append_to_summary(&self) {
        let lines = self.lines();
        let text = lines.lines().fold(String::from("### Loopgate\n\n"), |mut text, line| {
            let _ = writeln!(text, "- {}", render::plain_line(line.trim()));
            text
        });
        output::append_to_file_of("GITHUB_STEP_SUMMARY", "the job summary", &text);
    }
}

impl Answered {
    /// For programs, and for people.
    fn result(&self) -> (&'static str, String) {
        let (word, words) = match &self.answer {
            Ok(GroupAnswer::Final) => ("answered", "answered"),
            Ok(GroupAnswer::Unfinished) => ("unfinished", "its own checks are waited for"),
            Ok(GroupAnswer::Dormant) => ("dormant", "no pull request in it is looked after here"),
            Err(failed) => return ("failed", format!("not done: {failed}")),
        };
        (word, words.to_owned())
    }

    fn document(&self) -> Value {
        let (result, _) = self.result();
        let reason = self.answer.as_ref().err().map(|failed| &failed.reason);
        json!({ "repository": self.group.repository, "head": self.group.head, "result": result, "reason": reason })
    }
}

impl Looked {
    fn document(&self) -> Value {
        let (result, _) = self.ended.result();
        let mut told = json!({ "repository": self.repository, "number": self.number, "result": result });
        match &self.ended {
            Ended::Failed(failed) => {
                told["reason"] = failed.reason.clone().into();
                let retry_at = if let Retry::At(at) | Retry::Paced(at) = failed.retry { Some(at) } else { None };
                told["retry_at"] = json!(retry_at);
            }
            Ended::Settled { result, revisit_at } => {
                told["revisit_at"] = json!(revisit_at);
                if let Settled::Decided(summary) = result {
                    told["decision"] = json!(summary.word);
                    told["status"] = json!(summary.status);
                    told["stage"] = json!(summary.stage);
                    told["score"] = json!(summary.score);
                    told["attempt"] = json!(summary.attempt);
                    told["failed_rules"] = json!(summary.failed_rules);
                    told["subject"] = json!(summary.subject);
                    told["saved"] = json!(summary.saved);
                    told["effects"] = json!(summary.effects);
                    told["problems"] = self.ended.problems().into();
                }
            }
        }
        told
    }
}

impl Ended {
    /// For programs, and for people.
    fn result(&self) -> (&'static str, String) {
        let (result, revisit_at) = match self {
            Self::Failed(failed) => return ("failed", format!("not done: {failed}")),
            Self::Settled { result, revisit_at } => (result, revisit_at),
        };
        let decided;
        let (word, words) = match result {
            Settled::Dormant => ("dormant", "the base branch has no .github/loopgate.yml, so nothing is written here"),
            Settled::Nothing => ("nothing", "there is nothing to loop over"),
            Settled::ReadOnly => ("read_only", "the repository is archived: nothing may be written there"),
            Settled::Decided(summary) => {
                decided = format!("{}; changes made: {}", summary.subject, summary.effects);
                ("decided", decided.as_str())
            }
        };
        let then =
            revisit_at.map(|at| format!("; time alone changes something after {}", at.format("%Y-%m-%d %H:%M UTC")));
        (word, format!("{words}{}", then.unwrap_or_default()))
    }

    fn problems(&self) -> Vec<String> {
        match self {
            Self::Settled { result: Settled::Decided(summary), .. } => {
                summary.problems.iter().map(|problem| format!("{}: {}", problem.what, problem.reason)).collect()
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::github::{Problem, Summary};
    use loopgate_core::{Score, deciding::DecisionWord, stage::Stage, state::RunStatus};

    fn looked(number: u64, ended: Ended) -> Looked {
        Looked { repository: "acme/widgets".parse().unwrap(), number: PrNumber::new(number), ended }
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
            looked: vec![
                looked(12, Ended::Settled { result: Settled::Decided(summary), revisit_at }),
                looked(13, Ended::Settled { result: Settled::Nothing, revisit_at: None }),
                looked(14, Ended::Failed(failed)),
            ],
            left: 7,
            usage: Usage { total: 61, not_modified: 4, writes: 9 },
            ..ReconcileReport::new("schedule")
        }
    }

    #[test]
    fn a_log_says_what_came_of_each_and_what_it_cost() {
        insta::assert_snapshot!(report().lines(), @r"
        acme/widgets#12: attempt 2: retry — 1 failed rule (unit); changes made: 3; time alone changes something after 2026-11-20 11:15 UTC
          could not add the label loop:retry: not permitted
        acme/widgets#13: there is nothing to loop over
        acme/widgets#14: not done: GitHub's rate limit is used up
        7 more are left for the next run
        61 requests to GitHub, 9 of them writes, 4 answered 304
        ");
        let chat = ReconcileReport { irrelevant: Some(Irrelevant::Chat), ..ReconcileReport::new("issue_comment") };
        insta::assert_snapshot!(chat.lines(), @r"
        issue_comment: nothing to look at (chat)
        0 requests to GitHub, 0 of them writes, 0 answered 304
        ");
    }

    #[test]
    fn a_document_says_the_same_and_one_failure_fails_the_run() {
        let report = report();
        assert!(report.failed() && !ReconcileReport::new("push").failed());
        let document = report.document();
        assert_eq!(document["schema"], "loopgate.reconcile/v1");
        assert_eq!(document["pull_requests"][0]["decision"], "retry");
        assert_eq!(document["pull_requests"][0]["problems"][0], "add the label loop:retry: not permitted");
        assert_eq!(document["pull_requests"][1]["result"], "nothing");
        assert_eq!(document["pull_requests"][2]["retry_at"], "2026-11-20T11:00:00Z");
        assert_eq!((&document["left"], &document["api_requests"]["total"]), (&7.into(), &61.into()));
    }
}

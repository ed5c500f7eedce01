//! The outputs of `loopgate reconcile`: lines for the log, a document for programs, the job summary, the outputs.

use std::{fmt::Write as _, path::PathBuf};

use serde_json::{Value, json};

use crate::{
    cli::{
        CliError,
        action_outputs::{Outputs, tell_state_folder},
        output::{self, Format},
    },
    github::{Failed, GroupAnswer, MergeGroup, Settled, Summary, Usage, webhook::Irrelevant},
    refs::Retry,
    render,
};
use loopgate_core::{PrNumber, RepoName, Timestamp};

/// All of one run.
#[derive(Default)]
pub(super) struct ReconcileReport {
    event: String,
    pub irrelevant: Option<Irrelevant>,
    /// The questions of merge queues, and the pull requests.
    pub answered: Vec<Row>,
    pub looked: Vec<Row>,
    /// Pull requests left for the next run.
    pub left: usize,
    /// States to be uploaded as an artifact.
    pub state_folder: Option<PathBuf>,
    pub usage: Usage,
}

/// How one look at a pull request ended, and when time alone changes something.
pub(super) type Ended = Result<(Settled, Option<Timestamp>), Failed>;

/// What came of one of them: the line for people with what GitHub refused, and the document for programs.
pub(super) struct Row {
    line: String,
    problems: Vec<String>,
    document: Value,
    is_failed: bool,
    decided: Option<Summary>,
}

impl Row {
    pub(super) fn answered(group: &MergeGroup, answer: &Result<GroupAnswer, Failed>) -> Self {
        let (result, words) = match answer {
            Ok(GroupAnswer::Final) => ("answered", "answered".to_owned()),
            Ok(GroupAnswer::Unfinished) => ("unfinished", "its own checks are waited for".to_owned()),
            Ok(GroupAnswer::Dormant) => ("dormant", "no pull request in it is looked after here".to_owned()),
            Err(failed) => ("failed", format!("not done: {failed}")),
        };
        let MergeGroup { repository, head, .. } = group;
        let reason = answer.as_ref().err().map(|failed| &failed.reason);
        Self {
            line: format!("merge queue, {repository}@{}: {words}", head.short()),
            problems: Vec::new(),
            document: json!({ "repository": repository, "head": head, "result": result, "reason": reason }),
            is_failed: answer.is_err(),
            decided: None,
        }
    }

    pub(super) fn looked(repository: &RepoName, number: PrNumber, ended: Ended) -> Self {
        let is_failed = ended.is_err();
        let (result, words, mut decided, rest) = match ended {
            Err(failed) => {
                let retry_at = if let Retry::At(at) | Retry::Paced(at) = failed.retry { Some(at) } else { None };
                let words = format!("not done: {failed}");
                ("failed", words, None, json!({ "reason": failed.reason, "retry_at": retry_at }))
            }
            Ok((settled, revisit_at)) => {
                let (result, words, decided) = settled_in_words(settled);
                let then = revisit_at
                    .map(|at| format!("; time alone changes something after {}", at.format("%Y-%m-%d %H:%M UTC")));
                (result, words + &then.unwrap_or_default(), decided, json!({ "revisit_at": revisit_at }))
            }
        };
        let problems = decided.as_mut().map(|summary| std::mem::take(&mut summary.problems)).unwrap_or_default();
        let problems = problems.iter().map(|problem| format!("{}: {}", problem.what, problem.reason));
        let problems: Vec<String> = problems.collect();
        let summary = decided.as_ref().map_or(Value::Null, |summary| {
            json!({
                "decision": summary.word, "status": summary.status, "stage": summary.stage, "score": summary.score,
                "attempt": summary.attempt, "failed_rules": summary.failed_rules, "subject": summary.subject,
                "saved": summary.saved, "effects": summary.effects, "problems": problems,
            })
        });
        let mut document = json!({ "repository": repository, "number": number, "result": result });
        for (key, value) in [rest, summary].into_iter().filter_map(|part| part.as_object().cloned()).flatten() {
            document[key] = value;
        }
        Self { line: format!("{repository}#{number}: {words}"), problems, document, is_failed, decided }
    }
}

/// What a look came to, for programs and for people.
fn settled_in_words(settled: Settled) -> (&'static str, String, Option<Summary>) {
    let (word, words) = match settled {
        Settled::Dormant => ("dormant", "the base branch has no .github/loopgate.yml, so nothing is written here"),
        Settled::Nothing => ("nothing", "there is nothing to loop over"),
        Settled::ReadOnly => ("read_only", "the repository is archived: nothing may be written there"),
        Settled::Decided(summary) => {
            let words = format!("{}; changes made: {}", summary.subject, summary.effects);
            return ("decided", words, Some(summary));
        }
    };
    (word, words.to_owned(), None)
}

impl ReconcileReport {
    pub(super) fn new(event: &str) -> Self {
        Self { event: event.to_owned(), ..Self::default() }
    }

    pub(super) fn failed(&self) -> bool {
        self.rows().any(|row| row.is_failed)
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.answered.iter().chain(&self.looked)
    }

    pub(super) fn print(&self, format: Format) -> Result<(), CliError> {
        format.show(&self.document(), || self.lines())?;
        self.append_to_summary();
        // Outputs are about one pull request; of several, none would be right.
        if let [Row { decided: Some(summary), .. }] = &self.looked[..] {
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
        } else if self.rows().next().is_none() {
            let _ = writeln!(text, "{}: no open pull request is concerned", self.event);
        }
        for row in self.rows() {
            let _ = writeln!(text, "{}", row.line);
            for problem in &row.problems {
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
        let [answered, looked] =
            [&self.answered, &self.looked].map(|rows| Vec::from_iter(rows.iter().map(|row| &row.document)));
        json!({
            "schema": "loopgate.reconcile/v1",
            "event": self.event,
            "irrelevant": self.irrelevant.map(Irrelevant::as_str),
            "merge_groups": answered,
            "pull_requests": looked,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::github::Problem;
    use loopgate_core::{Score, deciding::DecisionWord, stage::Stage, state::RunStatus};

    fn looked(number: u64, ended: Ended) -> Row {
        Row::looked(&"acme/widgets".parse().unwrap(), PrNumber::new(number), ended)
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

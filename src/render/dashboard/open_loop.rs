//! One open loop in a list: who acts next, and the one thing to do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::render::{
    sanitize::{address, short_line},
    verdict::{Subject, verdict},
    words,
};
use loopgate_core::{
    Score, Timestamp,
    deciding::{Part, WhoActs, who_acts},
    policy::PolicyOrigin,
    stage::Stage,
    state::AuthorKind,
};

/// Characters shown of a title, and of the line that says how it stands.
const MOST_CHARACTERS: usize = 140;
/// People and teams kept by name.
const MOST_NAMES: usize = 40;

/// An open loop as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenLoop {
    pub title: String,
    /// The pull request on GitHub.
    pub url: String,
    pub head_sha: String,
    pub author: String,
    pub author_kind: AuthorKind,
    /// The coding agent that wrote it.
    pub agent: Option<String>,
    /// Whether only some may see the repository.
    pub private: bool,
    /// Who acts next.
    pub part: Part,
    /// People and teams among whom they are, where they are known.
    pub who: Vec<String>,
    pub icon: String,
    /// How it stands, as the status comment says it.
    pub verdict: String,
    /// The next action, and where it is done.
    pub action: String,
    pub action_url: String,
    pub stage: Stage,
    pub attempt: u32,
    pub max_attempts: u32,
    #[schemars(with = "f64")]
    pub score: Score,
    /// What is wrong with the configuration on its base branch, and where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Since when they could.
    #[schemars(with = "String")]
    pub since: Timestamp,
}

impl OpenLoop {
    /// How it stands.
    pub fn of(subject: &Subject<'_>) -> Self {
        let (state, view, pull) = (&subject.decision.next, &subject.decision.view, &subject.snapshot.pull_request);
        let nobody = || WhoActs { part: Part::Nobody, people: [].into(), teams: [].into(), since: None };
        let who = who_acts(subject.decision, pull, subject.policy).unwrap_or_else(nobody);
        let names = who.people.iter().map(ToString::to_string).chain(who.teams.iter().map(ToString::to_string));
        let stands = verdict(subject);
        let url = address(&pull.url).unwrap_or_default();
        let page = match who.part {
            Part::Author | Part::Agent | Part::Fixer | Part::Ci | Part::Base => "/checks",
            Part::Reviewer => "/files",
            _ => "",
        };
        let seen = state.first_seen_heads.last().map(|head| head.at);
        Self {
            title: short(&pull.title),
            head_sha: pull.head.sha.to_string(),
            author: pull.author.login.to_string(),
            author_kind: state.author.unwrap_or(AuthorKind::Person),
            agent: state.agent.as_ref().map(|agent| short(&agent.name)),
            private: true,
            problem: problem(&subject.decision.view.origin),
            part: who.part,
            who: names.take(MOST_NAMES).collect(),
            icon: stands.icon.to_owned(),
            verdict: short(&stands.words),
            action: words::deed(who.part, &subject.decision.action).to_owned(),
            action_url: format!("{url}{page}"),
            url,
            stage: view.stage,
            attempt: view.attempt,
            max_attempts: view.max_attempts,
            score: view.evaluation.score,
            since: who
                .since
                .unwrap_or_else(|| seen.map_or(state.state_entered_at, |at| at.max(state.state_entered_at))),
        }
    }
}

/// What is wrong with the file, and in which line.
fn problem(origin: &PolicyOrigin) -> Option<String> {
    let error = origin.error()?;
    let hint = error.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    Some(short(&format!("{}:{}:{}: {}{hint}", error.file, error.line, error.column, error.message)))
}

/// One line, cut with a sign that it is.
pub(super) fn short(raw: &str) -> String {
    short_line(raw, MOST_CHARACTERS)
}

//! The end of a turn, whichever hook asks about it.
//!
//! An agent can run several of our hooks for one end: Cursor runs those of its own file and those of Claude Code's
//! (<https://cursor.com/docs/reference/third-party-hooks>). They get one answer between them, and count once.

use std::{collections::BTreeMap, path::PathBuf};

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use super::Agent;
use loopgate_core::Timestamp;

/// How long after an answer another hook can still ask about the same end: they run one after the other, at once.
const AT_ONCE: TimeDelta = TimeDelta::seconds(10);

/// What is read of a hook's input.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Input {
    /// Claude Code, Codex, Gemini CLI, Copilot CLI.
    pub cwd: Option<PathBuf>,
    /// Cursor.
    pub workspace_roots: Vec<PathBuf>,
    /// Cursor: `completed`, `aborted` or `error`.
    pub status: Option<String>,
    #[serde(flatten)]
    pub ids: TurnIds,
}

/// What the inputs of hooks name a turn by: which of these are there differs between agents. A turn that was held back
/// ends again under the same ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnIds {
    /// Claude Code, Codex, Gemini CLI.
    session_id: Option<String>,
    /// Cursor.
    conversation_id: Option<String>,
    /// Codex.
    turn_id: Option<String>,
    /// Claude Code.
    prompt_id: Option<String>,
    /// Cursor.
    generation_id: Option<String>,
}

impl TurnIds {
    /// What there is, by name.
    fn named(&self) -> BTreeMap<&'static str, &str> {
        let all = [
            ("session", &self.session_id),
            ("conversation", &self.conversation_id),
            ("turn", &self.turn_id),
            ("prompt", &self.prompt_id),
            ("generation", &self.generation_id),
        ];
        all.into_iter()
            .filter_map(|(name, id)| Some((name, id.as_deref()?)))
            .collect()
    }

    /// Whether one of them has another value in the other input.
    fn contradict(&self, other: &Self) -> bool {
        let others = other.named();
        self.named()
            .iter()
            .any(|(name, id)| others.get(name).is_some_and(|other| other != id))
    }

    /// Whether both name the same turn, not only the same session.
    fn name_the_same_turn(&self, other: &Self) -> bool {
        let others = other.named();
        let is_same = |name: &str, id: &Option<String>| {
            id.is_some() && others.get(name).copied() == id.as_deref()
        };
        is_same("turn", &self.turn_id)
            || is_same("prompt", &self.prompt_id)
            || is_same("generation", &self.generation_id)
    }
}

/// A hook's question.
#[derive(Debug)]
pub struct Question {
    pub agent: Agent,
    pub ids: TurnIds,
    pub asked_at: Timestamp,
}

/// The end of a turn that was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnEnd {
    ids: TurnIds,
    asked_by: Vec<Agent>,
    answered_at: Timestamp,
    /// Why the agent is to go on; none where it may stop.
    pub answer: Option<String>,
}

impl TurnEnd {
    pub fn new(question: &Question, answer: Option<String>, now: Timestamp) -> Self {
        Self {
            ids: question.ids.clone(),
            asked_by: vec![question.agent],
            answered_at: now,
            answer,
        }
    }

    /// Whether a question is about this end. It is where it came before the answer, since agents wait for their hooks;
    /// later, where a hook asks that did not ask yet: the one that did asks about the next end.
    pub fn is_of(&self, question: &Question) -> bool {
        if self.ids.contradict(&question.ids) {
            return false;
        }
        let asked_meanwhile = question.asked_at <= self.answered_at;
        let is_near = question.asked_at <= self.answered_at + AT_ONCE
            || self.ids.name_the_same_turn(&question.ids);
        asked_meanwhile || is_near && !self.asked_by.contains(&question.agent)
    }

    /// The same end, asked about by this hook too.
    #[must_use]
    pub fn asked_too(mut self, question: &Question) -> Self {
        self.asked_by.push(question.agent);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_timestamp(1_700_000_000 + second, 0).unwrap()
    }

    fn question(agent: Agent, ids: Value, second: i64) -> Question {
        Question {
            agent,
            ids: serde_json::from_value(ids).unwrap(),
            asked_at: at(second),
        }
    }

    #[test]
    fn one_end_is_told_from_the_next_by_ids_time_and_who_asked() {
        let session = json!({ "session_id": "s", "cwd": "/" });
        let turn = json!({ "generation_id": "g" });
        let asked = |ids: &Value| question(Agent::Cursor, ids.clone(), 0);
        let cases = [
            // Both hooks are asked at once, one after the other, and one late.
            (&session, Agent::ClaudeCode, session.clone(), 5, true),
            (&session, Agent::ClaudeCode, json!({}), 25, true),
            (&session, Agent::ClaudeCode, session.clone(), 60, false),
            (&turn, Agent::ClaudeCode, turn.clone(), 60, true),
            // The same hook asks about the next end, unless it asked before the answer.
            (&turn, Agent::Cursor, turn.clone(), 22, false),
            (&session, Agent::Cursor, session.clone(), 5, true),
            // Another session, and another turn of the same one.
            (
                &session,
                Agent::ClaudeCode,
                json!({ "session_id": "t" }),
                5,
                false,
            ),
            (
                &turn,
                Agent::ClaudeCode,
                json!({ "generation_id": "h" }),
                22,
                false,
            ),
        ];
        for (before, agent, ids, second, is_same) in cases {
            let end = TurnEnd::new(&asked(before), None, at(20));
            let next = question(agent, ids, second);
            assert_eq!(end.is_of(&next), is_same, "{before} {next:?}");
        }
        let end = TurnEnd::new(&asked(&turn), None, at(20));
        let claude = question(Agent::ClaudeCode, turn.clone(), 21);
        assert!(
            !end.asked_too(&claude)
                .is_of(&question(Agent::ClaudeCode, turn, 22))
        );
    }
}

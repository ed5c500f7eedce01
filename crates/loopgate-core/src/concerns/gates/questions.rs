//! What must be asked of GitHub before gates can be assessed: the rights of those who wrote, and what the names in
//! the policy stand for. Nothing else is looked up, so that an ordinary comment costs no request.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    assess::{Message, is_own, messages, triggers},
    authority::{is_unset, owners_of},
    grammar::Intent,
    report::MatchReason,
    trigger::{Opening, ReadDiff},
};
use crate::{
    commands::{Command, Right},
    evidence::Finding,
    ids::{GateName, Login, TeamSlug, UserId},
    observed::{Hint, ReviewVerdict, Snapshot},
    policy::{ApproveBy, ChecklistMode, GatePolicy, GateRole, Policy, Recipient, Trigger},
    state::LoopState,
};

/// Most people asked about; who is left out has no authority for now, and the answer says so. Objectors come first: not
/// knowing whether an objection counts keeps its gate closed.
const MOST_PEOPLE: usize = 100;
const MOST_LOGINS: usize = 200;
const MOST_TEAMS: usize = 50;

/// What to fill [`Authority`](crate::observed::Authority) with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthorityQuestions {
    /// Whose rights on the repository are needed.
    pub people: BTreeMap<UserId, Login>,
    /// Logins of the policy or of CODEOWNERS, to be resolved to accounts.
    pub logins: BTreeSet<Login>,
    /// Teams whose members and access are needed.
    pub teams: BTreeSet<TeamSlug>,
    /// Whether everybody with write access is needed: the author accepts their own work, which is for somebody else if
    /// there is anybody else; or a gate is for everybody with a permission, of whom few are named.
    pub writers: bool,
}

/// The questions about a snapshot whose `authority` is still empty. `state` is that of the last reconcile, if any.
pub fn questions(
    snapshot: &Snapshot,
    state: Option<&LoopState>,
    policy: &Policy,
    findings: &[Finding],
) -> AuthorityQuestions {
    let names = policy.gates.keys().cloned().collect();
    let triggers = triggers(&ReadDiff::new(snapshot, findings), state, policy);
    let mut asked = AuthorityQuestions::default();
    let messages = messages(snapshot, state, &names);
    ask_about_editors(&mut asked, snapshot, policy);
    ask_about_people(&mut asked, &messages, state, policy, &triggers);
    let of_author = messages
        .iter()
        .filter(|message| message.by.id == snapshot.pull_request.author.id);
    let mut intents = of_author.flat_map(|message| &message.reading.intents);
    asked.writers = intents.any(|parsed| {
        matches!(
            parsed.intent,
            Intent::Command(Command::Resume { accept: Some(_) })
        )
    });
    for (name, found) in &triggers {
        if let Some(gate) = policy.gates.get(name) {
            asked.ask_for(gate, found, snapshot);
        }
    }
    // Its approvers may release a security finding, also where nothing of the diff opens the gate.
    let found = state
        .and_then(|state| state.people.blocked.as_ref())
        .map(|blocked| blocked.trigger);
    if found == Some(Trigger::SecurityIssueFound)
        && let Some((_, gate)) = policy.gate_with_role(GateRole::Security)
    {
        asked.ask_for(gate, &Opening::whole(MatchReason::Mode), snapshot);
    }
    asked.limited(MOST_LOGINS, MOST_TEAMS)
}

/// Whether somebody else than the author wrote what may approve a gate.
pub fn may_approve(snapshot: &Snapshot, state: Option<&LoopState>, policy: &Policy) -> bool {
    let names = policy.gates.keys().cloned().collect();
    let approves = |message: &Message<'_>| {
        message.verdict() == Some(ReviewVerdict::Approved)
            || message
                .reading
                .intents
                .iter()
                .any(|parsed| matches!(parsed.intent, Intent::Approve { .. }))
    };
    let messages = messages(snapshot, state, &names);
    messages
        .iter()
        .any(|message| message.by.id != snapshot.pull_request.author.id && approves(message))
}

/// A person who edited a comment of ours may have ticked a box of a required checklist.
fn ask_about_editors(asked: &mut AuthorityQuestions, snapshot: &Snapshot, policy: &Policy) {
    if policy
        .gates
        .values()
        .all(|gate| gate.checklist == ChecklistMode::Optional)
    {
        return;
    }
    let own = snapshot
        .comments
        .items
        .iter()
        .filter(|comment| is_own(&comment.author, None, &snapshot.app));
    let own: BTreeSet<_> = own.map(|comment| comment.id).collect();
    for hint in &snapshot.hints {
        if let Hint::CommentEdited { comment, by, .. } = hint
            && own.contains(comment)
            && asked.people.len() < MOST_PEOPLE
        {
            asked
                .people
                .entry(by.id)
                .or_insert_with(|| by.login.clone());
        }
    }
}

fn ask_about_people(
    asked: &mut AuthorityQuestions,
    messages: &[Message<'_>],
    state: Option<&LoopState>,
    policy: &Policy,
    triggers: &BTreeMap<GateName, Opening>,
) {
    let gates = || {
        state
            .into_iter()
            .flat_map(|state| state.concerns.gates.values())
    };
    let objectors = gates()
        .flat_map(|gate| &gate.objections)
        .map(|objection| (objection.by_id, &objection.by));
    // However many others speak, those whose word may count are asked about.
    let named: BTreeSet<&Login> = policy
        .gates
        .values()
        .flat_map(|gate| &gate.approvers.users)
        .collect();
    let counted: BTreeSet<&Login> = gates()
        .flat_map(|gate| gate.approved_by.iter().flatten())
        .collect();
    let rank = |message: &Message<'_>| {
        let is_known = named.contains(&message.by.login) || counted.contains(&message.by.login);
        let urgency = urgency_of(message, policy, triggers)?;
        Some((urgency == Urgency::NearMiss, !is_known, urgency))
    };
    let newest_first = messages.iter().rev();
    let mut writers: Vec<_> = newest_first
        .filter_map(|message| Some((rank(message)?, message.by)))
        .collect();
    writers.sort_by_key(|(rank, _)| *rank);
    for (id, login) in objectors.chain(writers.into_iter().map(|(_, by)| (by.id, &by.login))) {
        if asked.people.len() < MOST_PEOPLE {
            asked.people.entry(id).or_insert_with(|| login.clone());
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    Objection,
    Decision,
    /// Approvers are answered first.
    NearMiss,
}

/// Whether the rights of a message's writer are needed.
fn urgency_of(
    message: &Message<'_>,
    policy: &Policy,
    triggers: &BTreeMap<GateName, Opening>,
) -> Option<Urgency> {
    let applying = || triggers.keys().filter_map(|name| policy.gates.get(name));
    let takes_reviews = applying().any(|gate| gate.approve_by != ApproveBy::Comment);
    let by_review = match message.verdict().filter(|_| takes_reviews) {
        Some(ReviewVerdict::ChangesRequested) => Some(Urgency::Objection),
        Some(ReviewVerdict::Approved) => Some(Urgency::Decision),
        _ => None,
    };
    let of_intent = |intent: &Intent| match intent {
        Intent::Reject { gate, .. } | Intent::Dismiss { gate, .. } => {
            triggers.contains_key(gate).then_some(Urgency::Objection)
        }
        Intent::Approve { gate, .. } => triggers.contains_key(gate).then_some(Urgency::Decision),
        Intent::Revoke { .. } => None,
        Intent::Command(command) => {
            (command.verb().right(&[]) != Right::Anyone).then_some(Urgency::Decision)
        }
    };
    let by_words = message
        .reading
        .intents
        .iter()
        .filter_map(|parsed| of_intent(&parsed.intent));
    // Where approvers have names, those suffice.
    let by_rights = applying().any(|gate| is_unset(gate) || gate.approvers.permission.is_some());
    let is_near = by_rights
        && message
            .reading
            .near_misses
            .iter()
            .any(|miss| !miss.problem.is_of_command());
    by_review
        .into_iter()
        .chain(by_words)
        .min()
        .or(is_near.then_some(Urgency::NearMiss))
}

impl AuthorityQuestions {
    /// The names that a gate's policy uses.
    pub(super) fn name_approvers(&mut self, gate: &GatePolicy) {
        self.logins.extend(gate.approvers.users.iter().cloned());
        self.teams.extend(gate.approvers.teams.iter().cloned());
    }

    pub(super) fn name(&mut self, recipient: &Recipient) {
        match recipient {
            Recipient::User(login) => drop(self.logins.insert(login.clone())),
            Recipient::Team(team) => drop(self.teams.insert(team.clone())),
            Recipient::GateApprovers(_) => {}
        }
    }

    /// At most so many logins and teams.
    pub(super) fn limited(mut self, most_logins: usize, most_teams: usize) -> Self {
        self.logins = self.logins.into_iter().take(most_logins).collect();
        self.teams = self.teams.into_iter().take(most_teams).collect();
        self
    }

    /// The names a gate's policy uses, and the owners of its files where those may approve.
    fn ask_for(&mut self, gate: &GatePolicy, found: &Opening, snapshot: &Snapshot) {
        self.name_approvers(gate);
        self.writers |= is_unset(gate) || gate.approvers.permission.is_some();
        if is_unset(gate) {
            self.teams.extend(gate.preset_team(&snapshot.repository));
        }
        if let (true, Some(text)) = (gate.approvers.codeowners, &snapshot.codeowners) {
            let files = found.scope.files(snapshot.files.known());
            owners_of(text, files.into_iter().flat_map(|file| file.paths()))
                .iter()
                .for_each(|owner| self.name(owner));
        }
    }
}

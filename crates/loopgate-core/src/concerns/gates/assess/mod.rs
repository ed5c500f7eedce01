//! Where every gate stands, derived anew from comments and reviews, and from what GitHub states about their authors.

mod binding;
mod checklist;
mod messages;
mod objections;
mod sighting;
mod tampering;
mod weighing;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    grammar::{Intent, NearMiss},
    reactions::{Reacted, ReactionKind, limit_answers},
    report::{
        AnswerExtent, Considered, GateReport, MatchReason, PhraseProblem, Refusal, Word,
        WordOutcome,
    },
    trigger::{self, Opening},
};
use crate::{
    commands::Command,
    evidence::Finding,
    ids::{CommentId, GateName, Login, Timestamp, UserId},
    observed::{Account, FilesToRead, Snapshot},
    policy::{Context, GateRole, Mode, Policy},
    state::{GateState, GateStatus, HeadObservation, LoopState, WordSource},
};

pub(super) use self::messages::{Message, is_own, messages};
use self::messages::{Vote, What};

pub use self::checklist::checkboxes;

/// All that gates and comments come to at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// Every gate of the policy, in order of their names.
    pub gates: Vec<GateReport>,
    /// Near misses that name no gate we know, while some gate waits for a word.
    pub unmatched: Vec<Considered>,
    /// Commands to the loop, oldest first, also those in comments that do not count.
    pub commands: Vec<CommandLine>,
    /// Counted approvals whose comment was changed by another account, or by an unknown one.
    pub tampered: Vec<TamperedComment>,
    /// To be entered into [`HeadRecord::sightings`](crate::state::HeadRecord::sightings).
    pub sighting: Option<HeadObservation>,
    /// To replace [`People::edited_words`](crate::state::People::edited_words).
    pub edited: BTreeSet<WordSource>,
    /// To replace [`People::edited_by_others`](crate::state::People::edited_by_others).
    pub edited_by_others: BTreeSet<WordSource>,
}

impl Assessment {
    /// Reactions to words about gates, by comment. Where one comment says several things, what was not accepted shows:
    /// its writer has something left to do.
    pub fn reactions(&self) -> BTreeMap<Reacted, ReactionKind> {
        let mut reactions = BTreeMap::new();
        let considered = self.gates.iter().flat_map(|gate| {
            // An approved gate needs no advice on how to approve it.
            let is_approved = gate.status == GateStatus::Approved;
            gate.considered
                .iter()
                .filter(move |word| !(is_approved && word.word == Word::NearMiss))
        });
        let considered = considered.chain(&self.unmatched);
        for word in considered.filter(|word| word.answer != AnswerExtent::Silence) {
            let reaction = match &word.outcome {
                WordOutcome::Counted => ReactionKind::Done,
                // Bots are not answered: two of them might never stop.
                WordOutcome::Superseded
                | WordOutcome::Refused(Refusal::IsBot | Refusal::ViaApp | Refusal::NotOpen) => {
                    continue;
                }
                // The next reconcile looks again; the status comment shows the reason meanwhile.
                WordOutcome::Refused(
                    Refusal::AuthorityUnknown { .. }
                    | Refusal::NotAllRead { .. }
                    | Refusal::HeadUnsettled,
                ) => ReactionKind::Seen,
                WordOutcome::Refused(_) => ReactionKind::NotAccepted,
            };
            let Some(place) = Reacted::at(word.source) else {
                continue;
            };
            let shown = reactions.entry(place).or_insert(reaction);
            *shown = (*shown).max(reaction);
        }
        reactions
    }
}

/// A command in a comment or review.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandLine {
    pub by: Account,
    pub at: Timestamp,
    pub source: WordSource,
    pub url: String,
    /// What is asked for, or what is wrong with the line.
    pub command: Result<Command, NearMiss>,
    /// Why it is not the writer's own, present word, if it is not.
    pub void: Option<Refusal>,
}

/// An approval that counted and whose comment reads differently now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TamperedComment {
    pub gate: GateName,
    pub comment: CommentId,
    pub by: Account,
    /// `None` if neither an event nor the API says.
    pub changed_by: Option<Login>,
    pub url: String,
}

/// Assesses every gate of the policy. `findings` are those of the head's evidence.
pub fn assess(
    Context {
        snapshot,
        policy,
        now,
    }: Context<'_>,
    state: &LoopState,
    findings: &[Finding],
) -> Assessment {
    let names: BTreeSet<GateName> = policy.gates.keys().cloned().collect();
    let messages = messages(snapshot, Some(state), &names);
    let changes = trigger::ReadDiff::new(snapshot, findings);
    let triggers = triggers(&changes, Some(state), policy);
    let fingerprints: BTreeMap<GateName, String> = triggers
        .iter()
        .map(|(name, found)| (name.clone(), found.scope.fingerprint(snapshot)))
        .collect();
    let sighting = sighting::next(snapshot, &state.head.sightings, fingerprints.clone(), now);
    let mut record = state.head.sightings.clone();
    sighting
        .iter()
        .cloned()
        .for_each(|seen| seen.enter(&mut record));

    let (mut tampered, mut gates, mut approvers) = (Vec::new(), Vec::new(), BTreeSet::new());
    let unknown = GateState::default();
    for (name, gate_policy) in &policy.gates {
        let triggered = triggers.get(name);
        let (report, tampered_with, may_approve) = weighing::report(&weighing::OneGate {
            name,
            policy: gate_policy,
            mode: policy.mode,
            triggered,
            suspects: match triggered {
                None => changes.suspects(gate_policy),
                Some(_) => Vec::new(),
            },
            looked_at: changes.looked_at(),
            fingerprint: fingerprints
                .get(name)
                .map(String::as_str)
                .unwrap_or_default(),
            paths: triggered
                .map(|found| found.scope.paths(snapshot.files.known()))
                .unwrap_or_default(),
            snapshot,
            remembered: state.concerns.gates.get(name).unwrap_or(&unknown),
            messages: &messages,
            record: &record,
        });
        gates.push(report);
        tampered.extend(tampered_with);
        approvers.extend(may_approve);
    }
    let mut unmatched = if gates.iter().any(GateReport::is_waiting) {
        unmatched(&messages, snapshot, &approvers)
    } else {
        Vec::new()
    };
    limit_answers(
        gates
            .iter_mut()
            .flat_map(|gate| &mut gate.considered)
            .chain(&mut unmatched)
            .collect(),
    );
    let altered = |how: Refusal| {
        messages
            .iter()
            .filter(move |one| one.altered.as_ref() == Some(&how))
            .map(|one| one.source)
    };
    let edited_by_others: BTreeSet<WordSource> = altered(Refusal::EditedByAnother).collect();
    let edited = altered(Refusal::Edited)
        .chain(edited_by_others.iter().copied())
        .collect();
    Assessment {
        unmatched,
        commands: commands(&messages, snapshot),
        tampered,
        sighting,
        edited,
        edited_by_others,
        gates,
    }
}

/// Files that decide whether approvals of earlier heads still hold, as far as they were not read.
pub(crate) fn files_of_approvals(
    cx: Context<'_>,
    state: &LoopState,
    findings: &[Finding],
) -> FilesToRead {
    let mut wanted = FilesToRead::default();
    let is_rebased = |seen: &HeadObservation| seen.merge_base != cx.snapshot.merge_base;
    if !state.head.sightings.iter().any(is_rebased) {
        return wanted;
    }
    for gate in assess(cx, state, findings).gates {
        for word in gate.considered {
            if let WordOutcome::Refused(Refusal::DiffUnread { missing, .. }) = word.outcome {
                wanted.extend(missing);
            }
        }
    }
    wanted
}

/// The gates that apply, and why.
pub(super) fn triggers(
    changes: &trigger::ReadDiff<'_>,
    state: Option<&LoopState>,
    policy: &Policy,
) -> BTreeMap<GateName, Opening> {
    let nothing = BTreeSet::new();
    let mut applying = BTreeMap::new();
    for (name, gate) in &policy.gates {
        let remembered = state
            .and_then(|state| state.concerns.gates.get(name))
            .map_or(&nothing, |gate| &gate.labels);
        let mut found = changes.triggered(gate, remembered);
        if gate.has_role(GateRole::Security) {
            let governing = trigger::governing(changes.snapshot, &policy.verify.workflows);
            found = found.into_iter().chain(governing).reduce(Opening::and);
        }
        if policy.mode == Mode::Supervised {
            found = found.or_else(|| Some(Opening::whole(MatchReason::Mode)));
        }
        applying.extend(found.map(|found| (name.clone(), found)));
    }
    applying
}

/// Near misses about no gate in particular.
fn unmatched(
    messages: &[Message<'_>],
    snapshot: &Snapshot,
    approvers: &BTreeSet<UserId>,
) -> Vec<Considered> {
    let stray = |message: &Message<'_>| {
        let about_gates = |miss: &&NearMiss| {
            miss.gate.is_none()
                && !miss.problem.is_of_command()
                && miss.problem != PhraseProblem::Agreement
        };
        let miss = message
            .reading
            .near_misses
            .iter()
            .rfind(about_gates)?
            .clone();
        let problem = miss.problem.clone();
        let vote = message.vote(What::NearMiss(miss), false, snapshot);
        let refusal = vote.void.clone().unwrap_or(Refusal::Phrase(problem));
        Some(
            Vote {
                outcome: WordOutcome::Refused(refusal),
                ..vote
            }
            .considered(approvers),
        )
    };
    messages
        .iter()
        .filter(|message| !message.is_on_the_diff())
        .filter_map(stray)
        .collect()
}

fn commands(messages: &[Message<'_>], snapshot: &Snapshot) -> Vec<CommandLine> {
    let mut commands = Vec::new();
    for message in messages {
        let stated = message
            .reading
            .intents
            .iter()
            .filter_map(|stated| match &stated.intent {
                Intent::Command(command) => Some((stated.line, Ok(command.clone()))),
                _ => None,
            });
        let wrong = message
            .reading
            .near_misses
            .iter()
            .filter(|miss| miss.problem.is_of_command());
        let mut lines: Vec<_> = stated
            .chain(wrong.map(|miss| (miss.line, Err(miss.clone()))))
            .collect();
        lines.sort_by_key(|(line, _)| *line);
        commands.extend(lines.into_iter().map(|(_, command)| CommandLine {
            by: message.by.clone(),
            at: message.at,
            source: message.source,
            url: message.url.to_owned(),
            command,
            void: message.void(snapshot),
        }));
    }
    commands
}

#[cfg(test)]
mod tests;
#[cfg(test)]
#[path = "tests/world.rs"]
pub(super) mod world;

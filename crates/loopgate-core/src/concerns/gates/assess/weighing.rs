//! Weighs every vote about one gate, and derives where the gate stands. `objections` weighs rejections, and
//! `tampering` finds what was changed after it counted.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    TamperedComment, checklist,
    messages::{Message, Vote, What, about},
    sighting,
};
use crate::{
    concerns::gates::{
        authority::{Grant, ResolvedApprovers},
        report::{
            Approval, Considered, GateReport, PhraseProblem, Refusal, TriggerMatch, Word,
            WordOutcome, is_advisory,
        },
        trigger::Opening,
    },
    ids::{GateName, UserId},
    observed::{Account, Lifecycle, Snapshot},
    policy::{ApproveBy, GatePolicy, Mode},
    state::{GateState, GateStatus, HeadObservation, Objection, Revocation, Ticks, WordSource},
};

/// One gate, with what is known of it and all words about it.
pub(super) struct OneGate<'a> {
    pub(super) name: &'a GateName,
    pub(super) policy: &'a GatePolicy,
    pub(super) mode: Mode,
    pub(super) triggered: Option<&'a Opening>,
    /// Suspects that do not open it.
    pub(super) suspects: Vec<TriggerMatch>,
    /// How many files and changed lines its rules look at.
    pub(super) looked_at: (usize, usize),
    pub(super) fingerprint: &'a str,
    /// Both names of every file in the gate's own diff.
    pub(super) paths: Vec<String>,
    pub(super) snapshot: &'a Snapshot,
    pub(super) remembered: &'a GateState,
    pub(super) messages: &'a [Message<'a>],
    /// The record of heads, ending with the present one.
    pub(super) record: &'a [HeadObservation],
}

/// Where a gate stands, the counted comments that were tampered with, and those who wrote here and may approve it.
pub(super) fn report(gate: &OneGate<'_>) -> (GateReport, Vec<TamperedComment>, BTreeSet<UserId>) {
    let authority = ResolvedApprovers::resolve(gate.policy, gate.snapshot, &gate.paths);
    let mut weighing = Weighing::new(gate, &authority);
    weighing.weigh();
    let tampered = weighing.tampered();
    let awaiting_owners =
        authority.awaiting_owners(weighing.approvals.iter().map(|(_, grant)| grant));
    let status = weighing.status(awaiting_owners.is_empty());
    let approvers = weighing.approvers();
    let (matches, matches_not_kept) = gate.triggered.map_or((Vec::new(), 0), |found| {
        (found.matches.clone(), found.not_kept)
    });
    let report = GateReport {
        name: gate.name.clone(),
        holds: gate.policy.holds,
        is_advisory: is_advisory(
            gate.policy,
            gate.mode,
            &gate.snapshot.repository,
            &gate.snapshot.authority,
        ),
        matches,
        matches_not_kept,
        suspects: gate.suspects.clone(),
        looked_at: gate.looked_at,
        fingerprint: gate.fingerprint.to_owned(),
        eligible: authority.eligible(),
        needed: gate.policy.approvers.count.max(1),
        awaiting_owners,
        considered: weighing.considered(status, &approvers),
        counted: weighing.counted(),
        approvals: weighing
            .approvals
            .into_iter()
            .map(|(approval, _)| approval)
            .collect(),
        revocations: weighing.revocations,
        request_altered: checklist::is_altered(
            gate.name,
            gate.policy,
            gate.snapshot,
            weighing.ticks.as_ref(),
        ),
        ticks: weighing.ticks,
        objections: weighing.objections,
        label: gate.policy.label.clone(),
        status,
    };
    (report, tampered, approvers)
}

/// The words about one gate while they are weighed.
pub(super) struct Weighing<'a> {
    pub(super) gate: &'a OneGate<'a>,
    pub(super) authority: &'a ResolvedApprovers<'a>,
    pub(super) votes: Vec<Vote>,
    pub(super) approvals: Vec<(Approval, Grant)>,
    pub(super) objections: Vec<Objection>,
    pub(super) revocations: Vec<Revocation>,
    /// What approvers have ticked of the checklist.
    ticks: Option<Ticks>,
    /// Somebody objects of whom it could not be learned whether they may.
    pub(super) doubtful_objection: bool,
}

impl<'a> Weighing<'a> {
    fn new(gate: &'a OneGate<'a>, authority: &'a ResolvedApprovers<'a>) -> Self {
        let mut votes: Vec<Vote> = gate
            .messages
            .iter()
            .flat_map(|message| about(message, gate.name, gate.snapshot))
            .collect();
        let takes_reviews = gate.policy.approve_by != ApproveBy::Comment;
        // An approver who approves in the wrong place is answered; other people's reviews are not about this gate.
        votes.retain(|vote| {
            let approves = || matches!(vote.what, What::Approve { .. });
            !vote.is_verdict || takes_reviews || approves() && authority.names(&vote.by)
        });
        for vote in &mut votes {
            if vote.void != Some(Refusal::NotOpen) && authority.is_bot(&vote.by) {
                vote.void = Some(Refusal::IsBot);
            } else if vote.void.is_none() && vote.is_verdict && !takes_reviews {
                vote.void = Some(Refusal::WrongChannel {
                    wants_review: false,
                });
            } else if vote.void.is_none()
                && !vote.what.closes()
                && gate.is_changed_since_counted(vote)
            {
                vote.void = Some(Refusal::Edited);
            }
        }
        votes.sort_by_key(|vote| (vote.at, vote.source));
        let ticks = checklist::ticks(
            gate.name,
            gate.snapshot,
            gate.remembered.ticks.as_ref(),
            |by| authority.excluded(by).is_none() && authority.grant(by).is_ok(),
        );
        let revocations = gate.remembered.revocations.clone();
        let (approvals, objections) = (Vec::new(), Vec::new());
        Self {
            gate,
            authority,
            votes,
            approvals,
            objections,
            revocations,
            ticks,
            doubtful_objection: false,
        }
    }

    fn weigh(&mut self) {
        if self.gate.triggered.is_none() {
            // What counted while it applied needs no answer, and objections are kept for when it applies again.
            let remembered = self.gate.remembered;
            for vote in &mut self.votes {
                let done = matches!(&vote.source, WordSource::Comment(id) if remembered.counted.contains_key(id));
                vote.outcome = if done {
                    WordOutcome::Superseded
                } else {
                    WordOutcome::Refused(Refusal::NotTriggered)
                };
            }
            self.objections.clone_from(&remembered.objections);
            return;
        }
        for at in 0..self.votes.len() {
            self.votes[at].outcome = self.outcome(at);
        }
        self.remember_revocations();
        self.forget_mended();
        self.remember_objections();
    }

    /// A person whose later vote counts needs no answer to an earlier one that did not. A person whose later approval
    /// is void only because the code changed needs none to a near miss.
    fn forget_mended(&mut self) {
        let (mut mended, mut void) = (BTreeSet::new(), BTreeSet::new());
        for vote in self.votes.iter_mut().rev() {
            let is_miss = matches!(vote.what, What::NearMiss(_));
            let is_answered = mended.contains(&vote.by.id) || is_miss && void.contains(&vote.by.id);
            match vote.outcome {
                WordOutcome::Counted => drop(mended.insert(vote.by.id)),
                WordOutcome::Refused(_) if is_answered => vote.outcome = WordOutcome::Superseded,
                WordOutcome::Refused(Refusal::DiffChanged { .. } | Refusal::DiffUnread { .. }) => {
                    void.insert(vote.by.id);
                }
                WordOutcome::Refused(_) | WordOutcome::Superseded => {}
            }
        }
    }

    /// The outcome of a vote, given all that follow it.
    fn outcome(&mut self, at: usize) -> WordOutcome {
        let vote = self.votes[at].clone();
        if let Some(refusal) = vote.void.clone() {
            // What closed the gate when it was read still does, whatever was done to the comment since.
            return self
                .closed_before(&vote)
                .unwrap_or(WordOutcome::Refused(refusal));
        }
        match &vote.what {
            What::Approve { .. } => match self.approval(&vote) {
                Err(refusal) => WordOutcome::Refused(refusal),
                Ok(_) if self.is_taken_back(at) => WordOutcome::Superseded,
                Ok((approval, grant)) => {
                    self.approvals
                        .retain(|(earlier, _)| earlier.by_id != approval.by_id);
                    self.approvals.push((approval, grant));
                    // Only the newest approval of a person that counts is shown as counting.
                    for earlier in self.votes[..at]
                        .iter_mut()
                        .filter(|earlier| earlier.by.id == vote.by.id)
                    {
                        if earlier.what.kind() == Word::Approve
                            && earlier.outcome == WordOutcome::Counted
                        {
                            earlier.outcome = WordOutcome::Superseded;
                        }
                    }
                    WordOutcome::Counted
                }
            },
            What::Reject { words } => self.objection(at, words),
            What::Revoke if vote.is_verdict || self.has_said_something(at) => WordOutcome::Counted,
            What::Revoke => WordOutcome::Refused(Refusal::NothingToRevoke),
            What::Dismiss { of } => self.dismissal(at, of),
            What::NearMiss(miss) => WordOutcome::Refused(Refusal::Phrase(miss.problem.clone())),
        }
    }

    /// The outcome of a vote whose comment once closed the gate, and does not read so any more.
    fn closed_before(&self, vote: &Vote) -> Option<WordOutcome> {
        let remembered = self.gate.remembered;
        let objection = remembered
            .objections
            .iter()
            .find(|objection| objection.source == vote.source);
        let revoked = remembered
            .revocations
            .iter()
            .any(|revocation| revocation.source == vote.source);
        let stands =
            vote.what.closes() && !objection.is_some_and(|objection| self.is_ended(objection));
        let outcome = if stands {
            WordOutcome::Counted
        } else {
            WordOutcome::Superseded
        };
        (revoked || objection.is_some()).then_some(outcome)
    }

    /// Those who wrote a comment or a review here and may approve.
    fn approvers(&self) -> BTreeSet<UserId> {
        let may = |by: &Account| {
            let named = self.authority.names(by) || self.authority.grant(by).is_ok();
            named && self.authority.excluded(by).is_none()
        };
        let mut known = BTreeMap::new();
        for message in self.gate.messages {
            known
                .entry(message.by.id)
                .or_insert_with(|| may(message.by));
        }
        known
            .into_iter()
            .filter_map(|(by, may)| may.then_some(by))
            .collect()
    }

    /// Whether the same person rejected, revoked or lost a review after this approval, as far as is known.
    fn is_taken_back(&self, at: usize) -> bool {
        let vote = &self.votes[at];
        let revoked = |revocation: &Revocation| {
            revocation.by_id == vote.by.id
                && (revocation.at, revocation.source) > (vote.at, vote.source)
        };
        self.later(at).any(|later| later.what.closes()) || self.revocations.iter().any(revoked)
    }

    /// Keeps the newest revocation of each approver: deleting, hiding or editing it does not bring the approval back.
    fn remember_revocations(&mut self) {
        let mut kept = self.revocations.clone();
        let is_revocation = |vote: &&Vote| {
            matches!(vote.what, What::Revoke) && !vote.is_verdict && vote.void.is_none()
        };
        for vote in self.votes.iter().filter(is_revocation) {
            let took_back = vote.outcome == WordOutcome::Counted;
            let newest = Revocation {
                by_id: vote.by.id,
                at: vote.at,
                source: vote.source,
                took_back,
            };
            let known = kept
                .iter()
                .find(|revocation| revocation.by_id == vote.by.id);
            let is_newer =
                known.is_none_or(|known| (known.at, known.source) < (newest.at, newest.source));
            // What others write must not grow the state.
            if is_newer && (took_back || self.authority.grant(&vote.by).is_ok()) {
                kept.retain(|revocation| revocation.by_id != newest.by_id);
                kept.push(newest);
            }
        }
        self.revocations = kept;
    }

    /// Whether the writer of a revocation had a vote here that it takes back.
    fn has_said_something(&self, at: usize) -> bool {
        let vote = &self.votes[at];
        let stood = |earlier: &Vote| {
            earlier.by.id == vote.by.id
                && (earlier.what.kind() == Word::Approve || earlier.what.closes())
                && !matches!(earlier.outcome, WordOutcome::Refused(_))
        };
        let took_back =
            |revocation: &Revocation| revocation.took_back && revocation.source == vote.source;
        self.votes[..at].iter().any(stood)
            || self
                .gate
                .remembered
                .approved_by
                .iter()
                .flatten()
                .any(|counted| *counted == vote.by.login)
            || self
                .gate
                .remembered
                .objections
                .iter()
                .any(|objection| objection.by_id == vote.by.id)
            || self.gate.remembered.revocations.iter().any(took_back)
    }

    /// Genuine votes of the same person after this one. By their own newest one they still object or do not, whatever
    /// else is wrong with it as an approval.
    pub(super) fn later(&self, at: usize) -> impl Iterator<Item = &Vote> {
        let by = self.votes[at].by.id;
        self.votes[at + 1..]
            .iter()
            .filter(move |vote| vote.by.id == by && vote.void.is_none())
    }

    fn approval(&self, vote: &Vote) -> Result<(Approval, Grant), Refusal> {
        if let Some(refusal) = self.authority.excluded(&vote.by) {
            return Err(refusal);
        }
        let grant = self.authority.grant(&vote.by)?;
        // An objection or a contributor may be in the part that was not read.
        let Snapshot {
            commits,
            comments,
            reviews,
            ..
        } = self.gate.snapshot;
        let lists = [
            commits.is_complete,
            comments.is_complete,
            reviews.is_complete,
        ];
        let names = ["the commits", "the comments", "the reviews"];
        if let Some(at) = lists.iter().position(|is_complete| !is_complete) {
            return Err(Refusal::NotAllRead {
                what: names[at].to_owned(),
            });
        }
        if !vote.is_verdict && self.gate.policy.approve_by == ApproveBy::Review {
            return Err(Refusal::WrongChannel { wants_review: true });
        }
        if !sighting::is_settled(self.gate.snapshot) {
            return Err(Refusal::HeadUnsettled);
        }
        let names_head = !matches!(vote.what, What::Approve { commit: None });
        if self.authority.known.must_name_head && !vote.is_verdict && !names_head {
            return Err(Refusal::PusherUnknown);
        }
        let head = self.gate.bind(vote)?;
        if let Some(refusal) = checklist::open(self.gate.policy, self.ticks.as_ref()) {
            return Err(refusal);
        }
        let (by, url) = (vote.by.login.clone(), vote.url.clone());
        Ok((
            Approval {
                by,
                by_id: vote.by.id,
                at: vote.at,
                head,
                source: vote.source,
                url,
            },
            grant,
        ))
    }

    /// `is_owned` is whether the owners of every owned file approve.
    fn status(&self, is_owned: bool) -> GateStatus {
        if self.gate.triggered.is_none() {
            return GateStatus::NotApplicable;
        }
        if !self.objections.is_empty() {
            return GateStatus::Rejected;
        }
        let people: BTreeSet<UserId> = self
            .approvals
            .iter()
            .map(|(approval, _)| approval.by_id)
            .collect();
        let needed = self.gate.policy.approvers.count.max(1) as usize;
        // Where the person who asked an agent for it may approve, somebody else must approve, too.
        let snapshot = self.gate.snapshot;
        let asked = |id: UserId| {
            snapshot
                .assignments
                .asked(id, snapshot.pull_request.created_at)
                == Ok(true)
        };
        let asked = self
            .approvals
            .iter()
            .filter(|(approval, _)| asked(approval.by_id))
            .count();
        let enough = people.len() >= needed && (needed == 1 || asked < people.len());
        let closed = snapshot.pull_request.lifecycle == Lifecycle::Closed;
        if enough && !closed && !self.doubtful_objection && is_owned {
            GateStatus::Approved
        } else {
            GateStatus::Requested
        }
    }

    fn considered(&self, status: GateStatus, approvers: &BTreeSet<UserId>) -> Vec<Considered> {
        let applied = |vote: &Vote| {
            let seen = self.gate.record.iter().rev().find(|seen| seen.at < vote.at);
            seen.is_none_or(|seen| seen.gates.contains_key(self.gate.name))
        };
        let applies = self.gate.triggered.is_some();
        let shown = |vote: &Vote| match &vote.what {
            What::Revoke if vote.is_verdict => false,
            // An ordinary review or a near miss needs no answer about a gate that does not apply, or that did not apply
            // when it was written.
            _ if vote.is_verdict => applies,
            What::NearMiss(miss) => {
                // An approver who agrees while the gate waits believes to have approved. Others merely talk.
                let is_meant = status == GateStatus::Requested && approvers.contains(&vote.by.id);
                applies && applied(vote) && (miss.problem != PhraseProblem::Agreement || is_meant)
            }
            _ => true,
        };
        self.votes
            .iter()
            .filter(|vote| shown(vote))
            .map(|vote| vote.considered(approvers))
            .collect()
    }
}

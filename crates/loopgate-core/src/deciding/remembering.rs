//! What a decision asks of the debug memory, what it gets back, and what it writes there.
//!
//! The memory is asked once for an attempt, when the attempt is counted; the answer is kept with the attempt. A later
//! look shows the same answer without asking again. If the memory cannot be read, nothing is shown from it.

use std::collections::BTreeSet;

use super::{Decision, DecisionWord, NextAction, verification};
use crate::{
    concerns::{disputes, verdict::FailureView},
    evidence::{Against, Analysis, CheckResults, Failure},
    failure::Blame,
    ids::Sha,
    memory::{
        AppliedFix, Card, LineStatus, MEMORY_SCHEMA, MOST_SHOWN, Memory, MemoryLine, MemoryMatch,
        RecalledCards, Rights, ShownFix, followed,
    },
    observed::{ChangedFile, Snapshot},
    policy::{MemoryPolicy, PatternSource, Policy},
    state::{AnswerOutcome, VerificationResult},
};

/// Errors of an attempt that are looked up at most.
const MOST_LOOKED_UP: usize = 10;
/// Matches that are kept of an attempt at most: the state carries them.
const MOST_MATCHES: usize = 6;
/// Cards that a search shows at most.
const MOST_SEARCHED: usize = 5;

/// What the memory is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryQuestions {
    /// The failing attempt that this one follows: what changed since then is compared.
    pub changed_since: Option<Sha>,
    /// Whether this attempt's failures, or somebody's words, are to be looked up.
    pub look_up: bool,
}

/// What it returns, as far as it could be asked.
#[derive(Clone, Debug, Default)]
pub struct MemoryAnswers {
    /// The change that was asked for, with all its files.
    pub change: Option<(AppliedFix, Vec<ChangedFile>)>,
    /// None where the memory could not be read.
    pub matches: Option<Vec<MemoryMatch>>,
    /// Patterns of the edited files, where they were looked up.
    pub known_here: Option<Vec<ShownFix>>,
}

/// What is looked up; nothing of it is verified yet.
#[derive(Debug, Default)]
pub struct LookUp<'a> {
    errors: Vec<RecalledCards<'a>>,
    /// Patterns of the edited files, where the run has just begun.
    here: Option<Vec<&'a Card>>,
}

impl<'a> LookUp<'a> {
    /// Paths whose content decides whether a card still holds.
    pub fn cited(&self) -> BTreeSet<&'a str> {
        let here = self.here.iter().flatten().flat_map(|card| card.cited());
        self.errors
            .iter()
            .flat_map(RecalledCards::cited)
            .chain(here)
            .collect()
    }

    /// What holds. `file` gives a path's text at the head.
    pub fn answers<'f>(
        &self,
        policy: &MemoryPolicy,
        file: impl Fn(&str) -> Option<&'f str>,
    ) -> MemoryAnswers {
        let find = |card: &Card| card.find(&file);
        let found = |card: &&Card| find(card).and_then(|line| ShownFix::of(card, Some(line)));
        let known_here = self
            .here
            .as_ref()
            .map(|cards| cards.iter().filter_map(found).collect());
        let matches = self
            .errors
            .iter()
            .flat_map(|error| error.matches(policy, find))
            .collect();
        MemoryAnswers {
            change: None,
            matches: Some(matches),
            known_here,
        }
    }
}

impl Decision {
    /// What of the memory is needed; nothing for a head that was looked up before.
    pub fn memory_questions(&self, policy: &Policy) -> MemoryQuestions {
        // Of a run that has ended nothing is rewritten.
        if matches!(self.action, NextAction::Complete | NextAction::Stopped) {
            return MemoryQuestions::default();
        }
        let is_open = |outcome: &AnswerOutcome| {
            matches!(outcome, AnswerOutcome::Searched { found: None, .. })
        };
        let is_searched = self
            .next
            .replies()
            .any(|(_, answer)| is_open(&answer.outcome));
        let Some(head) = self.next.attempt_of(self.next.head.sha) else {
            let look_up = is_searched || self.has_just_begun(policy);
            return MemoryQuestions {
                look_up,
                changed_since: None,
            };
        };
        let before = self
            .next
            .attempts
            .counted
            .iter()
            .rev()
            .find(|attempt| attempt.number < head.number);
        let before = before.filter(|before| {
            before.result == VerificationResult::Fail && before.head_sha != head.head_sha
        });
        let looks_up = policy.memory.check_history && head.spent() && head.memory_matches.is_none();
        MemoryQuestions {
            changed_since: before
                .filter(|_| self.attempt.is_some())
                .map(|before| before.head_sha),
            look_up: looks_up || is_searched,
        }
    }

    /// Whether to show the patterns of the edited files: the run has no attempt, and no earlier look-up.
    fn has_just_begun(&self, policy: &Policy) -> bool {
        let memory = &policy.memory;
        let tells = memory.check_history
            && memory.apply_learnings
            && memory
                .patterns_to_check
                .contains(&PatternSource::SimilarFileEdits);
        tells && self.next.attempts.counted.is_empty() && self.next.concerns.memory.is_none()
    }

    /// The head's errors among the cards, one look-up for each error; at the first look the patterns of its files.
    pub fn look_up<'a>(
        &self,
        memory: &'a Memory,
        snapshot: &Snapshot,
        policy: &Policy,
    ) -> LookUp<'a> {
        let mut errors = BTreeSet::new();
        let own = self
            .view
            .failures
            .iter()
            .filter(|view| view.blame == Blame::PrCode);
        let distinct = own
            .filter(|view| errors.insert(view.failure.fingerprint))
            .take(MOST_LOOKED_UP);
        let found =
            distinct.map(|view| memory.look_up(&self.next.run.id, &view.failure, &policy.memory));
        let errors = found.collect();
        let here = self.has_just_begun(policy).then(|| {
            let edited = snapshot.files.known().iter().map(|file| &file.path);
            memory
                .of_files(edited)
                .into_iter()
                .filter(|card| card.is_pattern())
                .take(MOST_SHOWN)
                .collect()
        });
        LookUp { errors, here }
    }

    /// Answers what people searched for.
    pub fn search(&mut self, memory: &Memory) {
        for answer in self
            .next
            .people
            .answered
            .iter_mut()
            .flat_map(|answered| &mut answered.answers)
        {
            if let AnswerOutcome::Searched {
                words,
                found: found @ None,
            } = &mut answer.outcome
            {
                let cards = memory.search(words);
                let fixes = cards
                    .into_iter()
                    .filter_map(|card| ShownFix::of(card, None));
                *found = Some(fixes.take(MOST_SEARCHED).collect());
            }
        }
    }

    /// Takes in what the memory returned: beside the failures it is about, and in the attempts that are saved.
    pub fn remember(&mut self, answers: MemoryAnswers) {
        self.next.concerns.memory = answers
            .known_here
            .or_else(|| self.next.concerns.memory.take());
        if !self.next.attempts.counted.is_empty() {
            // It is not asked again, so an unanswered question makes no difference.
            self.next.concerns.memory = self
                .next
                .concerns
                .memory
                .take()
                .filter(|known| !known.is_empty());
        }
        let Some(head) = self.next.attempt_of(self.next.head.sha).cloned() else {
            return;
        };
        if self.attempt.is_some() {
            let files = answers.change.as_ref().map(|(_, files)| files.as_slice());
            for before in self
                .next
                .attempts
                .counted
                .iter_mut()
                .filter(|attempt| attempt.number < head.number)
            {
                for found in before.memory_matches.iter_mut().flatten() {
                    let fix = found.fix.take();
                    if before.number.checked_add(1) == Some(head.number) {
                        found.followed = fix
                            .zip(files)
                            .and_then(|(fix, files)| followed(&fix, files));
                        found.went_green = Some(!head.fingerprints.contains(&found.fingerprint));
                    }
                }
            }
        }
        let found = answers
            .matches
            .filter(|_| head.memory_matches.is_none() && head.spent());
        if let (Some(mut found), Some(last)) = (found, self.next.attempts.counted.last_mut()) {
            found.truncate(MOST_MATCHES);
            last.memory_matches = Some(found);
            verification::attach(&mut self.view.failures, last);
        }
        if let Some(record) = &mut self.attempt {
            record.fix_applied = answers.change.map(|(fix, _)| fix);
            record.analysis.clone_from(&self.view.failures);
            if let Some(last) = self.next.attempts.counted.last() {
                record
                    .digest
                    .memory_matches
                    .clone_from(&last.memory_matches);
            }
        }
    }

    /// The line of the head's attempt, where one was counted or its evidence replaced.
    pub fn memory_line(&self, snapshot: &Snapshot) -> Option<MemoryLine> {
        let record = self.attempt.as_ref()?;
        let digest = &record.digest;
        let mut results = CheckResults::default();
        record
            .checks
            .iter()
            .filter_map(|check| check.results.as_ref())
            .for_each(|found| results.add(found));
        let own: Vec<&FailureView> = record
            .analysis
            .iter()
            .filter(|view| view.blame == Blame::PrCode)
            .collect();
        let first = own.first().copied();
        let place = first
            .and_then(|view| view.failure.location())
            .map(|(file, _)| file.to_owned());
        let before = self
            .next
            .attempts
            .counted
            .iter()
            .rev()
            .find(|attempt| attempt.number < digest.number);
        let follows = record.compare.against == Against::AttemptBefore;
        let is_local = self.next.run.pull_request.is_none();
        let in_repository = is_local || snapshot.has_own_branch();
        Some(MemoryLine {
            schema: MEMORY_SCHEMA.to_owned(),
            session_id: self.next.run.id.clone(),
            pull_request: self.next.run.pull_request,
            file_path: place.or_else(|| self.next.head.artifact.path.clone()),
            attempt: digest.number,
            timestamp: digest.at,
            code_hash: digest.tree_hash.clone(),
            head_sha: digest.head_sha,
            environment: record.provenance.environment.clone(),
            test_results: results,
            failures: own.iter().map(|view| analysed(view)).collect(),
            analysis: first.and_then(|view| analysed(view).analysis),
            fix_applied: record.fix_applied.clone(),
            status: match (digest.result, record.decision) {
                (VerificationResult::Pass, _) => LineStatus::Passed,
                (VerificationResult::Fail, DecisionWord::Escalate) => LineStatus::Escalated,
                (VerificationResult::Fail, _) => LineStatus::Failed,
            },
            weakened: digest.weakened,
            fixed: if follows {
                record.compare.fixed.clone()
            } else {
                BTreeSet::new()
            },
            flaky: digest.flaky.clone(),
            memory_matches: before
                .and_then(|before| before.memory_matches.clone())
                .unwrap_or_default(),
            settled: disputes::settled(&self.next).collect(),
            rights: if in_repository {
                Rights::Write
            } else {
                Rights::None
            },
        })
    }

    /// Whether this merged the work of somebody who may not write: from now on it may teach.
    pub fn merges_from_outside(&self, snapshot: &Snapshot) -> bool {
        let is_news = self.action == NextAction::Complete && !self.events.is_empty();
        is_news && !snapshot.has_own_branch()
    }
}

/// A failure with what explains it.
fn analysed(view: &FailureView) -> Failure {
    let (root_cause, fix_strategy) = (view.feedback.problem.clone(), view.feedback.action.clone());
    let analysis = Analysis {
        root_cause,
        fix_strategy,
        related: Vec::new(),
        ..view.analysis.clone()
    };
    Failure {
        analysis: Some(analysis),
        ..view.failure.clone()
    }
}

//! The comments and reviews of a pull request that concern gates, in their order, and their votes about one gate.

use std::collections::BTreeSet;

use crate::{
    concerns::gates::{
        grammar::{Intent, NearMiss, Reading, read},
        report::{AnswerExtent, Considered, PhraseProblem, Refusal, Word, WordOutcome},
    },
    ids::{AppId, CommentId, GateName, Login, Sha, Timestamp, UserId},
    observed::{
        Account, Actor, AppIdentity, Comment, Hint, Lifecycle, Review, ReviewVerdict, Snapshot,
    },
    state::{LoopState, WordSource},
    text,
};

/// Characters of a comment that go with a rejection as its reason.
const LONGEST_WORDS: usize = 2_000;

/// One vote about one gate.
#[derive(Clone, Debug)]
pub(super) struct Vote {
    pub(super) by: Account,
    pub(super) at: Timestamp,
    pub(super) source: WordSource,
    pub(super) url: String,
    pub(super) what: What,
    /// It is a review's verdict, and no line of a text.
    pub(super) is_verdict: bool,
    /// Why it is not the writer's own, present, plain word, if it is not: edited, hidden, written by an App.
    pub(super) void: Option<Refusal>,
    pub(super) outcome: WordOutcome,
}

impl Vote {
    /// As a report shows it, where these may approve.
    pub(super) fn considered(&self, approvers: &BTreeSet<UserId>) -> Considered {
        Considered {
            by: self.by.login.clone(),
            by_id: self.by.id,
            at: self.at,
            source: self.source,
            url: self.url.clone(),
            word: self.what.kind(),
            meant: if let What::NearMiss(miss) = &self.what {
                miss.meant
            } else {
                self.what.kind()
            },
            by_approver: approvers.contains(&self.by.id),
            answer: AnswerExtent::default(),
            outcome: self.outcome.clone(),
        }
    }
}

/// The content of a vote.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// With the commit that the line names or the review was given on: `None` after garbage collection.
    Approve { commit: Option<Sha> },
    /// With the reason.
    Reject { words: String },
    /// A dismissed review too: whatever it was, approvals before it do not come back.
    Revoke,
    /// Ends somebody's rejection.
    Dismiss { of: Login },
    /// It nearly says something.
    NearMiss(NearMiss),
}

impl What {
    pub(super) const fn kind(&self) -> Word {
        match self {
            Self::Approve { .. } => Word::Approve,
            Self::Reject { .. } => Word::Reject,
            Self::Revoke => Word::Revoke,
            Self::Dismiss { .. } => Word::Dismiss,
            Self::NearMiss(_) => Word::NearMiss,
        }
    }

    /// Whether it is against a gate: such votes count more than those that open it.
    pub(super) fn closes(&self) -> bool {
        matches!(self.kind(), Word::Reject | Word::Revoke)
    }
}

/// A body that was read, and what else counts of where it stands.
pub(in crate::concerns::gates) struct Message<'a> {
    pub(in crate::concerns::gates) by: &'a Account,
    via_app: Option<AppId>,
    pub(super) at: Timestamp,
    pub(super) source: WordSource,
    pub(super) url: &'a str,
    body: &'a str,
    pub(in crate::concerns::gates) reading: Reading,
    /// Of reviews: the verdict and the commit it was given on.
    review: Option<(ReviewVerdict, Option<Sha>)>,
    /// What was done to it after it was written: it was edited, by another or not, or hidden.
    pub(super) altered: Option<Refusal>,
    /// When it got the text it has, as far as that is known.
    edited_at: Timestamp,
    /// Written while the pull request was closed.
    while_closed: bool,
}

/// Reads every comment and review but our own, oldest first. `state` knows which of them were edited, and when the pull
/// request was closed.
pub(in crate::concerns::gates) fn messages<'a>(
    snapshot: &'a Snapshot,
    state: Option<&LoopState>,
    gates: &BTreeSet<GateName>,
) -> Vec<Message<'a>> {
    let edits = snapshot.hints.iter().filter_map(|hint| match hint {
        Hint::CommentEdited { comment, by, .. } => Some((WordSource::Comment(*comment), by.id)),
        Hint::ReviewEdited { review, by } => Some((WordSource::Review(*review), by.id)),
        _ => None,
    });
    let edits: Vec<(WordSource, UserId)> = edits.collect();
    let edited = |source| {
        edits.iter().any(|(edited, _)| *edited == source)
            || state.is_some_and(|state| state.people.edited_words.contains(&source))
    };
    let by_another = |source, writer: &Account| {
        edits
            .iter()
            .any(|(edited, by)| *edited == source && *by != writer.id)
            || state.is_some_and(|state| state.people.edited_by_others.contains(&source))
    };
    let closed_at = |at| {
        state.is_some_and(|state| {
            state
                .run
                .closed_periods
                .iter()
                .any(|closed| closed.from <= at && closed.to.is_none_or(|to| at <= to))
        })
    };
    let comments = snapshot
        .comments
        .items
        .iter()
        .map(|comment| (comment, WordSource::Comment(comment.id)));
    let inline = snapshot
        .inline
        .items
        .iter()
        .map(|comment| (comment, WordSource::Inline(comment.id)));
    let comments = comments
        .chain(inline)
        .filter_map(|(comment, source)| of_comment(comment, source, snapshot, gates));
    let reviews = snapshot
        .reviews
        .items
        .iter()
        .filter_map(|review| of_review(review, snapshot, gates));
    let mut all: Vec<Message<'a>> = comments.chain(reviews).collect();
    for message in &mut all {
        if message.altered.is_none() && edited(message.source) {
            message.altered = Some(Refusal::Edited);
        }
        if message.altered == Some(Refusal::Edited) && by_another(message.source, message.by) {
            message.altered = Some(Refusal::EditedByAnother);
        }
        message.while_closed = closed_at(message.at);
    }
    all.sort_by_key(|message| (message.at, message.source));
    all
}

fn of_comment<'a>(
    comment: &'a Comment,
    source: WordSource,
    snapshot: &Snapshot,
    gates: &BTreeSet<GateName>,
) -> Option<Message<'a>> {
    if is_own(&comment.author, comment.via_app, &snapshot.app) {
        return None;
    }
    let reading = read(&comment.body, &snapshot.app.bot, gates);
    // In GitHub's own unit, seconds: elsewhere the two may be taken a moment apart for a comment just written.
    let edited = comment.updated_at.timestamp() != comment.created_at.timestamp();
    let hidden = comment.is_hidden;
    let altered = if hidden {
        Some(Refusal::Hidden)
    } else {
        edited.then_some(Refusal::Edited)
    };
    (!reading.is_empty()).then(|| Message {
        by: &comment.author,
        via_app: comment.via_app,
        at: comment.created_at,
        source,
        url: &comment.url,
        body: &comment.body,
        reading,
        review: None,
        altered,
        edited_at: comment.updated_at.max(comment.created_at),
        while_closed: false,
    })
}

fn of_review<'a>(
    review: &'a Review,
    snapshot: &Snapshot,
    gates: &BTreeSet<GateName>,
) -> Option<Message<'a>> {
    if is_own(&review.author, None, &snapshot.app) || review.verdict == ReviewVerdict::Pending {
        return None;
    }
    let dismissed = review.verdict == ReviewVerdict::Dismissed;
    let reading = if dismissed {
        Reading::default()
    } else {
        read(&review.body, &snapshot.app.bot, gates)
    };
    Some(Message {
        by: &review.author,
        via_app: None,
        at: review.submitted_at,
        source: WordSource::Review(review.id),
        url: &review.url,
        body: &review.body,
        reading,
        review: Some((review.verdict, review.commit)),
        altered: None,
        edited_at: review.submitted_at,
        while_closed: false,
    })
}

/// Whether we wrote it: our own words never count as a person's.
pub(in crate::concerns::gates) fn is_own(
    author: &Account,
    via_app: Option<AppId>,
    app: &AppIdentity,
) -> bool {
    author.login == app.bot || app.bot_id == Some(author.id) || via_app == Some(app.id)
}

/// Who edited a comment since the last look, as far as events say.
pub(super) fn editors(edited: CommentId, snapshot: &Snapshot) -> impl Iterator<Item = &Actor> {
    snapshot.hints.iter().filter_map(move |hint| match hint {
        Hint::CommentEdited { comment, by, .. } if *comment == edited => Some(by),
        _ => None,
    })
}

/// The votes of a message about one gate. Of several in one comment the last counts; the others are left out.
pub(super) fn about(message: &Message<'_>, gate: &GateName, snapshot: &Snapshot) -> Vec<Vote> {
    let reason = || text::start(message.body.trim(), LONGEST_WORDS);
    let verdict = message.review.and_then(|(verdict, commit)| match verdict {
        ReviewVerdict::Approved => Some(What::Approve { commit }),
        ReviewVerdict::ChangesRequested => Some(What::Reject { words: reason() }),
        ReviewVerdict::Dismissed => Some(What::Revoke),
        ReviewVerdict::Commented | ReviewVerdict::Pending => None,
    });
    let rejects = matches!(verdict, Some(What::Reject { .. }));
    let (mut votes, mut decisive) = (Vec::new(), None);
    for parsed in message
        .reading
        .intents
        .iter()
        .filter(|parsed| parsed.intent.gate() == Some(gate))
    {
        match &parsed.intent {
            Intent::Approve { .. } if rejects => {
                let (problem, gate) = (PhraseProblem::AgainstReview, Some(gate.clone()));
                let (text, meant) = (String::new(), Word::Approve);
                votes.push(What::NearMiss(NearMiss {
                    text,
                    problem,
                    gate,
                    meant,
                    line: 1,
                }));
            }
            // A review shows the commit it was written on.
            Intent::Approve { commit, .. } => {
                let shown = message.review.and_then(|(_, commit)| commit);
                decisive = Some(What::Approve {
                    commit: commit.or(shown),
                });
            }
            Intent::Reject { reason: given, .. } => {
                decisive = Some(What::Reject {
                    words: given.clone().unwrap_or_else(reason),
                });
            }
            Intent::Revoke { .. } => decisive = Some(What::Revoke),
            Intent::Dismiss { of, .. } => votes.push(What::Dismiss { of: of.clone() }),
            Intent::Command(_) => {}
        }
    }
    let has_decided = decisive.is_some();
    votes.extend(decisive);
    votes.extend(near_miss(message, gate, has_decided));
    let verdict = verdict.map(|what| message.vote(what, true, snapshot));
    verdict
        .into_iter()
        .chain(
            votes
                .into_iter()
                .map(|what| message.vote(what, false, snapshot)),
        )
        .collect()
}

/// The near miss worth an answer: none beside a word that counts, since people quote what they answer; and none on a
/// line of the diff, where not even the phrase would count and people talk about code.
fn near_miss(message: &Message<'_>, gate: &GateName, has_decided: bool) -> Option<What> {
    let reading = &message.reading;
    // Beside a review's verdict an agreement says nothing more.
    let agrees = |miss: &NearMiss| miss.problem == PhraseProblem::Agreement;
    let judges = matches!(
        message.verdict(),
        Some(ReviewVerdict::Approved | ReviewVerdict::ChangesRequested)
    );
    let about = |miss: &&NearMiss| {
        (miss.gate.as_ref() == Some(gate) || (miss.gate.is_none() && agrees(miss)))
            && !(agrees(miss) && judges)
    };
    if has_decided || message.is_on_the_diff() {
        return None;
    }
    reading
        .near_misses
        .iter()
        .rfind(about)
        .cloned()
        .map(What::NearMiss)
}

impl Message<'_> {
    /// Of reviews: how they judge.
    pub(in crate::concerns::gates) fn verdict(&self) -> Option<ReviewVerdict> {
        self.review.map(|(verdict, _)| verdict)
    }

    pub(super) const fn is_on_the_diff(&self) -> bool {
        matches!(self.source, WordSource::Inline(_))
    }

    pub(super) fn vote(&self, what: What, is_verdict: bool, snapshot: &Snapshot) -> Vote {
        let (by, url) = (self.by.clone(), self.url.to_owned());
        let closes = what.closes();
        // What closes a gate counts also where it was put in later, and while the pull request was closed.
        let edited_in = closes && !is_verdict && self.altered == Some(Refusal::Edited);
        let void = self.void(snapshot).filter(|void| match void {
            // Editing a review's text does not change how it judges.
            Refusal::Edited => !is_verdict && !closes,
            Refusal::EditedByAnother => !is_verdict,
            _ => true,
        });
        let void = void.or((self.while_closed && !closes).then_some(Refusal::WhileClosed));
        let void = void.or(self.is_on_the_diff().then_some(Refusal::OnTheDiff));
        let at = if edited_in { self.edited_at } else { self.at };
        Vote {
            by,
            at,
            source: self.source,
            url,
            what,
            is_verdict,
            void,
            outcome: WordOutcome::Superseded,
        }
    }

    /// Why nothing in it counts, if nothing does.
    pub(super) fn void(&self, snapshot: &Snapshot) -> Option<Refusal> {
        let too_late = match &snapshot.pull_request.lifecycle {
            Lifecycle::Open => false,
            Lifecycle::Closed => true,
            Lifecycle::Merged { at, .. } => at.is_none_or(|merged| self.at > merged),
        };
        let is_bot = self.by.login.as_str().ends_with("[bot]");
        if too_late {
            Some(Refusal::NotOpen)
        } else if self.via_app.is_some() && !is_bot {
            Some(Refusal::ViaApp)
        } else {
            self.altered.clone()
        }
    }
}

//! Why a word about a gate does not count, said to the person who wrote it: who, why not, what to write instead.

use std::cmp::Reverse;

use super::{
    fit::Shown,
    links::Links,
    sanitize::{Markdown, code, short_text, text},
    words,
};
use loopgate_core::{
    GateName, Sha,
    gate::{AnswerExtent, Considered, GateReport, OnlyHope, PhraseProblem, Refusal, Speaker, Word},
    policy::ApproveBy,
    state::WordSource,
};

/// What is needed to tell somebody how to do it right.
pub struct Gate<'a> {
    pub report: &'a GateReport,
    pub approve_by: ApproveBy,
    pub head: Sha,
    pub links: &'a Links,
}

impl Gate<'_> {
    /// A link to what was pushed since, in brackets.
    fn since(&self, old: Sha) -> String {
        let label = format!("`{}…{}`", old.short(), self.head.short());
        self.links.since(old).map(|url| format!(" ([{label}]({url}))")).unwrap_or_default()
    }

    /// The words that approve this very head.
    fn with_head(&self) -> Markdown {
        code(&format!("{} approved {}", self.report.name, self.head))
    }
}

/// The phrase that approves a gate.
pub fn phrase(gate: &GateName) -> Markdown {
    code(&format!("{gate} approved"))
}

/// How a gate is approved: "comments `security approved`" after a name, as the sentence of an approver.
pub fn approves(gate: &GateName, by: ApproveBy) -> Markdown {
    Markdown::ours(match by {
        ApproveBy::Comment => format!("comments {}", phrase(gate)),
        ApproveBy::Review => "approves in a review".to_owned(),
        ApproveBy::CommentOrReview => format!("comments {} or approves in a review", phrase(gate)),
    })
}

/// The line under a gate about one word that does not count.
pub fn line(word: &Considered, refusal: &Refusal, gate: &Gate<'_>) -> Markdown {
    let what = match word.source {
        WordSource::Comment(_) => "comment",
        WordSource::Review(_) => "review",
        WordSource::Inline(_) => "comment on the diff",
    };
    let what = match super::sanitize::address(&word.url) {
        Some(url) => format!("[{what}]({url})"),
        None => what.to_owned(),
    };
    let by = words::person(&word.by);
    Markdown::ours(format!("{by}’s {what} does not count: {}", sentence(word, refusal, &by, gate)))
}

/// Lines of words that do not count which are shown of people who are no approvers.
const MOST_LINES: usize = 6;
/// Lines of approvers.
const MOST_OF_APPROVERS: usize = 60;

/// The lines about words that do not count: approvers first, then the newest. What somebody wrote several times is
/// answered once.
pub fn lines<'w>(words: impl IntoIterator<Item = &'w Considered>, gate: &Gate<'_>) -> Shown<Markdown> {
    let mut folded: Vec<(&Considered, &Refusal, usize)> = Vec::new();
    for word in words {
        let Some(refusal) = word.refusal().filter(|_| word.answer == AnswerExtent::Sentence) else { continue };
        match folded.iter_mut().find(|(first, known, _)| same(first, word) && *known == refusal) {
            Some((newest, _, times)) => {
                *newest = if word.at >= newest.at { word } else { newest };
                *times += 1;
            }
            None => folded.push((word, refusal, 1)),
        }
    }
    folded.reverse();
    folded.sort_by_key(|(word, ..)| (word.speaker, Reverse((word.at, word.source))));
    let approvers = folded.iter().filter(|(word, ..)| word.speaker == Speaker::Approver).count();
    let most = approvers.min(MOST_OF_APPROVERS) + MOST_LINES.saturating_sub(approvers);
    Shown::first(most, folded, |(word, refusal, times)| {
        let line = line(word, refusal, gate);
        match times {
            1 => line,
            times => Markdown::ours(format!("{line} (Written {times} times.)")),
        }
    })
}

fn same(one: &Considered, other: &Considered) -> bool {
    (one.by_id, &one.by) == (other.by_id, &other.by)
        && one.meant == other.meant
        && std::mem::discriminant(&one.source) == std::mem::discriminant(&other.source)
}

/// What says this about a gate, exactly.
fn exact(gate: &GateName, meant: Word) -> Markdown {
    code(&plain(gate, meant))
}

fn plain(gate: &GateName, meant: Word) -> String {
    match meant {
        Word::Approve | Word::NearMiss => format!("{gate} approved"),
        Word::Reject => format!("{gate} rejected"),
        Word::Revoke => format!("{gate} approval revoked"),
        Word::Dismiss => format!("/dismiss {gate} @user reason"),
    }
}

/// Why, and what to do instead.
fn sentence(word: &Considered, refusal: &Refusal, by: &Markdown, gate: &Gate<'_>) -> String {
    let name = &gate.report.name;
    let words = exact(name, word.meant);
    // Saying no is heard wherever it is said.
    let again = match gate.approve_by {
        ApproveBy::Review if word.meant == Word::Approve => "approve in a review of the head commit".to_owned(),
        ApproveBy::CommentOrReview if word.meant == Word::Approve => {
            format!("comment {words} anew, or approve in a review")
        }
        _ => format!("comment {words} anew"),
    };
    match refusal {
        Refusal::IsAuthor { only_hope: OnlyHope::No } => {
            format!("{by} wrote this pull request. Somebody else decides: {}.", approvers(gate))
        }
        Refusal::IsAuthor { only_hope: OnlyHope::Yes } => format!(
            "{by} wrote this pull request, and nobody else could approve it. To let authors approve this gate, set {} \
             in the configuration on the base branch.",
            code(&format!("gates.{name}.allow_author: true"))
        ),
        Refusal::IsContributor => {
            format!("{by} wrote or committed part of this pull request. Somebody else decides: {}.", approvers(gate))
        }
        Refusal::IsCoAuthor | Refusal::IsPusher => {
            let (did, switch) = match refusal {
                Refusal::IsPusher => ("pushed to this pull request’s branch", "allow_pusher"),
                _ => ("is named as co-author of a commit of this pull request", "allow_coauthors"),
            };
            format!(
                "{by} {did}. Somebody else decides: {}. To let such people approve this gate, set {} in the \
                 configuration on the base branch.",
                approvers(gate),
                code(&format!("gates.{name}.{switch}: true"))
            )
        }
        Refusal::PusherUnknown => format!(
            "GitHub knows neither who wrote one of the commits nor who pushed it. If {by} did not, {by} can comment {}.",
            gate.with_head()
        ),
        Refusal::IsRequester => format!(
            "{by} asked the coding agent for this pull request. Somebody else decides: {}. To let those who ask approve \
             this gate, set {} in the configuration on the base branch.",
            approvers(gate),
            code(&format!("gates.{name}.allow_requester: true"))
        ),
        Refusal::IsBot => format!("{by} is a bot, and only people approve: {}.", approvers(gate)),
        Refusal::ViaApp => format!("it was written through an App. {by} has to write it on GitHub’s own page."),
        Refusal::WhileClosed => format!(
            "it was written while the pull request was closed. {by} is asked to look at it as it is now and {again}."
        ),
        Refusal::NothingToRevoke if word.speaker == Speaker::Other => {
            format!("{by} has approved nothing here that could be taken back. Who may stop it: {}.", approvers(gate))
        }
        Refusal::NothingToRevoke => format!(
            "{by} has approved nothing here that could be taken back. To stop it, write {}.",
            code(&format!("{name} rejected"))
        ),
        Refusal::NotAnApprover => format!("{by} is not an approver of this gate. It opens for {}.", approvers(gate)),
        Refusal::AuthorityUnknown { reason } => format!(
            "GitHub did not say whether {by} may approve ({}). Loopgate asks again by itself.",
            short_text(reason, 200)
        ),
        Refusal::AccountGone => {
            format!("the account {by} is suspended or gone. The gate opens for {}.", approvers(gate))
        }
        Refusal::Edited => {
            format!("it was edited, and what was edited opens nothing. If it is still meant, {by} can {again}.")
        }
        Refusal::EditedByAnother => {
            format!("somebody else edited it, who cannot speak for {by}. If it is still meant, {by} can {again}.")
        }
        Refusal::Hidden => format!("a moderator has hidden it. If it is still meant, {by} can {again}."),
        Refusal::DiffChanged { seen } => format!(
            "it was given for {}, and the code this gate is about has changed since{}. {by} is asked to look again and \
             {again}.",
            code(&seen.short()),
            gate.since(*seen)
        ),
        Refusal::DiffUnread { seen, .. } => format!(
            "it was given for {}, and Loopgate could not read whether the code this gate is about is still the same{}. \
             {by} is asked to look again and {again}.",
            code(&seen.short()),
            gate.since(*seen)
        ),
        Refusal::HeadTooYoung { head } => format!(
            "{} was pushed less than a minute before, so the page may have shown the code of before. If it is about this \
             code, {by} can comment {}.",
            code(&head.short()),
            gate.with_head()
        ),
        Refusal::BaseChanged { seen } => format!(
            "it was given when the base branch was {}, and that has changed. {by} is asked to look again and {again}.",
            code(seen)
        ),
        Refusal::BeforeTrigger { seen } => format!(
            "it was given for {}, when nothing here needed this gate yet. {by} is asked to look and {again}.",
            code(&seen.short())
        ),
        Refusal::HeadUnsettled => {
            "GitHub gives two answers about which commit is the head. Loopgate looks again by itself.".to_owned()
        }
        Refusal::NotAllRead { what } => format!(
            "{} could not all be read, and something that speaks against it may be among the rest. Loopgate tries \
             again by itself.",
            short_text(what, 120)
        ),
        Refusal::OtherCommit { named } => format!(
            "it names {}, and the head is {}. {by} can {again}, or with the head’s full id: {}.",
            code(&named.short()),
            code(&gate.head.short()),
            gate.with_head()
        ),
        Refusal::NoHeadSeenBefore => {
            format!("it is older than the first commit Loopgate saw here. {by} is asked to look and {again}.")
        }
        Refusal::ReviewStale { seen } => format!(
            "it was given on an older commit{}. {by} is asked to look at the head and approve again.",
            seen.map(|seen| gate.since(seen)).unwrap_or_default()
        ),
        Refusal::OnTheDiff if gate.approve_by == ApproveBy::Review && word.meant == Word::Approve => {
            format!("nothing is decided there. {by} can {again}.")
        }
        Refusal::OnTheDiff => {
            format!("nothing is decided there. Write {words} in the conversation, on a line of its own.")
        }
        Refusal::WrongChannel { wants_review: true } => {
            "this gate takes a review: *Files changed*, *Review changes*, *Approve*.".to_owned()
        }
        Refusal::WrongChannel { wants_review: false } => {
            format!("this gate takes a comment: write {} on a line of its own.", phrase(name))
        }
        Refusal::Phrase(problem) => phrase_problem(problem, word.meant, gate),
        Refusal::ChecklistOpen { open } => format!(
            "{} of the gate’s checklist {} still open. Tick {} in the request; the approval then counts as it stands.",
            words::plural(*open, "box", "boxes"),
            if *open == 1 { "is" } else { "are" },
            if *open == 1 { "it" } else { "them" },
        ),
        Refusal::ChecklistMissing => {
            "this gate’s checklist must be ticked first, and is not posted yet. The approval then counts as it stands."
                .to_owned()
        }
        Refusal::NeedsMaintain => {
            format!("ending somebody else’s rejection takes maintain access, which {by} has not.")
        }
        Refusal::NothingToDismiss { of } => format!("{} has not rejected this gate.", words::person(of)),
        Refusal::NotOpen => "the pull request is closed. Reopened, it is looked at from the beginning.".to_owned(),
        Refusal::NotTriggered => match word.meant {
            Word::Approve => "nothing here needs this gate, so there is nothing to approve.".to_owned(),
            _ => "nothing here needs this gate, so there is nothing to stop.".to_owned(),
        },
    }
}

/// What is wrong with a line that is nearly the phrase.
fn phrase_problem(problem: &PhraseProblem, meant: Word, gate: &Gate<'_>) -> String {
    let name = &gate.report.name;
    let phrase = exact(name, meant);
    match problem {
        PhraseProblem::Agreement => format!("agreeing is not enough. To approve, write {phrase} on a line of its own."),
        PhraseProblem::Lookalike => {
            format!("some of its letters only look like the phrase’s. Type {phrase} in plain letters.")
        }
        PhraseProblem::ShortSha => format!(
            "a commit counts only with all 40 digits: {}. Without a commit, {phrase} is enough.",
            code(&format!("{} {}", plain(name, meant), gate.head))
        ),
        PhraseProblem::UnknownGate { named, nearest } => {
            let named = code(named);
            match nearest {
                Some(nearest) => format!("there is no gate {named}. Did you mean {}?", exact(nearest, meant)),
                None if meant == Word::Approve => {
                    format!("there is no gate {named}. This one is approved with {phrase}.")
                }
                None => format!("there is no gate {named}. For this one the words are {phrase}."),
            }
        }
        PhraseProblem::NotPlainText { inside } => {
            format!("it stands in {}, where it may be an example. Write {phrase} as plain text.", text(inside))
        }
        PhraseProblem::Wording => format!("only these words count, alone on a line: {phrase}."),
        PhraseProblem::Usage { usage } => {
            format!("the command is not complete, or names no gate there is. It goes {}.", code(usage))
        }
        PhraseProblem::UnknownCommand { typed, nearest } => match nearest {
            Some(nearest) => format!("there is no command {}. Did you mean {}?", code(typed), code(nearest)),
            None => format!("there is no command {}. {} lists them.", code(typed), code("/loop help")),
        },
        PhraseProblem::TooLong => format!("it is too long to be read. Write {phrase} in a comment of its own."),
        PhraseProblem::AgainstReview => format!(
            "the review asks for changes, and nothing in it approves. To approve, write {phrase} in a comment of its own."
        ),
        PhraseProblem::NoGate => format!("it does not say which gate. Write {phrase}."),
    }
}

fn approvers(gate: &Gate<'_>) -> Markdown {
    text(&words::approvers(gate.report))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures;
    use loopgate_core::{
        gate::{GateStanding, WordOutcome},
        stage::Stage,
    };

    fn said(refusal: Refusal) -> String {
        let report = fixtures::gate("security", Stage::Validate, GateStanding::Open);
        let links = Links::of(&fixtures::snapshot());
        let gate = Gate { report: &report, approve_by: ApproveBy::Comment, head: fixtures::sha(0xa1), links: &links };
        let word = fixtures::considered("mallory", Word::Approve, WordOutcome::Refused(refusal.clone()));
        line(&word, &refusal, &gate).into_string().replace("https://github.com/acme/widgets/pull/12#", "")
    }

    #[test]
    fn every_refusal_says_why_and_what_to_do() {
        use Refusal as R;
        let refusals = [
            R::IsAuthor { only_hope: OnlyHope::No },
            R::IsAuthor { only_hope: OnlyHope::Yes },
            R::IsContributor,
            R::IsCoAuthor,
            R::IsPusher,
            R::PusherUnknown,
            R::IsRequester,
            R::IsBot,
            R::ViaApp,
            R::NotAnApprover,
            R::AuthorityUnknown { reason: "503 from GitHub".into() },
            R::AccountGone,
            R::Edited,
            R::EditedByAnother,
            R::Hidden,
            R::WhileClosed,
            R::NothingToRevoke,
            R::DiffChanged { seen: fixtures::sha(0x11) },
            R::DiffUnread { seen: fixtures::sha(0x11), missing: Default::default() },
            R::HeadTooYoung { head: fixtures::sha(0xa1) },
            R::OtherCommit { named: fixtures::sha(0x11) },
            R::NoHeadSeenBefore,
            R::ReviewStale { seen: None },
            R::OnTheDiff,
            R::WrongChannel { wants_review: true },
            R::WrongChannel { wants_review: false },
            R::BaseChanged { seen: "develop".into() },
            R::BeforeTrigger { seen: fixtures::sha(0x11) },
            R::HeadUnsettled,
            R::NotAllRead { what: "the reviews".into() },
            R::ChecklistMissing,
            R::NeedsMaintain,
            R::NothingToDismiss { of: fixtures::login("carol") },
            R::ChecklistOpen { open: 1 },
            R::ChecklistOpen { open: 2 },
            R::NotOpen,
            R::NotTriggered,
        ];
        let said: Vec<String> = refusals.into_iter().map(said).collect();
        insta::assert_snapshot!(said.join("\n"));
    }

    #[test]
    fn every_near_miss_is_explained() {
        use PhraseProblem as P;
        let problems = [
            P::Lookalike,
            P::ShortSha,
            P::UnknownGate { named: "secuirty".into(), nearest: Some(fixtures::gate_name("security")) },
            P::UnknownGate { named: "@evil|gate".into(), nearest: None },
            P::NotPlainText { inside: "a block quote".into() },
            P::NoGate,
            P::Wording,
            P::Agreement,
            P::Usage { usage: "/dismiss security @user reason".into() },
            P::UnknownCommand { typed: "/aprove".into(), nearest: Some("/approve".into()) },
            P::UnknownCommand { typed: "/x".into(), nearest: None },
            P::TooLong,
        ];
        let said: Vec<String> = problems.into_iter().map(|problem| said(Refusal::Phrase(problem))).collect();
        insta::assert_snapshot!(said.join("\n"));
    }
}

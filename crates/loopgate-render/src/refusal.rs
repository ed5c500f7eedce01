//! Why a word about a gate does not count, for the person who wrote it: who, why not, what to write instead.

use std::cmp::Reverse;

use super::{
    Links, Markdown, Shown, Subject, address, code, linked,
    messages::{self, entry},
    sanitize::text,
    words,
};
use loopgate_core::{
    GateName,
    concerns::gates::{
        AnswerExtent, Considered, GateReport, PhraseProblem, Refusal, Word, WordOutcome,
    },
    policy::ApproveBy,
    state::WordSource,
};
use minijinja::context;

/// One word about a gate, and whether it counts.
pub fn considered(word: &Considered, gate: &GateReport, subject: &Subject<'_>) -> Markdown {
    let did = messages::word(entry::Word(&word.word));
    let by = words::person(&word.by);
    match &word.outcome {
        WordOutcome::Counted => Markdown::ours(format!("{by} {did}: counts")),
        WordOutcome::Superseded => Markdown::ours(format!("{by} {did}: replaced by a newer word")),
        WordOutcome::Refused(refused) => line(word, refused, gate, subject),
    }
}

/// The line under a gate about one word that does not count.
pub fn line(
    word: &Considered,
    refusal: &Refusal,
    report: &GateReport,
    subject: &Subject<'_>,
) -> Markdown {
    let what = match word.source {
        WordSource::Comment(_) => "comment",
        WordSource::Review(_) => "review",
        WordSource::Inline(_) => "comment on the diff",
    };
    let (what, by) = (
        linked(Markdown::ours(what), address(&word.url)),
        words::person(&word.by),
    );
    Markdown::ours(format!(
        "{by}’s {what} does not count: {}",
        sentence(word, refusal, report, subject)
    ))
}

/// Lines of words that do not count which are shown of people who are no approvers.
const MOST_LINES: usize = 6;
/// Lines of approvers.
const MOST_OF_APPROVERS: usize = 60;

/// The lines about words that do not count: approvers first, then the newest. What somebody wrote several times is
/// answered once.
pub fn lines(words: &[Considered], report: &GateReport, subject: &Subject<'_>) -> Shown<Markdown> {
    let mut folded: Vec<(&Considered, &Refusal, usize)> = Vec::new();
    for word in words {
        let Some(refusal) = word
            .refusal()
            .filter(|_| word.answer == AnswerExtent::Sentence)
        else {
            continue;
        };
        let same = |one: &Considered| {
            (one.by_id, &one.by, &one.meant) == (word.by_id, &word.by, &word.meant)
                && std::mem::discriminant(&one.source) == std::mem::discriminant(&word.source)
        };
        match folded
            .iter_mut()
            .find(|(first, known, _)| same(first) && *known == refusal)
        {
            Some((newest, _, times)) => {
                *newest = if word.at >= newest.at { word } else { newest };
                *times += 1;
            }
            None => folded.push((word, refusal, 1)),
        }
    }
    folded.reverse();
    folded.sort_by_key(|(word, ..)| (!word.by_approver, Reverse((word.at, word.source))));
    let approvers = folded.iter().filter(|(word, ..)| word.by_approver).count();
    let most = approvers.min(MOST_OF_APPROVERS) + MOST_LINES.saturating_sub(approvers);
    Shown::first(most, folded, |(word, refusal, times)| {
        let line = line(word, refusal, report, subject);
        match times {
            1 => line,
            times => Markdown::ours(format!("{line} (Written {times} times.)")),
        }
    })
}

/// The exact words for this about a gate.
fn exact(gate: &GateName, meant: Word) -> String {
    match meant {
        Word::Approve | Word::NearMiss => format!("{gate} approved"),
        Word::Reject => format!("{gate} rejected"),
        Word::Revoke => format!("{gate} approval revoked"),
        Word::Dismiss => format!("/dismiss {gate} @user reason"),
    }
}

/// Why, and what to do instead.
fn sentence(
    word: &Considered,
    refusal: &Refusal,
    report: &GateReport,
    subject: &Subject<'_>,
) -> Markdown {
    let (name, head) = (&report.name, subject.snapshot.pull_request.head.sha);
    let approve_by = subject.approve_by(name);
    let meant_words = exact(name, word.meant);
    let words = code(&meant_words);
    // A no counts wherever it is written.
    let again = match approve_by {
        ApproveBy::Review if word.meant == Word::Approve => {
            "approve in a review of the head commit".to_owned()
        }
        ApproveBy::CommentOrReview if word.meant == Word::Approve => {
            format!("comment {words} anew, or approve in a review")
        }
        _ => format!("comment {words} anew"),
    };
    let seen = match refusal {
        Refusal::DiffChanged { seen } | Refusal::DiffUnread { seen, .. } => Some(*seen),
        Refusal::ReviewStale { seen } => *seen,
        _ => None,
    };
    // A link to what was pushed since, in brackets.
    let since = seen.and_then(|seen| {
        let url = Links::of(subject.snapshot).since(seen)?;
        Some(Markdown::ours(format!(
            " ([`{}…{}`]({url}))",
            seen.short(),
            head.short()
        )))
    });
    let nearest = match refusal {
        Refusal::Phrase(PhraseProblem::UnknownGate {
            nearest: Some(nearest),
            ..
        }) => exact(nearest, word.meant),
        _ => String::new(),
    };
    let beside = context! {
        name => name.as_str(),
        by => words::person(&word.by),
        approvers => text(&words::approvers(report)),
        again => Markdown::ours(again),
        meant => if word.meant == Word::Approve { "approve" } else { "no" },
        with_head => code(&format!("{name} approved {head}")),
        since,
        is_other => !word.by_approver,
        takes_review_only => approve_by == ApproveBy::Review,
        nearest_words => nearest,
        at => head.to_string(),
        meant_words,
        words,
    };
    messages::markdown(entry::Refusal(refusal), beside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use loopgate_core::{
        concerns::gates::{Inside, WordOutcome},
        stage::Stage,
        state::GateStatus,
    };

    fn said(refusal: Refusal) -> String {
        let report = fixtures::gate("security", Stage::Validate, GateStatus::Requested);
        let (decision, snapshot, policy) = (
            fixtures::first_failure(),
            fixtures::snapshot(),
            fixtures::policy(),
        );
        let subject = Subject::new(&decision, &snapshot, &policy);
        let word = fixtures::considered(
            "mallory",
            Word::Approve,
            WordOutcome::Refused(refusal.clone()),
        );
        line(&word, &refusal, &report, &subject)
            .into_string()
            .replace("https://github.com/acme/widgets/pull/12#", "")
    }

    #[test]
    fn every_refusal_says_why_and_what_to_do() {
        use Refusal as R;
        let refusals = [
            R::IsAuthor { only_hope: false },
            R::IsAuthor { only_hope: true },
            R::IsContributor,
            R::IsCoAuthor,
            R::IsPusher,
            R::PusherUnknown,
            R::IsRequester,
            R::IsBot,
            R::ViaApp,
            R::NotAnApprover,
            R::AuthorityUnknown {
                reason: "503 from GitHub".into(),
            },
            R::AccountGone,
            R::Edited,
            R::EditedByAnother,
            R::Hidden,
            R::WhileClosed,
            R::NothingToRevoke,
            R::DiffChanged {
                seen: fixtures::sha(0x11),
            },
            R::DiffUnread {
                seen: fixtures::sha(0x11),
                missing: Default::default(),
            },
            R::HeadTooYoung {
                head: fixtures::sha(0xa1),
            },
            R::OtherCommit {
                named: fixtures::sha(0x11),
            },
            R::NoHeadSeenBefore,
            R::ReviewStale { seen: None },
            R::OnTheDiff,
            R::WrongChannel { wants_review: true },
            R::WrongChannel {
                wants_review: false,
            },
            R::BaseChanged {
                seen: "develop".into(),
            },
            R::BeforeTrigger {
                seen: fixtures::sha(0x11),
            },
            R::HeadUnsettled,
            R::NotAllRead {
                what: "the reviews".into(),
            },
            R::ChecklistMissing,
            R::NeedsMaintain,
            R::NothingToDismiss {
                of: fixtures::login("carol"),
            },
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
            P::UnknownGate {
                named: "secuirty".into(),
                nearest: Some(fixtures::gate_name("security")),
            },
            P::UnknownGate {
                named: "@evil|gate".into(),
                nearest: None,
            },
            P::NotPlainText {
                inside: Inside::Quote,
            },
            P::NoGate,
            P::Wording,
            P::Agreement,
            P::Usage {
                usage: "/dismiss security @user reason".into(),
            },
            P::UnknownCommand {
                typed: "/aprove".into(),
                nearest: Some("/approve".into()),
            },
            P::UnknownCommand {
                typed: "/x".into(),
                nearest: None,
            },
            P::TooLong,
        ];
        let said: Vec<String> = problems
            .into_iter()
            .map(|problem| said(Refusal::Phrase(problem)))
            .collect();
        insta::assert_snapshot!(said.join("\n"));
    }
}

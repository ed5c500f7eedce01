//! Near misses: lines that speak of approving a gate without being the phrase. All have one answer: the phrase.
//!
//! A wrong guess here costs a 😕 reaction, never an approval. So a line is taken for a near miss where a gate and the
//! stem of a verdict stand close together, and not where running prose happens to hold both words.

use super::phrase::{DENYING, Vocabulary, words};
use crate::{
    concerns::gates::report::{PhraseProblem, Word},
    ids::GateName,
};

/// A verdict further from the gate's name than this is about something else.
const NEAR: usize = 3;
/// In longer lines gate and verdict must stand side by side.
const SHORT_LINE: usize = 14;
/// Words of a line that are looked at.
const MOST_WORDS: usize = 400;

/// Beginnings of words that give a verdict, with the commonest slips of the finger.
pub(super) const VERDICTS: [(&str, Word); 3] = [
    (
        "approv aprov approo appov apporv approed aprrov",
        Word::Approve,
    ),
    (
        "disapprov dissapprov unapprov reject rejct rejet",
        Word::Reject,
    ),
    ("revok", Word::Revoke),
];

/// One gate that a line names without being its phrase.
#[derive(Clone, Debug)]
pub(super) struct Miss {
    pub(super) problem: PhraseProblem,
    /// `None` if the line does not say.
    pub(super) gate: Option<GateName>,
    /// What its writer means to say.
    pub(super) meant: Word,
}

/// What is wrong with a line, for each gate it names; `line` is read as it looks to the eye.
pub(super) fn problems(line: &str, vocabulary: Vocabulary<'_>) -> Vec<Miss> {
    let raw: Vec<&str> = words(line)
        .take(MOST_WORDS)
        .flat_map(|word| apart(word, vocabulary))
        .collect();
    let words: Vec<String> = raw.iter().map(|word| bare(word)).collect();
    let verdicts = verdicts(line, &words);
    let mut missed: Vec<Miss> = Vec::new();
    for at in (0..words.len()).filter(|_| !verdicts.is_empty()) {
        let Some(named) = NamedGate::at(&words, at, vocabulary) else {
            continue;
        };
        let Some(meant) = named.verdict(&verdicts, &words) else {
            continue;
        };
        if missed
            .iter()
            .all(|known| known.gate.as_ref() != Some(&named.gate))
        {
            let NamedGate { gate, misspelt, .. } = named;
            let nearest = Some(gate.clone());
            let problem = misspelt.map_or(PhraseProblem::Wording, |named| {
                PhraseProblem::UnknownGate { named, nearest }
            });
            missed.push(Miss {
                problem,
                gate: Some(gate),
                meant,
            });
        }
    }
    let named: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !word.is_empty())
        .collect();
    match named[..] {
        _ if !missed.is_empty() => missed,
        // A verdict, and nothing that says on what.
        ["approved" | "approve" | "rejected"] | ["i", "approve"] | ["not", "approved"] => {
            let meant = verdicts.first().map_or(Word::Approve, |(_, meant)| *meant);
            vec![Miss {
                problem: PhraseProblem::NoGate,
                gate: None,
                meant,
            }]
        }
        _ => agreement(line, &raw, &words, vocabulary),
    }
}

/// What a verdict in whatever words is to say: the first that a line gives.
pub(super) fn meant(line: &str) -> Word {
    let words: Vec<String> = words(line).map(bare).collect();
    verdicts(line, &words)
        .first()
        .map_or(Word::Approve, |(_, meant)| *meant)
}

/// The words of a line that give a verdict, by their place. Where the line denies, none of them approves.
fn verdicts(line: &str, words: &[String]) -> Vec<(usize, Word)> {
    let starts = |at: usize, with: &str| {
        words
            .get(at)
            .is_some_and(|word: &String| word.starts_with(with))
    };
    let is_request = |at: usize| {
        starts(at, "changes") && starts(at + 1, "request")
            || starts(at, "request") && starts(at + 1, "changes")
    };
    let verdict = |at: usize| match VERDICTS
        .iter()
        .find(|(all, _)| all.split(' ').any(|start| starts(at, start)))
    {
        Some((_, Word::Approve)) if denies(line, words) => Some(Word::Reject),
        // `security approval revoked`
        Some((_, Word::Approve)) if starts(at + 1, "revok") => Some(Word::Revoke),
        Some((_, meant)) => Some(*meant),
        None if starts(at, "dismis") => Some(Word::Dismiss),
        None => is_request(at).then_some(Word::Reject),
    };
    (0..words.len())
        .filter_map(|at| Some((at, verdict(at)?)))
        .collect()
}

fn denies(line: &str, words: &[String]) -> bool {
    DENYING.split_whitespace().any(|sign| line.contains(sign))
        || words.iter().any(|word| {
            matches!(word.as_str(), "not" | "never" | "cannot" | "dont") || word.ends_with("n't")
        })
}

/// `security-approved` and `security:approved` as two words.
fn apart<'w>(word: &'w str, vocabulary: Vocabulary<'_>) -> Vec<&'w str> {
    let parts = word.rsplit_once(['-', ':', '/', '_', '=']);
    let parts = parts.filter(|(gate, rest)| !rest.is_empty() && vocabulary.gate(gate).is_some());
    parts.map_or_else(|| vec![word], |(gate, rest)| vec![gate, rest])
}

/// A word in lower case without the punctuation around it.
fn bare(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase()
        .replace('’', "'")
}

/// A gate that a line names, where it begins, and over how many words.
struct NamedGate {
    gate: GateName,
    at: usize,
    length: usize,
    /// What stands there, where it is only much like the gate's name.
    misspelt: Option<String>,
}

impl NamedGate {
    /// The gate named at a place: `data-loss` may be written apart, and short words are near to everything.
    fn at(words: &[String], at: usize, vocabulary: Vocabulary<'_>) -> Option<Self> {
        let exact = |length: usize| {
            Some((
                vocabulary
                    .gate(&words.get(at..at + length)?.join("-"))?
                    .clone(),
                length,
            ))
        };
        if let Some((gate, length)) = (1..=3).rev().find_map(exact) {
            return Some(Self {
                gate,
                at,
                length,
                misspelt: None,
            });
        }
        let word = words
            .get(at)
            .filter(|word| word.len() >= 5 && word.is_ascii())?;
        Some(Self {
            gate: vocabulary.nearest(word)?.clone(),
            at,
            length: 1,
            misspelt: Some(word.clone()),
        })
    }

    /// What the verdict nearest to the name is to say, if one stands near.
    fn verdict(&self, verdicts: &[(usize, Word)], words: &[String]) -> Option<Word> {
        let reach = if words.len() <= SHORT_LINE { NEAR } else { 1 };
        let end = self.at + self.length;
        // Of two that are equally near, the one behind the name.
        let distance = |at: usize| {
            if at < self.at {
                (self.at - at, true)
            } else {
                (at + 1 - end, false)
            }
        };
        let apart = verdicts
            .iter()
            .filter(|(at, _)| !(self.at..end).contains(at));
        let near = apart
            .map(|(at, meant)| (distance(*at), *meant))
            .filter(|((distance, _), _)| *distance <= reach);
        near.min_by_key(|(distance, _)| *distance)
            .map(|(_, meant)| meant)
    }
}

/// Words of agreement that people type for an approval.
const AGREEMENTS: [&str; 15] = [
    "lgtm",
    "ok",
    "okay",
    "ack",
    "accepted",
    "cleared",
    "signed",
    "signoff",
    "+1",
    ":+1:",
    ":thumbsup:",
    ":white_check_mark:",
    ":heavy_check_mark:",
    ":ok_hand:",
    ":shipit:",
];
/// Signs of agreement; a skin tone or a variation selector may follow.
const SIGNS: [&str; 7] = ["👍", "✅", "✔", "☑", "🚢", "👌", "💯"];
/// Words of a line that agrees at most: `security signed off by me`.
const SHORT_AGREEMENT: usize = 5;

fn agrees(raw: &str) -> bool {
    let word = raw
        .trim_matches(['.', ',', '!', '*', '_', '(', ')'])
        .to_lowercase();
    AGREEMENTS.contains(&word.as_str()) || SIGNS.iter().any(|sign| word.starts_with(sign))
}

/// Whether a line agrees without naming a gate: `LGTM`, `+1`, `looks good, approving`.
fn agrees_alone(raw: &[&str]) -> bool {
    match raw {
        [first, ..] if bare(first) == "lgtm" || matches!(*first, "+1" | ":+1:") => raw.len() <= 3,
        [first, second, .., last] => {
            raw.len() <= 4
                && [first, second].map(|word| bare(word)) == ["looks", "good"]
                && bare(last) == "approving"
        }
        _ => false,
    }
}

/// `LGTM`, and `security ok`: what is meant for an approval where it is an approver's. Whose it is is asked elsewhere.
fn agreement(line: &str, raw: &[&str], words: &[String], vocabulary: Vocabulary<'_>) -> Vec<Miss> {
    if raw.len() > SHORT_AGREEMENT || line.trim_end().ends_with(['?', '？']) || denies(line, words)
    {
        return Vec::new();
    }
    let missed = |gate| Miss {
        problem: PhraseProblem::Agreement,
        gate,
        meant: Word::Approve,
    };
    if agrees_alone(raw) {
        return vec![missed(None)];
    }
    let agreed: Vec<usize> = (0..raw.len()).filter(|at| agrees(raw[*at])).collect();
    let beside = |at: usize| {
        agreed
            .iter()
            .any(|agreed| agreed.abs_diff(at) <= 2 && *agreed != at)
    };
    let named = (0..words.len())
        .filter(|at| beside(*at))
        .filter_map(|at| NamedGate::at(words, at, vocabulary));
    named.map(|named| missed(Some(named.gate))).collect()
}

/// Whether a line may agree, whatever the gates are called: `LGTM`, `security ✅`, `security signed off`.
pub(super) fn may_agree(line: &str) -> bool {
    let words: Vec<&str> = words(line)
        .skip_while(|word| word.starts_with('@'))
        .take(SHORT_AGREEMENT + 1)
        .collect();
    match words[..] {
        _ if agrees_alone(&words) => true,
        [_, second, ..] if words.len() <= SHORT_AGREEMENT => agrees(second),
        _ => false,
    }
}

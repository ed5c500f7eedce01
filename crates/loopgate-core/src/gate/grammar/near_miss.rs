//! Near misses: lines that talk about approving a gate without being the phrase, and what is wrong with them.
//!
//! A wrong guess here costs a 😕 reaction, never an approval. So a line is taken for a near miss where a gate and a
//! verdict stand close together, and not where running prose happens to hold both words.

use super::phrase::{Vocabulary, words};
use crate::{
    gate::report::{PhraseProblem, Word},
    ids::GateName,
};

/// A verdict further from the gate's name than this speaks of something else.
const NEAR: usize = 3;
/// In longer lines gate and verdict must stand side by side.
const SHORT_LINE: usize = 14;
/// Words of a line that are looked at.
const MOST_WORDS: usize = 400;

/// Beginnings of words that give a verdict, with the commonest slips of the finger.
pub(super) const VERDICTS: [&str; 14] = [
    "approv",
    "aprov",
    "approo",
    "appov",
    "apporv",
    "approed",
    "disapprov",
    "unapprov",
    "reject",
    "rejct",
    "rejet",
    "revok",
    "dissapprov",
    "aprrov",
];

/// One gate that a line speaks of without being its phrase.
#[derive(Clone, Debug)]
pub(super) struct Missed {
    pub(super) problem: PhraseProblem,
    /// None where it cannot be told.
    pub(super) gate: Option<GateName>,
    /// What its writer means to say.
    pub(super) meant: Word,
}

/// What is wrong with a line, for each gate it speaks of; `line` is read as it looks to the eye.
pub(super) fn problems(line: &str, vocabulary: Vocabulary<'_>) -> Vec<Missed> {
    let asks = line.trim_end().ends_with(['?', '？']);
    let raw: Vec<&str> = words(line).take(MOST_WORDS).flat_map(|word| apart(word, vocabulary)).collect();
    let words: Vec<String> = raw.iter().map(|word| bare(word)).collect();
    let pairs = pairs(&words, vocabulary);
    if pairs.is_empty() {
        if !is_bare_verdict(&words) {
            return agreement(&raw, &words, asks, vocabulary);
        }
        let problem = tone(&words, asks, words.len()).unwrap_or(PhraseProblem::NoGate);
        return vec![Missed { problem, gate: None, meant: meant(&words.join(" ")) }];
    }
    let missed = |Pair { gate, at, length, verdict }: Pair| {
        let problem = tone(&words, asks, verdict).unwrap_or_else(|| {
            if !gate.exactly {
                let named = words[at..at + length].join(" ");
                return PhraseProblem::UnknownGate { named, nearest: Some(gate.name.clone()) };
            }
            let in_order = verdict == at + 1 && matches!(words[verdict].as_str(), "approved" | "rejected");
            if in_order { PhraseProblem::NotAlone } else { PhraseProblem::Wording }
        });
        let said = words[verdict..].iter().take(2).cloned().collect::<Vec<_>>().join(" ");
        Missed { problem, gate: Some(gate.name), meant: meant(&said) }
    };
    pairs.into_iter().map(missed).collect()
}

/// What a verdict in whatever words is to say.
pub(super) fn meant(verdict: &str) -> Word {
    let of = |word: &str| match word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().as_str() {
        word if ["reject", "rejct", "rejet", "request"].iter().any(|root| word.starts_with(root)) => Some(Word::Reject),
        word if word.starts_with("revok") => Some(Word::Revoke),
        word if word.starts_with("dismis") => Some(Word::Dismiss),
        _ => None,
    };
    verdict.split_whitespace().find_map(of).unwrap_or(Word::Approve)
}

/// `security-approved` and `security:approved` as two words.
fn apart<'w>(word: &'w str, vocabulary: Vocabulary<'_>) -> Vec<&'w str> {
    let parts = word.rsplit_once(['-', ':', '/', '_', '=']);
    let parts = parts.filter(|(gate, rest)| !rest.is_empty() && vocabulary.gate(gate).is_some());
    parts.map_or_else(|| vec![word], |(gate, rest)| vec![gate, rest])
}

/// A word in lower case without the punctuation around it.
fn bare(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace('’', "'")
}

struct Named {
    name: GateName,
    exactly: bool,
}

fn named(word: &str, vocabulary: Vocabulary<'_>) -> Option<Named> {
    if let Some(gate) = vocabulary.gate(word) {
        return Some(Named { name: gate.clone(), exactly: true });
    }
    // Short words are near to everything.
    let near = (word.len() >= 5 && word.is_ascii()).then(|| vocabulary.nearest(word)).flatten()?;
    Some(Named { name: near.clone(), exactly: false })
}

/// The gate named at a place, and of how many words: `data-loss` may be written apart.
fn named_at(words: &[String], at: usize, vocabulary: Vocabulary<'_>) -> Option<(Named, usize)> {
    let apart = (2..=3).rev().find_map(|length| {
        let joined = words.get(at..at + length)?.join("-");
        let name = vocabulary.gate(&joined)?.clone();
        Some((Named { name, exactly: false }, length))
    });
    apart.or_else(|| Some((named(words.get(at)?, vocabulary)?, 1)))
}

/// A gate's name and the verdict nearest to it.
struct Pair {
    gate: Named,
    at: usize,
    length: usize,
    verdict: usize,
}

impl Pair {
    /// How many words apart they are, and whether the verdict stands in front.
    const fn distance(&self) -> (usize, bool) {
        if self.verdict < self.at {
            (self.at - self.verdict, true)
        } else {
            (self.verdict + 1 - self.at - self.length, false)
        }
    }
}

/// Each gate that is named near a verdict, once.
fn pairs(words: &[String], vocabulary: Vocabulary<'_>) -> Vec<Pair> {
    let starts = |at: usize, with: &str| words.get(at).is_some_and(|word| word.starts_with(with));
    let is_verdict = |&at: &usize| {
        VERDICTS.iter().any(|start| words[at].starts_with(start))
            || (words[at] == "changes" && starts(at + 1, "request"))
            || (starts(at, "request") && starts(at + 1, "changes"))
    };
    let reach = if words.len() <= SHORT_LINE { NEAR } else { 1 };
    let mut pairs: Vec<Pair> = Vec::new();
    for verdict in (0..words.len()).filter(is_verdict) {
        for at in (verdict.saturating_sub(reach + 2)..words.len().min(verdict + reach + 1)).filter(|at| *at != verdict)
        {
            let Some((gate, length)) = named_at(words, at, vocabulary) else { continue };
            let pair = Pair { gate, at, length, verdict };
            if (at..at + length).contains(&verdict) || pair.distance().0 > reach {
                continue;
            }
            match pairs.iter_mut().find(|known| known.gate.name == pair.gate.name) {
                Some(known) if pair.distance() < known.distance() => *known = pair,
                Some(_) => {}
                None => pairs.push(pair),
            }
        }
    }
    pairs
}

/// "Approved", and nothing that says what.
fn is_bare_verdict(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    matches!(words[..], ["approved" | "approve" | "rejected"] | ["i", "approve"] | ["not", "approved"])
}

/// Words and signs of agreement that people type for an approval.
const AGREEMENTS: [&str; 22] = [
    "lgtm",
    "ok",
    "okay",
    "ack",
    "accepted",
    "cleared",
    "signed",
    "signoff",
    "👍",
    "✅",
    "✔",
    "☑",
    "🚢",
    "👌",
    "💯",
    "+1",
    ":+1:",
    ":thumbsup:",
    ":white_check_mark:",
    ":heavy_check_mark:",
    ":ok_hand:",
    ":shipit:",
];
/// Words of a line that agrees at most: `security signed off by me`.
const SHORT_AGREEMENT: usize = 5;

fn agrees(raw: &str) -> bool {
    let word = raw.trim_matches(['.', ',', '!', '*', '_', '(', ')']).to_lowercase();
    AGREEMENTS.iter().any(|known| if known.is_ascii() { *known == word } else { word.starts_with(known) })
}

/// Whether a line agrees without naming a gate: `LGTM`, `+1`, `looks good, approving`.
fn agrees_alone(raw: &[&str]) -> bool {
    match raw {
        [first, ..] if bare(first) == "lgtm" || matches!(*first, "+1" | ":+1:") => raw.len() <= 3,
        [first, second, .., last] => {
            raw.len() <= 4 && [first, second].map(|word| bare(word)) == ["looks", "good"] && bare(last) == "approving"
        }
        _ => false,
    }
}

/// `LGTM`, and `security ok`: what is meant for an approval where it is an approver's. Whose it is is asked elsewhere.
fn agreement(raw: &[&str], words: &[String], asks: bool, vocabulary: Vocabulary<'_>) -> Vec<Missed> {
    if raw.len() > SHORT_AGREEMENT || asks || tone(words, asks, words.len()).is_some() {
        return Vec::new();
    }
    let missed = |gate| Missed { problem: PhraseProblem::Agreement, gate, meant: Word::Approve };
    if agrees_alone(raw) {
        return vec![missed(None)];
    }
    let agreed: Vec<usize> = (0..raw.len()).filter(|at| agrees(raw[*at])).collect();
    let beside = |at: usize| agreed.iter().any(|agreed| agreed.abs_diff(at) <= 2 && *agreed != at);
    let named = (0..words.len()).filter(|at| beside(*at)).filter_map(|at| named_at(words, at, vocabulary));
    named.map(|(gate, _)| missed(Some(gate.name))).collect()
}

/// Whether a line may agree, whatever the gates are called: `LGTM`, `security ✅`, `security signed off`.
pub(super) fn may_agree(line: &str) -> bool {
    let words: Vec<&str> = words(line).skip_while(|word| word.starts_with('@')).take(SHORT_AGREEMENT + 1).collect();
    match words[..] {
        _ if agrees_alone(&words) => true,
        [_, second, ..] if words.len() <= SHORT_AGREEMENT => agrees(second),
        _ => false,
    }
}

/// What the words around the verdict make of it.
/// Behind it, `no objections` denies nothing.
fn tone(words: &[String], asks: bool, verdict: usize) -> Option<PhraseProblem> {
    const NOT: [&str; 13] = [
        "not", "never", "cannot", "don't", "can't", "won't", "isn't", "wasn't", "doesn't", "didn't", "haven't",
        "hasn't", "dont",
    ];
    const NONE: [&str; 3] = ["no", "without", "nobody"];
    const IF: [&str; 20] = [
        "if",
        "once",
        "when",
        "unless",
        "until",
        "till",
        "after",
        "pending",
        "provided",
        "providing",
        "assuming",
        "but",
        "except",
        "conditional",
        "conditionally",
        "modulo",
        "depending",
        "long",
        "though",
        "however",
    ];
    const SOON: [&str; 18] = [
        "will", "shall", "would", "should", "must", "going", "gonna", "soon", "later", "tomorrow", "i'll", "we'll",
        "needs", "need", "awaiting", "waiting", "wait", "plan",
    ];
    const ASKS: [&str; 16] = [
        "is", "was", "are", "has", "have", "can", "could", "may", "might", "do", "does", "did", "who", "why", "what",
        "where",
    ];
    let any = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let denies = |word: &String| ["disapprov", "dissapprov", "unapprov"].iter().any(|start| word.starts_with(start));
    if asks || words.first().is_some_and(|first| ASKS.contains(&first.as_str())) {
        Some(PhraseProblem::Question)
    } else if any(&NOT)
        || words.iter().take(verdict).any(|word| NONE.contains(&word.as_str()))
        || words.iter().any(denies)
    {
        Some(PhraseProblem::Negated)
    } else if any(&IF) {
        Some(PhraseProblem::Conditional)
    } else if any(&SOON) {
        Some(PhraseProblem::Future)
    } else {
        None
    }
}

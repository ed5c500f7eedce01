//! Near misses: lines that talk about approving a gate without being the phrase, and what is wrong with them.
//!
//! A wrong guess here costs a 😕 reaction, never an approval. So a line is taken for a near miss where a gate and a
//! verdict stand close together, and not where running prose happens to hold both words.

use super::phrase::{Vocabulary, words};
use crate::{gate::report::PhraseProblem, ids::GateName};

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

/// What is wrong with a line, and which gate it speaks of; `line` is read as it looks to the eye.
pub(super) fn problem(line: &str, vocabulary: Vocabulary<'_>) -> Option<(PhraseProblem, Option<GateName>)> {
    let asks = line.trim_end().ends_with(['?', '？']);
    let words: Vec<String> = words(line).take(MOST_WORDS).map(bare).collect();
    let Some((gate, verdict)) = closest(&words, vocabulary) else {
        return is_bare_verdict(&words).then(|| (tone(&words, asks).unwrap_or(PhraseProblem::NoGate), None));
    };
    let Named { name, exactly } = named(&words[gate], vocabulary)?;
    let problem = tone(&words, asks).unwrap_or_else(|| {
        if !exactly {
            return PhraseProblem::UnknownGate { named: words[gate].clone(), nearest: Some(name.clone()) };
        }
        let in_order = verdict == gate + 1 && matches!(words[verdict].as_str(), "approved" | "rejected");
        if in_order { PhraseProblem::NotAlone } else { PhraseProblem::Wording }
    });
    Some((problem, Some(name)))
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

/// Places of a gate's name and of the verdict nearest to it.
fn closest(words: &[String], vocabulary: Vocabulary<'_>) -> Option<(usize, usize)> {
    let is_verdict = |word: &String| VERDICTS.iter().any(|start| word.starts_with(start));
    let reach = if words.len() <= SHORT_LINE { NEAR } else { 1 };
    let verdicts = words.iter().enumerate().filter(|(_, word)| is_verdict(word)).map(|(at, _)| at);
    let pair = |verdict: usize| {
        let around = verdict.saturating_sub(reach)..(verdict + reach + 1).min(words.len());
        let gates = around.filter(move |&at| at != verdict && named(&words[at], vocabulary).is_some());
        gates.map(move |gate| (gate, verdict))
    };
    verdicts.flat_map(pair).min_by_key(|&(gate, verdict)| gate.abs_diff(verdict))
}

/// "Approved", and nothing that says what.
fn is_bare_verdict(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    matches!(words[..], ["approved" | "approve" | "rejected"] | ["i", "approve"] | ["not", "approved"])
}

/// What the words around the verdict make of it.
fn tone(words: &[String], asks: bool) -> Option<PhraseProblem> {
    const NOT: [&str; 16] = [
        "not", "no", "never", "cannot", "don't", "can't", "won't", "isn't", "wasn't", "doesn't", "didn't", "haven't",
        "hasn't", "without", "nobody", "dont",
    ];
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
    const SOON: [&str; 19] = [
        "will", "shall", "would", "should", "must", "going", "gonna", "soon", "later", "tomorrow", "i'll", "we'll",
        "needs", "need", "awaiting", "waiting", "wait", "plan", "please",
    ];
    const ASKS: [&str; 16] = [
        "is", "was", "are", "has", "have", "can", "could", "may", "might", "do", "does", "did", "who", "why", "what",
        "where",
    ];
    let any = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let denies = |word: &String| ["disapprov", "dissapprov", "unapprov"].iter().any(|start| word.starts_with(start));
    if asks || words.first().is_some_and(|first| ASKS.contains(&first.as_str())) {
        Some(PhraseProblem::Question)
    } else if any(&NOT) || words.iter().any(denies) {
        Some(PhraseProblem::Negated)
    } else if any(&IF) {
        Some(PhraseProblem::Conditional)
    } else if any(&SOON) {
        Some(PhraseProblem::Future)
    } else {
        None
    }
}

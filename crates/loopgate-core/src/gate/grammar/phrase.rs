//! The approval phrase, exactly:
//!
//! ```text
//! line    = [@bot] gate verdict [sha40] [end]
//! verdict = approved | rejected | changes requested | approval revoked
//! end     = . | ! | emoji
//! ```
//! ASCII case does not matter, and runs of blanks (spaces, tabs, no-break spaces) are one.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;

use crate::{
    gate::report::PhraseProblem,
    ids::{GateName, Login, Sha},
};

/// What a phrase says about its gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PhraseVerdict {
    Approved,
    Rejected,
    Revoked,
}

/// A line that is the phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Phrase {
    pub(super) gate: GateName,
    pub(super) verdict: PhraseVerdict,
    pub(super) commit: Option<Sha>,
}

/// Who is spoken to, and which gates there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vocabulary<'a> {
    pub(super) bot: &'a Login,
    pub(super) gates: &'a BTreeSet<GateName>,
}

impl Vocabulary<'_> {
    /// The gate of this name, whatever its ASCII case.
    pub(super) fn gate(&self, word: &str) -> Option<&GateName> {
        self.gates.iter().find(|gate| gate.as_str().eq_ignore_ascii_case(word))
    }

    /// The gate whose name is written most like `word`, if one is written much like it.
    pub(super) fn nearest(&self, word: &str) -> Option<&GateName> {
        // Names are at most 40 characters long; the distance to a longer word takes long to learn and tells nothing.
        if word.len() > 60 {
            return None;
        }
        let word = word.to_ascii_lowercase();
        let distance = |gate: &&GateName| strsim::osa_distance(gate.as_str(), &word);
        let tolerated = |gate: &GateName| (gate.as_str().len() / 4).clamp(1, 3);
        self.gates.iter().min_by_key(distance).filter(|gate| distance(gate) <= tolerated(gate))
    }

    pub(super) fn unknown(&self, word: &str) -> PhraseProblem {
        let named = word.chars().take(40).collect();
        PhraseProblem::UnknownGate { named, nearest: self.nearest(word).cloned() }
    }

    /// Whether `word` is `@loopgate` or `@loopgate[bot]`.
    pub(super) fn is_bot(&self, word: &str) -> bool {
        let bot = self.bot.as_str();
        let name = bot.strip_suffix("[bot]").unwrap_or(bot);
        word.strip_prefix('@').is_some_and(|word| word.eq_ignore_ascii_case(bot) || word.eq_ignore_ascii_case(name))
    }
}

/// The blanks of the grammar. A no-break space is typed by accident and looks like a space; other exotic blanks are
/// answered as look-alikes.
const BLANKS: [char; 4] = [' ', '\t', '\u{a0}', '\n'];

/// The words of a line.
pub(super) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(BLANKS).filter(|word| !word.is_empty())
}

/// The longest phrase: bot, gate, two words of a verdict, commit, end.
const MOST_WORDS: usize = 6;

/// Reads a line as the phrase.
///
/// `Ok(None)`: it is not of this shape at all. An error: it is, but for one thing.
pub(super) fn read(line: &str, vocabulary: Vocabulary<'_>) -> Result<Option<Phrase>, PhraseProblem> {
    let mut words: Vec<&str> = words(line).take(MOST_WORDS + 1).collect();
    if words.len() > MOST_WORDS {
        return Ok(None);
    }
    if words.first().is_some_and(|word| vocabulary.is_bot(word)) {
        words.remove(0);
    }
    let end = take_end(&mut words);
    let named = take_commit(&mut words);
    let Some((gate, verdict)) = words.split_first().and_then(|(gate, rest)| Some((*gate, verdict(rest)?))) else {
        return Ok(None);
    };
    let Some(known) = vocabulary.gate(gate) else {
        let is_name = gate.to_ascii_lowercase().parse::<GateName>().is_ok() && !is_everyday(gate);
        return if is_name { Err(vocabulary.unknown(gate)) } else { Ok(None) };
    };
    if matches!(end, End::Doubtful) {
        return Err(PhraseProblem::Wording);
    }
    let commit = match named {
        NamedCommit::Nothing => None,
        NamedCommit::Commit(sha) => Some(sha),
        NamedCommit::Short => return Err(PhraseProblem::ShortSha),
    };
    Ok(Some(Phrase { gate: known.clone(), verdict, commit }))
}

/// Words before "approved" that make a sentence, not a gate.
fn is_everyday(word: &str) -> bool {
    const EVERYDAY: [&str; 24] = [
        "all", "already", "also", "and", "are", "be", "been", "being", "get", "got", "has", "i", "is", "it", "just",
        "not", "now", "pr", "re", "that", "this", "was", "we", "you",
    ];
    EVERYDAY.iter().any(|everyday| everyday.eq_ignore_ascii_case(word))
}

fn verdict(words: &[&str]) -> Option<PhraseVerdict> {
    let said = |phrase: &[&str]| {
        words.len() == phrase.len() && words.iter().zip(phrase).all(|(word, said)| word.eq_ignore_ascii_case(said))
    };
    if said(&["approved"]) {
        Some(PhraseVerdict::Approved)
    } else if said(&["rejected"]) || said(&["changes", "requested"]) {
        Some(PhraseVerdict::Rejected)
    } else {
        said(&["approval", "revoked"]).then_some(PhraseVerdict::Revoked)
    }
}

enum NamedCommit {
    Nothing,
    Commit(Sha),
    Short,
}

/// Takes a commit id off the end of the words.
fn take_commit(words: &mut Vec<&str>) -> NamedCommit {
    let Some(last) = words.last().filter(|last| last.chars().all(|c| c.is_ascii_hexdigit())) else {
        return NamedCommit::Nothing;
    };
    let named = match (last.len(), last.parse()) {
        (_, Ok(sha)) => NamedCommit::Commit(sha),
        (7..=39, Err(_)) => NamedCommit::Short,
        _ => return NamedCommit::Nothing,
    };
    words.pop();
    named
}

enum End {
    None,
    Fitting,
    /// An emoji that takes back what the words say, or asks.
    Doubtful,
}

/// Takes the end off the last word, or a last word that is nothing else.
fn take_end(words: &mut Vec<&str>) -> End {
    let Some(last) = words.last_mut() else { return End::None };
    let (rest, end) = match last.strip_suffix(['.', '!']) {
        Some(rest) => (rest, End::Fitting),
        None => match trailing_emoji(last) {
            Some((rest, emoji)) => (rest, judge(emoji)),
            None => return End::None,
        },
    };
    if rest.is_empty() {
        words.pop();
    } else {
        *last = rest;
    }
    end
}

/// Splits one emoji or shortcode off the end of a word.
fn trailing_emoji(word: &str) -> Option<(&str, &str)> {
    static EMOJI: LazyLock<Regex> = LazyLock::new(|| {
        let one = r"\p{Extended_Pictographic}\x{FE0F}?\p{Emoji_Modifier}?";
        let emoji =
            format!(r"(?:\p{{Regional_Indicator}}{{2}}|{one}|[0-9#*]\x{{FE0F}}?\x{{20E3}}|:[a-z0-9_+-]{{1,50}}:)\z");
        Regex::new(&emoji).expect("a constant that the tests compile")
    });
    // Nothing longer than this is one emoji: keeps a hostile line from being searched again and again.
    let from = word.char_indices().rev().nth(60).map_or(0, |(at, _)| at);
    let found = EMOJI.find(&word[from..])?;
    let at = from + found.start();
    Some((&word[..at], &word[at..]))
}

/// Signs that deny.
pub(super) const DENYING: &str = "👎 ❌ ✖ 🚫 ⛔ 🛑 🙅 :-1: :thumbsdown: :x: :no_entry: :no_entry_sign: :stop_sign: \
                                  :heavy_multiplication_x: :no_good:";
/// Signs that ask.
const ASKING: &str = "❓ ❔ ⁉ 🤔 :question: :grey_question: :interrobang: :thinking: :thinking_face:";

/// An emoji ends a phrase unless it denies or asks.
fn judge(emoji: &str) -> End {
    let is_in = |signs: &str| signs.split_whitespace().any(|sign| emoji.starts_with(sign));
    if is_in(DENYING) || is_in(ASKING) { End::Doubtful } else { End::Fitting }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA: &str = "0123456789abcdef0123456789abcdef01234567";

    fn read_line(line: &str) -> Result<Option<Phrase>, PhraseProblem> {
        let gates = ["architecture", "security", "db-2"].map(|gate| gate.parse().unwrap()).into();
        read(line, Vocabulary { bot: &"loopgate[bot]".parse().unwrap(), gates: &gates })
    }

    #[test]
    fn the_phrase_in_all_its_forms() {
        for (line, gate, verdict) in [
            ("architecture approved", "architecture", PhraseVerdict::Approved),
            ("  ARCHITECTURE \t Approved  ", "architecture", PhraseVerdict::Approved),
            ("architecture\u{a0}approved", "architecture", PhraseVerdict::Approved),
            ("architecture approved.", "architecture", PhraseVerdict::Approved),
            ("architecture approved!", "architecture", PhraseVerdict::Approved),
            ("architecture approved !", "architecture", PhraseVerdict::Approved),
            ("architecture approved 🎉", "architecture", PhraseVerdict::Approved),
            ("architecture approved🎉", "architecture", PhraseVerdict::Approved),
            ("architecture approved ✅️", "architecture", PhraseVerdict::Approved),
            ("architecture approved 👍🏽", "architecture", PhraseVerdict::Approved),
            ("architecture approved 🇨🇭", "architecture", PhraseVerdict::Approved),
            ("architecture approved :tada:", "architecture", PhraseVerdict::Approved),
            ("architecture approved :+1:", "architecture", PhraseVerdict::Approved),
            ("@loopgate architecture approved", "architecture", PhraseVerdict::Approved),
            ("@Loopgate[bot] security rejected", "security", PhraseVerdict::Rejected),
            ("security changes  requested", "security", PhraseVerdict::Rejected),
            ("db-2 approval revoked.", "db-2", PhraseVerdict::Revoked),
        ] {
            let phrase = read_line(line).unwrap().unwrap_or_else(|| panic!("{line}"));
            assert_eq!((phrase.gate.as_str(), phrase.verdict, phrase.commit), (gate, verdict, None), "{line}");
        }
    }

    #[test]
    fn a_full_commit_id_is_read_and_a_short_one_refused() {
        let sha = SHA.parse().unwrap();
        for end in ["", ".", " 🎉"] {
            let phrase = read_line(&format!("security approved {SHA}{end}")).unwrap().unwrap();
            assert_eq!(phrase.commit, Some(sha));
        }
        assert_eq!(read_line("security approved 0123456"), Err(PhraseProblem::ShortSha));
        assert_eq!(read_line(&format!("security approved {SHA}0")), Ok(None));
    }

    #[test]
    fn what_is_not_of_this_shape() {
        for line in [
            "",
            "architecture",
            "approved",
            "approved architecture",
            "architecture approved?",
            "architecture approved!!",
            "architecture approved. 🎉",
            "architecture approved 🎉🎉",
            "architecture approved 👍\u{200d}🎉",
            "architecture approved 👎\u{200d}👍",
            "architecture approved 👎👍",
            "architecture approved, thanks",
            "architecture: approved",
            "the architecture approved",
            "@alice architecture approved",
            "@loopgate, architecture approved",
            "architecture changes",
            "architecture changes requested please",
            "architecture approved security approved",
            "not approved",
            "architecture аpproved",
            "architecture\u{2003}approved",
            "architecture\u{200b} approved",
        ] {
            assert_eq!(read_line(line), Ok(None), "{line}");
        }
    }

    #[test]
    fn an_emoji_that_says_no_is_not_an_end() {
        for line in ["security approved 👎🏿", "security approved 👍\u{200d}👎", "security approved 👍👎"] {
            let read = read_line(line);
            assert!(matches!(read, Err(PhraseProblem::Wording) | Ok(None)), "{line}: {read:?}");
        }
        assert_eq!(read_line("security approved :thinking:"), Err(PhraseProblem::Wording));
    }

    #[test]
    fn an_unknown_gate_gets_the_nearest() {
        let nearest = |line: &str| match read_line(line) {
            Err(PhraseProblem::UnknownGate { nearest, .. }) => nearest.map(|gate| gate.to_string()),
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(nearest("architecure approved").as_deref(), Some("architecture"));
        assert_eq!(nearest("Secrity rejected.").as_deref(), Some("security"));
        assert_eq!(nearest("payments approved"), None);
    }
}

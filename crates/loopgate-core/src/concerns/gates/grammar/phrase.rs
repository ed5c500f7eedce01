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

use super::Intent;
use crate::{
    concerns::gates::report::PhraseProblem,
    expressions::compile,
    ids::{GateName, Login, Sha},
};

/// Which account is addressed, and which gates there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vocabulary<'a> {
    pub(super) bot: &'a Login,
    pub(super) gates: &'a BTreeSet<GateName>,
}

impl Vocabulary<'_> {
    /// The gate of this name, whatever its ASCII case.
    pub(super) fn gate(&self, word: &str) -> Option<&GateName> {
        self.gates
            .iter()
            .find(|gate| gate.as_str().eq_ignore_ascii_case(word))
    }

    /// The gate whose name is written most like `word`, if one is written much like it.
    pub(super) fn nearest(&self, word: &str) -> Option<&GateName> {
        // Names are at most 40 characters long; the distance to a longer word takes long to compute and is of no use.
        if word.len() > 60 {
            return None;
        }
        let word = word.to_ascii_lowercase();
        let distance = |gate: &&GateName| strsim::osa_distance(gate.as_str(), &word);
        let tolerated = |gate: &GateName| (gate.as_str().len() / 4).clamp(1, 3);
        self.gates
            .iter()
            .min_by_key(distance)
            .filter(|gate| distance(gate) <= tolerated(gate))
    }

    pub(super) fn unknown(&self, word: &str) -> PhraseProblem {
        let named = word.chars().take(40).collect();
        PhraseProblem::UnknownGate {
            named,
            nearest: self.nearest(word).cloned(),
        }
    }

    /// Whether `word` is `@loopgate` or `@loopgate[bot]`.
    pub(super) fn is_bot(&self, word: &str) -> bool {
        let bot = self.bot.as_str();
        let name = bot.strip_suffix("[bot]").unwrap_or(bot);
        word.strip_prefix('@')
            .is_some_and(|word| word.eq_ignore_ascii_case(bot) || word.eq_ignore_ascii_case(name))
    }
}

/// The blanks of the grammar. A no-break space is typed by accident and looks like a space; other exotic blanks are
/// answered as look-alikes.
const BLANKS: [char; 4] = [' ', '\t', '\u{a0}', '\n'];

/// The words of a line.
pub(super) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(BLANKS).filter(|word| !word.is_empty())
}

/// Reads a line as the phrase.
///
/// `Ok(None)`: it is not of this shape at all. An error: it is, but for one thing.
pub(super) fn read(
    line: &str,
    vocabulary: Vocabulary<'_>,
) -> Result<Option<Intent>, PhraseProblem> {
    static FORM: LazyLock<Regex> = LazyLock::new(|| {
        let picture = r"\p{Extended_Pictographic}\x{FE0F}?\p{Emoji_Modifier}?";
        let emoji = format!(
            r"\p{{Regional_Indicator}}{{2}}|{picture}|[0-9#*]\x{{FE0F}}?\x{{20E3}}|:[a-z0-9_+-]{{1,50}}:"
        );
        let (blank, word) = (r"(?u:[ \t\n\x{a0}])", r"[^ \t\n\x{a0}]+");
        let rejects = format!("rejected|changes{blank}+requested");
        // With the tables of Unicode, `(?i)` would take `ſ` for an s.
        let verdict =
            format!("(?i-u:(?<approves>approved)|(?<rejects>{rejects})|approval{blank}+revoked)");
        let line = format!("(?:(?<bot>@{word}){blank}+)?(?<gate>{word}){blank}+{verdict}");
        let end =
            format!("(?:{blank}+(?<commit>[0-9a-fA-F]{{7,40}}))?{blank}*(?<end>[.!]|{emoji})?");
        compile(&format!(r"\A{line}{end}\z"))
    });
    let Some(found) = FORM.captures(line.trim_matches(BLANKS)) else {
        return Ok(None);
    };
    if found
        .name("bot")
        .is_some_and(|bot| !vocabulary.is_bot(bot.as_str()))
    {
        return Ok(None);
    }
    let named = &found["gate"];
    let Some(gate) = vocabulary.gate(named).cloned() else {
        // A word that makes a sentence before "approved" names no gate.
        let is_everyday = EVERYDAY
            .split(' ')
            .any(|everyday| everyday.eq_ignore_ascii_case(named));
        let is_name = named.to_ascii_lowercase().parse::<GateName>().is_ok() && !is_everyday;
        return if is_name {
            Err(vocabulary.unknown(named))
        } else {
            Ok(None)
        };
    };
    let ends_with = |signs: &str| {
        found.name("end").is_some_and(|end| {
            signs
                .split_whitespace()
                .any(|sign| end.as_str().starts_with(sign))
        })
    };
    if ends_with(DENYING) || ends_with(ASKING) {
        return Err(PhraseProblem::Wording);
    }
    let commit = found
        .name("commit")
        .map(|commit| commit.as_str().parse::<Sha>());
    let commit = commit.transpose().map_err(|_| PhraseProblem::ShortSha)?;
    Ok(Some(if found.name("approves").is_some() {
        Intent::Approve { gate, commit }
    } else if found.name("rejects").is_some() {
        Intent::Reject { gate, reason: None }
    } else {
        Intent::Revoke { gate }
    }))
}

/// Words of everyday language.
const EVERYDAY: &str = "all already also and are be been being get got has i is it just not now pr re that this was we you";

/// Signs that deny.
pub(super) const DENYING: &str = "👎 ❌ ✖ 🚫 ⛔ 🛑 🙅 :-1: :thumbsdown: :x: :no_entry: :no_entry_sign: :stop_sign: \
                                  :heavy_multiplication_x: :no_good:";
/// Signs that ask.
const ASKING: &str =
    "❓ ❔ ⁉ 🤔 :question: :grey_question: :interrobang: :thinking: :thinking_face:";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::concerns::gates::report::Word;

    const SHA: &str = "0123456789abcdef0123456789abcdef01234567";

    fn read_line(line: &str) -> Result<Option<Intent>, PhraseProblem> {
        let gates = ["architecture", "security", "db-2"]
            .map(|gate| gate.parse().unwrap())
            .into();
        read(
            line,
            Vocabulary {
                bot: &"loopgate[bot]".parse().unwrap(),
                gates: &gates,
            },
        )
    }

    #[test]
    fn the_phrase_in_all_its_forms() {
        for (line, gate, verdict) in [
            ("architecture approved", "architecture", Word::Approve),
            (
                "  ARCHITECTURE \t Approved  ",
                "architecture",
                Word::Approve,
            ),
            ("architecture\u{a0}approved", "architecture", Word::Approve),
            ("architecture approved.", "architecture", Word::Approve),
            ("architecture approved!", "architecture", Word::Approve),
            ("architecture approved !", "architecture", Word::Approve),
            ("architecture approved 🎉", "architecture", Word::Approve),
            ("architecture approved🎉", "architecture", Word::Approve),
            ("architecture approved ✅️", "architecture", Word::Approve),
            ("architecture approved 👍🏽", "architecture", Word::Approve),
            ("architecture approved 🇨🇭", "architecture", Word::Approve),
            (
                "architecture approved :tada:",
                "architecture",
                Word::Approve,
            ),
            ("architecture approved :+1:", "architecture", Word::Approve),
            (
                "@loopgate architecture approved",
                "architecture",
                Word::Approve,
            ),
            ("@Loopgate[bot] security rejected", "security", Word::Reject),
            ("security changes  requested", "security", Word::Reject),
            ("db-2 approval revoked.", "db-2", Word::Revoke),
        ] {
            let intent = read_line(line).unwrap().unwrap_or_else(|| panic!("{line}"));
            assert_eq!(
                intent.about().map(|(gate, word)| (gate.as_str(), word)),
                Some((gate, verdict)),
                "{line}"
            );
            assert!(
                !matches!(
                    intent,
                    Intent::Approve {
                        commit: Some(_),
                        ..
                    }
                ),
                "{line}"
            );
        }
    }

    #[test]
    fn a_full_commit_id_is_read_and_a_short_one_refused() {
        let sha = SHA.parse().unwrap();
        for end in ["", ".", " 🎉"] {
            let intent = read_line(&format!("security approved {SHA}{end}"))
                .unwrap()
                .unwrap();
            assert_eq!(
                intent,
                Intent::Approve {
                    gate: "security".parse().unwrap(),
                    commit: Some(sha)
                }
            );
        }
        assert_eq!(
            read_line("security approved 0123456"),
            Err(PhraseProblem::ShortSha)
        );
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
        for line in [
            "security approved 👎🏿",
            "security approved 👍\u{200d}👎",
            "security approved 👍👎",
        ] {
            let read = read_line(line);
            assert!(
                matches!(read, Err(PhraseProblem::Wording) | Ok(None)),
                "{line}: {read:?}"
            );
        }
        assert_eq!(
            read_line("security approved :thinking:"),
            Err(PhraseProblem::Wording)
        );
    }

    #[test]
    fn an_unknown_gate_gets_the_nearest() {
        let nearest = |line: &str| match read_line(line) {
            Err(PhraseProblem::UnknownGate { nearest, .. }) => nearest.map(|gate| gate.to_string()),
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(
            nearest("architecure approved").as_deref(),
            Some("architecture")
        );
        assert_eq!(nearest("Secrity rejected.").as_deref(), Some("security"));
        assert_eq!(nearest("payments approved"), None);
    }
}

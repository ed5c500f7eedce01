//! Could this comment concern us? A quick look at the raw text that lets chat pass at no cost.
//!
//! Most comments are chat, and chat must cost neither an API call nor a queue row. The look is one-sided: it may
//! take chat for a command (a reconcile that changes nothing), never a command, an approval or a near miss for chat,
//! since near misses must be answered too (gates.md, "How to approve"). So it searches for fragments of the words of
//! both grammars in a *folded* text: lower case, without Markdown's emphasis marks, without invisible characters and
//! with look-alike letters replaced by the letters that they imitate. Whether the words stand in a quotation or in
//! code is for the grammars to decide.

use std::borrow::Cow;

use memchr::memmem;

/// A command or a verdict holds at least one of these. `/approve`, `approve` and `approved` share a fragment.
const FRAGMENTS: [&str; 8] =
    ["/loop", "/reject", "/revoke", "/dismiss", "approve", "rejected", "changes requested", "revoked"];

/// A letter that imitates none that we know: stands for any letter.
const WILD: u8 = 0xFF;

/// A character that is no part of any fragment.
const OTHER: u8 = 0;

/// So many letters of a fragment may be unknown look-alikes; with more it is a word of another language.
const MAX_WILD: usize = 3;

/// Whether the comment may hold a command, a verdict on a gate, or something a person could take for one.
pub(super) fn may_concern_us(text: &str) -> bool {
    // Numeric character references can spell anything, and nobody writes them in chat.
    if text.contains("&#") {
        return true;
    }
    let stripped = if text.contains('<') { without_tags(text) } else { Cow::Borrowed(text) };
    holds_fragment(text) || (stripped != text && holds_fragment(&stripped))
}

fn holds_fragment(text: &str) -> bool {
    let Some(folded) = fold(text) else { return true };
    let imitated = folded.contains(&WILD);
    FRAGMENTS.iter().any(|fragment| {
        memmem::find_iter(&folded, fragment.as_bytes()).any(|at| !is_path(fragment, &folded[at + fragment.len()..]))
            || (imitated && matches_nearly(&folded, fragment))
    })
}

/// Whether what looks like a command is the middle of a path: `src/loop.rs`, `/loops`, `/reject-list`.
fn is_path(fragment: &str, rest: &[u8]) -> bool {
    fragment.starts_with('/')
        && match rest {
            [next, ..] if next.is_ascii_alphanumeric() => true,
            [b'.' | b'/' | b'-', next, ..] => next.is_ascii_alphanumeric(),
            _ => false,
        }
}

fn matches_nearly(folded: &[u8], fragment: &str) -> bool {
    folded.windows(fragment.len()).any(|window| {
        let mut wild = 0;
        window.iter().zip(fragment.bytes()).all(|(&found, wanted)| {
            wild += usize::from(found == WILD);
            found == wanted || (found == WILD && wanted.is_ascii_alphabetic() && wild <= MAX_WILD)
        })
    })
}

/// The text as [`FRAGMENTS`] are written. `None` if it holds letters made to look like plain ones (𝐚𝐩𝐩𝐫𝐨𝐯𝐞𝐝, ⓐ, ᴀ):
/// such a text is always looked at.
fn fold(text: &str) -> Option<Vec<u8>> {
    let mut folded = Vec::with_capacity(text.len());
    for c in text.chars() {
        let byte = match c {
            '*' | '_' | '~' | '`' | '\\' => continue,
            ' ' | '\t' | '\r' | '\n' => b' ',
            // ASCII: one byte each.
            '\0'..='\x7f' => (c as u8).to_ascii_lowercase(),
            _ if is_invisible(c) => continue,
            _ if c.is_whitespace() => b' ',
            _ if is_stylised_latin(c) => return None,
            _ => imitates(c).unwrap_or_else(|| if may_imitate(c) { WILD } else { OTHER }),
        };
        if byte != b' ' || folded.last() != Some(&b' ') {
            folded.push(byte);
        }
    }
    Some(folded)
}

/// Characters that take no room: soft hyphens, zero-width and direction marks, variation selectors, combining marks.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{61c}' | '\u{115f}' | '\u{1160}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{20d0}'..='\u{20ff}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Alphabets that are Latin letters drawn otherwise: full width, mathematical, circled, squared, small capitals.
fn is_stylised_latin(c: char) -> bool {
    matches!(c,
        '\u{1d00}'..='\u{1d7f}' | '\u{2100}'..='\u{214f}' | '\u{249c}'..='\u{24e9}' | '\u{ff0f}'
        | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d7ff}' | '\u{1f110}'..='\u{1f189}')
        // ™, ℃ and the like are everyday signs, not letters in disguise.
        && !matches!(c, '\u{2100}' | '\u{2103}' | '\u{2105}' | '\u{2109}' | '\u{2116}' | '\u{2117}' | '\u{2122}' | '\u{2126}')
}

/// The plain letter or sign that this one looks like.
fn imitates(c: char) -> Option<u8> {
    Some(match c {
        'а' | 'А' | 'α' | 'Α' | 'ɑ' | 'à'..='å' | 'À'..='Å' => b'a',
        'с' | 'С' | 'ϲ' | 'Ϲ' | 'ç' | 'Ç' => b'c',
        'ԁ' | 'ԃ' | 'đ' | 'ɗ' => b'd',
        'е' | 'Е' | 'ё' | 'Ё' | 'ε' | 'Ε' | 'è'..='ë' | 'È'..='Ë' | 'ҽ' | 'Ꭼ' => b'e',
        'ɡ' | 'ց' => b'g',
        'һ' | 'Н' | 'Η' | 'հ' => b'h',
        'і' | 'І' | 'ι' | 'Ι' | 'ı' | 'ì'..='ï' | 'Ì'..='Ï' => b'i',
        'ј' | 'Ј' | 'ϳ' => b'j',
        'к' | 'К' | 'κ' | 'Κ' => b'k',
        'ӏ' | 'Ӏ' | 'ł' | 'ǀ' | 'Ꮮ' => b'l',
        'м' | 'М' | 'Μ' => b'm',
        'ո' | 'п' | 'Ν' | 'ñ' | 'Ñ' => b'n',
        'о' | 'О' | 'ο' | 'Ο' | 'ø' | 'Ø' | 'ò'..='ö' | 'Ò'..='Ö' | 'օ' | 'σ' => b'o',
        'р' | 'Р' | 'ρ' | 'Ρ' | 'Ꮲ' => b'p',
        'ԛ' => b'q',
        'г' | 'ɼ' | 'ɾ' | 'ꮁ' | 'Ꭱ' => b'r',
        'ѕ' | 'Ѕ' | 'Ꮪ' | 'ş' => b's',
        'т' | 'Т' | 'τ' | 'Τ' => b't',
        'υ' | 'ս' | 'ù'..='ü' | 'Ù'..='Ü' => b'u',
        'ν' | 'ѵ' | 'Ѵ' | 'ꮩ' | 'Ꮩ' => b'v',
        '∕' | '⁄' | '╱' | '⧸' => b'/',
        _ => return None,
    })
}

/// Alphabets with letters close enough to Latin ones to deceive somebody.
fn may_imitate(c: char) -> bool {
    c.is_alphabetic()
        && matches!(c,
            '\u{80}'..='\u{58f}' | '\u{10a0}'..='\u{10ff}' | '\u{13a0}'..='\u{13ff}' | '\u{1e00}'..='\u{1fff}'
            | '\u{2c60}'..='\u{2c7f}' | '\u{2c80}'..='\u{2cff}' | '\u{a4d0}'..='\u{a4ff}' | '\u{a640}'..='\u{a69f}'
            | '\u{a720}'..='\u{a7ff}' | '\u{ab30}'..='\u{abbf}')
}

/// The text without what may be inline HTML: `appro<!-- -->ved` is read as `approved`.
fn without_tags(text: &str) -> Cow<'_, str> {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        let (before, tag) = rest.split_at(open);
        let starts_tag = tag[1..].starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'));
        let Some(close) = tag.find('>').filter(|_| starts_tag) else {
            // `find` gave the place of a one-byte character, so the next byte starts a character.
            kept.push_str(&rest[..=open]);
            rest = &tag[1..];
            continue;
        };
        kept.push_str(before);
        rest = &tag[close + 1..];
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn commands_verdicts_and_near_misses_are_looked_at() {
        for text in [
            "/loop retry",
            "please\n  /LOOP status",
            "/loop",
            "/loop.",
            "/approve security",
            "/reject security no threat model",
            "/revoke security",
            "/dismiss security @bob gone",
            "architecture approved",
            "Architecture Approved!",
            "looks good\r\n\r\nsecurity   approved 👍",
            "security changes requested",
            "security changes \u{a0} requested",
            "security changes\nrequested",
            "security approval revoked",
            "database rejected: no rollback",
            "architecture approved?",
            "not architecture approved",
            "I would approve once CI is green",
            "> security approved",
            "security **app**roved",
            "security `approved`",
            "security ap~pro~ved",
            "security appro\u{200b}ved",
            "security appr\u{43e}ved",             // Cyrillic o
            "security \u{430}\u{440}\u{440}roved", // Cyrillic a, p, p
            "security appr\u{1d0f}ved",            // small capital o
            "security 𝐚𝐩𝐩𝐫𝐨𝐯𝐞𝐝",
            "security ａｐｐｒｏｖｅｄ",
            "security a\u{301}pproved",
            "security àpproved",
            "security app\u{280}oved", // a letter that we do not know
            "security \u{202e}approved",
            "security &#97;pproved",
            "security appro<!-- x -->ved",
            "security appro<b>v</b>ed",
            "a < b, security approved, c > d",
            "<b security approved",
        ] {
            assert!(may_concern_us(text), "{text:?}");
        }
    }

    #[test]
    fn chat_is_not() {
        for text in [
            "",
            "LGTM, thanks!",
            "Could you rename `Vec<String>` to something shorter? See src/loop.rs",
            "I think the loop in /src/main.rs is wrong & slow; 3 < 4 > 2",
            "Das ist schön, können wir das übernehmen? Größe prüfen.",
            "C'est validé côté français, déjà vu",
            "Проверено, всё работает. Спасибо!",
            "確認しました。ありがとうございます。",
            "🎉🎉 shipped 🚀 it's ~40% faster™ at 30℃",
            "changes were made; a review was requested",
            "the request was reject-free, see /reject-list.txt",
        ] {
            assert!(!may_concern_us(text), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_verdict_is_found_whatever_stands_around_it(before in ".{0,40}", after in ".{0,40}") {
            let comment = format!("{before}\nsecurity approved\n{after}");
            prop_assert!(may_concern_us(&comment));
        }

        #[test]
        fn any_text_is_read_without_panic(text in any::<String>()) {
            may_concern_us(&text);
        }
    }
}

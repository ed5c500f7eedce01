//! What a line reads as to the eye, and the words in it.
//!
//! Only ASCII letters make a phrase; a line that merely *looks* like one is answered as a near miss. So this needs no
//! certainty: the table holds the look-alikes of ASCII letters that people and attackers really meet, and Unicode's
//! compatibility decomposition covers full-width, mathematical, circled and accented letters.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// What a line reads as: look-alikes replaced, invisible characters and accents dropped. Case is kept.
pub(crate) fn skeleton(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    text.nfkd().filter(|&c| !is_combining_mark(c) && !is_invisible(c)).map(look_alike).collect()
}

/// The words of a line, in lower case: `requireRole(user)` is `require`, `role`, `user`.
pub(crate) struct LineWords {
    text: String,
    words: Vec<Word>,
}

struct Word {
    start: usize,
    end: usize,
    /// It stands directly behind the word before it: nothing between them, or only what joins words.
    follows: bool,
}

impl LineWords {
    /// A word ends where letters become digits, where a capital begins another word, and where no letter stands.
    /// Look-alikes of ASCII letters read as those.
    pub(crate) fn of(line: &str) -> Self {
        let line = skeleton(line);
        let mut all = Self { text: String::with_capacity(line.len()), words: Vec::new() };
        let (mut before, mut follows) = (None::<char>, true);
        let mut letters = line.chars().peekable();
        while let Some(letter) = letters.next() {
            if !letter.is_alphanumeric() {
                follows &= letter.is_whitespace() || "_-.:>/*".contains(letter);
                before = None;
                continue;
            }
            let lower_next = letters.peek().is_some_and(|next| next.is_lowercase());
            let begins = before.is_none_or(|before| {
                before.is_numeric() != letter.is_numeric()
                    || letter.is_uppercase() && (before.is_lowercase() || lower_next)
            });
            if begins {
                let start = all.text.len();
                all.words.push(Word { start, end: start, follows });
                follows = true;
            }
            all.text.extend(letter.to_lowercase());
            if let Some(word) = all.words.last_mut() {
                word.end = all.text.len();
            }
            before = Some(letter);
        }
        all
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|word| &self.text[word.start..word.end])
    }

    /// Whether these words stand directly behind the word of this index.
    pub(crate) fn continues(&self, index: usize, words: &[String]) -> bool {
        let next = self.words.get(index + 1..).unwrap_or_default();
        next.len() >= words.len()
            && next.iter().zip(words).all(|(is, wanted)| is.follows && self.text[is.start..is.end] == **wanted)
    }
}

/// Whether a character does nothing but hide, join, turn or move: it takes no room or changes the direction of text.
/// Variation selectors belong to emoji.
pub(crate) const fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}'
            | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    )
}

fn look_alike(c: char) -> char {
    if c.is_ascii() {
        return c;
    }
    let at = LOOK_ALIKES.binary_search_by_key(&c, |&(like, _)| like);
    at.map_or(c, |at| LOOK_ALIKES[at].1)
}

/// Sorted by the first character.
#[rustfmt::skip]
const LOOK_ALIKES: &[(char, char)] = &[
    // Latin beyond ASCII
    ('Ø', 'O'), ('ø', 'o'), ('đ', 'd'), ('ı', 'i'), ('ł', 'l'), ('ƒ', 'f'), ('ǀ', 'l'), ('ǃ', '!'), ('ɑ', 'a'),
    ('ɛ', 'e'), ('ɡ', 'g'), ('ɩ', 'i'), ('ɪ', 'i'), ('ɴ', 'n'), ('ɾ', 'r'), ('ʀ', 'r'), ('ʋ', 'v'), ('ʏ', 'y'),
    ('ʙ', 'b'), ('ʜ', 'h'), ('ʟ', 'l'),
    // Greek
    ('Α', 'A'), ('Β', 'B'), ('Ε', 'E'), ('Ζ', 'Z'), ('Η', 'H'), ('Ι', 'I'), ('Κ', 'K'), ('Μ', 'M'), ('Ν', 'N'),
    ('Ο', 'O'), ('Ρ', 'P'), ('Τ', 'T'), ('Υ', 'Y'), ('Χ', 'X'), ('α', 'a'), ('β', 'b'), ('γ', 'y'), ('ε', 'e'),
    ('η', 'n'), ('ι', 'i'), ('κ', 'k'), ('ν', 'v'), ('ο', 'o'), ('ρ', 'p'), ('σ', 'o'), ('τ', 't'), ('υ', 'u'),
    ('χ', 'x'), ('ω', 'w'), ('ϲ', 'c'), ('ϳ', 'j'),
    // Cyrillic
    ('Ѕ', 'S'), ('І', 'I'), ('Ј', 'J'), ('А', 'A'), ('В', 'B'), ('Е', 'E'), ('К', 'K'), ('М', 'M'), ('Н', 'H'),
    ('О', 'O'), ('Р', 'P'), ('С', 'C'), ('Т', 'T'), ('У', 'Y'), ('Х', 'X'), ('Ь', 'b'), ('а', 'a'), ('в', 'b'),
    ('г', 'r'), ('е', 'e'), ('к', 'k'), ('м', 'm'), ('н', 'h'), ('о', 'o'), ('п', 'n'), ('р', 'p'), ('с', 'c'),
    ('т', 't'), ('у', 'y'), ('х', 'x'), ('ь', 'b'), ('ѕ', 's'), ('і', 'i'), ('ј', 'j'), ('ѡ', 'w'), ('ѵ', 'v'),
    ('Ү', 'Y'), ('ү', 'y'), ('Һ', 'H'), ('һ', 'h'), ('Ӏ', 'l'), ('ӏ', 'l'), ('Ԁ', 'd'), ('ԁ', 'd'), ('Ԛ', 'Q'),
    ('ԛ', 'q'), ('Ԝ', 'W'), ('ԝ', 'w'),
    // Armenian
    ('Լ', 'L'), ('Ս', 'U'), ('Տ', 'S'), ('Օ', 'O'), ('ա', 'w'), ('զ', 'q'), ('հ', 'h'), ('յ', 'j'), ('ո', 'n'),
    ('ռ', 'n'), ('ս', 'u'), ('ց', 'g'), ('ք', 'p'), ('օ', 'o'),
    // Cherokee
    ('Ꭰ', 'D'), ('Ꭱ', 'R'), ('Ꭲ', 'T'), ('Ꭵ', 'i'), ('Ꭺ', 'A'), ('Ꭻ', 'J'), ('Ꭼ', 'E'), ('Ꮃ', 'W'), ('Ꮇ', 'M'),
    ('Ꮋ', 'H'), ('Ꮍ', 'Y'), ('Ꮐ', 'G'), ('Ꮓ', 'Z'), ('Ꮟ', 'b'), ('Ꮢ', 'R'), ('Ꮤ', 'W'), ('Ꮥ', 'S'), ('Ꮩ', 'V'),
    ('Ꮪ', 'S'), ('Ꮮ', 'L'), ('Ꮯ', 'C'), ('Ꮲ', 'P'), ('Ꮶ', 'K'),
    // Small capitals
    ('ᴀ', 'a'), ('ᴄ', 'c'), ('ᴅ', 'd'), ('ᴇ', 'e'), ('ᴊ', 'j'), ('ᴋ', 'k'), ('ᴍ', 'm'), ('ᴏ', 'o'), ('ᴘ', 'p'),
    ('ᴛ', 't'), ('ᴜ', 'u'), ('ᴠ', 'v'), ('ᴡ', 'w'), ('ᴢ', 'z'),
    // Punctuation
    ('‐', '-'), ('‑', '-'), ('‒', '-'), ('–', '-'), ('—', '-'), ('⁄', '/'), ('−', '-'), ('∕', '/'), ('∶', ':'),
    // Coptic
    ('ⲁ', 'a'), ('ⲟ', 'o'), ('ⲣ', 'p'), ('ⲥ', 'c'),
    // Lisu
    ('ꓐ', 'B'), ('ꓑ', 'P'), ('ꓓ', 'D'), ('ꓔ', 'T'), ('ꓖ', 'G'), ('ꓗ', 'K'), ('ꓙ', 'J'), ('ꓚ', 'C'), ('ꓜ', 'Z'),
    ('ꓝ', 'F'), ('ꓟ', 'M'), ('ꓠ', 'N'), ('ꓡ', 'L'), ('ꓢ', 'S'), ('ꓣ', 'R'), ('ꓦ', 'V'), ('ꓧ', 'H'), ('ꓪ', 'W'),
    ('ꓫ', 'X'), ('ꓬ', 'Y'), ('ꓮ', 'A'), ('ꓰ', 'E'), ('ꓲ', 'I'), ('ꓳ', 'O'), ('ꓴ', 'U'),
    // More small capitals
    ('ꜰ', 'f'), ('ꜱ', 's'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(LOOK_ALIKES.is_sorted_by_key(|&(like, _)| like));
    }

    #[test]
    fn look_alikes_read_as_ascii() {
        for disguised in [
            "аpproved",
            "αpproved",
            "approv\u{200b}ed",
            "\u{202e}approved",
            "ａｐｐｒｏｖｅｄ",
            "𝐚𝐩𝐩𝐫𝐨𝐯𝐞𝐝",
            "ápproved",
            "ap\u{ad}proved",
            "ᴀᴘᴘʀᴏᴠᴇᴅ",
            "ⓐⓟⓟⓡⓞⓥⓔⓓ",
            "approved\u{e0020}",
        ] {
            assert_eq!(skeleton(disguised), "approved", "{}", disguised.escape_unicode());
        }
    }

    #[test]
    fn plain_text_stays() {
        assert_eq!(skeleton("Architecture approved! 🎉"), "Architecture approved! 🎉");
    }

    #[test]
    fn identifiers_are_their_words() {
        for (line, words) in [
            ("requireRole(user)", "require role user"),
            ("HTTPClient.getURL2", "http client get url 2"),
            ("_has_perm-check", "has perm check"),
            ("sha256 OAuth2", "sha 256 o auth 2"),
            ("a\u{443}th \u{ff54}oken", "ayth token"),
            ("Ünïcode é", "unicode e"),
        ] {
            assert_eq!(LineWords::of(line).iter().collect::<Vec<_>>().join(" "), words, "{line}");
        }
        let follows = |line: &str| LineWords::of(line).continues(0, &["table".to_owned()]);
        assert!(
            follows("DROP   TABLE a") && follows("drop_table") && follows("drop.table") && follows("DROP/**/TABLE")
        );
        assert!(!follows("drop(table)") && !follows("drop, table") && !follows("drop a table") && !follows("drop"));
    }
}

//! What a line reads as to the eye, and the words in it.
//!
//! Only ASCII letters make a phrase; a line that merely *looks* like one is answered as a near miss. So this needs no
//! certainty: the table holds the look-alikes of ASCII letters that people and attackers really meet, and Unicode's
//! compatibility decomposition covers full-width, mathematical, circled and accented letters.

use std::{borrow::Cow, collections::HashMap, sync::LazyLock};

use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

/// What a line reads as: look-alikes replaced, invisible characters and accents dropped. Case is kept.
pub(crate) fn skeleton(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    text.nfkd()
        .filter(|&c| !is_combining_mark(c) && !is_invisible(c))
        .map(look_alike)
        .collect()
}

/// A line in which the escapes of letters are those letters: `\u0061`, `\u{61}`, `\x61`, `\U00000061`. `None` where it has
/// none.
pub(crate) fn without_escapes(text: &str) -> Option<String> {
    if !text.contains("\\u") && !text.contains("\\x") && !text.contains("\\U") {
        return None;
    }
    let escape = pattern!(
        r"\\(?:u+\{([0-9a-fA-F]{1,6})\}|u+([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8}))"
    );
    let letter = |found: &regex::Captures<'_>| {
        let digits = crate::expressions::first_group(found).unwrap_or_default();
        let code = u32::from_str_radix(digits, 16).ok();
        code.and_then(char::from_u32).unwrap_or(' ').to_string()
    };
    match escape.replace_all(text, letter) {
        Cow::Owned(decoded) => Some(decoded),
        Cow::Borrowed(_) => None,
    }
}

/// Letters of a line for each of its words, as most have fewer words.
const LETTERS: usize = 3;

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
        let mut all = Self {
            text: String::with_capacity(line.len()),
            words: Vec::with_capacity(line.len() / LETTERS),
        };
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
                all.words.push(Word {
                    start,
                    end: start,
                    follows,
                });
                follows = true;
            }
            match letter.is_ascii() {
                true => all.text.push(letter.to_ascii_lowercase()),
                false => all.text.extend(letter.to_lowercase()),
            }
            if let Some(word) = all.words.last_mut() {
                word.end = all.text.len();
            }
            before = Some(letter);
        }
        all
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.words
            .iter()
            .map(|word| &self.text[word.start..word.end])
    }

    /// Whether these words stand directly behind the word of this index.
    pub(crate) fn continues(&self, index: usize, words: &[String]) -> bool {
        let next = self.words.get(index + 1..).unwrap_or_default();
        next.len() >= words.len()
            && next
                .iter()
                .zip(words)
                .all(|(is, wanted)| is.follows && self.text[is.start..is.end] == **wanted)
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

/// The look-alikes of a script, and the ASCII letters that they look like, in the same order.
const LOOK_ALIKES: &[(&str, &str)] = &[
    // Latin beyond ASCII
    ("Øøđıłƒǀǃɑɛɡɩɪɴɾʀʋʏʙʜʟ", "Oodilfl!aegiinrrvybhl"),
    // Greek
    (
        "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαβγεηικνορστυχωϲϳ",
        "ABEZHIKMNOPTYXabyenikvopotuxwcj",
    ),
    // Cyrillic
    (
        "ЅІЈАВЕКМНОРСТУХЬавгекмнопрстухьѕіјѡѵҮүҺһӀӏԀԁԚ",
        "SIJABEKMHOPCTYXbabrekmhonpctyxbsijwvYyHhllddQ",
    ),
    ("ԛԜԝ", "qWw"),
    // Armenian
    ("ԼՍՏՕազհյոռսցքօ", "LUSOwqhjnnugpo"),
    // Cherokee
    ("ᎠᎡᎢᎥᎪᎫᎬᎳᎷᎻᎽᏀᏃᏏᏒᏔᏕᏙᏚᏞᏟᏢᏦ", "DRTiAJEWMHYGZbRWSVSLCPK"),
    // Small capitals
    ("ᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢꜰꜱ", "acdejkmoptuvwzfs"),
    // Punctuation
    ("‐‑‒–—⁄−∕∶", "-----/-/:"),
    // Coptic
    ("ⲁⲟⲣⲥ", "aopc"),
    // Lisu
    ("ꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ", "BPDTGKJCZFMNLSRVHWXYAEIOU"),
];

fn look_alike(letter: char) -> char {
    static TABLE: LazyLock<HashMap<char, char>> = LazyLock::new(|| {
        LOOK_ALIKES
            .iter()
            .flat_map(|(likes, letters)| likes.chars().zip(letters.chars()))
            .collect()
    });
    TABLE.get(&letter).copied().unwrap_or(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_look_alike_has_its_letter() {
        for (likes, letters) in LOOK_ALIKES {
            assert_eq!(likes.chars().count(), letters.chars().count(), "{likes}");
        }
        assert_eq!(
            "ØꜱАοօⲥ".chars().map(look_alike).collect::<String>(),
            "OsAooc"
        );
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
            assert_eq!(
                skeleton(disguised),
                "approved",
                "{}",
                disguised.escape_unicode()
            );
        }
    }

    #[test]
    fn escapes_are_their_letters() {
        for (text, letters) in [
            (r"ev\u0061l", Some("eval")),
            (r"ev\u{61}l", Some("eval")),
            (r"\x65val", Some("eval")),
            (r"\uuu0065val", Some("eval")),
            (r"\U00000065val", Some("eval")),
            (r"C:\users", None),
            ("eval", None),
        ] {
            assert_eq!(without_escapes(text).as_deref(), letters, "{text}");
        }
    }

    #[test]
    fn plain_text_stays() {
        assert_eq!(
            skeleton("Architecture approved! 🎉"),
            "Architecture approved! 🎉"
        );
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
            assert_eq!(
                LineWords::of(line).iter().collect::<Vec<_>>().join(" "),
                words,
                "{line}"
            );
        }
        let follows = |line: &str| LineWords::of(line).continues(0, &["table".to_owned()]);
        assert!(
            follows("DROP   TABLE a")
                && follows("drop_table")
                && follows("drop.table")
                && follows("DROP/**/TABLE")
        );
        assert!(
            !follows("drop(table)")
                && !follows("drop, table")
                && !follows("drop a table")
                && !follows("drop")
        );
    }
}

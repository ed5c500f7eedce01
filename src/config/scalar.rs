//! What a word of YAML means: the core schema of YAML 1.2, with `0b` for binary numbers beside `0o` and `0x`.

use saphyr_parser::ScalarStyle;

use super::node::Kind;

/// A whole number of 64 to 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

/// Quoted and block scalars are text; a plain one is what it looks like.
///
/// # Errors
/// When it is a whole number that no setting can hold.
pub(super) fn resolve(text: &str, style: ScalarStyle) -> Result<Kind, TooLarge> {
    match text {
        _ if style != ScalarStyle::Plain => Ok(Kind::Text(text.to_owned())),
        "" | "~" | "null" | "Null" | "NULL" => Ok(Kind::Null),
        "true" | "True" | "TRUE" => Ok(Kind::Bool(true)),
        "false" | "False" | "FALSE" => Ok(Kind::Bool(false)),
        ".nan" | ".NaN" | ".NAN" => Ok(Kind::Float(f64::NAN)),
        _ => whole(text).unwrap_or_else(|| Ok(float(text).map_or_else(|| Kind::Text(text.to_owned()), Kind::Float))),
    }
}

/// Whether a number is negative, and what follows its sign.
fn signed(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// `None` where the text is no whole number, or one of more than 128 bits, which is read as a [`float`].
fn whole(text: &str) -> Option<Result<Kind, TooLarge>> {
    let (is_negative, digits) = signed(text);
    let (radix, digits) = match digits.split_at_checked(2) {
        Some(("0x", digits)) => (16, digits),
        Some(("0o", digits)) => (8, digits),
        Some(("0b", digits)) => (2, digits),
        _ => (10, digits),
    };
    if digits.starts_with(['+', '-']) || (radix == 10 && has_leading_zero(digits)) {
        return None;
    }
    let magnitude = u128::from_str_radix(digits, radix).ok()?;
    let value = i128::try_from(magnitude).ok().map(|magnitude| if is_negative { -magnitude } else { magnitude });
    Some(value.and_then(|value| i64::try_from(value).ok()).map(Kind::Whole).ok_or(TooLarge))
}

fn float(text: &str) -> Option<f64> {
    let (is_negative, digits) = signed(text);
    let magnitude = match digits {
        ".inf" | ".Inf" | ".INF" => f64::INFINITY,
        _ if digits.starts_with(['+', '-']) || has_leading_zero(digits) => return None,
        _ => digits.parse().ok().filter(|number: &f64| number.is_finite())?,
    };
    Some(if is_negative { -magnitude } else { magnitude })
}

/// `007` is text: a number has one way to be written.
fn has_leading_zero(digits: &str) -> bool {
    digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_are_what_they_look_like() {
        use Kind::{Bool, Float, Null, Whole};
        for (words, kind) in [
            (&["", "~", "null", "Null", "NULL"][..], Null),
            (&["true", "True", "TRUE"], Bool(true)),
            (&["false", "False", "FALSE"], Bool(false)),
            (&["7", "+7", "0o7", "0x7", "0b111", "+0x7"], Whole(7)),
            (&["0", "-0", "+0", "0x00", "0o0"], Whole(0)),
            (&["31", "0x1F", "0x1f", "+31"], Whole(31)),
            (&["-31", "-0x1F", "-0b11111", "-0o37"], Whole(-31)),
            (&["9223372036854775807"], Whole(i64::MAX)),
            (&["-9223372036854775808", "-0x8000000000000000"], Whole(i64::MIN)),
            (&["1000.0", "1e3", "1E3", "+1e3", "1.e3", "1e+3"], Float(1000.0)),
            (&["0.5", ".5", "+.5", "5e-1", "00.5"], Float(0.5)),
            (&["-0.5", "-.5"], Float(-0.5)),
            (
                &["340282366920938463463374607431768211456"],
                Float(340_282_366_920_938_463_463_374_607_431_768_211_456.0),
            ),
            (&[".inf", ".Inf", ".INF", "+.inf"], Float(f64::INFINITY)),
            (&["-.inf", "-.Inf", "-.INF"], Float(f64::NEG_INFINITY)),
        ] {
            for word in words {
                assert_eq!(resolve(word, ScalarStyle::Plain), Ok(kind.clone()), "{word}");
            }
        }
        for word in [".nan", ".NaN", ".NAN"] {
            let number = resolve(word, ScalarStyle::Plain);
            assert!(matches!(number, Ok(Float(number)) if number.is_nan()), "{word}: {number:?}");
        }
    }

    #[test]
    fn words_that_only_look_like_more_are_text() {
        for word in [
            "yes",
            "no",
            "on",
            "off",
            "y",
            "n",
            "nULL",
            "tRUE",
            "none",
            "nil",
            "1_000",
            "1,000",
            "0b2",
            "0o8",
            "0xg",
            "0x",
            "0x-1",
            "0X1F",
            "007",
            "-007",
            "+00",
            "1e400",
            "-1e400",
            "inf",
            "nan",
            "-.nan",
            ".iNF",
            "infinity",
            "+-1",
            "-+1",
            "--1",
            "+",
            "-",
            ".",
            "1.2.3",
            "12:30",
            "2026-01-02",
            "60m",
            "<<",
            "=",
            "٣",
        ] {
            assert_eq!(resolve(word, ScalarStyle::Plain), Ok(Kind::Text(word.to_owned())), "{word}");
        }
        for style in [ScalarStyle::SingleQuoted, ScalarStyle::DoubleQuoted, ScalarStyle::Literal, ScalarStyle::Folded] {
            for word in ["", "~", "true", "1", ".inf", "18446744073709551616"] {
                assert_eq!(resolve(word, style), Ok(Kind::Text(word.to_owned())), "{word}");
            }
        }
    }

    #[test]
    fn whole_numbers_of_more_than_64_bits_are_refused() {
        for word in [
            "9223372036854775808",
            "0xffffffffffffffff",
            "18446744073709551616",
            "340282366920938463463374607431768211455",
            "-9223372036854775809",
            "-170141183460469231731687303715884105728",
            "0x10000000000000000",
        ] {
            assert_eq!(resolve(word, ScalarStyle::Plain), Err(TooLarge), "{word}");
        }
    }
}

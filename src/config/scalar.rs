//! What a word of YAML means: the core schema of YAML 1.2, with `0b` for binary numbers beside `0o` and `0x`.

use saphyr_parser::ScalarStyle;

/// A value that holds no others.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    /// Nothing, `~` or `null`.
    Null,
    Bool(bool),
    Whole(i64),
    /// Too large for [`Scalar::Whole`].
    Huge(u64),
    Float(f64),
    Text(String),
}

/// A whole number of 65 to 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

impl Scalar {
    /// Quoted and block scalars are text; a plain one is what it looks like.
    ///
    /// # Errors
    /// When it is a whole number that no setting can hold.
    pub fn resolve(text: &str, style: ScalarStyle) -> Result<Self, TooLarge> {
        if style != ScalarStyle::Plain {
            return Ok(Self::Text(text.to_owned()));
        }
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Ok(Self::Null),
            "true" | "True" | "TRUE" => return Ok(Self::Bool(true)),
            "false" | "False" | "FALSE" => return Ok(Self::Bool(false)),
            _ => {}
        }
        if let Some(whole) = whole(text) {
            return whole;
        }
        Ok(float(text).map_or_else(|| Self::Text(text.to_owned()), Self::Float))
    }
}

#[derive(Clone, Copy)]
enum Sign {
    Plus,
    Minus,
}

/// The sign of a number, and what follows it.
fn signed(text: &str) -> (Sign, &str) {
    match text.strip_prefix('-') {
        Some(digits) => (Sign::Minus, digits),
        None => (Sign::Plus, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// None where the text is no whole number, or one of more than 128 bits, which is read as a [`float`].
fn whole(text: &str) -> Option<Result<Scalar, TooLarge>> {
    let (sign, digits) = signed(text);
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
    let whole = match sign {
        Sign::Plus => {
            i64::try_from(magnitude).map(Scalar::Whole).or_else(|_| u64::try_from(magnitude).map(Scalar::Huge))
        }
        Sign::Minus => i64::try_from(0_i128.checked_sub_unsigned(magnitude)?).map(Scalar::Whole),
    };
    Some(whole.map_err(|_| TooLarge))
}

fn float(text: &str) -> Option<f64> {
    let (sign, digits) = signed(text);
    match (digits, sign) {
        (".inf" | ".Inf" | ".INF", Sign::Plus) => return Some(f64::INFINITY),
        (".inf" | ".Inf" | ".INF", Sign::Minus) => return Some(f64::NEG_INFINITY),
        _ if matches!(text, ".nan" | ".NaN" | ".NAN") => return Some(f64::NAN),
        _ => {}
    }
    if digits.starts_with(['+', '-']) || has_leading_zero(digits) {
        return None;
    }
    let magnitude: f64 = digits.parse().ok().filter(|number: &f64| number.is_finite())?;
    Some(match sign {
        Sign::Plus => magnitude,
        Sign::Minus => -magnitude,
    })
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
        use Scalar::{Bool, Float, Huge, Null, Whole};
        for (words, scalar) in [
            (&["", "~", "null", "Null", "NULL"][..], Null),
            (&["true", "True", "TRUE"], Bool(true)),
            (&["false", "False", "FALSE"], Bool(false)),
            (&["7", "+7", "0o7", "0x7", "0b111", "+0x7"], Whole(7)),
            (&["0", "-0", "+0", "0x00", "0o0"], Whole(0)),
            (&["31", "0x1F", "0x1f", "+31"], Whole(31)),
            (&["-31", "-0x1F", "-0b11111", "-0o37"], Whole(-31)),
            (&["9223372036854775807"], Whole(i64::MAX)),
            (&["-9223372036854775808", "-0x8000000000000000"], Whole(i64::MIN)),
            (&["9223372036854775808"], Huge(1 << 63)),
            (&["18446744073709551615", "0xffffffffffffffff"], Huge(u64::MAX)),
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
                assert_eq!(Scalar::resolve(word, ScalarStyle::Plain), Ok(scalar.clone()), "{word}");
            }
        }
        for word in [".nan", ".NaN", ".NAN"] {
            let number = Scalar::resolve(word, ScalarStyle::Plain);
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
            assert_eq!(Scalar::resolve(word, ScalarStyle::Plain), Ok(Scalar::Text(word.to_owned())), "{word}");
        }
        for style in [ScalarStyle::SingleQuoted, ScalarStyle::DoubleQuoted, ScalarStyle::Literal, ScalarStyle::Folded] {
            for word in ["", "~", "true", "1", ".inf", "18446744073709551616"] {
                assert_eq!(Scalar::resolve(word, style), Ok(Scalar::Text(word.to_owned())), "{word}");
            }
        }
    }

    #[test]
    fn whole_numbers_of_more_than_64_bits_are_refused() {
        for word in [
            "18446744073709551616",
            "340282366920938463463374607431768211455",
            "-9223372036854775809",
            "-170141183460469231731687303715884105728",
            "0x10000000000000000",
        ] {
            assert_eq!(Scalar::resolve(word, ScalarStyle::Plain), Err(TooLarge), "{word}");
        }
    }
}

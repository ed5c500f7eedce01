//! Numbers as tools write them: with thousands separators, units, signs and nonsense.

/// The longest duration believed: a year, in seconds.
pub(super) const MAX_SECONDS: f64 = 366.0 * 86_400.0;

/// A duration in seconds, clamped to 0 … one year. Err: it is no number, or had to be clamped; the value to use.
pub(super) fn seconds(text: &str) -> Result<f64, f64> {
    // The form nearly every report has, without a copy.
    let value = match text.parse::<f64>() {
        Ok(value) => value,
        Err(_) => parse_written(text.trim()).ok_or(0.0)?,
    };
    let usable = if value.is_nan() {
        0.0
    } else {
        value.clamp(0.0, MAX_SECONDS)
    };
    if usable == value {
        Ok(value)
    } else {
        Err(usable)
    }
}

/// Reads `1,234.56`, `1.234,56`, `0,5`, `1 234.5`, `12ms` and `3s`, in seconds.
fn parse_written(text: &str) -> Option<f64> {
    let (digits, scale) = match text.strip_suffix("ms") {
        Some(rest) => (rest, 0.001),
        None => (text.strip_suffix('s').unwrap_or(text), 1.0),
    };
    if digits.len() > 40 {
        return None;
    }
    let digits: String = digits
        .chars()
        .filter(|c| !matches!(c, ' ' | '\'' | '_' | '\u{A0}' | '\u{202F}'))
        .collect();
    // `1,234` and `12,345,678` are grouped by thousands; `0,123` and `1,5` have a decimal comma.
    let is_grouped = |digits: &str| {
        let mut groups = digits.trim_start_matches(['-', '+']).split(',');
        let first = groups.next().unwrap_or_default();
        (1..=3).contains(&first.len())
            && !first.starts_with('0')
            && groups.all(|group| group.len() == 3)
    };
    let plain = match (digits.rfind('.'), digits.rfind(',')) {
        (Some(point), Some(comma)) if point > comma => digits.replace(',', ""),
        (Some(_), Some(_)) => digits.replace('.', "").replace(',', "."),
        (None, Some(_)) if is_grouped(&digits) => digits.replace(',', ""),
        (None, Some(_)) => digits.replacen(',', ".", 1),
        (Some(_), None) if digits.matches('.').count() > 1 => digits.replace('.', ""),
        _ => digits,
    };
    plain.parse::<f64>().ok().map(|value| value * scale)
}

/// A count or a line number. Err: not one; 0 or the largest, whichever is nearer.
pub(super) fn count(text: &str) -> Result<u64, u64> {
    let text = text.trim();
    if let Ok(value) = text.parse() {
        return Ok(value);
    }
    match text.parse::<f64>() {
        // JavaScript writes whole numbers as `3.0` and `1e3` now and then.
        Ok(value) if value.fract() == 0.0 && (0.0..=1e15).contains(&value) => Ok(value as u64),
        Ok(value) if value > 0.0 => Err(value as u64),
        Ok(_) => Err(0),
        Err(_) => text.replace([',', ' ', '_'], "").parse().map_err(|_| 0),
    }
}

/// A line number from 1; none if it is not one.
pub(super) fn line(text: &str) -> Option<u32> {
    count(text)
        .ok()
        .and_then(|line| u32::try_from(line).ok())
        .filter(|line| *line > 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations() {
        let table = [
            ("0.5", Ok(0.5)),
            (" 12 ", Ok(12.0)),
            ("1,234.56", Ok(1234.56)),
            ("1,234,567.8", Ok(1_234_567.8)),
            ("1.234,56", Ok(1234.56)),
            ("1,234", Ok(1234.0)),
            ("0,123", Ok(0.123)),
            ("1,5", Ok(1.5)),
            ("1.234.567", Ok(1_234_567.0)),
            ("1 234.5", Ok(1234.5)),
            ("1e-3", Ok(0.001)),
            ("250ms", Ok(0.25)),
            ("3s", Ok(3.0)),
            ("-0.001", Err(0.0)),
            ("NaN", Err(0.0)),
            ("inf", Err(MAX_SECONDS)),
            ("1e300", Err(MAX_SECONDS)),
            ("", Err(0.0)),
            ("fast", Err(0.0)),
        ];
        for (text, expected) in table {
            assert_eq!(seconds(text), expected, "{text:?}");
        }
    }

    #[test]
    fn counts() {
        let table = [
            ("12", Ok(12)),
            ("1,234", Ok(1234)),
            ("3.0", Ok(3)),
            ("-1", Err(0)),
            ("2.5", Err(2)),
            ("99999999999999999999", Err(u64::MAX)),
            ("many", Err(0)),
        ];
        for (text, expected) in table {
            assert_eq!(count(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_a_usable_duration(text in any::<String>()) {
            let value = seconds(&text).unwrap_or_else(|clamped| clamped);
            prop_assert!((0.0..=MAX_SECONDS).contains(&value));
            let _ = count(&text);
        }
    }
}

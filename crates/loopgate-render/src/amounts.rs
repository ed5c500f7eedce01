//! Durations, moments, counts and lists, as texts show them.

use loopgate_core::Timestamp;

/// `850 ms`, `12.3 s`, `4 min 5 s`, `2 h 3 min`.
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 => format!("{ms} ms"),
        1..60 => format!("{}.{} s", seconds, ms % 1000 / 100),
        60..3600 if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ if (seconds / 60).is_multiple_of(60) => format!("{} h", seconds / 3600),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Seconds, in the two largest units: `3 d 4 h`.
pub fn days(seconds: i64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes} min"),
        (0, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

/// `20 Nov 2026, 10:15 UTC`.
pub fn moment(at: Timestamp) -> String {
    at.format("%-d %b %Y, %H:%M UTC").to_string()
}

/// `1 test`, `2 tests`.
pub fn count(n: impl TryInto<u64>, one: &str) -> String {
    plural(n, one, &format!("{one}s"))
}

/// `once`, `twice`, `3 times`.
pub fn times(n: u32) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{more} times"),
    }
}

/// `1 retry`, `2 retries`: for words that do not simply take an s.
pub fn plural(n: impl TryInto<u64>, one: &str, many: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    if n == 1 {
        format!("1 {one}")
    } else {
        format!("{n} {many}")
    }
}

/// `a`, `a and b`, `a, b and c`.
pub fn and(items: impl IntoIterator<Item: ToString>) -> String {
    series(items, "and")
}

/// `a`, `a or b`, `a, b or c`.
pub fn or(items: impl IntoIterator<Item: ToString>) -> String {
    series(items, "or")
}

fn series(items: impl IntoIterator<Item: ToString>, word: &str) -> String {
    let mut items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    let last = items.pop().unwrap_or_default();
    if items.is_empty() {
        last
    } else {
        format!("{} {word} {last}", items.join(", "))
    }
}

/// The first few of many: `a, b and 3 more`.
pub fn few(items: impl IntoIterator<Item: ToString>, most: usize) -> String {
    let mut items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    let more = items.split_off(items.len().min(most)).len();
    if more > 0 {
        format!("{} and {more} more", items.join(", "))
    } else {
        and(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let cases = [
            (0, "0 ms"),
            (850, "850 ms"),
            (12_345, "12.3 s"),
            (245_000, "4 min 5 s"),
            (7_380_000, "2 h 3 min"),
            (3_600_000, "1 h"),
        ];
        for (ms, shown) in cases {
            assert_eq!(duration(ms), shown);
        }
    }

    #[test]
    fn lists() {
        let items = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(and(items(&["a"])), "a");
        assert_eq!(and(items(&["a", "b", "c"])), "a, b and c");
        assert_eq!(or(items(&["a", "b"])), "a or b");
        assert_eq!(few(items(&["a", "b", "c", "d"]), 2), "a, b and 2 more");
        assert_eq!(few(items(&["a", "b"]), 2), "a and b");
    }
}

//! Names of tests, as their tools want them.

use crate::failure::{classify::fingerprint::without_case, read::paths};

/// `CartTest#total`, from `com.acme.CartTest.total`, `com.acme.CartTest adds tax`, or `total()` and the test's file.
pub fn class_and_method(name: &str, file: Option<&str>, between: char) -> Option<String> {
    let name = without_case(name);
    // Surefire writes the types of a method's parameters behind it: `adds{int, long}[2]`.
    let name = name
        .split_once('{')
        .filter(|(_, types)| types.ends_with('}'))
        .map_or(name, |(name, _)| name);
    // A nested class is asked for with the one around it.
    let last = |class: &str| class.rsplit('.').next().unwrap_or(class).to_owned();
    let class_of_file = || paths::file_name(file?).split('.').next().map(str::to_owned);
    // As Gradle prints it: `shop.CouponTest > halves`.
    if let Some((class, rest)) = name.split_once(" > ") {
        let method = rest.rsplit(" > ").next().unwrap_or(rest);
        return Some(format!(
            "{}{between}{}",
            last(class),
            method.split('(').next().unwrap_or(method)
        ));
    }
    let (class, method) = match name.split_once(' ') {
        Some((class, method)) if class.contains('.') => (last(class), method.to_owned()),
        Some(_) => (class_of_file()?, name.to_owned()),
        None => {
            let name = name
                .split('(')
                .next()
                .unwrap_or(name)
                .replace("::", ".")
                .replace('#', ".");
            match name.rsplit_once('.') {
                Some((class, method)) => (last(class), method.to_owned()),
                None => (class_of_file()?, name),
            }
        }
    };
    Some(format!("{class}{between}{method}"))
}

/// `cart.tests.CartTests.test_total`, as unittest and Django take a test. Input: `test_total (cart.tests.CartTests)`,
/// which may have a subtest's parameters behind it, or a module that was run as a program.
pub fn dotted(name: &str, file: Option<&str>) -> Option<String> {
    let is_of_a_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let (name, rest) = name.trim().split_once(' ').unwrap_or((name.trim(), ""));
    let class = rest
        .trim()
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'))
        .map(|(class, _)| class);
    // What stands in parentheses may also name a subtest: `(i=2)`.
    let class = class.filter(|class| class.contains('.') && class.chars().all(is_of_a_name));
    let whole = match class {
        Some(class) if class.rsplit('.').next() == Some(name) => class.to_owned(),
        Some(class) => format!("{class}.{name}"),
        // As reports have it: `cart.tests.CartTests test_total (i=2)`.
        None if rest.starts_with(char::is_alphabetic) => {
            format!("{name}.{}", rest.split(' ').next()?)
        }
        None => name.replace("::", "."),
    };
    let module = || Some(file?.strip_suffix(".py")?.replace('/', "."));
    let whole = match whole.strip_prefix("__main__.") {
        Some(test) => format!("{}.{test}", module()?),
        None if whole.contains('.') => whole,
        None => return None,
    };
    let whole = runnable(&whole);
    whole.chars().all(is_of_a_name).then(|| whole.to_owned())
}

/// What unittest can run of a dotted name: a file that does not load is its module, which stands behind a class of
/// unittest's own, and a hook runs with its class.
fn runnable(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((class, "setUpClass" | "tearDownClass")) => class,
        _ => name
            .strip_prefix("unittest.loader._FailedTest.")
            .unwrap_or(name),
    }
}

/// Whether a name is one that Rust's own harness gives: a path of names, or an example of a document. Programs that
/// bring their own harness know none of its options.
pub fn is_of_libtest(name: &str) -> bool {
    name.contains("(line ")
        || name
            .chars()
            .all(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '#')
}

/// nextest's reports put the binary in front: `shop::it adds`.
pub fn without_binary(name: &str) -> &str {
    name.split_once(' ')
        .filter(|(binary, _)| binary.contains("::"))
        .map_or(name, |(_, test)| test)
}

/// The name without the package that reports put in front: `TestTotal/empty` of
/// `github.com/acme/shop/cart.TestTotal/empty`.
pub fn of_go(name: &str) -> Option<&str> {
    let begins = ["Test", "Example", "Fuzz", "Benchmark"]
        .iter()
        .filter_map(|prefix| name.find(prefix))
        .min()?;
    Some(&name[begins..])
}

/// The innermost part of a test's name with its suites: `cart > totals > adds`, `cart › adds`.
pub fn leaf(name: &str) -> &str {
    name.rsplit(['>', '›', '»']).next().unwrap_or(name).trim()
}

/// A JavaScript regular expression that finds exactly `name`: that is what these runners select tests by.
pub fn pattern(name: &str) -> String {
    pattern!(r"[.*+?^${}()|\[\]\\/]")
        .replace_all(name, r"\$0")
        .into_owned()
}

/// A text as one word of a POSIX shell. None for what is empty, too long, holds a control character, or reads as an
/// option: no quoting makes that a harmless one.
pub fn word(text: &str) -> Option<String> {
    let odd = text.is_empty()
        || text.len() > 300
        || text.starts_with('-')
        || text.chars().any(char::is_control);
    if odd {
        return None;
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:=@%+,-~#".contains(c);
    // Only at the start of a word do `~` and `=` expand and `#` begin a comment.
    if text.chars().all(plain) && !text.starts_with(['~', '#', '=']) {
        Some(text.to_owned())
    } else {
        Some(format!("'{}'", text.replace('\'', r"'\''")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_word_stays_one(text in any_text()) {
            if let Some(word) = word(&text) {
                let inner = word.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                match inner {
                    Some(inner) => proptest::prop_assert!(!inner.replace(r"'\''", "").contains('\'')),
                    None => proptest::prop_assert!(!word.contains([' ', '\'', '"', '`', '$', ';', '&', '|', '<', '>', '(', ')', '*', '?', '\\', '!'])),
                }
            }
        }
    }

    fn any_text() -> impl proptest::strategy::Strategy<Value = String> {
        "[ -~\\n]{0,40}"
    }
}

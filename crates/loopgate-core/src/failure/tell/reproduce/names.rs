//! Names of tests, as their tools want them.

use crate::failure::{classify::fingerprint::without_case, read::paths};

/// `CartTest#total`, from `com.acme.CartTest.total`, `com.acme.CartTest adds tax`, or `total()` and the test's file.
pub fn class_and_method(name: &str, file: Option<&str>, between: char) -> Option<String> {
    let name = without_case(name);
    let last = |class: &str| class.rsplit(['.', '$']).next().unwrap_or(class).to_owned();
    let (class, method) = match name.split_once(' ') {
        Some((class, method)) if class.contains('.') => (last(class), method.to_owned()),
        Some(_) => (class_of(file)?, name.to_owned()),
        None => {
            let name = name.split('(').next().unwrap_or(name).replace("::", ".").replace('#', ".");
            match name.rsplit_once('.') {
                Some((class, method)) => (last(class), method.to_owned()),
                None => (class_of(file)?, name),
            }
        }
    };
    Some(format!("{class}{between}{method}"))
}

fn class_of(file: Option<&str>) -> Option<String> {
    paths::file_name(file?).split('.').next().map(str::to_owned)
}

/// The innermost part of a test's name with its suites: `cart > totals > adds`, `cart › adds`.
pub fn leaf(name: &str) -> &str {
    name.rsplit(['>', '›', '»']).next().unwrap_or(name).trim()
}

/// A JavaScript regular expression that finds exactly `name`: that is what these runners select tests by.
pub fn pattern(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if r".*+?^${}()|[]\/".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

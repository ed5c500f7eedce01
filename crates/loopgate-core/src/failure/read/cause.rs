//! Chains of errors: an error, and the cause below or above it, as runtimes of many languages print both.

use std::sync::LazyLock;

use crate::expressions::Patterns;

/// How a line begins a further error of a chain: its cause, or above which of two causes the other stands.
static MARKS: LazyLock<Patterns> = LazyLock::new(|| {
    Patterns::new([
        // An item of anyhow's list.
        r"^\s+[0-9]+: (?P<message>\S.*)$",
        // uv
        r"^  cause: (?P<message>(?:[A-Z]?[a-z]+|`[^`]+`) .+)$",
        // Java, JavaScript, C#, RSpec, PHPUnit, anyhow
        r"^[\s#]*(?:--- )?(?:Caused by(?::|$)|\[cause\]:|--->)(?: ---$)?\s*(?P<message>.*)$",
        // Python, PHP
        r"^(?:The above exception was the direct cause of |Next [\w\\]+(?:Exception|Error): )",
    ])
});
const ITEM: usize = 0;

/// The lines of a text, error by error: a cause before what it caused.
pub(super) fn chain(text: &str) -> Vec<Vec<&str>> {
    let mut chain: Vec<Vec<&str>> = vec![Vec::new()];
    let (mut at, mut is_list, mut was_inner) = (0, false, false);
    for line in text.lines() {
        let is_inner = if line.is_empty() {
            was_inner
        } else {
            line.starts_with([' ', '\t'])
        };
        is_list &= is_inner || line.is_empty();
        let mark = MARKS
            .matching(line)
            .into_iter()
            .find(|row| *row != ITEM || is_list);
        let message = mark
            .and_then(|row| MARKS.captures(row, line))
            .map(|captures| captures.name("message"));
        match message {
            Some(message) => {
                at += usize::from(message.is_none());
                is_list |= message.is_some_and(|message| message.is_empty());
                chain.insert(at, vec![message.map_or(line, |message| message.as_str())]);
            }
            None => {
                // Behind the frames of a cause something else begins.
                at = if was_inner && !is_inner {
                    chain.len() - 1
                } else {
                    at
                };
                chain[at].push(line);
            }
        }
        was_inner = is_inner;
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::super::Reading;
    use crate::evidence::Failure;

    #[test]
    fn the_deepest_cause_is_the_message() {
        let cases = [
            (
                "java.lang.IllegalStateException: import failed\n\tat shop.Import.run(Import.java:9)\n\
                 Caused by: java.io.UncheckedIOException: cannot read\n\tat shop.Disk.open(Disk.java:5)\n\t... 3 more\n\
                 Caused by: java.io.IOException: disk is gone\n\tat shop.Disk.read(Disk.java:3)\n\t... 4 more\n\
                 Tests run: 1, Failures: 1",
                "import failed",
                (
                    Some("java.io.IOException"),
                    "disk is gone",
                    Some("shop/Disk.java"),
                ),
            ),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 2, in read\n    int(text)\n\
                 ValueError: no number: 'x'\n\nThe above exception was the direct cause of the following exception:\n\n\
                 Traceback (most recent call last):\n  File \"b.py\", line 7, in load\n    read()\nRuntimeError: no cart",
                "no cart",
                (Some("ValueError"), "no number: 'x'", Some("a.py")),
            ),
            (
                "Error: cannot start\n\nCaused by:\n    0: reading shop.toml\n    1: No such file or directory (os error 2)\n\n\
                 Stack backtrace:\n   0: shop::main\n             at ./src/main.rs:3:5",
                "cannot start",
                (
                    None,
                    "No such file or directory (os error 2)",
                    Some("src/main.rs"),
                ),
            ),
            (
                "error: failed to parse manifest at `/home/runner/work/s/s/Cargo.toml`\n\nCaused by:\n  missing field `name`",
                "failed to parse manifest",
                (None, "missing field `name`", None),
            ),
            (
                "Error: query failed\n    at load (/home/runner/work/s/s/src/a.js:4:9) {\n  \
                 [cause]: TypeError: rows is not iterable\n      at rows (/home/runner/work/s/s/src/b.js:1:7)\n}\n\nNode.js v22.1.0",
                "query failed",
                (Some("TypeError"), "rows is not iterable", Some("src/b.js")),
            ),
            (
                "Error: query failed\n    at load (/home/runner/work/s/s/src/a.js:4:9) {\n  [cause]: { code: 7 }\n}",
                "query failed",
                (Some("Error"), "query failed", Some("src/a.js")),
            ),
            (
                "System.InvalidOperationException: no cart\n ---> System.IO.IOException: disk is gone\n   \
                 at Shop.Disk.Read() in /home/runner/work/s/s/Disk.cs:line 3\n   --- End of inner exception stack trace ---\n   \
                 at Shop.Cart.Load() in /home/runner/work/s/s/Cart.cs:line 9",
                "no cart",
                (
                    Some("System.IO.IOException"),
                    "disk is gone",
                    Some("Disk.cs"),
                ),
            ),
            (
                "PDOException: no such table: carts in /home/runner/work/s/s/src/Db.php:4\nStack trace:\n#0 {main}\n\n\
                 Next RuntimeException: no cart in /home/runner/work/s/s/src/Cart.php:9",
                "no such table",
                (
                    Some("PDOException"),
                    "no such table: carts in /home/runner/work/s/s/src/Db.php:4",
                    Some("src/Db.php"),
                ),
            ),
            (
                "org.opentest4j.AssertionFailedError: nothing is thrown\n\tat shop.CartTest.adds(CartTest.java:9)\n\
                 Caused by: java.io.IOException: disk is gone\n\tat shop.Disk.read(Disk.java:3)",
                "nothing is thrown",
                (
                    Some("org.opentest4j.AssertionFailedError"),
                    "nothing is thrown",
                    Some("shop/Disk.java"),
                ),
            ),
        ];
        for (text, outer, (class, message, file)) in cases {
            let failure = Failure {
                test_name: Some("loads".to_owned()),
                error_message: text.to_owned(),
                ..Failure::default()
            };
            let reading = Reading::of(&failure);
            let own = reading
                .frames
                .iter()
                .find(|frame| frame.origin.in_repository());
            let found = own.map(|frame| frame.file.as_str());
            let said = reading.message.lines().next().unwrap_or_default();
            assert_eq!(
                (reading.class.as_deref(), said, found),
                (class, message, file),
                "{text}"
            );
            assert!(
                reading.message.contains(outer),
                "{text}: {}",
                reading.message
            );
        }
    }
}

//! Formatters, syntax, and what the usual linters say.

use super::Known;
use crate::evidence::RootCauseCategory::{MissingErrorHandling, Other};

pub(super) const TABLE: &[Known] = &[
    Known::new("rustfmt", r"(?m)^Diff in \S+|rustfmt --check", Other, 95).says(
        "The file is not formatted as rustfmt writes it.",
        "Run `cargo fmt --all` and commit the result.",
        "The check compares with rustfmt's own output and accepts no other.",
    ),
    Known::new("prettier", r"Code style issues (?:found|detected)|Run Prettier (?:with --write )?to fix", Other, 95)
        .says(
            "The file is not formatted as Prettier writes it.",
            "Run `npx prettier --write` on the named files and commit the result.",
            "The check compares with Prettier's own output and accepts no other.",
        ),
    Known::new("python_format", r"(?m)^[Ww]ould reformat:? ", Other, 95).says(
        "The file is not formatted as the project's formatter writes it.",
        "Run the formatter without its check option and commit the result.",
        "The check compares with the formatter's own output and accepts no other.",
    ),
    Known::new(
        "unused_code",
        concat!(
            r"(?:no-unused-vars|\bF(?:401|841)\b|\bW061[1-3]\b|unused[_-](?:variables?|imports?|mut|must[_-]use)",
            r"|is (?:defined|assigned a value|declared) but (?:never used|its value is never read)",
            r"|imported but unused|unused (?:variable|import)s?:)",
        ),
        Other,
        95,
    )
    .says(
        "A variable or import is not used.",
        "Remove the unused name from this line.",
        "The linter fails the check on every unused name; leftovers of this kind often hide a forgotten step.",
    ),
    Known::new("dead_code", r"\bdead_code\b|is never (?:constructed|read|used)(?:\n|$)", Other, 90).says(
        "Code is never used.",
        "Remove the unused code at this line.",
        "The build treats warnings as errors, and unused code is a warning.",
    ),
    Known::new("floating_promise", r"no-floating-promises|require-await|no-misused-promises", MissingErrorHandling, 90)
        .says(
            "A promise is started and nobody waits for it.",
            "Add `await` at this line.",
            "A rejected promise that nobody awaits is lost, and the code after it runs too early.",
        ),
    Known::new(
        "syntax_error",
        concat!(
            r"(?i)syntax ?error|IndentationError|unexpected (?:token|end of (?:file|input)|EOF|indent)",
            r"|unclosed delimiter|unterminated (?:string|double quote)|expected one of ",
            r"|expected (?:expression|identifier|item|pattern|`[;,(){}]`),? (?:found|or) |expected ';'",
            r"|mismatched closing delimiter|missing (?:closing|\))|ParseError",
        ),
        Other,
        85,
    )
    .says(
        "The file does not parse.",
        "Correct the syntax at this line; an unclosed bracket or quote often stands a line above it.",
        "Nothing of a file that does not parse can run.",
    ),
];

#[cfg(test)]
mod tests {
    #[test]
    fn examples() {
        super::super::tests::check(
            super::TABLE,
            &[
                ("rustfmt", "Diff in /w/src/a.rs:7:"),
                ("prettier", "[warn] Code style issues found in the above file. Run Prettier with --write to fix."),
                ("python_format", "would reformat shop/cart.py"),
                ("unused_code", "no-unused-vars: 'tax' is assigned a value but never used"),
                ("unused_code", "F401: `os` imported but unused"),
                ("unused_code", "unused variable: `tax`"),
                ("dead_code", "function `total` is never used"),
                ("floating_promise", "@typescript-eslint/no-floating-promises: Promises must be awaited"),
                ("syntax_error", "SyntaxError: invalid syntax"),
                ("syntax_error", "expected one of `;` or `}`, found `total`"),
            ],
        );
    }
}

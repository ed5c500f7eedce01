//! What a repository's own template may hold: names, `if`, and `for` over what it is given.
//!
//! An engine's instructions and output can be limited, what its values take in memory cannot: each `{% set a = a ~ a
//! %}` doubles a text, and a few dozen of them end the process, with everybody's work in it. So nothing that makes a
//! value larger than those it is given is let through to the engine.

/// The first words of statements.
const STATEMENTS: [&str; 7] = ["if", "elif", "else", "endif", "for", "endfor", "break"];

/// Filters that make no text longer.
const FILTERS: [&str; 6] = ["length", "first", "last", "trim", "upper", "lower"];

/// The engine follows chains within a tag, and of `elif`, by recursion: a long one would end the process.
const LONGEST_TAG: usize = 400;
const MOST_TAGS: usize = 400;

/// Checks a template before it is parsed.
///
/// What stands between delimiters may hold no character that begins or ends one, so that this and the engine cannot
/// disagree about where it ends: a delimiter within a text, a raw block or a comment is refused.
///
/// # Errors
/// What is not available, and its line.
pub(super) fn check(source: &str) -> Result<(), String> {
    let mut rest = source;
    let mut tags = 0;
    while let Some(at) = rest.find('{') {
        let line = 1 + source[..source.len() - rest.len() + at]
            .matches('\n')
            .count();
        let refuse = |what: &str| {
            Err(format!(
                "{what} is not available in line {line}: names, `if` and `for` are"
            ))
        };
        let (open, inner) = rest[at..].split_at(rest[at..].len().min(2));
        let close = match open {
            "{{" => "}}",
            "{%" => "%}",
            "{#" => return refuse("a comment"),
            _ => {
                rest = &rest[at + 1..];
                continue;
            }
        };
        let Some(end) = inner.find(close) else {
            return refuse("a tag without an end");
        };
        tags += 1;
        if end > LONGEST_TAG || tags > MOST_TAGS {
            return refuse(if tags > MOST_TAGS {
                "so many tags"
            } else {
                "so long a tag"
            });
        }
        let content = inner[..end].trim_matches(['-', '+']).trim();
        let allowed =
            |c: char| c.is_alphanumeric() || c.is_whitespace() || "_.,|<>=!'\"-".contains(c);
        if let Some(other) = content.chars().find(|c| !allowed(*c)) {
            return refuse(&format!("`{other}`"));
        }
        if is_in_text(content) {
            return refuse("a text without an end");
        }
        let first = first_word(content);
        if open == "{%" && !STATEMENTS.contains(&first) {
            return refuse(&format!("`{first}`"));
        }
        // What follows a bar is a filter, perhaps with a comparison after it.
        let mut filters = content.split('|').skip(1).map(str::trim);
        if let Some(filter) = filters.find(|filter| !FILTERS.contains(&first_word(filter))) {
            return refuse(&format!("the filter `{filter}`"));
        }
        rest = &inner[end + close.len()..];
    }
    Ok(())
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
        .unwrap_or_default()
}

/// Whether a text is not ended: for the engine it goes on, and so does the tag. There are no escapes, `\` is refused.
fn is_in_text(content: &str) -> bool {
    let step = |quote, c| match quote {
        None => matches!(c, '"' | '\'').then_some(c),
        Some(begun) => (begun != c).then_some(begun),
    };
    content.chars().fold(None, step).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_conditions_and_loops_are_available() {
        let template = "# {{ title }}\n{%- if question and not owner == \"nobody\" %}{{ question|trim }}{% elif a.b %}\n\
                        {% else %}x{% endif -%}\n{% for one in options %}{{ loop.index }} {{ one }}{% endfor %} { } {";
        assert_eq!(check(template), Ok(()));
    }

    #[test]
    fn what_makes_values_grow_is_not() {
        for (template, what) in [
            ("{% set a = title %}", "`set`"),
            ("{% set a %}{{ title }}{% endset %}", "`set`"),
            ("{{ title ~ title }}", "`~`"),
            ("{{ title + title }}", "`+`"),
            ("{{ \"a\" * 900000 }}", "`*`"),
            ("{{ [title, title] }}", "`[`"),
            ("{{ title|replace(\"a\", title) }}", "`(`"),
            ("{{ title|indent }}", "the filter `indent`"),
            ("{{ range(9) }}", "`(`"),
            ("{% macro a() %}{% endmacro %}", "`(`"),
            ("{% filter upper %}{% endfilter %}", "`filter`"),
            ("{% raw %}{% endraw %}", "`raw`"),
            ("{% include title %}", "`include`"),
            ("{# {% #}{% set a = 1 %}", "a comment"),
            ("{{ \"%}\" }}", "`%`"),
            ("{{ title", "a tag without an end"),
            ("{{ \"}}\" ~ title ~ title }}", "a text without an end"),
            ("{{- '\"' == \"}}\" * 900 }}", "a text without an end"),
            (
                "{% if '%}' ~ title ~ title %}{% endif %}",
                "a text without an end",
            ),
        ] {
            let problem = check(template).unwrap_err();
            assert!(
                problem.starts_with(&format!("{what} is not available in line 1")),
                "{template}: {problem}"
            );
        }
    }

    /// A thread's stack is what an engine that recurses ends at, and the process with it.
    #[test]
    fn chains_are_too_short_to_exhaust_the_stack() {
        let chains = [
            ".b",
            "|last",
            "<a",
            "-1",
            " and a",
            " if a else a",
            " is defined",
        ];
        let chained = |link: &str, times| format!("{{{{ a{} }}}}", link.repeat(times));
        let branched = |times| format!("{{% if a %}}{}{{% endif %}}", "{% elif b %}".repeat(times));
        for link in chains {
            assert!(check(&chained(link, 5_000)).is_err(), "{link}");
        }
        assert!(check(&branched(5_000)).is_err());
        let longest = chains.map(|link| chained(link, (LONGEST_TAG - 3) / link.len()));
        for template in longest.into_iter().chain([branched(MOST_TAGS - 2)]) {
            assert_eq!(check(&template), Ok(()));
            minijinja::Environment::new()
                .render_str(&template, minijinja::context! { a => "x" })
                .ok();
        }
    }

    /// However it is put together: either refused, or rendered within a bound.
    #[test]
    fn what_is_let_through_cannot_grow() {
        let parts = [
            "{%",
            "%}",
            "{{",
            "}}",
            "{#",
            "#}",
            "set a = a~a~a~a~a~a~a~a",
            "raw",
            "endraw",
            "if a",
            "endif",
            "a",
            "~",
            "|upper",
            "\"",
            "'",
            "-",
            "\n",
        ];
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..20_000 {
            let template: String = (0..random.usize(1..12))
                .map(|_| parts[random.usize(..parts.len())])
                .collect();
            if check(&template).is_err() {
                continue;
            }
            let mut environment = minijinja::Environment::empty();
            environment.set_fuel(Some(1_000));
            if let Ok(parsed) = environment.template_from_str(&template) {
                let shown = parsed
                    .render(minijinja::context! { a => "x".repeat(100) })
                    .unwrap_or_default();
                let once_each = 100 * template.matches("{{").count();
                assert!(shown.len() <= once_each + template.len(), "{template}");
            }
        }
    }
}

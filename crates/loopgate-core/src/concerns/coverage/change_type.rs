//! The type of a change: the row of the coverage table that holds for it.

use crate::{
    observed::{ChangedFiles, CodeType, PullRequest},
    policy::CoveragePolicy,
};

/// The type of the change, first that fits:
///
/// 1. a label that somebody with write put on it, see [`type_of_label`];
/// 2. the conventional-commit prefix of the title, else of the branch, raised to `api_endpoint` where a file of
///    `coverage.api_paths` is touched;
/// 3. `new_function`.
///
/// A `Type:` line of the body may raise the requirement, never lower it: its author asks to be let off.
pub fn change_type(
    pull_request: &PullRequest,
    files: &ChangedFiles,
    policy: &CoveragePolicy,
) -> CodeType {
    // What stands before the colon of `feat(parser)!: add numbers`.
    let prefix = pull_request
        .title
        .split_once(':')
        .and_then(|(head, _)| head.split('(').next());
    let named = prefix
        .and_then(|prefix| by_word(prefix.trim_end_matches('!')))
        .or_else(|| {
            pull_request
                .head
                .branch
                .split_once('/')
                .and_then(|(word, _)| by_word(word))
        })
        .unwrap_or_default();
    let is_api = |path: &str| policy.api_paths.iter().any(|glob| glob.0.matches(path));
    let touches_api = files.known().iter().any(|file| file.paths().any(is_api));
    let found = match pull_request.declared_type {
        Some(declared) => declared,
        None if touches_api => stricter(named, CodeType::ApiEndpoint),
        None => named,
    };
    let line = pull_request
        .body
        .lines()
        .find_map(|line| line.trim().strip_prefix("Type:"));
    line.and_then(by_word)
        .map_or(found, |line| stricter(found, line))
}

/// The type a label declares: `type: fix`, `type/refactor`, with the words of conventional commits or of the
/// configuration.
pub fn type_of_label(label: &str) -> Option<CodeType> {
    let (prefix, word) = label.split_once([':', '/'])?;
    if prefix.trim().eq_ignore_ascii_case("type") {
        by_word(word)
    } else {
        None
    }
}

/// The one of two types that asks for more.
pub fn stricter(one: CodeType, other: CodeType) -> CodeType {
    use CodeType::{ApiEndpoint, BugFix, Integration, NewFunction, Refactor};
    let strictest_first = [BugFix, ApiEndpoint, Integration, NewFunction, Refactor];
    strictest_first
        .into_iter()
        .find(|known| *known == one || *known == other)
        .unwrap_or(one)
}

fn by_word(word: &str) -> Option<CodeType> {
    match word.trim().to_ascii_lowercase().as_str() {
        "feat" | "feature" | "new_function" => Some(CodeType::NewFunction),
        "fix" | "bugfix" | "hotfix" | "bug_fix" => Some(CodeType::BugFix),
        "refactor" => Some(CodeType::Refactor),
        "api" | "api_endpoint" => Some(CodeType::ApiEndpoint),
        "integration" => Some(CodeType::Integration),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures,
        policy::{FileGlob, NameGlob},
    };

    #[test]
    fn the_type_of_a_change() {
        use CodeType::{ApiEndpoint, BugFix, Integration, NewFunction, Refactor};
        // title, branch, body, expected; the diff touches src/lib.rs
        let table = [
            ("feat: a", "x", "", NewFunction),
            ("fix(parser)!: b", "x", "", BugFix),
            ("Refactor: c", "x", "", Refactor),
            ("chore: d", "x", "", NewFunction),
            ("Fix the parser", "x", "", NewFunction),
            ("Tidy", "fix/parser", "", BugFix),
            ("feat: a", "fix/parser", "", NewFunction),
            // A line raises, and never lowers.
            (
                "refactor: c",
                "x",
                "Text.\n Type: Integration\n",
                Integration,
            ),
            ("fix: b", "x", "Type: refactor", BugFix),
            ("fix: b", "x", "Type: nonsense", BugFix),
        ];
        let files = fixtures::snapshot().files;
        let mut pull_request = fixtures::snapshot().pull_request;
        let mut policy = CoveragePolicy::default();
        for (title, branch, body, expected) in table {
            (pull_request.title, pull_request.head.branch) = (title.to_owned(), branch.to_owned());
            body.clone_into(&mut pull_request.body);
            assert_eq!(
                change_type(&pull_request, &files, &policy),
                expected,
                "{title} {branch} {body}"
            );
        }
        pull_request.body = "Type: integration".to_owned();
        for (declared, expected) in [(CodeType::Refactor, Integration), (BugFix, BugFix)] {
            pull_request.declared_type = Some(declared);
            assert_eq!(
                change_type(&pull_request, &files, &policy),
                expected,
                "{declared:?}"
            );
        }
        (pull_request.declared_type, pull_request.body) = (None, String::new());
        policy.api_paths = vec![FileGlob(NameGlob::path("src/**").unwrap())];
        for (title, expected) in [
            ("feat: a", ApiEndpoint),
            ("refactor: c", ApiEndpoint),
            ("fix: b", BugFix),
        ] {
            title.clone_into(&mut pull_request.title);
            assert_eq!(
                change_type(&pull_request, &files, &policy),
                expected,
                "{title}"
            );
        }
        pull_request.declared_type = Some(Refactor);
        assert_eq!(
            change_type(&pull_request, &files, &policy),
            Refactor,
            "anybody who may write may also let off"
        );
    }

    #[test]
    fn labels_that_declare_a_type() {
        for (label, expected) in [
            ("type: fix", Some(CodeType::BugFix)),
            ("Type/refactor", Some(CodeType::Refactor)),
            ("type:api_endpoint", Some(CodeType::ApiEndpoint)),
            ("type: docs", None),
            ("bug_fix", None),
            ("subtype: fix", None),
        ] {
            assert_eq!(type_of_label(label), expected, "{label}");
        }
    }
}

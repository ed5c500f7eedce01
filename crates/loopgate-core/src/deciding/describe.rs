//! What a pull request is: language, tests touched, linked issues, the agent behind it.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::Regex;

use crate::{
    observed::{AccountKind, PullRequest, Snapshot},
    policy::{GateRole, Policy},
    source_files::{SourceLanguage, is_test},
    state::{Agent, AgentKind, AuthorKind, CodeArtifact, Language},
    verdict::coverage,
};

/// What a run needs beside its checks, and whether it is there. Nothing deploys without somebody who approves it, so
/// `deploy` is configured where its gate is.
pub fn prerequisites(policy: &Policy) -> BTreeMap<String, String> {
    let deploys = policy.gate_with_role(GateRole::Deploy).is_some();
    let deploy = if deploys { "configured" } else { "skipped" };
    [("git", "configured"), ("deploy", deploy)].map(|(what, word)| (what.to_owned(), word.to_owned())).into()
}

/// What the pull request changes, in short.
pub fn artifact(snapshot: &Snapshot, policy: &Policy) -> CodeArtifact {
    let files = snapshot.files.known();
    let main = files.iter().max_by_key(|file| (file.additions + file.deletions, std::cmp::Reverse(&file.path)));
    CodeArtifact {
        path: main.map(|file| file.path.clone()),
        language: main.map_or(Language::Other, |file| language(&file.path)),
        code_type: coverage::change_type(&snapshot.pull_request, &snapshot.files, &policy.coverage),
        content_hash: crate::evidence::tree_hash(snapshot.pull_request.head.tree),
        test_files: files.iter().filter(|file| is_test(&file.path)).map(|file| file.path.clone()).take(50).collect(),
        requirements_ref: requirements(&snapshot.pull_request.body),
    }
}

fn language(path: &str) -> Language {
    match SourceLanguage::of(path) {
        Some(SourceLanguage::TypeScript) => Language::Typescript,
        Some(SourceLanguage::JavaScript) => Language::Javascript,
        Some(SourceLanguage::Python) => Language::Python,
        Some(SourceLanguage::Go) => Language::Go,
        Some(SourceLanguage::Rust) => Language::Rust,
        Some(SourceLanguage::Java) => Language::Java,
        _ => Language::Other,
    }
}

/// What the body says it is to do: issues that it closes, and files that it mentions as `@docs/auth.md`, at most 20.
fn requirements(body: &str) -> Vec<String> {
    // Logins have no dot, so that nobody is taken for a file.
    static FILES: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?:^|[\s(])(@[A-Za-z0-9_./-]*\.[A-Za-z0-9]+)").expect("a constant expression"));
    let issues = linked_issues(body).into_iter().map(|issue| format!("#{issue}"));
    let files = FILES.captures_iter(body).map(|found| found[1].to_owned()).filter(|file| file.len() <= 200);
    issues.chain(files).take(20).collect()
}

/// Issues the body says it closes, by GitHub's closing keywords, at most 20.
pub fn linked_issues(body: &str) -> Vec<u64> {
    static CLOSING: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d{1,9})\b").expect("a constant expression")
    });
    let mut issues: Vec<u64> = CLOSING.captures_iter(body).filter_map(|found| found[1].parse().ok()).take(20).collect();
    issues.sort_unstable();
    issues.dedup();
    issues
}

/// The coding agent that wrote the pull request: named by an `Agent: name [version]` line of the body, or by an
/// author that is a bot. People have none.
pub fn agent(pull_request: &PullRequest) -> Option<Agent> {
    let line = pull_request.body.lines().find_map(|line| line.trim().strip_prefix("Agent:"));
    if let Some((name, version)) = line.map(str::trim).filter(|line| !line.is_empty()).map(name_and_version) {
        return Some(Agent { kind: kind_of(&name), name, version });
    }
    let login = pull_request.author.login.as_str();
    (pull_request.author.kind == AccountKind::Bot).then(|| {
        let name = login.trim_end_matches("[bot]").to_owned();
        Agent { kind: kind_of(&name), name, version: None }
    })
}

/// Who opened the pull request.
pub fn author(pull_request: &PullRequest, policy: &Policy) -> AuthorKind {
    let named = pull_request.body.lines().any(|line| line.trim().starts_with("Agent:"));
    if named || policy.coding_agents.contains(&pull_request.author.login) {
        AuthorKind::Agent
    } else if pull_request.author.kind == AccountKind::Bot {
        AuthorKind::Bot
    } else {
        AuthorKind::Person
    }
}

fn name_and_version(line: &str) -> (String, Option<String>) {
    let limited = |text: &str| text.chars().take(60).collect::<String>();
    match line.rsplit_once(' ') {
        Some((name, version)) if version.starts_with(|c: char| c.is_ascii_digit() || c == 'v') => {
            (limited(name.trim()), Some(limited(version)))
        }
        _ => (limited(line), None),
    }
}

/// Agents whose name says what they do; the others implement.
fn kind_of(name: &str) -> AgentKind {
    let name = name.to_ascii_lowercase();
    let words = BTreeMap::from([
        ("test", AgentKind::TestEngineer),
        ("debug", AgentKind::Debugger),
        ("review", AgentKind::CodeReviewer),
    ]);
    words.iter().find(|(word, _)| name.contains(*word)).map_or(AgentKind::SoftwareImplementer, |(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_keywords_name_issues() {
        assert_eq!(linked_issues("Fixes #7, closes: #12\nresolved #7. See #9, prefix #3"), [7, 12]);
    }

    #[test]
    fn requirements_are_issues_and_files() {
        let body = "Fixes #7, as @docs/auth.md and (@README.md) say. Thanks @bob, @acme/security, a@b.example!";
        assert_eq!(requirements(body), ["#7", "@docs/auth.md", "@README.md"]);
    }

    #[test]
    fn agents_are_named_with_their_version() {
        assert_eq!(name_and_version("claude-code 2.1"), ("claude-code".into(), Some("2.1".into())));
        assert_eq!(name_and_version("my agent"), ("my agent".into(), None));
        assert_eq!(kind_of("test-writer"), AgentKind::TestEngineer);
    }
}

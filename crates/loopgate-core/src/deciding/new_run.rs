//! The state of a run that has just begun, and what it says of its pull request: language, tests touched, linked
//! issues, the agent behind it.

use crate::{
    concerns::coverage,
    evidence::tree_hash,
    ids::Timestamp,
    observed::{AccountKind, PullRequest, Snapshot},
    policy::Policy,
    source_files::{is_test, language_of},
    state::{Agent, AuthorKind, CodeArtifact, LoopState, LostRecord, Run, Task},
    text,
};

impl LoopState {
    /// A new run over a pull request, begun at `now`.
    pub fn begin(snapshot: &Snapshot, policy: &Policy, now: Timestamp) -> Self {
        let alias = format!("pr-{}", snapshot.pull_request.number);
        let run_id = format!("{alias}-{}", now.format("%Y%m%d-%H%M%S"));
        let run = Run {
            id: run_id,
            repository: snapshot.repository.clone(),
            pull_request: Some(snapshot.pull_request.number),
            task: Task {
                prompt: snapshot.pull_request.title.clone(),
                ideal_result: None,
            },
            alias,
            stage_entered_at: now,
            iteration: 1,
            created_at: now,
            updated_at: now,
            ..Run::default()
        };
        let mut state = Self {
            run,
            ..Self::default()
        };
        state.describe(snapshot, policy);
        state.shown.describe(snapshot, policy);
        state
    }

    /// Notes what the pull request is now, and what governs it.
    pub(super) fn describe(&mut self, snapshot: &Snapshot, policy: &Policy) {
        let pull_request = &snapshot.pull_request;
        self.run.repository.clone_from(&snapshot.repository);
        self.run.title.clone_from(&pull_request.title);
        self.head.branch.clone_from(&pull_request.head.branch);
        self.head.base_ref.clone_from(&pull_request.base.branch);
        self.head.sha = pull_request.head.sha;
        self.head.base_sha = pull_request.base.sha;
        self.head.policy_sha = policy.origin.commit();
        self.run.agent = agent(pull_request);
        self.head.artifact = artifact(snapshot, policy);
        self.run.max_iterations = policy.retry.max_attempts;
        self.concerns.checks.prepared = policy.verify.checks.keys().cloned().collect();
    }

    /// A new run in the place of one whose record is gone: the numbers of attempts go on.
    pub fn begin_after(
        lost: LostRecord,
        snapshot: &Snapshot,
        policy: &Policy,
        now: Timestamp,
    ) -> Self {
        let mut state = Self::begin(snapshot, policy, now);
        state.attempts.lost = lost.attempts;
        state.attempts.lost_trace = Some(lost.trace);
        state
    }
}

/// The languages that the state distinguishes.
const LANGUAGES: [&str; 6] = ["typescript", "javascript", "python", "go", "rust", "java"];

/// What the pull request changes, in short.
fn artifact(snapshot: &Snapshot, policy: &Policy) -> CodeArtifact {
    let files = snapshot.files.known();
    let main = files.iter().max_by_key(|file| {
        (
            file.additions + file.deletions,
            std::cmp::Reverse(&file.path),
        )
    });
    let language = main
        .and_then(|file| language_of(&file.path))
        .filter(|name| LANGUAGES.contains(name));
    CodeArtifact {
        path: main.map(|file| file.path.clone()),
        language: language.unwrap_or("other").to_owned(),
        code_type: coverage::change_type(&snapshot.pull_request, &snapshot.files, &policy.coverage),
        content_hash: tree_hash(snapshot.pull_request.head.tree),
        test_files: files
            .iter()
            .filter(|file| is_test(&file.path))
            .map(|file| file.path.clone())
            .take(50)
            .collect(),
        requirements_ref: requirements(&snapshot.pull_request.body),
    }
}

/// What the body says it is to do: issues that it closes, and files that it mentions as `@docs/auth.md`, at most 20.
fn requirements(body: &str) -> Vec<String> {
    // Logins have no dot, so a login does not match as a file.
    let named = pattern!(r"(?:^|[\s(])(@[A-Za-z0-9_./-]*\.[A-Za-z0-9]+)");
    let issues = linked_issues(body)
        .into_iter()
        .map(|issue| format!("#{issue}"));
    let files = named
        .captures_iter(body)
        .map(|found| found[1].to_owned())
        .filter(|file| file.len() <= 200);
    issues.chain(files).take(20).collect()
}

/// Issues the body says it closes, by GitHub's closing keywords, at most 20.
pub(super) fn linked_issues(body: &str) -> Vec<u64> {
    let closing = pattern!(r"(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d{1,9})\b");
    let mut issues: Vec<u64> = closing
        .captures_iter(body)
        .filter_map(|found| found[1].parse().ok())
        .take(20)
        .collect();
    issues.sort_unstable();
    issues.dedup();
    issues
}

/// The coding agent that wrote the pull request: named by an `Agent: name [version]` line of the body, or by an
/// author that is a bot. People have none.
fn agent(pull_request: &PullRequest) -> Option<Agent> {
    let line = pull_request
        .body
        .lines()
        .find_map(|line| line.trim().strip_prefix("Agent:"));
    let line = line.map(str::trim).filter(|line| !line.is_empty());
    let is_version = |word: &str| word.starts_with(|c: char| c.is_ascii_digit() || c == 'v');
    let (name, version) = match line.map(|line| (line, line.rsplit_once(' '))) {
        Some((_, Some((name, version)))) if is_version(version) => {
            (text::start(name.trim(), 60), Some(text::start(version, 60)))
        }
        Some((line, _)) => (text::start(line, 60), None),
        None if pull_request.author.kind == AccountKind::Bot => (
            pull_request
                .author
                .login
                .as_str()
                .trim_end_matches("[bot]")
                .to_owned(),
            None,
        ),
        None => return None,
    };
    // Agents whose name shows what they do; the others implement.
    let kinds = [
        ("debug", "debugger"),
        ("review", "code_reviewer"),
        ("test", "test_engineer"),
    ];
    let kind = kinds
        .iter()
        .find(|(part, _)| name.to_ascii_lowercase().contains(part));
    let kind = kind
        .map_or("software_implementer", |(_, kind)| *kind)
        .to_owned();
    Some(Agent {
        name,
        kind,
        version,
    })
}

/// Who opened the pull request.
pub(super) fn author(pull_request: &PullRequest, policy: &Policy) -> AuthorKind {
    let named = pull_request
        .body
        .lines()
        .any(|line| line.trim().starts_with("Agent:"));
    if named || policy.coding_agents.contains(&pull_request.author.login) {
        AuthorKind::Agent
    } else if pull_request.author.kind == AccountKind::Bot {
        AuthorKind::Bot
    } else {
        AuthorKind::Person
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_keywords_name_issues() {
        assert_eq!(
            linked_issues("Fixes #7, closes: #12\nresolved #7. See #9, prefix #3"),
            [7, 12]
        );
    }

    #[test]
    fn requirements_are_issues_and_files() {
        let body = "Fixes #7, as @docs/auth.md and (@README.md) say. Thanks @bob, @acme/security, a@b.example!";
        assert_eq!(requirements(body), ["#7", "@docs/auth.md", "@README.md"]);
    }

    #[test]
    fn agents_are_named_with_their_version() {
        for (line, name, version, kind) in [
            (
                "Agent: claude-code 2.1",
                "claude-code",
                Some("2.1"),
                "software_implementer",
            ),
            ("Agent: my agent", "my agent", None, "software_implementer"),
            ("Agent: test-writer", "test-writer", None, "test_engineer"),
        ] {
            let found = agent(&PullRequest {
                body: line.to_owned(),
                ..PullRequest::default()
            })
            .unwrap();
            assert_eq!(
                (&*found.name, found.version.as_deref(), &*found.kind),
                (name, version, kind),
                "{line}"
            );
        }
    }
}

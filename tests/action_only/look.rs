//! A pull request as people see it, with what must differ between two GitHubs taken out.

use std::{collections::BTreeMap, sync::LazyLock};

use loopgate::github::state_apart;
use loopgate_simulator::{Pr, Simulator};
use regex::Regex;

use crate::unpacked::unpacked;

/// What is seen. Who wrote it is left out where it is Loopgate: the two ways to run have different accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    pub labels: Vec<String>,
    pub requested: Vec<String>,
    pub comments: Vec<String>,
    /// Reactions of Loopgate to people's comments, in their order.
    pub reactions: Vec<Vec<String>>,
    /// Name → status, conclusion, title, summary, text, annotations.
    pub checks: BTreeMap<String, String>,
    /// Files of the state ref, without its times and ids.
    pub state: BTreeMap<String, String>,
}

impl Look {
    /// Everything that is seen, a line each.
    pub fn lines(&self) -> Vec<String> {
        let Self {
            labels,
            requested,
            comments,
            reactions,
            checks,
            state,
        } = self;
        let mut lines = vec![
            format!("labels {labels:?}"),
            format!("requested {requested:?}"),
        ];
        lines.push(format!("reactions {reactions:?}"));
        let texts = comments.iter().map(|body| ("comment", body));
        let texts = texts.chain(
            checks
                .iter()
                .chain(state)
                .map(|(name, text)| (name.as_str(), text)),
        );
        lines.extend(
            texts.flat_map(|(name, text)| text.lines().map(move |line| format!("{name}: {line}"))),
        );
        lines
    }
}

/// `kept` is what is packed away of the pull request's state, if it is kept in an artifact.
pub fn look(github: &Simulator, pr: &Pr, us: &str, kept: Option<&str>) -> Look {
    let pull = github.pull_request(pr).expect("a pull request");
    let (ours, theirs): (Vec<_>, Vec<_>) = pull
        .comments
        .into_iter()
        .partition(|comment| comment.author == us);
    let checks = pull
        .check_runs
        .into_iter()
        .filter(|run| run.name.starts_with("loopgate / "));
    let state = github
        .state_ref(&pr.repo, &format!("refs/loopgate/pr/{}", pr.number))
        .expect("a repository");
    let in_ref = state.map(|state| state.files);
    let in_comment = || {
        ours.iter()
            .find_map(|comment| unpacked(state_apart(&comment.body).1?))
    };
    let attempts = in_ref
        .or_else(in_comment)
        .or_else(|| kept.map(unpacked)?)
        .unwrap_or_default();
    let attempts = attempts
        .into_iter()
        .filter(|(name, _)| name.starts_with("attempts/"));
    Look {
        labels: pull.labels,
        requested: pull.requested_reviewers,
        comments: ours
            .into_iter()
            .map(|comment| plain(&comment.body))
            .collect(),
        reactions: theirs
            .into_iter()
            .map(|comment| {
                comment
                    .reactions
                    .into_iter()
                    .map(|(_, content)| content)
                    .collect()
            })
            .collect(),
        checks: checks
            .map(|run| {
                let lines: Vec<_> = run
                    .annotations
                    .iter()
                    .map(|a| format!("{}:{} {}", a.path, a.start_line, a.message))
                    .collect();
                let parts = [
                    run.status.to_owned(),
                    run.conclusion
                        .map_or("", |conclusion| conclusion.as_str())
                        .to_owned(),
                    run.title.unwrap_or_default(),
                    run.summary.unwrap_or_default(),
                    run.text.unwrap_or_default(),
                    lines.join("\n"),
                ];
                (run.name, plain(&parts.join("\n")))
            })
            .collect(),
        state: attempts.map(|(name, text)| (name, plain(&text))).collect(),
    }
}

/// Ids, commits, times and addresses become words.
fn plain(text: &str) -> String {
    static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        [
            // Where the state is kept, and what keeps it there.
            (r"\n+<!-- loopgate-state:.*", ""),
            (r"`?refs/loopgate/pr/\d+`?|the status comment, hidden|the artifact `?loopgate-state`?", "PLACE"),
            (r#""state_ref": (null|"PLACE")"#, "THE PLACE"),
            (r"http://127\.0\.0\.1:\d+", "GITHUB"),
            (r"\b[0-9a-f]{64}\b", "TREE"),
            (r"\b[0-9a-f]{40}\b", "COMMIT"),
            (r"\b[0-9a-f]{16}\b", "HASH"),
            (r"\b[0-9a-f]{8}\b", "SHORT"),
            (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z| UTC)?", "TIME"),
            (r"\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d UTC", "TIME"),
            (r"-\d{8}-\d{6}", "-TIME"),
            (r"(runs|issuecomment|actions/runs|pullrequestreview)([-/])\d+", "$1$2ID"),
            (r#"("(?:run_id|comment|comment_id|check_run)":\s*)\d+"#, "${1}ID"),
            (r"failing for .*", "failing for A WHILE"),
            // Of two looks at one head the first calls a person, and the second waits for them. How many looks there
            // are depends on how many events GitHub sends, and a server gets some that start no workflow.
            (r#""name": "escalate""#, r#""name": "wait_for_human""#),
        ]
        .map(|(pattern, word)| (Regex::new(pattern).expect("a pattern"), word))
        .into()
    });
    PATTERNS
        .iter()
        .fold(text.to_owned(), |text, (pattern, word)| {
            pattern.replace_all(&text, *word).into_owned()
        })
}

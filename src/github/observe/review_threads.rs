//! Review threads, which only GraphQL shows
//! (<https://docs.github.com/en/graphql/reference/objects#pullrequestreviewthread>).

use serde::Deserialize;

use super::Target;
use crate::github::{
    Error,
    ttl_cache::TtlCache,
    wire::{GraphqlAccount, Nodes, ObjectRef, graphql_pull},
};
use loopgate_core::{
    PrNumber, RepoName, Sha,
    observed::{
        Account, AccountKind, Completeness, Hint, Listing, MOST_OF_A_FINDING, MOST_OF_AN_ANSWER, Resolution,
        ReviewThread,
    },
    policy::VerifyPolicy,
    text,
};

/// Pages of 100 threads read at most, the newest first.
const MOST_PAGES: usize = 5;
const QUERY: &str = "query($owner: String!, $name: String!, $number: Int!, $before: String) { \
                     repository(owner: $owner, name: $name) { pullRequest(number: $number) { \
                     reviewThreads(last: 100, before: $before) { pageInfo { hasPreviousPage startCursor } nodes { \
                     isResolved isOutdated path line originalLine resolvedBy { login databaseId } \
                     begin: comments(first: 1) { nodes { ...said } } end: comments(last: 2) { nodes { ...said } } } } } } } \
                     fragment said on PullRequestReviewComment { body url originalCommit { oid } author { __typename login \
                     ... on Bot { databaseId } ... on User { databaseId } } }";

/// What was read of pull requests at a head. News of checks alone change nothing of it.
pub(super) type KnownThreads = TtlCache<(RepoName, PrNumber, Sha), Listing<ReviewThread>>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullRequest {
    review_threads: Threads,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Threads {
    page_info: PageInfo,
    nodes: Vec<Option<Thread>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_previous_page: bool,
    start_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    is_resolved: bool,
    is_outdated: bool,
    path: String,
    line: Option<u32>,
    original_line: Option<u32>,
    resolved_by: Option<GraphqlAccount>,
    begin: Nodes<Said>,
    end: Nodes<Said>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    author: Option<Author>,
    body: String,
    url: String,
    original_commit: Option<ObjectRef>,
}

#[derive(Deserialize)]
struct Author {
    #[serde(rename = "__typename")]
    kind: String,
    #[serde(flatten)]
    account: GraphqlAccount,
}

/// The threads of the reviewers that the policy names; where GitHub refuses, what was read is not all.
pub(super) async fn read(
    Target { repo, number }: Target<'_>,
    (head, hints): (Sha, &[Hint]),
    verify: &VerifyPolicy,
    known: &KnownThreads,
) -> Result<Listing<ReviewThread>, Error> {
    let apps: Vec<&str> = verify.reviewers().map(|(_, reviewer)| reviewer.app.as_str()).collect();
    let mut found = Listing::complete(Vec::new());
    if apps.is_empty() {
        return Ok(found);
    }
    let key = (repo.name.clone(), number, head);
    let is_of_checks = |hint: &Hint| matches!(hint, Hint::CheckRunCompleted { .. } | Hint::NamedPulls { .. });
    let is_nothing_new = !hints.is_empty() && hints.iter().all(is_of_checks);
    if let Some(known) = known.get(&key, repo.now()).filter(|_| is_nothing_new) {
        return Ok(known);
    }
    let mut before: Option<String> = None;
    for _ in 0..MOST_PAGES {
        let pull = graphql_pull::<PullRequest>(repo, number, QUERY, before.as_deref()).await?;
        found.completeness = Completeness::Incomplete;
        let Some(PullRequest { review_threads: Threads { page_info, nodes } }) = pull else { break };
        found.items.splice(0..0, nodes.into_iter().flatten().filter_map(|thread| of_reviewer(thread, &apps)));
        before = page_info.start_cursor;
        if !page_info.has_previous_page {
            found.completeness = Completeness::Complete;
            break;
        }
    }
    known.put(key, found.clone(), repo.now());
    Ok(found)
}

/// A thread that the bot of one of these Apps began.
fn of_reviewer(thread: Thread, apps: &[&str]) -> Option<ReviewThread> {
    let begin = thread.begin.nodes.into_iter().flatten().next()?;
    let Author { kind, account: reviewer } = begin.author?;
    let login = reviewer.login.as_str().trim_end_matches("[bot]");
    let app = apps.iter().find(|app| kind == "Bot" && **app == login)?;
    let is_reviewer = |account: &GraphqlAccount| match (account.database_id, reviewer.database_id) {
        (Some(one), Some(other)) => one == other,
        _ => account.login.as_str().trim_end_matches("[bot]") == login,
    };
    let resolution = match thread.resolved_by {
        _ if !thread.is_resolved => Resolution::Open,
        Some(by) if is_reviewer(&by) => Resolution::ByReviewer,
        Some(GraphqlAccount { database_id: Some(id), login }) => {
            Resolution::By(Account { id, login, kind: AccountKind::User })
        }
        _ => Resolution::Unknown,
    };
    let others = thread.end.nodes.into_iter().flatten().filter_map(|said| Some((said.author?.account, said.body)));
    let answer = others.rev().find(|(by, _)| !is_reviewer(by));
    Some(ReviewThread {
        app: (*app).to_owned(),
        path: thread.path,
        line: thread.line.or(thread.original_line),
        finding: text::start(&begin.body, MOST_OF_A_FINDING),
        begun_on: begin.original_commit.map(|commit| commit.sha),
        answer: answer.map(|(by, body)| (by.login, text::start(&body, MOST_OF_AN_ANSWER))),
        resolution,
        is_outdated: thread.is_outdated,
        url: begin.url,
    })
}

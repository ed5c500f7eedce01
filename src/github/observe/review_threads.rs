//! Review threads, which only GraphQL shows
//! (<https://docs.github.com/en/graphql/reference/objects#pullrequestreviewthread>).

use serde_json::Value;

use super::rest::Reading;
use crate::github::{
    Error,
    wire::{GraphqlAccount, graphql_pull, nodes},
};
use loopgate_core::{
    observed::{
        Account, AccountKind, Completeness, Listing, MOST_OF_A_FINDING, MOST_OF_AN_ANSWER, Resolution, ReviewThread,
    },
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

impl Reading<'_> {
    /// The threads of the reviewers that the policy names; where GitHub refuses, what was read is not all.
    pub(super) async fn review_threads(&self) -> Result<Listing<ReviewThread>, Error> {
        let (repo, number) = (self.repo, self.facts.pull.pull_request.number);
        let apps: Vec<&str> = self.policy.verify.reviewers().map(|(_, reviewer)| reviewer.app.as_str()).collect();
        let mut found = Listing::complete(Vec::new());
        if apps.is_empty() {
            return Ok(found);
        }
        let mut before: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let pull = graphql_pull::<Value>(repo, number, QUERY, before.as_deref()).await?.unwrap_or_default();
            found.completeness = Completeness::Incomplete;
            let threads = &pull["reviewThreads"];
            found.items.splice(0..0, nodes(threads).filter_map(|thread| of_reviewer(thread, &apps)));
            before = threads["pageInfo"]["startCursor"].as_str().map(str::to_owned);
            let Some(has_more) = threads["pageInfo"]["hasPreviousPage"].as_bool() else { break };
            if !has_more {
                found.completeness = Completeness::Complete;
                break;
            }
        }
        Ok(found)
    }
}

/// A thread that the bot of one of these Apps began. What GitHub does not return counts as open.
fn of_reviewer(thread: &Value, apps: &[&str]) -> Option<ReviewThread> {
    let begin = nodes(&thread["begin"]).next()?;
    let reviewer = GraphqlAccount::at(&begin["author"])?;
    let login = reviewer.login.as_str().trim_end_matches("[bot]");
    let app = apps.iter().find(|app| begin["author"]["__typename"] == "Bot" && **app == login)?;
    let is_reviewer = |account: &GraphqlAccount| match (account.database_id, reviewer.database_id) {
        (Some(one), Some(other)) => one == other,
        _ => account.login.as_str().trim_end_matches("[bot]") == login,
    };
    let resolution = match GraphqlAccount::at(&thread["resolvedBy"]) {
        _ if thread["isResolved"] != true => Resolution::Open,
        Some(by) if is_reviewer(&by) => Resolution::ByReviewer,
        Some(GraphqlAccount { database_id: Some(id), login }) => {
            Resolution::By(Account { id, login, kind: AccountKind::User })
        }
        _ => Resolution::Unknown,
    };
    let string = |text: &Value| text.as_str().unwrap_or_default().to_owned();
    let others =
        nodes(&thread["end"]).filter_map(|said| Some((GraphqlAccount::at(&said["author"])?, string(&said["body"]))));
    let answer = others.rev().find(|(by, _)| !is_reviewer(by));
    let line = ["line", "originalLine"].iter().find_map(|key| thread[*key].as_u64());
    Some(ReviewThread {
        app: (*app).to_owned(),
        path: string(&thread["path"]),
        line: line.and_then(|line| line.try_into().ok()),
        finding: text::start(&string(&begin["body"]), MOST_OF_A_FINDING),
        begun_on: begin["originalCommit"]["oid"].as_str().and_then(|commit| commit.parse().ok()),
        answer: answer.map(|(by, body)| (by.login, text::start(&body, MOST_OF_AN_ANSWER))),
        resolution,
        is_outdated: thread["isOutdated"] == true,
        url: string(&begin["url"]),
    })
}

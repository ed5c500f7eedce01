//! The base branch as it was before a pull request was merged into it: afterwards it holds the change, so that nothing
//! would look new there, and what the change adds to the configuration would govern it.

use serde::Deserialize;

use super::pull::Pull;
use crate::github::{
    Error, Repo,
    error::OrAbsent as _,
    wire::{GitCommit, ObjectRef, graphql_pull},
};
use loopgate_core::{PrNumber, Sha};

/// Commits of a rebased pull request that are followed back at most.
const MOST_COMMITS: usize = 30;

/// The commit that a pull request was merged as; none where GitHub does not return it.
pub(super) async fn merged_as(repo: Repo<'_>, pull: &Pull) -> Result<Option<Sha>, Error> {
    match pull.merged_as {
        Some(commit) => Ok(Some(commit)),
        None => merge_commit(repo, pull.pull_request.number).await,
    }
}

/// The base's last commit before the merge; none where the merge cannot be followed.
pub(super) async fn base(repo: Repo<'_>, pull: &Pull, merged_as: Sha) -> Result<Option<Sha>, Error> {
    let landed = commit(repo, merged_as).await?;
    let head = commit(repo, pull.pull_request.head.sha).await?;
    let Some(landed) = landed else { return Ok(None) };
    // A merge and a squash put one commit on the branch. A rebase puts each commit there anew, with its own message.
    let is_rebase = landed.parents.len() == 1
        && pull.commits > 1
        && head.is_some_and(|head| head.message.trim() == landed.message.trim());
    let mut steps = if is_rebase { pull.commits } else { 1 };
    if steps > MOST_COMMITS {
        return Ok(None);
    }
    let mut at = landed;
    loop {
        let Some(parent) = at.parents.first().map(|parent| parent.sha) else { return Ok(None) };
        steps -= 1;
        if steps == 0 {
            return Ok(Some(parent));
        }
        let Some(next) = commit(repo, parent).await? else { return Ok(None) };
        at = next;
    }
}

const QUERY: &str = "query($owner: String!, $name: String!, $number: Int!) { repository(owner: $owner, name: $name) { \
                     pullRequest(number: $number) { mergeCommit { oid } } } }";

/// The merge commit of a pull request, from GraphQL: from version 2026-03-10 on the REST API does not return it
/// (<https://docs.github.com/en/rest/about-the-rest-api/breaking-changes>).
async fn merge_commit(repo: Repo<'_>, number: PrNumber) -> Result<Option<Sha>, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct MergedPull {
        merge_commit: Option<ObjectRef>,
    }
    let pull = graphql_pull::<MergedPull>(repo, number, QUERY, None).await?;
    Ok(pull.and_then(|pull| pull.merge_commit).map(|commit| commit.sha))
}

async fn commit(repo: Repo<'_>, sha: Sha) -> Result<Option<GitCommit>, Error> {
    let path = repo.path(format!("git/commits/{sha}"));
    Ok(repo.get_immutable_json::<GitCommit>(&path).await.or_refused()?.flatten())
}

#[cfg(test)]
mod tests {
    use wiremock::{Mock, MockServer, ResponseTemplate, matchers::path};

    use serde_json::json;

    use super::*;
    use crate::github::{ApiUrl, Credentials, Github, Secret, Setup, observe::pull};

    fn sha(digit: u8) -> String {
        Sha::from_bytes([digit; 20]).to_string()
    }

    /// Which API of GitHub returns the merge commit.
    #[derive(Clone, Copy)]
    enum Told {
        Rest,
        Graphql,
        Nowhere,
    }

    async fn before(commits: u32, history: &[(u8, &str, &[u8])]) -> Option<String> {
        before_as(Told::Rest, commits, history).await
    }

    /// The base before a merge, where commit 9 is the head, 8 what it was merged as, and 1 what the pull request was
    /// opened on.
    async fn before_as(told: Told, commits: u32, history: &[(u8, &str, &[u8])]) -> Option<String> {
        let server = MockServer::start().await;
        let answer = async |at: String, body| {
            let answer = ResponseTemplate::new(200).set_body_json(body);
            Mock::given(path(format!("/repos/acme/widgets/{at}"))).respond_with(answer).mount(&server).await;
        };
        for (commit, message, parents) in history {
            let parents: Vec<_> = parents.iter().map(|parent| json!({ "sha": sha(*parent) })).collect();
            let body =
                json!({ "sha": sha(*commit), "message": message, "tree": { "sha": sha(0) }, "parents": parents });
            answer(format!("git/commits/{}", sha(*commit)), body).await;
        }
        let merged = json!({
            "number": 12, "title": "t", "body": null, "user": null, "state": "closed", "merged": true,
            "merged_at": "2026-11-20T11:00:00Z", "merged_by": null, "commits": commits,
            "head": { "sha": sha(9), "ref": "f", "repo": null }, "base": { "sha": sha(1), "ref": "main" },
            "created_at": "2026-11-20T10:00:00Z", "html_url": "https://github.test/acme/widgets/pull/12",
        });
        let mut merged = merged;
        match told {
            Told::Rest => merged["merge_commit_sha"] = sha(8).into(),
            Told::Graphql => {
                let found =
                    json!({ "data": { "repository": { "pullRequest": { "mergeCommit": { "oid": sha(8) } } } } });
                let answer = ResponseTemplate::new(200).set_body_json(found);
                Mock::given(path("/graphql")).respond_with(answer).mount(&server).await;
            }
            Told::Nowhere => {}
        }
        answer("pulls/12".into(), merged).await;
        let api = ApiUrl::parse(&server.uri()).unwrap();
        let github = Github::new(api, Credentials::Token(Secret::new("t")), Setup::default()).unwrap();
        let (client, repository) = (github.client(None), "acme/widgets".parse().unwrap());
        let pull = pull::read(client.repo(&repository), PrNumber::new(12)).await.unwrap();
        match merged_as(client.repo(&repository), &pull).await.unwrap() {
            Some(commit) => base(client.repo(&repository), &pull, commit).await.unwrap().map(|base| base.to_string()),
            None => None,
        }
    }

    #[tokio::test]
    async fn however_it_was_merged_the_base_of_before_is_found() {
        let head: (u8, &str, &[u8]) = (9, "Second", &[2]);
        // A merge commit; a squash; a rebase of one commit and of two.
        assert_eq!(before(2, &[head, (8, "Merge pull request #12 from f", &[5, 9])]).await, Some(sha(5)));
        assert_eq!(before(2, &[head, (8, "Both (#12)", &[5])]).await, Some(sha(5)));
        assert_eq!(before(1, &[head, (8, "Second", &[5])]).await, Some(sha(5)));
        assert_eq!(before(2, &[head, (8, "Second", &[7]), (7, "First", &[5])]).await, Some(sha(5)));
        // What cannot be followed.
        assert_eq!(before(2, &[head, (8, "Second", &[7])]).await, None);
        assert_eq!(before(40, &[head, (8, "Second", &[7])]).await, None);
        assert_eq!(before(1, &[head]).await, None);
    }

    #[tokio::test]
    async fn where_rest_does_not_say_it_graphql_does() {
        let history: &[(u8, &str, &[u8])] = &[(9, "Second", &[2]), (8, "Both (#12)", &[5])];
        assert_eq!(before_as(Told::Graphql, 2, history).await, Some(sha(5)));
        assert_eq!(before_as(Told::Nowhere, 2, history).await, None);
    }
}

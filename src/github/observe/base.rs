//! What is read of the base: who owns its files, which folders it has, how its own checks went, and which commit it was
//! at before a pull request was merged into it: afterwards it holds the change, so that nothing would look new there,
//! and what the change adds to the configuration would govern it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    PullReading,
    checks::{self, Checks},
    config,
    evidence::{self, accepted},
    pull::{self, Pull},
};
use crate::github::client::{
    error::{Error, OrAbsent as _, Result},
    repo::Repo,
};
use loopgate_core::{
    Sha,
    concerns::{coverage, disputes, tampering},
    evidence::Evidence,
    observed::{
        BaseEvidence, ChangedFile, ChangedFiles, ExternalCheck, FileStatus, ReceivedEvidence,
        Snapshot,
    },
    policy::{CheckSource, Context, CoverageTarget, GateTrigger, Policy, RequiredTest},
    source_files::belongs_to_tests,
    state::LoopState,
};

/// Disputed test files whose last committers are asked for.
const MOST_DISPUTED: usize = 5;

/// Where somebody disputes a failure: whose test it is.
pub(super) async fn owners_in_question(
    repo: Repo<'_>,
    snapshot: &mut Snapshot,
    tip: Sha,
    policy: &Policy,
    previous: Option<&LoopState>,
) -> Result<()> {
    let files = disputes::files_in_question(
        Context {
            snapshot,
            policy,
            now: repo.now(),
        },
        previous,
    );
    for file in files.iter().take(MOST_DISPUTED) {
        let newest = pull::newest_commit(repo, tip, file).await?;
        let author = newest
            .and_then(|commit| commit.author)
            .map(|author| (file.clone(), author));
        snapshot.test_authors.extend(author);
    }
    if !files.is_empty() && snapshot.codeowners.is_none() {
        snapshot.codeowners = config::owners_file(repo, tip).await?.map(|(_, text)| text);
    }
    Ok(())
}

/// The base's folders matter where a gate asks for new ones and a file was added in some folder.
pub(super) async fn folders(
    repo: Repo<'_>,
    tip: Sha,
    files: &ChangedFiles,
    policy: &Policy,
) -> Result<Option<BTreeSet<String>>> {
    let asks = policy.gates.values().flat_map(|gate| gate.trigger.conditions()).any(
        |condition| matches!(condition, GateTrigger::Rules(rules) if rules.iter().any(|(_, rule, _)| rule.new_folder)),
    );
    let adds = |file: &ChangedFile| {
        matches!(
            file.status,
            FileStatus::Added | FileStatus::Renamed | FileStatus::Copied
        ) && file.path.contains('/')
    };
    if asks && files.known().iter().any(adds) {
        config::folders(repo, tip).await
    } else {
        Ok(None)
    }
}

impl PullReading<'_> {
    /// CODEOWNERS matter where they may approve, and where somebody must be called because attempts fail.
    pub(super) async fn codeowners(&self) -> Result<Option<String>> {
        let Self {
            repo,
            facts,
            policy,
            previous,
            ..
        } = *self;
        let approve = policy.gates.values().any(|gate| gate.approvers.codeowners);
        let called = policy.escalation.notify.is_empty()
            && previous.is_some_and(|state| state.attempts.failures.total > 0);
        let file = if approve || called {
            config::owners_file(repo, facts.base.tip).await?
        } else {
            None
        };
        Ok(file.map(|(_, text)| text))
    }

    /// The base's checks, with the documents of its workflow runs where they matter: something fails, the change is to
    /// keep what the base has, or it edits tests or what decides which of them run.
    pub(super) async fn base_evidence(
        &self,
        evidence: &[ReceivedEvidence],
        checks: Option<BaseEvidence>,
    ) -> Result<Option<BaseEvidence>> {
        let Self {
            repo,
            facts,
            policy,
            ..
        } = *self;
        let files = &facts.changes.files;
        let code_type = coverage::change_type(&facts.pull.pull_request, files, &policy.coverage);
        let keeps = policy.coverage.target(code_type) == CoverageTarget::MatchBase
            || policy
                .coverage
                .judged_tests(code_type)
                .any(|sort| sort == RequiredTest::ExistingTestsPass);
        let edits = |file: &ChangedFile| {
            file.paths()
                .any(|path| belongs_to_tests(path) || tampering::decides_what_runs(path))
        };
        let edits_tests = tampering::holds_tests(files) || files.known().iter().any(edits);
        let fails = |evidence: &Evidence| {
            evidence
                .checks
                .iter()
                .any(|check| check.outcome.is_failure())
        };
        if !accepted(evidence).any(|evidence| keeps || edits_tests || fails(evidence)) {
            return Ok(checks);
        }
        let (compared, tip) = (facts.pull.compared_base, facts.base.tip);
        let commits = if compared == tip {
            vec![tip]
        } else {
            vec![compared, tip]
        };
        Ok(
            match (
                checks,
                evidence::of_base(repo, &commits, &policy.verify).await?,
            ) {
                (Some(checks), Some(mut documents)) => {
                    documents.checks.extend(checks.checks);
                    Some(documents)
                }
                (checks, documents) => checks.or(documents),
            },
        )
    }

    /// The checks of the commit the head is compared with, where one of the head's fails: the facts for blame, and the
    /// check runs themselves.
    pub(super) async fn base_checks(
        &self,
        checks: &Checks,
    ) -> Result<(Option<BaseEvidence>, Vec<ExternalCheck>)> {
        let Self {
            repo,
            facts,
            policy,
            ..
        } = *self;
        let (base, us) = (facts.pull.compared_base, &facts.us);
        if !checks.has_mapped(&policy.verify, checks::has_failed) {
            return Ok((None, Vec::new()));
        }
        let read = if checks.has_mapped(&policy.verify, |check| {
            check.id.is_none() && checks::has_failed(check)
        }) {
            checks::read(repo, base, us).await
        } else {
            checks::read_runs(repo, base, us).await
        };
        let Some(mut on_base) = read.or_refused()? else {
            return Ok((None, Vec::new()));
        };
        // Two failures are distinguished by their logs and annotations.
        on_base
            .read_logs(repo, &policy.verify, facts.pull.is_private, &[])
            .await?;
        on_base
            .annotate(repo, &policy.verify, checks::MOST_ANNOTATED)
            .await?;
        let mut evidence = BTreeMap::new();
        for (name, check) in &policy.verify.checks {
            if let CheckSource::External(source) = &check.source
                && let Some(found) = on_base.evidence(name, check.kind, source)
            {
                evidence.insert(name.clone(), found);
            }
        }
        let evidence = (!evidence.is_empty()).then_some(BaseEvidence {
            sha: base,
            checks: evidence,
            coverage: None,
        });
        Ok((evidence, on_base.external))
    }
}

/// Commits of a rebased pull request that are followed back at most.
const MOST_COMMITS: usize = 30;

const MERGE_COMMIT: &str = "query($owner: String!, $name: String!, $number: Int!) { repository(owner: $owner, name: $name) { \
                     pullRequest(number: $number) { mergeCommit { oid } } } }";

/// The commit that a pull request was merged as; none where GitHub does not return it. From version 2026-03-10 on the
/// REST API does not (<https://docs.github.com/en/rest/about-the-rest-api/breaking-changes>), but GraphQL does.
pub(super) async fn merged_as(repo: Repo<'_>, pull: &Pull) -> Result<Option<Sha>> {
    if pull.merged_as.is_some() {
        return Ok(pull.merged_as);
    }
    let asked = repo
        .graphql_pull(pull.pull_request.number, MERGE_COMMIT, None)
        .await?;
    Ok(asked.and_then(|pull| pull["mergeCommit"]["oid"].as_str()?.parse().ok()))
}

/// The base's last commit before the merge; none where the merge cannot be followed.
pub(super) async fn before_merge(
    repo: Repo<'_>,
    pull: &Pull,
    merged_as: Sha,
) -> Result<Option<Sha>> {
    let commit = async |sha| Ok::<_, Error>(repo.git_commit(sha).await.or_refused()?.flatten());
    let Some(landed) = commit(merged_as).await? else {
        return Ok(None);
    };
    let head = commit(pull.pull_request.head.sha).await?;
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
        let Some(parent) = at.parents.first().map(|parent| parent.sha) else {
            return Ok(None);
        };
        steps -= 1;
        if steps == 0 {
            return Ok(Some(parent));
        }
        let Some(next) = commit(parent).await? else {
            return Ok(None);
        };
        at = next;
    }
}

#[cfg(test)]
mod tests {
    use wiremock::{Mock, MockServer, ResponseTemplate, matchers::path};

    use serde_json::json;

    use super::*;
    use crate::github::client::{
        Github, Setup, auth::Credentials, secret::Secret, transport::ApiUrl,
    };
    use loopgate_core::PrNumber;

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
            Mock::given(path(format!("/repos/acme/widgets/{at}")))
                .respond_with(answer)
                .mount(&server)
                .await;
        };
        for (commit, message, parents) in history {
            let parents: Vec<_> = parents
                .iter()
                .map(|parent| json!({ "sha": sha(*parent) }))
                .collect();
            let body = json!({ "sha": sha(*commit), "message": message, "tree": { "sha": sha(0) }, "parents": parents });
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
                let found = json!({ "data": { "repository": { "pullRequest": { "mergeCommit": { "oid": sha(8) } } } } });
                let answer = ResponseTemplate::new(200).set_body_json(found);
                Mock::given(path("/graphql"))
                    .respond_with(answer)
                    .mount(&server)
                    .await;
            }
            Told::Nowhere => {}
        }
        answer("pulls/12".into(), merged).await;
        let api = ApiUrl::parse(&server.uri()).unwrap();
        let github =
            Github::new(api, Credentials::Token(Secret::new("t")), Setup::default()).unwrap();
        let (client, repository) = (github.client(None), "acme/widgets".parse().unwrap());
        let pull = pull::read(client.repo(&repository), PrNumber::new(12))
            .await
            .unwrap();
        match merged_as(client.repo(&repository), &pull).await.unwrap() {
            Some(commit) => before_merge(client.repo(&repository), &pull, commit)
                .await
                .unwrap()
                .map(|base| base.to_string()),
            None => None,
        }
    }

    #[tokio::test]
    async fn however_it_was_merged_the_base_of_before_is_found() {
        let head: (u8, &str, &[u8]) = (9, "Second", &[2]);
        // A merge commit; a squash; a rebase of one commit and of two.
        assert_eq!(
            before(2, &[head, (8, "Merge pull request #12 from f", &[5, 9])]).await,
            Some(sha(5))
        );
        assert_eq!(
            before(2, &[head, (8, "Both (#12)", &[5])]).await,
            Some(sha(5))
        );
        assert_eq!(before(1, &[head, (8, "Second", &[5])]).await, Some(sha(5)));
        assert_eq!(
            before(2, &[head, (8, "Second", &[7]), (7, "First", &[5])]).await,
            Some(sha(5))
        );
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

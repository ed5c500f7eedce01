//! What is read of the base: who owns its files, which folders it has, and how its own checks went.

use std::collections::{BTreeMap, BTreeSet};

use super::{checks, checks::Checks, config, evidence::accepted, pull};
use crate::github::{Client, Error, Repo, error::OrAbsent as _};
use loopgate_core::{
    Sha,
    escalation::disputes,
    observed::{
        AppIdentity, BaseEvidence, ChangedFile, ChangedFiles, ExternalCheck, FileStatus, PullRequest, ReceivedEvidence,
        Snapshot,
    },
    policy::{CheckSource, CoverageTarget, GateTrigger, Look, Policy, RequiredTest, RuleCondition},
    source_files::belongs_to_tests,
    state::LoopState,
    verdict::{coverage, tamper},
};

/// Disputed test files whose last committers are asked for.
const MOST_DISPUTED: usize = 5;

/// CODEOWNERS matter where they may approve, and where somebody must be called because attempts fail.
pub(super) async fn codeowners(
    repo: Repo<'_>,
    tip: Sha,
    policy: &Policy,
    previous: Option<&LoopState>,
) -> Result<Option<String>, Error> {
    let approve = policy.gates.values().any(|gate| gate.approvers.codeowners);
    let called = policy.escalation.notify.is_empty() && previous.is_some_and(|state| state.failures.total > 0);
    if approve || called { config::codeowners(repo, tip).await } else { Ok(None) }
}

/// Where somebody disputes a failure: whose test it is.
pub(super) async fn owners_in_question(
    client: &Client,
    snapshot: &mut Snapshot,
    tip: Sha,
    policy: &Policy,
    previous: Option<&LoopState>,
) -> Result<(), Error> {
    let files = disputes::files_in_question(Look { snapshot, policy, now: client.now() }, previous);
    for file in files.iter().take(MOST_DISPUTED) {
        let newest = pull::newest_commit(client.repo(&snapshot.repository), tip, file).await?;
        let author = newest.and_then(|commit| commit.author).map(|author| (file.clone(), author));
        snapshot.test_authors.extend(author);
    }
    if !files.is_empty() && snapshot.codeowners.is_none() {
        snapshot.codeowners = config::codeowners(client.repo(&snapshot.repository), tip).await?;
    }
    Ok(())
}

/// The base's folders matter where a gate asks for new ones and a file was added in some folder.
pub(super) async fn folders(
    repo: Repo<'_>,
    tip: Sha,
    files: &ChangedFiles,
    policy: &Policy,
) -> Result<Option<BTreeSet<String>>, Error> {
    let asks = policy.gates.values().flat_map(|gate| gate.trigger.conditions()).any(|condition| match condition {
        GateTrigger::NewTopLevelFolder => true,
        GateTrigger::Rules(rules) => rules.iter().any(|(_, rule, _)| rule.condition == RuleCondition::NewFolder),
        _ => false,
    });
    let adds = |file: &ChangedFile| {
        matches!(file.status, FileStatus::Added | FileStatus::Renamed | FileStatus::Copied) && file.path.contains('/')
    };
    if asks && files.known().iter().any(adds) { config::folders(repo, tip).await } else { Ok(None) }
}

/// Whether the base's own evidence matters: something fails, the change is to keep what the base has, or it edits tests or
/// what decides which of them run.
pub(super) fn is_asked_for(
    evidence: &[ReceivedEvidence],
    pull_request: &PullRequest,
    files: &ChangedFiles,
    policy: &Policy,
) -> bool {
    let code_type = coverage::change_type(pull_request, files, &policy.coverage);
    let keeps = policy.coverage.target(code_type) == CoverageTarget::MatchBase
        || policy.coverage.judged_tests(code_type).any(|sort| sort == RequiredTest::ExistingTestsPass);
    let edits = |file: &ChangedFile| file.paths().any(|path| belongs_to_tests(path) || tamper::decides_what_runs(path));
    let edits_tests = tamper::holds_tests(files) || files.known().iter().any(edits);
    accepted(evidence)
        .any(|evidence| keeps || edits_tests || evidence.checks.iter().any(|check| check.outcome.is_failure()))
}

/// Check runs of the base, and the documents of its workflow runs.
pub(super) fn with_documents(checks: Option<BaseEvidence>, documents: Option<BaseEvidence>) -> Option<BaseEvidence> {
    match (checks, documents) {
        (Some(checks), Some(mut documents)) => {
            documents.checks.extend(checks.checks);
            Some(documents)
        }
        (checks, documents) => checks.or(documents),
    }
}

/// The checks of the commit the head is compared with, where one of the head's fails: the facts for blame, and the check
/// runs themselves.
pub(super) async fn evidence(
    repo: Repo<'_>,
    base: Sha,
    us: &AppIdentity,
    checks: &Checks,
    policy: &Policy,
    is_private: bool,
) -> Result<(Option<BaseEvidence>, Vec<ExternalCheck>), Error> {
    if !checks.has_mapped(&policy.verify, checks::has_failed) {
        return Ok((None, Vec::new()));
    }
    let read = if checks.has_mapped(&policy.verify, |check| check.id.is_none() && checks::has_failed(check)) {
        checks::read(repo, base, us).await
    } else {
        checks::read_runs(repo, base, us).await
    };
    let Some(mut on_base) = read.or_refused()? else { return Ok((None, Vec::new())) };
    // Two failures are distinguished by their logs and annotations.
    on_base.read_logs(repo, &policy.verify, is_private, &[]).await?;
    on_base.annotate(repo, &policy.verify, checks::MOST_ANNOTATED).await?;
    let mut evidence = BTreeMap::new();
    for (name, check) in &policy.verify.checks {
        if let CheckSource::External(source) = &check.source
            && let Some(found) = on_base.evidence(name, check.kind, source)
        {
            evidence.insert(name.clone(), found);
        }
    }
    let evidence = (!evidence.is_empty()).then_some(BaseEvidence { sha: base, checks: evidence, coverage: None });
    Ok((evidence, on_base.external))
}

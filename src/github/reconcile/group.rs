//! Merge groups: a queue merges pull requests onto a commit of its own and asks whether that commit may become the
//! base. Every pull request in it is looked at again, and the two check runs are written on the group's commit, so that
//! the queue goes on.
//!
//! Nothing on the pull requests themselves is changed here. They are looked at afterwards, with the group's result for
//! a hint: the queue deletes the group, and each of them keeps the result.

use std::collections::BTreeSet;

use crate::github::{
    act::plan,
    client::{
        Client,
        error::{Error, OrAbsent as _, Result},
        wire::{GitCommit, ListedCommit},
    },
    observe::{ObservedSurface, evidence_memory},
    reconcile::{Failed, Preview, Reconcile, request::ReconcileRequest},
};
use loopgate_core::{
    self, InstallationId, PrNumber, RepoName, Sha, Timestamp,
    concerns::gates::GateReport,
    deciding::{CheckRunPlan, Decision, Surface},
    observed::{Hint, Lifecycle, QueueGroup, Snapshot},
    policy::CheckSource,
    state::LoopState,
};
use loopgate_render::{self as render, GroupMember, Rendered};
use loopgate_webhook::Target;

/// Pages of a group's commits read at most: 250 commits is all GitHub shows.
const MOST_PAGES: usize = 3;
/// Pull requests of one group looked at most; GitHub's own limit of a group is 100.
const MOST_MEMBERS: usize = 100;

/// A commit on which pull requests wait to be merged together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeGroup {
    pub installation: Option<InstallationId>,
    pub repository: RepoName,
    pub head: Sha,
    pub base: Sha,
    /// `refs/heads/main`.
    pub base_ref: String,
    /// The queue's own branch, `refs/heads/gh-readonly-queue/main/pr-12-…`.
    pub head_ref: Option<String>,
}

impl MergeGroup {
    /// The group that a target stands for, if it stands for one; the hints may name the queue's own branch.
    pub fn of(
        installation: Option<InstallationId>,
        target: &Target,
        hints: &[Hint],
    ) -> Option<Self> {
        let Target::MergeGroup {
            repository,
            head,
            base,
            base_ref,
        } = target
        else {
            return None;
        };
        let head_ref = hints.iter().find_map(|hint| match hint {
            Hint::MergeGroup {
                head: told,
                head_ref,
                ..
            } if told == head => head_ref.clone(),
            _ => None,
        });
        let (repository, base_ref) = (repository.clone(), base_ref.clone());
        Some(Self {
            installation,
            repository,
            head: *head,
            base: *base,
            base_ref,
            head_ref,
        })
    }
}

/// The answer to a queue, and the pull requests that it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredGroup {
    pub answer: GroupAnswer,
    /// How the group stands by its own evidence; `None` if Loopgate looks after none of its pull requests.
    pub result: Option<QueueGroup>,
    /// Its open pull requests, and those that were in a group with one of them.
    pub pulls: Vec<PrNumber>,
}

impl AnsweredGroup {
    const DORMANT: Self = Self {
        answer: GroupAnswer::Dormant,
        result: None,
        pulls: Vec::new(),
    };
}

/// What the queue was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupAnswer {
    /// None of its pull requests is ours to look after.
    Dormant,
    /// Its own checks still run: to be answered again when they report.
    Unfinished,
    Final,
}

impl Reconcile {
    /// Answers a merge queue.
    ///
    /// # Errors
    /// [`Failed`] when GitHub does not answer or asks to wait.
    pub async fn merge_group(
        &self,
        group: &MergeGroup,
        now: Timestamp,
    ) -> Result<AnsweredGroup, Failed> {
        evidence_memory::shared(Box::pin(self.answer_group(group, now))).await
    }

    async fn answer_group(
        &self,
        group: &MergeGroup,
        now: Timestamp,
    ) -> Result<AnsweredGroup, Failed> {
        let client = self.github.client(group.installation);
        let Some((mut result, unnamed)) = entries(&client, group, now).await.or_absent()? else {
            return Ok(AnsweredGroup::DORMANT);
        };
        let (mut members, mut looks) = (Vec::new(), Vec::new());
        let mut pulls: BTreeSet<PrNumber> = result.entries.iter().copied().collect();
        for number in result.entries.clone() {
            let (installation, repository) = (group.installation, group.repository.clone());
            let job = ReconcileRequest {
                installation,
                repository,
                number,
                hints: Vec::new(),
            };
            let Some(mut looked) = self.peek(&job, now).await? else {
                continue;
            };
            if looked.snapshot.pull_request.lifecycle == Lifecycle::Open {
                let (member, tested) = self.member(&client, group, &looked, now).await?;
                members.push(member);
                if let (Some(tested), true) = (tested, result.has_no_evidence()) {
                    result = tested.queue_group(result);
                }
                pulls.extend(looked.decision.next.concerns.queue.companions(number));
                // Of a group of many the evidence of one is held at a time.
                looked.snapshot.evidence.clear();
                looks.push(looked.snapshot);
            }
        }
        let Some(first) = looks.first() else {
            return Ok(AnsweredGroup::DORMANT);
        };
        let is_known = |commit: &ListedCommit| {
            // The message is what a rebase keeps.
            let mut known = looks.iter().flat_map(|look: &Snapshot| &look.commits.items);
            known.any(|known| known.message.trim() == commit.commit.message.trim())
        };
        let unknown: Vec<Sha> = unnamed
            .iter()
            .filter(|commit| !is_known(commit))
            .map(|commit| commit.sha)
            .collect();
        let [(verify, verify_text), (gates, gates_text)] = render::merge_group(&members, &unknown);
        let texts = Rendered {
            verify: verify_text,
            gates: gates_text,
            ..Rendered::default()
        };
        // Of ours there are check runs on the group's commit, and nothing else to compare with.
        let check_runs = self
            .observer
            .own_check_runs(client.repo(&group.repository), group.head)
            .await?;
        let mut pull_request = first.pull_request.clone();
        pull_request.head.sha = group.head;
        let (repository, us) = (group.repository.clone(), first.app.bot_id);
        let observed = ObservedSurface {
            repository,
            pull_request,
            check_runs,
            us,
            ..ObservedSurface::default()
        };
        let wished = Surface {
            verify: Some(verify),
            gates: Some(gates),
            ..Surface::default()
        };
        let effects = plan(&observed, &wished, &texts);
        let executed = self
            .executor
            .execute(&client, &observed, &effects)
            .await
            .map_err(Failed::from)?;
        if let Some(until) = executed.again_at {
            return Err(Error::Paced { until }.into());
        }
        for problem in &executed.problems {
            tracing::warn!(
                what = problem.what,
                reason = problem.reason,
                "the merge queue could not be answered"
            );
        }
        let answer = if verify == CheckRunPlan::InProgress {
            GroupAnswer::Unfinished
        } else {
            GroupAnswer::Final
        };
        Ok(AnsweredGroup {
            answer,
            result: Some(result),
            pulls: pulls.into_iter().collect(),
        })
    }

    /// How one pull request stands, verified by the group's own evidence where it has any: then with the decision on
    /// it.
    async fn member(
        &self,
        client: &Client,
        group: &MergeGroup,
        looked: &Preview,
        now: Timestamp,
    ) -> Result<(GroupMember, Option<Decision>), Failed> {
        let Preview {
            snapshot,
            policy,
            decision,
        } = looked;
        let on_group = self
            .observer
            .on_commit(client.repo(&group.repository), group.head, snapshot, policy)
            .await?;
        let closed = decision.view.gates.iter().filter(|gate| gate.is_closed());
        let closed = closed.map(|gate: &GateReport| gate.name.clone()).collect();
        let tested = on_group.map(|on_group| {
            // Reviewers look at pull requests, and decided there.
            let mut policy = policy.clone();
            policy
                .verify
                .checks
                .retain(|_, check| !matches!(check.source, CheckSource::Reviewer(_)));
            // A run of its own: earlier attempts on the pull request do not concern this commit.
            let mut state = LoopState::begin(&on_group, &policy, now);
            state.people.skips.clone_from(&decision.next.people.skips);
            loopgate_core::deciding::decide(&on_group, &state, &policy, now)
        });
        let verify = tested
            .as_ref()
            .unwrap_or(decision)
            .surface
            .verify
            .unwrap_or(CheckRunPlan::InProgress);
        Ok((
            GroupMember {
                number: snapshot.pull_request.number,
                closed,
                verify,
                is_tested: tested.is_some(),
            },
            tested,
        ))
    }
}

/// Finds the pull requests between a group's base and its head, oldest first, and the commits that name none.
///
/// GitHub names each in the message of its merge or squash commit; rebased commits keep their own messages, and there
/// only the queue's branch names the last of them. What is named counts only if it is open and into this base.
async fn entries(
    client: &Client,
    group: &MergeGroup,
    now: Timestamp,
) -> Result<(QueueGroup, Vec<ListedCommit>)> {
    let MergeGroup {
        repository,
        head,
        base,
        base_ref,
        head_ref,
        ..
    } = group;
    let repo = client.repo(repository);
    let compare = repo.path(format!("compare/{base}...{head}"));
    let branch = base_ref.strip_prefix("refs/heads/").unwrap_or(base_ref);
    let (commits, open) = futures::try_join!(
        repo.list::<ListedCommit>(&compare, MOST_PAGES),
        repo.open_pull_requests(Some(branch))
    )?;
    let named = |number: Option<u64>| {
        number
            .map(PrNumber::new)
            .filter(|number| open.contains(number))
    };
    let of_head = commits
        .items
        .iter()
        .find(|commit| commit.sha == *head)
        .map(|listed| &listed.commit);
    let (tree, made_at) = (
        of_head.map(|commit| commit.tree.sha),
        of_head.and_then(GitCommit::made_at),
    );
    let (mut numbers, mut unnamed) = (Vec::new(), Vec::new());
    for commit in first_parents(&commits.items, *head, *base) {
        match named(number_in(&commit.commit.message)) {
            Some(number) => numbers.push(number),
            None => unnamed.push(commit.clone()),
        }
    }
    numbers.extend(
        head_ref
            .as_deref()
            .and_then(number_in_branch)
            .and_then(|number| named(Some(number))),
    );
    numbers.sort_unstable();
    numbers.dedup();
    numbers.truncate(MOST_MEMBERS);
    Ok((
        QueueGroup::without_evidence(*head, tree, numbers, made_at.unwrap_or(now)),
        unnamed,
    ))
}

/// The commits that the queue made, from the head down to the base.
fn first_parents(commits: &[ListedCommit], head: Sha, base: Sha) -> Vec<&ListedCommit> {
    let mut chain = Vec::new();
    let mut at = head;
    while at != base && chain.len() <= commits.len() {
        let Some(commit) = commits.iter().find(|commit| commit.sha == at) else {
            break;
        };
        chain.push(commit);
        let Some(parent) = commit.parents.first() else {
            break;
        };
        at = parent.sha;
    }
    chain
}

/// The number in "Merge pull request #12 from …", or at the end of "Title (#12)", as GitHub writes them.
fn number_in(message: &str) -> Option<u64> {
    let first = message.lines().next()?.trim_end();
    if let Some(rest) = first.strip_prefix("Merge pull request #") {
        return rest.split(' ').next()?.parse().ok();
    }
    first.strip_suffix(')')?.rsplit_once("(#")?.1.parse().ok()
}

/// The number in `refs/heads/gh-readonly-queue/main/pr-12-0123abcd`.
fn number_in_branch(head_ref: &str) -> Option<u64> {
    head_ref
        .rsplit_once("/pr-")?
        .1
        .split('-')
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_read_where_github_writes_them() {
        for (message, number) in [
            (
                "Merge pull request #12 from acme/fix\n\nMend (#9)",
                Some(12),
            ),
            ("Mend the thing (#13)", Some(13)),
            ("Revert \"Mend (#13)\" (#14)\n\n* a (#1)", Some(14)),
            ("Mend (#13) again", None),
            ("Merge pull request #x from acme/fix", None),
            ("(#)", None),
            ("", None),
        ] {
            assert_eq!(number_in(message), number, "{message}");
        }
        assert_eq!(
            number_in_branch("refs/heads/gh-readonly-queue/release/1.0/pr-12-0123abcd"),
            Some(12)
        );
        assert_eq!(number_in_branch("refs/heads/main"), None);
    }

    #[test]
    fn only_the_queues_own_commits_are_followed() {
        let sha = |byte: u8| Sha::from_bytes([byte; 20]);
        let commit = |byte: u8, parents: &[u8]| -> ListedCommit {
            let parents: Vec<_> = parents
                .iter()
                .map(|parent| json!({ "sha": sha(*parent) }))
                .collect();
            let commit = json!({ "tree": { "sha": sha(byte) } });
            serde_json::from_value(
                json!({ "sha": sha(byte), "commit": commit, "parents": parents }),
            )
            .unwrap()
        };
        // 1 is the base; 2 and 4 are merges of 3 and 5.
        let commits = [
            commit(3, &[1]),
            commit(2, &[1, 3]),
            commit(5, &[1]),
            commit(4, &[2, 5]),
        ];
        let chain: Vec<Sha> = first_parents(&commits, sha(4), sha(1))
            .iter()
            .map(|commit| commit.sha)
            .collect();
        assert_eq!(chain, [sha(4), sha(2)]);
        // A circle, or a hole, ends.
        assert_eq!(first_parents(&[commit(2, &[2])], sha(2), sha(1)).len(), 2);
        assert!(first_parents(&commits, sha(9), sha(1)).is_empty());
    }
}

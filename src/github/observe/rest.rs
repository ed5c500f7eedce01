//! The second step of reading a pull request: what the decision needs beside its [`PullRequestFacts`].

use std::collections::BTreeSet;

use super::{
    LeftCheckRun, Observation, ObservedSurface, Observer, OwnCheckRun, PullReading,
    PullRequestFacts, Target, base,
    checks::{self, Checks},
    config, contents,
    conversation::{self, Comments},
    evidence, makers, scope, surface,
};
use crate::github::{
    client::{error::Result, repo::Repo},
    observe::resolve::ListedPull,
};
use loopgate_core::{
    concerns::{
        gates::{AuthorityQuestions, may_approve, questions},
        reviewers,
    },
    deciding::files_to_read,
    observed::{
        Base, BaseEvidence, CheckScope, Hint, Lifecycle, ReceivedEvidence, Review, ReviewVerdict,
        Snapshot, WorkflowRun,
    },
    policy::{CheckSource, Policy},
    state::LoopState,
};

/// Reviewers whose rights are looked up beside those whom gates ask about, and people who pressed a button.
const MOST_REVIEWERS: usize = 50;

/// Names of other base branches that are looked up, the newest first.
const MOST_BASE_NAMES: usize = 5;

/// Puts what is read into its place.
async fn put<T>(place: &mut T, read: impl Future<Output = Result<T>>) -> Result<()> {
    *place = read.await?;
    Ok(())
}

impl Observer {
    /// Reads the rest. `previous` is the state as it was saved, if there is one.
    ///
    /// # Errors
    /// Every kind of [`Error`](crate::github::client::error::Error).
    pub async fn complete(
        &self,
        target: Target<'_>,
        mut facts: PullRequestFacts,
        mut hints: Vec<Hint>,
        previous: Option<&LoopState>,
    ) -> Result<Observation> {
        let Target { repo, number } = target;
        let saved_policy = previous.and_then(|state| state.head.policy_sha);
        let policy = config::settled(repo, facts.policy.clone(), saved_policy).await?;
        let mut checks = std::mem::take(&mut facts.checks);
        // A head without a state or a check run of ours was decided nowhere else.
        let may_be_shared = previous.is_some() || !checks.own.is_empty();
        let reading = PullReading {
            observer: self,
            repo,
            facts: &facts,
            policy: &policy,
            hints: &hints,
            previous,
        };
        let (pull, tip) = (&facts.pull, facts.base.tip);
        let mut read = Snapshot::default();
        let mut earlier_names = BTreeSet::new();
        let (
            results,
            assigned,
            declared_type,
            inline,
            edits,
            (left, left_heads),
            others,
            known_since,
            ..,
        ) = futures::try_join!(
            reading.results(&mut checks),
            reading.assigned_agents(),
            reading.declared_type(),
            conversation::inline(repo, number, pull.has_inline),
            reading.unheard_edits(),
            reading.left_behind(),
            reading.others(may_be_shared),
            reading.known_since(),
            put(&mut read.makers, makers::authors(repo, &facts.changes)),
            put(&mut read.assignments, reading.assignments()),
            put(&mut read.dismissed_by, reading.dismissed_by()),
            put(&mut read.review_threads, reading.review_threads()),
            put(&mut read.required_approvals, reading.required_approvals()),
            put(&mut read.stack, reading.stack()),
            put(&mut read.queue, reading.queue()),
            put(&mut read.codeowners, reading.codeowners()),
            put(&mut earlier_names, reading.earlier_names()),
            put(
                &mut read.base_folders,
                base::folders(repo, tip, &facts.changes.files, &policy)
            ),
        )?;
        hints.extend(edits);
        let judged_on = scope::judge(repo, pull, &others, &self.registry).await?;
        makers::mark_update_merges(repo, &mut facts.changes, &policy).await?;
        facts.pull.pull_request.head.known_since = known_since;
        facts.pull.pull_request.declared_type = declared_type;
        facts.pull.pull_request.base.earlier_names = earlier_names;
        let reading = PullReading {
            observer: self,
            repo,
            facts: &facts,
            policy: &policy,
            hints: &hints,
            previous,
        };
        let (evidence, workflow_runs, base_checks, awaits_logs) = results;
        let base_evidence = reading.base_evidence(&evidence, base_checks).await?;
        let surface = facts.surface(&mut checks, repo, &inline, &others, left);
        facts.problems.append(&mut checks.problems);
        evidence::drop_superseded(&mut checks.external, &facts.runs);
        read.makers.assigned = assigned;
        let mut snapshot = Snapshot {
            repository: repo.name.clone(),
            app: facts.us,
            pull_request: facts.pull.pull_request.clone(),
            files: facts.changes.files,
            merge_base: facts.changes.merge_base,
            commits: facts.changes.commits,
            comments: facts.comments.listing,
            reviews: facts.reviews,
            inline: inline.listing,
            checks: checks.external,
            forged_checks: checks.forged,
            evidence,
            workflow_runs,
            held_runs: evidence::held(&facts.runs),
            all_runs: evidence::all(&facts.runs),
            base_evidence,
            judged_on,
            left_heads,
            hints,
            problems: facts.problems,
            readings: self.readings.clone(),
            ..read
        };
        Box::pin(base::owners_in_question(
            repo,
            &mut snapshot,
            tip,
            &policy,
            previous,
        ))
        .await?;
        let asks = may_approve(&snapshot, previous, &policy);
        makers::pushes(repo, &mut snapshot, &facts.pull, tip, previous, asks).await?;
        let asked = needed_rights(&snapshot, previous, &policy);
        snapshot.authority = self.registry.look_up(repo, &asked).await?;
        contents::read(repo, &mut snapshot, |seen| {
            files_to_read(seen, previous, &policy, repo.now())
        })
        .await?;
        let is_head_shared = others.iter().any(|other| other.number != number);
        let (merged_as, pull) = (facts.base.merged_as, facts.pull);
        Ok(Observation {
            snapshot,
            base_head: tip,
            policy,
            surface,
            merged_as,
            is_head_shared,
            awaits_logs,
            pull,
        })
    }
}

/// What ran on the head, the base's checks where one of the head's failed, and whether a log is not there yet.
type Results = (
    Vec<ReceivedEvidence>,
    Vec<WorkflowRun>,
    Option<BaseEvidence>,
    bool,
);

impl PullReading<'_> {
    async fn results(&self, checks: &mut Checks) -> Result<Results> {
        let Self {
            repo,
            facts,
            policy,
            ..
        } = *self;
        let head = facts.pull.pull_request.head.sha;
        let (listed, unlisted) = evidence::listed(&facts.runs, repo.name, &policy.verify);
        let awaits_evidence = policy
            .verify
            .checks
            .values()
            .any(|check| matches!(check.source, CheckSource::Command(_)));
        let evidence = async {
            if listed.is_empty() && awaits_evidence {
                evidence::refuse_unlisted(repo, &unlisted).await
            } else {
                evidence::read(repo, head, &listed).await
            }
        };
        // Annotations and logs of failed checks, the base's checks, and whether a log is not there yet.
        let check_details = async {
            let (base, on_base) = self.base_checks(checks).await?;
            // The log of a green job is compared only once the head has a verdict, so that no verdict waits for it.
            let last = self
                .previous
                .and_then(|state| state.attempts.counted.last());
            let green = if last.is_some_and(|last| last.head_sha == head) {
                on_base.as_slice()
            } else {
                &[]
            };
            let awaits_logs = checks
                .read_logs(repo, &policy.verify, facts.pull.is_private, green)
                .await?;
            checks
                .annotate(repo, &policy.verify, checks::MOST_ANNOTATED)
                .await?;
            Ok((base, awaits_logs))
        };
        let (evidence, (base_checks, awaits_logs)) = futures::try_join!(evidence, check_details)?;
        let workflow_runs = evidence::with_jobs(repo, &listed, &evidence).await?;
        Ok((evidence, workflow_runs, base_checks, awaits_logs))
    }

    /// The names of other base branches in the record that lead to the present one: it was renamed since. A branch
    /// that was deleted, or is another one, answers for itself.
    async fn earlier_names(&self) -> Result<BTreeSet<String>> {
        let present = &self.facts.pull.pull_request.base.branch;
        let record = self.previous.map(|state| &state.head.sightings);
        let mut names: Vec<&str> = Vec::new();
        for seen in record.into_iter().flatten().rev() {
            let name = seen.base.as_deref().unwrap_or(present);
            if name != present && !names.contains(&name) {
                names.push(name);
            }
        }
        names.truncate(MOST_BASE_NAMES);
        let mut found = BTreeSet::new();
        for name in names {
            if config::present_name(self.repo, name).await?.as_ref() == Some(present) {
                found.insert(name.to_owned());
            }
        }
        Ok(found)
    }

    async fn required_approvals(&self) -> Result<u32> {
        let (repo, name) = (self.repo, &self.facts.pull.pull_request.base.branch);
        match self.facts.base.branch {
            Some(branch) => Ok(self.observer.rules.of(repo, name, branch).await?.approvals),
            None => Ok(0),
        }
    }
}

impl PullRequestFacts {
    /// What is on the pull request already, with the checks' own runs taken out of `checks`.
    fn surface(
        &self,
        checks: &mut Checks,
        repo: Repo<'_>,
        inline: &Comments,
        others: &[ListedPull],
        mut left: Vec<LeftCheckRun>,
    ) -> ObservedSurface {
        let Self { pull, us, .. } = self;
        let pull_request = &pull.pull_request;
        let Base { branch, scope, .. } = &pull_request.base;
        if pull_request.lifecycle == Lifecycle::Open {
            let default_branch = pull.default_branch.as_deref().unwrap_or_default();
            let retargeted = |run: &OwnCheckRun| {
                run.left_by_retargeting(pull_request.head.sha, &pull_request.base, default_branch)
            };
            left.extend(checks.own.iter().filter_map(retargeted));
        }
        let shares = |other: &&ListedPull| {
            let same_name =
                matches!(scope, CheckScope::Pattern(_)) || other.governed_by() == branch;
            other.number != pull_request.number && other.base.branch != pull.target && same_name
        };
        let (status_comments, posts) = surface::own_comments(&self.comments.listing.items, us);
        let reactions = self.comments.reactions.iter().chain(&inline.reactions);
        ObservedSurface {
            repository: repo.name.clone(),
            pull_request: pull_request.clone(),
            reviewed: self
                .reviews
                .items
                .iter()
                .map(|review| review.author.login.clone())
                .collect(),
            status_comments,
            posts,
            check_runs: std::mem::take(&mut checks.own),
            left,
            sharing: others
                .iter()
                .filter(shares)
                .map(|other| other.number)
                .collect(),
            reactions: reactions.map(|(to, given)| (*to, given.clone())).collect(),
            us: us.bot_id,
        }
    }
}

/// What gates ask about, who reviewed (a required review counts by people with write only), and who pressed a button.
pub(super) fn needed_rights(
    snapshot: &Snapshot,
    previous: Option<&LoopState>,
    policy: &Policy,
) -> AuthorityQuestions {
    let checks = evidence::accepted(&snapshot.evidence).flat_map(|evidence| &evidence.checks);
    let findings: Vec<_> = checks.flat_map(|check| &check.findings).cloned().collect();
    let mut asked = questions(snapshot, previous, policy, &findings);
    let decisive = |review: &&Review| {
        matches!(
            review.verdict,
            ReviewVerdict::Approved | ReviewVerdict::ChangesRequested
        )
    };
    let reviews = snapshot
        .reviews
        .items
        .iter()
        .rev()
        .filter(decisive)
        .take(MOST_REVIEWERS);
    let named = snapshot
        .dismissed_by
        .values()
        .chain(snapshot.test_authors.values());
    let named = named
        .chain(reviews.map(|review| &review.author))
        .map(|by| (by.id, by.login.clone()));
    let resolvers = reviewers::resolvers(snapshot)
        .into_iter()
        .take(MOST_REVIEWERS);
    let pressed = snapshot
        .hints
        .iter()
        .filter_map(Hint::pressed_by)
        .take(MOST_REVIEWERS);
    let beside = named.chain(resolvers.map(|(id, account)| (id, account.login.clone())));
    for (id, login) in beside.chain(pressed.map(|by| (by.id, by.login.clone()))) {
        asked.people.entry(id).or_insert(login);
    }
    asked
}

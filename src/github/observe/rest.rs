//! The second step of reading a pull request: what the decision needs beside its [`PullRequestFacts`].

use std::collections::{BTreeMap, BTreeSet};

use super::{
    LeftCheckRun, Observation, ObservedSurface, Observer, OwnCheckRun, PullRequestFacts, Target, authors, base,
    checks::{self, Checks},
    config, contents,
    conversation::{self, Comments},
    edits, events, evidence, on_commit, pushes, queue, review_threads, scope, sighting, stack, surface, update_merges,
};
use crate::github::{Error, resolve::ListedPull};
use loopgate_core::{
    ReviewId, Sha, Timestamp,
    deciding::files_to_read,
    gate::{AuthorityQuestions, may_approve, questions},
    observed::{
        Account, Assignments, Authority, Base, BaseEvidence, CheckScope, CodeType, Contents, Hint, Lifecycle, Listing,
        Makers, QueueStanding, ReceivedEvidence, Review, ReviewThread, ReviewVerdict, Snapshot, Stack, WorkflowRun,
    },
    policy::{CheckSource, Policy},
    state::LoopState,
    verdict::reviewers,
};

/// Reviewers whose rights are looked up beside those whom gates ask about, and people who pressed a button.
const MOST_REVIEWERS: usize = 50;

impl Observer {
    /// Reads the rest. `previous` is the state as it was saved, if there is one.
    ///
    /// # Errors
    /// Every kind of [`Error`].
    pub async fn complete(
        &self,
        target: Target<'_>,
        mut facts: PullRequestFacts,
        mut hints: Vec<Hint>,
        previous: Option<&LoopState>,
    ) -> Result<Observation, Error> {
        let repo = target.repo;
        let saved_policy = previous.and_then(|state| state.policy_sha);
        let policy = config::settled(repo, facts.policy.clone(), saved_policy).await?;
        let mut checks = std::mem::take(&mut facts.checks);
        // A head without a state or a check run of ours was decided nowhere else.
        let may_be_shared = previous.is_some() || !checks.own.is_empty();
        let reading = Reading { observer: self, target, facts: &facts, policy: &policy, previous };
        let (results, people, surroundings) = futures::try_join!(
            reading.results(&mut checks),
            reading.people(&hints),
            reading.surroundings(&hints, may_be_shared),
        )?;
        hints.extend(people.edits.iter().cloned());
        let judged_on = scope::judge(repo, &facts.pull, &surroundings.others, &self.registry).await?;
        update_merges::mark(repo, &mut facts.changes, &policy).await?;
        facts.pull.pull_request.head.known_since = surroundings.known_since;
        facts.pull.pull_request.declared_type = people.declared_type;
        let reading = Reading { observer: self, target, facts: &facts, policy: &policy, previous };
        let base_evidence = reading.base_evidence(&results).await?;
        let surface = reading.surface(&mut checks, &people, &surroundings);
        facts.problems.append(&mut checks.problems);

        let is_head_shared = surroundings.others.iter().any(|other| other.number != target.number);
        let mut snapshot = Snapshot {
            repository: repo.name.clone(),
            app: facts.us,
            pull_request: facts.pull.pull_request.clone(),
            files: facts.changes.files,
            merge_base: facts.changes.merge_base,
            contents: Contents::default(),
            base_folders: surroundings.base_folders,
            assignments: people.assignments,
            commits: facts.changes.commits,
            makers: Makers { assigned: people.assigned, ..people.makers },
            comments: facts.comments.listing,
            reviews: facts.reviews,
            dismissed_by: people.dismissed_by,
            inline: people.inline.listing,
            review_threads: people.review_threads,
            checks: checks.external,
            forged_checks: checks.forged,
            evidence: results.evidence,
            workflow_runs: results.workflow_runs,
            held_runs: evidence::held(&facts.runs),
            base_evidence,
            required_approvals: surroundings.required_approvals,
            judged_on,
            left_heads: surroundings.left_heads,
            stack: surroundings.stack,
            queue: surroundings.queue,
            authority: Authority::default(),
            codeowners: surroundings.codeowners,
            test_authors: BTreeMap::new(),
            hints,
            problems: facts.problems,
        };
        Box::pin(base::owners_in_question(repo.client, &mut snapshot, facts.base.tip, &policy, previous)).await?;
        let asks = may_approve(&snapshot, previous, &policy);
        pushes::read(repo.client, &mut snapshot, &facts.pull, facts.base.tip, previous, asks).await?;
        let asked = whose_rights_matter(&snapshot, previous, &policy);
        snapshot.authority = self.registry.look_up(repo, &asked).await?;
        contents::read(repo.client, &mut snapshot, |seen| files_to_read(seen, previous, &policy, repo.now())).await?;
        let (base_head, merged_as, awaits_logs) = (facts.base.tip, facts.base.merged_as, results.awaits_logs);
        Ok(Observation { snapshot, base_head, policy, surface, merged_as, is_head_shared, awaits_logs })
    }
}

/// What every read of this step goes by.
struct Reading<'a> {
    observer: &'a Observer,
    target: Target<'a>,
    facts: &'a PullRequestFacts,
    policy: &'a Policy,
    previous: Option<&'a LoopState>,
}

/// What ran on the head, and the base's checks where one of the head's failed.
struct Results {
    evidence: Vec<ReceivedEvidence>,
    workflow_runs: Vec<WorkflowRun>,
    base_checks: Option<BaseEvidence>,
    awaits_logs: bool,
}

/// Who made the change and who spoke about it.
struct People {
    makers: Makers,
    assigned: Vec<Account>,
    assignments: Assignments,
    declared_type: Option<CodeType>,
    dismissed_by: BTreeMap<ReviewId, Account>,
    inline: Comments,
    review_threads: Listing<ReviewThread>,
    /// Edits of comments of which no event came.
    edits: Vec<Hint>,
}

/// What stands around the change: its base, its stack, and other pull requests.
struct Surroundings {
    codeowners: Option<String>,
    base_folders: Option<BTreeSet<String>>,
    required_approvals: u32,
    stack: Option<Stack>,
    queue: Option<QueueStanding>,
    /// Other open pull requests with this head.
    others: Vec<ListedPull>,
    left: Vec<LeftCheckRun>,
    left_heads: BTreeSet<Sha>,
    known_since: Option<Timestamp>,
}

impl Reading<'_> {
    async fn results(&self, checks: &mut Checks) -> Result<Results, Error> {
        let Self { facts, policy, .. } = self;
        let (repo, head) = (self.target.repo, facts.pull.pull_request.head.sha);
        let (listed, unlisted) = evidence::listed(&facts.runs, repo.name, &policy.verify);
        let awaits_evidence =
            policy.verify.checks.values().any(|check| matches!(check.source, CheckSource::Command(_)));
        let evidence = async {
            if listed.is_empty() && awaits_evidence {
                evidence::refuse_unlisted(repo, &unlisted).await
            } else {
                evidence::read(repo, head, &listed).await
            }
        };
        let (evidence, (base_checks, awaits_logs)) = futures::try_join!(evidence, self.check_details(checks))?;
        let workflow_runs = evidence::with_jobs(repo, &listed, &evidence).await?;
        Ok(Results { evidence, workflow_runs, base_checks, awaits_logs })
    }

    /// Annotations and logs of failed checks, the base's checks, and whether a log is not there yet.
    async fn check_details(&self, checks: &mut Checks) -> Result<(Option<BaseEvidence>, bool), Error> {
        let Self { facts, policy, .. } = self;
        let repo = self.target.repo;
        let (commit, is_private) = (facts.pull.compared_base, facts.pull.is_private);
        let (base, on_base) = base::evidence(repo, commit, &facts.us, checks, policy, is_private).await?;
        // The log of a green job is compared only once the head has a verdict, so that no verdict waits for it.
        let last = self.previous.and_then(|state| state.attempts.last());
        let has_verdict = last.is_some_and(|last| last.head_sha == facts.pull.pull_request.head.sha);
        let green = if has_verdict { on_base.as_slice() } else { &[] };
        let awaits_logs = checks.read_logs(repo, &policy.verify, is_private, green).await?;
        checks.annotate(repo, &policy.verify, checks::MOST_ANNOTATED).await?;
        Ok((base, awaits_logs))
    }

    /// The base's checks, with the documents of its workflow runs where they matter.
    async fn base_evidence(&self, results: &Results) -> Result<Option<BaseEvidence>, Error> {
        let Self { facts, policy, .. } = self;
        let checks = results.base_checks.clone();
        if !base::is_asked_for(&results.evidence, &facts.pull.pull_request, &facts.changes.files, policy) {
            return Ok(checks);
        }
        let (compared, tip) = (facts.pull.compared_base, facts.base.tip);
        let commits = if compared == tip { vec![tip] } else { vec![compared, tip] };
        let documents = evidence::of_base(self.target.repo, &commits, &policy.verify).await?;
        Ok(base::with_documents(checks, documents))
    }

    async fn people(&self, hints: &[Hint]) -> Result<People, Error> {
        let Self { facts, policy, previous, .. } = *self;
        let Target { repo, number } = self.target;
        let pull_request = &facts.pull.pull_request;
        let (at, threads) = ((pull_request.head.sha, hints), &self.observer.threads);
        let (makers, assigned, assignments, declared_type, dismissed_by, inline, review_threads, edits) = futures::try_join!(
            authors::read(repo, &facts.changes),
            events::assigned_agents(repo, number, policy),
            events::assignments(repo, pull_request, &policy.coding_agents),
            events::declared_type(repo, pull_request, &self.observer.registry),
            events::dismissed_by(repo, number, &facts.reviews.items, previous),
            conversation::inline(repo, number, facts.pull.has_inline),
            review_threads::read(self.target, at, &policy.verify, threads),
            edits::unheard(&repo, &facts.comments, hints, &facts.us, previous),
        )?;
        Ok(People { makers, assigned, assignments, declared_type, dismissed_by, inline, review_threads, edits })
    }

    async fn surroundings(&self, hints: &[Hint], may_be_shared: bool) -> Result<Surroundings, Error> {
        let Self { facts, policy, previous, .. } = *self;
        let (repo, base) = (self.target.repo, &facts.pull.pull_request.base);
        let required_approvals = async {
            match &facts.base.branch {
                Some(branch) => self.observer.rules.required_approvals(repo, &base.branch, *branch).await,
                None => Ok(0),
            }
        };
        let stack = async {
            match &facts.base.layers {
                Some(layers) => stack::standing(repo, layers, base, &facts.us).await.map(Some),
                None => Ok(None),
            }
        };
        let (required_approvals, stack, queue, codeowners, base_folders, (left, left_heads), others, known_since) = futures::try_join!(
            required_approvals,
            stack,
            queue::standing(repo, &facts.pull, hints, previous),
            base::codeowners(repo, facts.base.tip, policy, previous),
            base::folders(repo, facts.base.tip, &facts.changes.files, policy),
            on_commit::left_behind(repo, &facts.pull, &facts.us, previous),
            on_commit::others(repo, &facts.pull, may_be_shared),
            sighting::known_since(repo, &facts.pull, hints, previous),
        )?;
        Ok(Surroundings {
            codeowners,
            base_folders,
            required_approvals,
            stack,
            queue,
            others,
            left,
            left_heads,
            known_since,
        })
    }

    /// What is on the pull request already, with the checks' own runs taken out of `checks`.
    fn surface(&self, checks: &mut Checks, people: &People, surroundings: &Surroundings) -> ObservedSurface {
        let Self { facts, .. } = self;
        let (pull, us) = (&facts.pull, &facts.us);
        let pull_request = &pull.pull_request;
        let Base { branch, scope, .. } = &pull_request.base;
        let mut left = surroundings.left.clone();
        if pull_request.lifecycle == Lifecycle::Open {
            let default_branch = pull.default_branch.as_deref().unwrap_or_default();
            let retargeted =
                |run: &OwnCheckRun| run.left_by_retargeting(pull_request.head.sha, &pull_request.base, default_branch);
            left.extend(checks.own.iter().filter_map(retargeted));
        }
        let shares = |other: &&ListedPull| {
            let same_name = matches!(scope, CheckScope::Pattern(_)) || other.governed_by() == branch;
            other.number != pull_request.number && other.base.branch != pull.target && same_name
        };
        let (status_comments, posts) = surface::own_comments(&facts.comments.listing.items, us);
        let reactions = facts.comments.reactions.iter().chain(&people.inline.reactions);
        ObservedSurface {
            repository: self.target.repo.name.clone(),
            pull_request: pull_request.clone(),
            reviewed: facts.reviews.items.iter().map(|review| review.author.login.clone()).collect(),
            status_comments,
            posts,
            check_runs: std::mem::take(&mut checks.own),
            left,
            sharing: surroundings.others.iter().filter(shares).map(|other| other.number).collect(),
            reactions: reactions.map(|(to, given)| (*to, given.clone())).collect(),
            us: us.bot_id,
        }
    }
}

/// What gates ask about, who reviewed (a required review counts by people with write only), and who pressed a button.
pub(super) fn whose_rights_matter(
    snapshot: &Snapshot,
    previous: Option<&LoopState>,
    policy: &Policy,
) -> AuthorityQuestions {
    let checks = evidence::accepted(&snapshot.evidence).flat_map(|evidence| &evidence.checks);
    let findings: Vec<_> = checks.flat_map(|check| &check.findings).cloned().collect();
    let mut asked = questions(snapshot, previous, policy, &findings);
    for by in snapshot.dismissed_by.values().chain(snapshot.test_authors.values()) {
        asked.people.entry(by.id).or_insert_with(|| by.login.clone());
    }
    let decisive =
        |review: &&Review| matches!(review.verdict, ReviewVerdict::Approved | ReviewVerdict::ChangesRequested);
    for Review { author, .. } in snapshot.reviews.items.iter().rev().filter(decisive).take(MOST_REVIEWERS) {
        asked.people.entry(author.id).or_insert_with(|| author.login.clone());
    }
    for (id, account) in reviewers::resolvers(snapshot).into_iter().take(MOST_REVIEWERS) {
        asked.people.entry(id).or_insert_with(|| account.login.clone());
    }
    for by in snapshot.hints.iter().filter_map(Hint::pressed_by).take(MOST_REVIEWERS) {
        asked.people.entry(by.id).or_insert_with(|| by.login.clone());
    }
    asked
}

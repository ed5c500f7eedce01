//! Reads one pull request from the API, concurrently and conditionally, and nothing that the decision does not need.
//!
//! Reading goes in two steps. First come the [`PullRequestFacts`], which must be known before anything may be written:
//! the pull request, its head's checks and the policy. Then comes the rest, while the first check runs are already
//! being begun:
//!
//! ```text
//! 1  pull request · comments · reviews
//! 2  base branch · comparison · check runs · statuses · workflow runs     of the head just seen
//! 3  configuration                                                            at the base branch's head
//! 4  rules · annotations · artifacts · …    then the rights of those whom the gates ask about
//! ```
//!
//! Of an unchanged pull request steps 1 and 2 are asked again, each answered 304; what commits determine is kept, and
//! rights are believed for five minutes. A push between two reads is noticed, and everything read again.

mod authority;
mod authors;
mod base;
mod before_merge;
mod checks;
mod config;
mod contents;
mod conversation;
mod dormant;
mod edits;
mod events;
mod evidence;
mod job_logs;
mod organisation;
mod past;
mod pull;
mod pushes;
mod scope;
mod sighting;
mod stack;
mod surface;
mod survey;
mod update_merges;
mod workflow_file;

use self::{
    authority::Registry,
    checks::Checks,
    config::{BaseBranch, BranchRules, Tip},
    conversation::Comments,
    dormant::Dormant,
    evidence::HeadRun,
    organisation::Organisations,
    pull::{Changes, MergeCommit, Pull, Unread},
    stack::{ComparedWith, Layers},
};
pub(super) use self::{config::escalation_template, pull::pushed_between, surface::status_comments};
pub use self::{
    dormant::DormantRepository,
    past::{ListedPast, PastState},
    surface::{LeftCheckRun, ObservedSurface, OwnCheckRun, OwnComment},
    survey::CheckedConfiguration,
};
use super::{Client, Error, Github, path, resolve::OpenPull};
pub(super) use config::FILE as CONFIGURATION;
use loopgate_core::{
    PrNumber, RepoName, Sha, Timestamp,
    deciding::files_to_read,
    gate::{AuthorityQuestions, may_approve, questions},
    observed::{
        AppIdentity, Authority, Base, ChangedFiles, CheckScope, Commit, Completeness, Contents, Hint, Lifecycle,
        Listing, Makers, ObservationProblem, PullRequest, ReceivedEvidence, Review, ReviewVerdict, Snapshot,
    },
    policy::{CheckSource, Policy, StateBackend},
    state::LoopState,
};
use std::collections::{BTreeMap, BTreeSet};

/// Reads pull requests. Made once per process: it remembers what it may believe for a while.
pub struct Observer {
    github: Github,
    registry: Registry,
    rules: BranchRules,
    organisations: Organisations,
    /// Repositories without configuration: there everything else is asked for only once one appears.
    pub(super) dormant: Dormant,
}

/// Which pull request to read.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    pub repository: &'a RepoName,
    pub number: PrNumber,
}

/// What must be known before anything may be written.
pub struct PullRequestFacts {
    us: AppIdentity,
    pull: Pull,
    tip: Sha,
    branch: Option<BaseBranch>,
    policy: Policy,
    comments: Comments,
    reviews: Listing<Review>,
    files: ChangedFiles,
    commits: Listing<Commit>,
    merges: Vec<MergeCommit>,
    merge_base: Option<Sha>,
    nodes: BTreeMap<Sha, String>,
    checks: Checks,
    runs: Vec<HeadRun>,
    layers: Option<Layers>,
    is_merge_followed: bool,
    problems: Vec<ObservationProblem>,
}

/// One pull request, observed.
pub struct Observation {
    pub snapshot: Snapshot,
    /// The base branch's head: where configuration and templates are read.
    pub base_head: Sha,
    pub policy: Policy,
    pub surface: ObservedSurface,
    /// Whether another open pull request was seen with the same head.
    pub is_head_shared: bool,
    /// Whether the log of a failed job is not there yet.
    pub awaits_logs: bool,
}

/// Reviewers asked about beside those whom gates ask about.
const MOST_REVIEWERS: usize = 50;
/// How often reading starts over because of pushes meanwhile.
const MOST_RESTARTS: usize = 3;

impl Observer {
    pub fn new(github: Github) -> Self {
        Self {
            github,
            registry: Registry::default(),
            rules: BranchRules::default(),
            organisations: Organisations::default(),
            dormant: Dormant::default(),
        }
    }

    /// Whoever holds it asks again later, so that an absence in doubt is not believed at once.
    pub const fn asking_again(mut self) -> Self {
        self.registry.asks_again = true;
        self
    }

    /// Forgets who may do what and what organisations say: an event told that it changed.
    pub fn forget(&self) {
        self.registry.forget();
        self.organisations.forget();
        self.dormant.doubt_all();
    }

    /// Reads what must be known before anything may be written; `None` where Loopgate is not switched on.
    ///
    /// # Errors
    /// Every kind of [`Error`]; not found when there is no such pull request.
    pub async fn facts(&self, client: &Client, target: Target<'_>) -> Result<Option<PullRequestFacts>, Error> {
        let us = self.github.identity(client).await?;
        for _ in 0..MOST_RESTARTS {
            match self.try_facts(client, target, &us).await {
                Err(Unread::HeadMoved) => {}
                Err(Unread::Failed(error)) => return Err(error),
                Ok(facts) => return Ok(facts),
            }
        }
        let path = format!("{}/pulls/{}", path::repo(target.repository), target.number);
        Err(Error::Unavailable { path, message: "the head moved while it was read".into(), retry_at: None })
    }

    async fn try_facts(
        &self,
        client: &Client,
        target: Target<'_>,
        us: &AppIdentity,
    ) -> Result<Option<PullRequestFacts>, Unread> {
        let Target { repository, number } = target;
        let read_pull = pull::read(client, repository, number);
        let talk = async || {
            let comments = conversation::comments(client, repository, number);
            let reviews = conversation::reviews(client, repository, number);
            Ok::<_, Unread>(futures::try_join!(comments, reviews)?)
        };
        let (pull, base, head, talk) = if self.dormant.is_dormant(repository) {
            let pull = read_pull.await?;
            let base = self.base_side(client, repository, &pull).await?;
            if base.policy.is_none() {
                self.note_absence(client, repository, &pull);
                return Ok(None);
            }
            let (head, talk) = futures::try_join!(head_side(client, repository, &pull, &base, us), talk())?;
            (pull, base, head, talk)
        } else {
            let sides = async {
                let pull = read_pull.await?;
                let base = self.base_side(client, repository, &pull).await?;
                let head = head_side(client, repository, &pull, &base, us).await?;
                Ok::<_, Unread>((pull, base, head))
            };
            let ((pull, base, head), talk) = futures::try_join!(sides, talk())?;
            (pull, base, head, talk)
        };
        let Some(policy) = base.policy else {
            self.note_absence(client, repository, &pull);
            return Ok(None);
        };
        self.dormant.found(repository, &pull.pull_request.base.branch);
        let mut pull = pull;
        pull.pull_request.head.tree = head.changes.head_tree;
        pull.pull_request.base.scope = base.scope.scope;
        pull.pull_request.base.open_pattern = base.scope.open_pattern;
        let mut problems = head.problems;
        let is_merge_followed = base.not_followed.is_none();
        problems.extend(base.problem.into_iter().chain(base.not_followed));
        problems.extend(base.layers.as_ref().and_then(|layers| layers.problem.clone()));
        let (comments, reviews) = talk;
        for (what, completeness) in [("comments", comments.listing.completeness), ("reviews", reviews.completeness)] {
            if completeness == Completeness::Incomplete {
                let reason = "there are too many to read them all".to_owned();
                problems.push(ObservationProblem { what: what.to_owned(), reason });
            }
        }
        Ok(Some(PullRequestFacts {
            us: us.clone(),
            pull,
            tip: base.tip,
            branch: base.branch,
            policy,
            comments,
            reviews,
            files: head.changes.files,
            commits: head.changes.commits,
            merges: head.changes.merges,
            merge_base: head.changes.merge_base,
            nodes: head.changes.nodes,
            checks: head.checks,
            runs: head.runs,
            layers: base.layers,
            is_merge_followed,
            problems,
        }))
    }

    fn note_absence(&self, client: &Client, repository: &RepoName, pull: &Pull) {
        let Pull { pull_request, .. } = pull;
        let is_open = pull_request.lifecycle == Lifecycle::Open;
        let of = (pull_request.number, is_open);
        self.dormant.not_found(repository, &pull_request.base.branch, of, client.now());
    }

    /// The base branch and the policy at its head. A branch that is gone leaves the commit it was compared with.
    async fn base_side(&self, client: &Client, repository: &RepoName, pull: &Pull) -> Result<BaseSide, Error> {
        let base = &pull.pull_request.base.branch;
        let branch = config::branch(client, repository, base);
        let layers = stack::layers(client, repository, pull);
        let defaults = self.organisations.of(client, repository.owner());
        let (branch, defaults, layers) = futures::try_join!(branch, defaults, layers)?;
        let is_merged = matches!(pull.pull_request.lifecycle, Lifecycle::Merged { .. });
        let before = if is_merged { before_merge::base(client, repository, pull).await? } else { None };
        // The commit that the head is compared with was on the branch before a merge too, if not its last.
        let present = branch.filter(|_| !is_merged).map(|BaseBranch { commit: Tip { sha }, .. }| sha);
        let tip = before.or(present).unwrap_or(pull.compared_base);
        let not_followed = (is_merged && before.is_none()).then(|| ObservationProblem {
            what: "the base branch as it was before the merge".to_owned(),
            reason: "the commits of the merge could not be followed back".to_owned(),
        });
        let default_branch = pull.default_branch.as_deref();
        let scope = scope::of_base(client, repository, (base, default_branch), defaults.as_deref(), &self.rules);
        let is_doubted = self.dormant.is_doubted(repository, base);
        let policy = config::policy(client, repository, tip, defaults.as_deref(), is_doubted);
        let (policy, scope) = futures::try_join!(policy, scope)?;
        let problem = defaults.and_then(|defaults| {
            let error = defaults.error.as_ref()?;
            let reason = format!(
                "line {}, column {}: {}; its last good version governs",
                error.line, error.column, error.message
            );
            Some(ObservationProblem { what: format!("the organisation's {}", defaults.file()), reason })
        });
        Ok(BaseSide { branch, tip, policy, scope, layers, problem, not_followed })
    }

    /// A pull request as it would be observed with this commit for its head: with the commit's own checks and evidence.
    /// None where it has none that the policy asks about.
    ///
    /// # Errors
    /// Every kind of [`Error`].
    pub async fn on_commit(
        &self,
        client: &Client,
        repository: &RepoName,
        commit: Sha,
        snapshot: &Snapshot,
        policy: &Policy,
    ) -> Result<Option<Snapshot>, Error> {
        let (checks, runs) = futures::join!(
            checks::read(client, repository, commit, &snapshot.app),
            evidence::runs(client, repository, commit),
        );
        let mut checks = checks?;
        let runs = match runs {
            Ok(runs) => runs,
            Err(error) => error.refusal().map(|_| Vec::new())?,
        };
        let (listed, _) = evidence::listed(&runs, repository, &policy.verify);
        if listed.is_empty() && !checks.has_mapped(&policy.verify) {
            return Ok(None);
        }
        checks.annotate(client, repository, &policy.verify, checks::MOST_ANNOTATED).await?;
        let mut on_commit = snapshot.clone();
        on_commit.pull_request.head.sha = commit;
        on_commit.evidence = evidence::read(client, repository, commit, &listed).await?;
        on_commit.workflow_runs = evidence::with_jobs(client, repository, &listed, &on_commit.evidence).await?;
        on_commit.held_runs = evidence::held(&runs);
        on_commit.checks = checks.external;
        on_commit.hints.clear();
        Ok(Some(on_commit))
    }

    /// Our check runs on a commit.
    ///
    /// # Errors
    /// Every kind of [`Error`].
    pub async fn own_check_runs(
        &self,
        client: &Client,
        repository: &RepoName,
        commit: Sha,
    ) -> Result<Vec<OwnCheckRun>, Error> {
        let us = self.github.identity(client).await?;
        Ok(checks::read_runs(client, repository, commit, &us).await?.own)
    }

    /// What a pull request carries from another base into one that has no configuration: our check runs on its head that
    /// say what does not hold here. None where nothing is carried.
    ///
    /// # Errors
    /// Every kind of [`Error`].
    pub async fn left_for_nothing(
        &self,
        client: &Client,
        target: Target<'_>,
    ) -> Result<Option<ObservedSurface>, Error> {
        let Target { repository, number } = target;
        let pull = pull::read(client, repository, number).await?;
        let PullRequest { head, base, lifecycle, author, .. } = &pull.pull_request;
        let Some(default_branch) = pull.default_branch.as_deref().filter(|default| *default != base.branch) else {
            return Ok(None);
        };
        if *lifecycle != Lifecycle::Open {
            return Ok(None);
        }
        let us = self.github.identity(client).await?;
        let check_runs = match checks::read_runs(client, repository, head.sha, &us).await {
            Ok(checks) => checks.own,
            Err(error) => error.refusal().map(|_| Vec::new())?,
        };
        let base = Base { scope: CheckScope::Branch(base.branch.clone()), ..base.clone() };
        let left: Vec<_> =
            check_runs.iter().filter_map(|run| run.left_by_retargeting(head.sha, &base, default_branch)).collect();
        let surface = ObservedSurface {
            check_runs,
            left,
            ..ObservedSurface::of_nothing(repository.clone(), number, head.sha, base, author.login.clone())
        };
        Ok((!surface.left.is_empty()).then_some(surface))
    }

    /// Reads the rest. `previous` is the state as it was saved, if there is one.
    ///
    /// # Errors
    /// Every kind of [`Error`].
    pub async fn complete(
        &self,
        client: &Client,
        target: Target<'_>,
        facts: PullRequestFacts,
        hints: Vec<Hint>,
        previous: Option<&LoopState>,
    ) -> Result<Observation, Error> {
        let Target { repository, .. } = target;
        let PullRequestFacts {
            us,
            mut pull,
            tip,
            branch,
            policy,
            comments,
            reviews,
            files,
            mut commits,
            merges,
            merge_base,
            nodes,
            mut checks,
            runs,
            layers,
            is_merge_followed: _,
            problems,
        } = facts;
        let head = pull.pull_request.head.sha;
        let policy = config::settled(client, repository, policy, previous.and_then(|state| state.policy_sha)).await?;
        let (listed, unlisted) = evidence::listed(&runs, repository, &policy.verify);
        let awaits_evidence =
            policy.verify.checks.values().any(|check| matches!(check.source, CheckSource::Command(_)));
        let evidence = async {
            if listed.is_empty() && awaits_evidence {
                evidence::refuse_unlisted(client, repository, &unlisted).await
            } else {
                evidence::read(client, repository, head, &listed).await
            }
        };
        let base_branch = pull.pull_request.base.branch.clone();
        let required_approvals = async {
            match branch {
                Some(branch) => self.rules.required_approvals(client, repository, &base_branch, branch).await,
                None => Ok(0),
            }
        };
        let standing = async {
            match layers {
                Some(layers) => {
                    stack::standing(client, repository, layers, &pull.pull_request.base, &us).await.map(Some)
                }
                None => Ok(None),
            }
        };
        // A head that nobody of us has looked at is decided nowhere else.
        let may_be_shared = previous.is_some() || !checks.own.is_empty();
        let checks_in_detail = async {
            checks.annotate(client, repository, &policy.verify, checks::MOST_ANNOTATED).await?;
            let (commit, is_private) = (pull.compared_base, pull.is_private);
            let (base, on_base) = base::evidence(client, repository, commit, &us, &checks, &policy, is_private).await?;
            // What is new in a log is looked for once the head has a verdict: nobody waits for it.
            let has_verdict =
                previous.and_then(|state| state.attempts.last()).is_some_and(|last| last.head_sha == head);
            let green = if has_verdict { on_base.as_slice() } else { &[] };
            let awaits_logs = checks.read_logs(client, repository, &policy.verify, is_private, green).await?;
            Ok((base, awaits_logs))
        };
        let (
            required_approvals,
            (base_evidence, awaits_logs),
            evidence,
            codeowners,
            base_folders,
            left_behind,
            others,
            known_since,
            declared_type,
            dismissed_by,
            inline,
            stack,
            assignments,
            unheard,
            makers,
            assigned,
        ) = futures::try_join!(
            required_approvals,
            checks_in_detail,
            evidence,
            base::codeowners(client, repository, tip, &policy, previous),
            base::folders(client, repository, tip, &files, &policy),
            left_behind(client, repository, &pull, &us, previous),
            others(client, repository, &pull, may_be_shared),
            sighting::known_since(client, repository, &pull, &hints, previous),
            events::declared_type(client, repository, &pull.pull_request, &self.registry),
            events::dismissed_by(client, repository, pull.pull_request.number, &reviews.items, previous),
            conversation::inline(client, repository, pull.pull_request.number, pull.inline),
            standing,
            events::assignments(client, repository, &pull.pull_request, &policy.coding_agents),
            edits::unheard(client, &comments, &hints, &us, previous),
            authors::read(client, repository, &commits.items, &nodes),
            events::assigned_agents(client, repository, pull.pull_request.number, &policy),
        )?;
        let mut hints = hints;
        hints.extend(unheard);
        let judged_on = scope::judge(client, repository, &pull, &others, &self.registry).await?;
        let (mut left, left_heads) = left_behind;
        if pull.pull_request.lifecycle == Lifecycle::Open {
            let default_branch = pull.default_branch.as_deref().unwrap_or_default();
            let base = &pull.pull_request.base;
            left.extend(checks.own.iter().filter_map(|run| run.left_by_retargeting(head, base, default_branch)));
        }
        let Base { branch: base_branch, scope, .. } = &pull.pull_request.base;
        let shares = |other: &&OpenPull| {
            let same_name = matches!(scope, CheckScope::Pattern(_)) || other.governed_by() == base_branch;
            other.number != pull.pull_request.number && other.base.branch != pull.target && same_name
        };
        let sharing = others.iter().filter(shares).map(|other| other.number).collect();
        update_merges::mark(client, repository, &mut commits, &merges, &policy).await?;
        pull.pull_request.head.known_since = known_since;
        pull.pull_request.declared_type = declared_type;
        let base_evidence = if base::is_asked_for(&evidence, &pull.pull_request, &files, &policy) {
            let commits = if pull.compared_base == tip { vec![tip] } else { vec![pull.compared_base, tip] };
            base::with_documents(base_evidence, evidence::of_base(client, repository, &commits, &policy.verify).await?)
        } else {
            base_evidence
        };

        let workflow_runs = evidence::with_jobs(client, repository, &listed, &evidence).await?;
        let mut problems = problems;
        problems.append(&mut checks.problems);
        let (status_comments, posts) = surface::own_comments(&comments.listing.items, &us);
        let surface = ObservedSurface {
            repository: repository.clone(),
            number: pull.pull_request.number,
            head,
            base: pull.pull_request.base.clone(),
            lifecycle: pull.pull_request.lifecycle.clone(),
            labels: pull.pull_request.labels.clone(),
            requested_users: pull.pull_request.requested_users.clone(),
            requested_teams: pull.pull_request.requested_teams.clone(),
            author: pull.pull_request.author.login.clone(),
            reviewed: reviews.items.iter().map(|review| review.author.login.clone()).collect(),
            status_comments,
            posts,
            check_runs: checks.own,
            left,
            sharing,
            reactions: comments.reactions.into_iter().chain(inline.reactions).collect(),
            us: us.bot_id,
        };
        let mut snapshot = Snapshot {
            repository: repository.clone(),
            app: us,
            pull_request: pull.pull_request.clone(),
            files,
            merge_base,
            contents: Contents::default(),
            base_folders,
            assignments,
            commits,
            makers: Makers { assigned, ..makers },
            comments: comments.listing,
            reviews,
            dismissed_by,
            inline: inline.listing,
            checks: checks.external,
            forged_checks: checks.forged,
            evidence,
            workflow_runs,
            held_runs: evidence::held(&runs),
            base_evidence,
            required_approvals,
            judged_on,
            left_heads,
            stack,
            authority: Authority::default(),
            codeowners,
            test_authors: std::collections::BTreeMap::new(),
            hints,
            problems,
        };
        Box::pin(base::owners_in_question(client, &mut snapshot, tip, &policy, previous)).await?;
        let asks = may_approve(&snapshot, previous, &policy);
        pushes::read(client, &mut snapshot, &pull, tip, previous, asks).await?;
        let asked = whose_rights_matter(&snapshot, previous, &policy);
        snapshot.authority = self.registry.look_up(client, repository, &asked).await?;
        contents::read(client, &mut snapshot, |seen| files_to_read(seen, previous, &policy, client.now())).await?;
        let is_head_shared = others.iter().any(|other| other.number != target.number);
        Ok(Observation { snapshot, base_head: tip, policy, surface, is_head_shared, awaits_logs })
    }
}

impl PullRequestFacts {
    /// The pull request, its head's tree and the base branch's head known.
    pub const fn pull_request(&self) -> &PullRequest {
        &self.pull.pull_request
    }

    /// When something changed last, as lists of pull requests tell it too.
    pub const fn updated_at(&self) -> Option<Timestamp> {
        self.pull.updated_at
    }

    /// Whether the base is the one that the pull request was merged into, or that which it has now.
    pub const fn is_merge_followed(&self) -> bool {
        self.is_merge_followed
    }

    /// Whether the repository takes no changes any more.
    pub const fn is_archived(&self) -> bool {
        self.pull.is_archived
    }

    /// Whether only some may see the repository.
    pub const fn is_private(&self) -> bool {
        self.pull.is_private
    }

    /// Our status comments, the oldest first.
    pub fn status_comments(&self) -> Vec<OwnComment> {
        surface::own_comments(&self.comments.listing.items, &self.us).0
    }

    /// Where the configuration has the state kept.
    pub const fn backend(&self) -> StateBackend {
        self.policy.state
    }

    /// As whom we act here.
    pub const fn us(&self) -> &AppIdentity {
        &self.us
    }

    /// Our check runs on the head, as far as there are any.
    pub fn check_runs(&self) -> &[OwnCheckRun] {
        &self.checks.own
    }
}

struct BaseSide {
    branch: Option<BaseBranch>,
    tip: Sha,
    policy: Option<Policy>,
    scope: scope::Scope,
    layers: Option<Layers>,
    /// What is wrong with the organisation's defaults.
    problem: Option<ObservationProblem>,
    /// That the commits of a merge are not shown.
    not_followed: Option<ObservationProblem>,
}

/// What the head commit determines, and what is said about it.
struct HeadSide {
    changes: Changes,
    checks: Checks,
    runs: Vec<HeadRun>,
    problems: Vec<ObservationProblem>,
}

async fn head_side(
    client: &Client,
    repository: &RepoName,
    pull: &Pull,
    base: &BaseSide,
    us: &AppIdentity,
) -> Result<HeadSide, Unread> {
    let head = pull.pull_request.head.sha;
    let with = match &base.layers {
        Some(Layers { problem: Some(_), .. }) => ComparedWith::StackBase(base.tip),
        Some(_) if pull.pull_request.lifecycle == Lifecycle::Open && pull.target != pull.pull_request.base.branch => {
            let target = config::branch(client, repository, &pull.target).await?;
            ComparedWith::Target(target.map_or(pull.compared_base, |branch| branch.commit.sha))
        }
        _ => ComparedWith::Target(base.tip),
    };
    let (changes, checks, runs) = futures::join!(
        pull::changes(client, repository, pull, with),
        checks::read(client, repository, head, us),
        evidence::runs(client, repository, head),
    );
    let changes = changes?;
    let mut problems = Vec::new();
    let runs = match runs {
        Ok(runs) => runs,
        Err(error) => {
            let reason = error.refusal()?.to_string();
            problems.push(ObservationProblem { what: "workflow runs".to_owned(), reason });
            Vec::new()
        }
    };
    Ok(HeadSide { changes, checks: checks?, runs, problems })
}

/// What gates ask about, who reviewed (a required review counts by people with write only), and who pressed a button.
fn whose_rights_matter(snapshot: &Snapshot, previous: Option<&LoopState>, policy: &Policy) -> AuthorityQuestions {
    let accepted = snapshot.evidence.iter().filter_map(|received| match received {
        ReceivedEvidence::Accepted(evidence) => Some(evidence),
        ReceivedEvidence::Refused { .. } => None,
    });
    let findings: Vec<_> =
        accepted.flat_map(|evidence| &evidence.checks).flat_map(|check| &check.findings).cloned().collect();
    let mut asked = questions(snapshot, previous, policy, &findings);
    for by in snapshot.dismissed_by.values().chain(snapshot.test_authors.values()) {
        asked.people.entry(by.id).or_insert_with(|| by.login.clone());
    }
    let decisive =
        |review: &&Review| matches!(review.verdict, ReviewVerdict::Approved | ReviewVerdict::ChangesRequested);
    for Review { author, .. } in snapshot.reviews.items.iter().rev().filter(decisive).take(MOST_REVIEWERS) {
        asked.people.entry(author.id).or_insert_with(|| author.login.clone());
    }
    for by in snapshot.hints.iter().filter_map(Hint::pressed_by).take(MOST_REVIEWERS) {
        asked.people.entry(by.id).or_insert_with(|| by.login.clone());
    }
    asked
}

/// Other open pull requests with the same head. A list that may not be read names none.
async fn others(
    client: &Client,
    repository: &RepoName,
    pull: &Pull,
    may_be_shared: bool,
) -> Result<Vec<OpenPull>, Error> {
    if !may_be_shared || pull.pull_request.lifecycle != Lifecycle::Open {
        return Ok(Vec::new());
    }
    match client.open_with_head(repository, pull.pull_request.head.sha).await {
        Ok(found) => Ok(found),
        Err(error) => error.refusal().map(|_| Vec::new()),
    }
}

/// Heads of before that are looked at in one turn.
const MOST_LEFT_HEADS: usize = 5;

/// Our check runs on heads of before that say what does not hold any more, and the heads that are to be looked at again:
/// until nothing is left there, since a turn may end before it acts.
async fn left_behind(
    client: &Client,
    repository: &RepoName,
    pull: &Pull,
    us: &AppIdentity,
    previous: Option<&LoopState>,
) -> Result<(Vec<LeftCheckRun>, BTreeSet<Sha>), Error> {
    let head = pull.pull_request.head.sha;
    let (mut left, mut left_heads) = (Vec::new(), BTreeSet::new());
    let Some(previous) = previous else { return Ok((left, left_heads)) };
    let known = previous.left_heads.iter().copied().chain([previous.head_sha]).filter(|old| *old != head);
    let known: BTreeSet<Sha> = known.collect();
    if pull.pull_request.lifecycle != Lifecycle::Open {
        return Ok((left, known));
    }
    for (nth, old) in known.into_iter().enumerate() {
        if nth >= MOST_LEFT_HEADS {
            left_heads.insert(old);
            continue;
        }
        let checks = match checks::read_runs(client, repository, old, us).await {
            Ok(checks) => checks,
            // The commit may be gone after a force-push, and its check runs with it.
            Err(error) => {
                error.refusal()?;
                continue;
            }
        };
        let runs: Vec<_> = checks.own.iter().filter_map(|run| run.left(old)).collect();
        if !runs.is_empty() {
            left_heads.insert(old);
            left.extend(runs);
        }
    }
    Ok((left, left_heads))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_send<T: Send>(future: T) -> T {
        future
    }

    #[test]
    fn reading_can_move_between_threads() {
        let _ = |observer: &Observer, client: &Client, target: Target<'_>, facts: PullRequestFacts| {
            drop(is_send(observer.facts(client, target)));
            drop(is_send(observer.complete(client, target, facts, Vec::new(), None)));
        };
    }
}

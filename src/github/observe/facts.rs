//! The first step of reading a pull request: what must be known before anything may be written.

use super::{
    Observer, PullRequestFacts, Target, before_merge,
    checks::{self, Checks},
    config, conversation,
    evidence::{self, HeadRun},
    pull::{self, Changes, Pull, Unread},
    scope,
    stack::{self, ComparedWith, Layers},
};
use crate::github::{
    Error, Repo,
    wire::{Branch, ObjectRef},
};
use loopgate_core::{
    Sha,
    observed::{AppIdentity, Completeness, Lifecycle, ObservationProblem},
    policy::Policy,
};

impl Observer {
    pub(super) async fn try_facts(
        &self,
        target: Target<'_>,
        us: &AppIdentity,
    ) -> Result<Option<PullRequestFacts>, Unread> {
        let Target { repo, number } = target;
        let read_pull = pull::read(repo, number);
        let talk = async || {
            let comments = conversation::comments(repo, number);
            let reviews = conversation::reviews(repo, number);
            Ok::<_, Unread>(futures::try_join!(comments, reviews)?)
        };
        let (pull, base, head, talk) = if self.dormant.is_dormant(repo.name) {
            let pull = read_pull.await?;
            let base = self.base_side(repo, &pull).await?;
            if base.policy.is_none() {
                self.note_absence(repo, &pull);
                return Ok(None);
            }
            let (head, talk) = futures::try_join!(head_side(repo, &pull, &base, us), talk())?;
            (pull, base, head, talk)
        } else {
            let sides = async {
                let pull = read_pull.await?;
                let base = self.base_side(repo, &pull).await?;
                let head = head_side(repo, &pull, &base, us).await?;
                Ok::<_, Unread>((pull, base, head))
            };
            let ((pull, base, head), talk) = futures::try_join!(sides, talk())?;
            (pull, base, head, talk)
        };
        let Some(policy) = base.policy else {
            self.note_absence(repo, &pull);
            return Ok(None);
        };
        self.dormant.found(repo.name, &pull.pull_request.base.branch);
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
            changes: head.changes,
            checks: head.checks,
            runs: head.runs,
            layers: base.layers,
            is_merge_followed,
            merged_as: base.merged_as,
            problems,
        }))
    }

    fn note_absence(&self, repo: Repo<'_>, pull: &Pull) {
        let Pull { pull_request, .. } = pull;
        let is_open = pull_request.lifecycle == Lifecycle::Open;
        let of = (pull_request.number, is_open);
        self.dormant.not_found(repo.name, &pull_request.base.branch, of, repo.now());
    }

    /// The base branch and the policy at its head. A branch that is gone leaves the commit it was compared with.
    async fn base_side(&self, repo: Repo<'_>, pull: &Pull) -> Result<BaseSide, Error> {
        let base = &pull.pull_request.base.branch;
        let (branch, doubts) = (config::branch(repo, base), repo.doubts());
        let layers = stack::layers(repo, pull);
        let defaults = self.organisations.of(&repo, repo.name.owner());
        let (branch, defaults, layers) = futures::try_join!(branch, defaults, layers)?;
        let lifecycle = &pull.pull_request.lifecycle;
        if branch.is_none() && *lifecycle == Lifecycle::Open && self.registry.asks_again && repo.doubts() > doubts {
            // An older commit's rules would govern: approvals would end, and others would be asked.
            return Err(Error::NotFound { path: repo.path(format!("branches/{base}")) });
        }
        let is_merged = matches!(lifecycle, Lifecycle::Merged { .. });
        let merged_as = if is_merged { before_merge::merged_as(repo, pull).await? } else { None };
        let before = match merged_as {
            Some(commit) => before_merge::base(repo, pull, commit).await?,
            None => None,
        };
        // The commit that the head is compared with was on the branch before a merge too, if not its last.
        let present = branch.filter(|_| !is_merged).map(|Branch { commit: ObjectRef { sha }, .. }| sha);
        let tip = before.or(present).unwrap_or(pull.compared_base);
        let not_followed = (is_merged && before.is_none()).then(|| ObservationProblem {
            what: "the base branch as it was before the merge".to_owned(),
            reason: "the commits of the merge could not be followed back".to_owned(),
        });
        let default_branch = pull.default_branch.as_deref();
        let scope = scope::of_base(repo, (base, default_branch), defaults.as_deref(), &self.rules);
        let is_doubted = self.dormant.is_doubted(repo.name, base);
        let policy = config::policy(repo, tip, defaults.as_deref(), is_doubted);
        let (policy, scope) = futures::try_join!(policy, scope)?;
        let problem = defaults.and_then(|defaults| {
            let error = defaults.error.as_ref()?;
            let reason = format!(
                "line {}, column {}: {}; its last good version governs",
                error.line, error.column, error.message
            );
            Some(ObservationProblem { what: format!("the organisation's {}", defaults.file()), reason })
        });
        Ok(BaseSide { branch, tip, merged_as, policy, scope, layers, problem, not_followed })
    }
}

struct BaseSide {
    branch: Option<Branch>,
    tip: Sha,
    merged_as: Option<Sha>,
    policy: Option<Policy>,
    scope: scope::Scope,
    layers: Option<Layers>,
    /// What is wrong with the organisation's defaults.
    problem: Option<ObservationProblem>,
    /// That the commits of a merge are not shown.
    not_followed: Option<ObservationProblem>,
}

/// What the head commit determines, and its checks.
struct HeadSide {
    changes: Changes,
    checks: Checks,
    runs: Vec<HeadRun>,
    problems: Vec<ObservationProblem>,
}

async fn head_side(repo: Repo<'_>, pull: &Pull, base: &BaseSide, us: &AppIdentity) -> Result<HeadSide, Unread> {
    let head = pull.pull_request.head.sha;
    let with = match &base.layers {
        Some(Layers { problem: Some(_), .. }) => ComparedWith::StackBase(base.tip),
        Some(_) if pull.pull_request.lifecycle == Lifecycle::Open && pull.target != pull.pull_request.base.branch => {
            let target = config::branch(repo, &pull.target).await?;
            ComparedWith::Target(target.map_or(pull.compared_base, |branch| branch.commit.sha))
        }
        _ => ComparedWith::Target(base.tip),
    };
    let (changes, checks, runs) =
        futures::join!(pull::changes(repo, pull, with), checks::read(repo, head, us), evidence::runs(repo, head),);
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

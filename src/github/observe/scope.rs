//! Which branches the check runs of a pull request speak for, and which other pull requests share them.

use super::{
    authority::Registry,
    config::{self, BranchRules, Defaults},
    pull::Pull,
};
use crate::github::{Error, Repo, resolve::ListedPull, wire::Branch};
use loopgate_core::{
    PrNumber,
    observed::{Account, CheckScope, Permission, Standing},
    policy::NameGlob,
};

/// How the check runs of a base are named, and a pattern that the base matches, and whose name people could give
/// themselves. Patterns are the default branch's word: a branch of the author's own could
/// otherwise call itself by the name of a protected one.
pub(super) async fn of_base(
    repo: Repo<'_>,
    (base, branch): (&str, Option<Branch>),
    default_branch: Option<&str>,
    defaults: Option<&Defaults>,
    rules: &BranchRules,
) -> Result<(CheckScope, Option<String>), Error> {
    let plain = (CheckScope::Branch(base.to_owned()), None);
    // Where GitHub names no default branch, no name is plain.
    let Some(default_branch) = default_branch else { return Ok(plain) };
    if base == default_branch {
        return Ok((CheckScope::DefaultBranch, None));
    }
    let Some(tip) = config::branch(repo, default_branch).await? else { return Ok(plain) };
    let Some(policy) = config::policy(repo, tip.commit.sha, defaults).await? else {
        return Ok(plain);
    };
    // Git allows none of these marks in names (<https://git-scm.com/docs/git-check-ref-format>), so that no branch has the
    // name of a pattern.
    let is_pattern = |glob: &NameGlob| glob.as_str().contains(['*', '?', '[']);
    let Some(pattern) = policy.branches.iter().find(|pattern| is_pattern(pattern) && pattern.matches(base)) else {
        return Ok(plain);
    };
    if let Some(branch) = branch
        && rules.of(repo, base, branch).await?.keep_people_out
    {
        return Ok((CheckScope::Pattern(pattern.as_str().to_owned()), None));
    }
    Ok((plain.0, Some(pattern.as_str().to_owned())))
}

/// The pull request that is judged for all with this head and base: the oldest opened by somebody who may push, else the
/// oldest. An outsider's copy of a commit changes nothing then. None where that is this one.
pub(super) async fn judge(
    repo: Repo<'_>,
    pull: &Pull,
    others: &[ListedPull],
    registry: &Registry,
) -> Result<Option<PrNumber>, Error> {
    let pull_request = &pull.pull_request;
    let same_base = others
        .iter()
        .filter(|other| other.base.branch == pull.target && other.governed_by() == pull_request.base.branch);
    let mut rivals: Vec<(PrNumber, Account)> = same_base.map(|other| (other.number, other.author())).collect();
    if rivals.iter().all(|(number, _)| *number == pull_request.number) {
        return Ok(None);
    }
    rivals.push((pull_request.number, pull_request.author.clone()));
    rivals.sort_by_key(|(number, _)| *number);
    rivals.dedup_by_key(|(number, _)| *number);
    let oldest = rivals.first().map(|(number, _)| *number);
    let mut judge = oldest;
    for (number, author) in rivals {
        let standing = registry.person(repo, author.id, &author.login).await?;
        if matches!(standing, Standing::Known { permission, .. } if permission >= Permission::Write) {
            judge = Some(number);
            break;
        }
    }
    Ok(judge.filter(|judge| *judge != pull_request.number))
}

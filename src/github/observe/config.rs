//! What governs: the configuration at the base branch's head, its code owners, and the branch's own rules.
//!
//! None of them is read from the pull request, so that it cannot relax its own gates.

use std::{collections::BTreeSet, fmt};

use super::{contents, organisation::Defaults};
use crate::{
    config::{self, Source},
    github::{
        Error, Repo,
        error::OrAbsent as _,
        path,
        ttl_cache::TtlCache,
        wire::{Branch, BranchRule, ObjectRef, RuleParameters, Tree, TreeEntry},
    },
};
use loopgate_core::{
    RepoName, Sha,
    observed::Content,
    policy::{ConfigError, Policy, PolicyOrigin},
};

/// The repository's configuration file.
pub(in crate::github) const FILE: &str = ".github/loopgate.yml";
/// Bytes of it at most.
pub(super) const FILE_LIMIT: usize = 256 << 10;
/// Older versions tried when the newest does not validate.
const MOST_VERSIONS: usize = 20;
/// Where GitHub looks for code owners, in its order
/// (<https://docs.github.com/en/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners>).
const CODEOWNERS: [&str; 3] = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];
/// GitHub ignores a larger one.
const CODEOWNERS_LIMIT: usize = 3 << 20;

/// The base branch; none when it was deleted.
pub(super) async fn branch(repo: Repo<'_>, name: &str) -> Result<Option<Branch>, Error> {
    repo.get(&repo.path(format!("branches/{}", path::escape_path(name)))).await.or_absent()
}

/// The policy in force at a commit of the base branch, on top of the organisation's defaults; none where neither
/// switches Loopgate on: then nothing is observed and nothing written. That the file is absent is asked again if it
/// `is_doubted`.
pub(super) async fn policy(
    repo: Repo<'_>,
    tip: Sha,
    defaults: Option<&Defaults>,
    is_doubted: bool,
) -> Result<Option<Policy>, Error> {
    if is_doubted {
        repo.doubt_absence(&file_path(repo, tip));
    }
    let text = file(repo, tip).await?;
    if text.is_none() && defaults.is_none() {
        return Ok(None);
    }
    let policy = match parse(defaults, text.as_ref()) {
        Ok(policy) => policy.with_origin(PolicyOrigin::Base { commit: tip }),
        Err(error) => last_good(repo, tip, defaults, error).await?,
    };
    Ok(policy.is_active.then_some(policy))
}

/// The policy, with the remembered commit as its origin if that holds the same file. Most commits on a base branch do
/// not touch the file, and each would look like a change of the configuration.
pub(super) async fn settled(repo: Repo<'_>, policy: Policy, remembered: Option<Sha>) -> Result<Policy, Error> {
    let (PolicyOrigin::Base { commit }, Some(earlier)) = (&policy.origin, remembered) else { return Ok(policy) };
    if *commit == earlier {
        return Ok(policy);
    }
    let (now, then) = futures::try_join!(file(repo, *commit), file(repo, earlier))?;
    let same = now == then;
    Ok(if same { policy.with_origin(PolicyOrigin::Base { commit: earlier }) } else { policy })
}

/// A configuration file's text, or the error of a file that holds none.
type FileText = Result<String, ConfigError>;

/// The text of the file in a commit; too large a file is one that does not validate.
async fn file(repo: Repo<'_>, commit: Sha) -> Result<Option<FileText>, Error> {
    match repo.get_file(&file_path(repo, commit), FILE_LIMIT).await {
        Ok(bytes) => Ok(bytes.map(|bytes| file_text(FILE, Some(&bytes)))),
        Err(Error::TooLarge { .. }) => Ok(Some(file_text(FILE, None))),
        Err(error) => Err(error),
    }
}

fn file_path(repo: Repo<'_>, commit: Sha) -> String {
    repo.path(format!("contents/{FILE}?ref={commit}"))
}

/// The text in a file's bytes. `None` stands for more bytes than are read.
pub(super) fn file_text(file: &str, bytes: Option<&[u8]>) -> FileText {
    let message = match bytes.filter(|bytes| bytes.len() <= FILE_LIMIT).map(std::str::from_utf8) {
        Some(Ok(text)) => return Ok(text.to_owned()),
        Some(Err(_)) => "the file is not UTF-8".to_owned(),
        None => "the file is larger than 256 KB".to_owned(),
    };
    Err(ConfigError { file: file.to_owned(), line: 1, column: 1, snippet: String::new(), message, hint: None })
}

fn parse(defaults: Option<&Defaults>, text: Option<&FileText>) -> Result<Policy, ConfigError> {
    let own = text.map(|text| text.as_ref().map_err(Clone::clone)).transpose()?;
    match config::load(defaults.map(Defaults::source), own.map(|text| Source::new(FILE, text))) {
        Ok(loaded) => Ok(loaded.policy),
        Err(errors) => Err(errors.into_first()),
    }
}

/// The newest older version that validates, else the presets under the organisation's defaults. The commits of a file
/// up to a commit never change.
async fn last_good(repo: Repo<'_>, tip: Sha, defaults: Option<&Defaults>, error: ConfigError) -> Result<Policy, Error> {
    let path = repo.path(format!("commits?sha={tip}&path={}&per_page={}", path::escape(FILE), MOST_VERSIONS + 1));
    let versions = repo.get_immutable_json::<Vec<ObjectRef>>(&path).await?.unwrap_or_default();
    for version in versions.iter().skip(1) {
        let Some(text) = file(repo, version.sha).await? else { continue };
        if let Ok(policy) = parse(defaults, Some(&text)) {
            return Ok(policy.with_origin(PolicyOrigin::LastGood { commit: version.sha, broken_at: tip, error }));
        }
    }
    let policy = parse(defaults, Some(&Ok(String::new()))).unwrap_or_else(|_| config::presets());
    Ok(policy.with_origin(PolicyOrigin::Presets { broken_at: tip, error }))
}

/// The code owners' file in a commit: the first that exists counts.
pub(super) async fn codeowners(repo: Repo<'_>, tip: Sha) -> Result<Option<String>, Error> {
    Ok(owners_file(repo, tip).await?.map(|(_, text)| text))
}

/// Its text and path. The trees of the commit show which of the places exist, and do not change with every commit.
pub(super) async fn owners_file(repo: Repo<'_>, tip: Sha) -> Result<Option<(&'static str, String)>, Error> {
    let places = contents::of_commit(repo, tip, &CODEOWNERS).await?;
    for place in CODEOWNERS {
        match places.get(tip, place) {
            Some(Content::Absent) => {}
            Some(Content::Text(text)) => return Ok(Some((place, text.to_string()))),
            // A link, for example, which this request follows.
            Some(Content::Unreadable) | None => {
                let path = repo.path(format!("contents/{place}?ref={tip}"));
                match repo.get_file(&path, CODEOWNERS_LIMIT).await {
                    Ok(Some(bytes)) => return Ok(Some((place, String::from_utf8_lossy(&bytes).into_owned()))),
                    Ok(None) | Err(Error::TooLarge { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(None)
}

/// The repository's own escalation report, in a commit.
const ESCALATION_TEMPLATE: &str = ".github/loopgate/escalation.md";

/// Its text, where there is one that can be read.
///
/// # Errors
/// Faults and rate limits.
pub(in crate::github) async fn escalation_template(repo: Repo<'_>, tip: Sha) -> Result<Option<String>, Error> {
    let path = repo.path(format!("contents/{ESCALATION_TEMPLATE}?ref={tip}"));
    let bytes = repo.get_file(&path, FILE_LIMIT).await.or_refused()?.flatten();
    Ok(bytes.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok()))
}

/// A tree by its id or its commit's; none if GitHub does not list all of it.
pub(super) async fn tree(repo: Repo<'_>, of: impl fmt::Display) -> Result<Option<Vec<TreeEntry>>, Error> {
    let path = repo.path(format!("git/trees/{of}"));
    let tree = repo.get_immutable_json::<Tree>(&path).await?;
    Ok(tree.filter(|tree| !tree.truncated).map(|tree| tree.tree))
}

/// The folders at the top of a commit's tree.
pub(super) async fn folders(repo: Repo<'_>, tip: Sha) -> Result<Option<BTreeSet<String>>, Error> {
    let folder = |entry: TreeEntry| matches!(entry.kind.as_str(), "tree" | "commit").then_some(entry.path);
    let tree = tree(repo, tip).await?;
    Ok(tree.map(|entries| entries.into_iter().filter_map(folder).collect()))
}

/// What branches ask for, as last read.
#[derive(Default)]
pub(super) struct BranchRules {
    approvals: TtlCache<(RepoName, String), u32>,
    closed: TtlCache<(RepoName, String), bool>,
}

impl BranchRules {
    /// How many approvals the branch's rules ask for: rulesets first, then classic protection where we may read it
    /// (that takes administration rights we do not ask for; a 403 or 404 counts as none).
    pub(super) async fn required_approvals(&self, repo: Repo<'_>, name: &str, branch: Branch) -> Result<u32, Error> {
        let ask = async || {
            let rules = rules(repo, name).await?;
            let reviews = rules.iter().filter(|rule| rule.kind == "pull_request");
            match reviews.map(|rule| rule.parameters.required_approving_review_count).max().unwrap_or(0) {
                0 if branch.protected => by_protection(repo, name).await,
                approvals => Ok(approvals),
            }
        };
        self.approvals.recall_or_ask((repo.name.clone(), name.to_owned()), &repo, |_| true, ask).await
    }

    /// Whether rulesets keep people from making the branch and from pushing to it without a pull request. Classic
    /// branch protection takes administration rights to read, so it counts for nothing.
    pub(super) async fn keep_people_out(&self, repo: Repo<'_>, name: &str) -> Result<bool, Error> {
        let ask = async || {
            let rules = rules(repo, name).await?;
            let has = |kind: &str| rules.iter().any(|rule| rule.kind == kind);
            // <https://docs.github.com/en/repositories/configuring-branches-and-merges-in-your-repository/managing-rulesets/available-rules-for-rulesets>
            Ok(has("creation") && (has("pull_request") || has("update")))
        };
        self.closed.recall_or_ask((repo.name.clone(), name.to_owned()), &repo, |_| true, ask).await
    }
}

async fn rules(repo: Repo<'_>, branch: &str) -> Result<Vec<BranchRule>, Error> {
    let path = repo.path(format!("rules/branches/{}", path::escape_path(branch)));
    Ok(repo.list::<Vec<BranchRule>>(&path, 3).await.or_refused()?.map(|rules| rules.items).unwrap_or_default())
}

async fn by_protection(repo: Repo<'_>, branch: &str) -> Result<u32, Error> {
    let branch = path::escape_path(branch);
    let path = repo.path(format!("branches/{branch}/protection/required_pull_request_reviews"));
    let parameters = repo.get::<RuleParameters>(&path).await.or_refused()?;
    Ok(parameters.map_or(0, |parameters| parameters.required_approving_review_count))
}

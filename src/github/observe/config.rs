//! What governs: the configuration at the base branch's head on top of the organisation's defaults, its code owners,
//! and the branch's own rules.
//!
//! None of them is read from the pull request, so that it cannot relax its own gates.

use std::{collections::BTreeSet, sync::Arc};

use super::contents;
use crate::config::{self, Source};
use crate::github::client::{
    Client, Contents,
    error::{Error, OrAbsent as _, Result},
    path,
    repo::Repo,
    ttl_cache::TtlCache,
    wire::{Branch, BranchName, BranchRule, ObjectRef, RuleParameters, TreeEntry},
};
use loopgate_core::{
    RepoName, Sha,
    observed::Content,
    policy::{ConfigError, Policy, PolicyOrigin},
};

/// The repository's configuration file.
pub(in crate::github) const FILE: &str = ".github/loopgate.yml";
/// Bytes of it at most.
pub(in crate::github) const FILE_LIMIT: usize = 256 << 10;
/// The file in the repository `.github` of an organisation. Its defaults are believed for five minutes. A push that
/// changes it makes us forget them at once; where that event is lost, or went to another process, the old ones govern
/// for the rest of the five minutes.
const DEFAULTS: &str = "loopgate.yml";
/// Older versions tried when the newest does not validate.
const MOST_VERSIONS: usize = 20;
/// Where GitHub looks for code owners, in its order
/// (<https://docs.github.com/en/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners>).
const CODEOWNERS: [&str; 3] = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];
/// GitHub ignores a larger one.
const CODEOWNERS_LIMIT: usize = 3 << 20;

/// The base branch; none when it was deleted.
pub(super) async fn branch(repo: Repo<'_>, name: &str) -> Result<Option<Branch>> {
    repo.get(&branch_path(repo, name)).await.or_absent()
}

/// The name that a branch has today. GitHub redirects the earlier names of a renamed branch, until another branch takes
/// them (<https://docs.github.com/en/rest/branches/branches#get-a-branch>).
pub(super) async fn present_name(repo: Repo<'_>, name: &str) -> Result<Option<String>> {
    let found: Option<BranchName> = repo.get(&branch_path(repo, name)).await.or_absent()?;
    Ok(found.map(|branch| branch.name))
}

fn branch_path(repo: Repo<'_>, name: &str) -> String {
    repo.path(format!("branches/{}", path::escape_path(name)))
}

/// The policy in force at a commit of the base branch, on top of the organisation's defaults; none where neither
/// switches Loopgate on: then nothing is observed and nothing written.
pub(super) async fn policy(
    repo: Repo<'_>,
    tip: Sha,
    defaults: Option<&Defaults>,
) -> Result<Option<Policy>> {
    let text = file(repo, FILE, tip).await?;
    if text.is_none() && defaults.is_none() {
        return Ok(None);
    }
    let policy = match parse(defaults, text.as_ref()) {
        Ok(policy) => policy.with_origin(PolicyOrigin::Base { commit: tip }),
        Err(error) => fallback(repo, tip, defaults, error).await?,
    };
    Ok(policy.is_active.then_some(policy))
}

/// The policy, with the remembered commit as its origin if that holds the same file. Most commits on a base branch do
/// not touch the file, and each would look like a change of the configuration.
pub(super) async fn settled(
    repo: Repo<'_>,
    policy: Policy,
    remembered: Option<Sha>,
) -> Result<Policy> {
    let (PolicyOrigin::Base { commit }, Some(earlier)) = (&policy.origin, remembered) else {
        return Ok(policy);
    };
    if *commit == earlier {
        return Ok(policy);
    }
    let (now, then) = futures::try_join!(file(repo, FILE, *commit), file(repo, FILE, earlier))?;
    let same = now == then;
    Ok(if same {
        policy.with_origin(PolicyOrigin::Base { commit: earlier })
    } else {
        policy
    })
}

/// A configuration file's text, or the error of a file that holds none.
type FileText = Result<String, ConfigError>;

/// The text of the file in a commit; too large a file is one that does not validate.
async fn file(repo: Repo<'_>, name: &str, commit: Sha) -> Result<Option<FileText>> {
    match repo
        .get_file(
            &repo.path(format!("contents/{name}?ref={commit}")),
            FILE_LIMIT,
        )
        .await
    {
        Ok(bytes) => Ok(bytes.map(|bytes| file_text(name, Some(&bytes)))),
        Err(Error::TooLarge { .. }) => Ok(Some(file_text(name, None))),
        Err(error) => Err(error),
    }
}

/// The text of the repository's configuration in a commit; empty where none can be read.
pub(super) async fn text(repo: Repo<'_>, commit: Sha) -> Result<String> {
    let text = file(repo, FILE, commit).await?;
    Ok(text.and_then(Result::ok).unwrap_or_default())
}

/// The text in a file's bytes. `None` stands for more bytes than are read.
fn file_text(file: &str, bytes: Option<&[u8]>) -> FileText {
    let message = match bytes
        .filter(|bytes| bytes.len() <= FILE_LIMIT)
        .map(std::str::from_utf8)
    {
        Some(Ok(text)) => return Ok(text.to_owned()),
        Some(Err(_)) => "the file is not UTF-8".to_owned(),
        None => "the file is larger than 256 KB".to_owned(),
    };
    Err(ConfigError {
        file: file.to_owned(),
        line: 1,
        column: 1,
        snippet: String::new(),
        message,
        hint: None,
    })
}

fn parse(defaults: Option<&Defaults>, text: Option<&FileText>) -> Result<Policy, ConfigError> {
    let own = text
        .map(|text| text.as_ref().map_err(Clone::clone))
        .transpose()?;
    match config::load(
        defaults.map(|it| Source::new(&it.file, &it.text)),
        own.map(|text| Source::new(FILE, text)),
    ) {
        Ok(loaded) => Ok(loaded.policy),
        Err(mut errors) => Err(errors.remove(0)),
    }
}

/// The policy where the newest version does not validate: of the newest older one that does, else of the presets under
/// the organisation's defaults. The commits of a file up to a commit never change.
async fn fallback(
    repo: Repo<'_>,
    tip: Sha,
    defaults: Option<&Defaults>,
    error: ConfigError,
) -> Result<Policy> {
    let path = repo.path(format!(
        "commits?sha={tip}&path={}&per_page={}",
        path::escape(FILE),
        MOST_VERSIONS + 1
    ));
    let versions = repo
        .get_immutable_json::<Vec<ObjectRef>>(&path)
        .await?
        .unwrap_or_default();
    let good = |text: FileText| parse(defaults, Some(&text)).ok();
    if let Some((commit, policy)) = last_good(repo, FILE, &versions, good).await? {
        return Ok(policy.with_origin(PolicyOrigin::LastGood {
            commit,
            broken_at: tip,
            error,
        }));
    }
    let policy = parse(defaults, Some(&Ok(String::new()))).unwrap_or_else(|_| config::presets());
    Ok(policy.with_origin(PolicyOrigin::Presets {
        broken_at: tip,
        error,
    }))
}

/// The newest older version of a file that is good.
async fn last_good<T>(
    repo: Repo<'_>,
    name: &str,
    versions: &[ObjectRef],
    good: impl Fn(FileText) -> Option<T>,
) -> Result<Option<(Sha, T)>> {
    for ObjectRef { sha } in versions.iter().skip(1) {
        if let Some(good) = file(repo, name, *sha).await?.and_then(&good) {
            return Ok(Some((*sha, good)));
        }
    }
    Ok(None)
}

/// The path and the text of the code owners' file in a commit: the first that exists counts. The trees of the commit
/// show which of the places exist, and do not change with every commit.
pub(super) async fn owners_file(
    repo: Repo<'_>,
    tip: Sha,
) -> Result<Option<(&'static str, String)>> {
    let places = contents::of_commit(repo, tip, &CODEOWNERS).await?;
    for place in CODEOWNERS {
        match places.get(tip, place) {
            Some(Content::Absent) => {}
            Some(Content::Text(text)) => return Ok(Some((place, text.to_string()))),
            // A link, for example, which this request follows.
            Some(Content::Unreadable) | None => {
                let path = repo.path(format!("contents/{place}?ref={tip}"));
                match repo.get_file(&path, CODEOWNERS_LIMIT).await {
                    Ok(Some(bytes)) => {
                        return Ok(Some((place, String::from_utf8_lossy(&bytes).into_owned())));
                    }
                    Ok(None) | Err(Error::TooLarge { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(None)
}

/// The defaults of organisations, as last read.
pub(super) type Organisations = TtlCache<String, Option<Arc<Defaults>>>;

/// The defaults of one organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Defaults {
    /// The file as it is shown to people: `acme/.github/loopgate.yml`.
    pub file: String,
    /// Right by itself.
    pub text: String,
    /// What is wrong with the newest version, where an older one, or none, governs.
    pub error: Option<ConfigError>,
}

impl Organisations {
    /// The defaults of a repository's owner; none where they have no such file, or we may not see it.
    pub(super) async fn of(&self, client: &Client, owner: &str) -> Result<Option<Arc<Defaults>>> {
        // The file on the default branch's head is read conditionally rather than by commit.
        let ask = async || {
            let Ok(repository) = format!("{owner}/.github").parse::<RepoName>() else {
                return Ok(None);
            };
            let (repo, file) = (client.repo(&repository), format!("{repository}/{DEFAULTS}"));
            let contents = repo
                .get::<Contents>(&repo.path(format!("contents/{DEFAULTS}")))
                .await
                .or_refused()?;
            let Some(Contents::File(contents)) = contents else {
                return Ok(None);
            };
            let bytes = contents.inline();
            let error = match file_text(&file, bytes.as_deref()).and_then(|text| right(&file, text))
            {
                Ok(text) => {
                    return Ok(Some(Arc::new(Defaults {
                        file,
                        text,
                        error: None,
                    })));
                }
                Err(error) => error,
            };
            // A slip must not undo what the organisation has locked.
            let path = repo.path(format!(
                "commits?path={DEFAULTS}&per_page={}",
                MOST_VERSIONS + 1
            ));
            let versions = repo
                .get::<Vec<ObjectRef>>(&path)
                .await
                .or_refused()?
                .unwrap_or_default();
            let good = |text: FileText| text.and_then(|text| right(&file, text)).ok();
            let text = last_good(repo, DEFAULTS, &versions, good)
                .await?
                .map(|(_, text)| text)
                .unwrap_or_default();
            Ok(Some(Arc::new(Defaults {
                file,
                text,
                error: Some(error),
            })))
        };
        self.recall_or_ask(owner.to_ascii_lowercase(), client, |_| true, ask)
            .await
    }
}

/// The text, if it is right alone.
fn right(file: &str, text: String) -> Result<String, ConfigError> {
    match config::load(Some(Source::new(file, &text)), None) {
        Ok(_) => Ok(text),
        Err(mut errors) => Err(errors.remove(0)),
    }
}

/// The folders at the top of a commit's tree.
pub(super) async fn folders(repo: Repo<'_>, tip: Sha) -> Result<Option<BTreeSet<String>>> {
    let folder =
        |entry: TreeEntry| matches!(entry.kind.as_str(), "tree" | "commit").then_some(entry.path);
    let tree = contents::tree(repo, tip).await?;
    Ok(tree.map(|entries| entries.into_iter().filter_map(folder).collect()))
}

/// What branches ask for, as last read.
pub(super) type BranchRules = TtlCache<(RepoName, String), Rules>;

/// What the rules of a branch ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// How many approvals.
    pub approvals: u32,
    /// Whether rulesets keep people from making the branch and from pushing to it without a pull request. Classic
    /// branch protection takes administration rights to read, so it counts for nothing.
    pub keep_people_out: bool,
}

impl BranchRules {
    /// Rulesets first, then classic protection where we may read it (that takes administration rights we do not ask
    /// for; a 403 or 404 counts as none).
    pub(super) async fn of(&self, repo: Repo<'_>, name: &str, branch: Branch) -> Result<Rules> {
        let key = (repo.name.clone(), name.to_owned());
        let ask = async || {
            let name = path::escape_path(name);
            let path = repo.path(format!("rules/branches/{name}"));
            let rules = repo
                .list::<BranchRule>(&path, 3)
                .await
                .or_refused()?
                .map(|rules| rules.items);
            let rules = rules.unwrap_or_default();
            let has = |kind: &str| rules.iter().any(|rule| rule.kind == kind);
            let reviews = rules.iter().filter(|rule| rule.kind == "pull_request");
            let mut approvals = reviews
                .map(|rule| rule.parameters.required_approving_review_count)
                .max()
                .unwrap_or(0);
            if approvals == 0 && branch.protected {
                let path = repo.path(format!(
                    "branches/{name}/protection/required_pull_request_reviews"
                ));
                let classic = repo.get::<RuleParameters>(&path).await.or_refused()?;
                approvals =
                    classic.map_or(0, |parameters| parameters.required_approving_review_count);
            }
            // <https://docs.github.com/en/repositories/configuring-branches-and-merges-in-your-repository/managing-rulesets/available-rules-for-rulesets>
            let keep_people_out = has("creation") && (has("pull_request") || has("update"));
            Ok(Rules {
                approvals,
                keep_people_out,
            })
        };
        self.recall_or_ask(key, &repo, |_| true, ask).await
    }
}

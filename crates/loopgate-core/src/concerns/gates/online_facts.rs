//! What a configuration names, and what GitHub says about it: all that `check-config --online` decides on.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::{
    concerns::gates::{self, AuthorityQuestions},
    ids::RepoName,
    observed::{Account, Authority, Permission},
    policy::{Fixer, GateTrigger, Policy, Recipient},
};

/// Most names that are looked up, of people and of teams each.
pub const MOST_NAMES: usize = 300;

/// What GitHub answered, or why it did not.
pub type Fetched<T> = Result<T, String>;

/// What GitHub says about the names in a configuration, and about the repository it governs.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    pub repository: RepoName,
    /// The named logins and teams, and the rights of the accounts behind the logins.
    pub authority: Authority,
    /// Everybody with access to the repository, and how much of it.
    pub collaborators: Fetched<Vec<(Account, Permission)>>,
    /// The default branch's file, where there is one.
    pub codeowners: Option<OwnersFile>,
    pub branches: Fetched<BTreeSet<String>>,
    pub labels: Fetched<BTreeSet<String>>,
    /// The files of the default branch.
    pub files: Fetched<Vec<String>>,
    /// None where these credentials may not read it.
    pub actions: Option<ActionsPolicy>,
}

/// What a repository's policies let GitHub Actions run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionsPolicy {
    pub allowed: AllowedActions,
    /// Every run of a fork's pull request by somebody from outside waits for *Approve and run*.
    pub holds_outsiders: bool,
    /// What the token of a workflow may do that does not say it itself.
    pub default_token: DefaultToken,
    /// `sha_pinning_required`: actions must be named by a whole commit.
    pub must_pin: bool,
    /// Anybody can see the repository.
    pub is_public: bool,
    /// The jobs that use Loopgate's Action.
    pub uses: Vec<ActionUse>,
}

/// `default_workflow_permissions`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DefaultToken {
    Read,
    #[default]
    Write,
}

/// A job of a workflow that uses Loopgate's Action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionUse {
    pub file: String,
    pub job: String,
    /// Loopgate writes in it, and neither it nor its workflow declares `permissions`.
    pub by_default_token: bool,
    /// Actions of its steps that are not named by a whole commit.
    pub unpinned: Vec<String>,
    /// Nothing but `pull_request_target` starts it.
    pub is_target_only: bool,
}

/// Which actions workflows may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedActions {
    /// GitHub Actions is off.
    None,
    /// Only those of the repository's own account.
    Local,
    Selected(SelectedActions),
    All,
}

/// The actions that match a pattern, and those of whole groups of creators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectedActions {
    /// GitHub's own are among them where those are allowed.
    pub patterns: Vec<String>,
    /// `verified_allowed`: also those of creators that GitHub has verified. Who they are, no answer says.
    pub of_verified: bool,
}

/// A CODEOWNERS file and its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnersFile {
    pub path: String,
    pub text: String,
}

/// The names to be looked up. `people` is left empty: whose rights matter is known once the logins are accounts.
pub fn questions(
    policy: &Policy,
    repository: &RepoName,
    codeowners: Option<&OwnersFile>,
) -> AuthorityQuestions {
    let mut asked = AuthorityQuestions::default();
    for gate in policy.gates.values() {
        asked.name_approvers(gate);
        asked.teams.extend(gate.preset_team(repository));
        for condition in gate.trigger.conditions() {
            if let GateTrigger::Author(authors) = condition {
                asked.logins.extend(authors.iter().cloned());
            }
        }
    }
    recipients(policy).for_each(|recipient| asked.name(recipient));
    let fixers = std::iter::once(&policy.fixer.fixer).chain(&policy.escalation.senior);
    asked
        .logins
        .extend(fixers.filter_map(Fixer::mentioned).cloned());
    let mentions = codeowners
        .iter()
        .flat_map(|file| gates::owner_mentions(&file.text));
    mentions
        .filter_map(|mention| mention.owner?.recipient())
        .for_each(|owner| asked.name(&owner));
    asked.limited(MOST_NAMES, MOST_NAMES)
}

/// Everybody an escalation may call.
pub fn recipients(policy: &Policy) -> impl Iterator<Item = &Recipient> {
    let escalation = &policy.escalation;
    let general = escalation
        .notify
        .iter()
        .chain(&escalation.ops)
        .chain(&escalation.product_owner);
    general.chain(escalation.triggers.values().flat_map(|trigger| &trigger.to))
}

/// Whether the owners of files may approve some gate.
pub fn asks_owners(policy: &Policy) -> bool {
    policy.gates.values().any(|gate| gate.approvers.codeowners)
}

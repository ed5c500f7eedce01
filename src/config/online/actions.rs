//! What a repository's policies for GitHub Actions keep from running: evidence comes of workflows.

use super::{Check, Spot};
use loopgate_core::{
    concerns::gates::online_facts::{
        ActionUse, ActionsPolicy, AllowedActions, DefaultToken, SelectedActions,
    },
    policy::{CheckPolicy, CheckSource},
};

/// The App whose check runs are those of workflows.
const ACTIONS: &str = "github-actions";

/// Where the checks are configured, whose evidence all this is about.
const VERIFY: Spot<'static> = (&["verify"], None);

impl Check<'_> {
    /// What keeps the jobs that use Loopgate's Action from doing their part
    /// (<https://docs.github.com/en/repositories/managing-your-repositorys-settings-and-features/actions-policies/workflow-execution-protections>
    /// on `pull_request_target`; what else such policies hold back is not in its API).
    fn uses(&mut self, policy: &ActionsPolicy) {
        let repository = &self.survey.repository;
        for ActionUse {
            file,
            job,
            by_default_token,
            unpinned,
            is_target_only,
        } in &policy.uses
        {
            if *by_default_token && policy.default_token == DefaultToken::Read {
                let message = format!(
                    "the job `{job}` of `{file}` has no `permissions`, and by default a token in {repository} only \
                     reads: Loopgate cannot save, comment or report there"
                );
                self.warn(
                    VERIFY,
                    message,
                    "give it the `permissions` that action/README.md lists",
                );
            }
            if let (true, [first, ..]) = (policy.must_pin, unpinned.as_slice()) {
                let message = format!(
                    "{repository} runs only actions that are named by a whole commit, and the job `{job}` of `{file}` \
                     uses `{first}`: GitHub does not start it"
                );
                self.error(
                    VERIFY,
                    message,
                    "name each of its actions by the 40 digits of a commit",
                );
            }
            if *is_target_only && policy.is_public {
                let message = format!(
                    "only `pull_request_target` starts the job `{job}` of `{file}`: in public repositories GitHub \
                     starts nothing by it, unless a policy allows it"
                );
                let hint = "let `workflow_run` start it, with the relay of action/README.md, or allow it under \
                            Settings, Actions, Policies";
                self.warn(VERIFY, message, hint);
            }
        }
    }

    pub(super) fn actions(&mut self) {
        let policy = self.survey.actions.as_ref();
        policy.into_iter().for_each(|policy| self.uses(policy));
        let by_action = |check: &CheckPolicy| matches!(check.source, CheckSource::Command(_));
        let by_workflow = |check: &CheckPolicy| match &check.source {
            CheckSource::Command(_) => true,
            CheckSource::External(source) => source.app.as_deref() == Some(ACTIONS),
            CheckSource::Reviewer(_) => false,
        };
        let checks = &self.policy.verify.checks;
        for (name, check) in checks {
            if matches!(&check.source, CheckSource::External(source) if source.app.is_none()) {
                let message = format!(
                    "`{name}` has no `app:`, so any check run or commit status of this name counts"
                );
                let path = ["verify", "checks", name.as_str(), "from"];
                self.warn(
                    (&path, None),
                    message,
                    "name the App, for jobs of workflows `app: github-actions`",
                );
            }
        }
        let (by_action, by_workflow) = (
            checks.values().any(by_action),
            checks.values().any(by_workflow),
        );
        let Some(policy) = policy.filter(|_| by_workflow) else {
            return;
        };
        self.allowed(&policy.allowed, by_action);
        if policy.holds_outsiders {
            let repository = &self.survey.repository;
            let message = format!(
                "in {repository} every run of somebody from outside waits for *Approve and run*"
            );
            let hint = "nothing is verified before; with `approve_runs: true` an approval of the security gate lets \
                        them run too. Without a server such pull requests are noticed by the schedule and by comments";
            self.warn(VERIFY, message, hint);
        }
    }

    /// Whether the actions that bring evidence may run.
    fn allowed(&mut self, allowed: &AllowedActions, by_action: bool) {
        let (repository, owner) = (&self.survey.repository, self.survey.repository.owner());
        match allowed {
            AllowedActions::None => {
                let message = format!(
                    "GitHub Actions is switched off in {repository}, so no workflow brings evidence"
                );
                self.error(
                    VERIFY,
                    message,
                    "switch it on under Settings, Actions, General",
                );
            }
            AllowedActions::Local if by_action => {
                let message = format!(
                    "{repository} runs actions of {owner} only: Loopgate's Action runs if {owner} publishes it, and \
                     GitHub's `actions/checkout` and `actions/upload-artifact` do not"
                );
                let hint = "allow selected actions under Settings, Actions, General, and Loopgate's among them";
                self.warn(VERIFY, message, hint);
            }
            AllowedActions::Selected(selected) if by_action => self.selected(selected),
            _ => {}
        }
    }

    /// Whether Loopgate's Action, and GitHub's that it uses, are among the selected ones. Of a verified creator's nothing
    /// is known here: GitHub does not say who is one.
    fn selected(&mut self, selected: &SelectedActions) {
        let repository = &self.survey.repository;
        let owner = repository.owner();
        let SelectedActions {
            patterns,
            of_verified,
        } = selected;
        let lets_in = |owner| patterns.iter().any(|one| lets_in(one, owner));
        let (message, hint) = match (lets_in(owner), lets_in("actions"), of_verified) {
            (true, true, _) => return,
            (false, _, false) => (
                format!("{repository} runs selected actions only, and no pattern names Loopgate's"),
                allow_ours(),
            ),
            (false, _, true) => (
                format!(
                    "{repository} runs selected actions and those of verified creators, and no pattern names \
                     Loopgate's: GitHub does not say whether who publishes it is verified"
                ),
                format!("if its job does not start, {}", allow_ours()),
            ),
            (true, false, false) => (
                format!(
                    "{repository} runs none of GitHub's own actions, and Loopgate's uploads evidence by one"
                ),
                ALLOW_GITHUBS.to_owned(),
            ),
            (true, false, true) => (
                format!(
                    "{repository} runs selected actions and those of verified creators, and no pattern names GitHub's \
                     own, by one of which Loopgate's uploads evidence: whether they are among the verified is not known"
                ),
                format!("if its job does not start, {ALLOW_GITHUBS}"),
            ),
        };
        self.warn(VERIFY, message, hint);
    }
}

const ALLOW_GITHUBS: &str = "allow actions created by GitHub under Settings, Actions, General";

fn allow_ours() -> String {
    format!(
        "add `{}/action@*` under Settings, Actions, General",
        crate::published()
    )
}

/// Whether a pattern of allowed actions may mean Loopgate's: who publishes it is not known here.
fn lets_in(pattern: &str, owner: &str) -> bool {
    let named = pattern.split('@').next().unwrap_or_default();
    (owner != "actions" && named.contains("loopgate"))
        || named == "*"
        || named.strip_suffix("/*") == Some(owner)
}

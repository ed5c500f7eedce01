//! What a repository's policies for GitHub Actions keep from running: evidence comes of workflows.

use super::Check;
use loopgate_core::{
    gate::online_facts::AllowedActions,
    policy::{CheckPolicy, CheckSource},
};

/// The App whose check runs are those of workflows.
const ACTIONS: &str = "github-actions";

impl Check<'_> {
    /// What keeps Loopgate from writing where it has only the token of its workflow.
    fn tokens(&mut self) {
        for file in self.survey.actions.iter().flat_map(|policy| &policy.read_only) {
            self.warn(
                (&["verify"], None),
                format!(
                    "`{file}` declares no `permissions`, and by default a token in {} only reads: Loopgate cannot save, \
                     comment or report there",
                    self.survey.repository
                ),
                "give its job the `permissions` that action/README.md lists",
            );
        }
    }

    pub(super) fn actions(&mut self) {
        self.tokens();
        let by_action = |check: &CheckPolicy| matches!(check.source, CheckSource::Command(_));
        let by_workflow = |check: &CheckPolicy| match &check.source {
            CheckSource::Command(_) => true,
            CheckSource::External(source) => source.app.as_deref() == Some(ACTIONS),
        };
        let checks = &self.policy.verify.checks;
        let (by_action, by_workflow) = (checks.values().any(by_action), checks.values().any(by_workflow));
        let Some(policy) = self.survey.actions.as_ref().filter(|_| by_workflow) else { return };
        let (repository, owner) = (&self.survey.repository, self.survey.repository.owner());
        let spot = (&["verify"][..], None);
        match &policy.allowed {
            AllowedActions::None => self.error(
                spot,
                format!("GitHub Actions is switched off in {repository}, so no workflow brings evidence"),
                "switch it on under Settings, Actions, General",
            ),
            AllowedActions::Local if by_action => self.warn(
                spot,
                format!("{repository} runs actions of {owner} only: Loopgate's Action runs if {owner} publishes it"),
                "allow selected actions under Settings, Actions, General, and Loopgate's among them",
            ),
            AllowedActions::Selected(patterns) if by_action && !patterns.iter().any(|one| lets_in(one, owner)) => self
                .warn(
                    spot,
                    format!("{repository} runs selected actions only, and no pattern names Loopgate's"),
                    "add `OWNER/loopgate/action@*` under Settings, Actions, General",
                ),
            _ => {}
        }
        if policy.holds_outsiders {
            self.warn(
                spot,
                format!("in {repository} every run of somebody from outside waits for *Approve and run*"),
                "nothing is verified before; with `approve_runs: true` an approval of the security gate lets them run too. \
                 Without a server such pull requests are noticed by the schedule and by comments",
            );
        }
    }
}

/// Whether a pattern of allowed actions may mean Loopgate's: who publishes it is not known here.
fn lets_in(pattern: &str, owner: &str) -> bool {
    let named = pattern.split('@').next().unwrap_or_default();
    named.contains("loopgate") || named == "*" || named.strip_suffix("/*") == Some(owner)
}

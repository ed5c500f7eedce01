//! Conditions of gates that can never hold, or that hold for nothing there is.

use super::{Check, Spot, meant};
use crate::config::problem::{Layer, shorten};
use loopgate_core::{
    GateName,
    observed::Unusable,
    policy::{GatePolicy, GateTrigger, NameGlob},
};

impl Check<'_> {
    /// What a gate that somebody wrote waits for.
    pub(super) fn condition(&mut self, name: &GateName, gate: &GatePolicy) {
        let path = ["gates", name.as_str(), "when"];
        let written = path
            .iter()
            .try_fold(&self.layers.tree, |node, key| Some(&node.get(key)?.node));
        if written.is_none_or(|node| node.place.layer == Layer::Builtin) {
            return;
        }
        self.names_of(&path, &gate.trigger);
        if !self.can_hold(&gate.trigger) {
            let message = format!("this can never hold, so the gate `{name}` never opens");
            self.error(
                (&path, None),
                message,
                "see what it asks for at the same time",
            );
        }
    }

    /// Names in a condition that lead nowhere.
    fn names_of(&mut self, path: &[&str], trigger: &GateTrigger) {
        match trigger {
            GateTrigger::Any(conditions) => {
                if conditions.len() > 1 && conditions.contains(&GateTrigger::Always) {
                    let message = "`always` holds for every pull request, so the other conditions decide nothing";
                    self.warn(
                        (path, None),
                        message.to_owned(),
                        "leave the others out, or `always`",
                    );
                }
                conditions
                    .iter()
                    .for_each(|condition| self.names_of(path, condition));
            }
            GateTrigger::All(conditions) => {
                conditions
                    .iter()
                    .for_each(|condition| self.names_of(path, condition));
            }
            GateTrigger::Not(condition) => self.names_of(path, condition),
            GateTrigger::Author(logins) => {
                for login in logins {
                    self.account((path, Some(login.as_str())), login);
                }
            }
            GateTrigger::Labels(labels) => labels
                .iter()
                .for_each(|label| self.label((path, Some(label)), label)),
            GateTrigger::BaseBranch(globs) => {
                globs
                    .as_slice()
                    .iter()
                    .for_each(|glob| self.branch((path, Some(glob.as_str())), glob));
            }
            GateTrigger::Paths(paths) => {
                paths
                    .globs
                    .as_slice()
                    .iter()
                    .for_each(|glob| self.files((path, Some(glob.as_str())), glob));
            }
            _ => {}
        }
    }

    fn label(&mut self, spot: Spot<'_>, label: &str) {
        let Ok(known) = &self.survey.labels else {
            return;
        };
        if !known.iter().any(|known| known.eq_ignore_ascii_case(label)) {
            let hint = meant(label, known.iter().map(String::as_str));
            let message = format!(
                "{} has no label `{}`",
                self.survey.repository,
                shorten(label)
            );
            self.warn(
                spot,
                message,
                hint.unwrap_or_else(|| "make it, or it cannot be set".to_owned()),
            );
        }
    }

    fn branch(&mut self, spot: Spot<'_>, glob: &NameGlob) {
        let Ok(known) = &self.survey.branches else {
            return;
        };
        if !known.iter().any(|branch| glob.matches(branch)) {
            let hint = meant(glob.as_str(), known.iter().map(String::as_str));
            let message = format!(
                "no branch of {} matches `{}`",
                self.survey.repository,
                shorten(glob.as_str())
            );
            self.warn(
                spot,
                message,
                hint.unwrap_or_else(|| "leave it if such branches are still to come".to_owned()),
            );
        }
    }

    fn files(&mut self, spot: Spot<'_>, glob: &NameGlob) {
        let Ok(known) = &self.survey.files else {
            return;
        };
        if !known.iter().any(|path| glob.matches(path)) {
            let message = format!(
                "no file of {} matches `{}`",
                self.survey.repository,
                shorten(glob.as_str())
            );
            self.warn(
                spot,
                message,
                "look for a slip, or leave it if such files are still to come",
            );
        }
    }

    /// Whether some pull request could meet a condition. In doubt, one could.
    fn can_hold(&self, trigger: &GateTrigger) -> bool {
        match trigger {
            GateTrigger::Any(conditions) => {
                conditions.iter().any(|condition| self.can_hold(condition))
            }
            GateTrigger::All(conditions) => {
                let denied = |wanted: &GateTrigger| {
                    conditions
                        .iter()
                        .any(|other| matches!(other, GateTrigger::Not(not) if **not == *wanted))
                };
                conditions
                    .iter()
                    .all(|condition| self.can_hold(condition) && !denied(condition))
            }
            GateTrigger::Not(condition) => **condition != GateTrigger::Always,
            GateTrigger::Author(logins) => !logins.iter().all(|login| {
                self.survey.authority.logins.get(login) == Some(&Err(Unusable::NoAccount))
            }),
            _ => true,
        }
    }
}

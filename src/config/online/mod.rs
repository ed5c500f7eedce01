//! What is wrong with a valid configuration once GitHub is asked: names that lead nowhere, gates that no person can
//! ever approve, conditions that can never hold.
//!
//! An error stands in somebody's way for sure; a warning may be meant.

mod actions;
mod approvers;
mod conditions;

use super::{
    load::Layers,
    presets::Presets,
    problem::{Layer, Place, Problem, shorten},
    source::Source,
    suggest,
};
use loopgate_core::{
    Login,
    concerns::gates::online_facts::{Survey, recipients},
    policy::{AnswersApps, ConfigError, Fixer, Policy, Recipient},
};

/// What asking GitHub brought to light, in the order of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnlineFindings {
    pub errors: Vec<ConfigError>,
    pub warnings: Vec<ConfigError>,
}

/// Compares a policy with what GitHub has; the sources are the texts it was made from.
pub fn online(
    organisation: Option<Source<'_>>,
    repository: Option<Source<'_>>,
    policy: &Policy,
    survey: &Survey,
) -> OnlineFindings {
    let layers = match Layers::read(&Presets::builtin().tree, organisation, repository) {
        Ok(layers) => layers,
        Err(errors) => {
            return OnlineFindings {
                errors,
                warnings: Vec::new(),
            };
        }
    };
    let mut check = Check {
        layers,
        policy,
        survey,
        found: OnlineFindings::default(),
    };
    for (name, gate) in &policy.gates {
        check.approvers(name, gate);
        check.approvable(name, gate);
        check.condition(name, gate);
    }
    check.called();
    check.owners();
    check.actions();
    let mut found = check.found;
    for problems in [&mut found.errors, &mut found.warnings] {
        problems.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
        problems.dedup();
    }
    found
}

struct Check<'a> {
    layers: Layers<'a>,
    policy: &'a Policy,
    survey: &'a Survey,
    found: OnlineFindings,
}

/// A place: the path of a key, and a word below it.
type Spot<'s> = (&'s [&'s str], Option<&'s str>);

impl Check<'_> {
    fn error(&mut self, spot: Spot<'_>, message: String, hint: impl Into<String>) {
        let problem = Problem::wrong(self.place(spot), message).hint(hint);
        self.found.errors.push(self.layers.error(&problem));
    }

    fn warn(&mut self, spot: Spot<'_>, message: String, hint: impl Into<String>) {
        let problem = Problem::wrong(self.place(spot), message).hint(hint);
        self.found.warnings.push(self.layers.error(&problem));
    }

    /// The key a path leads to, or a word below it (`@` and case aside). If the file lacks the key, the innermost key
    /// around it, otherwise the file's start.
    fn place(&self, (path, word): Spot<'_>) -> Place {
        let file = if self.layers.repository.is_some() {
            Layer::Repository
        } else {
            Layer::Organisation
        };
        let (mut node, mut place) = (&self.layers.tree, Place::start(file));
        for key in path {
            let Some(entry) = node.get(key) else {
                return place;
            };
            if entry.key.layer != Layer::Builtin {
                place = entry.key;
            }
            node = &entry.node;
        }
        let plain = |word: &str| word.trim_start_matches('@').to_ascii_lowercase();
        let word = word.and_then(|word| node.find_text(&|text| plain(text) == plain(word)));
        word.filter(|place| place.layer != Layer::Builtin)
            .unwrap_or(place)
    }

    /// Whom escalations and fixers call.
    fn called(&mut self) {
        for recipient in recipients(self.policy) {
            match recipient {
                Recipient::User(login) => {
                    drop(self.account((&["escalation"], Some(login.as_str())), login))
                }
                Recipient::Team(team) => {
                    let word = team.to_string();
                    self.team((&["escalation"], Some(&word)), team, false);
                }
                Recipient::GateApprovers(_) => {}
            }
        }
        let senior = (
            &["escalation", "senior"][..],
            self.policy.escalation.senior.as_ref(),
        );
        let fixers = [(&["fixer"][..], Some(&self.policy.fixer.fixer)), senior];
        for (path, fixer) in fixers {
            if let Some(login) = fixer.and_then(Fixer::mentioned) {
                self.account((path, Some(login.as_str())), login);
                self.hears(path, login);
            }
        }
    }

    /// Whether the agent that is asked in a comment answers one of an App.
    fn hears(&mut self, path: &[&str], login: &Login) {
        let (message, hint) = match AnswersApps::of(login) {
            AnswersApps::Never => (
                "answers comments of people with write access only, and Loopgate's are an App's: it needs a person's token",
                "`fixer: { kind: dispatch, workflow: … }`: a workflow that asks it with a person's token",
            ),
            AnswersApps::WhereNamed => (
                "answers a comment of an App only where its workflow names that App",
                "write Loopgate's App into `allowed_bots` of anthropics/claude-code-action",
            ),
            AnswersApps::Unknown => return,
        };
        self.warn(
            (path, Some(login.as_str())),
            format!("`{login}` {message}"),
            hint,
        );
    }
}

/// "did you mean `main`?", if something known is much like the word.
fn meant<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    suggest::nearest(word, known).map(|nearest| format!("did you mean `{}`?", shorten(nearest)))
}

/// "alice, bob and 3 more".
fn people<'a>(logins: impl ExactSizeIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 5;
    let left_out = logins.len().saturating_sub(SHOWN);
    let mut shown: Vec<String> = logins.take(SHOWN).map(str::to_owned).collect();
    if left_out > 0 {
        shown.push(format!("{left_out} more"));
    }
    match shown.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => shown.concat(),
    }
}

#[cfg(test)]
mod tests;

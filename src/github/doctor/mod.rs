//! Whether Loopgate can work: compares what GitHub returns about the App, its webhook, its installations and a
//! repository with what is needed.
//!
//! [`Facts`] are asked for once. Each check is a function of them, and stands in a table; it finds nothing, or what is
//! wrong with the remedy.

mod app;
mod facts;
mod repository;
mod webhook;

use super::Github;
pub use crate::render::{DoctorLine as Line, DoctorOutcome as Outcome};
use facts::Facts;
pub use facts::{Arrives, Expected};
use loopgate_core::RepoName;

/// What a check finds. The name of the check is added to it in [`told`].
type Finding = Line;

impl Line {
    fn new(outcome: Outcome, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        let remedy = Some(remedy.into()).filter(|remedy: &String| !remedy.is_empty());
        Self { check: "", outcome, message: message.into(), remedy, link: None }
    }

    fn fault(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Outcome::Fault, message, remedy)
    }

    fn warning(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Outcome::Warning, message, remedy)
    }

    /// What could not be asked for.
    fn unknown(what: &str, reason: &str) -> Self {
        Self::new(Outcome::Unknown, format!("GitHub does not say {what}: {reason}"), "ask again later")
    }

    /// With the App's settings page, or a page below it, as its link.
    fn at_settings(self, facts: &Facts, below: &str) -> Self {
        match facts.settings() {
            Some(page) => self.at(format!("{page}{below}")),
            None => self,
        }
    }

    fn at(self, link: impl Into<String>) -> Self {
        Self { link: Some(link.into()), ..self }
    }
}

/// A check: its name, what is so where it finds nothing, and what finds.
struct Check {
    name: &'static str,
    healthy: &'static str,
    find: fn(&Facts) -> Vec<Finding>,
}

const fn check(name: &'static str, healthy: &'static str, find: fn(&Facts) -> Vec<Finding>) -> Check {
    Check { name, healthy, find }
}

/// Without this the others have nothing to go by.
const FIRST: [Check; 2] = [
    check("clock", "this machine's clock agrees with GitHub's", app::clock),
    check("app", "GitHub answers, and takes the App's key", app::reached),
];

const OF_APP: [Check; 10] = [
    check("version", "this GitHub is one that is made for", app::version),
    check("permissions", "the App asks for all permissions that are needed", app::permissions),
    check("events", "the App subscribes to all events that are needed", app::events),
    check("installations", "the App is installed, and nothing suspends it", app::installations),
    check("accepted-permissions", "every installation has what the App asks for", app::accepted),
    check("installation-requests", "no request to install the App waits", app::requests),
    check("webhook-address", "webhooks go to this server", webhook::address),
    check("deliveries", "the last deliveries were accepted", webhook::deliveries),
    check("signing", "merges are signed for, and anybody can check it", app::signing),
    check("redelivery", "the newest delivery was sent again, and arrived", webhook::redelivery),
];

const OF_REPOSITORY: [Check; 5] = [
    check("repository", "the App sees the repository", repository::reached),
    check(
        "configuration",
        "its configuration is right, and the people and teams in it are known",
        repository::configuration,
    ),
    check("required-checks", "its default branch requires our checks, of our App", repository::required),
    check(
        "hidden-refs",
        "nothing is known that refuses or deletes the refs below refs/loopgate/",
        repository::hidden_refs,
    ),
    check("agent", "the fixer can be called", repository::agent),
];

/// Examines the App, and a repository if one is named. Nothing is written but a wish to deliver the newest webhook again.
///
/// Returns lines in the order of the checks; those that cannot be made after others failed are left out.
pub async fn examine(github: &Github, expected: &Expected, repository: Option<&RepoName>) -> Vec<Line> {
    let mut facts = Facts::of_app(github, expected).await;
    let mut lines = told(&FIRST, &facts);
    if facts.app.is_ok() {
        facts.ask_further(github, repository).await;
        lines.extend(told(&OF_APP, &facts));
        if facts.repository.is_some() {
            lines.extend(told(&OF_REPOSITORY, &facts));
        }
    }
    lines
}

fn told(checks: &[Check], facts: &Facts) -> Vec<Line> {
    let mut lines = Vec::new();
    for check in checks {
        let mut found = (check.find)(facts);
        if found.is_empty() {
            found.push(Finding::new(Outcome::Healthy, check.healthy, ""));
        }
        lines.extend(found.into_iter().map(|found| Line { check: check.name, ..found }));
    }
    lines
}

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
pub use facts::{Arrives, Expected};
use facts::{Facts, Reached, RepositoryFacts};
use loopgate_core::RepoName;

/// What a check finds. The name of the check is added to it in [`lines_of`].
type Finding = Line;

/// What a check finds, none where all is well; or the one finding that ends it.
type Found = Result<Vec<Finding>, Finding>;

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

    fn at(self, link: impl Into<String>) -> Self {
        Self { link: Some(link.into()), ..self }
    }
}

/// A check: its name, what is so where it finds nothing, and what finds.
struct Check<F> {
    name: &'static str,
    healthy: &'static str,
    find: fn(&F) -> Found,
}

const fn check<F>(name: &'static str, healthy: &'static str, find: fn(&F) -> Found) -> Check<F> {
    Check { name, healthy, find }
}

/// Without this the others have nothing to go by.
const FIRST: [Check<Reached>; 2] = [
    check("clock", "this machine's clock agrees with GitHub's", app::clock),
    check("app", "GitHub answers, and takes the App's key", app::reached),
];

const OF_APP: [Check<Facts>; 10] = [
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

const OF_REPOSITORY: [Check<RepositoryFacts>; 4] = [
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
    let reached = Reached::of(github).await;
    let mut lines = told(&FIRST, &reached);
    let Ok(app) = reached.app else { return lines };
    let facts = Facts::of(github, expected, app).await;
    lines.extend(told(&OF_APP, &facts));
    let Some(name) = repository else { return lines };
    let (seen, unseen) = match Box::pin(RepositoryFacts::of(github, name, facts.app)).await {
        Ok(seen) => (Some(seen), Ok(Vec::new())),
        Err(unseen) => (None, Err(unseen)),
    };
    lines.extend(lines_of("repository", "the App sees the repository", unseen));
    lines.extend(seen.iter().flat_map(|seen| told(&OF_REPOSITORY, seen)));
    lines
}

fn told<F>(checks: &[Check<F>], facts: &F) -> Vec<Line> {
    checks.iter().flat_map(|check| lines_of(check.name, check.healthy, (check.find)(facts))).collect()
}

/// The lines of one check.
fn lines_of(name: &'static str, healthy: &str, found: Found) -> Vec<Line> {
    let mut found = found.unwrap_or_else(|finding| vec![finding]);
    if found.is_empty() {
        found.push(Finding::new(Outcome::Healthy, healthy, ""));
    }
    found.into_iter().map(|found| Line { check: name, ..found }).collect()
}

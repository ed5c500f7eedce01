//! Whether Loopgate can work: compares what GitHub returns about the App, its webhook, its installations and a
//! repository with what is needed.
//!
//! Each check finds nothing, or what is wrong with the remedy.

mod app;
mod repository;

pub use crate::github::app::registration::Arrival;
use crate::github::{
    app::deliveries::DeliveryAttempt,
    client::{
        Github,
        error::{Error, Result},
    },
};
use crate::proof::Signer;
use loopgate_core::RepoName;
pub use loopgate_render::{DoctorLine as Line, DoctorOutcome as Outcome};

/// This server's settings.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    /// How webhooks reach it, where that is known.
    pub arrival: Option<Arrival>,
    /// What signs statements about merges.
    pub signer: Option<Signer>,
}

/// Pages of installations read at most: 3,000 of them.
const MOST_PAGES: usize = 30;

/// What a check finds. The name of the check is added to it in [`lines_of`].
type Finding = Line;

/// What a check finds, none where all is well; or the one finding that ends it.
type Found = Result<Vec<Finding>, Finding>;

/// GitHub's answer, or the finding that it is unknown.
type Lookup<T> = Result<T, Finding>;

/// What to do about an answer that is there and cannot be read: neither the network nor time mends that.
const UNKNOWN_FORM: &str = "GitHub answers in a form that this version of Loopgate does not know: take a newer one, or report \
                            it with this line";

/// GitHub's answer; without one a finding that `what` is unknown.
fn asked<T>(what: &str, answer: Result<T>) -> Lookup<T> {
    answer.map_err(|error| {
        let remedy = match &error {
            Error::Unreadable { .. } => UNKNOWN_FORM,
            _ => "ask again later",
        };
        let message = format!("GitHub does not say {what}: {error}");
        Finding::new(Outcome::Unknown, message, remedy)
    })
}

/// Examines the App, and a repository if one is named. Nothing is written but a wish to deliver the newest webhook
/// again.
///
/// Returns lines in the order of the checks; those that cannot be made after others failed are left out.
pub async fn examine(
    github: &Github,
    expected: &Expected,
    repository: Option<&RepoName>,
) -> Vec<Line> {
    let client = &github.client(None);
    let app = client.fetch("/app").await;
    let mut lines = lines_of(
        ("clock", "this machine's clock agrees with GitHub's"),
        app::clock(github),
    );
    lines.extend(lines_of(
        ("app", "GitHub answers, and takes the App's key"),
        app::reached(github, &app),
    ));
    let Ok(app) = app else { return lines };
    let installed = client
        .list_until("/app/installations", MOST_PAGES, |_| false)
        .await
        .map(|listing| listing.items);
    let installed = asked("where the App is installed", installed);
    // The newest hundred, newest first.
    let attempts = client
        .fetch::<Vec<DeliveryAttempt>>("/app/hook/deliveries?per_page=100")
        .await;
    let attempts = asked("what it delivered", attempts);
    let of_app = [
        (
            "version",
            "this GitHub is one that is made for",
            app::version(client).await,
        ),
        (
            "permissions",
            "the App asks for all permissions that are needed",
            app::permissions(&app),
        ),
        (
            "events",
            "the App subscribes to all events that are needed",
            app::events(&app),
        ),
        (
            "installations",
            "the App is installed, and nothing suspends it",
            app::installations(&app, &installed),
        ),
        (
            "accepted-permissions",
            "every installation has what the App asks for",
            app::accepted(&app, &installed),
        ),
        (
            "installation-requests",
            "no request to install the App waits",
            app::requests(client).await,
        ),
        (
            "webhook-address",
            "webhooks go to this server",
            app::address(client, expected, &app).await,
        ),
        (
            "deliveries",
            "the last deliveries were accepted",
            app::deliveries(&attempts, expected, &app),
        ),
        (
            "signing",
            "merges are signed for, and anybody can check it",
            app::signing(expected),
        ),
        (
            "redelivery",
            "the newest delivery was sent again, and arrived",
            app::redelivery(client, &attempts, expected, &app).await,
        ),
    ];
    lines.extend(
        of_app
            .into_iter()
            .flat_map(|(name, healthy, found)| lines_of((name, healthy), found)),
    );
    let Some(name) = repository else { return lines };
    lines.extend(Box::pin(repository::examine(github, name, &app)).await);
    lines
}

/// The lines of one check.
fn lines_of((name, healthy): (&'static str, &str), found: Found) -> Vec<Line> {
    let mut found = found.unwrap_or_else(|finding| vec![finding]);
    if found.is_empty() {
        found.push(Finding::new(Outcome::Healthy, healthy, ""));
    }
    found
        .into_iter()
        .map(|found| Line {
            check: name,
            ..found
        })
        .collect()
}

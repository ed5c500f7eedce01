//! What Loopgate needs of GitHub, and what each of it is good for. The manifest and `loopgate doctor` use it, and the
//! table in server.md lists it.

use serde::{Deserialize, Serialize};

loopgate_core::words! {
    /// How much of a permission.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Access {
        Read = "read",
        Write = "write",
        /// Above what Loopgate asks for anywhere.
        Admin = "admin",
    }
}

/// A permission, and the events that take it.
#[derive(Debug, PartialEq, Eq)]
pub struct Need {
    /// GitHub's key.
    pub permission: &'static str,
    /// As GitHub's settings name it.
    pub name: &'static str,
    pub access: Access,
    /// What does not work without it.
    pub without: &'static str,
    /// What is subscribed to on its ground. Events of installations come unasked, and a manifest that names them is
    /// refused (<https://docs.github.com/en/webhooks/webhook-events-and-payloads>).
    pub events: &'static [&'static str],
}

const fn need(
    (permission, name): (&'static str, &'static str),
    access: Access,
    without: &'static str,
    events: &'static [&'static str],
) -> Need {
    Need {
        permission,
        name,
        access,
        without,
        events,
    }
}

/// All of them.
pub const NEEDS: [Need; 9] = [
    need(
        ("contents", "Contents"),
        Access::Write,
        "attempts are not counted; without reading nothing works",
        &["push"],
    ),
    need(
        ("pull_requests", "Pull requests"),
        Access::Write,
        "no review is requested; without reading nothing works",
        &[
            "pull_request",
            "pull_request_review",
            "pull_request_review_comment",
            "pull_request_review_thread",
        ],
    ),
    need(
        ("issues", "Issues"),
        Access::Write,
        "approvals and commands are read late or never",
        &["issue_comment"],
    ),
    need(
        ("checks", "Checks"),
        Access::Write,
        "there is nothing for branch protection to require",
        &["check_run", "check_suite"],
    ),
    need(
        ("actions", "Actions"),
        Access::Write,
        "`run:` checks bring no evidence, or are not run again",
        &["workflow_run"],
    ),
    need(
        ("statuses", "Commit statuses"),
        Access::Read,
        "`from:` checks that are commit statuses are not seen",
        &["status"],
    ),
    need(
        ("members", "Members (organisation)"),
        Access::Read,
        "gates whose approvers are a team stay closed",
        &["member", "membership", "organization", "team"],
    ),
    need(
        ("merge_queues", "Merge queues"),
        Access::Read,
        "a merge queue waits until it gives up",
        &["merge_group"],
    ),
    need(
        ("metadata", "Metadata"),
        Access::Read,
        "nothing works",
        &["repository"],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = include_str!("../../../../docs/server.md");

    #[test]
    fn the_document_asks_for_the_same() {
        let rows: Vec<&str> = DOCUMENT
            .lines()
            .filter(|line| line.starts_with("| "))
            .collect();
        for need in NEEDS {
            let row = format!("| {} | {} |", need.name, need.access.as_str());
            assert!(
                rows.iter().any(|line| line.starts_with(&row)),
                "docs/server.md has no row `{row}`"
            );
        }
        let mut events: Vec<String> = NEEDS
            .iter()
            .flat_map(|need| need.events)
            .map(|event| sentence(event))
            .collect();
        events.sort_unstable();
        let (above, rest) = DOCUMENT
            .split_once("Subscribe to: *")
            .expect("a list of events");
        let (_, below) = rest.split_once("*.").expect("its end");
        let written = format!("{above}Subscribe to: *{}*.{below}", events.join(", "));
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/server.md");
        loopgate_written::assert_written(file, &written);
    }

    /// `Check run` for `check_run`, as GitHub's settings name it.
    fn sentence(event: &str) -> String {
        let (first, rest) = event.split_at(1);
        first.to_uppercase() + &rest.replace('_', " ")
    }
}

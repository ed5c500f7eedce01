//! The few fields of a payload that routing reads, borrowed from the body.
//!
//! Everything else a payload holds is skipped by the parser without being kept, so an event costs one pass over its
//! bytes whatever its size. GitHub's events name the same things alike, so that one type reads them all; what an event
//! must have, its own function asks for. The bound on each type requires that its texts may be borrowed.

use std::borrow::Cow;

use serde::{Deserialize, de::IgnoredAny};

/// Text of a payload: borrowed where the JSON holds it without escapes, which names always do.
///
/// `Option<Cow<str>>` would always copy: serde borrows into a `Cow` only when it is the field's whole type.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

/// Defines a payload and its parts.
macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident { $($(#[$attr:meta])* $field:ident: $type:ty,)* })*) => {
        $($(#[$doc])*
        #[derive(Debug, Deserialize)]
        #[serde(bound(deserialize = "'de: 'a"))]
        pub(super) struct $name<'a> {
            $($(#[$attr])* pub $field: $type,)*
        })*
    };
}

#[derive(Debug, Deserialize)]
pub(super) struct Id {
    pub id: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Issue {
    pub number: u64,
    /// There when the issue is a pull request; only its presence matters.
    pub pull_request: Option<IgnoredAny>,
}

parts! {
    Payload {
        action: Option<Text<'a>>,
        repository: Option<Repository<'a>>,
        installation: Option<Id>,
        sender: Option<Account<'a>>,
        pull_request: Option<PullRequest<'a>>,
        /// Of `synchronize` and of a push: the commits before and after.
        before: Option<Text<'a>>,
        after: Option<Text<'a>>,
        issue: Option<Issue>,
        comment: Option<Comment<'a>>,
        review: Option<Id>,
        changes: Option<Changes<'a>>,
        check_run: Option<Run<'a>>,
        requested_action: Option<RequestedAction<'a>>,
        check_suite: Option<Run<'a>>,
        /// Of a commit status.
        sha: Option<Text<'a>>,
        context: Option<Text<'a>>,
        workflow_run: Option<Run<'a>>,
        /// Of a push.
        #[serde(rename = "ref")]
        git_ref: Option<Text<'a>>,
        created: Option<bool>,
        deleted: Option<bool>,
        forced: Option<bool>,
        #[serde(default)]
        commits: Vec<Commit<'a>>,
        #[serde(default)]
        repositories_added: Vec<Repository<'a>>,
        organization: Option<Organization<'a>>,
        team: Option<Team<'a>>,
        member: Option<Account<'a>>,
        membership: Option<Membership<'a>>,
        merge_group: Option<MergeGroup<'a>>,
        reason: Option<Text<'a>>,
        /// Of `workflow_dispatch`.
        inputs: Option<Inputs<'a>>,
    }

    Account {
        id: u64,
        login: Text<'a>,
    }

    Repository {
        full_name: Text<'a>,
        default_branch: Option<Text<'a>>,
    }

    PullRequest {
        number: u64,
        head: Option<Side<'a>>,
        base: Option<Side<'a>>,
        updated_at: Option<Text<'a>>,
    }

    /// The head or the base of a pull request.
    Side {
        sha: Option<Text<'a>>,
        #[serde(rename = "ref")]
        branch: Option<Text<'a>>,
    }

    Comment {
        id: u64,
        body: Option<Text<'a>>,
        updated_at: Option<Text<'a>>,
    }

    Changes {
        body: Option<Before<'a>>,
        default_branch: Option<Before<'a>>,
    }

    Before {
        from: Option<Text<'a>>,
    }

    /// A check run, a suite of them or a workflow run.
    Run {
        id: Option<u64>,
        name: Option<Text<'a>>,
        head_sha: Text<'a>,
        app: Option<App<'a>>,
        check_suite: Option<Id>,
        pull_requests: Option<Vec<PullRequest<'a>>>,
        /// How many check runs a suite has, the newest of each name.
        latest_check_runs_count: Option<u64>,
        /// What started a workflow run.
        event: Option<Text<'a>>,
        head_branch: Option<Text<'a>>,
    }

    /// A GitHub App, as check runs and suites name theirs.
    App {
        id: u64,
        slug: Option<Text<'a>>,
    }

    RequestedAction {
        identifier: Text<'a>,
    }

    /// GitHub's own description of the payload requires none of the lists.
    Commit {
        added: Option<Vec<Text<'a>>>,
        modified: Option<Vec<Text<'a>>>,
        removed: Option<Vec<Text<'a>>>,
    }

    Organization {
        login: Text<'a>,
    }

    Team {
        slug: Option<Text<'a>>,
    }

    Membership {
        user: Option<Account<'a>>,
    }

    MergeGroup {
        head_sha: Text<'a>,
        base_sha: Text<'a>,
        base_ref: Text<'a>,
        head_ref: Option<Text<'a>>,
    }

    Inputs {
        #[serde(rename = "pull-request")]
        pull_request: Option<Text<'a>>,
    }
}

impl Payload<'_> {
    pub fn action(&self) -> &str {
        self.action.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_borrowed_and_escaped_text_is_decoded() {
        let plain: Before<'_> = serde_json::from_str(r#"{"from":"plain"}"#).unwrap();
        assert!(matches!(plain.from, Some(Text(Cow::Borrowed("plain")))));
        let escaped: Before<'_> = serde_json::from_str(r#"{"from":"a\r\nb"}"#).unwrap();
        assert_eq!(escaped.from.as_deref(), Some("a\r\nb"));
    }
}

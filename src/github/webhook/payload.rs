//! The few fields of each payload that routing reads, borrowed from the body.
//!
//! Everything else a payload holds is skipped by the parser without being kept, so an event costs one pass over its
//! bytes whatever its size. What GitHub documents as always there is required; everything else is optional. The bound
//! on each type requires that its texts may be borrowed.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, de};

/// Text of a payload: borrowed where the JSON holds it without escapes, which names always do.
///
/// `Option<Cow<str>>` would always copy: serde borrows into a `Cow` only when it is the field's whole type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text<'a>(Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

/// Defines payloads: a `part` has its fields, an `event` also what all events share.
macro_rules! payloads {
    ($($(#[$doc:meta])* $kind:ident $name:ident { $($(#[$attr:meta])* $field:ident: $type:ty,)* })*) => {
        $(payloads! { @$kind $(#[$doc])* $name { $($(#[$attr])* $field: $type,)* } })*
    };
    (@part $(#[$doc:meta])* $name:ident { $($(#[$attr:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Deserialize)]
        #[serde(bound(deserialize = "'de: 'a"))]
        pub(super) struct $name<'a> {
            $($(#[$attr])* pub $field: $type,)*
        }
    };
    (@event $(#[$doc:meta])* $name:ident { $($(#[$attr:meta])* $field:ident: $type:ty,)* }) => {
        payloads! {
            @part $(#[$doc])* $name {
                action: Option<Text<'a>>,
                repository: Option<Repository<'a>>,
                installation: Option<Id>,
                sender: Option<Account<'a>>,
                $($(#[$attr])* $field: $type,)*
            }
        }

        impl<'a> $name<'a> {
            pub fn common(&self) -> Common<'_, 'a> {
                Common {
                    action: self.action.as_deref().unwrap_or_default(),
                    repository: self.repository.as_ref(),
                    installation: self.installation.as_ref(),
                    sender: self.sender.as_ref(),
                }
            }
        }
    };
}

/// What every payload needs to become work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Common<'p, 'a> {
    pub action: &'p str,
    pub repository: Option<&'p Repository<'a>>,
    pub installation: Option<&'p Id>,
    pub sender: Option<&'p Account<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Id {
    pub id: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Issue {
    pub number: u64,
    /// There when the issue is a pull request; only its presence matters.
    pub pull_request: Option<de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Number {
    pub number: u64,
}

payloads! {
    part Account {
        id: u64,
        login: Text<'a>,
    }

    part Repository {
        full_name: Text<'a>,
        default_branch: Option<Text<'a>>,
    }

    /// `pull_request`
    event PullRequestEvent {
        pull_request: PullRequest<'a>,
        /// Of `synchronize`: the heads before and after.
        before: Option<Text<'a>>,
        after: Option<Text<'a>>,
    }

    part PullRequest {
        number: u64,
        head: Option<Head<'a>>,
        base: Option<Base<'a>>,
        updated_at: Option<Text<'a>>,
    }

    part Base {
        #[serde(rename = "ref")]
        branch: Option<Text<'a>>,
    }

    part Head {
        sha: Text<'a>,
    }

    /// `issue_comment`
    event IssueCommentEvent {
        comment: Comment<'a>,
        issue: Issue,
        changes: Option<Changes<'a>>,
    }

    /// `pull_request_review_comment`
    event ReviewCommentEvent {
        comment: Comment<'a>,
        pull_request: PullRequest<'a>,
    }

    /// `pull_request_review`
    event ReviewEvent {
        review: Id,
        pull_request: PullRequest<'a>,
    }

    part Comment {
        id: u64,
        body: Option<Text<'a>>,
        updated_at: Option<Text<'a>>,
    }

    part Changes {
        body: Option<Before<'a>>,
        default_branch: Option<Before<'a>>,
    }

    part Before {
        from: Option<Text<'a>>,
    }

    /// `check_run`
    event CheckRunEvent {
        check_run: CheckRun<'a>,
        requested_action: Option<RequestedAction<'a>>,
    }

    part CheckRun {
        id: u64,
        name: Option<Text<'a>>,
        head_sha: Text<'a>,
        app: Option<App<'a>>,
        check_suite: Option<Id>,
        pull_requests: Option<Vec<Number>>,
    }

    /// A GitHub App, as check runs and suites name theirs.
    part App {
        id: u64,
        slug: Option<Text<'a>>,
    }

    part RequestedAction {
        identifier: Text<'a>,
    }

    /// `check_suite`
    event CheckSuiteEvent {
        check_suite: CheckSuite<'a>,
    }

    part CheckSuite {
        id: Option<u64>,
        head_sha: Text<'a>,
        app: Option<App<'a>>,
        /// How many check runs it has, the newest of each name.
        latest_check_runs_count: Option<u64>,
        pull_requests: Option<Vec<Number>>,
    }

    /// `status`
    event StatusEvent {
        sha: Text<'a>,
        context: Option<Text<'a>>,
    }

    /// `workflow_run`
    event WorkflowRunEvent {
        workflow_run: WorkflowRun<'a>,
    }

    part WorkflowRun {
        head_sha: Text<'a>,
        pull_requests: Option<Vec<Number>>,
        /// What started the run.
        event: Option<Text<'a>>,
        head_branch: Option<Text<'a>>,
    }

    /// `push`
    event PushEvent {
        #[serde(rename = "ref")]
        git_ref: Text<'a>,
        before: Option<Text<'a>>,
        created: Option<bool>,
        deleted: Option<bool>,
        forced: Option<bool>,
        #[serde(default)]
        commits: Vec<Commit<'a>>,
    }

    /// GitHub's own description of the payload requires none of the lists.
    part Commit {
        added: Option<Vec<Text<'a>>>,
        modified: Option<Vec<Text<'a>>>,
        removed: Option<Vec<Text<'a>>>,
    }

    /// `installation`, `installation_repositories` and `repository`
    event InstallationEvent {
        #[serde(default)]
        repositories_added: Vec<Repository<'a>>,
        changes: Option<Changes<'a>>,
    }

    /// `team`, `membership`, `member` and `organization`
    event OrganizationEvent {
        organization: Option<Organization<'a>>,
        team: Option<Team<'a>>,
        member: Option<Account<'a>>,
        membership: Option<Membership<'a>>,
    }

    part Organization {
        login: Text<'a>,
    }

    part Team {
        slug: Option<Text<'a>>,
    }

    part Membership {
        user: Option<Account<'a>>,
    }

    /// `merge_group`
    event MergeGroupEvent {
        merge_group: MergeGroup<'a>,
        reason: Option<Text<'a>>,
    }

    part MergeGroup {
        head_sha: Text<'a>,
        base_sha: Text<'a>,
        base_ref: Text<'a>,
        head_ref: Option<Text<'a>>,
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

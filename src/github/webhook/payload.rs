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

/// Defines one event's payload: what all events share, and its own fields.
macro_rules! payload {
    ($(#[$doc:meta])* $name:ident { $($(#[$attr:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Deserialize)]
        #[serde(bound(deserialize = "'de: 'a"))]
        pub(super) struct $name<'a> {
            pub action: Option<Text<'a>>,
            pub repository: Option<Repository<'a>>,
            pub installation: Option<Id>,
            pub sender: Option<Account<'a>>,
            $($(#[$attr])* pub $field: $type,)*
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
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Account<'a> {
    pub id: u64,
    pub login: Text<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Repository<'a> {
    pub full_name: Text<'a>,
    pub default_branch: Option<Text<'a>>,
}

payload! {
    /// `pull_request`
    PullRequestEvent {
        pull_request: PullRequest<'a>,
        /// Of `synchronize`: the heads before and after.
        before: Option<Text<'a>>,
        after: Option<Text<'a>>,
    }
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct PullRequest<'a> {
    pub number: u64,
    pub head: Option<Head<'a>>,
    pub base: Option<Base<'a>>,
    pub updated_at: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Base<'a> {
    #[serde(rename = "ref")]
    pub branch: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Head<'a> {
    pub sha: Text<'a>,
}

payload! {
    /// `issue_comment`
    IssueCommentEvent {
        comment: Comment<'a>,
        issue: Issue,
        changes: Option<Changes<'a>>,
    }
}

payload! {
    /// `pull_request_review_comment`
    ReviewCommentEvent {
        comment: Comment<'a>,
        pull_request: PullRequest<'a>,
    }
}

payload! {
    /// `pull_request_review`
    ReviewEvent {
        review: Id,
        pull_request: PullRequest<'a>,
    }
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Comment<'a> {
    pub id: u64,
    pub body: Option<Text<'a>>,
    pub updated_at: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Issue {
    pub number: u64,
    /// There when the issue is a pull request; only its presence matters.
    pub pull_request: Option<de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Changes<'a> {
    pub body: Option<Before<'a>>,
    pub default_branch: Option<Before<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Before<'a> {
    pub from: Option<Text<'a>>,
}

payload! {
    /// `check_run`
    CheckRunEvent {
        check_run: CheckRun<'a>,
        requested_action: Option<RequestedAction<'a>>,
    }
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct CheckRun<'a> {
    pub id: u64,
    pub name: Option<Text<'a>>,
    pub head_sha: Text<'a>,
    pub app: Option<App<'a>>,
    pub check_suite: Option<Id>,
    pub pull_requests: Option<Vec<Number>>,
}

/// A GitHub App, as check runs and suites name theirs.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct App<'a> {
    pub id: u64,
    pub slug: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Number {
    pub number: u64,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct RequestedAction<'a> {
    pub identifier: Text<'a>,
}

payload! {
    /// `check_suite`
    CheckSuiteEvent {
        check_suite: CheckSuite<'a>,
    }
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct CheckSuite<'a> {
    pub id: Option<u64>,
    pub head_sha: Text<'a>,
    pub app: Option<App<'a>>,
    /// How many check runs it has, the newest of each name.
    pub latest_check_runs_count: Option<u64>,
    pub pull_requests: Option<Vec<Number>>,
}

payload! {
    /// `status`
    StatusEvent {
        sha: Text<'a>,
        context: Option<Text<'a>>,
    }
}

payload! {
    /// `workflow_run`
    WorkflowRunEvent {
        workflow_run: WorkflowRun<'a>,
    }
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct WorkflowRun<'a> {
    pub head_sha: Text<'a>,
    pub pull_requests: Option<Vec<Number>>,
    /// What started the run.
    pub event: Option<Text<'a>>,
    pub head_branch: Option<Text<'a>>,
}

payload! {
    /// `push`
    PushEvent {
        #[serde(rename = "ref")]
        git_ref: Text<'a>,
        before: Option<Text<'a>>,
        created: Option<bool>,
        deleted: Option<bool>,
        forced: Option<bool>,
        #[serde(default)]
        commits: Vec<Commit<'a>>,
    }
}

/// GitHub's own description of the payload requires none of the lists.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Commit<'a> {
    pub added: Option<Vec<Text<'a>>>,
    pub modified: Option<Vec<Text<'a>>>,
    pub removed: Option<Vec<Text<'a>>>,
}

payload! {
    /// `installation`, `installation_repositories` and `repository`
    InstallationEvent {
        #[serde(default)]
        repositories_added: Vec<Repository<'a>>,
        changes: Option<Changes<'a>>,
    }
}

payload! {
    /// `team`, `membership`, `member` and `organization`
    OrganizationEvent {
        organization: Option<Organization<'a>>,
        team: Option<Team<'a>>,
        member: Option<Account<'a>>,
        membership: Option<Membership<'a>>,
    }
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Organization<'a> {
    pub login: Text<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Team<'a> {
    pub slug: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Membership<'a> {
    pub user: Option<Account<'a>>,
}

payload! {
    /// `merge_group`
    MergeGroupEvent {
        merge_group: MergeGroup<'a>,
        reason: Option<Text<'a>>,
    }
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct MergeGroup<'a> {
    pub head_sha: Text<'a>,
    pub base_sha: Text<'a>,
    pub base_ref: Text<'a>,
    pub head_ref: Option<Text<'a>>,
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

//! The few fields of each payload that routing reads, borrowed from the body.
//!
//! Everything else a payload holds is skipped by the parser without being kept, so an event costs one pass over its
//! bytes whatever its size. What GitHub documents as always there is required; everything else is optional.

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
        pub(super) struct $name<'a> {
            #[serde(borrow)]
            pub action: Option<Text<'a>>,
            #[serde(borrow)]
            pub repository: Option<Repository<'a>>,
            pub installation: Option<Id>,
            #[serde(borrow)]
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
pub(super) struct Account<'a> {
    pub id: u64,
    #[serde(borrow)]
    pub login: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Repository<'a> {
    #[serde(borrow)]
    pub full_name: Text<'a>,
    #[serde(borrow)]
    pub default_branch: Option<Text<'a>>,
}

payload! {
    /// `pull_request`
    PullRequestEvent {
        #[serde(borrow)]
        pull_request: PullRequest<'a>,
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct PullRequest<'a> {
    pub number: u64,
    #[serde(borrow)]
    pub head: Option<Head<'a>>,
    #[serde(borrow)]
    pub updated_at: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Head<'a> {
    #[serde(borrow)]
    pub sha: Text<'a>,
}

payload! {
    /// `issue_comment`
    IssueCommentEvent {
        #[serde(borrow)]
        comment: Comment<'a>,
        issue: Issue,
        #[serde(borrow)]
        changes: Option<Changes<'a>>,
    }
}

payload! {
    /// `pull_request_review_comment`
    ReviewCommentEvent {
        #[serde(borrow)]
        comment: Comment<'a>,
        #[serde(borrow)]
        pull_request: PullRequest<'a>,
    }
}

payload! {
    /// `pull_request_review`
    ReviewEvent {
        review: Id,
        #[serde(borrow)]
        pull_request: PullRequest<'a>,
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Comment<'a> {
    pub id: u64,
    #[serde(borrow)]
    pub body: Option<Text<'a>>,
    #[serde(borrow)]
    pub updated_at: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Issue {
    pub number: u64,
    /// There when the issue is a pull request; only its presence matters.
    pub pull_request: Option<de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Changes<'a> {
    #[serde(borrow)]
    pub body: Option<Before<'a>>,
    #[serde(borrow)]
    pub default_branch: Option<Before<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Before<'a> {
    #[serde(borrow)]
    pub from: Option<Text<'a>>,
}

payload! {
    /// `check_run`
    CheckRunEvent {
        #[serde(borrow)]
        check_run: CheckRun<'a>,
        #[serde(borrow)]
        requested_action: Option<RequestedAction<'a>>,
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct CheckRun<'a> {
    pub id: u64,
    #[serde(borrow)]
    pub head_sha: Text<'a>,
    pub app: Option<Id>,
    pub pull_requests: Option<Vec<Number>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Number {
    pub number: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct RequestedAction<'a> {
    #[serde(borrow)]
    pub identifier: Text<'a>,
}

payload! {
    /// `check_suite`
    CheckSuiteEvent {
        #[serde(borrow)]
        check_suite: CheckSuite<'a>,
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct CheckSuite<'a> {
    #[serde(borrow)]
    pub head_sha: Text<'a>,
    pub app: Option<Id>,
    pub pull_requests: Option<Vec<Number>>,
}

payload! {
    /// `status`
    StatusEvent {
        #[serde(borrow)]
        sha: Text<'a>,
    }
}

payload! {
    /// `workflow_run`
    WorkflowRunEvent {
        #[serde(borrow)]
        workflow_run: WorkflowRun<'a>,
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct WorkflowRun<'a> {
    #[serde(borrow)]
    pub head_sha: Text<'a>,
    pub pull_requests: Option<Vec<Number>>,
    /// What started the run.
    #[serde(borrow)]
    pub event: Option<Text<'a>>,
    #[serde(borrow)]
    pub head_branch: Option<Text<'a>>,
}

payload! {
    /// `push`
    PushEvent {
        #[serde(borrow, rename = "ref")]
        git_ref: Text<'a>,
        #[serde(borrow, default)]
        before: Option<Text<'a>>,
        created: Option<bool>,
        deleted: Option<bool>,
        forced: Option<bool>,
        #[serde(borrow, default)]
        commits: Vec<Commit<'a>>,
    }
}

/// GitHub's own description of the payload requires none of the lists.
#[derive(Debug, Deserialize)]
pub(super) struct Commit<'a> {
    #[serde(borrow, default)]
    pub added: Option<Vec<Text<'a>>>,
    #[serde(borrow, default)]
    pub modified: Option<Vec<Text<'a>>>,
    #[serde(borrow, default)]
    pub removed: Option<Vec<Text<'a>>>,
}

payload! {
    /// `installation`, `installation_repositories` and `repository`
    InstallationEvent {
        #[serde(borrow, default)]
        repositories_added: Vec<Repository<'a>>,
        #[serde(borrow)]
        changes: Option<Changes<'a>>,
    }
}

payload! {
    /// `team`, `membership` and `organization`
    OrganizationEvent {
        #[serde(borrow)]
        organization: Option<Organization<'a>>,
        #[serde(borrow)]
        team: Option<Team<'a>>,
        #[serde(borrow)]
        member: Option<Account<'a>>,
        #[serde(borrow)]
        membership: Option<Membership<'a>>,
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Organization<'a> {
    #[serde(borrow)]
    pub login: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Team<'a> {
    #[serde(borrow)]
    pub slug: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Membership<'a> {
    #[serde(borrow)]
    pub user: Option<Account<'a>>,
}

payload! {
    /// `merge_group`
    MergeGroupEvent {
        #[serde(borrow)]
        merge_group: MergeGroup<'a>,
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct MergeGroup<'a> {
    #[serde(borrow)]
    pub head_sha: Text<'a>,
    #[serde(borrow)]
    pub base_sha: Text<'a>,
    #[serde(borrow)]
    pub base_ref: Text<'a>,
    #[serde(borrow)]
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

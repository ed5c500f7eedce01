//! Webhook events as a workflow gets them: GitHub Actions writes the payload to a file, sends no signature and names
//! no installation, has a few events of its own, and some that must not be trusted with a token
//! (<https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows>).

use super::payload::{self, Payload, PayloadPull};
use super::{Irrelevant, OwnApp, PayloadError, Reader, Routed, Target, Work, events};
use loopgate_core::{InstallationId, PrNumber, RepoName, Timestamp, observed::Hint};

/// What a workflow was started for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InWorkflow {
    /// The targets are never none.
    Look {
        targets: Vec<Target>,
        hints: Vec<Hint>,
    },
    /// Nothing to look at: no request is made.
    Irrelevant(Irrelevant),
    /// The workflow listens to an event that it must not listen to.
    Unsuitable(Unsuitable),
}

/// Events that run the pull request's own workflow file, or that Loopgate has no use for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unsuitable {
    #[error(
        "`pull_request` runs the pull request's own version of this workflow, and has a read-only token for forks: let a \
         workflow without permissions listen to it, and this one to that one's `workflow_run`"
    )]
    PullRequest,
    #[error(
        "reviews run the pull request's own version of this workflow, and have a read-only token for forks: let a \
         workflow without permissions listen to `pull_request_review`, and this one to that one's `workflow_run`"
    )]
    Review,
    #[error("no pull request can be found from this event")]
    Unknown,
}

/// Reads which pull requests of `repository` the workflow event `event` (`GITHUB_EVENT_NAME`) with this payload
/// concerns.
///
/// `at` is a moment at or after the event, by GitHub's clock where it is known: heads are first seen then.
///
/// # Errors
/// [`PayloadError`] when the payload is not JSON, or lacks a field that GitHub documents as always there.
pub fn route_in_workflow(
    event: &str,
    body: &[u8],
    own: &OwnApp,
    repository: &RepoName,
    at: Timestamp,
) -> Result<InWorkflow, PayloadError> {
    // Whose it is follows from the token, not from the payload.
    let installation = Some(InstallationId::new(0));
    let reader = |event| Reader {
        event,
        body,
        own,
        received_at: at,
        installation,
    };
    let event = match event {
        "pull_request" => return Ok(InWorkflow::Unsuitable(Unsuitable::PullRequest)),
        "pull_request_review" | "pull_request_review_comment" => {
            return Ok(InWorkflow::Unsuitable(Unsuitable::Review));
        }
        "schedule" => return Ok(everything(repository)),
        "workflow_dispatch" => return dispatched(&reader(event), repository),
        "pull_request_target" => "pull_request",
        "issue_comment" | "workflow_run" | "merge_group" | "push" | "check_run" | "check_suite"
        | "status" => event,
        _ => return Ok(InWorkflow::Unsuitable(Unsuitable::Unknown)),
    };
    let reader = reader(event);
    Ok(match events::read(&reader)? {
        Routed::Work(Work {
            targets, mut hints, ..
        })
        | Routed::Check(
            Work {
                targets, mut hints, ..
            },
            _,
        ) => {
            hints.extend(seen_by_run(&reader));
            InWorkflow::Look { targets, hints }
        }
        Routed::Irrelevant(why) => InWorkflow::Irrelevant(why),
        Routed::Ping | Routed::Withdrawn(_) => InWorkflow::Unsuitable(Unsuitable::Unknown),
    })
}

/// The head of the pull requests that `Hint::NamedPulls` names, if the event is of a run that `pull_request` started.
/// The list is empty for forks. A pull request that has moved on since makes it worthless.
fn seen_by_run(reader: &Reader<'_>) -> Option<Hint> {
    let run = reader.read::<Payload>().ok()?.workflow_run?;
    let (sha, pulls) = (run.head_sha, run.pull_requests.unwrap_or_default());
    let is_at_head =
        |pull: &PayloadPull| pull.head.as_ref().is_some_and(|head| head.sha == Some(sha));
    let is_head = !pulls.is_empty() && pulls.iter().all(is_at_head);
    let is_pull_request = run
        .event
        .is_some_and(|event| event.starts_with("pull_request"));
    (is_pull_request && is_head).then_some(Hint::HeadSeen {
        sha,
        at: reader.received_at,
    })
}

fn everything(repository: &RepoName) -> InWorkflow {
    InWorkflow::Look {
        targets: vec![Target::Repository(repository.clone())],
        hints: Vec::new(),
    }
}

/// Started by hand: for the pull request that the input `pull-request` names, or for all.
fn dispatched(reader: &Reader<'_>, repository: &RepoName) -> Result<InWorkflow, PayloadError> {
    let inputs = payload::tree(&reader.read::<Payload>()?.inputs);
    let named = inputs["pull-request"]
        .as_str()
        .map(str::trim)
        .filter(|text| !text.is_empty());
    let Some(named) = named else {
        return Ok(everything(repository));
    };
    let number = reader.of(
        named.trim_start_matches('#').parse().ok(),
        "inputs.pull-request",
    )?;
    let target = Target::PullRequest {
        repository: repository.clone(),
        number: PrNumber::new(number),
    };
    Ok(InWorkflow::Look {
        targets: vec![target],
        hints: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use loopgate_core::{AppId, CommentId};

    const SHA: &str = "0123456789abcdef0123456789abcdef01234567";

    fn routed(event: &str, body: Value) -> InWorkflow {
        let own = OwnApp {
            app_id: AppId::new(15_368),
            bot: Some("github-actions[bot]".parse().unwrap()),
        };
        let at = "2026-11-20T10:15:00Z".parse().unwrap();
        route_in_workflow(event, body.to_string().as_bytes(), &own, &repository(), at).unwrap()
    }

    fn repository() -> RepoName {
        "acme/widgets".parse().unwrap()
    }

    fn look(target: Target, hints: Vec<Hint>) -> InWorkflow {
        InWorkflow::Look {
            targets: vec![target],
            hints,
        }
    }

    fn pull(number: u64) -> Target {
        Target::PullRequest {
            repository: repository(),
            number: PrNumber::new(number),
        }
    }

    #[test]
    fn events_without_an_installation_are_routed_as_webhooks_are() {
        let here = json!({ "full_name": "acme/widgets" });
        let opened = json!({ "action": "opened", "repository": here, "pull_request":
            { "number": 12, "updated_at": "2026-11-20T10:14:00Z", "head": { "sha": SHA } } });
        let seen = Hint::HeadSeen {
            sha: SHA.parse().unwrap(),
            at: "2026-11-20T10:15:00Z".parse().unwrap(),
        };
        assert_eq!(
            routed("pull_request_target", opened),
            look(pull(12), vec![seen])
        );
        let ended = json!({ "action": "completed", "repository": here,
            "workflow_run": { "head_sha": SHA, "pull_requests": [] } });
        let head = Target::Head {
            repository: repository(),
            sha: SHA.parse().unwrap(),
        };
        assert_eq!(routed("workflow_run", ended), look(head, vec![]));
        let relayed = |tip: &str| {
            json!({ "action": "completed", "repository": here, "workflow_run": { "head_sha": SHA,
                "event": "pull_request", "pull_requests": [{ "number": 12, "head": { "sha": tip } }] } })
        };
        let named = Hint::NamedPulls {
            pulls: vec![PrNumber::new(12)],
        };
        let seen = Hint::HeadSeen {
            sha: SHA.parse().unwrap(),
            at: "2026-11-20T10:15:00Z".parse().unwrap(),
        };
        let head = Target::Head {
            repository: repository(),
            sha: SHA.parse().unwrap(),
        };
        assert_eq!(
            routed("workflow_run", relayed(SHA)),
            look(head.clone(), vec![named.clone(), seen])
        );
        let moved_on = relayed("1123456789abcdef0123456789abcdef01234567");
        assert_eq!(routed("workflow_run", moved_on), look(head, vec![named]));
        let comment = |text: &str| {
            json!({ "action": "created", "repository": here, "issue": { "number": 12, "pull_request": {} },
                "comment": { "id": 5, "body": text }, "sender": { "id": 1, "login": "alice" } })
        };
        let written = Hint::CommentWritten {
            comment: CommentId::new(5),
        };
        assert_eq!(
            routed("issue_comment", comment("security approved")),
            look(pull(12), vec![written])
        );
        assert_eq!(
            routed("issue_comment", comment("thanks")),
            InWorkflow::Irrelevant(Irrelevant::Chat)
        );
        let mut echo = comment("/loop status");
        echo["sender"] = json!({ "id": 41_898_282, "login": "github-actions[bot]" });
        assert_eq!(
            routed("issue_comment", echo),
            InWorkflow::Irrelevant(Irrelevant::OwnEvent)
        );
    }

    #[test]
    fn a_schedule_looks_at_everything_and_a_person_may_name_one() {
        let all = look(Target::Repository(repository()), vec![]);
        assert_eq!(routed("schedule", json!({ "schedule": "7 * * * *" })), all);
        for inputs in [json!(null), json!({}), json!({ "pull-request": " " })] {
            assert_eq!(
                routed("workflow_dispatch", json!({ "inputs": inputs })),
                all
            );
        }
        assert_eq!(
            routed(
                "workflow_dispatch",
                json!({ "inputs": { "pull-request": "#12" } })
            ),
            look(pull(12), vec![])
        );
        let own = OwnApp {
            app_id: AppId::new(1),
            bot: None,
        };
        let wrong = json!({ "inputs": { "pull-request": "twelve" } }).to_string();
        let at = "2026-11-20T10:15:00Z".parse().unwrap();
        let error = route_in_workflow(
            "workflow_dispatch",
            wrong.as_bytes(),
            &own,
            &repository(),
            at,
        )
        .unwrap_err();
        assert!(error.to_string().contains("inputs.pull-request"), "{error}");
    }

    #[test]
    fn events_that_run_the_pull_requests_own_file_are_refused_with_the_way_out() {
        for (event, says) in [
            ("pull_request", "workflow_run"),
            ("pull_request_review", "workflow_run"),
            ("pull_request_review_comment", "workflow_run"),
            ("watch", "no pull request"),
            ("ping", "no pull request"),
        ] {
            let InWorkflow::Unsuitable(why) = routed(event, json!({})) else {
                panic!("{event}")
            };
            assert!(why.to_string().contains(says), "{event}: {why}");
        }
    }
}

//! One function for each webhook event that concerns pull requests.

use loopgate_core::{
    CheckRunId, RepoName, Sha, UserId,
    concerns::gates::may_speak,
    observed::{AnnouncedPush, Hint, OwnCheck},
};

use serde::de::IgnoredAny;

use super::{
    CheckNews, Irrelevant, Marker, PayloadError, Reader, Routed, Target, Work,
    payload::{
        Id, Payload, PayloadGroup, PayloadPull, PayloadRepository, PushedCommit, Run, read_part,
        tree,
    },
};

type RouteResult = Result<Routed, NoWork>;

/// Why a payload becomes no work.
#[derive(Debug, thiserror::Error)]
enum NoWork {
    #[error("it is irrelevant")]
    Irrelevant(Irrelevant),
    #[error(transparent)]
    PayloadError(#[from] PayloadError),
}

impl Routed {
    fn with(self, news: Option<CheckNews>) -> Self {
        match (self, news) {
            (Self::Work(work), Some(news)) => Self::Check(work, news),
            (routed, _) => routed,
        }
    }
}

/// A hint names no more pull requests than this; more would be a commit that half a company shares.
const NAMED_PULLS: usize = 20;

/// GitHub lists at most this many commits of one push; a list this long may have been cut.
const PUSH_COMMITS: usize = 2048;

/// More added repositories than this are looked at as the whole installation.
const ADDED_REPOSITORIES: usize = 100;

/// The events that are routed.
const ROUTED: &str = "pull_request issue_comment pull_request_review pull_request_review_comment \
                      pull_request_review_thread check_run check_suite status workflow_run push merge_group \
                      installation installation_repositories installation_target repository team membership member \
                      organization github_app_authorization";

/// Reads an event, from any sender.
pub(super) fn read(reader: &Reader<'_>) -> Result<Routed, PayloadError> {
    if !ROUTED
        .split_ascii_whitespace()
        .any(|event| event == reader.event)
    {
        let unknown = Routed::Irrelevant(Irrelevant::UnknownEvent);
        let routed = if reader.event == "ping" {
            Routed::Ping
        } else {
            unknown
        };
        return reader.read::<IgnoredAny>().map(|_| routed);
    }
    match route(reader, &reader.read()?) {
        Ok(routed) => Ok(routed),
        Err(NoWork::Irrelevant(why)) => Ok(Routed::Irrelevant(why)),
        Err(NoWork::PayloadError(error)) => Err(error),
    }
}

/// Each event and action that is routed has its line here.
fn route(reader: &Reader<'_>, event: &Payload) -> RouteResult {
    match (reader.event, event.action.as_str()) {
        ("pull_request", "opened" | "reopened" | "synchronize") => head_moved(reader, event),
        ("pull_request", "closed") => reader.pull(event, Some(Hint::Closed)),
        ("pull_request", "dequeued") => {
            let at = event
                .pull_request
                .as_ref()
                .and_then(|pull_request| pull_request.updated_at);
            reader.pull(
                event,
                Some(Hint::Dequeued {
                    at: at.unwrap_or(reader.received_at),
                }),
            )
        }
        ("pull_request", "enqueued") => reader.pull(event, Some(Hint::Enqueued)),
        // `stacked` comes where a pull request joins a stack
        // (<https://docs.github.com/en/pull-requests/reference/stacked-pull-requests-apis-and-webhooks>); no event
        // announces that a stack was dissolved.
        (
            "pull_request",
            "edited" | "stacked" | "assigned" | "unassigned" | "ready_for_review"
            | "converted_to_draft",
        ) => reader.pull(event, None),
        // These echo our own writes. The others above never do: a head pushed by our own fixer must be seen.
        (
            "pull_request",
            "labeled" | "unlabeled" | "review_requested" | "review_request_removed",
        ) => reader.by_others(event)?.pull(event, None),
        ("issue_comment", "created" | "edited" | "deleted") => issue_comment(reader, event),
        ("pull_request_review", action @ ("submitted" | "dismissed" | "edited")) => {
            let review = reader.of(event.review.as_ref(), "review")?.id;
            let hint = match action {
                "submitted" => Some(Hint::ReviewWritten { review }),
                "edited" => event.sender().map(|by| Hint::ReviewEdited { review, by }),
                _ => None,
            };
            reader.by_others(event)?.pull(event, hint)
        }
        ("pull_request_review_comment", "created") => {
            let comment = reader.of(event.comment.as_ref(), "comment")?;
            require(
                comment.body.as_deref().is_some_and(may_speak),
                Irrelevant::Chat,
            )?;
            reader.by_others(event)?.pull(event, None)
        }
        // Where no reviewer is configured, that changes nothing.
        ("pull_request_review_thread", "resolved" | "unresolved") => {
            reader.pull(event, Some(Hint::ThreadChanged))
        }
        ("check_run", action) => check_run(reader, event, action),
        ("check_suite", action) => check_suite(reader, event, action),
        ("status", _) => {
            let commit = reader.of(event.sha, "sha")?;
            let news = event
                .context
                .clone()
                .map(|context| CheckNews::Status { context });
            Ok(reader
                .by_others(event)?
                .head(event, commit, None)?
                .with(news))
        }
        ("workflow_run", "requested" | "completed") => {
            let run = reader.of(event.workflow_run.as_ref(), "workflow_run")?;
            match queued(run) {
                Some(group) => reader.group(event, group),
                None => reader.head(event, run.head_sha, named(run.pull_requests.as_deref())),
            }
        }
        ("push", _) => push(reader, event),
        // When a group that was not merged is destroyed, its result can be read for the last time.
        ("merge_group", action @ ("checks_requested" | "destroyed"))
            if action == "checks_requested" || event.reason.as_deref() != Some("merged") =>
        {
            let group = reader.of(read_part(&event.merge_group), "merge_group")?;
            // GitHub's description lets it come without: of which repository it is, nothing else there says.
            require(event.repository.is_some(), Irrelevant::NoRepository)?;
            reader.group(event, group)
        }
        ("installation", "created" | "unsuspend" | "new_permissions_accepted") => {
            reader.installation(event)
        }
        ("installation", "deleted" | "suspend") | ("repository", "archived" | "deleted") => {
            irrelevant(Irrelevant::NothingToAsk)
        }
        // We can no longer read what was taken away, so there is nothing to look at.
        ("installation_repositories", "added") => repositories_added(reader, event),
        ("repository", "renamed" | "transferred") => renamed(reader, event),
        ("repository", "unarchived") => reader.work(event, Target::Repository, None),
        // Another default branch: the plain names of our checks stand for that one from now on.
        ("repository", "edited") if tree(&event.changes)["default_branch"].is_object() => {
            reader.work(event, Target::Repository, None)
        }
        // Who may approve has changed. All rights that are known there are forgotten, so that it does not matter whose:
        // of an account that is deleted meanwhile, and of some teams, GitHub gives no name.
        (
            "team",
            "created" | "deleted" | "edited" | "added_to_repository" | "removed_from_repository",
        )
        | ("membership", "added" | "removed")
        | ("member", "added" | "edited" | "removed")
        | ("organization", "member_added" | "member_removed") => reader.rights(event),
        // The account has another name, and each of its repositories with it.
        ("organization" | "installation_target", "renamed") => reader.installation(event),
        // GitHub sends it to every App, which cannot choose not to get it
        // (<https://docs.github.com/en/webhooks/webhook-events-and-payloads#github_app_authorization>).
        ("github_app_authorization", "revoked") => {
            let sender: Option<Id<UserId>> = read_part(&event.sender);
            Ok(Routed::Withdrawn(reader.of(sender, "sender")?.id))
        }
        _ => irrelevant(Irrelevant::UnknownAction),
    }
}

fn head_moved(reader: &Reader<'_>, event: &Payload) -> RouteResult {
    let pull_request = reader.of(event.pull_request.as_ref(), "pull_request")?;
    let PayloadPull {
        head,
        base,
        updated_at,
        ..
    } = pull_request;
    let Some(sha) = head.as_ref().and_then(|head| head.sha) else {
        return reader.pull(event, None);
    };
    // The later of our clock and GitHub's: a head taken for seen too early could lend it an approval of the one before.
    let at = updated_at.map_or(reader.received_at, |updated_at| {
        updated_at.max(reader.received_at)
    });
    let mut hints = vec![Hint::HeadSeen { sha, at }];
    let base = base.as_ref().and_then(|base| base.branch.clone());
    match event.action.as_str() {
        // What is there since GitHub's time of it: words between the opening and an event that comes late are about
        // this head.
        "opened" => {
            hints.extend(
                base.zip(*updated_at)
                    .map(|(base, at)| Hint::Opened { sha, base, at }),
            )
        }
        "reopened" => hints.push(Hint::Reopened),
        // The sender of the event that announces a push has pushed.
        _ => {
            if let (Some(before), Some(after), Some(by)) =
                (event.before, event.after, event.sender())
            {
                hints.push(Hint::Pushed(AnnouncedPush { before, after, by }));
            }
        }
    }
    reader.pull(event, hints)
}

fn issue_comment(reader: &Reader<'_>, event: &Payload) -> RouteResult {
    let written = reader.of(event.comment.as_ref(), "comment")?;
    let issue = reader.of(event.issue.as_ref(), "issue")?;
    require(issue.pull_request.is_some(), Irrelevant::NotAPullRequest)?;
    reader.by_others(event)?;
    let now = written.body.as_deref();
    let changes = tree(&event.changes);
    let before = changes["body"]["from"].as_str();
    // A post of ours that somebody deletes is made again. Whose it was is read from the API.
    let is_a_post = event.action == "deleted" && now.is_some_and(|body| Marker::of(body).is_some());
    require(
        is_a_post || [now, before].into_iter().flatten().any(may_speak),
        Irrelevant::Chat,
    )?;
    let (comment, by) = (written.id, event.sender());
    let hint = match event.action.as_str() {
        "edited" => by
            .zip(written.updated_at)
            .map(|(by, at)| Hint::CommentEdited { comment, by, at }),
        "deleted" => by.map(|by| Hint::CommentDeleted { comment, by }),
        _ => Some(Hint::CommentWritten { comment }),
    };
    reader.work(
        event,
        |repository| Target::PullRequest {
            repository,
            number: issue.number,
        },
        hint,
    )
}

fn check_run(reader: &Reader<'_>, event: &Payload, action: &str) -> RouteResult {
    let run = reader.of(event.check_run.as_ref(), "check_run")?;
    let app = run.app();
    let ours = app.as_ref().is_some_and(|app| app.id == reader.own.app_id);
    let (check_run, by) = (
        CheckRunId::new(reader.of(run.id, "check_run.id")?),
        event.sender(),
    );
    let hint = match action {
        "completed" if ours => return irrelevant(Irrelevant::OwnEvent),
        "completed" => {
            // Of a check run with one of our names nothing is awaited: ours are known, and no other counts.
            let is_named_as_ours = run
                .name
                .as_deref()
                .is_some_and(|name| OwnCheck::named(name).is_some());
            let completed = (!is_named_as_ours).then_some(Hint::CheckRunCompleted {
                check_run,
                head: run.head_sha,
            });
            let hints = named(run.pull_requests.as_deref())
                .into_iter()
                .chain(completed);
            let app = app.and_then(|app| app.slug);
            let news = run.name.clone().map(|name| CheckNews::Run { name, app });
            return Ok(reader.head(event, run.head_sha, hints)?.with(news));
        }
        "rerequested" | "requested_action" if !ours => return irrelevant(Irrelevant::NotOurs),
        "rerequested" => by.map(|by| Hint::CheckRunRerequested { check_run, by }),
        "requested_action" => {
            let action = tree(&event.requested_action);
            let pressed = reader.of(action["identifier"].as_str(), "requested_action")?;
            // GitHub's own limit for identifiers is 20 characters.
            let identifier = pressed.chars().take(20).collect();
            by.map(|by| Hint::ButtonPressed {
                check_run,
                identifier,
                by,
            })
        }
        _ => return irrelevant(Irrelevant::UnknownAction),
    };
    reader.head(event, run.head_sha, hint)
}

fn check_suite(reader: &Reader<'_>, event: &Payload, action: &str) -> RouteResult {
    let suite = reader.of(event.check_suite.as_ref(), "check_suite")?;
    let app = suite.app();
    let ours = app.as_ref().is_some_and(|app| app.id == reader.own.app_id);
    let hint = match action {
        "completed" if ours => return irrelevant(Irrelevant::OwnEvent),
        "completed" => {
            let app = app.and_then(|app| app.slug);
            let named = named(suite.pull_requests.as_deref());
            return Ok(reader
                .head(event, suite.head_sha, named)?
                .with(app.map(|app| CheckNews::Suite { app })));
        }
        "rerequested" if !ours => return irrelevant(Irrelevant::NotOurs),
        "rerequested" => event.sender().map(|by| Hint::CheckSuiteRerequested {
            sha: suite.head_sha,
            by,
        }),
        _ => return irrelevant(Irrelevant::UnknownAction),
    };
    reader.head(event, suite.head_sha, hint)
}

/// The group that a run was started for. A queue names its
/// branches `gh-readonly-queue/main/pr-12-<base commit>`; only the queue itself causes the event `merge_group`.
fn queued(run: &Run) -> Option<PayloadGroup> {
    if run.event.as_deref() != Some("merge_group") {
        return None;
    }
    let branch: &str = run.head_branch.as_deref()?;
    let (base_branch, rest) = branch
        .strip_prefix("gh-readonly-queue/")?
        .rsplit_once("/pr-")?;
    let (_, base) = rest.split_once('-')?;
    let (base_ref, head_ref) = (
        format!("refs/heads/{base_branch}"),
        Some(format!("refs/heads/{branch}")),
    );
    Some(PayloadGroup {
        head_sha: run.head_sha,
        base_sha: base.parse().ok()?,
        base_ref,
        head_ref,
    })
}

fn push(reader: &Reader<'_>, event: &Payload) -> RouteResult {
    let git_ref = reader.of(event.git_ref.as_ref(), "ref")?;
    let branch = git_ref
        .strip_prefix("refs/heads/")
        .ok_or(NoWork::Irrelevant(Irrelevant::NothingThatGoverns))?;
    // A branch just made is the base of nothing yet; one that is gone closes its pull requests, which has its own
    // event.
    let is_moved = event.created != Some(true) && event.deleted != Some(true);
    require(is_moved, Irrelevant::NothingThatGoverns)?;
    // Commits that a forced push took away are in no list, and one without commits moved the branch to older ones.
    let commits = event.commits.as_deref().unwrap_or_default();
    let unlisted =
        event.forced == Some(true) || commits.is_empty() || commits.len() >= PUSH_COMMITS;
    let touches =
        |what: fn(&str) -> bool| unlisted || commits.iter().any(|commit| touches(commit, what));
    // The organisation's defaults are `loopgate.yml` in the repository `<org>/.github`.
    let holds_defaults = event.repository.as_ref().is_some_and(|repository| {
        repository.full_name.name() == ".github"
            && repository.default_branch.as_deref() == Some(branch)
    });
    if holds_defaults && touches(|path| path == "loopgate.yml") {
        return reader.installation(event);
    }
    // The files of a base branch that decide over its pull requests; GitHub reads CODEOWNERS in these three places.
    let governs = |path: &str| {
        matches!(
            path,
            ".github/loopgate.yml" | ".github/CODEOWNERS" | "CODEOWNERS" | "docs/CODEOWNERS"
        )
    };
    require(touches(governs), Irrelevant::NothingThatGoverns)?;
    let moved = event.before.map(|from| Hint::BaseMoved { from });
    reader.work(
        event,
        |repository| Target::Base {
            repository,
            branch: branch.to_owned(),
        },
        moved,
    )
}

/// A commit that lists no files at all may have touched any.
fn touches(commit: &PushedCommit, what: fn(&str) -> bool) -> bool {
    let lists = [&commit.added, &commit.modified, &commit.removed];
    lists.iter().all(|list| list.is_none())
        || lists.into_iter().flatten().flatten().any(|path| what(path))
}

/// What is known of it goes by the name that it had: a look there finds the other one.
fn renamed(reader: &Reader<'_>, event: &Payload) -> RouteResult {
    let repository = reader.of(event.repository.as_ref(), "repository")?;
    let (present, changes) = (&repository.full_name, tree(&event.changes));
    let owner = &changes["owner"]["from"];
    let owner = ["user", "organization"].map(|kind| owner[kind]["login"].as_str());
    let owner = owner
        .into_iter()
        .flatten()
        .next()
        .unwrap_or(present.owner());
    let name = changes["repository"]["name"]["from"].as_str();
    let former = format!("{owner}/{}", name.unwrap_or(present.name()));
    let former = former.parse().ok().filter(|former| former != present);
    let names = [Some(present.clone()), former].into_iter().flatten();
    reader.anywhere(event, names.map(Target::Repository).collect(), None)
}

/// Where GitHub does not list them all, the whole installation is looked at.
fn repositories_added(reader: &Reader<'_>, event: &Payload) -> RouteResult {
    let added: Vec<PayloadRepository> = read_part(&event.repositories_added).unwrap_or_default();
    if added.is_empty() || added.len() > ADDED_REPOSITORIES {
        return reader.installation(event);
    }
    let targets = added
        .into_iter()
        .map(|repository| Target::Repository(repository.full_name));
    reader.anywhere(event, targets.collect(), None)
}

impl Reader<'_> {
    /// For an event that is no echo of our own write.
    fn by_others(&self, event: &Payload) -> Result<&Self, NoWork> {
        let sender = event.sender().map(|sender| sender.login);
        let is_ours = sender.is_some() && sender == self.own.bot;
        require(!is_ours, Irrelevant::OwnEvent).map(|()| self)
    }

    /// Work on the pull request that the payload holds.
    fn pull(&self, event: &Payload, hints: impl IntoIterator<Item = Hint>) -> RouteResult {
        let number = self.of(event.pull_request.as_ref(), "pull_request")?.number;
        self.work(
            event,
            |repository| Target::PullRequest { repository, number },
            hints,
        )
    }

    fn head(
        &self,
        event: &Payload,
        sha: Sha,
        hints: impl IntoIterator<Item = Hint>,
    ) -> RouteResult {
        self.work(event, |repository| Target::Head { repository, sha }, hints)
    }

    fn group(&self, event: &Payload, group: PayloadGroup) -> RouteResult {
        let PayloadGroup {
            head_sha: head,
            base_sha: base,
            base_ref,
            head_ref,
        } = group;
        let hint = Hint::MergeGroup {
            head,
            base,
            base_ref: base_ref.clone(),
            head_ref,
        };
        self.work(
            event,
            |repository| Target::MergeGroup {
                repository,
                head,
                base,
                base_ref,
            },
            Some(hint),
        )
    }

    fn installation(&self, event: &Payload) -> RouteResult {
        self.anywhere(event, vec![Target::Installation], None)
    }

    /// All that may be affected is looked at, since a look at a repository or installation forgets the rights there.
    fn rights(&self, event: &Payload) -> RouteResult {
        match &event.repository {
            Some(_) => self.work(event, Target::Repository, None),
            None => self.installation(event),
        }
    }

    /// Work on one target of the payload's repository.
    fn work(
        &self,
        event: &Payload,
        target: impl FnOnce(RepoName) -> Target,
        hints: impl IntoIterator<Item = Hint>,
    ) -> RouteResult {
        let repository = self
            .of(event.repository.as_ref(), "repository")?
            .full_name
            .clone();
        self.anywhere(event, vec![target(repository)], hints)
    }

    fn anywhere(
        &self,
        event: &Payload,
        targets: Vec<Target>,
        hints: impl IntoIterator<Item = Hint>,
    ) -> RouteResult {
        let named = event
            .installation
            .as_ref()
            .map(|installation| installation.id);
        let Some(installation) = named.or(self.installation) else {
            return irrelevant(Irrelevant::NoInstallation);
        };
        Ok(Routed::Work(Work {
            installation,
            targets,
            hints: hints.into_iter().collect(),
        }))
    }
}

fn irrelevant<T>(why: Irrelevant) -> Result<T, NoWork> {
    Err(NoWork::Irrelevant(why))
}

fn require(is_so: bool, or_else: Irrelevant) -> Result<(), NoWork> {
    if is_so { Ok(()) } else { irrelevant(or_else) }
}

fn named(pulls: Option<&[PayloadPull]>) -> Option<Hint> {
    let pulls: Vec<_> = pulls?
        .iter()
        .take(NAMED_PULLS)
        .map(|pull| pull.number)
        .collect();
    (!pulls.is_empty()).then_some(Hint::NamedPulls { pulls })
}

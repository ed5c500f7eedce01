//! One function for each webhook event that concerns pull requests.

use loopgate_core::{
    CheckRunId, CommentId, InstallationId, PrNumber, RepoName, ReviewId, Sha, Timestamp, UserId,
    gate::may_speak,
    observed::{Actor, AnnouncedPush, Hint, OwnCheck},
};

use serde::de::IgnoredAny;

use super::{
    CheckNews, Irrelevant, Misread, OwnApp, Reader, Target,
    payload::{
        Account, App, CheckRunEvent, CheckSuiteEvent, Commit, Common, InstallationEvent, IssueCommentEvent,
        MergeGroupEvent, Number, OrganizationEvent, PullRequest, PullRequestEvent, PushEvent, Repository,
        ReviewCommentEvent, ReviewEvent, StatusEvent, Text, WorkflowRun, WorkflowRunEvent,
    },
};

use crate::github::marker::Marker;

type RouteResult = Result<RoutedEvent, Misread>;

/// What an event contains.
pub(super) enum RoutedEvent {
    Concerns {
        /// Only what is sent to an installation names one.
        installation: Option<InstallationId>,
        targets: Vec<Target>,
        hints: Vec<Hint>,
        /// Of a check that somebody else runs on the one target, a head.
        news: Option<CheckNews>,
    },
    Withdrawn(UserId),
    Irrelevant(Irrelevant),
    Ping,
}

impl RoutedEvent {
    fn with(self, told: Option<CheckNews>) -> Self {
        match self {
            Self::Concerns { installation, targets, hints, .. } => {
                Self::Concerns { installation, targets, hints, news: told }
            }
            other => other,
        }
    }
}

/// A hint names no more pull requests than this; more would be a commit that half a company shares.
const NAMED_PULLS: usize = 20;

/// GitHub lists at most this many commits of one push; a list this long may have been cut.
const PUSH_COMMITS: usize = 2048;

/// More added repositories than this are looked at as the whole installation.
const ADDED_REPOSITORIES: usize = 100;

/// Reads an event, from any sender. Each event that is routed has its line here.
pub(super) fn read(reader: &Reader<'_>) -> RouteResult {
    match reader.event {
        "pull_request" => pull_request(reader),
        "issue_comment" => issue_comment(reader),
        "pull_request_review" => review(reader),
        "pull_request_review_comment" => review_comment(reader),
        "pull_request_review_thread" => review_thread(reader),
        "check_run" => check_run(reader),
        "check_suite" => check_suite(reader),
        "status" => status(reader),
        "workflow_run" => workflow_run(reader),
        "push" => push(reader),
        "merge_group" => merge_group(reader),
        "installation" => installation(reader),
        "installation_repositories" => installation_repositories(reader),
        "repository" => repository(reader),
        "team" | "membership" | "member" | "organization" => organization(reader),
        "github_app_authorization" => withdrawn(reader),
        "ping" => reader.read::<IgnoredAny>().map(|_| RoutedEvent::Ping),
        _ => reader.read::<IgnoredAny>().map(|_| RoutedEvent::Irrelevant(Irrelevant::UnknownEvent)),
    }
}

/// GitHub sends it to every App, which cannot choose not to get it
/// (<https://docs.github.com/en/webhooks/webhook-events-and-payloads#github_app_authorization>).
fn withdrawn(reader: &Reader<'_>) -> RouteResult {
    let event: InstallationEvent<'_> = reader.read()?;
    match event.common().sender {
        Some(person) if event.common().action == "revoked" => Ok(RoutedEvent::Withdrawn(UserId::new(person.id))),
        _ => irrelevant(Irrelevant::UnknownAction),
    }
}

fn pull_request(reader: &Reader<'_>) -> RouteResult {
    let event: PullRequestEvent<'_> = reader.read()?;
    match event.common().action {
        action @ ("opened" | "reopened" | "synchronize") => {
            let seen = head_seen(&event.pull_request, reader.received_at);
            let reopened = (action == "reopened").then_some(Hint::Reopened);
            let opened = (action == "opened").then(|| opened(&event.pull_request)).flatten();
            let hints = seen.into_iter().chain(pushed(&event)).chain(opened).chain(reopened);
            reader.work(event.common(), |repository| pull(repository, event.pull_request.number), hints)
        }
        // `stacked` is in GitHub's description of its webhooks; no event there announces that a stack was dissolved.
        action @ ("edited" | "stacked" | "assigned" | "unassigned" | "ready_for_review" | "converted_to_draft"
        | "closed" | "dequeued") => {
            let at = time(event.pull_request.updated_at.as_ref()).unwrap_or(reader.received_at);
            let hint = match action {
                "closed" => Some(Hint::Closed),
                "dequeued" => Some(Hint::Dequeued { at }),
                _ => None,
            };
            reader.work(event.common(), |repository| pull(repository, event.pull_request.number), hint)
        }
        // These echo our own writes. The others above never do: a head pushed by our own fixer must be seen.
        "labeled" | "unlabeled" | "review_requested" | "review_request_removed" => {
            if reader.own.acted(event.common().sender) {
                return irrelevant(Irrelevant::OwnEvent);
            }
            reader.work(event.common(), |repository| pull(repository, event.pull_request.number), None)
        }
        _ => irrelevant(Irrelevant::UnknownAction),
    }
}

/// The later of our clock and GitHub's: a head taken for seen too early could lend it an approval of the one before.
fn head_seen(pull_request: &PullRequest<'_>, received_at: Timestamp) -> Option<Hint> {
    let sha = sha(&pull_request.head.as_ref()?.sha)?;
    let at = time(pull_request.updated_at.as_ref()).map_or(received_at, |updated_at| updated_at.max(received_at));
    Some(Hint::HeadSeen { sha, at })
}

/// Who pushed: the sender of the event that announces the push.
fn pushed(event: &PullRequestEvent<'_>) -> Option<Hint> {
    let (before, after) = (sha(event.before.as_deref()?)?, sha(event.after.as_deref()?)?);
    let by = actor(event.common().sender).filter(|_| event.common().action == "synchronize")?;
    Some(Hint::Pushed(AnnouncedPush { before, after, by }))
}

/// What is there since GitHub's time of it: words between the opening and an event that comes late are about this head.
fn opened(pull_request: &PullRequest<'_>) -> Option<Hint> {
    let sha = sha(&pull_request.head.as_ref()?.sha)?;
    let base = pull_request.base.as_ref()?.branch.as_ref()?.to_string();
    Some(Hint::Opened { sha, base, at: time(pull_request.updated_at.as_ref())? })
}

fn issue_comment(reader: &Reader<'_>) -> RouteResult {
    let event: IssueCommentEvent<'_> = reader.read()?;
    if !matches!(event.common().action, "created" | "edited" | "deleted") {
        return irrelevant(Irrelevant::UnknownAction);
    }
    if event.issue.pull_request.is_none() {
        return irrelevant(Irrelevant::NotAPullRequest);
    }
    if reader.own.acted(event.common().sender) {
        return irrelevant(Irrelevant::OwnEvent);
    }
    let now = event.comment.body.as_deref();
    let before = event.changes.as_ref().and_then(|changes| changes.body.as_ref()?.from.as_deref());
    // A post of ours that somebody deletes is made again. Whose it was is read from the API.
    let is_a_post = event.common().action == "deleted" && now.is_some_and(|body| Marker::of(body).is_some());
    if !is_a_post && ![now, before].into_iter().flatten().any(may_speak) {
        return irrelevant(Irrelevant::Chat);
    }
    let comment = CommentId::new(event.comment.id);
    let by = actor(event.common().sender);
    let hint = match event.common().action {
        "edited" => {
            by.zip(time(event.comment.updated_at.as_ref())).map(|(by, at)| Hint::CommentEdited { comment, by, at })
        }
        "deleted" => by.map(|by| Hint::CommentDeleted { comment, by }),
        _ => Some(Hint::CommentWritten { comment }),
    };
    reader.work(event.common(), |repository| pull(repository, event.issue.number), hint)
}

fn review(reader: &Reader<'_>) -> RouteResult {
    let event: ReviewEvent<'_> = reader.read()?;
    let hint = match event.common().action {
        "submitted" => Some(Hint::ReviewWritten { review: ReviewId::new(event.review.id) }),
        "dismissed" => None,
        "edited" => {
            actor(event.common().sender).map(|by| Hint::ReviewEdited { review: ReviewId::new(event.review.id), by })
        }
        _ => return irrelevant(Irrelevant::UnknownAction),
    };
    if reader.own.acted(event.common().sender) {
        return irrelevant(Irrelevant::OwnEvent);
    }
    reader.work(event.common(), |repository| pull(repository, event.pull_request.number), hint)
}

fn review_comment(reader: &Reader<'_>) -> RouteResult {
    let event: ReviewCommentEvent<'_> = reader.read()?;
    if event.common().action != "created" {
        return irrelevant(Irrelevant::UnknownAction);
    }
    if reader.own.acted(event.common().sender) {
        return irrelevant(Irrelevant::OwnEvent);
    }
    if !event.comment.body.as_deref().is_some_and(may_speak) {
        return irrelevant(Irrelevant::Chat);
    }
    reader.work(event.common(), |repository| pull(repository, event.pull_request.number), None)
}

/// Somebody resolved a thread, or opened it again. Where no reviewer is configured, that changes nothing.
fn review_thread(reader: &Reader<'_>) -> RouteResult {
    let event: PullRequestEvent<'_> = reader.read()?;
    if !matches!(event.common().action, "resolved" | "unresolved") {
        return irrelevant(Irrelevant::UnknownAction);
    }
    let hint = Some(Hint::ThreadChanged);
    reader.work(event.common(), |repository| pull(repository, event.pull_request.number), hint)
}

fn check_run(reader: &Reader<'_>) -> RouteResult {
    let event: CheckRunEvent<'_> = reader.read()?;
    let run = &event.check_run;
    let ours = reader.own.owns(run.app.as_ref());
    let check_run = CheckRunId::new(run.id);
    let by = || actor(event.common().sender);
    let hint = match event.common().action {
        "completed" if ours => return irrelevant(Irrelevant::OwnEvent),
        "completed" => {
            // Of a check run with one of our names nothing is awaited: ours are known, and no other counts.
            let is_named_as_ours = run.name.as_deref().is_some_and(|name| OwnCheck::named(name).is_some());
            let head = sha(&run.head_sha).filter(|_| !is_named_as_ours);
            let completed = head.map(|head| Hint::CheckRunCompleted { check_run, head });
            let hints = named(run.pull_requests.as_deref()).into_iter().chain(completed);
            let news = run.name.as_deref().zip(run.check_suite.as_ref()).map(|(name, suite)| CheckNews::Run {
                id: check_run,
                suite: suite.id,
                name: name.to_owned(),
                app: run.app.as_ref().and_then(|app| Some(app.slug.as_ref()?.to_string())),
            });
            return Ok(reader.head(event.common(), &run.head_sha, hints)?.with(news));
        }
        "rerequested" | "requested_action" if !ours => return irrelevant(Irrelevant::NotOurs),
        "rerequested" => by().map(|by| Hint::CheckRunRerequested { check_run, by }),
        "requested_action" => {
            let pressed = event.requested_action.as_ref().ok_or_else(|| reader.lacking("requested_action"))?;
            // GitHub's own limit for identifiers is 20 characters.
            let identifier = pressed.identifier.chars().take(20).collect();
            by().map(|by| Hint::ButtonPressed { check_run, identifier, by })
        }
        _ => return irrelevant(Irrelevant::UnknownAction),
    };
    reader.head(event.common(), &run.head_sha, hint)
}

fn check_suite(reader: &Reader<'_>) -> RouteResult {
    let event: CheckSuiteEvent<'_> = reader.read()?;
    let suite = &event.check_suite;
    let ours = reader.own.owns(suite.app.as_ref());
    let hint = match event.common().action {
        "completed" if ours => return irrelevant(Irrelevant::OwnEvent),
        "completed" => {
            let news = suite.id.zip(suite.latest_check_runs_count).map(|(id, runs)| CheckNews::Suite { id, runs });
            let named = named(suite.pull_requests.as_deref());
            return Ok(reader.head(event.common(), &suite.head_sha, named)?.with(news));
        }
        "rerequested" if !ours => return irrelevant(Irrelevant::NotOurs),
        "rerequested" => sha(&suite.head_sha)
            .zip(actor(event.common().sender))
            .map(|(sha, by)| Hint::CheckSuiteRerequested { sha, by }),
        _ => return irrelevant(Irrelevant::UnknownAction),
    };
    reader.head(event.common(), &suite.head_sha, hint)
}

fn status(reader: &Reader<'_>) -> RouteResult {
    let event: StatusEvent<'_> = reader.read()?;
    if reader.own.acted(event.common().sender) {
        return irrelevant(Irrelevant::OwnEvent);
    }
    let news = event.context.as_deref().map(|context| CheckNews::Status { context: context.to_owned() });
    Ok(reader.head(event.common(), &event.sha, None)?.with(news))
}

fn workflow_run(reader: &Reader<'_>) -> RouteResult {
    let event: WorkflowRunEvent<'_> = reader.read()?;
    if !matches!(event.common().action, "requested" | "completed") {
        return irrelevant(Irrelevant::UnknownAction);
    }
    let run = &event.workflow_run;
    if let Some(Queued { head, base, base_ref, head_ref }) = queued(run) {
        let hint = Hint::MergeGroup { head, base, base_ref: base_ref.clone(), head_ref: Some(head_ref) };
        let target = |repository| Target::MergeGroup { repository, head, base, base_ref };
        return reader.work(event.common(), target, Some(hint));
    }
    reader.head(event.common(), &run.head_sha, named(run.pull_requests.as_deref()))
}

/// A merge group, as the run of a workflow on its commit names it.
struct Queued {
    head: Sha,
    base: Sha,
    base_ref: String,
    head_ref: String,
}

/// The group that a run was started for. A queue names its branches `gh-readonly-queue/main/pr-12-<base commit>`; only
/// the queue itself causes the event `merge_group`.
fn queued(run: &WorkflowRun<'_>) -> Option<Queued> {
    if run.event.as_deref() != Some("merge_group") {
        return None;
    }
    let branch: &str = run.head_branch.as_deref()?;
    let (base_branch, rest) = branch.strip_prefix("gh-readonly-queue/")?.rsplit_once("/pr-")?;
    let (_, base) = rest.split_once('-')?;
    Some(Queued {
        head: sha(&run.head_sha)?,
        base: sha(base)?,
        base_ref: format!("refs/heads/{base_branch}"),
        head_ref: format!("refs/heads/{branch}"),
    })
}

fn push(reader: &Reader<'_>) -> RouteResult {
    let event: PushEvent<'_> = reader.read()?;
    let Some(branch) = event.git_ref.strip_prefix("refs/heads/") else {
        return irrelevant(Irrelevant::NothingThatGoverns);
    };
    // A branch just made is the base of nothing yet; one that is gone closes its pull requests, which has its own
    // event.
    if event.created == Some(true) || event.deleted == Some(true) {
        return irrelevant(Irrelevant::NothingThatGoverns);
    }
    // Commits that a forced push took away are in no list, and one without commits moved the branch to older ones.
    let unlisted = event.forced == Some(true) || event.commits.is_empty() || event.commits.len() >= PUSH_COMMITS;
    let touches = |what: fn(&str) -> bool| unlisted || event.commits.iter().any(|commit| touches(commit, what));
    if event.repository.as_ref().is_some_and(|repository| is_org_defaults(repository, branch))
        && touches(|path| path == "loopgate.yml")
    {
        return reader.work(event.common(), |_| Target::Installation, None);
    }
    if !touches(governs) {
        return irrelevant(Irrelevant::NothingThatGoverns);
    }
    let moved = event.before.as_deref().and_then(sha).map(|from| Hint::BaseMoved { from });
    reader.work(event.common(), |repository| Target::Base { repository, branch: branch.to_owned() }, moved)
}

/// The organisation's defaults are `loopgate.yml` in the repository `<org>/.github`.
fn is_org_defaults(repository: &Repository<'_>, branch: &str) -> bool {
    repository.full_name.ends_with("/.github") && repository.default_branch.as_deref() == Some(branch)
}

/// A commit that lists no files at all may have touched any.
fn touches(commit: &Commit<'_>, what: fn(&str) -> bool) -> bool {
    let lists = [&commit.added, &commit.modified, &commit.removed];
    lists.iter().all(|list| list.is_none()) || lists.into_iter().flatten().flatten().any(|path| what(path))
}

/// The files of a base branch that decide over its pull requests; GitHub reads CODEOWNERS in these three places.
fn governs(path: &str) -> bool {
    matches!(path, ".github/loopgate.yml" | ".github/CODEOWNERS" | "CODEOWNERS" | "docs/CODEOWNERS")
}

fn merge_group(reader: &Reader<'_>) -> RouteResult {
    let event: MergeGroupEvent<'_> = reader.read()?;
    match event.common().action {
        "checks_requested" => {}
        // The last time that its result can be read.
        "destroyed" if event.reason.as_deref() != Some("merged") => {}
        _ => return irrelevant(Irrelevant::UnknownAction),
    }
    let group = &event.merge_group;
    let head = sha(&group.head_sha).ok_or_else(|| reader.lacking("merge_group.head_sha"))?;
    let base = sha(&group.base_sha).ok_or_else(|| reader.lacking("merge_group.base_sha"))?;
    let base_ref = group.base_ref.to_string();
    let head_ref = group.head_ref.as_deref().map(str::to_owned);
    let hint = Hint::MergeGroup { head, base, base_ref: base_ref.clone(), head_ref };
    reader.work(event.common(), |repository| Target::MergeGroup { repository, head, base, base_ref }, Some(hint))
}

fn installation(reader: &Reader<'_>) -> RouteResult {
    let event: InstallationEvent<'_> = reader.read()?;
    match event.common().action {
        "created" | "unsuspend" | "new_permissions_accepted" => {
            reader.anywhere(event.common(), vec![Target::Installation], None)
        }
        "deleted" | "suspend" => irrelevant(Irrelevant::NothingToAsk),
        _ => irrelevant(Irrelevant::UnknownAction),
    }
}

fn installation_repositories(reader: &Reader<'_>) -> RouteResult {
    let event: InstallationEvent<'_> = reader.read()?;
    match event.common().action {
        "added" if event.repositories_added.len() <= ADDED_REPOSITORIES => {
            let named = event.repositories_added.iter().filter_map(|repository| repository.full_name.parse().ok());
            let targets: Vec<_> = named.map(Target::Repository).collect();
            if targets.is_empty() {
                return Err(reader.lacking("repositories_added"));
            }
            reader.anywhere(event.common(), targets, None)
        }
        "added" => reader.anywhere(event.common(), vec![Target::Installation], None),
        // We can no longer read what was taken away, so there is nothing to look at.
        _ => irrelevant(Irrelevant::UnknownAction),
    }
}

fn repository(reader: &Reader<'_>) -> RouteResult {
    let event: InstallationEvent<'_> = reader.read()?;
    match event.common().action {
        "renamed" | "transferred" | "unarchived" => reader.work(event.common(), Target::Repository, None),
        // Another default branch: the plain names of our checks stand for that one from now on.
        "edited" if event.changes.as_ref().is_some_and(|changes| changes.default_branch.is_some()) => {
            reader.work(event.common(), Target::Repository, None)
        }
        "archived" | "deleted" => irrelevant(Irrelevant::NothingToAsk),
        _ => irrelevant(Irrelevant::UnknownAction),
    }
}

/// `team`, `membership`, `member` and `organization`: who may approve has changed. Which open pull requests that affects is
/// found later, with the hint.
fn organization(reader: &Reader<'_>) -> RouteResult {
    let event: OrganizationEvent<'_> = reader.read()?;
    let hint = match (reader.event, event.common().action) {
        ("team", "created" | "deleted" | "edited" | "added_to_repository" | "removed_from_repository") => {
            team(&event).ok_or_else(|| reader.lacking("team"))?
        }
        ("membership", "added" | "removed") | ("member", "added" | "edited" | "removed") => {
            let member = actor(event.member.as_ref()).ok_or_else(|| reader.lacking("member"))?;
            Hint::MemberChanged { member }
        }
        ("organization", "member_added" | "member_removed") => {
            let user = event.membership.as_ref().and_then(|membership| membership.user.as_ref());
            Hint::MemberChanged { member: actor(user).ok_or_else(|| reader.lacking("membership.user"))? }
        }
        _ => return irrelevant(Irrelevant::UnknownAction),
    };
    match &event.repository {
        Some(_) => reader.work(event.common(), Target::Repository, Some(hint)),
        None => reader.anywhere(event.common(), vec![Target::Installation], Some(hint)),
    }
}

fn team(event: &OrganizationEvent<'_>) -> Option<Hint> {
    let (organization, team) = (event.organization.as_ref()?, event.team.as_ref()?);
    let team = format!("{}/{}", &*organization.login, &**team.slug.as_ref()?);
    Some(Hint::TeamChanged { team: team.parse().ok()? })
}

impl Reader<'_> {
    /// Work on one target of the payload's repository.
    fn work(
        &self,
        common: Common<'_, '_>,
        target: impl FnOnce(RepoName) -> Target,
        hints: impl IntoIterator<Item = Hint>,
    ) -> RouteResult {
        let name = common.repository.ok_or_else(|| self.lacking("repository"))?;
        let repository = name.full_name.parse().map_err(|_| self.lacking("repository.full_name"))?;
        self.anywhere(common, vec![target(repository)], hints)
    }

    fn head(&self, common: Common<'_, '_>, head_sha: &str, hints: impl IntoIterator<Item = Hint>) -> RouteResult {
        let sha = sha(head_sha).ok_or_else(|| self.lacking("head commit"))?;
        self.work(common, |repository| Target::Head { repository, sha }, hints)
    }

    fn anywhere(
        &self,
        common: Common<'_, '_>,
        targets: Vec<Target>,
        hints: impl IntoIterator<Item = Hint>,
    ) -> RouteResult {
        let installation = common.installation.map(|installation| InstallationId::new(installation.id));
        Ok(RoutedEvent::Concerns { installation, targets, hints: hints.into_iter().collect(), news: None })
    }
}

impl OwnApp {
    fn acted(&self, sender: Option<&Account<'_>>) -> bool {
        let (Some(bot), Some(sender)) = (&self.bot, sender) else { return false };
        bot.as_str().eq_ignore_ascii_case(&sender.login)
    }

    fn owns(&self, app: Option<&App<'_>>) -> bool {
        app.is_some_and(|app| app.id == self.app_id.get())
    }
}

fn irrelevant(why: Irrelevant) -> RouteResult {
    Ok(RoutedEvent::Irrelevant(why))
}

fn pull(repository: RepoName, number: u64) -> Target {
    Target::PullRequest { repository, number: PrNumber::new(number) }
}

fn sha(text: &str) -> Option<Sha> {
    text.parse().ok()
}

fn time(text: Option<&Text<'_>>) -> Option<Timestamp> {
    text?.parse().ok()
}

fn actor(account: Option<&Account<'_>>) -> Option<Actor> {
    let account = account?;
    Some(Actor { id: UserId::new(account.id), login: account.login.parse().ok()? })
}

fn named(pulls: Option<&[Number]>) -> Option<Hint> {
    let pulls: Vec<_> = pulls?.iter().take(NAMED_PULLS).map(|pull| PrNumber::new(pull.number)).collect();
    (!pulls.is_empty()).then_some(Hint::NamedPulls { pulls })
}

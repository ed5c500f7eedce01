//! Requested reviewers, reviews, inline comments.

use serde_json::{Value, json};

use crate::{
    hooks::Event,
    json,
    refused::Refused,
    world::{
        RepoId, TeamId, World,
        account::Role,
        app::Actor,
        issue::{Review, ReviewComment, ReviewEvent, ReviewState},
        journal::What,
    },
};
use loopgate_core::{CommentId, PrNumber, ReviewId, Sha, UserId};

/// Who is asked to review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reviewer {
    Person(UserId),
    Team(TeamId),
}

/// What a review is submitted with.
#[derive(Clone, Debug)]
pub struct NewReview {
    /// None leaves it pending: nobody else sees it.
    pub verdict: Option<ReviewEvent>,
    pub body: String,
    /// The head if none.
    pub commit: Option<Sha>,
    pub comments: Vec<NewInlineComment>,
}

#[derive(Clone, Debug)]
pub struct NewInlineComment {
    pub path: String,
    pub line: u64,
    pub body: String,
}

impl World {
    /// Finds reviewers by name. One wrong name refuses the whole request, as on GitHub.
    pub fn reviewers(
        &self,
        repo: RepoId,
        number: PrNumber,
        (people, teams): (&[String], &[String]),
    ) -> Result<Vec<Reviewer>, Refused> {
        let found = self.repo(repo)?;
        let author = self.issue(repo, number)?.author;
        let stranger = || {
            Refused::unprocessable(format!(
                "Reviews may only be requested from collaborators. One or more of the users or teams you specified is \
                 not a collaborator of the {} repository.",
                self.full_name(found)
            ))
        };
        let mut reviewers = Vec::new();
        for login in people {
            let id = self.user_id(login).map_err(|_| stranger())?;
            if id == author {
                return Err(Refused::unprocessable(
                    "Review cannot be requested from pull request author.",
                ));
            }
            // Reading because it is public is not enough.
            self.granted_role(id, found).ok_or_else(stranger)?;
            reviewers.push(Reviewer::Person(id));
        }
        for slug in teams {
            let team = self.team(found.owner, slug).map_err(|_| stranger())?;
            self.team_role(team, found).ok_or_else(stranger)?;
            reviewers.push(Reviewer::Team(team.id));
        }
        Ok(reviewers)
    }

    /// One `review_requested` event for each who was not asked already.
    pub fn request_review(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        reviewers: &[Reviewer],
    ) -> Result<(), Refused> {
        self.need_author_or(actor, repo, number, Role::Triage)?;
        for reviewer in reviewers {
            let pull = self.pull_mut(repo, number)?;
            let added = match reviewer {
                Reviewer::Person(id) => add(&mut pull.requested_reviewers, *id),
                Reviewer::Team(id) => add(&mut pull.requested_teams, *id),
            };
            if added {
                self.reviewer_event("review_requested", actor, (repo, number), *reviewer)?;
            }
        }
        Ok(())
    }

    /// Takes requests back; who was not asked is passed over.
    pub fn unrequest_review(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        reviewers: &[Reviewer],
    ) -> Result<(), Refused> {
        self.need_author_or(actor, repo, number, Role::Triage)?;
        for reviewer in reviewers {
            let pull = self.pull_mut(repo, number)?;
            let removed = match reviewer {
                Reviewer::Person(id) => remove(&mut pull.requested_reviewers, id),
                Reviewer::Team(id) => remove(&mut pull.requested_teams, id),
            };
            if removed {
                self.reviewer_event("review_request_removed", actor, (repo, number), *reviewer)?;
            }
        }
        Ok(())
    }

    fn reviewer_event(
        &mut self,
        action: &'static str,
        actor: Actor,
        (repo, number): (RepoId, PrNumber),
        reviewer: Reviewer,
    ) -> Result<(), Refused> {
        let now = self.now();
        self.issue_mut(repo, number)?.updated_at = now;
        let (key, payload, name) = match reviewer {
            Reviewer::Person(id) => (
                "requested_reviewer",
                json::user(self, id),
                self.login(id).to_owned(),
            ),
            Reviewer::Team(id) => {
                let team = self.teams.get(&id).ok_or_else(Refused::not_found)?;
                (
                    "requested_team",
                    json::team(self, team),
                    format!("{}/{}", self.login(team.org), team.slug),
                )
            }
        };
        let event = self
            .pull_event(action, actor, repo, number)?
            .with(key, payload);
        let requested = action == "review_requested";
        let what = if requested {
            What::ReviewRequested(name)
        } else {
            What::ReviewRequestRemoved(name)
        };
        self.record(actor, repo, Some(number), what);
        self.emit(event);
        Ok(())
    }

    pub fn review(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        new: NewReview,
    ) -> Result<ReviewId, Refused> {
        self.need(actor, repo, Role::Read)?;
        let author = self.account_of(actor);
        let (issue, pull) = (self.issue(repo, number)?, self.pull(repo, number)?);
        let commit = new.commit.unwrap_or(pull.head.sha);
        if issue.author == author
            && let Some(verdict @ (ReviewEvent::Approve | ReviewEvent::RequestChanges)) =
                new.verdict
        {
            let verb = if verdict == ReviewEvent::Approve {
                "approve"
            } else {
                "request changes on"
            };
            let message = format!("Can not {verb} your own pull request");
            return Err(Refused::unprocessable("Unprocessable Entity").error(message));
        }
        let mute = new.body.is_empty() && new.comments.is_empty();
        if mute
            && matches!(
                new.verdict,
                Some(ReviewEvent::RequestChanges | ReviewEvent::Comment)
            )
        {
            return Err(
                Refused::unprocessable("Unprocessable Entity").error("Review body can't be blank")
            );
        }
        let id = ReviewId::new(self.sequence.number());
        let review = Review {
            id,
            author,
            state: ReviewState::Pending,
            body: new.body,
            commit: Some(commit),
            submitted_at: None,
        };
        self.pull_mut(repo, number)?.reviews.push(review);
        for comment in new.comments {
            self.add_inline_comment(actor, (repo, number, id), comment, commit, None)?;
        }
        if let Some(verdict) = new.verdict {
            self.submit_review(actor, repo, number, id, verdict)?;
        }
        Ok(id)
    }

    /// Submits a pending review: the request to its author, and to the teams they answer for, is fulfilled.
    pub fn submit_review(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        id: ReviewId,
        verdict: ReviewEvent,
    ) -> Result<(), Refused> {
        let (now, author) = (self.now(), self.account_of(actor));
        let answered: Vec<TeamId> = self
            .teams
            .values()
            .filter(|team| self.team_members(team).contains(&author))
            .map(|team| team.id)
            .collect();
        let pull = self.pull_mut(repo, number)?;
        let review = pull
            .reviews
            .iter_mut()
            .find(|review| review.id == id)
            .ok_or_else(Refused::not_found)?;
        if review.state != ReviewState::Pending || review.author != author {
            return Err(
                Refused::unprocessable("Unprocessable Entity").error("Could not submit review")
            );
        }
        (review.state, review.submitted_at) = (verdict.state(), Some(now));
        pull.requested_reviewers
            .retain(|reviewer| *reviewer != author);
        pull.requested_teams.retain(|team| !answered.contains(team));
        self.issue_mut(repo, number)?.updated_at = now;
        self.record(actor, repo, Some(number), What::Reviewed(id));
        let event = self.review_event("submitted", actor, (repo, number), id)?;
        self.emit(event);
        let inline: Vec<_> = self
            .pull(repo, number)?
            .review_comments
            .iter()
            .filter(|c| c.review == id)
            .map(|c| c.id)
            .collect();
        for comment in inline {
            self.inline_event("created", actor, (repo, number), comment)?;
        }
        Ok(())
    }

    pub fn find_review(
        &self,
        repo: RepoId,
        number: PrNumber,
        id: ReviewId,
    ) -> Result<&Review, Refused> {
        self.pull(repo, number)?
            .reviews
            .iter()
            .find(|review| review.id == id)
            .ok_or_else(Refused::not_found)
    }

    fn review_mut(
        &mut self,
        repo: RepoId,
        number: PrNumber,
        id: ReviewId,
    ) -> Result<&mut Review, Refused> {
        self.pull_mut(repo, number)?
            .reviews
            .iter_mut()
            .find(|review| review.id == id)
            .ok_or_else(Refused::not_found)
    }

    fn review_event(
        &self,
        action: &'static str,
        actor: Actor,
        (repo, number): (RepoId, PrNumber),
        id: ReviewId,
    ) -> Result<Event, Refused> {
        let (found, issue, review) = (
            self.repo(repo)?,
            self.issue(repo, number)?,
            self.find_review(repo, number, id)?,
        );
        let mut payload = json::review(self, found, issue, review);
        // Payloads write the state in lower case and an empty body as null.
        payload["state"] = review.state.as_str().to_lowercase().into();
        if review.body.is_empty() {
            payload["body"] = Value::Null;
        }
        let pull = json::pull_brief(self, found, issue);
        Ok(Event::in_repo("pull_request_review", action, repo, actor)
            .with("review", payload)
            .with("pull_request", pull))
    }

    pub fn edit_review(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        id: ReviewId,
        body: &str,
    ) -> Result<(), Refused> {
        let who = self.account_of(actor);
        let review = self.review_mut(repo, number, id)?;
        if review.author != who {
            return Err(Refused::forbidden("Must have admin rights to Repository."));
        }
        let from = std::mem::replace(&mut review.body, body.to_owned());
        let event = self.review_event("edited", actor, (repo, number), id)?;
        self.emit(event.with("changes", json!({ "body": { "from": from } })));
        Ok(())
    }

    pub fn dismiss_review(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        id: ReviewId,
    ) -> Result<(), Refused> {
        self.need(actor, repo, Role::Write)?;
        let review = self.review_mut(repo, number, id)?;
        if !matches!(
            review.state,
            ReviewState::Approved | ReviewState::ChangesRequested
        ) {
            let state = review.state.as_str().to_lowercase();
            let message = format!("Can not dismiss a {state} pull request review");
            return Err(Refused::unprocessable("Unprocessable Entity").error(message));
        }
        review.state = ReviewState::Dismissed;
        self.record(actor, repo, Some(number), What::ReviewDismissed(id));
        let event = self.review_event("dismissed", actor, (repo, number), id)?;
        self.emit(event);
        Ok(())
    }

    /// Dismisses approvals of earlier heads, as branch protection can ask for.
    pub(super) fn dismiss_stale(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
    ) -> Result<(), Refused> {
        let pull = self.pull_mut(repo, number)?;
        let head = pull.head.sha;
        let stale = |review: &&mut Review| {
            review.state == ReviewState::Approved && review.commit != Some(head)
        };
        let mut dismissed = Vec::new();
        for review in pull.reviews.iter_mut().filter(stale) {
            review.state = ReviewState::Dismissed;
            dismissed.push(review.id);
        }
        for id in dismissed {
            self.record(actor, repo, Some(number), What::ReviewDismissed(id));
            let event = self.review_event("dismissed", actor, (repo, number), id)?;
            self.emit(event);
        }
        Ok(())
    }

    /// An inline comment of its own: GitHub wraps it in a review that only comments.
    pub fn comment_inline(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        new: NewInlineComment,
        reply_to: Option<CommentId>,
    ) -> Result<CommentId, Refused> {
        self.need(actor, repo, Role::Read)?;
        let (now, author, commit) = (
            self.now(),
            self.account_of(actor),
            self.pull(repo, number)?.head.sha,
        );
        let id = ReviewId::new(self.sequence.number());
        let (state, submitted_at) = (ReviewState::Commented, Some(now));
        let review = Review {
            id,
            author,
            state,
            body: String::new(),
            commit: Some(commit),
            submitted_at,
        };
        self.pull_mut(repo, number)?.reviews.push(review);
        let comment = self.add_inline_comment(actor, (repo, number, id), new, commit, reply_to)?;
        let event = self.review_event("submitted", actor, (repo, number), id)?;
        self.emit(event);
        self.inline_event("created", actor, (repo, number), comment)?;
        Ok(comment)
    }

    fn add_inline_comment(
        &mut self,
        actor: Actor,
        (repo, number, review): (RepoId, PrNumber, ReviewId),
        new: NewInlineComment,
        commit: Sha,
        in_reply_to: Option<CommentId>,
    ) -> Result<CommentId, Refused> {
        if !self
            .pull_changes(repo, number)?
            .iter()
            .any(|change| change.path == new.path)
        {
            return Err(Refused::invalid(
                "PullRequestReviewComment",
                "path",
                "invalid",
            ));
        }
        let (id, now, author) = (
            CommentId::new(self.sequence.number()),
            self.now(),
            self.account_of(actor),
        );
        let NewInlineComment { path, line, body } = new;
        let comment = ReviewComment {
            id,
            review,
            author,
            body,
            path,
            line,
            commit,
            in_reply_to,
            resolved_by: None,
            created_at: now,
            updated_at: now,
        };
        self.pull_mut(repo, number)?.review_comments.push(comment);
        Ok(id)
    }

    /// Resolves the thread that a comment begins, or opens it again. The pull request's author may, and people who may
    /// push.
    pub fn resolve_thread(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        (begin, resolved): (CommentId, bool),
    ) -> Result<(), Refused> {
        let who = self.account_of(actor);
        let begins =
            |comment: &&ReviewComment| comment.id == begin && comment.in_reply_to.is_none();
        let author = self
            .pull(repo, number)?
            .review_comments
            .iter()
            .find(begins)
            .map(|comment| comment.author);
        if author.ok_or_else(Refused::not_found)? != who {
            self.need_author_or(actor, repo, number, Role::Write)?;
        }
        let comments = &mut self.pull_mut(repo, number)?.review_comments;
        if let Some(comment) = comments.iter_mut().find(|comment| comment.id == begin) {
            comment.resolved_by = resolved.then_some(who);
        }
        let (found, issue) = (self.repo(repo)?, self.issue(repo, number)?);
        let of_thread =
            |comment: &&ReviewComment| comment.id == begin || comment.in_reply_to == Some(begin);
        let comments = issue
            .pull
            .iter()
            .flat_map(|pull| &pull.review_comments)
            .filter(of_thread);
        let comments: Vec<Value> = comments
            .map(|one| json::review_comment(self, found, issue, one))
            .collect();
        let thread = json!({ "node_id": json::node_id("PullRequestReviewThread", begin.get()), "comments": comments });
        let action = if resolved { "resolved" } else { "unresolved" };
        let event = Event::in_repo("pull_request_review_thread", action, repo, actor);
        self.emit(
            event
                .with("thread", thread)
                .with("pull_request", json::pull_brief(self, found, issue)),
        );
        Ok(())
    }

    fn inline_event(
        &mut self,
        action: &'static str,
        actor: Actor,
        (repo, number): (RepoId, PrNumber),
        id: CommentId,
    ) -> Result<(), Refused> {
        let (found, issue) = (self.repo(repo)?, self.issue(repo, number)?);
        let comment = issue
            .pull
            .iter()
            .flat_map(|pull| &pull.review_comments)
            .find(|comment| comment.id == id);
        let payload = comment.map(|comment| json::review_comment(self, found, issue, comment));
        let pull = json::pull_brief(self, found, issue);
        let event = Event::in_repo("pull_request_review_comment", action, repo, actor);
        self.emit(event.with("comment", payload).with("pull_request", pull));
        Ok(())
    }
}

/// Whether it was not there before.
fn add<T: PartialEq>(list: &mut Vec<T>, item: T) -> bool {
    let new = !list.contains(&item);
    if new {
        list.push(item);
    }
    new
}

/// Whether it was there.
fn remove<T: PartialEq>(list: &mut Vec<T>, item: &T) -> bool {
    let before = list.len();
    list.retain(|other| other != item);
    list.len() < before
}

//! Comments, labels, reactions.

use serde_json::json;

use crate::{
    hooks::Event,
    json,
    refused::Refused,
    world::{
        RepoId, World,
        account::Role,
        app::Actor,
        issue::{Comment, Issue, Reaction, ReactionContent},
        journal::What,
        repo::Label,
    },
};
use loopgate_core::{CommentId, PrNumber};

/// GitHub's limit for the text of a comment, in characters.
const MAX_BODY: usize = 65_536;
/// docs.github.com, Managing labels: names are limited to 50 characters.
const MAX_LABEL: usize = 50;
/// GitHub's colour for labels that come to be by being put on an issue.
const DEFAULT_COLOR: &str = "ededed";

fn check_body(body: &str) -> Result<(), Refused> {
    let wrong = |message: &str| {
        let error = json!({ "resource": "IssueComment", "code": "unprocessable", "field": "data", "message": message });
        Err(Refused::unprocessable("Validation Failed").error(error))
    };
    if body.trim().is_empty() {
        wrong("Body cannot be blank")
    } else if body.chars().count() > MAX_BODY {
        wrong("Body is too long (maximum is 65536 characters)")
    } else {
        Ok(())
    }
}

fn check_color(color: &str) -> Result<(), Refused> {
    if color.len() != 6 || !color.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Refused::invalid("Label", "color", "invalid"));
    }
    Ok(())
}

impl World {
    pub fn comment(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        body: &str,
    ) -> Result<CommentId, Refused> {
        self.need(actor, repo, Role::Read)?;
        check_body(body)?;
        let (now, author) = (self.now(), self.account_of(actor));
        self.issue_mut(repo, number)?.updated_at = now;
        let id = CommentId::new(self.sequence.number());
        let (body, created_at, updated_at) = (body.to_owned(), now, now);
        let comment = Comment {
            id,
            issue: number,
            author,
            body,
            created_at,
            updated_at,
            hidden: None,
        };
        self.repo_mut(repo)?.comments.insert(id, comment);
        self.record(actor, repo, Some(number), What::Commented(id));
        let event = self.comment_event("created", actor, repo, id)?;
        self.emit(event);
        Ok(id)
    }

    pub fn find_comment(&self, repo: RepoId, id: CommentId) -> Result<&Comment, Refused> {
        self.repo(repo)?
            .comments
            .get(&id)
            .ok_or_else(Refused::not_found)
    }

    pub fn comment_mut(&mut self, repo: RepoId, id: CommentId) -> Result<&mut Comment, Refused> {
        self.repo_mut(repo)?
            .comments
            .get_mut(&id)
            .ok_or_else(Refused::not_found)
    }

    fn comment_event(
        &self,
        action: &'static str,
        actor: Actor,
        repo: RepoId,
        id: CommentId,
    ) -> Result<Event, Refused> {
        let (found, comment) = (self.repo(repo)?, self.find_comment(repo, id)?);
        let issue = json::issue(self, found, self.issue(repo, comment.issue)?);
        let payload = json::comment(self, found, comment);
        Ok(Event::in_repo("issue_comment", action, repo, actor)
            .with("issue", issue)
            .with("comment", payload))
    }

    /// One's own comment, or with write access anybody's.
    fn need_comment_rights(
        &self,
        actor: Actor,
        repo: RepoId,
        id: CommentId,
    ) -> Result<(), Refused> {
        if self.find_comment(repo, id)?.author == self.account_of(actor) {
            return Ok(());
        }
        let denied = |refused: Refused| match refused.status {
            http::StatusCode::FORBIDDEN => {
                Refused::forbidden("Must have admin rights to Repository.")
            }
            _ => refused,
        };
        self.need(actor, repo, Role::Write).map_err(denied)
    }

    pub fn edit_comment(
        &mut self,
        actor: Actor,
        repo: RepoId,
        id: CommentId,
        body: &str,
    ) -> Result<(), Refused> {
        self.need_comment_rights(actor, repo, id)?;
        check_body(body)?;
        let now = self.now();
        let comment = self.comment_mut(repo, id)?;
        let number = comment.issue;
        if comment.body == body {
            return Ok(());
        }
        let from = std::mem::replace(&mut comment.body, body.to_owned());
        comment.updated_at = now;
        self.record(actor, repo, Some(number), What::CommentEdited(id));
        let event = self.comment_event("edited", actor, repo, id)?;
        self.emit(event.with("changes", json!({ "body": { "from": from } })));
        Ok(())
    }

    pub fn delete_comment(
        &mut self,
        actor: Actor,
        repo: RepoId,
        id: CommentId,
    ) -> Result<(), Refused> {
        self.need_comment_rights(actor, repo, id)?;
        let event = self.comment_event("deleted", actor, repo, id)?;
        let number = self.find_comment(repo, id)?.issue;
        let found = self.repo_mut(repo)?;
        found.comments.remove(&id);
        found.reactions.retain(|_, reaction| reaction.comment != id);
        self.record(actor, repo, Some(number), What::CommentDeleted(id));
        self.emit(event);
        Ok(())
    }

    /// Hides a comment, or shows it again. GitHub sends no event.
    pub fn hide_comment(
        &mut self,
        actor: Actor,
        repo: RepoId,
        id: CommentId,
        reason: Option<&str>,
    ) -> Result<(), Refused> {
        self.need(actor, repo, Role::Write)?;
        self.comment_mut(repo, id)?.hidden = reason.map(str::to_owned);
        Ok(())
    }

    /// The pull request or issue a comment is on, also one on a line of a diff: all ids are of one sequence here.
    fn issue_of(&self, repo: RepoId, comment: CommentId) -> Result<PrNumber, Refused> {
        if let Ok(found) = self.find_comment(repo, comment) {
            return Ok(found.issue);
        }
        let on = |issue: &&Issue| {
            issue
                .pull
                .iter()
                .flat_map(|pull| &pull.review_comments)
                .any(|one| one.id == comment)
        };
        self.repo(repo)?
            .issues
            .values()
            .find(on)
            .map(|issue| issue.number)
            .ok_or_else(Refused::not_found)
    }

    /// The reaction, and whether it is new: everybody has at most one of a kind on a comment. No event is sent.
    pub fn react(
        &mut self,
        actor: Actor,
        repo: RepoId,
        comment: CommentId,
        content: ReactionContent,
    ) -> Result<(Reaction, Novelty), Refused> {
        self.need(actor, repo, Role::Read)?;
        let (now, author, number) = (
            self.now(),
            self.account_of(actor),
            self.issue_of(repo, comment)?,
        );
        let same =
            |r: &&Reaction| r.comment == comment && r.author == author && r.content == content;
        if let Some(there) = self.repo(repo)?.reactions.values().find(same) {
            return Ok((there.clone(), Novelty::Old));
        }
        let reaction = Reaction {
            id: self.sequence.number(),
            comment,
            author,
            content,
            created_at: now,
        };
        self.repo_mut(repo)?
            .reactions
            .insert(reaction.id, reaction.clone());
        self.record(
            actor,
            repo,
            Some(number),
            What::Reacted {
                comment,
                content: content.as_str().to_owned(),
            },
        );
        Ok((reaction, Novelty::New))
    }

    pub fn delete_reaction(
        &mut self,
        actor: Actor,
        repo: RepoId,
        comment: CommentId,
        id: u64,
    ) -> Result<(), Refused> {
        let author = self.account_of(actor);
        let reactions = &mut self.repo_mut(repo)?.reactions;
        match reactions.get(&id) {
            Some(reaction) if reaction.comment != comment => Err(Refused::not_found()),
            Some(reaction) if reaction.author == author => {
                reactions.remove(&id);
                Ok(())
            }
            Some(_) => Err(Refused::forbidden("Must have admin rights to Repository.")),
            None => Err(Refused::not_found()),
        }
    }

    /// Makes a label in the repository.
    pub fn create_label(
        &mut self,
        actor: Actor,
        repo: RepoId,
        (name, color, description): (&str, &str, Option<&str>),
    ) -> Result<Label, Refused> {
        self.need(actor, repo, Role::Write)?;
        self.make_label(actor, repo, (name, color, description))
    }

    fn make_label(
        &mut self,
        actor: Actor,
        repo: RepoId,
        (name, color, description): (&str, &str, Option<&str>),
    ) -> Result<Label, Refused> {
        if name.is_empty() || name.chars().count() > MAX_LABEL {
            return Err(Refused::custom(
                "Label",
                "name",
                "name is too long (maximum is 50 characters)",
            ));
        }
        check_color(color)?;
        if self.repo(repo)?.label(name).is_some() {
            return Err(Refused::invalid("Label", "name", "already_exists"));
        }
        let id = self.sequence.number();
        let (name, color) = (name.to_owned(), color.to_lowercase());
        let label = Label {
            id,
            name,
            color,
            description: description.map(str::to_owned),
        };
        self.repo_mut(repo)?
            .labels
            .insert(label.name.to_lowercase(), label.clone());
        let payload = json::label(self, self.repo(repo)?, &label);
        self.emit(Event::in_repo("label", "created", repo, actor).with("label", payload));
        Ok(label)
    }

    /// Gives a label another colour or description.
    pub fn edit_label(
        &mut self,
        actor: Actor,
        repo: RepoId,
        name: &str,
        (color, description): (Option<String>, Option<String>),
    ) -> Result<Label, Refused> {
        self.need(actor, repo, Role::Write)?;
        color.as_deref().map(check_color).transpose()?;
        let label = self
            .repo_mut(repo)?
            .labels
            .get_mut(&name.to_lowercase())
            .ok_or_else(Refused::not_found)?;
        label.color = color.map_or_else(|| label.color.clone(), |color| color.to_lowercase());
        label.description = description.or_else(|| label.description.take());
        let label = label.clone();
        let payload = json::label(self, self.repo(repo)?, &label);
        self.emit(
            Event::in_repo("label", "edited", repo, actor)
                .with("label", payload)
                .with("changes", json!({})),
        );
        Ok(label)
    }

    /// Removes a label from the repository and everything that wears it.
    pub fn delete_label(&mut self, actor: Actor, repo: RepoId, name: &str) -> Result<(), Refused> {
        self.need(actor, repo, Role::Write)?;
        let found = self.repo_mut(repo)?;
        let label = found
            .labels
            .remove(&name.to_lowercase())
            .ok_or_else(Refused::not_found)?;
        for issue in found.issues.values_mut() {
            issue.labels.retain(|worn| *worn != label.name);
        }
        let payload = json::label(self, self.repo(repo)?, &label);
        self.emit(Event::in_repo("label", "deleted", repo, actor).with("label", payload));
        Ok(())
    }

    /// Puts labels on an issue, making those the repository does not know. One event for each that is new on it.
    pub fn label(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        names: &[String],
    ) -> Result<(), Refused> {
        self.need(actor, repo, Role::Triage)?;
        self.issue(repo, number)?;
        for name in names {
            let label = match self.repo(repo)?.label(name) {
                Some(label) => label.clone(),
                None => self.make_label(actor, repo, (name, DEFAULT_COLOR, None))?,
            };
            let issue = self.issue_mut(repo, number)?;
            if !issue.has_label(&label.name) {
                issue.labels.push(label.name.clone());
                self.label_event("labeled", actor, (repo, number), &label)?;
            }
        }
        Ok(())
    }

    pub fn unlabel(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        name: &str,
    ) -> Result<(), Refused> {
        self.need(actor, repo, Role::Triage)?;
        let missing = || Refused::new(http::StatusCode::NOT_FOUND, "Label does not exist");
        let label = self.repo(repo)?.label(name).cloned().ok_or_else(missing)?;
        let issue = self.issue_mut(repo, number)?;
        if !issue.has_label(name) {
            return Err(missing());
        }
        issue.labels.retain(|worn| *worn != label.name);
        self.label_event("unlabeled", actor, (repo, number), &label)
    }

    fn label_event(
        &mut self,
        action: &'static str,
        actor: Actor,
        (repo, number): (RepoId, PrNumber),
        label: &Label,
    ) -> Result<(), Refused> {
        let now = self.now();
        self.issue_mut(repo, number)?.updated_at = now;
        let what = if action == "labeled" {
            What::Labeled
        } else {
            What::Unlabeled
        };
        self.record(actor, repo, Some(number), what(label.name.clone()));
        let (found, issue) = (self.repo(repo)?, self.issue(repo, number)?);
        let payload = json::label(self, found, label);
        let event = if issue.pull.is_some() {
            self.pull_event(action, actor, repo, number)?
        } else {
            Event::in_repo("issues", action, repo, actor)
                .with("issue", json::issue(self, found, issue))
        };
        self.emit(event.with("label", payload));
        Ok(())
    }
}

/// Whether an operation changed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Novelty {
    New,
    Old,
}

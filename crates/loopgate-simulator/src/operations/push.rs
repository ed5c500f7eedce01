//! Commits, refs and the events of pushes.

use serde_json::{Value, json};

use crate::{
    git::{Commit, Entry, FileChange, Kind, Mode, Object, Signature},
    hooks::Event,
    json,
    refused::Refused,
    world::{
        RepoId, World,
        account::Role,
        app::{Actor, Area, Level},
        journal::What,
        repo::{Activity, ActivityKind},
    },
};
use loopgate_core::Sha;

const ZERO: &str = "0000000000000000000000000000000000000000";

impl World {
    /// The commit that a branch, tag, full ref name or object id names.
    pub fn resolve(&self, repo: RepoId, name: &str) -> Option<Sha> {
        let found = self.repo(repo).ok()?;
        let by_ref = [
            name.to_owned(),
            format!("refs/{name}"),
            format!("refs/heads/{name}"),
            format!("refs/tags/{name}"),
        ]
        .iter()
        .find_map(|full| found.refs.get(full).copied());
        let by_id = || {
            name.parse::<Sha>()
                .ok()
                .filter(|sha| self.objects(found).kind(*sha) == Some(Kind::Commit))
        };
        if name == "HEAD" {
            found.branch(&found.default_branch)
        } else {
            by_ref.or_else(by_id)
        }
    }

    /// [`resolve`](Self::resolve) for a name in a URL: 422 where it names no commit.
    pub fn commit_named(&self, repo: RepoId, name: &str) -> Result<Sha, Refused> {
        self.resolve(repo, name)
            .ok_or_else(|| Refused::unprocessable(format!("No commit found for SHA: {name}")))
    }

    /// Who an operation's commits are from.
    pub fn signature(&self, actor: Actor) -> Signature {
        let account = self.accounts.get(&self.account_of(actor));
        let name = account
            .and_then(|a| a.name.clone().or_else(|| Some(a.login.clone())))
            .unwrap_or_default();
        Signature {
            name,
            email: account.map(|a| a.email()).unwrap_or_default(),
            at: self.now(),
        }
    }

    /// Stores a commit of `changes` on top of `parent`'s files. A path with no content is deleted.
    pub fn commit_files(
        &mut self,
        repo: RepoId,
        parents: &[Sha],
        changes: &[(String, Option<Vec<u8>>)],
        (author, committer, message): (Signature, Signature, &str),
    ) -> Result<Sha, Refused> {
        let objects = self.objects_mut(repo)?;
        let before = parents.first().copied();
        let mut edits = Vec::new();
        for (path, content) in changes {
            let entry = content.as_ref().map(|content| {
                let mode = before
                    .and_then(|parent| objects.at_path(parent, path))
                    .map_or(Mode::File, |old| old.mode);
                Entry {
                    mode,
                    sha: objects.put_blob(content.clone()),
                }
            });
            edits.push((path.as_str(), entry));
        }
        let tree = objects.put_edited(before, edits);
        let (parents, message) = (parents.to_vec(), message.to_owned());
        Ok(objects.put(Object::Commit(Commit {
            tree,
            parents,
            committer,
            author,
            message,
        })))
    }

    /// Points a ref at a commit, or deletes it. The caller has checked that it may move so.
    pub fn set_ref(
        &mut self,
        actor: Actor,
        repo: RepoId,
        name: &str,
        to: Option<Sha>,
    ) -> Result<(), Refused> {
        let now = self.now();
        let found = self.repo_mut(repo)?;
        let before = match to {
            Some(sha) => found.refs.insert(name.to_owned(), sha),
            None => found.refs.remove(name),
        };
        if before == to {
            return Ok(());
        }
        if let Some(branch) = name.strip_prefix("refs/heads/") {
            found.pushed_at = now;
            self.note_activity(actor, repo, branch, before, to)?;
            self.push_events(actor, repo, name, before, to)?;
            self.branch_moved(actor, repo, branch, before, to)
        } else if name.starts_with("refs/tags/") {
            self.push_events(actor, repo, name, before, to)
        } else {
            // Other namespaces are in no list of branches and cause no event.
            self.record(
                actor,
                repo,
                None,
                What::HiddenRef {
                    name: name.to_owned(),
                    sha: to,
                },
            );
            Ok(())
        }
    }

    fn note_activity(
        &mut self,
        actor: Actor,
        repo: RepoId,
        branch: &str,
        before: Option<Sha>,
        after: Option<Sha>,
    ) -> Result<(), Refused> {
        let objects = self.objects(self.repo(repo)?);
        let kind = match (before, after) {
            (None, _) => ActivityKind::BranchCreation,
            (_, None) => ActivityKind::BranchDeletion,
            (Some(old), Some(new)) if objects.is_fast_forward(old, new) => ActivityKind::Push,
            _ => ActivityKind::ForcePush,
        };
        let (id, by, at) = (self.sequence.number(), self.account_of(actor), self.now());
        let branch = branch.to_owned();
        self.repo_mut(repo)?.activities.push(Activity {
            id,
            branch,
            before,
            after,
            kind,
            by,
            at,
        });
        Ok(())
    }

    /// `create` or `delete`, then `push`, then `check_suite.requested` for every App that writes checks.
    fn push_events(
        &mut self,
        actor: Actor,
        repo: RepoId,
        name: &str,
        before: Option<Sha>,
        after: Option<Sha>,
    ) -> Result<(), Refused> {
        let (kind, short) = match name.strip_prefix("refs/heads/") {
            Some(branch) => ("branch", branch),
            None => ("tag", name.trim_start_matches("refs/tags/")),
        };
        let (push, default_branch) = {
            let found = self.repo(repo)?;
            (
                self.push_payload(actor, repo, name, before, after)?,
                found.default_branch.clone(),
            )
        };
        if before.is_none() || after.is_none() {
            let event = if before.is_none() { "create" } else { "delete" };
            let mut event = Event::plain(event, repo, actor)
                .with("ref", short)
                .with("ref_type", kind)
                .with("pusher_type", "user");
            if before.is_none() {
                event = event
                    .with("master_branch", default_branch)
                    .with("description", Value::Null);
            }
            self.emit(event);
        }
        self.emit(Event {
            body: push,
            ..Event::plain("push", repo, actor)
        });
        match after {
            Some(sha) if kind == "branch" => self.request_suites(actor, repo, short, sha),
            _ => Ok(()),
        }
    }

    fn push_payload(
        &self,
        actor: Actor,
        repo: RepoId,
        name: &str,
        before: Option<Sha>,
        after: Option<Sha>,
    ) -> Result<Vec<(&'static str, Value)>, Refused> {
        let found = self.repo(repo)?;
        let objects = self.objects(found);
        let forced =
            matches!((before, after), (Some(old), Some(new)) if !objects.is_fast_forward(old, new));
        let mut commits = match (before, after) {
            (Some(old), Some(new)) => objects.log_since(old, new),
            _ => Vec::new(),
        };
        commits.reverse();
        let commits: Vec<_> = commits
            .iter()
            .map(|sha| self.pushed_commit(repo, *sha))
            .collect();
        let pusher = self.signature(actor);
        let text = |sha: Option<Sha>| sha.map_or_else(|| ZERO.to_owned(), |sha| sha.to_string());
        let (old, new) = (text(before), text(after));
        Ok(vec![
            ("ref", name.into()),
            ("before", old.as_str().into()),
            ("after", new.as_str().into()),
            ("created", before.is_none().into()),
            ("deleted", after.is_none().into()),
            ("forced", forced.into()),
            ("base_ref", Value::Null),
            (
                "compare",
                format!(
                    "{}/{}/compare/{old}...{new}",
                    self.pages_url,
                    self.full_name(found)
                )
                .into(),
            ),
            ("commits", commits.into()),
            (
                "head_commit",
                after.map_or(Value::Null, |sha| self.pushed_commit(repo, sha)),
            ),
            (
                "pusher",
                json!({ "name": self.login(self.account_of(actor)), "email": pusher.email }),
            ),
        ])
    }

    /// A commit of a `push` payload, with the paths it touched.
    fn pushed_commit(&self, repo: RepoId, sha: Sha) -> Value {
        let Ok(found) = self.repo(repo) else {
            return Value::Null;
        };
        let mut payload = json::head_commit(self, found, sha);
        let parent = self
            .objects(found)
            .commit(sha)
            .and_then(|commit| commit.parents.first().copied());
        let changes = self.objects(found).diff(parent, sha);
        let paths = |of: &dyn Fn(&FileChange) -> bool| -> Value {
            changes
                .iter()
                .filter(|change| of(change))
                .map(|change| change.path.as_str())
                .collect()
        };
        let (added, removed) = (paths(&|c| c.old.is_none()), paths(&|c| c.new.is_none()));
        let modified = paths(&|c| c.old.is_some() && c.new.is_some());
        let url = format!("{}/{}/commit/{sha}", self.pages_url, self.full_name(found));
        let more = json!({ "distinct": true, "url": url, "added": added, "removed": removed, "modified": modified });
        if let (Value::Object(payload), Value::Object(more)) = (&mut payload, more) {
            payload.extend(more);
        }
        payload
    }

    /// GitHub makes a suite for every App with `checks: write` when code is pushed, and tells that App
    /// (docs.github.com, REST, Check suites: "automatically create a check suite when a push event occurs").
    fn request_suites(
        &mut self,
        actor: Actor,
        repo: RepoId,
        branch: &str,
        sha: Sha,
    ) -> Result<(), Refused> {
        let owner = self.repo(repo)?.owner;
        let apps: Vec<_> = self
            .installations
            .values()
            .filter(|i| {
                i.account == owner && i.repositories.contains(repo) && i.suspended.is_none()
            })
            .filter(|i| i.permissions.get(&Area::Checks) == Some(&Level::Write))
            .map(|i| i.app)
            .collect();
        for app in apps {
            let suite = self.suite_for(repo, app, sha, Some(branch))?;
            let found = self.repo(repo)?;
            let payload = found
                .suites
                .get(&suite)
                .map(|suite| json::check_suite(self, found, suite));
            self.emit(
                Event::in_repo("check_suite", "requested", repo, actor)
                    .with("check_suite", payload)
                    .only(app),
            );
        }
        Ok(())
    }

    /// Whether a person may push to a branch of the repository.
    pub fn need_push(&self, actor: Actor, repo: RepoId) -> Result<(), Refused> {
        self.need(actor, repo, Role::Write)
    }
}

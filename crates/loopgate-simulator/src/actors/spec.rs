//! The arguments of what actors do: pull requests, commits, check runs, workflow runs.

use std::fmt;

use bytes::Bytes;

use crate::world::{
    checks::{Annotation, AnnotationLevel, Button, Conclusion, Progress},
    issue::Readiness,
};
use loopgate_core::{PrNumber, RepoName, Sha, Timestamp};

/// A pull request, by repository and number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pr {
    pub repo: RepoName,
    pub number: PrNumber,
}

impl fmt::Display for Pr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.repo, self.number)
    }
}

/// One commit to be made.
#[derive(Clone, Debug, Default)]
pub struct CommitSpec {
    pub(super) message: String,
    pub(super) changes: Vec<(String, Option<Vec<u8>>)>,
    pub(super) author: Option<(String, String)>,
    pub(super) at: Option<Timestamp>,
    pub(super) merging: Option<String>,
    pub(super) on_the_site: bool,
}

impl CommitSpec {
    pub fn new(message: &str) -> Self {
        Self {
            message: message.to_owned(),
            ..Self::default()
        }
    }

    /// Writes a file.
    #[must_use]
    pub fn file(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.changes.push((path.to_owned(), Some(content.into())));
        self
    }

    #[must_use]
    pub fn files(mut self, files: &[(&str, &str)]) -> Self {
        self.changes.extend(
            files
                .iter()
                .map(|(path, content)| ((*path).to_owned(), Some(content.as_bytes().to_vec()))),
        );
        self
    }

    /// Deletes a file.
    #[must_use]
    pub fn remove(mut self, path: &str) -> Self {
        self.changes.push((path.to_owned(), None));
        self
    }

    /// Instead of the account that pushes: any name and address, as git lets everybody write.
    #[must_use]
    pub fn author(mut self, name: &str, email: &str) -> Self {
        self.author = Some((name.to_owned(), email.to_owned()));
        self
    }

    /// With this branch as its second parent. What it holds of that is told by its files.
    #[must_use]
    pub fn merging(mut self, branch: &str) -> Self {
        self.merging = Some(branch.to_owned());
        self
    }

    /// In the web editor, conflicts included: GitHub commits for its writer.
    #[must_use]
    pub const fn on_the_site(mut self) -> Self {
        self.on_the_site = true;
        self
    }

    /// Any date, as git lets everybody write.
    #[must_use]
    pub fn dated(mut self, at: Timestamp) -> Self {
        self.at = Some(at);
        self
    }
}

/// A pull request to be opened: a branch with one commit.
#[derive(Clone, Debug)]
pub struct PullSpec {
    pub(super) title: String,
    pub(super) body: Option<String>,
    pub(super) base: String,
    pub(super) branch: Option<String>,
    pub(super) commit: CommitSpec,
    pub(super) readiness: Readiness,
    pub(super) origin: BranchOrigin,
}

/// Where a pull request's branch lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BranchOrigin {
    Here,
    Fork,
}

impl PullSpec {
    /// Onto `main`, from a new branch of the same repository.
    pub fn new(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            body: None,
            base: "main".into(),
            branch: None,
            commit: CommitSpec::new(title),
            readiness: Readiness::Ready,
            origin: BranchOrigin::Here,
        }
    }

    #[must_use]
    pub fn body(mut self, body: &str) -> Self {
        self.body = Some(body.to_owned());
        self
    }

    #[must_use]
    pub fn base(mut self, base: &str) -> Self {
        base.clone_into(&mut self.base);
        self
    }

    /// The head branch: made if it is not there, taken as it is if it is there and no file is given.
    #[must_use]
    pub fn branch(mut self, branch: &str) -> Self {
        self.branch = Some(branch.to_owned());
        self
    }

    #[must_use]
    pub fn file(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.commit = self.commit.file(path, content);
        self
    }

    #[must_use]
    pub fn remove(mut self, path: &str) -> Self {
        self.commit = self.commit.remove(path);
        self
    }

    /// The one commit, in full.
    #[must_use]
    pub fn commit(mut self, commit: CommitSpec) -> Self {
        self.commit = commit;
        self
    }

    #[must_use]
    pub fn draft(mut self) -> Self {
        self.readiness = Readiness::Draft;
        self
    }

    /// From the author's fork, which is made if it is not there.
    #[must_use]
    pub fn from_fork(mut self) -> Self {
        self.origin = BranchOrigin::Fork;
        self
    }
}

/// A check run to be made.
#[derive(Clone, Debug)]
pub struct CheckSpec {
    pub(super) name: String,
    pub(super) conclusion: Option<Conclusion>,
    pub(super) progress: Option<Progress>,
    pub(super) title: Option<String>,
    pub(super) summary: Option<String>,
    pub(super) annotations: Vec<Annotation>,
    pub(super) actions: Vec<Button>,
}

impl CheckSpec {
    /// A check run that is over.
    pub fn concluded(name: &str, conclusion: Conclusion) -> Self {
        Self {
            conclusion: Some(conclusion),
            progress: None,
            ..Self::in_progress(name)
        }
    }

    pub fn in_progress(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            conclusion: None,
            progress: Some(Progress::InProgress),
            title: None,
            summary: None,
            annotations: Vec::new(),
            actions: Vec::new(),
        }
    }

    #[must_use]
    pub fn output(mut self, title: &str, summary: &str) -> Self {
        (self.title, self.summary) = (Some(title.to_owned()), Some(summary.to_owned()));
        self
    }

    /// A failure on one line of a file.
    #[must_use]
    pub fn annotation(mut self, path: &str, line: u64, message: &str) -> Self {
        self.annotations.push(Annotation {
            path: path.to_owned(),
            start_line: line,
            end_line: line,
            start_column: None,
            end_column: None,
            level: AnnotationLevel::Failure,
            message: message.to_owned(),
            title: None,
            raw_details: None,
        });
        self
    }

    #[must_use]
    pub fn button(mut self, label: &str, identifier: &str) -> Self {
        let (label, identifier, description) =
            (label.to_owned(), identifier.to_owned(), label.to_owned());
        self.actions.push(Button {
            label,
            description,
            identifier,
        });
        self
    }
}

/// A workflow run of GitHub Actions.
#[derive(Clone, Debug)]
pub struct RunSpec {
    pub(super) sha: Sha,
    pub(super) path: String,
    pub(super) name: String,
    pub(super) event: String,
    pub(super) jobs: Vec<String>,
    pub(super) artifacts: Vec<(String, Bytes)>,
}

impl RunSpec {
    /// A run of the workflow file at `path` for a commit, started by `pull_request`, with one job `test`.
    pub fn new(sha: Sha, path: &str) -> Self {
        let (path, name, event) = (path.to_owned(), "CI".to_owned(), "pull_request".to_owned());
        Self {
            sha,
            path,
            name,
            event,
            jobs: vec!["test".to_owned()],
            artifacts: Vec::new(),
        }
    }

    /// The workflow's `name:`.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    #[must_use]
    pub fn event(mut self, event: &str) -> Self {
        event.clone_into(&mut self.event);
        self
    }

    /// Its jobs, as people see them: `test (ubuntu-latest)`.
    #[must_use]
    pub fn jobs(mut self, jobs: &[&str]) -> Self {
        self.jobs = jobs.iter().map(|&job| job.to_owned()).collect();
        self
    }

    /// An artifact that is uploaded before the run ends: a whole zip file.
    #[must_use]
    pub fn artifact(mut self, name: &str, zip: impl Into<Bytes>) -> Self {
        self.artifacts.push((name.to_owned(), zip.into()));
        self
    }
}

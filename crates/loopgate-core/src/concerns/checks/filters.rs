//! Checks whose workflow a filter keeps from the pull request: nothing will report, and nothing is missing. The version
//! of the base decides, so that no change writes itself a filter.

use crate::{
    observed::{ACTIONS, Content, FileAt, Snapshot},
    policy::{CheckPolicy, CheckSource, ExternalSource, Policy},
    workflow::{Change, FilterKey, Reach, Workflow},
};

/// Where GitHub looks for workflows.
pub(super) const WORKFLOWS: &str = ".github/workflows/";

/// What keeps the workflow of a job from a pull request.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct StartFilter {
    /// `ci.yml`
    pub workflow: String,
    pub key: FilterKey,
}

/// A job that did not run.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SkippedJob {
    pub name: String,
    /// Its page, where it was skipped by its own condition or for want of another.
    pub url: Option<String>,
    /// The filter of its workflow, which did not start.
    pub filter: Option<StartFilter>,
}

/// The workflows of the policy at the base of the pull request, as far as they are known.
pub(super) struct BaseWorkflows {
    workflows: Vec<BaseWorkflow>,
    /// Whether one could not be read: any job may be in it.
    is_partial: bool,
}

struct BaseWorkflow {
    name: String,
    workflow: Workflow,
    excluded_by: Option<FilterKey>,
}

impl BaseWorkflows {
    pub(super) fn of(snapshot: &Snapshot, policy: &Policy) -> Self {
        let change = Change::of(snapshot);
        let mut all = Self {
            workflows: Vec::new(),
            is_partial: false,
        };
        for (commit, path) in files(snapshot, policy) {
            let workflow = match snapshot.contents.get(commit, &path) {
                Some(Content::Absent) => continue,
                Some(Content::Text(text)) => Workflow::parse(text),
                Some(Content::Unreadable) | None => None,
            };
            let Some(workflow) = workflow else {
                all.is_partial = true;
                continue;
            };
            all.workflows.push(BaseWorkflow {
                name: path.strip_prefix(WORKFLOWS).unwrap_or(&path).to_owned(),
                excluded_by: workflow.excluded_by(&change),
                workflow,
            });
        }
        all
    }

    /// The job that would feed a followed check, if filters keep every workflow that has one from the pull request.
    pub(super) fn keep_out(&self, source: &ExternalSource) -> Option<SkippedJob> {
        let mut first = None;
        for of in &self.workflows {
            let mut jobs = of.workflow.jobs();
            let fed_by = jobs.find(|job| {
                source.may_take(&job.name(), Some(ACTIONS))
                    || [Reach::Wide, Reach::Narrow]
                        .iter()
                        .any(|reach| source.name.as_str() == job.check_runs(*reach))
            });
            if let Some(job) = fed_by {
                let skipped = of.skipped(&job.name())?;
                first.get_or_insert(skipped);
            }
        }
        first.filter(|_| !self.is_partial)
    }

    /// The first job that might bring evidence, if filters keep every workflow from the pull request.
    pub(super) fn keep_out_all(&self) -> Option<SkippedJob> {
        let mut first = None;
        for of in &self.workflows {
            let job = of.workflow.jobs().next()?;
            let skipped = of.skipped(&job.name())?;
            first.get_or_insert(skipped);
        }
        first.filter(|_| !self.is_partial)
    }
}

impl BaseWorkflow {
    fn skipped(&self, job: &str) -> Option<SkippedJob> {
        let filter = StartFilter {
            workflow: self.name.clone(),
            key: self.excluded_by?,
        };
        Some(SkippedJob {
            name: job.to_owned(),
            url: None,
            filter: Some(filter),
        })
    }
}

/// The workflows that are read while nothing is on the head of a check that one of them may bring.
pub fn files_to_read(snapshot: &Snapshot, policy: &Policy) -> Vec<FileAt> {
    let is_silent = |check: &CheckPolicy| match &check.source {
        CheckSource::External(source) => {
            let is_of_actions = source.app.as_deref().is_none_or(|app| app == ACTIONS);
            is_of_actions && !snapshot.checks.iter().any(|job| source.takes(job))
        }
        CheckSource::Command(_) => snapshot.workflow_runs.is_empty(),
        CheckSource::Reviewer(_) => false,
    };
    if policy.verify.checks.values().any(is_silent) {
        files(snapshot, policy).collect()
    } else {
        Vec::new()
    }
}

fn files(snapshot: &Snapshot, policy: &Policy) -> impl Iterator<Item = FileAt> {
    let base = snapshot.pull_request.base.sha;
    let own = policy.verify.workflows.iter();
    own.filter(|path| path.starts_with(WORKFLOWS))
        .map(move |path| (base, path.clone()))
}

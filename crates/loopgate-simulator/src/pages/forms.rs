//! What a visitor does: each form is one operation of the person they chose to be.

use std::collections::BTreeMap;

use super::{Change, Playbook};
use crate::{CommitSpec, Person, Pr, PullSpec, Refused, ReviewEvent};
use loopgate_core::CheckRunId;

/// The fields of a form that was sent.
pub(super) struct Form(BTreeMap<String, String>);

impl Form {
    pub fn read(body: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(body).into_owned().collect())
    }

    pub fn field(&self, name: &str) -> &str {
        self.0.get(name).map(String::as_str).unwrap_or_default()
    }

    fn change<'p>(&self, playbook: &'p Playbook) -> Result<&'p Change, Refused> {
        let named = playbook
            .changes
            .iter()
            .find(|change| change.name == self.field("change"));
        named.ok_or_else(|| Refused::unprocessable("Choose one of the prepared changes."))
    }
}

fn commit(change: &Change) -> CommitSpec {
    let files: Vec<_> = change
        .files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    CommitSpec::new(change.message).files(&files)
}

/// Opens a pull request; who may not push does so from a fork.
pub(super) fn open(person: &Person, playbook: &Playbook, form: &Form) -> Result<Pr, Refused> {
    let change = form.change(playbook)?;
    let title = Some(form.field("title").trim())
        .filter(|title| !title.is_empty())
        .unwrap_or(change.message);
    let spec = PullSpec::new(title)
        .body(form.field("body"))
        .commit(commit(change));
    person
        .open_pull_request(&playbook.repo, spec.clone())
        .or_else(|_| person.open_pull_request(&playbook.repo, spec.from_fork()))
}

pub(super) fn act(
    person: &Person,
    playbook: &Playbook,
    pr: &Pr,
    form: &Form,
) -> Result<(), Refused> {
    let body = form.field("body");
    let label = || {
        let label = form.field("label").trim();
        if label.is_empty() {
            Err(Refused::unprocessable("A label has a name."))
        } else {
            Ok(label)
        }
    };
    match form.field("act") {
        "comment" if body.trim().is_empty() => {
            Err(Refused::unprocessable("There is nothing in the comment."))
        }
        "comment" => person.comment(pr, body).map(drop),
        "approve" => person.review(pr, ReviewEvent::Approve, body).map(drop),
        "request_changes" => person
            .review(pr, ReviewEvent::RequestChanges, body)
            .map(drop),
        "push" => person
            .push_commit(pr, commit(form.change(playbook)?))
            .map(drop),
        "label" => person.label(pr, label()?),
        "unlabel" => person.unlabel(pr, label()?),
        "merge" => person.merge(pr).map(drop),
        "close" => person.close(pr),
        "reopen" => person.reopen(pr),
        "press" => {
            let check = form
                .field("check")
                .parse()
                .map(CheckRunId::new)
                .map_err(|_| Refused::not_found())?;
            person.press_button(pr, check, form.field("button"))
        }
        _ => Err(Refused::unprocessable("These pages have no such form.")),
    }
}

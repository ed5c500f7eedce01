//! The difference between what is there and what should be: pure.

use super::{CheckRunWrite, Effect, check_run};
use crate::github::{
    client::marker::{Digest, Marker},
    observe::ObservedSurface,
};
use loopgate_core::{
    concerns::gates::ReactionKind,
    deciding::{CheckRunPlan, Post, Surface},
    observed::{CheckProgress, Lifecycle, OwnCheck},
    policy::Channel,
    state::Reviewer,
};
use loopgate_render::{CheckRunText, Rendered, label_description};

/// What must be done, in this order: what people watch first, what notifies last.
pub fn plan(observed: &ObservedSurface, wished: &Surface, texts: &Rendered) -> Vec<Effect> {
    let mut effects = Vec::new();
    // What does not hold any more is taken back first: the rest may fail.
    effects.extend(observed.left.iter().cloned().map(Effect::CancelCheckRun));
    let by_word = |check| wished.by_word.contains(&check);
    for (check, state, text) in [
        (OwnCheck::Verify, wished.verify, &texts.verify),
        (OwnCheck::Gates, wished.gates, &texts.gates),
    ] {
        effects
            .extend(state.and_then(|state| {
                check_run_effect(observed, check, (state, by_word(check)), text)
            }));
    }
    effects.extend(status_comment(
        observed,
        wished.status_comment,
        &texts.status_comment,
    ));
    effects.extend(labels(observed, wished));
    effects.extend(reviewers(observed, wished));
    for (post, text) in texts
        .posts
        .iter()
        .filter(|(post, _)| !observed.posts.contains(&post.key()))
    {
        let (key, body) = (post.key(), Marker::Post(post.key()).on(text));
        let dispatch = texts
            .dispatch
            .clone()
            .filter(|_| matches!(post, Post::FixRequest { .. }));
        effects.push(Effect::PostComment {
            key,
            body,
            dispatch,
        });
    }
    let restore = |(comment, body): &(_, String)| Effect::UpdateComment {
        comment: *comment,
        body: body.clone(),
    };
    effects.extend(texts.restored.iter().map(restore));
    effects.extend(reactions(observed, wished));
    let announce = |(channel, post): &(Channel, Post)| {
        let key = post.key();
        let announcement = texts.announcements.get(&key)?.clone();
        Some(Effect::Announce {
            channel: *channel,
            key,
            announcement,
        })
    };
    effects.extend(wished.announce.iter().filter_map(announce));
    effects.extend(wished.reruns.iter().map(|ask| Effect::Rerun(*ask)));
    effects.extend(
        wished
            .approve_runs
            .iter()
            .map(|run| Effect::ApproveRun(*run)),
    );
    effects.extend(
        wished
            .delete_branch
            .iter()
            .cloned()
            .map(Effect::DeleteBranch),
    );
    effects
}

fn check_run_effect(
    observed: &ObservedSurface,
    check: OwnCheck,
    (state, by_word): (CheckRunPlan, bool),
    text: &CheckRunText,
) -> Option<Effect> {
    let shown = observed.check_run(check);
    // A completed check run of a merged or closed pull request stays as it is.
    if observed.pull_request.lifecycle != Lifecycle::Open
        && shown.is_none_or(|run| matches!(run.progress, CheckProgress::Completed { .. }))
    {
        return None;
    }
    let digest = check_run::digest(state, text, by_word, &observed.pull_request.base.branch);
    let write = |annotations| {
        let (name, text) = (check.name(&observed.pull_request.base.scope), text.clone());
        CheckRunWrite {
            name,
            state,
            text,
            annotations,
            digest: digest.to_string(),
        }
    };
    let Some(run) = shown else {
        return Some(Effect::CreateCheckRun(write(text.annotations.clone())));
    };
    let shown = run.external_id.as_deref().and_then(Digest::parse);
    if shown.as_ref() == Some(&digest) && check_run::shows(&run.progress, state) {
        return None;
    }
    // Annotations are only ever added to a run, and a run that has ended does not start again: then a new one takes
    // its place (people see the newest of a name).
    let same_annotations = shown.is_some_and(|shown| shown.annotations == digest.annotations);
    // One that has ended stays ended.
    let can_become = !matches!(
        (&run.progress, state),
        (CheckProgress::Completed { .. }, CheckRunPlan::InProgress)
    );
    if can_become && (same_annotations || run.annotations == 0) {
        let annotations = if same_annotations {
            Vec::new()
        } else {
            text.annotations.clone()
        };
        Some(Effect::UpdateCheckRun {
            id: run.id,
            write: write(annotations),
        })
    } else {
        Some(Effect::CreateCheckRun(write(text.annotations.clone())))
    }
}

fn status_comment(observed: &ObservedSurface, is_written: bool, text: &str) -> Vec<Effect> {
    if !is_written {
        return Vec::new();
    }
    let body = Marker::Status.on(text);
    let Some((kept, doubles)) = observed.status_comments.split_first() else {
        return vec![Effect::CreateStatusComment { body }];
    };
    let mut effects: Vec<_> = doubles
        .iter()
        .map(|double| Effect::DeleteComment(double.id))
        .collect();
    // GitHub gives bodies back with other line ends and without trailing blanks than they were sent with.
    let lines = |text: &str| text.trim_end().replace("\r\n", "\n");
    if lines(&kept.body) != lines(&body) {
        effects.push(Effect::UpdateComment {
            comment: kept.id,
            body,
        });
    }
    effects
}

fn labels(observed: &ObservedSurface, wished: &Surface) -> Vec<Effect> {
    // GitHub compares label names without regard to case.
    let on = |name: &str| {
        observed
            .pull_request
            .labels
            .iter()
            .find(|label| label.eq_ignore_ascii_case(name))
    };
    let mut effects = Vec::new();
    let mut missing = Vec::new();
    for (name, wish) in &wished.labels {
        match (wish, on(name)) {
            (Some((color, meaning)), None) => {
                let (color, description) = (color.clone(), label_description(meaning));
                effects.push(Effect::CreateLabel {
                    name: name.clone(),
                    color,
                    description,
                });
                missing.push(name.clone());
            }
            (None, Some(label)) => effects.push(Effect::RemoveLabel(label.clone())),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
    if !missing.is_empty() {
        effects.push(Effect::AddLabels(missing));
    }
    effects
}

fn reviewers(observed: &ObservedSurface, wished: &Surface) -> Vec<Effect> {
    let asked = |reviewer: &Reviewer| match reviewer {
        Reviewer::User(login) => observed.pull_request.requested_users.contains(login),
        Reviewer::Team(team) => observed.pull_request.requested_teams.contains(team),
    };
    // An author cannot be asked, and who has given a review already has answered.
    let pointless = |reviewer: &Reviewer| match reviewer {
        Reviewer::User(login) => {
            *login == observed.pull_request.author.login || observed.reviewed.contains(login)
        }
        Reviewer::Team(_) => false,
    };
    let request = wished
        .request
        .iter()
        .filter(|reviewer| !asked(reviewer) && !pointless(reviewer));
    let withdraw = wished
        .withdraw
        .iter()
        .filter(|reviewer| asked(reviewer) && !wished.request.contains(reviewer));
    request
        .cloned()
        .map(Effect::RequestReviewer)
        .chain(withdraw.cloned().map(Effect::WithdrawReviewer))
        .collect()
}

fn reactions(observed: &ObservedSurface, wished: &Surface) -> Vec<Effect> {
    let react = |(to, kind): (&_, &_)| Effect::React {
        to: *to,
        kind: *kind,
        may_be_ours: observed.count(*to, *kind) > 0,
    };
    // A comment that counted and does not any more bears no 👍 of ours.
    let counted = wished.reactions.iter().filter(|(to, kind)| {
        **kind == ReactionKind::NotAccepted && observed.count(**to, ReactionKind::Done) > 0
    });
    let take_back = counted.map(|(to, _)| Effect::TakeBackReaction {
        to: *to,
        kind: ReactionKind::Done,
    });
    take_back
        .chain(wished.reactions.iter().map(react))
        .collect()
}

#[cfg(test)]
pub(super) mod tests;

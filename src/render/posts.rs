//! The comments that must notify, each posted once.

use minijinja::context;

use super::{
    escalation, fix_request, gate_request, marker,
    sanitize::{code, short_text, text},
    templates,
    verdict::Subject,
    words,
};
use loopgate_core::{
    CommentId,
    deciding::Post,
    gate::ticked_boxes,
    observed::{Lifecycle, OwnCheck},
};

/// The text of one post, its marker first.
pub(super) fn text_of(subject: &Subject<'_>, post: &Post, own: Option<&str>) -> String {
    match post {
        Post::GateRequest { gate, .. } => gate_request::request(subject, gate, post),
        Post::GateReminder { gate, .. } => gate_request::reminder(subject, gate, post),
        Post::Escalation { trigger, .. } => match &subject.decision.view.escalation {
            Some(view) => escalation::report(subject, view, post, own),
            // The post outlived its cause: what is known without it is the cause's name.
            None => format!(
                "{}\n## Execution Feedback Escalation\n\nBlocked: {}.\n",
                marker(post),
                words::trigger(*trigger)
            ),
        },
        Post::MergedOverOpenGates => bypassed(subject, post),
        Post::FixRequest { whom, attempt } => fix_request::request(subject, *whom, *attempt, post),
    }
}

/// Gate requests as they were, with the boxes ticked that approvers have ticked.
pub(super) fn restored(subject: &Subject<'_>, own: Option<&str>) -> Vec<(CommentId, String)> {
    let restored = subject.decision.surface.restore.iter().map(|(post, ticks)| {
        let line = |line: &str| {
            let done = line.replacen("- [ ]", "- [x]", 1);
            let is_done = done != line && ticked_boxes(&done).is_subset(&ticks.boxes);
            if is_done { done } else { line.to_owned() }
        };
        let lines: Vec<String> = text_of(subject, post, own).lines().map(line).collect();
        (ticks.comment, lines.join("\n") + "\n")
    });
    restored.collect()
}

/// What was merged over, and by whom.
fn bypassed(subject: &Subject<'_>, post: &Post) -> String {
    let (by, at) = match &subject.snapshot.pull_request.lifecycle {
        Lifecycle::Merged { by, at } => (by.as_ref(), *at),
        Lifecycle::Open | Lifecycle::Closed => (None, None),
    };
    let base = &subject.snapshot.pull_request.base;
    let model = context! {
        by => by.map_or_else(|| text("Somebody"), words::person),
        at => at.map(words::moment),
        bypassed => subject.decision.view.bypassed.iter().take(50).map(|what| short_text(what, 100)).collect::<Vec<_>>(),
        base => code(&base.branch),
        checks => OwnCheck::ALL.map(|check| code(&check.name(&base.scope))).to_vec(),
    };
    format!("{}\n{}", marker(post), templates::render("bypassed.md", &model))
}

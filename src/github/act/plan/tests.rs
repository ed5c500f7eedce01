use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::github::observe::{LeftCheckRun, OwnCheckRun, OwnComment};
use loopgate_core::{
    CheckRunId, CommentId, UserId,
    concerns::gates::{Reacted, ReactionKind},
    deciding::{LabelMeaning, Post},
    fixtures::{person, pull_request},
    observed::{AnnotationLevel, CheckProgress, Conclusion, Head},
};
use loopgate_render::CheckAnnotation;

/// A pull request that Loopgate has not touched.
pub(in super::super) fn untouched() -> ObservedSurface {
    let sha = "0123456789abcdef0123456789abcdef01234567".parse().unwrap();
    let head = Head {
        sha,
        tree: sha,
        branch: "change".into(),
        repository: None,
        known_since: None,
    };
    let pull_request = pull_request(12, "A change", person(1, "alice"), head);
    let repository = "acme/widgets".parse().unwrap();
    let nothing = ObservedSurface {
        repository,
        pull_request,
        ..ObservedSurface::default()
    };
    ObservedSurface {
        us: Some(UserId::new(77)),
        ..nothing
    }
}

pub(in super::super) fn check_text(title: &str, annotations: u32) -> CheckRunText {
    let annotation = |line| CheckAnnotation {
        path: "src/a.rs".into(),
        start_line: line,
        end_line: line,
        level: AnnotationLevel::Failure,
        title: "unit".into(),
        message: "boom".into(),
    };
    CheckRunText {
        title: title.into(),
        summary: "summary".into(),
        text: None,
        annotations: (1..=annotations).map(annotation).collect(),
        actions: Vec::new(),
    }
}

fn texts() -> Rendered {
    Rendered {
        status_comment: "<!-- loopgate:status -->\nall well\n".into(),
        verify: check_text("verify", 0),
        gates: check_text("gates", 0),
        posts: Vec::new(),
        restored: Vec::new(),
        artifact: String::new(),
        announcements: BTreeMap::new(),
        dispatch: None,
    }
}

fn request() -> Post {
    Post::GateRequest {
        gate: "security".parse().unwrap(),
        round: 1,
    }
}

/// What a whole surface looks like on which nothing is left to do, applied by hand as GitHub would apply it.
fn apply(surface: &mut ObservedSurface, effects: &[Effect]) {
    let mut next = 100 + 10 * (surface.check_runs.len() + surface.status_comments.len()) as u64;
    let mut id = || {
        next += 1;
        next
    };
    for effect in effects {
        match effect.clone() {
            Effect::CreateCheckRun(write) => {
                surface
                    .check_runs
                    .push(shown(CheckRunId::new(id()), &write, 0))
            }
            Effect::UpdateCheckRun { id, write } => {
                let run = surface
                    .check_runs
                    .iter_mut()
                    .find(|run| run.id == id)
                    .unwrap();
                *run = shown(id, &write, run.annotations);
            }
            Effect::CancelCheckRun(left) => surface.left.retain(|run| *run != left),
            Effect::CreateStatusComment { body } => {
                surface.status_comments.push(OwnComment {
                    id: CommentId::new(id()),
                    body,
                });
            }
            Effect::UpdateComment { comment, body } => {
                surface
                    .status_comments
                    .iter_mut()
                    .find(|shown| shown.id == comment)
                    .unwrap()
                    .body = body;
            }
            Effect::DeleteComment(comment) => {
                surface.status_comments.retain(|shown| shown.id != comment)
            }
            Effect::CreateLabel { .. } => {}
            Effect::AddLabels(names) => surface.pull_request.labels.extend(names),
            Effect::RemoveLabel(name) => drop(surface.pull_request.labels.remove(&name)),
            Effect::RequestReviewer(Reviewer::User(login)) => {
                surface.pull_request.requested_users.insert(login);
            }
            Effect::RequestReviewer(Reviewer::Team(team)) => {
                surface.pull_request.requested_teams.insert(team);
            }
            Effect::WithdrawReviewer(Reviewer::User(login)) => {
                surface.pull_request.requested_users.remove(&login);
            }
            Effect::WithdrawReviewer(Reviewer::Team(team)) => {
                surface.pull_request.requested_teams.remove(&team);
            }
            Effect::PostComment { key, .. } => drop(surface.posts.insert(key)),
            Effect::React { to, kind, .. } => {
                surface
                    .reactions
                    .entry(to)
                    .or_default()
                    .insert(kind.as_str().into(), 1);
            }
            Effect::TakeBackReaction { to, kind } => {
                surface
                    .reactions
                    .entry(to)
                    .or_default()
                    .remove(kind.as_str());
            }
            // What runs again shows in the next snapshot, not on the surface.
            Effect::Rerun(_)
            | Effect::ApproveRun(_)
            | Effect::Announce { .. }
            | Effect::DeleteBranch(_) => {}
        }
    }
}

fn shown(id: CheckRunId, write: &CheckRunWrite, before: u64) -> OwnCheckRun {
    let progress = match write.state {
        CheckRunPlan::InProgress => CheckProgress::InProgress,
        CheckRunPlan::Completed(conclusion) => CheckProgress::Completed {
            conclusion,
            at: None,
        },
    };
    let annotations = before + write.annotations.len() as u64;
    OwnCheckRun {
        id,
        name: write.name.clone(),
        progress,
        external_id: Some(write.digest.clone()),
        annotations,
    }
}

fn everything() -> (Surface, Rendered) {
    let wished = Surface {
        by_word: BTreeSet::new(),
        waits_for: BTreeMap::new(),
        labels: BTreeMap::from([
            (
                "loop:retry".into(),
                Some(("d93f0b".into(), LabelMeaning::FixNeeded)),
            ),
            ("loop:passed".into(), None),
        ]),
        request: BTreeSet::from([
            Reviewer::User("bob".parse().unwrap()),
            Reviewer::Team("acme/security".parse().unwrap()),
        ]),
        withdraw: BTreeSet::from([Reviewer::User("carol".parse().unwrap())]),
        verify: Some(CheckRunPlan::Completed(Conclusion::Failure)),
        gates: Some(CheckRunPlan::InProgress),
        status_comment: true,
        posts: vec![request()],
        restore: Vec::new(),
        approve_runs: BTreeSet::new(),
        reactions: BTreeMap::from([(Reacted::Comment(CommentId::new(5)), ReactionKind::Done)]),
        announce: Vec::new(),
        reruns: BTreeSet::new(),
        fix: None,
        delete_branch: None,
    };
    let verify = check_text("verify", 120);
    (
        wished,
        Rendered {
            verify,
            posts: vec![(request(), "please look".into())],
            ..texts()
        },
    )
}

fn names(effects: &[Effect]) -> Vec<String> {
    let name = |effect: &Effect| {
        let debug = format!("{effect:?}");
        debug
            .split([' ', '(', '{'])
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    effects.iter().map(name).collect()
}

#[test]
fn everything_is_done_once_and_then_nothing_is_left() {
    let (wished, texts) = everything();
    let mut surface = untouched();
    surface
        .pull_request
        .labels
        .extend(["LOOP:passed".to_owned(), "mine".to_owned()]);
    surface
        .pull_request
        .requested_users
        .insert("carol".parse().unwrap());
    let left = LeftCheckRun {
        id: CheckRunId::new(3),
        head: surface.pull_request.head.sha,
        name: "loopgate / gates (own)".into(),
    };
    surface.left.push(left);
    let effects = plan(&surface, &wished, &texts);
    assert_eq!(
        names(&effects),
        [
            "CancelCheckRun",
            "CreateCheckRun",
            "CreateCheckRun",
            "CreateStatusComment",
            "RemoveLabel",
            "CreateLabel",
            "AddLabels",
            "RequestReviewer",
            "RequestReviewer",
            "WithdrawReviewer",
            "PostComment",
            "React"
        ]
    );
    apply(&mut surface, &effects);
    assert_eq!(
        surface.pull_request.labels,
        ["loop:retry", "mine"].map(str::to_owned).into()
    );
    let left = plan(&surface, &wished, &texts);
    // A reaction that is there may be somebody else's: it is looked at, not given again.
    assert_eq!(names(&left), ["React"]);
    assert!(matches!(
        left[0],
        Effect::React {
            may_be_ours: true,
            ..
        }
    ));
}

#[test]
fn a_closed_pull_request_is_left_alone() {
    let mut surface = untouched();
    surface.pull_request.labels.insert("loop:retry".into());
    surface.status_comments.push(OwnComment {
        id: CommentId::new(1),
        body: "old".into(),
    });
    assert_eq!(plan(&surface, &Surface::default(), &texts()), []);
}

fn status_only() -> Surface {
    Surface {
        status_comment: true,
        ..Surface::default()
    }
}

#[test]
fn the_oldest_status_comment_is_kept_and_doubles_go() {
    let mut surface = untouched();
    let comment = |id, body: &str| OwnComment {
        id: CommentId::new(id),
        body: body.into(),
    };
    surface.status_comments = vec![comment(1, "old"), comment(2, "old"), comment(3, "old")];
    let body = texts().status_comment;
    assert_eq!(
        plan(&surface, &status_only(), &texts()),
        [
            Effect::DeleteComment(CommentId::new(2)),
            Effect::DeleteComment(CommentId::new(3)),
            Effect::UpdateComment {
                comment: CommentId::new(1),
                body
            },
        ]
    );
}

#[test]
fn line_ends_and_trailing_blanks_are_no_difference() {
    let mut surface = untouched();
    let body = texts().status_comment.trim_end().replace('\n', "\r\n");
    surface.status_comments = vec![OwnComment {
        id: CommentId::new(1),
        body,
    }];
    assert_eq!(plan(&surface, &status_only(), &texts()), []);
}

#[test]
fn reviewers_who_cannot_or_need_not_be_asked_are_not() {
    let user = |login: &str| Reviewer::User(login.parse().unwrap());
    let wished = Surface {
        request: BTreeSet::from([user("alice"), user("bob"), user("carol"), user("dave")]),
        withdraw: BTreeSet::from([user("bob"), user("erin")]),
        ..Surface::default()
    };
    let mut surface = untouched();
    surface
        .pull_request
        .requested_users
        .insert("Bob".parse().unwrap());
    surface.reviewed.insert("carol".parse().unwrap());
    assert_eq!(
        plan(&surface, &wished, &texts()),
        [Effect::RequestReviewer(user("dave"))]
    );
}

/// What happens to the verify check run of a commit that shows `before`, when it should show `after`.
fn changed(
    before: (CheckRunPlan, CheckRunText),
    after: (CheckRunPlan, CheckRunText),
) -> Vec<String> {
    let mut surface = untouched();
    let to_show = |surface: &ObservedSurface, (state, verify): (CheckRunPlan, CheckRunText)| {
        let wished = Surface {
            verify: Some(state),
            ..Surface::default()
        };
        plan(surface, &wished, &Rendered { verify, ..texts() })
    };
    let effects = to_show(&surface, before);
    apply(&mut surface, &effects);
    let effects = to_show(&surface, after);
    let sent = effects.iter().map(|effect| match effect {
        Effect::CreateCheckRun(write) => format!("create with {}", write.annotations.len()),
        Effect::UpdateCheckRun { write, .. } => format!("update with {}", write.annotations.len()),
        other => format!("{other:?}"),
    });
    sent.collect()
}

#[test]
fn a_check_run_is_changed_only_where_it_differs_and_replaced_where_it_cannot_be_changed() {
    use CheckRunPlan::{Completed, InProgress};
    let (failure, success) = (
        Completed(Conclusion::Failure),
        Completed(Conclusion::Success),
    );
    let text = check_text;
    for (what, before, after, expected) in [
        (
            "same",
            (failure, text("a", 2)),
            (failure, text("a", 2)),
            vec![],
        ),
        (
            "ended",
            (InProgress, text("a", 0)),
            (failure, text("b", 2)),
            vec!["update with 2"],
        ),
        (
            "other title",
            (failure, text("a", 2)),
            (failure, text("b", 2)),
            vec!["update with 0"],
        ),
        (
            "first annotations",
            (failure, text("a", 0)),
            (failure, text("a", 2)),
            vec!["update with 2"],
        ),
        (
            "other annotations",
            (failure, text("a", 2)),
            (failure, text("a", 3)),
            vec!["create with 3"],
        ),
        (
            "fixed",
            (failure, text("a", 2)),
            (success, text("b", 0)),
            vec!["create with 0"],
        ),
        (
            "runs again",
            (failure, text("a", 0)),
            (InProgress, text("a", 0)),
            vec!["create with 0"],
        ),
        (
            "turned",
            (failure, text("a", 0)),
            (success, text("b", 0)),
            vec!["update with 0"],
        ),
    ] {
        assert_eq!(changed(before, after), expected, "{what}");
    }
}

#[test]
fn a_check_run_that_somebody_else_ended_differently_is_put_right() {
    let wished = Surface {
        verify: Some(CheckRunPlan::Completed(Conclusion::Failure)),
        ..Surface::default()
    };
    let mut surface = untouched();
    let effects = plan(&surface, &wished, &texts());
    apply(&mut surface, &effects);
    surface.check_runs[0].progress = CheckProgress::Completed {
        conclusion: Conclusion::Success,
        at: None,
    };
    assert_eq!(
        names(&plan(&surface, &wished, &texts())),
        ["UpdateCheckRun"]
    );
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    fn check_plan() -> impl Strategy<Value = Option<CheckRunPlan>> {
        prop_oneof![
            Just(None),
            Just(Some(CheckRunPlan::InProgress)),
            Just(Some(CheckRunPlan::Completed(Conclusion::Success))),
            Just(Some(CheckRunPlan::Completed(Conclusion::Failure))),
        ]
    }

    fn wish() -> impl Strategy<Value = (Surface, Rendered)> {
        let label = prop_oneof![
            Just(None),
            Just(Some(("ffffff".into(), LabelMeaning::ChecksRun)))
        ];
        let labels = prop::collection::btree_map("[a-c]", label, 0..3);
        let people = || prop::collection::btree_set("[a-e]", 0..4);
        let status = any::<bool>();
        let checks = (check_plan(), check_plan(), "[a-b]", 0..3u32);
        (labels, people(), people(), checks, status, "[a-b]").prop_map(
            |(
                labels,
                request,
                withdraw,
                (verify, gates, title, annotations),
                status_comment,
                body,
            )| {
                let users = |names: BTreeSet<String>| {
                    names
                        .iter()
                        .map(|name| Reviewer::User(name.parse().unwrap()))
                        .collect::<BTreeSet<_>>()
                };
                let (request, withdraw) = (users(request), users(withdraw));
                let surface = Surface {
                    labels,
                    request,
                    withdraw,
                    verify,
                    gates,
                    status_comment,
                    ..Surface::default()
                };
                let verify = check_text(&title, annotations);
                (
                    surface,
                    Rendered {
                        verify,
                        status_comment: body,
                        ..texts()
                    },
                )
            },
        )
    }

    proptest! {
        /// Whatever was shown before, carrying out a plan leaves nothing to do.
        #[test]
        fn a_plan_carried_out_leaves_nothing(wishes in prop::collection::vec(wish(), 1..5)) {
            let mut surface = untouched();
            for (wished, texts) in &wishes {
                let effects = plan(&surface, wished, texts);
                apply(&mut surface, &effects);
                prop_assert_eq!(plan(&surface, wished, texts), vec![]);
            }
        }
    }
}

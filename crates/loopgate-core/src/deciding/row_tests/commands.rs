//! C and X: what people ask for.

use super::*;

#[test]
fn a_cause_that_belongs_to_a_gate_is_released_by_its_approvers() {
    let found = |may: Permission| {
        let mut story = Story::opened();
        story.gate("security", "carol");
        for id in [1, 2] {
            let standing = Standing::Known {
                permission: may,
                teams: [].into(),
            };
            story
                .snapshot
                .authority
                .people
                .insert(UserId::new(id), standing);
        }
        add_check(&mut story, "scan", CheckKind::Security);
        let mut scan = CheckEvidence::bare(name("scan"), CheckKind::Security, Outcome::Failed);
        let severity = FindingSeverity::High;
        scan.findings = vec![Finding {
            rule: "r".into(),
            severity,
            message: "m".into(),
            location: None,
        }];
        with_check(&mut story, scan);
        story.decide();
        story
    };
    let refused = AnswerOutcome::Refused(CommandRefusal::NeedsApproverOf {
        gate: "security".parse().unwrap(),
    });
    for (who, may, outcome) in [
        ("alice", Permission::Maintain, &refused), // who wrote it
        ("bob", Permission::Write, &refused),      // write, and no approver
        ("bob", Permission::Maintain, &AnswerOutcome::Resumed),
        ("carol", Permission::Maintain, &AnswerOutcome::Resumed), // an approver with permission read
    ] {
        let mut story = found(may);
        story.comment(who, "/loop resume");
        assert_eq!(answer(&story), outcome, "{who} with {may:?}");
    }
    let mut story = gated(Stage::Validate);
    story.push(1, &[], &["rounds"]);
    story.now += TimeDelta::hours(73);
    assert_eq!(
        story.decide().action,
        NextAction::Escalate {
            cause: Trigger::GateTimeout
        }
    );
    story.comment("alice", "/loop resume");
    assert!(story.state.people.blocked.is_some(), "the author waits");
    story.comment("carol", "/loop resume");
    assert_eq!(
        (answer(&story), story.state.people.blocked.as_ref()),
        (&AnswerOutcome::Resumed, None)
    );
}

#[test]
fn nothing_is_repeated_where_a_person_decides_first() {
    let mut story = Story::opened();
    story.snapshot.workflow_runs = vec![workflow(CheckProgress::Completed {
        conclusion: Conclusion::Failure,
        at: Some(start()),
    })];
    story.comment("bob", "/loop stop");
    for _ in 0..3 {
        story.now += TimeDelta::minutes(40);
        assert!(story.decide().surface.reruns.is_empty());
    }
}

#[test]
fn questions_change_nothing() {
    let mut story = Story::opened();
    story.push(1, &["rounds"], &[]);
    let before = (
        story.state.attempts.counted.clone(),
        story.state.run.status,
        story.last.as_ref().unwrap().action.clone(),
    );
    for question in ["help", "status", "history", "explain", "lint-config"] {
        story.comment("carol", &format!("/loop {question}"));
        let shown = match question.strip_prefix("memory ") {
            Some(words) => AnswerOutcome::Searched {
                words: words.to_owned(),
                found: None,
            },
            None => AnswerOutcome::Shown,
        };
        assert_eq!(answer(&story), &shown, "{question}");
    }
    story.comment("carol", "/loop memory rounding");
    assert_eq!(
        answer(&story),
        &AnswerOutcome::Searched {
            words: "rounding".into(),
            found: None
        }
    );
    assert_eq!(
        (
            story.state.attempts.counted.clone(),
            story.state.run.status,
            story.last.unwrap().action
        ),
        before
    );
}

#[test]
fn a_command_whose_writer_has_unknown_rights_waits_for_them() {
    for (hours, stopped) in [(0, true), (2, false)] {
        let mut story = Story::opened();
        let known = std::mem::take(&mut story.snapshot.authority.people);
        story.comment("bob", "/loop stop");
        let unknown = AnswerOutcome::Refused(CommandRefusal::RightsUnknown);
        assert_eq!(answer(&story), &unknown);
        assert!(
            story
                .last
                .as_ref()
                .unwrap()
                .surface
                .reactions
                .values()
                .all(|kind| *kind == crate::concerns::gates::ReactionKind::Seen)
        );
        story.now += TimeDelta::hours(hours);
        story.snapshot.authority.people = known;
        story.decide();
        story.decide();
        let expected = if stopped {
            AnswerOutcome::Stopped
        } else {
            unknown
        };
        assert_eq!(
            (answer(&story), story.state.people.answered.len()),
            (&expected, 1),
            "after {hours} h"
        );
    }
}

#[test]
fn commands_without_their_condition_are_refused() {
    use CommandRefusal as R;
    let mut story = Story::opened();
    add_check(&mut story, "lint", CheckKind::Lint);
    let mut refusal = |who: &str, words: &str| {
        story.comment(who, words);
        match answer(&story) {
            AnswerOutcome::Refused(refusal) => refusal.clone(),
            other => panic!("{words}: {other:?}"),
        }
    };
    assert_eq!(refusal("bob", "/loop resume"), R::NothingToResume);
    let unknown = R::UnknownCheck {
        check: name("lit"),
        nearest: Some(name("lint")),
    };
    assert_eq!(refusal("bob", "/loop skip lit --reason x"), unknown);
    assert_eq!(refusal("alice", "/loop skip lint --reason x"), R::OwnWork);
    assert_eq!(
        refusal("bob", "/loop skip unit --reason x"),
        R::NeverSkipped {
            check: name("unit")
        }
    );
    assert_eq!(refusal("carol", "/loop stop"), R::NeedsWrite);

    story.policy.retry.execution_gate.allow_skip = true;
    story.comment("bob", "/loop skip unit --reason \"no tests yet\"");
    assert_eq!(
        answer(&story),
        &AnswerOutcome::Skipped {
            check: name("unit")
        }
    );

    let mut story = Story::opened();
    story.write("bob", "/loop stop");
    story.snapshot.comments.items[0].updated_at += TimeDelta::minutes(5);
    story.now += TimeDelta::minutes(9);
    story.decide();
    assert_eq!(answer(&story), &AnswerOutcome::Refused(R::Edited));

    let mut story = Story::opened();
    story.write("bob", "/loop stop");
    story.snapshot.comments.items[0].is_hidden = true;
    story.decide();
    assert!(story.state.people.answered.is_empty());
    assert!(!story.snapshot.pull_request.is_draft);
}

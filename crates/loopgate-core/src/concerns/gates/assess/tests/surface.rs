//! The other outputs of gates: modes, reviewers, reactions, questions, commands.

use std::collections::BTreeSet;

use super::super::world::*;
use crate::{
    commands::{Command, Verb},
    concerns::gates::{MatchReason, PhraseProblem, Reacted, ReactionKind, questions},
    fixtures,
    observed::{Authority, ChangedFiles, Unusable},
    policy::{GateTrigger, Mode},
    state::Reviewer,
};

#[test]
fn modes_decide_which_gates_hold() {
    for (mode, name, is_configured, team, is_advisory) in [
        (Mode::Autonomous, "security", false, true, true),
        (Mode::Autonomous, "security", true, false, false),
        (Mode::Hybrid, "security", false, false, false),
        (Mode::Hybrid, "deploy", false, false, false),
        (Mode::Hybrid, "architecture", false, false, true),
        (Mode::Hybrid, "architecture", false, true, false),
        (Mode::Hybrid, "architecture", true, false, false),
        (Mode::Hybrid, "payments", true, false, false),
        (Mode::Supervised, "architecture", false, false, false),
    ] {
        let mut world = World::new();
        world.policy.mode = mode;
        let mut policy = gate_policy(GateTrigger::Always, &[]);
        policy.is_configured = is_configured;
        policy.preset = fixtures::preset(name);
        policy.approvers.preset_team = (!is_configured).then(|| "leads".into());
        world.policy.gates.insert(gate(name), policy);
        let standing = Ok([].into());
        let standing = if team {
            standing
        } else {
            Err(Unusable::NoTeam)
        };
        world
            .snapshot
            .authority
            .teams
            .insert("acme/leads".parse().unwrap(), standing);
        assert_eq!(
            world.report_of(name).is_advisory,
            is_advisory,
            "{mode:?} {name} {is_configured} {team}"
        );
    }
}

#[test]
fn a_preset_holds_while_it_is_not_known_whether_its_team_is_there() {
    for (standing, is_advisory) in [
        (Err(Unusable::Unknown("503".into())), false),
        (
            Err(Unusable::Unreadable("it needs members=read".into())),
            true,
        ),
        (Err(Unusable::NoAccess), true),
    ] {
        let mut world = World::new();
        let mut policy = gate_policy(GateTrigger::Always, &[]);
        policy.is_configured = false;
        policy.approvers.preset_team = Some("dba".into());
        world.policy.gates.insert(gate("database"), policy);
        world
            .snapshot
            .authority
            .teams
            .insert("acme/dba".parse().unwrap(), standing.clone());
        assert_eq!(
            world.report_of("database").is_advisory,
            is_advisory,
            "{standing:?}"
        );
    }
}

#[test]
fn supervised_opens_every_gate() {
    let mut world = World::new();
    world.snapshot.files = ChangedFiles::Complete(vec![file("README.md", "@@ -1 +1 @@\n+words")]);
    assert_eq!(world.report().status.as_str(), "not_applicable");
    world.policy.mode = Mode::Supervised;
    assert_eq!(world.report().matches[0].reason, MatchReason::Mode);
    assert!(world.report().is_closed());
}

#[test]
fn editing_the_rules_opens_the_security_gate() {
    let mut world = World::new();
    world.policy.verify.workflows = vec![".github/workflows/ci.yml".into()];
    for path in [
        ".github/loopgate.yml",
        "docs/CODEOWNERS",
        ".github/workflows/ci.yml",
        ".github/loopgate/escalation.md",
    ] {
        world.snapshot.files = ChangedFiles::Complete(vec![file(path, "@@ -1 +1 @@\n+x")]);
        assert!(world.report().is_waiting(), "{path}");
    }
    world.snapshot.files =
        ChangedFiles::Complete(vec![file(".github/workflows/other.yml", "@@ -1 +1 @@\n+x")]);
    assert!(!world.report().is_waiting());
}

#[test]
fn taking_a_label_away_does_not_close_a_requested_gate() {
    let mut world = World::new();
    world.gate().trigger = GateTrigger::Labels(vec!["Risky".into()]);
    assert!(!world.report().is_waiting());
    world.snapshot.pull_request.labels = BTreeSet::from(["risky".to_owned()]);
    world.reconcile();
    world.snapshot.pull_request.labels.clear();
    assert_eq!(
        world.report().matches[0].reason,
        MatchReason::LabelRemoved {
            label: "risky".into()
        }
    );
    world.reconcile();
    assert!(world.report().is_waiting());
}

#[test]
fn a_label_is_remembered_beside_any_number_of_files() {
    let mut world = World::new();
    world.gate().trigger =
        GateTrigger::Any(vec![paths("**"), GateTrigger::Labels(vec!["risky".into()])]);
    let files = (0..200)
        .map(|number| file(&format!("{number}.rs"), "@@ -1 +1 @@\n+x"))
        .collect();
    world.snapshot.files = ChangedFiles::Complete(files);
    world.snapshot.pull_request.labels = BTreeSet::from(["risky".to_owned()]);
    assert_eq!(
        world.report().opening_labels(),
        BTreeSet::from(["risky".to_owned()])
    );
}

#[test]
fn reviewers_are_those_who_can_approve_but_never_the_author() {
    let mut world = World::new();
    world.gate().approvers.users.insert(login("author"));
    world.gate().approvers.teams = BTreeSet::from([
        "acme/sec".parse().unwrap(),
        "other/sec".parse().unwrap(),
        "acme/gone".parse().unwrap(),
    ]);
    world.team("acme/sec", &["carol"]);
    world.team("other/sec", &["carol"]);
    world
        .snapshot
        .authority
        .teams
        .insert("acme/gone".parse().unwrap(), Err(Unusable::NoTeam));
    let asked = |world: &World| world.follow_up().request;
    let expected = [
        Reviewer::User(login("alice")),
        Reviewer::User(login("bob")),
        Reviewer::Team("acme/sec".parse().unwrap()),
    ];
    assert_eq!(asked(&world), BTreeSet::from(expected));
    world.snapshot.pull_request.is_draft = true;
    assert!(asked(&world).is_empty());
    world.snapshot.pull_request.is_draft = false;
    world.comment("alice", "security approved");
    assert!(asked(&world).is_empty());
}

#[test]
fn a_gate_open_to_a_permission_requests_nobody() {
    let mut world = World::new();
    world.gate().approvers.users.clear();
    assert_eq!(world.follow_up().request, BTreeSet::new());
}

#[test]
fn reactions_tell_what_came_of_a_comment() {
    let mut world = World::new();
    let near = world.comment("alice", "security approved?");
    let outsider = world.comment("outsider", "security approved");
    let bot = world.comment("helper[bot]", "security approved");
    let chat = world.comment("alice", "nice weather");
    let quoted = world.comment("alice", "> security approved\n\nsecurity approved");
    let stray = world.comment("alice", "approved");
    let reactions = world.assess().reactions();
    let reaction = |comment| reactions.get(&Reacted::Comment(comment)).copied();
    assert_eq!(
        reaction(near),
        None,
        "the gate is approved now, and the question with it"
    );
    assert_eq!(reaction(outsider), Some(ReactionKind::NotAccepted));
    assert_eq!(reaction(bot), None);
    assert_eq!(reaction(chat), None);
    assert_eq!(reaction(quoted), Some(ReactionKind::Done));
    assert_eq!(reaction(stray), None, "no gate waits");
}

#[test]
fn questions_are_asked_only_about_those_who_spoke_and_the_names_that_matter() {
    let mut world = World::new();
    world.policy.gates.insert(
        gate("database"),
        gate_policy(paths("migrations/**"), &["dan"]),
    );
    world.gate().approvers.teams = BTreeSet::from(["acme/sec".parse().unwrap()]);
    world.comment("outsider", "nice weather");
    world.comment("alice", "security approved");
    world.comment("carol", "/loop status");
    world.comment("erin", "/loop resume");
    world.comment("dan", "database approved");
    world.snapshot.authority = Authority::default();
    let asked = questions(&world.snapshot, Some(&world.state), &world.policy, &[]);
    let people: Vec<_> = asked.people.values().map(|login| login.as_str()).collect();
    assert_eq!(people, ["alice", "erin"]);
    assert_eq!(asked.logins, BTreeSet::from([login("alice"), login("bob")]));
    assert_eq!(asked.teams, BTreeSet::from(["acme/sec".parse().unwrap()]));
}

#[test]
fn objectors_are_asked_about_before_a_crowd() {
    let mut world = World::new();
    world.comment("bob", "security rejected");
    for number in 0..500 {
        world.comment(&format!("stranger-{number}"), "security approved");
        world.last_comment().author.id = crate::ids::UserId::new(10_000 + number);
    }
    let asked = questions(&world.snapshot, None, &world.policy, &[]);
    assert_eq!(asked.people.len(), 100);
    assert!(asked.people.contains_key(&account("bob").id));
}

#[test]
fn commands_are_told_with_what_is_wrong_with_them() {
    let mut world = World::new();
    world.comment(
        "alice",
        "/loop status\n\n/loop resmue\n\n```\n/loop stop\n```\n> /loop stop\n\n/loop stop enough",
    );
    let commands = world.assess().commands;
    assert_eq!(commands.len(), 3);
    assert_eq!(commands[0].command, Ok(Command::Ask(Verb::Status)));
    let wrong = commands[1].command.as_ref().unwrap_err();
    assert!(
        matches!(&wrong.problem, PhraseProblem::UnknownCommand { nearest: Some(nearest), .. } if nearest == "/loop resume [--accept tampering | results_lost | skipped]")
    );
    assert_eq!(
        commands[2].command,
        Ok(Command::Stop {
            reason: Some("enough".into())
        })
    );
}

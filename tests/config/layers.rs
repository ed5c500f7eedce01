//! An organisation's file below a repository's: maps are merged, everything else is replaced.

use loopgate::config::{self, Source};
use loopgate_core::{
    CheckName, GateName,
    policy::{CheckSource, Fixer, GateTrigger, Policy, PolicyOrigin},
};

fn policy(organisation: &str, repository: Option<&str>) -> Policy {
    let organisation = Source::new("acme/.github/loopgate.yml", organisation);
    let repository = repository.map(|text| Source::new(".github/loopgate.yml", text));
    match config::load(Some(organisation), repository) {
        Ok(loaded) => loaded.policy,
        Err(errors) => panic!("{}", errors.as_slice()[0]),
    }
}

fn gate(name: &str) -> GateName {
    name.parse().unwrap()
}

#[test]
fn maps_are_merged_and_lists_replaced() {
    let policy = policy(
        "loop: { max_attempts: 2, same_error: 1 }\nescalation: { notify: [acme/ops, alice], channels: [slack] }\n",
        Some("loop: { max_attempts: 5 }\nescalation: { notify: [bob] }\n"),
    );
    assert_eq!((policy.retry.max_attempts, policy.retry.same_error), (5, 1));
    assert_eq!(
        (
            policy.escalation.notify.len(),
            policy.escalation.channels.len()
        ),
        (1, 1)
    );
}

#[test]
fn checks_are_merged_key_by_key() {
    let policy = policy(
        "verify: { checks: { unit: { kind: test, run: make test, timeout: 60 } } }\n",
        Some(
            "verify: { checks: { unit: { run: cargo test }, build: { kind: build, run: cargo build } } }\n",
        ),
    );
    let names: Vec<&str> = policy.verify.checks.keys().map(CheckName::as_str).collect();
    assert_eq!(names, ["unit", "build"]);
    let CheckSource::Command(unit) = &policy.verify.checks[0].source else {
        panic!("a command")
    };
    assert_eq!(
        (unit.run.as_str(), unit.timeout.num_seconds()),
        ("cargo test", 60)
    );
}

#[test]
fn a_condition_and_a_fixer_are_replaced_as_a_whole() {
    let policy = policy(
        "gates: { money: { when: { paths: [billing/**] }, label: money } }\nfixer: { kind: command, command: ./fix }\n",
        Some(
            "gates: { money: { when: { draft: true } } }\nfixer: { kind: mention, mention: copilot }\n",
        ),
    );
    let money = &policy.gates[&gate("money")];
    assert_eq!(
        (&money.trigger, money.label.as_str()),
        (&GateTrigger::Draft, "money")
    );
    assert!(matches!(policy.fixer.fixer, Fixer::Mention(_)));
}

#[test]
fn a_preset_keeps_what_is_not_written_about_it() {
    let presets = config::presets();
    let policy = policy(
        "gates: { security: off, database: off, deploy: { allow_author: true } }\nlabels: off\n",
        Some("gates: { security: { label: sec } }\nlabels: { prefix: 'x:' }\n"),
    );
    let (security, preset) = (
        &policy.gates[&gate("security")],
        &presets.gates[&gate("security")],
    );
    assert_eq!(
        (&security.trigger, security.holds),
        (&preset.trigger, preset.holds)
    );
    assert_eq!(
        (security.label.as_str(), security.is_configured),
        ("sec", true)
    );
    assert_eq!(security.approvers.preset_team.as_deref(), Some("security"));
    assert!(!policy.gates.contains_key(&gate("database")));
    assert!(policy.gates[&gate("deploy")].is_configured);
    assert!(!policy.gates[&gate("external")].is_configured);
    assert!(policy.labels.all()[1].1 == "x:retry");
}

#[test]
fn named_people_replace_the_presets_team() {
    let team = |text: &str| {
        policy("", Some(text)).gates[&gate("security")]
            .approvers
            .preset_team
            .clone()
    };
    assert_eq!(
        team("gates: { security: { approvers: { count: 2 } } }\n").as_deref(),
        Some("security")
    );
    for approvers in [
        "users: [alice]",
        "teams: [acme/sec]",
        "permission: admin",
        "codeowners: true",
    ] {
        assert_eq!(
            team(&format!(
                "gates: {{ security: {{ approvers: {{ {approvers} }} }} }}\n"
            )),
            None,
            "{approvers}"
        );
    }
}

#[test]
fn locked_keys_keep_the_organisations_values() {
    let policy = policy(
        "policy: { locked: [gates.security, loop.max_attempts] }\nloop: { max_attempts: 2 }\n",
        Some("gates: { security: off, deploy: off }\nloop: { max_attempts: 9, same_error: 1 }\n"),
    );
    assert!(
        policy.gates.contains_key(&gate("security")) && !policy.gates.contains_key(&gate("deploy"))
    );
    assert_eq!((policy.retry.max_attempts, policy.retry.same_error), (2, 1));
}

/// What holds a locked key cannot be replaced either.
#[test]
fn locks_are_not_talked_around() {
    let locked = |locks: &str, written: &str| {
        let organisation = format!(
            "policy: {{ locked: [{locks}] }}\nlabels: {{ prefix: 'x:' }}\nfixer: {{ kind: mention, mention: copilot }}\n\
             gates: {{ money: {{ when: {{ paths: [billing/**] }} }} }}\n"
        );
        // What is told of it aside.
        let in_force = |written| Policy {
            overruled: Vec::new(),
            ..policy(&organisation, Some(written))
        };
        in_force(written) == in_force("")
    };
    for (locks, written) in [
        ("labels.prefix", "labels: off\n"),
        ("gates.security.approvers", "gates: { security: off }\n"),
        (
            "gates.money.when",
            "gates: { money: { when: { draft: true } } }\n",
        ),
        (
            "gates.money.when.paths",
            "gates: { money: { when: { draft: true } } }\n",
        ),
        ("fixer.mention", "fixer: { kind: none }\n"),
        ("gates", "gates: &g { security: off }\n"),
        ("gates", "<<: { gates: { security: off } }\n"),
        ("mode", "mode: autonomous\n"),
    ] {
        assert!(locked(locks, written), "{locks}: {written}");
        assert!(
            !locked("memory", written),
            "{written} should change something"
        );
    }
}

#[test]
fn a_repository_switches_it_off_unless_that_is_locked() {
    for (locked, is_active) in [("gates", false), ("gates, enabled", true)] {
        let organisation = format!("enabled: true\npolicy: {{ locked: [{locked}] }}\n");
        let policy = policy(&organisation, Some("enabled: false\n"));
        assert_eq!(policy.is_active, is_active, "{locked}");
    }
}

#[test]
fn without_a_file_of_its_own_a_repository_is_left_alone_unless_the_organisation_says_so() {
    for (organisation, repository, is_active, origin) in [
        ("mode: hybrid\n", None, false, PolicyOrigin::Defaults),
        ("enabled: true\n", None, true, PolicyOrigin::Defaults),
        (
            "enabled: false\n",
            Some(""),
            false,
            PolicyOrigin::WorkingTree,
        ),
        ("mode: hybrid\n", Some(""), true, PolicyOrigin::WorkingTree),
        (
            "enabled: true\n",
            Some("enabled: false\n"),
            false,
            PolicyOrigin::WorkingTree,
        ),
    ] {
        let policy = policy(organisation, repository);
        assert_eq!(
            (policy.is_active, policy.origin),
            (is_active, origin),
            "{organisation}{repository:?}"
        );
    }
}

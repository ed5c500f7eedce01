use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::config::load;
use loopgate_core::{
    Login, UserId,
    concerns::gates::online_facts::{
        ActionUse, ActionsPolicy, AllowedActions, DefaultToken, OwnersFile, SelectedActions,
    },
    observed::{Account, AccountKind, Authority, Permission, Standing, Unusable},
};

const PEOPLE: [(&str, Permission); 6] = [
    ("olga", Permission::Admin),
    ("alice", Permission::Write),
    ("bob", Permission::Write),
    ("reader", Permission::Read),
    ("stranger", Permission::None),
    ("acme-bot[bot]", Permission::Write),
];

fn account(login: &str) -> Account {
    let id = PEOPLE
        .iter()
        .position(|(known, _)| *known == login)
        .map_or(90, |at| at as u64 + 1);
    let kind = match login {
        "acme" => AccountKind::Organization,
        _ if login.ends_with("[bot]") => AccountKind::Bot,
        _ => AccountKind::User,
    };
    Account {
        id: UserId::new(id),
        login: login.parse().unwrap(),
        kind,
    }
}

/// acme/widgets: olga is its only maintainer; the teams are `acme/security` (alice, bob), `acme/empty`, and some that
/// are of no use.
fn survey() -> Survey {
    let mut authority = Authority::default();
    for (login, permission) in PEOPLE {
        let account = account(login);
        authority.people.insert(
            account.id,
            Standing::Known {
                permission,
                teams: BTreeSet::new(),
            },
        );
        authority.logins.insert(account.login.clone(), Ok(account));
    }
    authority
        .logins
        .insert("acme".parse().unwrap(), Ok(account("acme")));
    for gone in ["alcie", "nobody-at-all"] {
        authority
            .logins
            .insert(gone.parse().unwrap(), Err(Unusable::NoAccount));
    }
    let members = |logins: &[&str]| -> BTreeMap<UserId, Login> {
        logins
            .iter()
            .map(|login| (account(login).id, account(login).login))
            .collect()
    };
    for (team, standing) in [
        ("acme/security", Ok(members(&["alice", "bob"]))),
        ("acme/empty", Ok(members(&[]))),
        ("acme/gone", Err(Unusable::NoTeam)),
        ("acme/blind", Err(Unusable::NoAccess)),
        (
            "acme/closed",
            Err(Unusable::Unreadable("it needs members=read".to_owned())),
        ),
    ] {
        authority.teams.insert(team.parse().unwrap(), standing);
    }
    let with_access = PEOPLE
        .iter()
        .filter(|(_, permission)| *permission > Permission::None);
    Survey {
        repository: "acme/widgets".parse().unwrap(),
        authority,
        collaborators: Ok(with_access
            .map(|(login, permission)| (account(login), *permission))
            .collect()),
        codeowners: None,
        branches: Ok(["main", "release/1"].map(str::to_owned).into()),
        labels: Ok(["bug", "risky"].map(str::to_owned).into()),
        files: Ok(["src/billing/a.rs", "src/lib.rs"]
            .map(str::to_owned)
            .to_vec()),
        actions: None,
    }
}

/// `E line:column message` and `W …`, errors first, in the order of the report.
fn told(text: &str, survey: &Survey) -> Vec<String> {
    let source = Some(Source::new("loopgate.yml", text));
    let policy = load(None, source)
        .unwrap_or_else(|errors| panic!("{text}: {errors:?}"))
        .policy;
    let found = online(None, source, &policy, survey);
    let line = |word: char| {
        move |error: &ConfigError| {
            assert!(
                error.hint.as_ref().is_some_and(|hint| !hint.is_empty()),
                "{error} says not what to do"
            );
            format!("{word} {}:{} {}", error.line, error.column, error.message)
        }
    };
    found
        .errors
        .iter()
        .map(line('E'))
        .chain(found.warnings.iter().map(line('W')))
        .collect()
}

/// A gate of its own, opened by what is there, with these approvers; the presets are off.
fn gate(approvers: &str) -> String {
    format!(
        "gates:\n  architecture: off\n  database: off\n  external: off\n  deploy: off\n  security: off\n  \
         payments: {{ when: {{ paths: [\"src/billing/**\"] }}, approvers: {approvers} }}\n"
    )
}

#[test]
fn policies_that_keep_evidence_from_coming_are_named() {
    let told_of = |text: &str, allowed: AllowedActions, holds_outsiders| {
        told(
            text,
            &Survey {
                actions: Some(ActionsPolicy {
                    allowed,
                    holds_outsiders,
                    ..policy()
                }),
                ..survey()
            },
        )
    };
    let (run, other) = ("run: make", "from: { check: x, app: other-ci }");
    let text = |source: &str| {
        let gates = gate("{ users: [alice, bob] }");
        format!("verify:\n  checks:\n    unit: {{ kind: test, {source} }}\n{gates}")
    };
    let allowed_by = |patterns: &[&str], of_verified| {
        let patterns = patterns.iter().map(|&one| one.to_owned()).collect();
        AllowedActions::Selected(SelectedActions {
            patterns,
            of_verified,
        })
    };
    let patterns = |patterns: &[&str]| allowed_by(patterns, false);
    let selected = |pattern: &str| patterns(&[pattern, "actions/*"]);
    for (source, allowed, holds, expected) in [
        (run, AllowedActions::All, false, &[][..]),
        (other, AllowedActions::None, true, &[]),
        (
            "from: { check: x }",
            AllowedActions::None,
            true,
            &["W", "no `app:`"],
        ),
        (run, selected("acme/*"), false, &[]),
        (run, selected("loop/loopgate/action@*"), false, &[]),
        (run, AllowedActions::None, false, &["E", "switched off"]),
        (
            run,
            AllowedActions::Local,
            false,
            &["W", "actions of acme only"],
        ),
        (
            run,
            selected("acme/lint@v1"),
            false,
            &["W", "no pattern names Loopgate"],
        ),
        (
            run,
            patterns(&["acme/*"]),
            false,
            &["W", "none of GitHub's own actions"],
        ),
        (
            run,
            allowed_by(&["actions/*"], true),
            false,
            &[
                "W",
                "GitHub does not say whether who publishes it is verified",
            ],
        ),
        (
            run,
            allowed_by(&["acme/*"], true),
            false,
            &["W", "whether they are among the verified is not known"],
        ),
        (run, allowed_by(&["acme/*", "actions/*"], true), false, &[]),
        (run, AllowedActions::All, true, &["W", "Approve and run"]),
    ] {
        let said = told_of(&text(source), allowed.clone(), holds);
        match expected {
            [] => assert_eq!(said, [""; 0], "{source} {allowed:?}"),
            [kind, words] => {
                assert!(
                    said.len() == 1 && said[0].starts_with(kind) && said[0].contains(words),
                    "{allowed:?}: {said:?}"
                );
            }
            _ => unreachable!("none, or a kind and words"),
        }
    }
}

/// A policy that stops no workflow.
fn policy() -> ActionsPolicy {
    ActionsPolicy {
        allowed: AllowedActions::All,
        holds_outsiders: false,
        default_token: DefaultToken::Write,
        must_pin: false,
        is_public: false,
        uses: Vec::new(),
    }
}

#[test]
fn jobs_that_policies_keep_from_their_part_are_named() {
    let read = ActionsPolicy {
        default_token: DefaultToken::Read,
        ..policy()
    };
    let pinned = ActionsPolicy {
        must_pin: true,
        ..policy()
    };
    let public = ActionsPolicy {
        is_public: true,
        ..policy()
    };
    let job = ActionUse {
        file: ".github/workflows/loopgate.yml".into(),
        job: "reconcile".into(),
        by_default_token: false,
        unpinned: Vec::new(),
        is_target_only: false,
    };
    let by_default = ActionUse {
        by_default_token: true,
        ..job.clone()
    };
    let unpinned = ActionUse {
        unpinned: vec!["acme/loopgate/action@v1".into()],
        ..job.clone()
    };
    let target_only = ActionUse {
        is_target_only: true,
        ..job
    };
    let text = gate("{ users: [alice, bob] }");
    for (policy, found, expected) in [
        (
            &read,
            &by_default,
            Some(
                "W 1:1 the job `reconcile` of `.github/workflows/loopgate.yml` has no `permissions`",
            ),
        ),
        (
            &pinned,
            &unpinned,
            Some("E 1:1 acme/widgets runs only actions that are named by a whole commit"),
        ),
        (
            &public,
            &target_only,
            Some("W 1:1 only `pull_request_target` starts the job `reconcile`"),
        ),
        (&policy(), &by_default, None),
        (&read, &unpinned, None),
        (&pinned, &target_only, None),
    ] {
        let actions = Some(ActionsPolicy {
            uses: vec![found.clone()],
            ..policy.clone()
        });
        let said = told(
            &text,
            &Survey {
                actions,
                ..survey()
            },
        );
        assert_eq!(said.len(), usize::from(expected.is_some()), "{said:?}");
        assert!(
            said.iter()
                .all(|said| said.starts_with(expected.unwrap_or_default())),
            "{said:?}"
        );
    }
}

#[test]
fn approvers_that_are_not_what_they_seem() {
    for (approvers, expected) in [
        ("{ users: [alice, bob] }", &[][..]),
        ("{ teams: [acme/security] }", &[]),
        ("{ permission: write }", &[]),
        (
            "{ users: [alcie, bob, alice] }",
            &["E 7:73 `gates.payments.approvers.users[0]`: there is no account `alcie` on GitHub"],
        ),
        (
            "{ users: [stranger, alice, bob] }",
            &[
                "E 7:73 `gates.payments.approvers.users[0]`: `stranger` cannot see acme/widgets, so they can approve \
               nothing there",
            ],
        ),
        (
            "{ users: [reader, alice] }",
            &[
                "W 7:73 `gates.payments.approvers.users[0]`: `reader` has no write access to acme/widgets: their word \
               opens this gate, and GitHub counts no review of theirs where a branch requires one",
            ],
        ),
        (
            "{ users: \"acme-bot[bot]\" }",
            &[
                "E 7:52 `gates.payments`: no one can ever approve the gate `payments`: none of those named can",
                "E 7:72 `gates.payments.approvers.users`: `acme-bot[bot]` is a bot, and bots do not approve this gate",
            ],
        ),
        (
            "{ users: [acme, alice, bob] }",
            &[
                "E 7:73 `gates.payments.approvers.users[0]`: `acme` is an organisation, and only people approve",
            ],
        ),
        (
            "{ users: [alice] }",
            &[
                "W 7:52 `gates.payments`: only alice can approve the gate `payments`, and not on a pull request of their \
               own",
            ],
        ),
        (
            "{ teams: [acme/gone, acme/security] }",
            &[
                "E 7:73 `gates.payments.approvers.teams[0]`: there is no team `acme/gone`, or it is not shown to these \
               credentials",
            ],
        ),
        (
            "{ teams: [acme/blind, acme/security] }",
            &[
                "E 7:73 `gates.payments.approvers.teams[0]`: the team `acme/blind` cannot read acme/widgets, so its \
               members approve nothing there",
            ],
        ),
        (
            "{ teams: [acme/closed] }",
            &[
                "E 7:73 `gates.payments.approvers.teams[0]`: the members of `acme/closed` cannot be read, so none of them \
               can approve: it needs members=read",
            ],
        ),
        (
            "{ teams: [acme/empty] }",
            &[
                "E 7:52 `gates.payments`: no one can ever approve the gate `payments`: none of those named can",
                "W 7:73 `gates.payments.approvers.teams[0]`: the team `acme/empty` has no members",
            ],
        ),
        (
            "{ teams: [acme/security], count: 3 }",
            &[
                "E 7:89 `gates.payments.approvers`: the gate `payments` needs 3 people, and only alice and bob can \
               approve it",
            ],
        ),
        (
            "{ teams: [acme/security], count: 2 }",
            &[
                "W 7:89 `gates.payments.approvers`: the gate `payments` needs all of alice and bob, so a pull request by \
               one of them never passes",
            ],
        ),
        (
            "{ permission: maintain }",
            &[
                "W 7:52 `gates.payments`: only olga can approve the gate `payments`, and not on a pull request of their \
               own",
            ],
        ),
        (
            "{ codeowners: true }",
            &[
                "E 7:52 `gates.payments`: no one can ever approve the gate `payments`: no file has an owner who could",
                "E 7:65 `gates.payments.approvers`: acme/widgets has no CODEOWNERS file on its default branch",
            ],
        ),
    ] {
        assert_eq!(told(&gate(approvers), &survey()), expected, "{approvers}");
    }
}

#[test]
fn what_a_gate_allows_is_heeded() {
    let allowed =
        |approvers: &str, more: &str| told(&gate(&format!("{approvers}, {more}")), &survey());
    assert_eq!(
        allowed(
            "{ users: \"acme-bot[bot]\" }",
            "allow_bots: true, allow_author: true"
        ),
        [""; 0]
    );
    assert_eq!(allowed("{ users: [alice] }", "allow_author: true"), [""; 0]);
}

#[test]
fn in_doubt_nothing_is_said_to_be_impossible() {
    let mut unknown = survey();
    unknown.collaborators = Err("it needs metadata=read".to_owned());
    assert_eq!(told(&gate("{ permission: admin }"), &unknown), [""; 0]);
    unknown.authority.logins.insert(
        "alice".parse().unwrap(),
        Err(Unusable::Unknown("502".to_owned())),
    );
    assert_eq!(
        told(&gate("{ users: [alice] }"), &unknown),
        [
            "W 7:73 `gates.payments.approvers.users[0]`: GitHub did not say whether there is a `alice`: 502"
        ]
    );
}

#[test]
fn presets_that_hold_need_somebody_too() {
    let only_olga = "can approve the gate `deploy`, and not on a pull request of their own";
    let found = told("version: 1\nmode: hybrid\n", &survey());
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("W 1:1 ") && found[0].ends_with(only_olga),
        "{found:?}"
    );
    let mut deserted = survey();
    deserted.collaborators = Ok(vec![(account("alice"), Permission::Write)]);
    let found = told(
        "version: 1\ngates:\n  deploy: { allow_author: true }\n",
        &deserted,
    );
    assert_eq!(
        found,
        [
            "E 3:3 `gates`: no one can ever approve the gate `deploy`: no one may maintain the repository"
        ]
    );
}

#[test]
fn conditions_that_hold_for_nothing_there_is() {
    for (when, expected) in [
        ("{ labels: [risky] }", &[][..]),
        (
            "{ labels: [risk] }",
            &["W 7:32 `gates.payments.when.labels[0]`: acme/widgets has no label `risk`"],
        ),
        ("{ base_branch: [\"release/*\", main] }", &[]),
        (
            "{ base_branch: [master] }",
            &[
                "W 7:37 `gates.payments.when.base_branch[0]`: no branch of acme/widgets matches `master`",
            ],
        ),
        (
            "{ paths: [\"src/biling/**\"] }",
            &[
                "W 7:31 `gates.payments.when.paths[0]`: no file of acme/widgets matches `src/biling/**`",
            ],
        ),
        (
            "{ author: [nobody-at-all] }",
            &[
                "E 7:15 `gates.payments`: this can never hold, so the gate `payments` never opens",
                "E 7:32 `gates.payments.when.author[0]`: there is no account `nobody-at-all` on GitHub",
            ],
        ),
        (
            "{ not: { always: true } }",
            &["E 7:15 `gates.payments`: this can never hold, so the gate `payments` never opens"],
        ),
        (
            "{ all: [ { draft: true }, { not: { draft: true } } ] }",
            &["E 7:15 `gates.payments`: this can never hold, so the gate `payments` never opens"],
        ),
        (
            "{ any: [ { not: { always: true } }, { draft: true } ] }",
            &[],
        ),
        (
            "{ any: [ { always: true }, { draft: true } ] }",
            &[
                "W 7:15 `gates.payments`: `always` holds for every pull request, so the other conditions decide nothing",
            ],
        ),
    ] {
        let text = gate("{ users: [alice, bob] }").replace("{ paths: [\"src/billing/**\"] }", when);
        assert_eq!(told(&text, &survey()), expected, "{when}");
    }
}

#[test]
fn owners_that_are_not_there() {
    let owners = "* @alice @alcie\n/src/ @acme/gone dev@example.com # @why\n/docs/ @reader bob\n";
    let mut with_owners = survey();
    let path = ".github/CODEOWNERS".to_owned();
    with_owners.codeowners = Some(OwnersFile {
        path: path.clone(),
        text: owners.to_owned(),
    });
    let expected = [
        "1:10 there is no account `@alcie` on GitHub",
        "2:7 there is no team `@acme/gone`, or it is not shown to these credentials",
        "2:18 whose address `dev@example.com` is only GitHub knows, so it names no approver",
        "3:8 `@reader` cannot write to acme/widgets, and GitHub takes no such owner",
        "3:16 `bob` is no owner, so GitHub skips this line",
    ];
    for (approvers, word) in [
        ("{ codeowners: true }", 'E'),
        ("{ users: [alice, bob] }", 'W'),
    ] {
        let expected = expected.map(|line| format!("{word} {line}"));
        assert_eq!(told(&gate(approvers), &with_owners), expected);
    }
}

#[test]
fn who_is_called_must_be_there() {
    let escalation = "escalation: { notify: [acme/gone, alcie, acme/closed], ops: [acme/blind] }\nfixer: { kind: mention, mention: nobody-at-all }\n";
    let found = told(
        &format!("{}{escalation}", gate("{ users: [alice, bob] }")),
        &survey(),
    );
    assert_eq!(found.len(), 4, "{found:#?}");
    for (found, part) in found.iter().zip([
        "`acme/gone`",
        "`alcie`",
        "reaches no one",
        "`nobody-at-all`",
    ]) {
        assert!(found.starts_with('E') && found.contains(part), "{found}");
    }
}

#[test]
fn an_agent_that_answers_no_app_is_told() {
    let found = |agent: &str| {
        let fixer = format!("fixer: {{ kind: mention, mention: {agent} }}\n");
        told(
            &format!("{}{fixer}", gate("{ users: [alice, bob] }")),
            &survey(),
        )
    };
    for (agent, part) in [
        (
            "Copilot",
            "`Copilot` answers comments of people with write access only",
        ),
        (
            "claude",
            "`claude` answers a comment of an App only where its workflow names that App",
        ),
    ] {
        assert!(
            found(agent)
                .iter()
                .any(|line| line.starts_with('W') && line.contains(part)),
            "{:#?}",
            found(agent)
        );
    }
    assert!(
        !found("alice").iter().any(|line| line.contains("an App")),
        "{:#?}",
        found("alice")
    );
}

#[test]
fn the_organisations_words_are_pointed_at_in_its_own_file() {
    let organisation = Source::new(
        "acme/.github/loopgate.yml",
        "gates:\n  deploy: { approvers: { users: [alcie, bob, alice] } }\n",
    );
    let repository = Source::new(".github/loopgate.yml", "version: 1\n");
    let policy = load(Some(organisation), Some(repository)).unwrap().policy;
    let found = online(Some(organisation), Some(repository), &policy, &survey());
    let [error] = found.errors.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(
        (error.file.as_str(), error.line, error.column),
        ("acme/.github/loopgate.yml", 2, 34)
    );
    assert_eq!(error.hint.as_deref(), Some("did you mean `alice`?"));
}

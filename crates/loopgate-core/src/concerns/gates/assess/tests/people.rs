//! Who may approve.

use std::collections::{BTreeMap, BTreeSet};

use super::super::world::*;
use crate::{
    concerns::gates::{Refusal, UnusableApprover, WordOutcome},
    ids::{AppId, UserId},
    observed::{
        AccountKind, Assigner, Assignment, Assignments, Commit, Permission, Push, PushContent,
        Standing, Unusable, Writer,
    },
};

fn commit(by: &str, message: &str) -> Commit {
    Commit {
        sha: sha(3),
        message: message.into(),
        author: Some(account(by)),
        committer: Some(account(by)),
        author_email: format!("{by}@example.com"),
        committer_email: format!("{by}@example.com"),
        update_merge: false,
    }
}

#[test]
fn an_approver_approves() {
    let mut world = World::new();
    world.comment(
        "alice",
        "Looks good.\n\n**Security approved** 🎉\n\nThanks!",
    );
    assert!(world.is_approved());
    let report = world.report();
    assert_eq!(report.approvals[0].by, login("alice"));
    assert_eq!(report.approvals[0].head, sha(1));
}

#[test]
fn the_author_does_not_approve_their_own_pull_request() {
    let mut world = World::new();
    world.gate().approvers.users.insert(login("author"));
    world.comment("author", "security approved");
    assert_eq!(world.refusal(), Refusal::IsAuthor { only_hope: false });
    world.gate().exclusions.allow_author = true;
    assert!(world.is_approved());
}

#[test]
fn an_author_who_is_the_only_hope_is_told_so() {
    let mut world = World::new();
    world.gate().approvers.users = BTreeSet::from([login("author")]);
    world.comment("author", "security approved");
    assert_eq!(world.refusal(), Refusal::IsAuthor { only_hope: true });
    // On a person's own repository, only the owner has permission maintain.
    world.gate().approvers.users.clear();
    assert_eq!(world.refusal(), Refusal::IsAuthor { only_hope: false });
    world.snapshot.repository = "author/widgets".parse().unwrap();
    assert_eq!(world.refusal(), Refusal::IsAuthor { only_hope: true });
    // The request can say so before anybody has tried.
    world.snapshot.comments.items.clear();
    assert!(world.report().eligible.only_hope);
    world.gate().exclusions.allow_author = true;
    assert!(!world.report().eligible.only_hope);
}

/// An entry of those who may write.
fn writer((login, permission): (&str, Permission)) -> (UserId, Writer) {
    let account = account(login);
    let writer = Writer {
        account: account.clone(),
        permission,
    };
    (account.id, writer)
}

#[test]
fn an_author_who_alone_has_the_permission_is_the_only_hope() {
    let mut world = World::new();
    world.gate().approvers.users.clear();
    let (author, alice) = ("author", "alice");
    for (writers, only_hope) in [
        (vec![(author, Permission::Admin)], true),
        (
            vec![(author, Permission::Maintain), (alice, Permission::Write)],
            true,
        ),
        (
            vec![(author, Permission::Admin), (alice, Permission::Maintain)],
            false,
        ),
        (vec![(author, Permission::Write)], false),
        (vec![(alice, Permission::Write)], false),
    ] {
        world.snapshot.authority.writers = Some(writers.iter().copied().map(writer).collect());
        let said = world.report().eligible.only_hope;
        assert_eq!(said, only_hope, "{writers:?}");
    }
    // Who has the right and wrote a part of the change may not approve it either.
    let both = [(author, Permission::Admin), (alice, Permission::Admin)];
    world.snapshot.authority.writers = Some(both.into_iter().map(writer).collect());
    world
        .snapshot
        .commits
        .items
        .push(commit("alice", "feat: more"));
    assert!(world.report().eligible.only_hope);
}

#[test]
fn a_few_who_may_by_their_permission_are_named() {
    let named = |maintainers: &[&str]| {
        let mut world = World::new();
        world.gate().approvers.users.clear();
        let maintainers = maintainers
            .iter()
            .map(|login| writer((login, Permission::Admin)));
        let others = [writer(("dan", Permission::Write))];
        world.snapshot.authority.writers = Some(maintainers.chain(others).collect());
        world.report().eligible.by_right
    };
    // The author is one of two who own it.
    assert_eq!(named(&["author", "bob"]), BTreeSet::from([login("bob")]));
    assert_eq!(named(&["author"]), BTreeSet::new());
    assert_eq!(named(&["bob", "carol", "erin"]).len(), 3);
    assert_eq!(
        named(&["bob", "carol", "erin", "maintainer"]),
        BTreeSet::new()
    );
}

#[test]
fn a_committer_does_not_approve() {
    let mut world = World::new();
    world.snapshot.commits.items.push(commit("alice", "Mend"));
    world.comment("alice", "security approved");
    assert_eq!(world.refusal(), Refusal::IsContributor);
    world.gate().exclusions.allow_contributors = true;
    assert!(world.is_approved());
}

#[test]
fn the_person_who_asked_a_coding_agent_does_not_approve() {
    let assigned = |by, at| Assignment {
        whom: account("alice"),
        by,
        at: minute(at),
    };
    // Assigned by the agent whenever, by anybody at the opening, by themselves later; not by somebody else later.
    let table = [
        (vec![], true),
        (vec![assigned(Assigner::Agent, 30)], false),
        (vec![assigned(Assigner::Other, 0)], false),
        (vec![assigned(Assigner::Themselves, 30)], false),
        (vec![assigned(Assigner::Other, 30)], true),
    ];
    for (assignments, approves) in table {
        let mut world = World::new();
        world.snapshot.pull_request.created_at = minute(0);
        world.snapshot.assignments = Assignments::Read(assignments.clone());
        world.comment("alice", "security approved");
        assert_eq!(world.is_approved(), approves, "{assignments:?}");
        if !approves {
            assert_eq!(world.refusal(), Refusal::IsRequester, "{assignments:?}");
            assert!(!world.report().eligible.people.contains(&login("alice")));
            world.gate().exclusions.allow_requester = true;
            assert!(world.is_approved(), "{assignments:?}");
        }
    }
    // Named by the agent: also where contributors may approve.
    let mut world = World::new();
    world.snapshot.assignments = Assignments::Read(Vec::new());
    (
        world.gate().exclusions.allow_contributors,
        world.gate().exclusions.allow_coauthors,
    ) = (true, true);
    let trailer = format!(
        "Mend\n\nCo-authored-by: A <{}+alice@users.noreply.github.com>",
        account("alice").id
    );
    world
        .snapshot
        .commits
        .items
        .push(commit("author", &trailer));
    world.comment("alice", "security approved");
    assert!(world.is_approved(), "a person's co-author");
    let theirs = world.snapshot.commits.items.last_mut().expect("a commit");
    theirs.author = Some(account("Copilot[bot]"));
    assert_eq!(world.refusal(), Refusal::IsRequester);
    // No approval counts while the requester is unknown.
    world.snapshot.assignments = Assignments::Unread("403".into());
    assert_eq!(
        world.refusal(),
        Refusal::AuthorityUnknown {
            reason: "403".into()
        }
    );
}

#[test]
fn a_co_author_by_trailer_does_not_approve() {
    let mut world = World::new();
    let id = account("alice").id;
    let trailer = format!("Mend\n\nCo-authored-by: A <{id}+renamed@users.noreply.github.com>");
    world
        .snapshot
        .commits
        .items
        .push(commit("author", &trailer));
    world.comment("alice", "security approved");
    assert_eq!(world.refusal(), Refusal::IsCoAuthor);
    world.gate().exclusions.allow_coauthors = true;
    assert!(world.is_approved());
}

#[test]
fn a_co_author_by_any_address_of_theirs_does_not_approve() {
    let mut world = World::new();
    world.snapshot.commits.items.push(commit(
        "author",
        "Mend\n\nCo-authored-by: A <Alice@Work.example>",
    ));
    world.comment("alice", "security approved");
    assert!(world.is_approved(), "the address is nobody's");
    world
        .snapshot
        .makers
        .addresses
        .insert("alice@work.example".into(), account("alice"));
    assert_eq!(world.refusal(), Refusal::IsCoAuthor);
    // Suggestions in files that are not the gate's make no co-author of it.
    let suggested = |path: &str| BTreeMap::from([(sha(3), BTreeSet::from([path.to_owned()]))]);
    world.snapshot.makers.suggestions = suggested("docs/login.md");
    assert!(world.is_approved());
    world.snapshot.makers.suggestions = suggested("src/auth/login.rs");
    assert_eq!(world.refusal(), Refusal::IsCoAuthor);
}

#[test]
fn the_pusher_does_not_approve_unless_it_was_a_merge_or_a_rebase() {
    let pushed = |content| {
        vec![Push {
            by: account("alice"),
            content,
        }]
    };
    let mut world = World::new();
    world.comment("alice", "security approved");
    world.snapshot.makers.pushes = pushed(PushContent::Merged);
    // A rebase makes its pusher the committer.
    world.snapshot.commits.items[0].committer = Some(account("alice"));
    assert!(world.is_approved());
    world.gate().exclusions.count_update_merges = true;
    assert_eq!(world.refusal(), Refusal::IsContributor);
    world.gate().exclusions.count_update_merges = false;
    world.snapshot.makers.pushes = pushed(PushContent::Own);
    assert_eq!(world.refusal(), Refusal::IsContributor);
    world.snapshot.commits.items[0].committer = Some(account("author"));
    assert_eq!(world.refusal(), Refusal::IsPusher);
    let eligible = world.report().eligible;
    assert!(!eligible.people.contains(&login("alice")));
    assert_eq!(
        eligible.fell_out,
        BTreeMap::from([(login("alice"), Refusal::IsPusher)])
    );
    world.gate().exclusions.allow_pusher = true;
    assert!(world.is_approved());
}

#[test]
fn an_unknown_commit_author_is_a_contributor_nobody_can_name() {
    let mut world = World::new();
    world.snapshot.commits.items.push(Commit {
        author: None,
        ..commit("author", "x")
    });
    world.snapshot.commits.items[1].author_email = "ghost@example.net".into();
    world.comment("alice", "security approved");
    assert!(
        world.is_approved(),
        "it counts as its pusher's, who is known"
    );
    assert_eq!(world.report().eligible.unattributed, [sha(3)]);
    world.snapshot.makers.has_unknown_pusher = true;
    assert_eq!(world.refusal(), Refusal::PusherUnknown);
    world.comment("alice", &format!("security approved {}", sha(1)));
    assert!(world.is_approved());
}

#[test]
fn web_flow_is_ignored() {
    let mut world = World::new();
    let mut by_web = commit("author", "Merge");
    by_web.committer = Some(account("web-flow"));
    world.snapshot.commits.items.push(by_web);
    world.comment("alice", "security approved");
    assert!(world.is_approved() && world.report().eligible.unattributed.is_empty());
}

#[test]
fn commits_that_could_not_all_be_read_close() {
    let mut world = World::new();
    world.snapshot.commits.is_complete = false;
    world.comment("alice", "security approved");
    assert_eq!(
        world.refusal(),
        Refusal::NotAllRead {
            what: "the commits".into()
        }
    );
}

#[test]
fn a_bot_does_not_approve() {
    let mut world = World::new();
    for bot in ["helper[bot]", "github-actions[bot]"] {
        world.knows(bot, Permission::Admin);
        world.gate().approvers.users.insert(login(bot));
        world.comment(bot, "security approved");
        assert_eq!(world.refusal(), Refusal::IsBot, "{bot}");
    }
    // Every workflow speaks as github-actions: it stays excluded.
    world.gate().exclusions.allow_bots = true;
    assert_eq!(world.refusal(), Refusal::IsBot);
    world.comment("helper[bot]", "security approved");
    assert!(world.is_approved());
}

#[test]
fn loopgates_own_words_are_nobodys() {
    let mut world = World::new();
    world.knows("loopgate[bot]", Permission::Admin);
    world.gate().approvers.users.insert(login("loopgate[bot]"));
    world.gate().exclusions.allow_bots = true;
    world.comment("loopgate[bot]", "To approve, write:\n\nsecurity approved");
    assert!(world.report().considered.is_empty() && !world.is_approved());
}

#[test]
fn a_persons_word_through_an_app_is_not_their_own() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    world.last_comment().via_app = Some(AppId::new(55));
    assert_eq!(world.refusal(), Refusal::ViaApp);
}

#[test]
fn an_outsider_does_not_approve() {
    let mut world = World::new();
    world.comment("outsider", "security approved");
    assert_eq!(world.refusal(), Refusal::NotAnApprover);
    world.comment("maintainer", "security approved");
    assert_eq!(world.refusal(), Refusal::NotAnApprover);
}

#[test]
fn unset_means_permission_maintain() {
    let mut world = World::new();
    world.gate().approvers.users.clear();
    world.comment("alice", "security approved");
    assert_eq!(world.refusal(), Refusal::NotAnApprover);
    world.comment("maintainer", "security approved");
    assert!(world.is_approved());
    assert_eq!(
        world.report().eligible.permission,
        Some(Permission::Maintain)
    );
}

#[test]
fn a_preset_team_counts_only_if_it_is_usable() {
    let mut world = World::new();
    world.gate().approvers.users.clear();
    world.gate().approvers.preset_team = Some("security".into());
    world.comment("maintainer", "security approved");
    // Not looked up: the gate stays closed.
    assert!(matches!(world.refusal(), Refusal::AuthorityUnknown { .. }));
    let team = "acme/security".parse().unwrap();
    for (standing, approved) in [
        (Err(Unusable::Unknown("503".into())), false),
        (Err(Unusable::NoTeam), true),
        (Err(Unusable::NoAccess), true),
        (
            Err(Unusable::Unreadable("it needs members=read".into())),
            true,
        ),
    ] {
        world
            .snapshot
            .authority
            .teams
            .insert(std::clone::Clone::clone(&team), standing);
        assert_eq!(world.is_approved(), approved);
    }
    let why = Unusable::Unreadable("it needs members=read".into());
    let absent = UnusableApprover {
        name: team.to_string(),
        why,
    };
    assert_eq!(world.report().eligible.absent_preset_team, Some(absent));
    world.team("acme/security", &["carol"]);
    assert_eq!(world.refusal(), Refusal::NotAnApprover);
    world.comment("carol", "security approved");
    assert!(world.is_approved());
}

#[test]
fn members_of_nested_teams_approve() {
    let mut world = World::new();
    world.gate().approvers.users.clear();
    world.gate().approvers.teams = BTreeSet::from(["acme/sec".parse().unwrap()]);
    world.team("acme/sec", &[]);
    // GitHub says carol belongs to it through a child team.
    let teams = BTreeSet::from(["acme/sec".parse().unwrap()]);
    let standing = Standing::Known {
        permission: Permission::Read,
        teams,
    };
    world
        .snapshot
        .authority
        .people
        .insert(account("carol").id, standing);
    world.comment("carol", "security approved");
    assert!(world.is_approved());
}

#[test]
fn leaving_the_team_withdraws_the_approval() {
    let mut world = World::new();
    world.gate().approvers.users.clear();
    world.gate().approvers.teams = BTreeSet::from(["acme/sec".parse().unwrap()]);
    world.team("acme/sec", &["alice"]);
    world.comment("alice", "security approved");
    assert!(world.is_approved());
    world.team("acme/sec", &["bob"]);
    assert_eq!(world.refusal(), Refusal::NotAnApprover);
}

#[test]
fn a_secret_or_missing_team_is_reported_and_approves_nothing() {
    let mut world = World::new();
    world.gate().approvers.users.clear();
    world.gate().approvers.teams = BTreeSet::from(["acme/secret".parse().unwrap()]);
    world
        .snapshot
        .authority
        .teams
        .insert("acme/secret".parse().unwrap(), Err(Unusable::NoTeam));
    world.comment("alice", "security approved");
    assert_eq!(world.refusal(), Refusal::NotAnApprover);
    assert_eq!(world.report().eligible.unusable[0].name, "acme/secret");
}

#[test]
fn a_configured_team_that_cannot_be_read_keeps_its_gate_closed() {
    let mut world = World::new();
    world.gate().approvers.users.clear();
    world.gate().approvers.teams = BTreeSet::from(["acme/sec".parse().unwrap()]);
    let standing = Err(Unusable::Unreadable("it needs members=read".into()));
    world
        .snapshot
        .authority
        .teams
        .insert("acme/sec".parse().unwrap(), standing);
    for who in ["alice", "maintainer"] {
        world.comment(who, "security approved");
        assert!(
            matches!(world.refusal(), Refusal::AuthorityUnknown { .. }),
            "{who}"
        );
    }
    assert_eq!(
        world.report().eligible.unusable[0].why,
        Unusable::Unreadable("it needs members=read".to_owned())
    );
}

#[test]
fn ids_are_compared_not_logins() {
    let mut world = World::new();
    // Alice was renamed, and somebody else took her login: the policy's `alice` is now that account.
    let mut impostor = account("alice");
    impostor.id = UserId::new(4711);
    world
        .snapshot
        .authority
        .logins
        .insert(login("alice"), Ok(impostor));
    world.comment("alice", "security approved");
    assert_eq!(world.refusal(), Refusal::NotAnApprover);
    // Under a new name she is who she was, if the policy's login still leads to her.
    world.knows("alice", Permission::Write);
    world.last_comment().author.login = login("alice-new");
    assert!(world.is_approved());
}

#[test]
fn a_failed_look_up_stays_closed() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    let id = account("alice").id;
    world
        .snapshot
        .authority
        .people
        .insert(id, Standing::Unknown("502 from GitHub".into()));
    assert_eq!(
        world.refusal(),
        Refusal::AuthorityUnknown {
            reason: "502 from GitHub".into()
        }
    );
    world.snapshot.authority.people.remove(&id);
    assert!(matches!(world.refusal(), Refusal::AuthorityUnknown { .. }));
    world.snapshot.authority.people.insert(id, Standing::Gone);
    assert_eq!(world.refusal(), Refusal::AccountGone);
}

#[test]
fn a_deleted_accounts_placeholder_is_no_approver() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    world.last_comment().author.kind = AccountKind::Other;
    assert_eq!(world.refusal(), Refusal::AccountGone);
}

#[test]
fn two_distinct_people_are_needed_when_the_count_says_so() {
    let mut world = World::new();
    world.gate().approvers.count = 2;
    let first = world.comment("alice", "security approved");
    world.comment("alice", "security approved");
    assert!(!world.is_approved());
    assert_eq!(world.outcome_of(first), WordOutcome::Superseded);
    world.comment("bob", "security approved");
    assert!(world.is_approved());
    assert_eq!(world.report().approvals.len(), 2);
}

#[test]
fn an_outside_collaborator_with_the_permission_approves() {
    let mut world = World::new();
    world.gate().approvers.users.clear();
    world.gate().approvers.permission = Some(Permission::Write);
    world.knows("outsider", Permission::Write);
    world.comment("outsider", "security approved");
    assert!(world.is_approved());
}

#[test]
fn owners_of_the_triggering_files_approve_their_files() {
    let mut world = World::new();
    world.gate().approvers.users.clear();
    world.gate().approvers.codeowners = true;
    world.snapshot.codeowners =
        Some("* @dan\n/src/auth/ @alice\n/src/auth/keys/ @acme/keys keys@example.com".into());
    world.team("acme/keys", &["bob"]);
    world.snapshot.files = crate::observed::ChangedFiles::Complete(vec![
        auth_file("let a = 1;"),
        file("src/auth/keys/a.rs", "@@ -1 +1 @@\n+x"),
    ]);
    world.reconcile();
    world.comment("dan", "security approved");
    assert_eq!(world.refusal(), Refusal::NotAnApprover);
    world.clock += 3;
    world.comment("alice", "security approved");
    assert!(!world.is_approved());
    assert_eq!(
        world.report().awaiting_owners,
        BTreeSet::from(["src/auth/keys/a.rs".to_owned()])
    );
    world.comment("bob", "security approved");
    assert!(world.is_approved());
    let names: Vec<_> = world
        .report()
        .eligible
        .unusable
        .into_iter()
        .map(|unusable| unusable.name)
        .collect();
    assert_eq!(names, ["keys@example.com"]);
}

#[test]
fn a_person_who_only_merged_the_base_may_approve() {
    for (update_merge, setting, may) in [
        (true, false, true),
        (true, true, false),
        (false, false, false),
    ] {
        let mut world = World::new();
        world.gate().exclusions.count_update_merges = setting;
        let merge = Commit {
            update_merge,
            ..commit("alice", "Merge branch 'main' into feature")
        };
        world.snapshot.commits.items.push(merge);
        world.comment("alice", "security approved");
        assert_eq!(world.is_approved(), may, "{update_merge} {setting:?}");
    }
}

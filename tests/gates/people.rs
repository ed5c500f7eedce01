//! Who says it.

use loopgate_core::{
    AppId, TeamSlug, UserId,
    observed::{AccountKind, Permission, ReviewVerdict, Standing, Unusable},
};

use crate::kit::*;

const TEAM: &str = "\
version: 1
gates:
  architecture: off
  database: off
  external: off
  deploy: off
  security: { when: { paths: [\"src/auth/**\"] }, approvers: { teams: [acme/sec] } }
";

#[test]
fn an_approver_approves() {
    let mut talk = Talk::opened();
    talk.says(
        "alice",
        "Looks good.\n\n**Security approved** 🎉\n\nThanks!",
    );
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
}

#[test]
fn the_author_approves_their_own_pull_request() {
    let mut talk = Talk::under(&CONFIG.replace("[alice, bob]", "[author, alice]"));
    talk.says("author", "security approved");
    talk.is(
        Closed,
        "😕 author’s comment does not count: author wrote this pull request. Somebody else decides: alice.",
    );
    // Where nobody else could, the way out is named.
    let mut talk = Talk::under(&CONFIG.replace("[alice, bob]", "[author]"));
    talk.says("author", "security approved");
    talk.is(
        Closed,
        "😕 author’s comment does not count: author wrote this pull request, and nobody else could approve it. To \
         let authors approve this gate, set `gates.security.allow_author: true` in the configuration on the base \
         branch.",
    );
}

#[test]
fn a_co_author_by_trailer_approves() {
    let mut talk = Talk::opened();
    talk.commits(
        Some("author"),
        Some("author"),
        "Mend\n\nCo-authored-by: A <2+alice@users.noreply.github.com>",
    );
    talk.says("alice", "security approved");
    talk.is(
        Closed,
        "😕 alice’s comment does not count: alice is named as co-author of a commit of this pull request. Somebody \
         else decides: bob. To let such people approve this gate, set `gates.security.allow_coauthors: true` in the \
         configuration on the base branch.",
    );
}

#[test]
fn a_committer_approves() {
    let mut talk = Talk::opened();
    talk.commits(Some("author"), Some("alice"), "Mend");
    talk.says("alice", "security approved");
    talk.is(
        Closed,
        "😕 alice’s comment does not count: alice wrote or committed part of this pull request. Somebody else \
         decides: bob.",
    );
}

#[test]
fn an_unknown_commit_author_is_a_contributor_and_not_ignored() {
    let mut talk = Talk::opened();
    talk.commits(None, Some("author"), "Mend").look();
    talk.is(
        Closed,
        "⚠️ GitHub does not know who wrote `03030303`. It counts as its pusher’s.",
    );
}

#[test]
fn web_flow_is_ignored() {
    let mut talk = Talk::opened();
    talk.commits(Some("author"), Some("web-flow"), "Merge branch 'main'");
    talk.says("alice", "security approved");
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
}

#[test]
fn a_bot_says_the_words() {
    let mut talk =
        Talk::under(&CONFIG.replace("[alice, bob]", "[\"helper[bot]\", \"github-actions[bot]\"]"));
    talk.knows("helper[bot]", Permission::Admin)
        .knows("github-actions[bot]", Permission::Admin);
    talk.says("helper[bot]", "security approved")
        .says("github-actions[bot]", "security approved");
    talk.is(
        Closed,
        "😕 github-actions\\[bot\\]’s comment does not count: github-actions\\[bot\\] is a bot, and only people \
         approve: no one who could be found.\n\
         😕 helper\\[bot\\]’s comment does not count: helper\\[bot\\] is a bot, and only people approve: no one who \
         could be found.",
    );
    assert_eq!(talk.reaction(), None, "two bots might never stop");
    // Every workflow speaks as github-actions: allowing bots does not allow it.
    talk.policy
        .gates
        .values_mut()
        .for_each(|gate| gate.exclusions.allow_bots = true);
    talk.look();
    talk.is(
        Approved,
        "✅ **security** approved by helper\\[bot\\] on `01010101`.\n\
         😕 github-actions\\[bot\\]’s comment does not count: github-actions\\[bot\\] is a bot, and only people \
         approve: helper\\[bot\\].",
    );
}

#[test]
fn a_person_says_the_words_through_an_app() {
    let mut talk = Talk::opened();
    talk.writes("alice", "security approved");
    talk.comment().via_app = Some(AppId::new(55));
    talk.look();
    talk.is(
        Closed,
        "😕 alice’s comment does not count: it was written through an App. alice has to write it on GitHub’s own \
         page.",
    );
}

#[test]
fn loopgates_own_help_text_says_the_words() {
    let mut talk = Talk::opened();
    talk.says(
        "loopgate[bot]",
        "To approve, write this in a comment:\n\nsecurity approved",
    );
    talk.is(Closed, "");
}

#[test]
fn somebody_else_approves() {
    let mut talk = Talk::opened();
    talk.says("outsider", "security approved")
        .says("maintainer", "security approved");
    talk.is(
        Closed,
        "😕 maintainer’s comment does not count: maintainer is not an approver of this gate. It opens for alice or \
         bob.\n\
         😕 outsider’s comment does not count: outsider is not an approver of this gate. It opens for alice or bob.",
    );
}

#[test]
fn an_approver_was_removed_from_the_team() {
    let mut talk = Talk::under(TEAM);
    talk.team("acme/sec", &["alice"])
        .says("alice", "security approved");
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
    talk.team("acme/sec", &["bob"]).look();
    talk.is(
        Closed,
        "😕 alice’s comment does not count: alice is not an approver of this gate. It opens for a member of team acme/sec.",
    );
}

#[test]
fn a_member_of_a_nested_team_approves() {
    let mut talk = Talk::under(TEAM);
    talk.team("acme/sec", &[]);
    // GitHub lists carol among the members of the team's child.
    let teams = ["acme/sec".parse::<TeamSlug>().unwrap()].into();
    let standing = Standing::Known {
        permission: Permission::Read,
        teams,
    };
    talk.snapshot
        .authority
        .people
        .insert(account("carol").id, standing);
    talk.says("carol", "security approved");
    talk.is(Approved, "✅ **security** approved by carol on `01010101`.");
}

#[test]
fn a_secret_or_invisible_team() {
    let mut talk = Talk::under(TEAM);
    talk.standing("acme/sec", Err(Unusable::NoTeam))
        .says("alice", "security approved");
    talk.is(
        Closed,
        "⚠️ `acme/sec` cannot approve: there is no such team, or it is secret.\n\
         😕 alice’s comment does not count: alice is not an approver of this gate. It opens for no one who could be \
         found.",
    );
    talk.standing("acme/sec", Err(Unusable::NoAccess)).look();
    talk.is(
        Closed,
        "⚠️ `acme/sec` cannot approve: the team cannot read this repository.\n\
         😕 alice’s comment does not count: alice is not an approver of this gate. It opens for no one who could be \
         found.",
    );
}

#[test]
fn missing_members_permission() {
    let unreadable = || {
        Err(Unusable::Unreadable(
            "Resource not accessible by integration".into(),
        ))
    };
    let mut talk = Talk::under(TEAM);
    talk.standing("acme/sec", unreadable())
        .says("alice", "security approved");
    talk.is(
        Closed,
        "⚠️ `acme/sec` cannot approve: Resource not accessible by integration.\n\
         😕 alice’s comment does not count: GitHub did not say whether alice may approve (acme/sec: Resource not \
         accessible by integration). Loopgate asks again by itself.",
    );
    // A preset's team that may never be read is one that is not there.
    let mut talk = Talk::under("version: 1\ngates: { deploy: off }\n");
    for team in ["security", "tech-leads", "dba"] {
        talk.standing(&format!("acme/{team}"), unreadable());
    }
    talk.look();
    talk.is(Closed, "");
    let missing = "⚠️ Loopgate may not read who is in the team `acme/security` (Resource not accessible by integration), \
                   so people with maintain access stand in for it.";
    assert!(talk.details().contains(missing), "{}", talk.details());
    talk.says("maintainer", "security approved");
    talk.is(
        Approved,
        "✅ **security** approved by maintainer on `01010101`.",
    );
    // One that is not here, and one that cannot read the repository, are named as such.
    for (standing, why) in [
        (
            Err(Unusable::NoTeam),
            "There is no team `acme/security` that Loopgate could ask",
        ),
        (
            Err(Unusable::NoAccess),
            "The team `acme/security` cannot read this repository",
        ),
    ] {
        let mut talk = Talk::under("version: 1\ngates: { deploy: off }\n");
        talk.standing("acme/security", standing).look();
        talk.is(Closed, "");
        let missing = format!("⚠️ {why}, so people with maintain access stand in for it.");
        assert!(talk.details().contains(&missing), "{}", talk.details());
    }
    // What GitHub does not answer for the moment hands the gate to nobody else, and says so.
    let mut talk = Talk::under("version: 1\ngates: { deploy: off }\n");
    talk.standing(
        "acme/security",
        Err(Unusable::Unknown("GitHub did not answer (503)".into())),
    );
    talk.says("maintainer", "security approved");
    talk.is(
        Closed,
        "⚠️ `acme/security` cannot approve: GitHub did not answer (503).\n\
         😕 maintainer’s comment does not count: GitHub did not say whether maintainer may approve (acme/security: \
         GitHub did not answer (503)). Loopgate asks again by itself.",
    );
}

#[test]
fn a_team_was_renamed() {
    // The old name leads nowhere: the configuration must be mended, and until then nobody approves by it.
    let mut talk = Talk::under(TEAM);
    talk.standing("acme/sec", Err(Unusable::NoTeam))
        .team("acme/security-guild", &["alice"]);
    talk.says("alice", "security approved");
    talk.is(
        Closed,
        "⚠️ `acme/sec` cannot approve: there is no such team, or it is secret.\n\
         😕 alice’s comment does not count: alice is not an approver of this gate. It opens for no one who could be \
         found.",
    );
}

#[test]
fn a_user_was_renamed_and_the_login_taken_over_by_somebody_else() {
    let mut talk = Talk::opened();
    talk.says("alice", "security approved");
    // Alice is alice-new by now, and somebody registered the login that the configuration names.
    let mut impostor = account("alice");
    impostor.id = UserId::new(4711);
    let standing = Standing::Known {
        permission: Permission::Read,
        teams: Default::default(),
    };
    talk.snapshot.authority.people.insert(impostor.id, standing);
    talk.snapshot
        .authority
        .logins
        .insert(login("alice"), Ok(impostor.clone()));
    talk.comment().author.login = login("alice-new");
    talk.look();
    talk.is(
        Closed,
        "😕 alice-new’s comment does not count: alice-new is not an approver of this gate. It opens for alice or bob.",
    );
}

#[test]
fn a_login_in_another_case_is_the_same_login() {
    let mut talk = Talk::under(&CONFIG.replace("[alice, bob]", "[ALICE]"));
    talk.says("alice", "security approved");
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
}

#[test]
fn an_outside_collaborator() {
    let mut talk = Talk::under(&CONFIG.replace("{ users: [alice, bob] }", "{ permission: write }"));
    talk.says("outsider", "security approved");
    talk.is(
        Closed,
        "😕 outsider’s comment does not count: outsider is not an approver of this gate. It opens for anyone with \
         write access.",
    );
    talk.knows("outsider", Permission::Write).look();
    talk.is(
        Approved,
        "✅ **security** approved by outsider on `01010101`.",
    );
}

#[test]
fn a_look_up_that_fails_stays_closed() {
    let mut talk = Talk::opened();
    let bob = account("alice").id;
    talk.snapshot
        .authority
        .people
        .insert(bob, Standing::Unknown("GitHub did not answer (502)".into()));
    talk.says("alice", "security approved");
    talk.is(
        Closed,
        "😕 alice’s comment does not count: GitHub did not say whether alice may approve (GitHub did not answer \
         (502)). Loopgate asks again by itself.",
    );
    let mut talk = Talk::under(TEAM);
    talk.standing(
        "acme/sec",
        Err(Unusable::Unknown("GitHub did not answer (503)".into())),
    );
    talk.says("alice", "security approved");
    talk.is(
        Closed,
        "⚠️ `acme/sec` cannot approve: GitHub did not answer (503).\n\
         😕 alice’s comment does not count: GitHub did not say whether alice may approve (acme/sec: GitHub did not \
         answer (503)). Loopgate asks again by itself.",
    );
}

#[test]
fn a_deleted_account_approved() {
    let mut talk = Talk::opened();
    talk.writes("alice", "security approved");
    talk.comment().author.kind = AccountKind::Other;
    talk.look();
    talk.is(
        Closed,
        "😕 alice’s comment does not count: the account alice is suspended or gone. The gate opens for alice or bob.",
    );
}

#[test]
fn two_people_are_needed() {
    let mut talk = Talk::under(&CONFIG.replace(
        "users: [alice, bob]",
        "users: [alice, bob, carol], count: 2",
    ));
    talk.says("alice", "security approved")
        .says("alice", "security approved");
    talk.is(Closed, "");
    talk.says("bob", "security approved");
    talk.is(
        Approved,
        "✅ **security** approved by alice on `01010101` and bob on `01010101`.",
    );
}

#[test]
fn owners_of_the_files_approve_their_own() {
    let mut snapshot = snapshot();
    snapshot.codeowners =
        Some("* @dan\n/src/auth/ @alice\n/src/auth/keys/ @bob keys@example.com\n".into());
    let mut talk = Talk::on(
        &CONFIG.replace("{ users: [alice, bob] }", "{ codeowners: true }"),
        snapshot,
    );
    let keys = file("src/auth/keys/a.rs", "@@ -1 +1 @@\n+x");
    talk.pushes_files(2, vec![auth_file("let a = 1;"), keys]);
    talk.says("dan", "security approved")
        .says("alice", "security approved");
    talk.is(
        Closed,
        "⚠️ Their owners have not approved yet: `src/auth/keys/a.rs`.\n\
         ⚠️ `keys@example.com` cannot approve: an e-mail address in CODEOWNERS names no account.\n\
         😕 dan’s comment does not count: dan is not an approver of this gate. It opens for alice or bob.",
    );
    talk.says("bob", "security approved");
    talk.is(
        Approved,
        "✅ **security** approved by alice on `02020202` and bob on `02020202`.\n\
         😕 dan’s comment does not count: dan is not an approver of this gate. It opens for alice or bob.",
    );
}

#[test]
fn a_review_of_an_approver_counts_where_reviews_do() {
    let mut talk = Talk::under(&CONFIG.replace("approvers:", "approve_by: [review], approvers:"));
    talk.reviews("outsider", ReviewVerdict::Approved, "")
        .reviews("alice", ReviewVerdict::Approved, "fine");
    talk.is(
        Approved,
        "✅ **security** approved by alice on `01010101`.\n\
         😕 outsider’s review does not count: outsider is not an approver of this gate. It opens for alice or bob.",
    );
}

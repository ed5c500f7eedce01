//! Accounts, teams and memberships.

use serde_json::{Map, Value, json};

use super::{node_id, time};
use crate::world::{
    World,
    account::{Account, OrgRole, Role, Standing, Team},
    repo::Repo,
};
use loopgate_core::UserId;

/// `simple-user`; deleted accounts are `ghost`.
pub fn user(world: &World, id: UserId) -> Value {
    let account = world
        .accounts
        .get(&id)
        .filter(|account| account.standing != Standing::Deleted);
    let (id, login, kind) = match account {
        Some(account) => (account.id, account.login.as_str(), account.type_name()),
        None => (crate::world::GHOST, "ghost", "User"),
    };
    let (base, pages, node_id) = (&world.base_url, &world.pages_url, node_id("User", id));
    let url = format!("{base}/users/{}", super::quoted(login));
    // A bot's page is that of its App.
    let page = match login.strip_suffix("[bot]") {
        Some(slug) => format!("{pages}/apps/{slug}"),
        None => format!("{pages}/{login}"),
    };
    json!({
        "login": login, "id": id, "node_id": node_id, "avatar_url": format!("{pages}/avatars/{id}"),
        "gravatar_id": "", "url": url, "html_url": page, "followers_url": format!("{url}/followers"),
        "following_url": format!("{url}/following{{/other_user}}"), "gists_url": format!("{url}/gists{{/gist_id}}"),
        "starred_url": format!("{url}/starred{{/owner}}{{/repo}}"), "subscriptions_url": format!("{url}/subscriptions"),
        "organizations_url": format!("{url}/orgs"), "repos_url": format!("{url}/repos"),
        "events_url": format!("{url}/events{{/privacy}}"), "received_events_url": format!("{url}/received_events"),
        "type": kind, "user_view_type": "public", "site_admin": false,
    })
}

/// `public-user`.
pub fn full_user(world: &World, account: &Account) -> Value {
    let mut full = user(world, account.id);
    merge(
        &mut full,
        json!({
            "name": account.name, "company": null, "blog": "", "location": null, "email": null, "hireable": null,
            "bio": null, "twitter_username": null, "public_repos": 0, "public_gists": 0, "followers": 0,
            "following": 0, "created_at": time(account.created_at), "updated_at": time(account.created_at),
        }),
    );
    full
}

/// `organization-simple`.
pub fn organization(world: &World, account: &Account) -> Value {
    let url = format!("{}/orgs/{}", world.base_url, account.login);
    json!({
        "login": account.login, "id": account.id, "node_id": node_id("Organization", account.id), "url": url,
        "repos_url": format!("{url}/repos"), "events_url": format!("{url}/events"),
        "hooks_url": format!("{url}/hooks"), "issues_url": format!("{url}/issues"),
        "members_url": format!("{url}/members{{/member}}"),
        "public_members_url": format!("{url}/public_members{{/member}}"),
        "avatar_url": format!("{}/avatars/{}", world.pages_url, account.id), "description": null,
    })
}

/// `organization-full`, without the settings that only owners see.
pub fn organization_full(world: &World, account: &Account) -> Value {
    let mut full = organization(world, account);
    merge(
        &mut full,
        json!({
            "html_url": format!("{}/{}", world.pages_url, account.login), "name": account.name, "type": "Organization",
            "has_organization_projects": true, "has_repository_projects": true, "public_repos": 0, "public_gists": 0,
            "followers": 0, "following": 0, "created_at": time(account.created_at),
            "updated_at": time(account.created_at), "archived_at": null,
        }),
    );
    full
}

/// `team`, the form of lists and payloads.
pub fn team(world: &World, team: &Team) -> Value {
    let parent = team.parent.and_then(|parent| world.teams.get(&parent));
    let mut object = team_without_parent(world, team);
    object["parent"] = parent.map_or(Value::Null, |parent| team_without_parent(world, parent));
    object
}

fn team_without_parent(world: &World, team: &Team) -> Value {
    let org = world.login(team.org);
    let url = format!(
        "{}/organizations/{}/team/{}",
        world.base_url, team.org, team.id
    );
    json!({
        "id": team.id, "node_id": node_id("Team", team.id), "name": team.name, "slug": team.slug,
        "description": null, "privacy": team.privacy.as_str(), "notification_setting": "notifications_enabled",
        "permission": "pull", "type": "organization", "organization_id": team.org, "url": url,
        "html_url": format!("{}/orgs/{org}/teams/{}", world.pages_url, team.slug),
        "members_url": format!("{url}/members{{/member}}"), "repositories_url": format!("{url}/repos"),
    })
}

/// `team-full`.
pub fn team_full(world: &World, account: &Account, wanted: &Team) -> Value {
    let mut full = team(world, wanted);
    merge(
        &mut full,
        json!({
            "created_at": time(wanted.created_at), "updated_at": time(wanted.created_at),
            "members_count": world.team_members(wanted).len(), "repos_count": wanted.repos.len(),
            "organization": organization_full(world, account),
        }),
    );
    full
}

pub fn team_membership(world: &World, team: &Team, member: UserId) -> Value {
    let (org, login) = (team.org, world.login(member));
    // Owners of the organisation are maintainers of every team they are in.
    let role = if world.is_org_owner(member, org) {
        "maintainer"
    } else {
        "member"
    };
    let url = format!(
        "{}/organizations/{org}/team/{}/memberships/{login}",
        world.base_url, team.id
    );
    json!({ "state": "active", "role": role, "url": url })
}

pub fn org_membership(world: &World, org: &Account, member: UserId, role: OrgRole) -> Value {
    let org_url = format!("{}/orgs/{}", world.base_url, org.login);
    let role = match role {
        OrgRole::Member => "member",
        OrgRole::Owner => "admin",
    };
    json!({
        "url": format!("{org_url}/memberships/{}", world.login(member)), "state": "active", "role": role,
        "organization_url": org_url, "organization": organization(world, org), "user": user(world, member),
    })
}

/// The object of five booleans.
pub fn permissions(role: Option<Role>) -> Value {
    let has = |wanted: Role| Value::from(role.is_some_and(|role| role >= wanted));
    Role::ALL
        .into_iter()
        .rev()
        .map(|role| (role.as_permission().to_owned(), has(role)))
        .collect::<Map<_, _>>()
        .into()
}

/// `collaborator`.
pub fn collaborator(world: &World, id: UserId, role: Option<Role>) -> Value {
    let mut object = user(world, id);
    merge(
        &mut object,
        json!({ "permissions": permissions(role), "role_name": role.map_or("none", Role::as_str) }),
    );
    object
}

/// `repository-collaborator-permission`.
pub fn collaborator_permission(world: &World, id: UserId, repo: &Repo) -> Value {
    let role = world.role(id, repo);
    json!({
        "permission": role.map_or("none", Role::folded), "role_name": role.map_or("none", Role::as_str),
        "user": collaborator(world, id, role),
    })
}

/// Adds the keys of `more` to the object `into`.
pub(super) fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}

//! Users, members, teams, collaborators.

use http::StatusCode;

use super::{
    Answer, Route,
    call::{Call, Reply},
    caller::{Caller, Needs},
    get,
};
use crate::{
    json,
    refused::Refused,
    world::{
        World,
        account::{Account, Privacy, Role, Team},
        app::{Area, Level},
    },
};
use loopgate_core::UserId;

pub const ROUTES: &[Route] = &[
    get("/user", myself),
    get("/user/{id}", user_by_id),
    get("/users/{login}", user_by_login),
    get("/orgs/{org}", org),
    get("/orgs/{org}/members", members),
    get("/orgs/{org}/members/{login}", is_member),
    get("/orgs/{org}/memberships/{login}", membership),
    get("/orgs/{org}/teams", teams),
    get("/orgs/{org}/teams/{slug}", team),
    get("/orgs/{org}/teams/{slug}/members", team_members),
    get(
        "/orgs/{org}/teams/{slug}/memberships/{login}",
        team_membership,
    ),
    get("/orgs/{org}/teams/{slug}/teams", child_teams),
    get("/orgs/{org}/teams/{slug}/repos/{owner}/{repo}", team_repo),
    get("/repos/{owner}/{repo}/teams", repo_teams),
    get("/repos/{owner}/{repo}/collaborators", collaborators),
    get(
        "/repos/{owner}/{repo}/collaborators/{login}",
        is_collaborator,
    ),
    get(
        "/repos/{owner}/{repo}/collaborators/{login}/permission",
        permission,
    ),
];

const MEMBERS: Needs = &[(Area::Members, Level::Read)];
const METADATA: Needs = &[(Area::Metadata, Level::Read)];
const ADMINISTRATION: Needs = &[(Area::Administration, Level::Read)];

fn myself(world: &mut World, call: &Call) -> Answer {
    match call.caller {
        Caller::Person(user) => {
            let account = world.accounts.get(&user).ok_or_else(Refused::not_found)?;
            Ok(Reply::ok(json::full_user(world, account)))
        }
        // Installations are no users.
        Caller::Installation { .. } => {
            Err(Refused::forbidden("Resource not accessible by integration"))
        }
        Caller::App(_) | Caller::Anonymous => Err(call.unauthenticated()),
    }
}

fn user_by_id(world: &mut World, call: &Call) -> Answer {
    let account = world
        .accounts
        .get(&UserId::new(call.id("id")?))
        .filter(|account| account.is_active());
    Ok(Reply::ok(json::full_user(
        world,
        account.ok_or_else(Refused::not_found)?,
    )))
}

fn user_by_login(world: &mut World, call: &Call) -> Answer {
    let account = world
        .account(call.param("login"))
        .filter(|account| account.is_active());
    Ok(Reply::ok(json::full_user(
        world,
        account.ok_or_else(Refused::not_found)?,
    )))
}

fn org(world: &mut World, call: &Call) -> Answer {
    Ok(Reply::ok(json::organization_full(
        world,
        world.org(call.param("org"))?,
    )))
}

fn members(world: &mut World, call: &Call) -> Answer {
    let org = call.organization(world, MEMBERS)?;
    let members = org
        .org()
        .into_iter()
        .flat_map(|org| org.members.keys().copied())
        .collect();
    Ok(call.list(members, |id| json::user(world, id)))
}

fn is_member(world: &mut World, call: &Call) -> Answer {
    let org = call.organization(world, MEMBERS)?;
    let user = world.user_id(call.param("login"))?;
    if world.is_member(user, org.id) {
        Ok(Reply::no_content())
    } else {
        Err(Refused::not_found())
    }
}

fn membership(world: &mut World, call: &Call) -> Answer {
    let org = call.organization(world, MEMBERS)?;
    let user = world.user_id(call.param("login"))?;
    let role = org
        .org()
        .and_then(|org| org.members.get(&user).copied())
        .ok_or_else(Refused::not_found)?;
    Ok(Reply::ok(json::org_membership(world, org, user, role)))
}

/// Whether the caller may know of a team: secret ones show to their members, to owners and to Apps that read members.
fn sees(world: &World, call: &Call, team: &Team) -> bool {
    match call.caller {
        Caller::Person(user) => {
            team.privacy == Privacy::Visible
                || world.team_members(team).contains(&user)
                || world.is_org_owner(user, team.org)
        }
        _ => true,
    }
}

fn team_of<'w>(world: &'w World, call: &Call) -> Result<(&'w Account, &'w Team), Refused> {
    let org = call.organization(world, MEMBERS)?;
    let team = world.team(org.id, call.param("slug"))?;
    if sees(world, call, team) {
        Ok((org, team))
    } else {
        Err(Refused::not_found())
    }
}

fn teams(world: &mut World, call: &Call) -> Answer {
    let org = call.organization(world, MEMBERS)?;
    let found = world
        .teams
        .values()
        .filter(|team| team.org == org.id && sees(world, call, team))
        .collect();
    Ok(call.list(found, |team| json::team(world, team)))
}

fn team(world: &mut World, call: &Call) -> Answer {
    let (org, team) = team_of(world, call)?;
    Ok(Reply::ok(json::team_full(world, org, team)))
}

/// "Team members will include the members of child teams" (docs.github.com, REST, List team members).
fn team_members(world: &mut World, call: &Call) -> Answer {
    let (_, team) = team_of(world, call)?;
    Ok(call.list(world.team_members(team), |id| json::user(world, id)))
}

fn team_membership(world: &mut World, call: &Call) -> Answer {
    let (_, team) = team_of(world, call)?;
    let user = world.user_id(call.param("login"))?;
    if !world.team_members(team).contains(&user) {
        return Err(Refused::not_found());
    }
    Ok(Reply::ok(json::team_membership(world, team, user)))
}

fn child_teams(world: &mut World, call: &Call) -> Answer {
    let (_, parent) = team_of(world, call)?;
    let children = world
        .teams
        .values()
        .filter(|team| team.parent == Some(parent.id))
        .collect();
    Ok(call.list(children, |team| json::team(world, team)))
}

/// 204 if the team has access, or the repository with the team's permissions if that media type is asked for.
fn team_repo(world: &mut World, call: &Call) -> Answer {
    let (_, team) = team_of(world, call)?;
    let repo = world.repo(call.read(world, METADATA)?)?;
    let role = world.team_role(team, repo).ok_or_else(Refused::not_found)?;
    if !call.accepts("repository") {
        return Ok(Reply::no_content());
    }
    let mut answer = json::repo_full(world, repo, Some(role));
    answer["role_name"] = role.as_str().into();
    Ok(Reply::ok(answer))
}

fn repo_teams(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, ADMINISTRATION)?)?;
    let found = world
        .teams
        .values()
        .filter_map(|team| Some((team, world.team_role(team, repo)?)))
        .collect();
    Ok(call.list(found, |(team, role): (&Team, Role)| {
        let mut answer = json::team(world, team);
        answer["permission"] = role.as_permission().into();
        answer
    }))
}

/// Everybody with more than the public's access, in the order of their ids.
fn collaborators(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, METADATA)?)?;
    let found = world
        .accounts
        .values()
        .filter(|account| account.is_active() && account.org().is_none());
    let found = found
        .filter_map(|account| Some((account.id, world.granted_role(account.id, repo)?)))
        .collect();
    Ok(call.list(found, |(id, role)| {
        json::collaborator(world, id, Some(role))
    }))
}

fn is_collaborator(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, METADATA)?)?;
    let user = world.user_id(call.param("login"))?;
    world
        .granted_role(user, repo)
        .map(|_| Reply::no_content())
        .ok_or_else(Refused::not_found)
}

fn permission(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, METADATA)?)?;
    let login = call.param("login");
    let nobody = || Refused::new(StatusCode::NOT_FOUND, format!("{login} is not a user"));
    let user = world.user_id(login).map_err(|_| nobody())?;
    Ok(Reply::ok(json::collaborator_permission(world, user, repo)))
}

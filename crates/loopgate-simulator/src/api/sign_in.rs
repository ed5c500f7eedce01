//! The page on which people let an App act for them, the exchange of its code, and what such a token shows.
//!
//! The sender of a person's token is that person at a browser, and agrees; without one it is the organisation's owner.

use serde_json::{Value, json};
use url::Url;

use super::{
    Answer, Route,
    call::{Call, Reply},
    caller::Caller,
    get, post,
    registration::person,
};
use crate::{
    json,
    operations::sign_in::{Exchange, TOKEN_LIFE},
    refused::Refused,
    world::{World, app::Installation, repo::Repo},
};
use loopgate_core::{InstallationId, UserId};

pub const ROUTES: &[Route] = &[
    get("/login/oauth/authorize", authorize),
    post("/login/oauth/access_token", access_token),
    get("/user/installations", installations),
    get("/user/installations/{id}/repositories", repositories),
];

fn authorize(world: &mut World, call: &Call) -> Answer {
    let person = person(world, call)?;
    let given = |name| call.query(name).unwrap_or_default();
    let mut back: Url = given("redirect_uri")
        .parse()
        .map_err(|_| Refused::not_found())?;
    let challenge = call
        .query("code_challenge")
        .filter(|_| given("code_challenge_method") == "S256");
    let code = world.agree(person, given("client_id"), given("redirect_uri"), challenge)?;
    let state = call.query("state").map(|state| ("state", state));
    back.query_pairs_mut()
        .append_pair("code", &code)
        .extend_pairs(state);
    Ok(Reply::found(back.into()))
}

/// Parameters come as a form or as JSON. The answer is a form, too, unless JSON is asked for by that very name.
fn access_token(world: &mut World, call: &Call) -> Answer {
    let body: Value = call.json().unwrap_or_default();
    let given = |name| {
        body[name]
            .as_str()
            .map(str::to_owned)
            .or_else(|| call.field(name))
    };
    let needed = |name| given(name).unwrap_or_default();
    let asked = Exchange {
        client_id: needed("client_id"),
        client_secret: needed("client_secret"),
        code: needed("code"),
        redirect: given("redirect_uri"),
        verifier: given("code_verifier"),
    };
    let answer = match world.exchange(&asked) {
        Ok(token) => json!({
            "access_token": token, "expires_in": TOKEN_LIFE.num_seconds(), "refresh_token": format!("ghr_{token}"),
            "refresh_token_expires_in": 15_897_600, "scope": "", "token_type": "bearer",
        }),
        Err(error) => json!({ "error": error, "error_description": "It was refused." }),
    };
    if call.accepts("application/json") {
        return Ok(Reply::ok(answer));
    }
    let plain = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(
        answer
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (name, plain(value))),
    );
    Ok(Reply::raw(
        "application/x-www-form-urlencoded; charset=utf-8",
        form.finish().into(),
    ))
}

/// Whose token it is, and the installations of the App that it is for.
fn visitor<'w>(world: &'w World, call: &Call) -> Result<(UserId, Vec<&'w Installation>), Refused> {
    let Caller::Person(person) = call.caller else {
        return Err(call.unauthenticated());
    };
    let refused = "You must authenticate with an access token authorized to a GitHub App in order to list installations";
    let app = world
        .tokens
        .get(call.token())
        .and_then(|token| token.app)
        .ok_or_else(|| Refused::forbidden(refused))?;
    let of_app = world
        .installations
        .values()
        .filter(|it| it.app == app && it.suspended.is_none());
    Ok((
        person,
        of_app
            .filter(|it| !explicit(world, person, it).is_empty())
            .collect(),
    ))
}

/// What the person was given access to: what is public is not, by itself
/// (<https://docs.github.com/en/rest/apps/installations#list-repositories-accessible-to-the-user-access-token>).
fn explicit<'w>(world: &'w World, person: UserId, installation: &Installation) -> Vec<&'w Repo> {
    let reached = world.reached(installation.account, &installation.repositories);
    let repos = reached.iter().filter_map(|id| world.repos.get(id));
    repos
        .filter(|repo| world.granted_role(person, repo).is_some())
        .collect()
}

fn installations(world: &mut World, call: &Call) -> Answer {
    let (_, found) = visitor(world, call)?;
    Ok(call.counted_list("installations", found, |it| json::installation(world, it)))
}

fn repositories(world: &mut World, call: &Call) -> Answer {
    let (person, found) = visitor(world, call)?;
    let id = InstallationId::new(call.id("id")?);
    let installation = found
        .into_iter()
        .find(|it| it.id == id)
        .ok_or_else(Refused::not_found)?;
    let repos = explicit(world, person, installation);
    Ok(call.counted_list("repositories", repos, |repo| {
        json::repo_full(world, repo, world.role(person, repo))
    }))
}

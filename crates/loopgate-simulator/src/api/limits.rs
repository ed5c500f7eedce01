//! The limits of each caller.

use axum::response::Response;
use http::{HeaderValue, Method, header::DATE};

use super::caller::Caller;
use crate::{refused::Refused, world::World};

/// Refuses who has used up the hour, or what a secondary limit allows.
pub fn check(
    world: &mut World,
    caller: &Caller,
    name: &str,
    (method, path): (&Method, &str),
) -> Result<(), Refused> {
    let now = world.clock.now();
    let (used, _) = world.rate_limits.window(name, now);
    if used < allowance(world, name) {
        if world.rate_limits.admits(name, method, path, now) {
            return Ok(());
        }
        let message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
        return Err(Refused {
            headers: vec![("retry-after", "60".into())],
            ..Refused::forbidden(message)
        });
    }
    let whom = match caller {
        Caller::Installation { id, .. } => format!("installation ID {id}"),
        _ => format!("user {name}"),
    };
    Err(Refused::forbidden(format!(
        "API rate limit exceeded for {whom}."
    )))
}

/// GITHUB_TOKEN has 1,000 an hour, everybody else what is configured
/// (docs.github.com, Rate limits for the REST API: Primary rate limit for GITHUB_TOKEN in GitHub Actions).
pub fn allowance(world: &World, name: &str) -> u32 {
    let configured = world.rate_limits.per_hour;
    if name == "github-actions[bot]" {
        configured.min(1_000)
    } else {
        configured
    }
}

/// Writes the headers that tell what is left.
pub fn tell(world: &mut World, name: &str, response: &mut Response) {
    let (limit, now) = (allowance(world, name), world.clock.now());
    let (used, reset) = world.rate_limits.window(name, now);
    let used = used.min(limit);
    for (name, value) in [
        ("x-ratelimit-limit", u64::from(limit)),
        ("x-ratelimit-remaining", u64::from(limit - used)),
        ("x-ratelimit-used", u64::from(used)),
        ("x-ratelimit-reset", reset.timestamp().unsigned_abs()),
    ] {
        response
            .headers_mut()
            .insert(name, HeaderValue::from(value));
    }
    // Otherwise it would be the time of the machine, which a story leaves behind.
    let date = now.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let date = HeaderValue::from_str(&date).expect("letters, digits and colons");
    response.headers_mut().insert(DATE, date);
    for (name, value) in [
        ("x-ratelimit-resource", "core"),
        ("x-github-media-type", "github.v3; format=json"),
        ("x-github-api-version-selected", world.rest.as_str()),
    ] {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
}

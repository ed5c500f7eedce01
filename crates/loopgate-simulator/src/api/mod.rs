//! The REST API of the world: a table of routes per area, each answered by a plain function over the world.

mod actions;
mod app;
mod auth;
mod call;
mod caller;
mod checks;
mod commits;
mod conditional;
mod contents;
mod envelope;
mod git;
mod graphql;
mod issues;
mod labels;
mod limits;
mod people;
mod pulls;
mod registration;
mod repos;
mod reviews;
mod sign_in;

use std::sync::Arc;

use axum::{
    Router,
    extract::{DefaultBodyLimit, State},
    middleware,
    routing::{MethodFilter, on},
};

use self::call::{Call, Reply};
use super::{Shared, past::Past, refused::Refused, world::World};

/// Answers one kind of request.
type Handler = fn(&mut World, &Call) -> Answer;
/// What a handler gives.
type Answer = Result<Reply, Refused>;

/// One line of an area's table.
struct Route {
    method: MethodFilter,
    path: &'static str,
    handler: Handler,
}

const fn get(path: &'static str, handler: Handler) -> Route {
    Route {
        method: MethodFilter::GET,
        path,
        handler,
    }
}

const fn post(path: &'static str, handler: Handler) -> Route {
    Route {
        method: MethodFilter::POST,
        path,
        handler,
    }
}

const fn put(path: &'static str, handler: Handler) -> Route {
    Route {
        method: MethodFilter::PUT,
        path,
        handler,
    }
}

const fn patch(path: &'static str, handler: Handler) -> Route {
    Route {
        method: MethodFilter::PATCH,
        path,
        handler,
    }
}

const fn delete(path: &'static str, handler: Handler) -> Route {
    Route {
        method: MethodFilter::DELETE,
        path,
        handler,
    }
}

const AREAS: &[&[Route]] = &[
    actions::ROUTES,
    app::ROUTES,
    checks::ROUTES,
    commits::ROUTES,
    contents::ROUTES,
    git::ROUTES,
    graphql::ROUTES,
    issues::ROUTES,
    labels::ROUTES,
    people::ROUTES,
    pulls::ROUTES,
    registration::ROUTES,
    repos::ROUTES,
    reviews::ROUTES,
    sign_in::ROUTES,
];

/// GitHub takes blobs up to 100 MB; nothing Loopgate sends comes near.
const MAX_BODY: usize = 32 * 1024 * 1024;

/// Everything that the simulated GitHub serves.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    let mut router = Router::new();
    for route in AREAS.iter().copied().flatten() {
        let handler = route.handler;
        let run = move |State(shared): State<Arc<Shared>>, call: Call| async move {
            let Past(shared) = call.past.clone().unwrap_or(Past(shared));
            let is_write = route.method != MethodFilter::GET;
            let answer = shared.write(|world| match is_write && call.is_about_archived(world) {
                // As GitHub words it.
                true => Err(Refused::forbidden(
                    "Repository was archived so is read-only.",
                )),
                false => handler(world, &call),
            });
            answer.unwrap_or_else(Reply::from)
        };
        router = router.route(route.path, on(route.method, run));
    }
    let routes = router
        .fallback(async || Reply::from(Refused::not_found()))
        .method_not_allowed_fallback(async || Reply::from(Refused::not_found()))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(Arc::clone(&shared));
    // Around the whole of it, because `/repositories/ID` is rewritten before a route is chosen.
    Router::new()
        .fallback_service(routes)
        .layer(middleware::from_fn_with_state(shared, envelope::wrap))
}

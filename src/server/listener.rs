//! Accepting connections: how many, how slow they may be, and how they end.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    http::{HeaderName, HeaderValue, header},
    response::Response,
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::JoinSet,
};
use tower::Service as _;

use super::receive::Peer;

/// More connections than this wait unaccepted.
const CONNECTIONS: usize = 2048;

/// More header lines than this are refused (431); GitHub sends a dozen.
const HEADERS: usize = 64;

/// After an error of `accept`, which is nearly always too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// How often the error is logged at most.
const WARN_EVERY: Duration = Duration::from_secs(30);

/// Serves what `app` holds at each request until `stop` is true, then finishes the requests that are under way.
///
/// `header_timeout` is how long a connection may take over the head of a request, and how long it may idle.
pub(super) async fn serve(
    listener: TcpListener,
    app: watch::Receiver<Router>,
    header_timeout: Duration,
    mut stop: watch::Receiver<bool>,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
        .max_headers(HEADERS);
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    let graceful = GracefulShutdown::new();
    // Dropped with this future, so that no connection outlives the server.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            (stream, slot) = accept(&listener, &slots) => {
                // Answers are small, so each is sent at once.
                stream.set_nodelay(true).ok();
                let (peer, app) = (stream.peer_addr().map(|address| Peer(address.ip())), app.clone());
                let service = service_fn(move |mut request: hyper::Request<Incoming>| {
                    if let Ok(peer) = peer {
                        request.extensions_mut().insert(peer);
                    }
                    let mut app = app.borrow().clone();
                    app.call(request)
                });
                let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
                connections.spawn(async move {
                    if let Err(error) = connection.await {
                        tracing::debug!(%error, "a connection broke");
                    }
                    drop(slot);
                });
            }
            Some(_) = connections.join_next() => {}
            _ = stop.wait_for(|stop| *stop) => break,
        }
    }
    drop(listener);
    graceful.shutdown().await;
}

async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> (TcpStream, OwnedSemaphorePermit) {
    let slot = slots
        .clone()
        .acquire_owned()
        .await
        .expect("the semaphore is never closed");
    let mut warned: Option<Instant> = None;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, slot),
            Err(error) => {
                if warned.is_none_or(|warned| warned.elapsed() >= WARN_EVERY) {
                    tracing::warn!(%error, "connections cannot be accepted");
                    warned = Some(Instant::now());
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Adds the security headers to every answer of both listeners. By default a page loads and runs nothing, and no page
/// may frame it; a page that needs more sets the header itself.
pub(super) async fn secured(mut response: Response) -> Response {
    const HEADERS: [(HeaderName, HeaderValue); 5] = [
        (
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (
            header::REFERRER_POLICY,
            HeaderValue::from_static("no-referrer"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static(
                "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
            ),
        ),
    ];
    for (name, value) in HEADERS {
        // The dashboard's pages have a policy of their own.
        response.headers_mut().entry(name).or_insert(value);
    }
    response
}

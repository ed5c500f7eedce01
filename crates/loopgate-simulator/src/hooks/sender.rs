//! Carries deliveries out: one at a time, in the order of their causes, each with GitHub's headers and ten seconds.

use std::{sync::Weak, time::Duration};

use axum::body::{Body, to_bytes};
use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::Full;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};

use super::delivery::{Delivery, DeliveryState};
use crate::{Shared, world::DeliveryId};

/// GitHub gives up on a receiver after 10 seconds (docs.github.com, Best practices for using webhooks).
const TIMEOUT: Duration = Duration::from_secs(10);
/// How much of an answer is kept for the log.
const MAX_ANSWER: usize = 64 * 1024;

type HttpClient = Client<HttpConnector, Full<Bytes>>;

/// Runs until the simulator is gone.
pub async fn run(shared: Weak<Shared>) {
    let client = Client::builder(TokioExecutor::new()).build_http();
    loop {
        let Some(strong) = shared.upgrade() else {
            return;
        };
        let mut changes = strong.changes();
        let next = strong.quietly(|world| world.outbox.next());
        drop(strong);
        match next {
            Some(delivery) => {
                let state = send(&client, &delivery).await;
                let Some(strong) = shared.upgrade() else {
                    return;
                };
                finish(&strong, delivery.id, state);
            }
            // An error means that the last handle is gone.
            None if changes.changed().await.is_err() => return,
            None => {}
        }
    }
}

fn finish(shared: &Shared, id: DeliveryId, state: DeliveryState) {
    shared.write(|world| {
        let now = world.clock.now();
        world.outbox.finish(id, state, now);
    });
}

async fn send(client: &HttpClient, delivery: &Delivery) -> DeliveryState {
    let request = match request(delivery) {
        Ok(request) => request,
        Err(error) => return DeliveryState::Failed(error.to_string()),
    };
    let exchange = async {
        let response = client
            .request(request)
            .await
            .map_err(|error| error.to_string())?;
        read(response.map(Body::new)).await
    };
    match tokio::time::timeout(TIMEOUT, exchange).await {
        Ok(Ok((status, body))) => DeliveryState::Answered { status, body },
        Ok(Err(reason)) => DeliveryState::Failed(reason),
        Err(_) => DeliveryState::Failed("timed out".into()),
    }
}

async fn read(response: Response<Body>) -> Result<(u16, String), String> {
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), MAX_ANSWER)
        .await
        .map_err(|error| error.to_string())?;
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

fn request(delivery: &Delivery) -> http::Result<Request<Full<Bytes>>> {
    let mut request = Request::post(&delivery.url);
    for (name, value) in delivery.headers() {
        request = request.header(name, value);
    }
    request.body(Full::new(delivery.payload.clone()))
}

impl Delivery {
    /// The headers it is sent with (docs.github.com, Webhook events and payloads: Delivery headers).
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        vec![
            (header::ACCEPT.as_str(), "*/*".into()),
            (header::CONTENT_TYPE.as_str(), "application/json".into()),
            (
                header::USER_AGENT.as_str(),
                "GitHub-Hookshot/5f3d9c1".into(),
            ),
            ("x-github-delivery", self.guid.to_string()),
            ("x-github-event", self.event.clone()),
            ("x-github-hook-id", self.app.to_string()),
            ("x-github-hook-installation-target-id", self.app.to_string()),
            (
                "x-github-hook-installation-target-type",
                "integration".into(),
            ),
            ("x-hub-signature-256", self.signature.clone()),
        ]
    }
}

//! Pages that are open in a browser get an event when they may have changed, and fetch themselves anew.
//!
//! A listener learns only *that* something changed, of the repositories it may see: it reads the index of open loops,
//! with the rights it came with, whenever this process has written, and where several processes share a database every
//! two seconds, too. It is sent away after four minutes and comes again, so that rights are looked at again; more than
//! so many at once, of all and of one visitor, are refused, and their pages ask for themselves.

use std::{collections::HashMap, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::{Query, State},
    http::{HeaderValue, StatusCode, header::RETRY_AFTER},
    response::{
        IntoResponse as _, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures::stream;
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{Instant, sleep, sleep_until},
};

use super::{
    PageError,
    reply::{Reader, Reply},
    seen,
};
use loopgate_core::UserId;
use loopgate_render::{Filter, Notice};

use crate::server::{
    Admin,
    storage::{IndexFilter, IndexVersion, Store},
};

/// Listeners at once, of operators and of visitors.
const MOST: usize = 64;
/// Of them one visitor's.
const MOST_OF_ONE: usize = 8;
/// How long one listens before its rights are looked at again: less than GitHub's answer about them is believed.
const LISTENS: Duration = Duration::from_secs(4 * 60);
/// How long a listener waits for more before it asks what changed.
const PAUSE: Duration = Duration::from_millis(500);
/// How often what other processes wrote is asked for.
const POLL: Duration = Duration::from_secs(2);

/// Room for listeners, until the server stops.
pub(in crate::server) struct Live {
    operators: Arc<Semaphore>,
    visitors: Arc<Semaphore>,
    /// The places of each visitor who listens.
    own: Mutex<HashMap<UserId, Arc<Semaphore>>>,
    stop: watch::Receiver<bool>,
}

/// A listener's place among all, and for a visitor among that visitor's own.
type LivePermits = (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>);

impl Live {
    pub fn new(stop: watch::Receiver<bool>) -> Self {
        let room = || Arc::new(Semaphore::new(MOST));
        Self {
            operators: room(),
            visitors: room(),
            own: Mutex::default(),
            stop,
        }
    }

    /// None where there is no room.
    fn places(&self, reader: &Reader) -> Option<LivePermits> {
        let room = if reader.is_operator() {
            &self.operators
        } else {
            &self.visitors
        };
        let own = reader.visitor.as_ref().map(|(visitor, _)| {
            let mut own = self.own.lock();
            // Each listener holds the room it is in.
            own.retain(|_, room| Arc::strong_count(room) > 1);
            own.entry(*visitor)
                .or_insert_with(|| Arc::new(Semaphore::new(MOST_OF_ONE)))
                .clone()
                .try_acquire_owned()
        });
        let own = own.transpose().ok()?;
        Some((room.clone().try_acquire_owned().ok()?, own))
    }
}

struct Listener {
    store: Store,
    filter: IndexFilter,
    known: IndexVersion,
    written: watch::Receiver<()>,
    stop: watch::Receiver<bool>,
    until: Instant,
    _places: LivePermits,
}

impl Listener {
    /// Completes when something changed; with nothing when it is over.
    async fn next_event(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        loop {
            let is_shared = self.store.poll_every().is_some();
            tokio::select! {
                changed = self.written.changed() => changed.ok()?,
                () = sleep(POLL), if is_shared => {}
                () = sleep_until(self.until) => return None,
                _ = self.stop.wait_for(|stop| *stop) => return None,
            }
            // What a burst of deliveries led to is one event.
            sleep(PAUSE).await;
            let version = self.store.index_version(&self.filter).await.ok()?;
            if version != self.known {
                self.known = version;
                return Some((Ok(Event::default().data("changed")), self));
            }
        }
    }
}

#[derive(Deserialize)]
pub(super) struct EventsQuery {
    /// The path of the page that listens.
    #[serde(default)]
    page: String,
}

pub(super) async fn events(
    State(admin): State<Arc<Admin>>,
    reply: Reply,
    Query(EventsQuery { page }): Query<EventsQuery>,
) -> Response {
    match listen(&admin, &reply.reader, &page).await {
        Ok(Some(listener)) => {
            let events = stream::unfold(listener, Listener::next_event);
            // Some proxies buffer an answer until it is whole, unless this header forbids it.
            (
                [("x-accel-buffering", "no")],
                Sse::new(events).keep_alive(KeepAlive::default()),
            )
                .into_response()
        }
        Ok(None) => {
            let full = Notice::not_now("Enough pages listen already. Ask again in half a minute.");
            let mut response = reply.with(StatusCode::SERVICE_UNAVAILABLE, &full);
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from_static("30"));
            response
        }
        Err(refused) => refused.response(&reply),
    }
}

/// None where there is no room.
async fn listen(admin: &Admin, reader: &Reader, page: &str) -> Result<Option<Listener>, PageError> {
    let repository = match page.split('/').skip(1).collect::<Vec<_>>()[..] {
        [owner, name, _, ..] => Some(seen(reader, &format!("{owner}/{name}"))?),
        _ => None,
    };
    let Some(places) = admin.live.places(reader) else {
        return Ok(None);
    };
    let shown = Filter {
        repository: repository.map(|name| name.to_string()),
        ..Filter::default()
    };
    let filter = IndexFilter {
        visible: reader.visible.clone(),
        shown,
    };
    let (written, stop) = (
        admin.services.metrics.written.subscribe(),
        admin.live.stop.clone(),
    );
    let known = admin.services.store.index_version(&filter).await?;
    let (store, until) = (admin.services.store.clone(), Instant::now() + LISTENS);
    Ok(Some(Listener {
        store,
        filter,
        known,
        written,
        stop,
        until,
        _places: places,
    }))
}

//! What may be sent now: points of a minute, creations, places of those who wait, and a limit that was met.

use std::{sync::atomic::Ordering, time::Duration};

use chrono::TimeDelta;
use http::Method;

use super::{Client, ClientShared};
use crate::github::client::{
    budget::{
        BudgetClaim, BudgetUse, HoldReason, Need, READ, WRITE, WaitingPlace, Want, points_of,
    },
    error::{Error, Result},
    transport::{GRAPHQL, Outgoing},
    work_class::{WorkClass, served},
};
use loopgate_core::{Sha, Timestamp};

/// How often a request asks whether there are points for it.
const POINTS_PAUSE: Duration = Duration::from_millis(100);
/// How often the first request in line asks whether other processes have left points for it.
const POINTS_OF_OTHERS_PAUSE: Duration = Duration::from_millis(250);
/// How long after they were booked GitHub may count the points of a request.
const POINTS_TAKE: TimeDelta = TimeDelta::milliseconds(500);
/// How long after it was booked GitHub may count a creation.
const CREATION_TAKES: TimeDelta = TimeDelta::seconds(2);

/// The rate limit met last.
#[derive(Debug, Default)]
pub(super) struct Limit {
    pub(super) until: Option<Timestamp>,
    /// Limits met in a row.
    pub(super) strikes: u32,
}

impl Client {
    /// Books the creation of what the pull request with this head needs, for as long as the request takes.
    ///
    /// # Errors
    /// [`Error::Paced`] when it may not go yet.
    pub(crate) async fn book(&self, need: Need, head: Sha) -> Result<Reservation<'_>> {
        let served = served();
        let behind = served.behind.load(Ordering::Relaxed);
        self.booked(Some(Want { head, need, behind }))
            .await
            .map_err(|until| {
                self.shared.hub.health.counts.lock().deferred[served.class() as usize] += 1;
                Error::Paced { until }
            })
    }

    /// Books a creation among those of all processes, or where that cannot be among our own. Without a `want` it waits
    /// for nothing.
    pub(crate) async fn booked(&self, want: Option<Want>) -> Result<Reservation<'_>, Timestamp> {
        let claimed = BudgetUse::Creation {
            want,
            takes: CREATION_TAKES,
        };
        if let Some((others, claim)) = self.shared.claim(claimed)
            && let Some(answer) = others.book(claim).await
        {
            return Ok(Reservation {
                shared: &self.shared,
                what: Booking::WithOthers { until: answer? },
            });
        }
        self.shared
            .budget
            .lock()
            .creates
            .book(want.as_ref(), self.now())?;
        Ok(Reservation {
            shared: &self.shared,
            what: Booking::Creation,
        })
    }

    /// Books the points of a request among those that all processes share. Returns whether there are enough.
    pub(super) async fn has_points(&self, class: WorkClass, points: u32) -> bool {
        let claimed = BudgetUse::Points {
            points,
            most: points_of(class),
            takes: POINTS_TAKE,
        };
        match self
            .shared
            .claim(claimed)
            .filter(|_| self.shared.budget.lock().has_points_limit)
        {
            Some((others, claim)) => others.book(claim).await.is_none_or(|booked| booked.is_ok()),
            None => true,
        }
    }

    /// Waits until the budget has room for a request.
    pub(super) async fn admit(&self, request: &Outgoing<'_>) -> Result<Reservation<'_>> {
        let served = served();
        let points = points(request);
        let mut waiting: Option<Waiting<'_>> = None;
        loop {
            let class = served.class();
            let place = waiting.as_ref().map(|waiting| waiting.place);
            let asked = self
                .shared
                .budget
                .lock()
                .ask(class, place, points, self.now());
            let pause = match asked {
                Ok(()) => {
                    let mut booked = Reservation {
                        shared: &self.shared,
                        what: Booking::Points(points),
                    };
                    if self.has_points(class, points).await {
                        return Ok(booked);
                    }
                    booked.what = Booking::Unused(points);
                    POINTS_OF_OTHERS_PAUSE
                }
                Err(HoldReason::ForPeople { until }) => {
                    self.shared.hub.health.counts.lock().deferred[class as usize] += 1;
                    return Err(Error::KeptForPeople { until });
                }
                Err(HoldReason::Points) => POINTS_PAUSE,
            };
            if place.is_none_or(|place| place.class != class) {
                let place = self.shared.budget.lock().waits(class, self.now());
                waiting = Some(Waiting {
                    shared: &self.shared,
                    place,
                });
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.shared.place_left.notified() => {}
            }
        }
    }
}

/// What was booked, until it is answered or given up.
pub(crate) struct Reservation<'c> {
    shared: &'c ClientShared,
    what: Booking,
}

enum Booking {
    /// Of a request.
    Points(u32),
    /// In this process alone.
    Creation,
    /// Counted with what other processes take.
    WithOthers { until: Timestamp },
    /// Not used after all.
    Unused(u32),
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let (mut budget, now) = (self.shared.budget.lock(), self.shared.hub.setup.clock.now());
        match self.what {
            Booking::Points(points) => budget.answered(points, now),
            Booking::Creation => budget.creates.answered(now),
            Booking::WithOthers { until } => {
                drop(budget);
                if let Some((others, claim)) = self.shared.claim(BudgetUse::CreationEnd {
                    booked_until: until,
                }) {
                    others.note(BudgetClaim { now, ..claim });
                }
            }
            Booking::Unused(points) => budget.under_way = budget.under_way.saturating_sub(points),
        }
    }
}

/// What a request costs.
pub(super) fn points(request: &Outgoing<'_>) -> u32 {
    let changes = |body: &bytes::Bytes| body.starts_with(b"{\"query\":\"mutation");
    let asks = request.target == GRAPHQL && !request.body.as_ref().is_some_and(changes);
    if request.method == Method::GET || asks {
        READ
    } else {
        WRITE
    }
}

/// A request that waits for points; those of lower classes and later ones wait behind it for as long as it does.
struct Waiting<'c> {
    shared: &'c ClientShared,
    place: WaitingPlace,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.budget.lock().leaves(self.place);
        self.shared.place_left.notify_waiters();
    }
}

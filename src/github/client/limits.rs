//! What may be sent now: points of a minute, creations, places of those who wait, and a limit that was met.

use std::{sync::PoisonError, time::Duration};

use chrono::TimeDelta;
use http::Method;

use super::{Client, Shared};
use crate::github::{
    Error,
    budget::{
        Claim, CreationEnd, Granted, Held, Limited, Need, POINTS_ARE_USABLE, POINTS_AT_ONCE, PointsLimit, READ, WRITE,
        limits, points_of,
    },
    transport::{GRAPHQL, Outgoing},
    work_class::{Served, WorkClass, served},
};
use loopgate_core::{Sha, Timestamp};

/// How often a request asks whether there are points for it.
const POINTS_PAUSE: Duration = Duration::from_millis(100);
/// How often a request asks whether other processes have left points for it.
const POINTS_OF_OTHERS_PAUSE: Duration = Duration::from_secs(1);
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
    pub(crate) async fn book(&self, need: Need, head: Sha) -> Result<Booked<'_>, Error> {
        let Served { urgency, behind } = served();
        let book = || {
            self.shared.budget().creates.book(need, head, behind.count(), self.now()).map_err(|until| {
                self.shared.hub.meter.deferred(urgency.class());
                Error::Paced { until }
            })
        };
        book()?;
        match self.take(Limited::Creations, 1, limits(need), CREATION_TAKES).await {
            None => Ok(Booked { shared: &self.shared, what: Booking::Creation }),
            Some(Granted { is_granted, taken }) => {
                self.shared.budget().creates.booked_with_others(&taken);
                match taken.last() {
                    Some((until, _)) if is_granted => {
                        Ok(Booked { shared: &self.shared, what: Booking::WithOthers { until: *until } })
                    }
                    // With what others have taken it is known when there is room.
                    _ => book().and(Err(Error::Paced { until: self.now() + CREATION_TAKES })),
                }
            }
        }
    }

    /// Books a creation that waits for nothing.
    pub(crate) async fn book_at_once(&self) -> Booked<'_> {
        self.shared.budget().creates.begin();
        self.take(Limited::Creations, 1, Vec::new(), CREATION_TAKES).await;
        Booked { shared: &self.shared, what: Booking::Creation }
    }

    /// Takes something of what all processes share; `None` where none does, or it cannot be booked.
    pub(super) async fn take(
        &self,
        what: Limited,
        amount: u32,
        limits: Vec<(TimeDelta, usize)>,
        usable_for: TimeDelta,
    ) -> Option<Granted> {
        let (budget, installation) = (self.shared.hub.shared_budget.get()?, self.shared.installation?);
        let claim = Claim { installation, what, amount, limits, now: self.now(), usable_for };
        budget.take(claim).await
    }

    /// Whether there are points for a request among those that all processes share.
    pub(super) async fn has_points(&self, class: WorkClass, points: u32) -> bool {
        if self.shared.budget().points == PointsLimit::Off || self.shared.hub.shared_budget.get().is_none() {
            return true;
        }
        let mut held = self.shared.points[usize::from(class != WorkClass::Person)].lock().await;
        if held.0 < points || held.1 <= self.now() {
            let limits = vec![(TimeDelta::minutes(1), points_of(class) as usize)];
            match self.take(Limited::Points, POINTS_AT_ONCE, limits, POINTS_ARE_USABLE).await {
                Some(Granted { is_granted: true, .. }) => *held = (POINTS_AT_ONCE, self.now() + POINTS_ARE_USABLE),
                Some(_) => return false,
                None => return true,
            }
        }
        held.0 -= points;
        true
    }

    /// Waits until the budget has room for a request.
    pub(super) async fn admit(&self, request: &Outgoing<'_>) -> Result<Booked<'_>, Error> {
        let urgency = served().urgency;
        let points = points(request);
        let mut waiting: Option<Waiting<'_>> = None;
        loop {
            let class = urgency.class();
            let asked = {
                let mut budget = self.shared.budget();
                budget.ask(class, points, self.now())
            };
            match asked {
                Ok(()) => {
                    let mut booked = Booked { shared: &self.shared, what: Booking::Points(points) };
                    if self.has_points(class, points).await {
                        return Ok(booked);
                    }
                    booked.what = Booking::Unused(points);
                    drop(booked);
                    tokio::time::sleep(POINTS_OF_OTHERS_PAUSE).await;
                }
                Err(Held::ForPeople { until }) => {
                    self.shared.hub.meter.deferred(class);
                    return Err(Error::KeptForPeople { until });
                }
                Err(Held::Points) => {
                    if waiting.as_ref().is_none_or(|waiting| waiting.class != class) {
                        waiting = Some(Waiting::begin(&self.shared, class));
                    }
                    tokio::time::sleep(POINTS_PAUSE).await;
                }
            }
        }
    }

    pub(super) fn respect_limit(&self) -> Result<(), Error> {
        let limit = self.shared.limit.lock().unwrap_or_else(PoisonError::into_inner);
        match limit.until {
            Some(until) if self.now() < until => Err(Error::RateLimited { until }),
            _ => Ok(()),
        }
    }
}

/// What was booked, until it is answered or given up.
pub(crate) struct Booked<'c> {
    shared: &'c Shared,
    what: Booking,
}

enum Booking {
    Points(u32),
    Creation,
    /// Counted with what other processes take.
    WithOthers {
        until: Timestamp,
    },
    /// Not used after all.
    Unused(u32),
}

impl Drop for Booked<'_> {
    fn drop(&mut self) {
        let (mut budget, now) = (self.shared.budget(), self.shared.hub.clock.now());
        match self.what {
            Booking::Points(points) => budget.answered(points, now),
            Booking::Creation => budget.creates.answered(now),
            Booking::WithOthers { until } => {
                drop(budget);
                if let (Some(others), Some(installation)) =
                    (self.shared.hub.shared_budget.get(), self.shared.installation)
                {
                    others.creation_ended(CreationEnd { installation, booked_until: until, answered_at: now });
                }
            }
            Booking::Unused(points) => budget.given_back(points),
        }
    }
}

/// What a request costs.
pub(super) fn points(request: &Outgoing<'_>) -> u32 {
    let changes = |body: &bytes::Bytes| body.starts_with(b"{\"query\":\"mutation");
    let asks = request.target == GRAPHQL && !request.body.as_ref().is_some_and(changes);
    if request.method == Method::GET || asks { READ } else { WRITE }
}

/// A request that waits for points; requests of lower classes wait behind it for as long as it does.
struct Waiting<'c> {
    shared: &'c Shared,
    class: WorkClass,
}

impl<'c> Waiting<'c> {
    fn begin(shared: &'c Shared, class: WorkClass) -> Self {
        shared.budget().waits(class);
        Self { shared, class }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.budget().waits_no_more(self.class);
    }
}

//! Deliveries and their log.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use uuid::Uuid;

use super::super::world::{DeliveryId, RepoId};
use loopgate_core::{AppId, InstallationId, Timestamp};

/// One attempt to deliver an event to an App.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub id: DeliveryId,
    /// Of the event: a redelivery carries the same one.
    pub guid: Uuid,
    pub app: AppId,
    pub url: String,
    pub event: String,
    pub action: Option<String>,
    pub installation: Option<InstallationId>,
    pub repository: Option<RepoId>,
    /// The raw bytes that were signed.
    pub payload: Bytes,
    /// `sha256=…` over the payload.
    pub signature: String,
    pub attempt: Attempt,
    /// When the event happened, then when it was sent.
    pub at: Timestamp,
    pub state: DeliveryState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    First,
    /// A fault's second copy of a delivery.
    Duplicate,
    /// Asked for through the deliveries API.
    Redelivery,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    Waiting,
    /// Kept back by a fault.
    Held,
    InFlight,
    /// Swallowed by a fault; GitHub would not know of it.
    Lost,
    Answered {
        status: u16,
        body: String,
    },
    /// Nobody answered; the reason in words.
    Failed(String),
}

impl Delivery {
    /// Answered with 2xx.
    pub fn accepted(&self) -> bool {
        matches!(
            self.state,
            DeliveryState::Answered {
                status: 200..=299,
                ..
            }
        )
    }

    /// Whether an attempt was made, or would have been but for a [`Fail`](super::super::Mishap::Fail).
    pub fn is_listed(&self) -> bool {
        matches!(
            self.state,
            DeliveryState::Answered { .. } | DeliveryState::Failed(_)
        )
    }
}

/// Totals over the deliveries that left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryCounts {
    /// Attempts that were answered or failed.
    pub sent: usize,
    /// Answered with 2xx.
    pub accepted: usize,
    /// Attempts beyond the first with the same GUID.
    pub duplicate: usize,
}

/// Every delivery so far and the queue of those still to be sent.
#[derive(Debug, Default)]
pub struct Outbox {
    pub log: BTreeMap<DeliveryId, Delivery>,
    queue: VecDeque<DeliveryId>,
    /// Deliveries that still have to be overtaken by so many others.
    late: Vec<(usize, DeliveryId)>,
    in_flight: usize,
    pub webhooks: Webhooks,
}

/// Whether the webhooks of an operation are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Webhooks {
    #[default]
    Sent,
    /// No event leaves: as if every webhook of the operation were lost.
    Lost,
}

impl Outbox {
    pub fn push(&mut self, delivery: Delivery) {
        if delivery.state == DeliveryState::Waiting {
            self.queue.push_back(delivery.id);
            self.overtake();
        }
        self.log.insert(delivery.id, delivery);
    }

    /// Queues one to be sent after `by` later ones, or once nothing else waits.
    pub fn push_late(&mut self, delivery: Delivery, by: usize) {
        self.late.push((by, delivery.id));
        self.log.insert(delivery.id, delivery);
    }

    fn overtake(&mut self) {
        for (left, _) in &mut self.late {
            *left = left.saturating_sub(1);
        }
        let queue = &mut self.queue;
        self.late.retain(|(left, id)| {
            if *left == 0 {
                queue.push_back(*id);
            }
            *left > 0
        });
    }

    /// Takes the next one out of the queue.
    pub fn next(&mut self) -> Option<Delivery> {
        let id = self
            .queue
            .pop_front()
            .or_else(|| (!self.late.is_empty()).then(|| self.late.remove(0).1))?;
        let delivery = self.log.get_mut(&id)?;
        delivery.state = DeliveryState::InFlight;
        self.in_flight += 1;
        Some(delivery.clone())
    }

    /// Notes how one that was taken ended.
    pub fn finish(&mut self, id: DeliveryId, state: DeliveryState, at: Timestamp) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if let Some(delivery) = self.log.get_mut(&id) {
            (delivery.state, delivery.at) = (state, at);
        }
    }

    /// Whether everything caused so far has been answered, has failed, or is held or lost.
    pub fn is_settled(&self) -> bool {
        self.queue.is_empty() && self.late.is_empty() && self.in_flight == 0
    }

    pub fn counts(&self) -> DeliveryCounts {
        let sent: Vec<_> = self
            .log
            .values()
            .filter(|delivery| delivery.is_listed())
            .collect();
        let distinct: BTreeSet<_> = sent
            .iter()
            .map(|delivery| (delivery.app, delivery.guid))
            .collect();
        DeliveryCounts {
            sent: sent.len(),
            accepted: sent.iter().filter(|delivery| delivery.accepted()).count(),
            duplicate: sent.len() - distinct.len(),
        }
    }

    /// Lets held deliveries go, after all that waits already.
    pub fn release(&mut self) {
        for delivery in self
            .log
            .values_mut()
            .filter(|delivery| delivery.state == DeliveryState::Held)
        {
            delivery.state = DeliveryState::Waiting;
            self.queue.push_back(delivery.id);
        }
    }
}

//! Comments that must notify.

use crate::{escalation::fix_request::Whom, ids::GateName, policy::Trigger};

/// A comment that must notify: posted once, found again by its marker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Post {
    GateRequest {
        gate: GateName,
        round: u32,
    },
    /// To the approvers of a gate that has waited too long.
    GateReminder {
        gate: GateName,
        round: u32,
    },
    Escalation {
        trigger: Trigger,
        attempt: u32,
        /// Counts from 1: the same cause at the same attempt may go away by itself and come back.
        call: u32,
    },
    MergedOverOpenGates,
    /// A fixer that works elsewhere is asked to mend this attempt.
    FixRequest {
        whom: Whom,
        attempt: u32,
    },
}

impl Post {
    /// The text of the hidden idempotency marker, unique per pull request and cause.
    pub fn key(&self) -> String {
        match self {
            Self::GateRequest { gate, round } => format!("gate:{gate}:{round}"),
            Self::GateReminder { gate, round } => format!("gate-reminder:{gate}:{round}"),
            Self::Escalation { trigger, attempt, call: 1 } => format!("escalation:{}:{attempt}", trigger.as_str()),
            Self::Escalation { trigger, attempt, call } => format!("escalation:{}:{attempt}:{call}", trigger.as_str()),
            Self::MergedOverOpenGates => "bypassed".to_owned(),
            Self::FixRequest { whom: Whom::Fixer, attempt } => format!("fix:{attempt}"),
            Self::FixRequest { whom: Whom::Senior, attempt } => format!("fix-senior:{attempt}"),
        }
    }

    /// The newest attempt that had failed when a post with this key was made; none where the key tells of no attempt.
    pub fn attempt_failed(key: &str) -> Option<u32> {
        let mut parts = key.split(':');
        match parts.next()? {
            "escalation" => {
                let trigger = parts.next()?;
                let attempt: u32 = parts.next()?.parse().ok()?;
                // These two come while an attempt's evidence or approval is waited for.
                let waits = [Trigger::ExternalDependencyDown, Trigger::GateTimeout].map(Trigger::as_str);
                Some(if waits.contains(&trigger) { attempt.saturating_sub(1) } else { attempt })
            }
            "fix" | "fix-senior" => parts.next()?.parse().ok(),
            _ => None,
        }
    }
}

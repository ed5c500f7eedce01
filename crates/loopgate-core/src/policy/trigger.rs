//! The causes of an escalation as the configuration names them, and what each does by default: `data/causes.toml`, which
//! `build.rs` writes as code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EscalationAction;

include!(concat!(env!("OUT_DIR"), "/triggers.rs"));

/// What a cause does where the configuration says nothing.
#[derive(Clone, Copy)]
struct Terms {
    action: EscalationAction,
    calls: Called,
    needs_a_decision: bool,
    waits_for: Option<WaitsFor>,
}

/// The key of `escalation:` that says who is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    Notify,
    Ops,
    ProductOwner,
}

/// What is waited for while a cause calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// That of an attempt.
    Evidence,
    /// That of a gate.
    Approval,
}

impl Trigger {
    /// What it does by default.
    pub const fn default_action(self) -> EscalationAction {
        self.terms().action
    }

    /// Who is called by default.
    pub const fn calls(self) -> Called {
        self.terms().calls
    }

    /// Whether a later passing push is not enough: a person must say `/loop resume`.
    pub const fn needs_a_decision(self) -> bool {
        self.terms().needs_a_decision
    }

    /// What it calls for while it is waited for, through no one's failure.
    pub const fn waits_for(self) -> Option<WaitsFor> {
        self.terms().waits_for
    }

    /// Whether it is about what the attempts came to.
    pub const fn is_of_attempts(self) -> bool {
        self.waits_for().is_none()
    }
}

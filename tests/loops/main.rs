//! `loopgate loop` as its users meet it: real processes in a real repository, with fixers that repair, cheat, do
//! nothing or never end; killed, interrupted, and taken up again.
#![allow(
    clippy::disallowed_methods,
    reason = "tests start what their users would"
)]
#![cfg(unix)]

mod base_tests;
mod damage;
mod endings;
mod evidence_folder;
mod exporting;
mod inspecting;
mod interruptions;
#[path = "../config/json_schema.rs"]
#[expect(dead_code, reason = "property names are asked for elsewhere")]
mod json_schema;
mod kit;
mod lost_results;
mod planted;
mod recorded;
mod remembering;
mod setting_up;
mod stop_hooks;
mod surroundings;

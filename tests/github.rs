//! The GitHub room against a whole GitHub: the simulator on loopback.

#[path = "github/bench.rs"]
mod bench;
#[path = "github/cost.rs"]
mod cost;
#[path = "github/folding.rs"]
mod folding;
#[path = "github/group.rs"]
mod group;
#[path = "github/makers.rs"]
mod makers;
#[path = "github/names.rs"]
mod names;
#[path = "github/objects.rs"]
mod objects;
#[path = "github/observe.rs"]
mod observe;
#[path = "github/organisation.rs"]
mod organisation;
#[path = "fixtures/packed.rs"]
mod packed;
#[path = "github/reconcile.rs"]
mod reconcile;
#[path = "github/refusals.rs"]
mod refusals;
#[path = "github/reviewers.rs"]
mod reviewers;
#[path = "github/statement.rs"]
mod statement;
#[path = "github/storage.rs"]
mod storage;
#[path = "fixtures/unpacked.rs"]
mod unpacked;

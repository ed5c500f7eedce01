//! `.github/loopgate.yml` → [`Policy`](loopgate_core::policy::Policy).
//!
//! A text becomes a tree that knows where everything was written (`yaml`, `node`). Layers of trees are merged
//! (`load`), the result becomes the types of the file (`de`, `sections`), and these become the policy, every default
//! filled in and every number in its range. An error on the way is reported with line, column, the line itself, and
//! what was probably meant.
//!
//! The files import each other in one direction only: `problem`, `source`, `node`, `yaml`; then `de` and `sections`;
//! then `presets` and `schema`; then `load`; then `online`.

mod de;
mod leaf;
mod load;
mod node;
mod online;
mod presets;
mod problem;
mod schema;
mod sections;
mod source;
mod suggest;
mod yaml;

pub use load::{LoadedPolicy, Setting, effective, load, parse, presets};
pub use online::{OnlineFindings, online};
pub use schema::schema;
pub use source::Source;

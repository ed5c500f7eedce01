//! `.github/loopgate.yml` → [`Policy`](loopgate_core::policy::Policy).
//!
//! A text becomes a tree that knows where everything was written (`yaml`, `node`). Layers of trees are merged
//! (`layer`), the result becomes the types of the file (`de`, `sections`), and these become the policy, every default
//! filled in and every number in its range. An error on the way is reported with line, column, the line itself, and
//! what was probably meant.
//!
//! The files import each other in one direction only: `place`, `problem`, `source`, `node`, `yaml`, `defaults`; then `de`, `lower`
//! and `sections`; then `schema` and `keys`, `presets`, `layer` and `collect_errors`; then `load`; then `pointer`,
//! `effective` and `online`.

mod collect_errors;
mod de;
mod defaults;
mod effective;
mod keys;
mod layer;
mod leaf;
mod load;
mod lower;
mod node;
mod online;
mod place;
mod pointer;
mod presets;
mod problem;
mod scalar;
mod schema;
mod sections;
mod source;
mod suggest;
mod wrappers;
mod yaml;

pub use effective::{Setting, ValueOrigin, effective};
pub use load::{ConfigErrors, LoadedPolicy, load, parse, presets};
pub use online::{OnlineFindings, online};
pub use schema::schema;
pub use source::Source;

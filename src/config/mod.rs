//! `.github/loopgate.yml` → [`Policy`](loopgate_core::policy::Policy).
//!
//! A text is read twice: for its values by `serde_yaml`, for its places by `saphyr-parser`; together they are a tree
//! that knows where everything was written (`node`). Layers of trees are merged (`layer`), the result becomes the
//! types of the file (`de`, `sections`), and these become the policy, every default filled in and every number in its
//! range. Whatever is wrong on the way is told with line, column, the line itself, and what was probably meant.

mod collect_errors;
mod de;
mod effective;
mod keys;
mod layer;
mod leaf;
mod load;
mod lower;
mod node;
mod online;
mod places;
mod pointer;
mod presets;
mod problem;
mod schema;
mod sections;
mod source;
mod suggest;
mod wrappers;

pub use effective::{Origin, Setting, effective};
pub use load::{ConfigErrors, Loaded, load, parse};
pub use online::{OnlineFindings, online};
pub use presets::presets;
pub use schema::schema;
pub use source::Source;

//! How tests and the demo act in the world and look at it. Their methods read like a conversation on a pull request.

mod admin;
mod ci;
mod handle;
mod person;
mod spec;
mod view;

pub use admin::Admin;
pub use ci::Ci;
pub use person::Person;
pub use spec::{CheckSpec, CommitSpec, Pr, PullSpec, RunSpec};
pub use view::{
    CheckRunView, CommentView, Mergeable, PullState, PullView, RefView, ReviewView, WorkflowView,
};

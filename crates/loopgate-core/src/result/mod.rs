//! The result of a decision as one tree: what holds a pull request, what is satisfied, what only advises, and what is
//! not known. `loopgate explain` shows it, and each id has a paragraph in `docs/results.md`.

mod id;
mod tree;

#[cfg(test)]
pub(crate) mod tests;

pub use self::{
    id::{CheckState, ItemId},
    tree::{About, Item, ItemStatus, tree},
};

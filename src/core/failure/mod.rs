//! Understanding a failure: what makes it the same as another, where it comes from, and what would mend it.

mod blame;
mod category;

pub use blame::Blame;
pub use category::RootCauseCategory;

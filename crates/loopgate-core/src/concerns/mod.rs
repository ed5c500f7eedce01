//! Concerns: what is asked of a pull request, a folder or file each. A concern reads the facts, the policy and what the
//! state keeps for it, and enters no concern but those above it.
//!
//! ```text
//! facts         capabilities  what is open of the list in the description
//!               queue         how the pull request left a merge queue
//!               coverage      which lines of the change tests execute, and which sorts of tests it came with
//! people        gates         what asks for a person, who may approve, and what an approval is bound to
//!               review        who turns the head down
//!               reviewers     reviewers that are programs
//! checks        checks        how each check of the head stands
//! comparisons   tampering     how the change weakens what checks it
//!               verdict       which rules fail, whose failures they are, and the score
//!               attempts      how the head compares with earlier ones, and what is run again
//! afterwards    disputes      tests that somebody calls wrong
//!               fixer         what a senior fixer, or one that works elsewhere, is asked
//!               escalation    when a person is called, whom it concerns, and the question to them
//! ```

pub mod attempts;
pub mod capabilities;
pub mod checks;
pub mod coverage;
pub mod disputes;
pub mod escalation;
pub mod fixer;
pub mod gates;
pub mod queue;
pub mod review;
pub mod reviewers;
pub mod tampering;
pub mod verdict;

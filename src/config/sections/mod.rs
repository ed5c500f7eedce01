//! The sections of the file: for each, how it is written (types that are also its schema) and what it means (its part
//! of the [`Policy`](loopgate_core::policy::Policy)). Doc comments of the written types are what editors show.

pub(super) mod coverage;
pub(super) mod evaluate;
pub(super) mod file;
pub(super) mod fixer;
pub(super) mod gates;
pub(super) mod trigger;
pub(super) mod verify;

use super::{
    node::{Kind, Node},
    problem::{Place, Problem, shorten},
};

/// A policy in the making. An error is written down, and the making goes on, so that all errors are reported.
#[derive(Debug, Default)]
pub(super) struct Lowering {
    pub problems: Vec<Problem>,
    /// Accepted, but worth a look.
    pub warnings: Vec<Problem>,
}

impl Lowering {
    pub fn refuse(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Nothing, since what was written is refused.
    pub fn refused<T>(&mut self, problem: Problem) -> Option<T> {
        self.refuse(problem);
        None
    }

    /// A limit on how many of something there are, so that what is done for each stays little.
    pub fn at_most(&mut self, limit: usize, node: &Node, what: &str) -> bool {
        let beyond = match &node.kind {
            Kind::List(items) => items.get(limit),
            Kind::Map(map) => map.get_index(limit).map(|(_, entry)| &entry.node),
            _ => None,
        };
        if let Some(beyond) = beyond {
            self.refuse(Problem::wrong(
                beyond.place,
                format!("more than {limit} {what}"),
            ));
        }
        beyond.is_none()
    }

    /// A path inside the repository.
    pub fn inside_repository(&mut self, written: String, node: &Node) -> String {
        let path = written.replace('\\', "/");
        let leaves =
            path.starts_with('/') || path.contains(':') || path.split('/').any(|part| part == "..");
        if leaves || path.is_empty() || path.contains('\0') {
            let message = format!(
                "`{}` is not a path inside the repository",
                shorten(&written)
            );
            self.refuse(Problem::wrong(node.place, message));
        }
        written
    }

    /// Text that must not be blank.
    pub fn some_text(&mut self, written: String, node: &Node, what: &str) -> String {
        if written.trim().is_empty() {
            self.refuse(Problem::wrong(node.place, format!("{what} is empty")));
        }
        written
    }

    /// A label as the platform takes it: 1 to 50 characters.
    pub fn label(&mut self, place: Place, name: String) -> String {
        let length = name.chars().count();
        if length > 50 {
            let message = format!(
                "a label has at most 50 characters; `{}` has {length}",
                shorten(&name)
            );
            self.refuse(Problem::wrong(place, message));
        } else if name.trim().is_empty() || name.chars().any(char::is_control) {
            self.refuse(Problem::wrong(
                place,
                "a label needs a visible name on one line",
            ));
        }
        name
    }
}

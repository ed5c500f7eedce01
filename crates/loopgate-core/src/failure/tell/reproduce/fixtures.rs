//! What the tests here have in common.

use super::CheckContext;
use crate::{CheckName, evidence::CheckKind};

/// A test check with this command line, from the top of the repository.
pub fn running<T>(command: &str, then: impl FnOnce(&CheckContext<'_>) -> T) -> T {
    let name: CheckName = "unit".parse().expect("a name");
    then(&CheckContext { name: &name, kind: CheckKind::Test, framework: None, command: Some(command), directory: None })
}

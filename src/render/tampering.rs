//! How a change weakens what checks it, as one clause. Names from outside stand in it as they are; who shows it makes it
//! safe.

use loopgate_core::verdict::tamper::Tampering;

pub(super) fn tampering(found: &Tampering) -> String {
    match (&found.path, found.line) {
        (Some(path), 0) => format!("{path}: {}", found.deed),
        (Some(path), line) => format!("{path}:{line}: {}", found.deed),
        (None, _) => found.deed.clone(),
    }
}

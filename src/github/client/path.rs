//! Paths of the REST API, with names from outside in them.

use loopgate_core::RepoName;
use loopgate_render::percent_encoded;

/// `/repos/{owner}/{name}`; both parts are plain by construction.
pub(crate) fn repo(name: &RepoName) -> String {
    format!("/repos/{name}")
}

/// One segment of a path or one value of a query: everything but letters, digits and `-._~` escaped.
pub(crate) fn escape(text: &str) -> String {
    percent_encoded(text, "-._~")
}

/// Several segments: slashes stay.
pub(crate) fn escape_path(text: &str) -> String {
    percent_encoded(text, "-._~/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_segment() {
        assert_eq!(escape("needs: a/b?x#é"), "needs%3A%20a%2Fb%3Fx%23%C3%A9");
        assert_eq!(escape_path("feature/a b"), "feature/a%20b");
    }
}

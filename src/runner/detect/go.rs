//! Go: the go command alone.

use super::usual::Usual;
use loopgate_core::evidence::CheckKind as K;

/// `./cart.go:3:23: undefined: total`, from vet with its name in front.
const COMPILER: &str = r"^(?:vet: )?(?P<file>[^:\s]+\.go):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<message>.+)$";

pub(super) fn checks() -> Vec<Usual> {
    vec![
        Usual::new("build", K::Build, "go build ./...").reading(COMPILER),
        Usual::new("test", K::Test, "go test -json ./...").needing(&["build"]),
        Usual::new("lint", K::Lint, "go vet ./...").reading(COMPILER).needing(&["build"]),
    ]
}

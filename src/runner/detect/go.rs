//! Go: the go command alone.

use super::{
    Purpose,
    usual::{Site, Usual},
};
use loopgate_core::evidence::CheckKind as K;

/// `./cart.go:3:23: undefined: total`, from vet with its name in front.
const COMPILER: &str = r"^(?:vet: )?(?P<file>[^:\s]+\.go):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<message>.+)$";

pub(super) fn checks(site: &Site<'_>) -> Vec<Usual> {
    // The race detector needs a C compiler, which may not be here.
    let races = |text: &String| text.lines().any(|line| line.contains("go test") && line.contains(" -race"));
    let race = if site.purpose == Purpose::WriteDown && site.scripts().iter().any(races) { " -race" } else { "" };
    vec![
        Usual::new("build", K::Build, "go build ./...").reading(COMPILER),
        Usual::new("test", K::Test, format!("go test{race} -json ./...")).needing(&["build"]),
        Usual::new("lint", K::Lint, "go vet ./...").reading(COMPILER).needing(&["build"]),
    ]
}

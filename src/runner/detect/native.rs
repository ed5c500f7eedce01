//! C and C++ by CMake and CTest, and whatever else has a Makefile with tests.

use super::usual::{Site, Usual};
use loopgate_core::evidence::CheckKind as K;

/// `src/cart.c:3:5: error: expected ';' before 'return'`
const COMPILER: &str = r"^(?P<file>[^:\s][^:]*\.(?:c|cc|cpp|cxx|h|hh|hpp|hxx|m|mm)):(?P<line>\d+):(?P<column>\d+): (?:fatal )?(?P<severity>error): (?P<message>.+)$";

pub(super) fn cmake(site: &Site<'_>) -> Vec<Usual> {
    let mut checks = vec![
        Usual::new("build", K::Build, "cmake -S . -B build && cmake --build build --parallel 4").reading(COMPILER),
    ];
    let lists = site.text("CMakeLists.txt").to_lowercase();
    if ["enable_testing", "include(ctest)", "include( ctest )"].iter().any(|word| lists.contains(word)) {
        let report = site.report("ctest.xml");
        let run = format!("ctest --test-dir build --output-on-failure --output-junit {report}");
        checks.push(Usual::new("test", K::Test, run).needing(&["build"]));
    }
    checks
}

/// The target by which a Makefile's people run their tests.
pub(super) fn make(site: &Site<'_>) -> Vec<Usual> {
    let text = ["GNUmakefile", "makefile", "Makefile"].map(|file| site.text(file)).concat();
    let is_target = |name: &&str| {
        text.lines().any(|line| {
            line.strip_prefix(name).is_some_and(|rest| {
                let rest = rest.trim_start();
                rest.starts_with(':') && !rest.starts_with(":=")
            })
        })
    };
    let target = ["test", "check", "tests"].into_iter().find(is_target);
    target.map(|name| Usual::new("test", K::Test, format!("make {name}")).reading(COMPILER)).into_iter().collect()
}

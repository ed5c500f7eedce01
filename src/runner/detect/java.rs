//! Java and its kin: Maven and Gradle, by their wrappers where the project brings them.

use super::usual::{Site, Usual};
use loopgate_core::evidence::CheckKind as K;

/// `[ERROR] /srv/shop/src/Cart.java:[8,16] cannot find symbol`
const MAVEN: &str = r"^\[(?P<severity>ERROR)\] (?P<file>\S+\.(?:java|kt|scala|groovy)):\[(?P<line>\d+),(?P<column>\d+)\] (?P<message>.+)$";
/// `/srv/shop/src/Cart.java:8: error: cannot find symbol`, and `e: file:///srv/shop/src/Cart.kt:8:5 Unresolved …`
const GRADLE: &str = r"^(?:e: (?:file://)?)?(?P<file>/\S+?\.(?:java|kt|scala|groovy)):(?P<line>\d+)(?::(?P<column>\d+))?:? (?:error: )?(?P<message>.+)$";

pub(super) fn maven(site: &Site<'_>) -> Vec<Usual> {
    let mvn = by_wrapper(site, "mvnw", "mvn");
    vec![
        Usual::new("build", K::Build, format!("{mvn} -B -q compile")).reading(MAVEN),
        // Without it, Surefire 2 keeps the tests' own frames alone, and the code that failed is not in the report.
        Usual::new("test", K::Test, format!("{mvn} -B test -DtrimStackTrace=false"))
            .reading(MAVEN)
            .reporting(&["**/target/surefire-reports/TEST-*.xml"])
            .needing(&["build"]),
    ]
}

pub(super) fn gradle(site: &Site<'_>) -> Vec<Usual> {
    let gradle = by_wrapper(site, "gradlew", "gradle");
    vec![
        Usual::new("build", K::Build, format!("{gradle} classes")).reading(GRADLE),
        // Tests that are up to date are not run again, and would leave the reports of an earlier run.
        Usual::new("test", K::Test, format!("{gradle} cleanTest test --continue"))
            .reading(GRADLE)
            .reporting(&["**/build/test-results/**/TEST-*.xml"])
            .needing(&["build"]),
    ]
}

/// The project's own wrapper where it brings one. Whoever commits from Windows often leaves it without its executable bit.
fn by_wrapper(site: &Site<'_>, wrapper: &str, program: &str) -> String {
    match site.directory.join(wrapper).metadata() {
        Ok(file) if file.is_file() && is_executable(&file) => format!("./{wrapper}"),
        Ok(file) if file.is_file() => format!("sh ./{wrapper}"),
        _ => program.to_owned(),
    }
}

#[cfg(unix)]
fn is_executable(file: &std::fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    true
}

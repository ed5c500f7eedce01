//! Where checks run: the versions of the tools they run with.

use std::{path::Path, time::Duration};

use super::{
    command::{self, CommandLine, Ending, Interrupt},
    detect::{Ecosystem, Project, projects},
    schedule::Plan,
};
use loopgate_core::evidence::{Environment, TestFramework, framework_of};

/// A tool that has not printed its version after so long is not waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Ecosystems whose versions are listed.
const MOST: usize = 3;

/// The environment of a plan's checks. Asks the tools of the repository's projects for their versions, all at once.
pub async fn environment(plan: &Plan) -> Environment {
    let mut asked: Vec<(Ecosystem, Project)> = Vec::new();
    for project in projects(plan.root()) {
        if asked.len() < MOST
            && !asked
                .iter()
                .any(|(ecosystem, _)| *ecosystem == project.ecosystem)
        {
            asked.push((project.ecosystem, project));
        }
    }
    let versions = asked
        .iter()
        .map(|(ecosystem, project)| version(*ecosystem, plan.root().join(&project.directory)));
    let versions: Vec<String> = futures::future::join_all(versions)
        .await
        .into_iter()
        .flatten()
        .collect();
    // That of the first test check that names one; `other` for tests that name none.
    let tests = plan
        .checks
        .values()
        .filter(|one| one.kind.is_of_tests())
        .map(|one| framework_of(&one.command.run));
    let tests: Vec<TestFramework> = tests.collect();
    let named = tests
        .iter()
        .find(|framework| **framework != TestFramework::Other);
    Environment {
        os: std::env::consts::OS.to_owned(),
        runtime: (!versions.is_empty()).then(|| versions.join(", ")),
        framework: named.or(tests.first()).copied(),
    }
}

async fn version(ecosystem: Ecosystem, directory: impl AsRef<Path>) -> Option<String> {
    let row = ecosystem.row();
    let command = row
        .version_on_windows
        .as_ref()
        .filter(|_| cfg!(windows))
        .unwrap_or(&row.version);
    let line = CommandLine::new(command, directory.as_ref(), PATIENCE);
    let never = Interrupt::new();
    let finished = command::run(line, never, |_| (), |_| {}).await;
    (finished.ending == Ending::Exited(0))
        .then(|| version_in(ecosystem, &finished.output.head))
        .flatten()
}

/// `rustc 1.95.0`, `node 20.20.2`, `Python 3.11.7`, `go 1.22.1`, `java 17.0.15`.
fn version_in(ecosystem: Ecosystem, output: &str) -> Option<String> {
    let number = output
        .lines()
        .flat_map(|line| line.split([' ', '"']))
        .find_map(|word| {
            let number = word.trim_start_matches("go").trim_start_matches('v');
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_');
            let is_version =
                number.starts_with(|c: char| c.is_ascii_digit()) && number.chars().all(plain);
            (is_version && number.len() <= 40).then_some(number)
        })?;
    Some(format!("{} {number}", ecosystem.row().runtime))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_tools_tell_them() {
        for (ecosystem, output, expected) in [
            (
                Ecosystem::Rust,
                "rustc 1.95.0 (59807616e 2026-04-14)\n",
                Some("rustc 1.95.0"),
            ),
            (Ecosystem::Node, "v20.20.2\n", Some("node 20.20.2")),
            (
                Ecosystem::Python,
                "Python 3.13.0rc1\n",
                Some("Python 3.13.0rc1"),
            ),
            (
                Ecosystem::Go,
                "go version go1.22.1 linux/amd64\n",
                Some("go 1.22.1"),
            ),
            (
                Ecosystem::Maven,
                "openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime\n",
                Some("java 17.0.15"),
            ),
            (
                Ecosystem::Maven,
                "Picked up JAVA_TOOL_OPTIONS: -Xmx2g\nopenjdk version \"21\"\n",
                Some("java 21"),
            ),
            (Ecosystem::Go, "", None),
        ] {
            assert_eq!(
                version_in(ecosystem, output).as_deref(),
                expected,
                "{output}"
            );
        }
    }
}

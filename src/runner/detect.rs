//! Zero configuration: the usual checks of a project, by the files at its top.

use std::path::Path;

use chrono::TimeDelta;
use indexmap::IndexMap;

use crate::core::{
    CheckName,
    evidence::CheckKind,
    policy::{CheckPolicy, CheckPresence, CheckSource, CommandCheck},
};

/// What a project is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecosystem {
    Rust,
    Node,
    Python,
    Go,
    Maven,
    Gradle,
}

/// A detected command takes as long as it takes, within the largest time a check has without a configuration.
const TIMEOUT: TimeDelta = TimeDelta::seconds(600);

/// The ecosystems found at the top of a project, in order.
pub fn ecosystems(root: &Path) -> Vec<Ecosystem> {
    use Ecosystem as E;
    let signs: [(E, &[&str]); 6] = [
        (E::Rust, &["Cargo.toml"]),
        (E::Node, &["package.json"]),
        (E::Python, &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "manage.py"]),
        (E::Go, &["go.mod"]),
        (E::Maven, &["pom.xml"]),
        (E::Gradle, &["build.gradle", "build.gradle.kts"]),
    ];
    let is_there = |files: &&[&str]| files.iter().any(|file| root.join(file).is_file());
    signs.into_iter().filter(|(_, files)| is_there(files)).map(|(ecosystem, _)| ecosystem).collect()
}

/// The usual checks of what is found. With several ecosystems, each check is named after its own.
pub fn checks(root: &Path) -> IndexMap<CheckName, CheckPolicy> {
    let found = ecosystems(root);
    let mut checks = IndexMap::new();
    for ecosystem in &found {
        for (name, kind, run, needs) in commands(*ecosystem, root) {
            let named = |name: &str| match found.len() {
                1 => name.to_owned(),
                _ => format!("{}-{name}", ecosystem.as_str()),
            };
            let Ok(check_name) = named(name).parse::<CheckName>() else { continue };
            let mut command = CommandCheck::new(run);
            command.timeout = TIMEOUT;
            command.needs = needs.iter().filter_map(|need| named(need).parse().ok()).collect();
            let source = CheckSource::Command(command);
            checks.insert(check_name, CheckPolicy { kind, source, presence: CheckPresence::Detected });
        }
    }
    checks
}

impl Ecosystem {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Node => "node",
            Self::Python => "python",
            Self::Go => "go",
            Self::Maven => "maven",
            Self::Gradle => "gradle",
        }
    }
}

type Usual = (&'static str, CheckKind, String, &'static [&'static str]);

fn usual(name: &'static str, kind: CheckKind, run: &str, needs: &'static [&'static str]) -> Usual {
    (name, kind, run.to_owned(), needs)
}

fn commands(ecosystem: Ecosystem, root: &Path) -> Vec<Usual> {
    use CheckKind as K;
    match ecosystem {
        Ecosystem::Rust => vec![
            usual("build", K::Build, "cargo build", &[]),
            usual("unit", K::Test, "cargo test --no-fail-fast", &["build"]),
            usual("lint", K::Lint, "cargo clippy", &["build"]),
            usual("format", K::Lint, "cargo fmt --check", &[]),
        ],
        Ecosystem::Node => node(root),
        Ecosystem::Python if root.join("manage.py").is_file() => vec![
            usual("build", K::Build, "python manage.py check", &[]),
            usual("unit", K::Test, "python manage.py test", &["build"]),
        ],
        Ecosystem::Python => vec![usual("unit", K::Test, "python -m pytest", &[])],
        Ecosystem::Go => vec![
            usual("build", K::Build, "go build ./...", &[]),
            usual("unit", K::Test, "go test -json ./...", &["build"]),
            usual("lint", K::Lint, "go vet ./...", &["build"]),
        ],
        Ecosystem::Maven => {
            vec![usual("build", K::Build, "mvn -B -q compile", &[]), usual("unit", K::Test, "mvn -B test", &["build"])]
        }
        Ecosystem::Gradle => {
            let gradle = if root.join("gradlew").is_file() { "./gradlew" } else { "gradle" };
            vec![
                usual("build", K::Build, &format!("{gradle} classes"), &[]),
                usual("unit", K::Test, &format!("{gradle} test"), &["build"]),
            ]
        }
    }
}

/// The scripts of package.json that there are, by the package manager whose lock file there is.
fn node(root: &Path) -> Vec<Usual> {
    use CheckKind as K;
    let manager = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun")]
        .into_iter()
        .find(|(lock, _)| root.join(lock).is_file())
        .map_or("npm", |(_, manager)| manager);
    let manifest = std::fs::read_to_string(root.join("package.json")).unwrap_or_default();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap_or_default();
    let wanted: [(&str, &str, CheckKind, &'static [&'static str]); 4] = [
        ("build", "build", K::Build, &[]),
        ("unit", "test", K::Test, &["build"]),
        ("lint", "lint", K::Lint, &[]),
        ("types", "typecheck", K::Types, &[]),
    ];
    let is_there = |script: &str| manifest["scripts"][script].is_string();
    wanted
        .into_iter()
        .filter(|(_, script, ..)| is_there(script))
        .map(|(name, script, kind, needs)| usual(name, kind, &format!("{manager} run {script}"), needs))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            std::fs::write(folder.path().join(path), content).unwrap();
        }
        let run = |check: &CheckPolicy| match &check.source {
            CheckSource::Command(command) => command.run.clone(),
            CheckSource::External(_) => String::new(),
        };
        checks(folder.path()).iter().map(|(name, check)| (name.to_string(), run(check))).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, run)| ((*name).to_owned(), (*run).to_owned())).collect()
    }

    #[test]
    fn the_files_at_the_top_tell_the_usual_commands() {
        assert_eq!(detected(&[]), pairs(&[]));
        assert_eq!(detected(&[("pyproject.toml", "")]), pairs(&[("unit", "python -m pytest")]));
        let package = r#"{ "scripts": { "test": "vitest run", "lint": "eslint ." } }"#;
        assert_eq!(
            detected(&[("package.json", package), ("pnpm-lock.yaml", "")]),
            pairs(&[("unit", "pnpm run test"), ("lint", "pnpm run lint")])
        );
    }

    #[test]
    fn several_ecosystems_keep_their_checks_apart() {
        let names: Vec<String> =
            detected(&[("go.mod", ""), ("pom.xml", "")]).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["go-build", "go-unit", "go-lint", "maven-build", "maven-unit"]);
    }
}

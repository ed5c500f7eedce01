//! Node and TypeScript: the scripts of package.json that there are, by the package manager whose lock file there is.
//!
//! A script is run as it is. Where its last command is a test runner or linter that writes reports, it is asked for
//! one: by options behind the script's own.

use super::{
    site::{Manifest, Site},
    table::Usual,
};
use loopgate_core::evidence::CheckKind as K;

/// Names under which packages keep the script that checks types.
const TYPES: [&str; 7] = ["typecheck", "type-check", "types", "check-types", "check:types", "check:type", "tsc"];
/// What scripts that lint are called.
const LINT: [&str; 3] = ["lint", "check:lint", "lint:check"];

loopgate_core::words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
    pub(super) enum Manager {
        Npm = "npm",
        Pnpm = "pnpm",
        Yarn = "yarn",
        Bun = "bun",
    }
}

impl Manager {
    /// By the nearest lock file, else by the field `packageManager`.
    pub fn of(site: &Site<'_>) -> Self {
        const LOCKS: [(&str, Manager); 6] = [
            ("pnpm-lock.yaml", Manager::Pnpm),
            ("yarn.lock", Manager::Yarn),
            ("bun.lock", Manager::Bun),
            ("bun.lockb", Manager::Bun),
            ("package-lock.json", Manager::Npm),
            ("npm-shrinkwrap.json", Manager::Npm),
        ];
        for above in site.upwards() {
            if let Some((_, manager)) = LOCKS.into_iter().find(|(lock, _)| above.join(lock).is_file()) {
                return manager;
            }
            let manifest = Manifest::read(&above.join("package.json"));
            let named = manifest.text(&["packageManager"]).and_then(|named| named.split('@').next());
            if let Some(manager) = named.and_then(Self::of_word) {
                return manager;
            }
        }
        Self::Npm
    }

    /// The command for a script, with options for what the script runs.
    fn run(self, script: &str, options: &str) -> String {
        let between = match self {
            _ if options.is_empty() => "",
            // npm keeps what stands before `--` for itself; the others hand everything on, `--` too.
            Self::Npm => " -- ",
            Self::Pnpm | Self::Yarn | Self::Bun => " ",
        };
        format!("{} run {script}{between}{options}", self.as_str())
    }
}

pub(super) fn checks(site: &Site<'_>) -> Vec<Usual> {
    let manifest = site.manifest("package.json");
    let manager = Manager::of(site);
    // `npm init` writes a script that says so where there are no tests.
    let is_real = |script: &&str| !script.contains("no test specified") && !hands_over(script);
    let script = |name: &str| manifest.text(&["scripts", name]).filter(is_real);
    let mut checks = Vec::new();
    if script("build").is_some() {
        checks.push(Usual::new("build", K::Build, manager.run("build", ""), Some("tsc")));
    }
    if let Some(text) = script("test") {
        checks.push(Usual::new("test", K::Test, manager.run("test", &test_options(text, site)), None));
    }
    if let Some((name, text)) = LINT.into_iter().find_map(|name| Some((name, script(name)?))) {
        let options = match last_command(text).first() {
            Some(&"eslint") => format!("--format=json --output-file={}", site.report("eslint.json")),
            _ => String::new(),
        };
        checks.push(Usual::new("lint", K::Lint, manager.run(name, &options), None));
    }
    if let Some(name) = TYPES.into_iter().find(|name| script(name).is_some()) {
        checks.push(Usual::new("types", K::Types, manager.run(name, ""), Some("tsc")));
    }
    checks
}

/// Whether a script of a workspace only has each package run its own script of the same name. The packages are checks of
/// their own then, which know where they ran and what their tests did.
pub(super) fn hands_over(script: &str) -> bool {
    const EACH: [&str; 5] = ["-ws", "--workspaces", "-r", "--recursive", "foreach"];
    let words = last_command(script);
    let by_manager = matches!(words.first(), Some(&("npm" | "pnpm" | "yarn")));
    // A selection of packages is more than handing over.
    let selects = |word: &&str| matches!(*word, "--include" | "--from" | "-w") || word.starts_with("--filter");
    !script.contains("&&") && by_manager && words.iter().any(|word| EACH.contains(word)) && !words.iter().any(selects)
}

/// Options that make a test runner write a report.
fn test_options(script: &str, site: &Site<'_>) -> String {
    match last_command(script).as_slice() {
        ["jest", ..] => format!("--json --outputFile={}", site.report("jest.json")),
        ["vitest", ..] => {
            let report = site.report("vitest.xml");
            format!("--run --reporter=default --reporter=junit --outputFile.junit={report}")
        }
        ["mocha", ..] => format!("--reporter xunit --reporter-option output={}", site.report("mocha.xml")),
        // Behind the name of a file, options are the file's.
        ["node", "--test", rest @ ..] if rest.iter().all(|word| word.starts_with("--test")) => {
            "--test-reporter=tap".to_owned()
        }
        ["ava", ..] => "--tap".to_owned(),
        _ => String::new(),
    }
}

/// The words of the command that options behind a script reach: the last of a chain, without variables set for it and
/// without what only starts it. Empty where the shell does more with it than run it.
fn last_command(script: &str) -> Vec<&str> {
    let last = script.rsplit("&&").next().unwrap_or(script);
    if last.contains(['|', ';', '>', '<', '&', '`', '$', '(', '#']) {
        return Vec::new();
    }
    let is_variable = |word: &&str| word.contains('=') && !word.starts_with('-');
    let starts = |word: &&str| matches!(*word, "npx" | "cross-env" | "bunx" | "c8" | "nyc" | "--no-install");
    last.split_whitespace().skip_while(|word| is_variable(word) || starts(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_reach_the_last_command_of_a_script() {
        for (script, expected) in [
            ("jest", vec!["jest"]),
            ("cross-env NODE_ENV=test npx jest --ci", vec!["jest", "--ci"]),
            ("npm run lint && vitest run", vec!["vitest", "run"]),
            ("c8 mocha test/", vec!["mocha", "test/"]),
            ("jest | tee log", vec![]),
            ("jest; echo done", vec![]),
            ("tsc -p . & jest", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(last_command(script), expected, "{script}");
        }
    }
}

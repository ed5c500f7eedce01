//! Ruby: RSpec, Rails' own runner, or the Rakefile's tests; RuboCop where it is among the gems.

use super::usual::{Site, Usual};
use loopgate_core::evidence::CheckKind as K;

/// `lib/cart.rb:3:5: C: Style/StringLiterals: Prefer single-quoted strings`, in the formatter `emacs`.
const RUBOCOP: &str =
    r"^(?P<file>[^:\s][^:]*):(?P<line>\d+):(?P<column>\d+): [A-Z]: (?:\[\w+\] )?(?P<rule>\w+/[\w/]+): (?P<message>.+)$";

pub(super) fn checks(site: &Site<'_>) -> Vec<Usual> {
    let with = if site.has("Gemfile") { "bundle exec " } else { "" };
    let test = if site.has(".rspec") || site.directory.join("spec").is_dir() {
        let report = site.report("rspec.json");
        Some(format!("{with}rspec --format progress --format json --out {report}"))
    } else if site.has("bin/rails") && site.directory.join("test").is_dir() {
        Some("bin/rails test".to_owned())
    } else {
        let rakefile = site.text("Rakefile");
        let has_tests = ["TestTask", "task :test", "task test:"].iter().any(|word| rakefile.contains(word));
        has_tests.then(|| format!("{with}rake test"))
    };
    let mut checks: Vec<Usual> = test.map(|run| Usual::new("test", K::Test, run)).into_iter().collect();
    if site.text("Gemfile").contains("rubocop") {
        let run = format!("{with}rubocop --format emacs");
        checks.push(Usual::new("lint", K::Lint, run).reading(RUBOCOP));
    }
    checks
}

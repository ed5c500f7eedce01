//! Node and TypeScript: the scripts of package.json that there are, by the package manager whose lock file there is.
//!
//! A script is run as it is. Where its last command is a test runner or linter that writes reports, it is asked for
//! one: by options behind the script's own.

use super::{
    Ecosystem,
    site::{self, Site},
    table::{CheckRow, TABLE},
};

/// The command for the script that is a check, with the table's braces. None where the package has no such script.
pub(super) fn call(row: &CheckRow, site: &Site<'_>) -> Option<String> {
    let manifest = site.manifest("package.json");
    // `npm init` writes a script that prints this where there are no tests.
    let is_real = |script: &&str| !script.contains("no test specified") && !hands_over(script);
    let script = |name: &String| {
        Some((
            name.clone(),
            manifest["scripts"][name].as_str().filter(is_real)?,
        ))
    };
    let (name, text) = row.scripts.iter().find_map(script)?;
    let last = last_command(text).join(" ");
    let mut options = TABLE.script_options.iter();
    let options =
        options.find(|(kind, expression, _)| *kind == row.kind && expression.matches(&last));
    let manager = manager(site);
    // npm keeps what stands before `--` for itself; the others hand everything on, `--` too.
    let between = if manager == "npm" { "-- " } else { "" };
    let options = options
        .map(|(.., options)| format!(" {between}{options}"))
        .unwrap_or_default();
    Some(format!("{manager} run {name}{options}"))
}

/// By the nearest lock file, else by the field `packageManager`.
fn manager(site: &Site<'_>) -> String {
    let locks = &Ecosystem::Node.row().locks;
    for above in site.upwards() {
        let manifest = site::manifest(&above.join("package.json"));
        let named = manifest["packageManager"]
            .as_str()
            .and_then(|named| named.split('@').next());
        let locked = locks.iter().find(|lock| above.join(&lock.name).is_file());
        if let Some(lock) = locked.or_else(|| {
            locks
                .iter()
                .find(|lock| Some(lock.writer.as_str()) == named)
        }) {
            return lock.writer.clone();
        }
    }
    "npm".to_owned()
}

/// Whether a script of a workspace only has each package run its own script of the same name. The packages are checks
/// of their own then, which know where they ran and what their tests did.
pub(super) fn hands_over(script: &str) -> bool {
    const EACH: [&str; 5] = ["-ws", "--workspaces", "-r", "--recursive", "foreach"];
    let words = last_command(script);
    let by_manager = matches!(words.first(), Some(&("npm" | "pnpm" | "yarn")));
    // A selection of packages is more than handing over.
    let selects = |word: &&str| {
        matches!(*word, "--include" | "--from" | "-w") || word.starts_with("--filter")
    };
    !script.contains("&&")
        && by_manager
        && words.iter().any(|word| EACH.contains(word))
        && !words.iter().any(selects)
}

/// The words of the command that options behind a script reach: the last of a chain, without variables set for it and
/// without what only starts it. Empty where the shell does more with it than run it.
fn last_command(script: &str) -> Vec<&str> {
    let last = script.rsplit("&&").next().unwrap_or(script);
    if last.contains(['|', ';', '>', '<', '&', '`', '$', '(', '#']) {
        return Vec::new();
    }
    let is_variable = |word: &&str| word.contains('=') && !word.starts_with('-');
    let starts = |word: &&str| {
        matches!(
            *word,
            "npx" | "cross-env" | "bunx" | "c8" | "nyc" | "--no-install"
        )
    };
    last.split_whitespace()
        .skip_while(|word| is_variable(word) || starts(word))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_reach_the_last_command_of_a_script() {
        for (script, expected) in [
            ("jest", vec!["jest"]),
            (
                "cross-env NODE_ENV=test npx jest --ci",
                vec!["jest", "--ci"],
            ),
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

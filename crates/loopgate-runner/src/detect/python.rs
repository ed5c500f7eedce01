//! Python: pytest or unittest, Django's own commands, ruff or flake8, mypy where it is configured.

use std::path::Path;

use super::{
    Ecosystem, Purpose,
    site::{Site, entries, is_installed},
};

/// The project's tests as tox runs them, with what they need and on the Python that is there. Its environments for
/// other versions are left out.
pub(super) fn tox(site: &Site<'_>) -> Option<String> {
    if site.purpose == Purpose::RunHere {
        return None;
    }
    let pyproject = site.manifest("pyproject.toml");
    let ini = pyproject["tool"]["tox"]["legacy_tox_ini"]
        .as_str()
        .map_or_else(|| site.text("tox.ini"), str::to_owned);
    let section = ini
        .split_once("[testenv]")
        .map(|(_, rest)| rest.split("\n[").next().unwrap_or(rest));
    let own = section.and_then(|section| Some(section.split_once("\ncommands")?.1.to_owned()));
    let commands =
        own.unwrap_or_else(|| pyproject["tool"]["tox"]["env_run_base"]["commands"].to_string());
    let takes_options = commands.contains("pytest") && commands.contains("posargs");
    let report = if takes_options {
        format!(" -- --junitxml={}", site.report("pytest.xml"))
    } else {
        String::new()
    };
    commands
        .contains("test")
        .then(|| format!("python -m tox -e py{report}"))
}

/// The packages at the top and in `src`, else the modules at the top. None where there is neither.
pub(super) fn own_code(directory: &Path) -> Option<String> {
    let plain = |name: &str| {
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    let packages = ["", "src"]
        .into_iter()
        .flat_map(|folder| entries(&directory.join(folder), plain));
    let mut code: Vec<_> = packages
        .filter(|path| path.join("__init__.py").is_file())
        .collect();
    code.retain(|path| !path.ends_with("tests") && !path.ends_with("test"));
    if code.is_empty() {
        let is_module = |name: &str| {
            plain(name) && name.ends_with(".py") && !name.contains("test") && name != "setup.py"
        };
        code = entries(directory, is_module);
    }
    let names = code
        .iter()
        .filter_map(|path| path.strip_prefix(directory).ok()?.to_str());
    let words: String = names
        .map(|name| format!(" {}", name.replace('\\', "/")))
        .collect();
    (!words.is_empty()).then_some(words)
}

/// What the project's own people have a linter look at, by the first file that calls it: the rest may be no code of
/// theirs. Empty where they have it look at everything.
pub(super) fn own_paths(site: &Site<'_>, call: &str) -> String {
    let after = |text: String| {
        text.lines()
            .find_map(|line| Some(line.split_once(call)?.1.to_owned()))
    };
    let called = site
        .scripts()
        .into_iter()
        .find_map(after)
        .unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let words = called
        .split_whitespace()
        .filter(|word| !word.starts_with('-') && word.chars().all(plain));
    words
        .filter(|word| site.directory.join(word).exists())
        .map(|word| format!(" {word}"))
        .collect()
}

/// The interpreter that has the project's packages: of the tool whose lock file there is, of a virtual environment in
/// the project, else the one on the path. Where the tool is missing and there is no environment, it is called all the
/// same: that it is missing is true, and what fails without the packages is no failure of the code.
pub(super) fn interpreter(site: &Site<'_>) -> String {
    let mut missing = None;
    for above in site.upwards() {
        let mut locks = Ecosystem::Python.row().locks.iter();
        if let Some(lock) = locks.find(|lock| above.join(&lock.name).is_file()) {
            let of_lock = format!("{} run python", lock.writer);
            if site.can_call(&lock.writer) {
                return of_lock;
            }
            missing.get_or_insert(of_lock);
        }
        if site.purpose == Purpose::WriteDown {
            continue;
        }
        let inside = if cfg!(windows) {
            "Scripts/python.exe"
        } else {
            "bin/python"
        };
        for folder in [".venv", "venv"] {
            let python = above.join(folder).join(inside);
            if python.is_file() {
                // Relative where it stands in the project itself, which reads better.
                let shown = python.strip_prefix(site.directory).unwrap_or(&python);
                return shown.to_string_lossy().into_owned();
            }
        }
    }
    // Debian and macOS have no `python` of their own.
    if let Some(of_lock) = missing {
        of_lock
    } else if site.purpose == Purpose::RunHere && !is_installed("python") {
        "python3".to_owned()
    } else {
        "python".to_owned()
    }
}

//! Python: pytest or unittest, Django's own commands, ruff or flake8, mypy where it is configured.

use std::path::Path;

use super::{
    Purpose,
    site::{Site, entries, is_installed, text},
    table::Usual,
};
use loopgate_core::evidence::CheckKind as K;

pub(super) fn checks(site: &Site<'_>) -> Vec<Usual> {
    let described = Described::of(site);
    let python = interpreter(site);
    let mut checks = Vec::new();
    let is_django = site.has("manage.py");
    if is_django {
        checks.push(Usual::new("build", K::Build, format!("{python} manage.py check"), None));
    } else if let Some(code) = own_code(site.directory) {
        checks.push(Usual::new("build", K::Build, format!("{python} -m compileall -q{code}"), None));
    }
    let by_tox = (site.purpose == Purpose::WriteDown).then(|| tox(site)).flatten();
    let test = if by_tox.is_some() {
        by_tox
    } else if described.names("pytest") || !is_django && !described.has_unittests {
        let report = site.report("pytest.xml");
        described.has_tests.then(|| format!("{python} -m pytest --junitxml={report}"))
    } else if is_django {
        // With two, each test has a line of its own.
        Some(format!("{python} manage.py test -v 2"))
    } else {
        Some(format!("{python} -m unittest discover -v"))
    };
    checks.extend(test.map(|run| Usual::new("test", K::Test, run, None)));
    if described.names("ruff") || site.has("ruff.toml") || site.has(".ruff.toml") {
        let run = format!("{python} -m ruff check --output-format=concise{}", own_paths(site, "ruff check "));
        checks.push(Usual::new("lint", K::Lint, run, Some("python_lint")));
    } else if described.names("flake8") || site.has(".flake8") {
        let run = format!("{python} -m flake8{}", own_paths(site, "flake8 "));
        checks.push(Usual::new("lint", K::Lint, run, Some("python_lint")));
    }
    if let Some(files) = mypy(site, &described) {
        let run = format!("{python} -m mypy{files}");
        checks.push(Usual::new("types", K::Types, run, Some("mypy")));
    }
    checks
}

/// The project's tests as tox runs them, with what they need and on the Python that is there. Its environments for other
/// versions are left to whoever has them.
fn tox(site: &Site<'_>) -> Option<String> {
    let pyproject = site.manifest("pyproject.toml");
    let ini = pyproject.text(&["tool", "tox", "legacy_tox_ini"]).map_or_else(|| site.text("tox.ini"), str::to_owned);
    let section = ini.split_once("[testenv]").map(|(_, rest)| rest.split("\n[").next().unwrap_or(rest));
    let own = section.and_then(|section| Some(section.split_once("\ncommands")?.1.to_owned()));
    let commands = own.or_else(|| Some(pyproject.at(&["tool", "tox", "env_run_base", "commands"])?.to_string()))?;
    let takes_options = commands.contains("pytest") && commands.contains("posargs");
    let report = if takes_options { format!(" -- --junitxml={}", site.report("pytest.xml")) } else { String::new() };
    commands.contains("test").then(|| format!("python -m tox -e py{report}"))
}

/// The packages at the top and in `src`, else the modules at the top. None where there is neither.
fn own_code(directory: &Path) -> Option<String> {
    let plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let packages = ["", "src"].into_iter().flat_map(|folder| entries(&directory.join(folder), plain));
    let mut code: Vec<_> = packages.filter(|path| path.join("__init__.py").is_file()).collect();
    code.retain(|path| !path.ends_with("tests") && !path.ends_with("test"));
    if code.is_empty() {
        let is_module =
            |name: &str| plain(name) && name.ends_with(".py") && !name.contains("test") && name != "setup.py";
        code = entries(directory, is_module);
    }
    let names = code.iter().filter_map(|path| path.strip_prefix(directory).ok()?.to_str());
    let words: String = names.map(|name| format!(" {}", name.replace('\\', "/"))).collect();
    (!words.is_empty()).then_some(words)
}

/// What the project's own people have a linter look at, by the first file that calls it: the rest may be no code of
/// theirs. Empty where they have it look at everything.
fn own_paths(site: &Site<'_>, call: &str) -> String {
    let after = |text: String| text.lines().find_map(|line| Some(line.split_once(call)?.1.to_owned()));
    let called = site.scripts().into_iter().find_map(after).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let words = called.split_whitespace().filter(|word| !word.starts_with('-') && word.chars().all(plain));
    words.filter(|word| site.directory.join(word).exists()).map(|word| format!(" {word}")).collect()
}

/// What is to be checked, where mypy is configured: the configuration's own `files`, else everything.
fn mypy(site: &Site<'_>, described: &Described) -> Option<&'static str> {
    let files =
        [("pyproject.toml", "[tool.mypy]"), ("setup.cfg", "[mypy]"), ("mypy.ini", "[mypy]"), (".mypy.ini", "[mypy]")];
    let (file, section) = files.into_iter().find(|(file, section)| site.text(file).contains(section))?;
    let described = if file == "pyproject.toml" { described.project.clone() } else { site.text(file) };
    let section = described.split(section).nth(1)?;
    let section = section.split("\n[").next().unwrap_or(section);
    let says_files =
        section.lines().any(|line| ["files", "packages", "modules"].iter().any(|key| line.starts_with(key)));
    Some(if says_files { "" } else { " ." })
}

/// What the project's files say of its tools.
struct Described {
    /// pyproject.toml
    project: String,
    /// That, and every other file in which tools are named.
    all: String,
    has_tests: bool,
    /// Tests written for the standard library's own runner, and none of pytest's marks.
    has_unittests: bool,
}

impl Described {
    fn of(site: &Site<'_>) -> Self {
        let project = site.text("pyproject.toml");
        let mut all = project.clone();
        let named = ["setup.cfg", "setup.py", "tox.ini", "Pipfile", "pytest.ini", "conftest.py", "noxfile.py"];
        for file in named {
            all.push_str(&site.text(file));
        }
        for file in requirements(site.directory) {
            all.push_str(&text(&file));
        }
        // The file's name is the word.
        for file in ["pytest.ini", "conftest.py", "tests/conftest.py"] {
            if site.has(file) {
                all.push_str("\npytest\n");
            }
        }
        let tests = test_files(site.directory);
        let imports = |word: &str| tests.iter().any(|file| text(file).contains(word));
        let has_unittests = imports("import unittest") && !imports("import pytest");
        Self { project, all, has_tests: !tests.is_empty(), has_unittests }
    }

    fn names(&self, tool: &str) -> bool {
        self.all.contains(tool)
    }
}

fn requirements(directory: &Path) -> Vec<std::path::PathBuf> {
    let is_one = |name: &str| name.starts_with("requirements") && name.ends_with(".txt");
    let mut files = entries(directory, is_one);
    files.extend(entries(&directory.join("requirements"), |name| name.ends_with(".txt")));
    files
}

/// Files by whose names test runners find tests, at the top, in test directories, and beside the code one level down.
fn test_files(directory: &Path) -> Vec<std::path::PathBuf> {
    let is_test = |name: &str| {
        name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py") || name == "tests.py")
    };
    let mut files = entries(directory, is_test);
    let folders = directory.read_dir().into_iter().flatten().flatten();
    let folders = folders.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).take(200);
    for folder in folders.filter(|folder| !folder.file_name().to_string_lossy().starts_with('.')) {
        files.extend(entries(&folder.path(), is_test));
        for inner in ["tests", "test", "unit", "integration"] {
            files.extend(entries(&folder.path().join(inner), is_test));
        }
    }
    files.truncate(50);
    files
}

/// The interpreter that has the project's packages: of the tool whose lock file there is, of a virtual environment in
/// the project, else the one on the path.
fn interpreter(site: &Site<'_>) -> String {
    let tools = [("uv.lock", "uv"), ("poetry.lock", "poetry"), ("pdm.lock", "pdm"), ("Pipfile.lock", "pipenv")];
    for above in site.upwards() {
        if let Some((_, tool)) = tools.iter().find(|(lock, tool)| above.join(lock).is_file() && site.can_call(tool)) {
            return format!("{tool} run python");
        }
        if site.purpose == Purpose::WriteDown {
            continue;
        }
        let inside = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
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
    if site.purpose == Purpose::RunHere && !is_installed("python") { "python3".to_owned() } else { "python".to_owned() }
}

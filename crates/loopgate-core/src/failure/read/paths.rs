//! Paths as tools print them: schemes, drives, containers and caches of dependencies.

use serde::{Deserialize, Serialize};

use crate::source_files::LANGUAGES;
pub(in crate::failure) use crate::source_files::file_name;

/// Where a stack frame's code comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameOrigin {
    /// A file the pull request changes.
    Changed,
    /// Another file of the repository.
    Repository,
    /// A library the repository uses.
    Dependency,
    /// The language's own library or runtime.
    Toolchain,
}

impl FrameOrigin {
    /// Whether the repository's own people can edit it.
    pub const fn in_repository(self) -> bool {
        matches!(self, Self::Changed | Self::Repository)
    }
}

/// Longest path that is taken for one, in bytes.
const MAX_PATH: usize = 400;

/// Where containers hold a repository, or one package of it.
pub(in crate::failure) const CONTAINERS: &[&str] = &["/workspace/", "/usr/src/app/", "/app/"];

/// A printed path with `/` between its parts, without scheme, query and `.`. A `..` is left only in front, where the path
/// leads out of the directory that it was printed in.
pub(in crate::failure) fn tidy(printed: &str) -> String {
    let path = super::text::prefix(printed.trim(), MAX_PATH).replace('\\', "/");
    let path = without_scheme(&path);
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if path.starts_with('/') => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if path.starts_with('/') && !is_absolute(&joined) {
        format!("/{joined}")
    } else {
        joined
    }
}

/// Whether a tidied path begins at a machine's root.
pub(in crate::failure) fn is_absolute(path: &str) -> bool {
    let has_drive =
        matches!(path.as_bytes(), [drive, b':', b'/', ..] if drive.is_ascii_alphabetic());
    has_drive || path.starts_with('/')
}

/// Bundlers and browsers print addresses where a path is meant.
fn without_scheme(path: &str) -> &str {
    let Some((scheme, rest)) = path.split_once("://") else {
        return path.strip_prefix("/@fs").unwrap_or(path);
    };
    // What a host of the Internet sent is no file of the repository. A development server is an IP address, or a name
    // without a dot.
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    let is_public = host.contains('.') && host.parse::<std::net::Ipv4Addr>().is_err();
    match scheme {
        "file" => rest,
        "http" | "https" if is_public => path,
        // `webpack-internal:///(layer)/./src/a.ts`, `webpack://name/./src/a.ts`, `http://localhost:5173/@fs/repo/a.ts`
        "webpack" | "webpack-internal" | "turbopack" | "rsc" | "http" | "https" | "app" | "ng" => {
            let rest = rest.split_once('/').map_or(rest, |(_, rest)| rest);
            let layered = rest
                .strip_prefix('(')
                .and_then(|layered| layered.split_once(")/"));
            layered.map_or(rest.strip_prefix("@fs").unwrap_or(rest), |(_, rest)| rest)
        }
        _ => path,
    }
}

/// Whether the path is one of a library or a tool, which is no place in a repository.
pub fn is_foreign(path: &str) -> bool {
    foreign(path).is_some()
}

/// Whether the path lies in a dependency or in the language itself.
pub(in crate::failure) fn foreign(path: &str) -> Option<FrameOrigin> {
    let rooted = format!("/{}", path.trim_start_matches('/'));
    let marks = &LANGUAGES.foreign;
    if marks.dependencies.iter().any(|mark| rooted.contains(mark)) {
        Some(FrameOrigin::Dependency)
    } else if path == "testing.go" || marks.toolchains.iter().any(|mark| rooted.contains(mark)) {
        Some(FrameOrigin::Toolchain)
    } else {
        None
    }
}

/// Whether an absolute path lies where no repository is checked out.
pub(in crate::failure) fn is_system(path: &str) -> bool {
    LANGUAGES
        .foreign
        .system
        .iter()
        .any(|directory| path.starts_with(directory))
        || path.starts_with("C:/Program Files")
}

/// The rest of a path that lies where a known CI service checks a repository out: the path in the repository.
pub(in crate::failure) fn without_workspace(path: &str) -> Option<&str> {
    let workspace = pattern!(concat!(
        "^(?:(?:/home/runner/work|/Users/runner/work|[CD]:/a|/__w|/runner/_work|/builds|/go/src/github[.]com)/[^/]+/[^/]+",
        "|/github/workspace|/workspaces/[^/]+)/(.+)$",
    ));
    Some(workspace.captures(path)?.get(1)?.as_str())
}

/// Whether `path` is `end` or ends in `/end`.
pub(in crate::failure) fn ends_with(path: &str, end: &str) -> bool {
    path.strip_suffix(end)
        .is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// The last two parts of a path: what is left of it on every machine and in every working directory.
pub(in crate::failure) fn last_two(path: &str) -> &str {
    let start = path
        .rmatch_indices('/')
        .nth(1)
        .map_or(0, |(index, _)| index + 1);
    path[start..].trim_start_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_paths_are_tidied() {
        let cases = [
            ("./src/../lib/a.rs", "lib/a.rs"),
            (r"C:\w\src\a.cs", "C:/w/src/a.cs"),
            ("file:///C:/w/a.js", "C:/w/a.js"),
            ("file:///home/a/b.mjs", "/home/a/b.mjs"),
            ("http://localhost:5173/src/App.tsx?t=1700", "src/App.tsx"),
            (
                "http://localhost:5173/@fs/home/a/App.tsx",
                "/home/a/App.tsx",
            ),
            ("/@fs/home/a/App.tsx?v=2", "/home/a/App.tsx"),
            ("webpack:///./src/a.ts", "src/a.ts"),
            ("webpack://my-app/./src/a.ts?1234", "src/a.ts"),
            ("webpack-internal:///(ssr)/./src/a.ts", "src/a.ts"),
            ("src/../../../etc/passwd", "../../etc/passwd"),
            ("/srv/../../etc/passwd", "/etc/passwd"),
            (
                "node:internal/process/task_queues",
                "node:internal/process/task_queues",
            ),
            ("http://127.0.0.1:9876/base/src/a.js", "base/src/a.js"),
            ("http://web:3000/src/a.js", "src/a.js"),
            (
                "https://jsr.io/@std/assert/1.0.0/equals.ts",
                "https:/jsr.io/@std/assert/1.0.0/equals.ts",
            ),
        ];
        for (printed, path) in cases {
            assert_eq!(tidy(printed), path);
        }
    }

    #[test]
    fn dependencies_and_toolchains_are_known() {
        use FrameOrigin::{Dependency, Toolchain};
        let cases = [
            ("node_modules/react/index.js", Some(Dependency)),
            (
                "/home/r/.cargo/registry/src/index.crates.io-6f17/serde_json-1.0.128/src/de.rs",
                Some(Dependency),
            ),
            (
                "/opt/hostedtoolcache/Python/3.12.1/x64/lib/python3.12/site-packages/requests/api.py",
                Some(Dependency),
            ),
            (
                "/opt/hostedtoolcache/Python/3.12.1/x64/lib/python3.12/unittest/case.py",
                Some(Toolchain),
            ),
            (
                "/rustc/59807616e/library/core/src/panicking.rs",
                Some(Toolchain),
            ),
            ("node:internal/process/task_queues", Some(Toolchain)),
            ("<frozen importlib._bootstrap>", Some(Toolchain)),
            (
                "/home/runner/go/pkg/mod/github.com/stretchr/testify@v1.9.0/assert/assertions.go",
                Some(Dependency),
            ),
            (
                "https:/jsr.io/@std/assert/1.0.0/equals.ts",
                Some(Dependency),
            ),
            (
                "test/test_helper/bats-assert/src/assert_equal.bash",
                Some(Dependency),
            ),
            ("src/internal/a.go", None),
            ("src/vendors/a.ts", None),
        ];
        for (path, kind) in cases {
            assert_eq!(foreign(path), kind, "{path}");
        }
    }

    #[test]
    fn workspaces_are_stripped() {
        assert_eq!(
            without_workspace("/home/runner/work/w/w/src/a.rs"),
            Some("src/a.rs")
        );
        assert_eq!(without_workspace("D:/a/w/w/src/a.cs"), Some("src/a.cs"));
        assert_eq!(without_workspace("/home/runner/work//w/src/a.rs"), None);
        assert_eq!(without_workspace("/github/workspace/"), None);
        assert_eq!(last_two("/a/b/c.rs"), "b/c.rs");
        assert_eq!(last_two("c.rs"), "c.rs");
    }
}

//! Filters of the events that start a workflow: `branches`, `paths` and what they ignore
//! (<https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#onpull_requestpull_request_targetbranchesbranches-ignore>).

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::{Workflow, texts};
use crate::observed::{ChangedFile, ChangedFiles, Snapshot};

words! {
    /// A filter, by its key in the file.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
    pub enum FilterKey {
        Branches = "branches",
        BranchesIgnore = "branches-ignore",
        Paths = "paths",
        PathsIgnore = "paths-ignore",
    }
}

/// Files of a change that GitHub's filters look at; of more it takes the first
/// (<https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#git-diff-comparisons>).
const MOST_FILES: usize = 300;
/// Types of a pull request's events that start a workflow without `types`
/// (<https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows#pull_request>).
const USUAL_TYPES: [&str; 3] = ["opened", "synchronize", "reopened"];
/// Bytes of one compiled pattern.
const PATTERN_SIZE: usize = 1 << 20;

/// A pull request, as far as filters ask about it.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The branch that it is to be merged into; `None` if GitHub may compare it with another.
    pub base: Option<&'a str>,
    /// The branch that its pushes go to, if that is the repository's own.
    pub pushed: Option<&'a str>,
    /// Its files; `None` if GitHub may look at others.
    pub files: Option<&'a [ChangedFile]>,
}

impl<'a> Change<'a> {
    /// The pull request of a snapshot.
    pub fn of(snapshot: &'a Snapshot) -> Self {
        let pull_request = &snapshot.pull_request;
        let files = match &snapshot.files {
            ChangedFiles::Complete(files) => Some(files.as_slice()),
            ChangedFiles::TooLarge { .. } => None,
        };
        let is_small = |files: &&[ChangedFile]| !files.is_empty() && files.len() <= MOST_FILES;
        Self {
            base: snapshot
                .stack
                .is_none()
                .then_some(pull_request.base.branch.as_str()),
            pushed: snapshot
                .has_own_branch()
                .then_some(pull_request.head.branch.as_str()),
            // After very many commits GitHub starts everything.
            files: files
                .filter(is_small)
                .filter(|_| snapshot.commits.is_complete),
        }
    }
}

/// A filter that we do not evaluate as GitHub does: its workflow may start.
struct Unevaluated;

impl Workflow {
    /// The filter that certainly keeps it from a pull request; `None` if it may start.
    pub fn excluded_by(&self, change: &Change<'_>) -> Option<FilterKey> {
        let mut excluded_by = None;
        for event in ["pull_request", "pull_request_target"] {
            if let Some(event) = self.event(event) {
                excluded_by = Some(excluding(event, change).ok().flatten()?);
            }
        }
        let may_be_pushed = self
            .event("push")
            .zip(change.pushed)
            .is_some_and(|(event, branch)| push_may_start(event, branch));
        excluded_by.filter(|_| !may_be_pushed)
    }
}

/// The filter of an event that does not let a change through; `None` if it starts.
fn excluding(event: &Value, change: &Change<'_>) -> Result<Option<FilterKey>, Unevaluated> {
    if let Some(types) = event.get("types") {
        let types = texts(types).ok_or(Unevaluated)?;
        if !USUAL_TYPES.iter().all(|usual| types.contains(usual)) {
            return Err(Unevaluated);
        }
    }
    let base = change.base.ok_or(Unevaluated)?;
    if let Some(filter) = Filter::of_branches(event)?
        && filter.keeps_out(base)
    {
        return Ok(Some(filter.key));
    }
    let Some(filter) = Filter::of_paths(event)? else {
        return Ok(None);
    };
    let files = change.files.ok_or(Unevaluated)?;
    let mut paths = files.iter().flat_map(ChangedFile::paths);
    let keeps_out = paths.all(|path| filter.keeps_out(path));
    Ok(keeps_out.then_some(filter.key))
}

/// Whether a push to a branch may start a workflow by this event.
fn push_may_start(event: &Value, branch: &str) -> bool {
    let has = |key: &str| event.get(key).is_some();
    let is_of_tags =
        (has("tags") || has("tags-ignore")) && !(has("branches") || has("branches-ignore"));
    let keeps_out = |filter: Option<Filter>| filter.is_some_and(|filter| filter.keeps_out(branch));
    !is_of_tags && !Filter::of_branches(event).is_ok_and(keeps_out)
}

/// A filter of an event.
struct Filter {
    key: FilterKey,
    patterns: Vec<FilterPattern>,
}

impl Filter {
    fn of_branches(event: &Value) -> Result<Option<Self>, Unevaluated> {
        Self::of(event, [FilterKey::Branches, FilterKey::BranchesIgnore])
    }

    fn of_paths(event: &Value) -> Result<Option<Self>, Unevaluated> {
        Self::of(event, [FilterKey::Paths, FilterKey::PathsIgnore])
    }

    /// The one of these filters that the event has. GitHub refuses both at once.
    fn of(event: &Value, keys: [FilterKey; 2]) -> Result<Option<Self>, Unevaluated> {
        let mut there = keys
            .into_iter()
            .filter_map(|key| Some((key, event.get(key.as_str())?)));
        let Some((key, list)) = there.next() else {
            return Ok(None);
        };
        let parse = |text| FilterPattern::parse(text).ok_or(Unevaluated);
        let texts = texts(list).ok_or(Unevaluated)?;
        let patterns: Vec<FilterPattern> =
            texts.into_iter().map(parse).collect::<Result<_, _>>()?;
        let filter = Self { key, patterns };
        let mut negative = filter.patterns.iter().map(|pattern| pattern.is_negative);
        // What is ignored is not negated, and what is selected not only.
        let is_odd = match filter.ignores() {
            true => negative.any(|is_negative| is_negative),
            false => negative.all(|is_negative| is_negative),
        };
        if there.next().is_some() || is_odd {
            return Err(Unevaluated);
        }
        Ok(Some(filter))
    }

    const fn ignores(&self) -> bool {
        matches!(self.key, FilterKey::BranchesIgnore | FilterKey::PathsIgnore)
    }

    /// Whether it keeps a branch or path out. Of the patterns that match it the last decides.
    fn keeps_out(&self, name: &str) -> bool {
        let mut last_first = self.patterns.iter().rev();
        let decides = last_first.find(|pattern| pattern.regex.is_match(name));
        let is_matched = decides.is_some_and(|pattern| !pattern.is_negative);
        is_matched == self.ignores()
    }
}

/// A pattern of a filter
/// (<https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#filter-pattern-cheat-sheet>).
struct FilterPattern {
    regex: Regex,
    /// It begins with `!`.
    is_negative: bool,
}

impl FilterPattern {
    /// `None` if GitHub would refuse it too.
    fn parse(text: &str) -> Option<Self> {
        let (is_negative, text) = text
            .strip_prefix('!')
            .map_or((false, text), |rest| (true, rest));
        let mut regex = String::from("(?s)^");
        let mut rest = text.chars().peekable();
        let mut before = None;
        while let Some(c) = rest.next() {
            match c {
                '*' if rest.next_if_eq(&'*').is_some() => {
                    let is_folder = before.is_none_or(|before| before == '/');
                    let any = if is_folder && rest.next_if_eq(&'/').is_some() {
                        "(?:.*/)?"
                    } else {
                        ".*"
                    };
                    regex.push_str(any);
                }
                '*' => regex.push_str("[^/]*"),
                '?' | '+' => {
                    before?;
                    regex.push(c);
                }
                '[' => {
                    let class: String = rest.by_ref().take_while(|c| *c != ']').collect();
                    let is_plain = |c: char| c.is_alphanumeric() || "-_. ".contains(c);
                    (!class.is_empty() && class.chars().all(is_plain)).then_some(())?;
                    regex.push_str(&format!("[{class}]"));
                }
                '\\' => regex.push_str(&regex::escape(rest.next()?.encode_utf8(&mut [0; 4]))),
                c => regex.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
            }
            before = Some(c);
        }
        regex.push('$');
        let regex = RegexBuilder::new(&regex).size_limit(PATTERN_SIZE).build();
        Some(Self {
            regex: regex.ok()?,
            is_negative,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    /// The examples of GitHub's cheat sheet, and what they do not match.
    #[test]
    fn patterns_match_as_github_documents() {
        for (pattern, matching, other) in [
            ("feature/*", "feature/my-branch", "feature/a/b"),
            ("feature/**", "feature/beta-a/my-branch", "features/a"),
            (
                "releases/mona-the-octocat",
                "releases/mona-the-octocat",
                "releases/mona",
            ),
            ("*", "main", "all/the/branches"),
            ("**", "all/the/branches", "\u{0}never"),
            ("*feature", "mona-feature", "feature-mona"),
            ("v2*", "v2.9", "v3"),
            ("v[12].[0-9]+.[0-9]+", "v1.10.1", "v1.10"),
            ("*.jsx?", "page.js", "page.jsxx"),
            ("**.js", "js/index.js", "index.ts"),
            ("docs/*", "docs/file.txt", "docs/a/b.txt"),
            (
                "docs/**/*.md",
                "docs/mona/hello-world.md",
                "docs/README.txt",
            ),
            ("**/docs/**", "dir/docs/my-file.txt", "dir/doc/a"),
            ("**/docs/**", "docs/hello.md", "mydocs/hello.md"),
            ("**/README.md", "README.md", "MY-README.md"),
            ("**/*src/**", "my-src/code/js/app.js", "my-src"),
            (
                "**/migrate-*.sql",
                "db/sept/migrate-v1.sql",
                "db/migrate.sql",
            ),
        ] {
            let parsed = FilterPattern::parse(pattern).unwrap();
            assert!(parsed.regex.is_match(matching), "{pattern} {matching}");
            if !other.starts_with('\u{0}') {
                assert!(!parsed.regex.is_match(other), "{pattern} {other}");
            }
        }
        assert!(FilterPattern::parse("+a").is_none());
        assert!(FilterPattern::parse("a[").is_none());
    }

    fn excluded(on: &str, branch: (&str, Option<&str>), paths: &[&str]) -> Option<FilterKey> {
        let workflow = Workflow::parse(&format!("on:\n{on}\njobs: {{}}")).unwrap();
        let files: Vec<ChangedFile> = paths
            .iter()
            .map(|path| fixtures::changed_file(path, "+a"))
            .collect();
        workflow.excluded_by(&Change {
            base: Some(branch.0),
            pushed: branch.1,
            files: Some(&files),
        })
    }

    #[test]
    fn a_filter_keeps_a_workflow_from_a_pull_request_only_where_that_is_certain() {
        use FilterKey::{Branches, BranchesIgnore, Paths, PathsIgnore};
        let fork = ("main", None);
        let of = |key: &str, list: &str| format!("  pull_request: {{ {key}: [{list}] }}");
        for (on, paths, expected) in [
            (
                of("paths-ignore", "'docs/**'"),
                &["docs/a.md"][..],
                Some(PathsIgnore),
            ),
            (
                of("paths-ignore", "'docs/**'"),
                &["docs/a.md", "a.rs"],
                None,
            ),
            (
                of("paths", "'src/**', '!src/docs/**'"),
                &["src/docs/a.md"],
                Some(Paths),
            ),
            (
                of("paths", "'!src/docs/**', 'src/**'"),
                &["src/docs/a.md"],
                None,
            ),
            (of("paths", "'src/**'"), &["a.md", "src/a.rs"], None),
            (of("branches", "release/*"), &["a.rs"], Some(Branches)),
            (of("branches", "main"), &["a.rs"], None),
            (
                of("branches-ignore", "'ma*'"),
                &["a.rs"],
                Some(BranchesIgnore),
            ),
            // What cannot be evaluated keeps nothing out.
            (of("branches", "'!main'"), &["a.rs"], None),
            (of("paths", ""), &["a.rs"], None),
            (
                of("paths-ignore", "'docs/**', '!docs/a.md'"),
                &["docs/b.md"],
                None,
            ),
            (
                "  pull_request: { types: [labeled], paths: [a] }".to_owned(),
                &["b"],
                None,
            ),
            (
                of("types", "opened, synchronize, reopened, labeled"),
                &["b"],
                None,
            ),
            (
                "  pull_request:\n    paths: [a]\n    paths-ignore: [b]".to_owned(),
                &["b"],
                None,
            ),
            ("  pull_request:".to_owned(), &["b"], None),
            ("  [pull_request, push]".to_owned(), &["b"], None),
            ("  workflow_call:".to_owned(), &["b"], None),
            // Its other event may start it.
            (
                "  pull_request: { paths: [a] }\n  pull_request_target:".to_owned(),
                &["b"],
                None,
            ),
        ] {
            assert_eq!(excluded(&on, fork, paths), expected, "{on} {paths:?}");
        }
    }

    #[test]
    fn a_push_to_a_branch_of_the_repository_may_start_it_all_the_same() {
        let own = ("main", Some("fix"));
        let also = |push: &str| {
            let on = format!("  pull_request: {{ paths: [a] }}\n  push: {push}");
            excluded(&on, own, &["b"]).is_none()
        };
        assert!(also(""));
        assert!(also("{ branches: ['**'] }"));
        assert!(also("{ branches-ignore: [main] }"));
        assert!(!also("{ branches: [main] }"));
        assert!(!also("{ tags: ['v*'] }"));
        let on = "  pull_request: { paths: [a] }\n  push:";
        let fork = ("main", None);
        assert_eq!(excluded(on, fork, &["b"]), Some(FilterKey::Paths));
    }

    #[test]
    fn both_names_of_a_renamed_file_must_be_kept_out() {
        let mut file = fixtures::changed_file("docs/a.md", "+a");
        file.previous_path = Some("src/a.rs".to_owned());
        let change = Change {
            base: Some("main"),
            pushed: None,
            files: Some(&[file]),
        };
        let workflow = Workflow::parse("on: { pull_request: { paths-ignore: ['docs/**'] } }");
        assert_eq!(workflow.unwrap().excluded_by(&change), None);
    }
}

//! What the sections share while they become a policy: the problems found so far, and matchers within limits.

use super::{
    node::{Kind, Node},
    problem::{Place, Problem, shorten},
};
use loopgate_core::policy::{NameGlob, PathGlobs, Pattern};

/// A regular expression may compile to 1 MiB; so many of them fit in a server that holds many configurations.
const MAX_PATTERNS: usize = 128;
const MAX_GLOBS: usize = 500;
/// A glob becomes an automaton that grows with it.
const MAX_GLOB_LENGTH: usize = 1_000;

/// A policy in the making. An error is written down, and the making goes on, so that all errors are reported.
#[derive(Debug, Default)]
pub(super) struct Lowering {
    pub problems: Vec<Problem>,
    /// Accepted, but worth a look.
    pub warnings: Vec<Problem>,
    patterns: usize,
    globs: usize,
}

impl Lowering {
    pub fn refuse(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Nothing, since what was written is refused.
    pub fn refused<T>(&mut self, problem: Problem) -> Option<T> {
        self.refuse(problem);
        None
    }

    /// A limit on how many of something there are, so that what is done for each stays little.
    pub fn at_most(&mut self, limit: usize, node: &Node, what: &str) -> bool {
        let beyond = match &node.kind {
            Kind::List(items) => items.get(limit),
            Kind::Map(map) => map.get_index(limit).map(|(_, entry)| &entry.node),
            _ => None,
        };
        if let Some(beyond) = beyond {
            self.refuse(Problem::wrong(beyond.place, format!("more than {limit} {what}")));
        }
        beyond.is_none()
    }

    /// Globs over paths, and those over paths that never match (written with a leading `!`). `node` is their list in the
    /// tree. See [`NameGlob::path`] for how they match.
    pub fn paths(&mut self, written: &[String], node: &Node) -> (PathGlobs, PathGlobs) {
        let (mut globs, mut except) = (Vec::new(), Vec::new());
        for (text, node) in node.each(written) {
            match text.strip_prefix('!') {
                Some(glob) => except.extend(self.path_glob(glob, node.place, NameGlob::excluded_path)),
                None => globs.extend(self.path_glob(text, node.place, NameGlob::path)),
            }
        }
        if written.iter().all(|text| text.starts_with('!')) {
            let problem = Problem::wrong(node.item(0).place, "only paths that never match are listed");
            self.refuse(problem.hint("begin the list with what does match, for example `\"**\"`"));
        }
        (PathGlobs::new(globs), PathGlobs::new(except))
    }

    /// Globs over paths that are left out, asked all at once. See [`NameGlob::excluded_path`] for how they match.
    pub fn excluded_paths(&mut self, written: &[String], node: &Node) -> PathGlobs {
        PathGlobs::new(self.path_globs(written, node, NameGlob::excluded_path))
    }

    /// Globs over paths where nothing can be excluded.
    pub fn plain_paths(&mut self, written: &[String], node: &Node) -> Vec<NameGlob> {
        self.path_globs(written, node, NameGlob::path)
    }

    fn path_globs(&mut self, written: &[String], node: &Node, parse: ParseGlob) -> Vec<NameGlob> {
        node.each(written).filter_map(|(text, node)| self.path_glob(text, node.place, parse)).collect()
    }

    fn path_glob(&mut self, glob: &str, place: Place, parse: ParseGlob) -> Option<NameGlob> {
        if let Some(relative) = glob.strip_prefix('/') {
            let problem = Problem::wrong(place, "paths are relative to the root of the repository");
            return self.refused(problem.hint(format!("write `{}`", shorten(relative))));
        }
        if glob.ends_with('/') {
            let problem = Problem::wrong(place, format!("`{}` matches a folder, and files are matched", shorten(glob)));
            return self.refused(problem.hint(format!("write `{}**`", shorten(glob))));
        }
        self.glob(glob, place, parse)
    }

    /// Globs over names, in which `*` matches everything.
    pub fn name_globs<C: FromIterator<NameGlob>>(&mut self, written: &[String], node: &Node) -> C {
        node.each(written).filter_map(|(text, node)| self.name_glob(text, node)).collect()
    }

    /// A glob over names.
    pub fn name_glob(&mut self, text: &str, node: &Node) -> Option<NameGlob> {
        self.glob(text, node.place, NameGlob::parse)
    }

    fn glob(&mut self, text: &str, place: Place, parse: ParseGlob) -> Option<NameGlob> {
        self.globs += 1;
        if self.globs > MAX_GLOBS {
            if self.globs == MAX_GLOBS + 1 {
                self.refuse(Problem::wrong(place, format!("more than {MAX_GLOBS} globs in one configuration")));
            }
            return None;
        }
        if text.is_empty() {
            return self.refused(Problem::wrong(place, "an empty glob matches nothing"));
        }
        if text.len() > MAX_GLOB_LENGTH {
            return self.refused(Problem::wrong(place, "this glob is too long").hint("make several of it"));
        }
        match parse(text) {
            Ok(glob) => Some(glob),
            Err(error) => {
                let message = format!("`{}` is not a glob: {}", shorten(text), error.kind());
                self.refused(Problem::wrong(place, message))
            }
        }
    }

    /// A regular expression.
    pub fn pattern(&mut self, text: &str, node: &Node) -> Option<Pattern> {
        let place = node.place;
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS {
            if self.patterns == MAX_PATTERNS + 1 {
                let problem = Problem::wrong(place, format!("more than {MAX_PATTERNS} regular expressions"));
                self.refuse(problem.hint("join some of them with `|`"));
            }
            return None;
        }
        if text.is_empty() {
            return self.refused(Problem::wrong(place, "an empty pattern matches every line"));
        }
        match Pattern::parse(text) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                let reason = error.to_string();
                // The library draws a picture of the expression; its last line says what is wrong.
                let reason = reason.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
                let message = format!("`{}` is not a regular expression: {reason}", shorten(text));
                self.refused(Problem::wrong(place, message))
            }
        }
    }

    pub fn patterns(&mut self, written: &[String], node: &Node) -> Vec<Pattern> {
        node.each(written).filter_map(|(text, node)| self.pattern(text, node)).collect()
    }

    /// A path inside the repository.
    pub fn inside_repository(&mut self, written: String, node: &Node) -> String {
        let path = written.replace('\\', "/");
        let leaves = path.starts_with('/') || path.contains(':') || path.split('/').any(|part| part == "..");
        if leaves || path.is_empty() || path.contains('\0') {
            let message = format!("`{}` is not a path inside the repository", shorten(&written));
            self.refuse(Problem::wrong(node.place, message));
        }
        written
    }

    /// Text that must say something.
    pub fn some_text(&mut self, written: String, node: &Node, what: &str) -> String {
        if written.trim().is_empty() {
            self.refuse(Problem::wrong(node.place, format!("{what} is empty")));
        }
        written
    }

    /// A label as the platform takes it: 1 to 50 characters.
    pub fn label(&mut self, place: Place, name: String) -> String {
        let length = name.chars().count();
        if length > 50 {
            let message = format!("a label has at most 50 characters; `{}` has {length}", shorten(&name));
            self.refuse(Problem::wrong(place, message));
        } else if name.trim().is_empty() || name.chars().any(char::is_control) {
            self.refuse(Problem::wrong(place, "a label needs a visible name on one line"));
        }
        name
    }
}

type ParseGlob = fn(&str) -> Result<NameGlob, globset::Error>;

//! Pointing at a place of a configuration that was accepted, for what only others can tell is wrong with it.

use super::{
    layer::{self, Layered},
    load::Sources,
    node::Node,
    place::{Layer, Place},
    presets::Presets,
    problem::Problem,
    source::Source,
};
use loopgate_core::policy::ConfigError;

/// The layers of a configuration as one tree that knows where everything was written.
pub(super) struct Pointer<'a> {
    sources: Sources<'a>,
    tree: Node,
}

impl<'a> Pointer<'a> {
    /// Of texts that [`load`](super::load) accepts; what it does not is as if it were not there.
    pub fn new(organisation: Option<Source<'a>>, repository: Option<Source<'a>>) -> Self {
        let presets = Presets::builtin();
        let sources = Sources { builtin: presets.source, organisation, repository };
        let [organisation, repository] = sources.trees().unwrap_or_default();
        let Layered { tree, .. } = layer::layered(presets.tree.clone(), organisation, repository);
        Self { sources, tree }
    }

    /// Whether somebody wrote what stands at a path, rather than us.
    pub fn is_written(&self, path: &[&str]) -> bool {
        let mut node = &self.tree;
        for key in path {
            match node.get(key) {
                Some(entry) => node = &entry.node,
                None => return false,
            }
        }
        node.place.layer != Layer::Builtin
    }

    /// A problem at the key a path leads to, or at a word below it (`@` and case aside). If the file lacks the
    /// key, it is at the innermost key around it, otherwise at the file's start.
    pub fn error(&self, path: &[&str], word: Option<&str>, message: String, hint: String) -> ConfigError {
        let problem = Problem::wrong(self.place(path, word), message).hint(hint);
        self.sources.error(&problem, Some(&self.tree))
    }

    fn place(&self, path: &[&str], word: Option<&str>) -> Place {
        let outside = match self.sources.repository {
            Some(_) => Place::start(Layer::Repository),
            None => Place::start(Layer::Organisation),
        };
        let (mut node, mut place) = (&self.tree, outside);
        for key in path {
            let Some(entry) = node.get(key) else { return place };
            if entry.key.layer != Layer::Builtin {
                place = entry.key;
            }
            node = &entry.node;
        }
        let plain = |word: &str| word.trim_start_matches('@').to_ascii_lowercase();
        let word = word.and_then(|word| node.find_text(&|text| plain(text) == plain(word)));
        let word = word.filter(|place| place.layer != Layer::Builtin);
        word.unwrap_or(place)
    }
}

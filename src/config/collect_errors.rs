//! From the tree to the types of the file, collecting all that does not fit rather than the first of it.

use std::collections::HashSet;

use super::{
    de,
    node::{Kind, Map, Node},
    place::Place,
    problem::{Problem, What},
    sections::file::File,
};

/// More than anybody fixes at once.
pub(super) const MOST_ERRORS: usize = 20;

/// The tree as a file, or all that does not fit: each misfit is put aside, and the rest is tried again.
pub(super) fn typed(tree: &Node) -> Result<File, Vec<Problem>> {
    let mut next = match de::from_node(tree) {
        Ok(file) => return Ok(file),
        Err(problem) => Some(problem),
    };
    let mut search = Search {
        rest: tree.clone(),
        problems: Vec::new(),
        known: HashSet::new(),
        torn: HashSet::new(),
        blanked: HashSet::new(),
    };
    // Every misfit takes at most two rounds, and one more for what misses it.
    for _ in 0..3 * MOST_ERRORS {
        let Some(problem) = next else { break };
        search.note(problem);
        next = de::from_node::<File>(&search.rest).err();
    }
    Err(search.problems)
}

struct Search {
    rest: Node,
    problems: Vec<Problem>,
    /// Places of problems that were seen.
    known: HashSet<Place>,
    /// Places of values that something was taken out of: that it is missing there is our doing.
    torn: HashSet<Place>,
    /// Keys whose value was blanked, with the place of their map: that they are missing there is our doing too.
    blanked: HashSet<(Place, String)>,
}

impl Search {
    fn note(&mut self, problem: Problem) {
        let place = problem.place.unwrap_or(self.rest.place);
        let is_new = match problem.what {
            What::UnknownKey(_) => {
                self.torn.extend(self.rest.drop_key(place));
                true
            }
            What::MissingKey(_) | What::UnknownWord(_) | What::Wrong(_) | What::Unreadable(_) => {
                let is_ours = match problem.what {
                    What::MissingKey(key) => self.blanked.contains(&(place, key.to_owned())),
                    _ => false,
                };
                let is_new = self.known.insert(place) && !self.torn.contains(&place) && !is_ours;
                // Nothing may be written almost everywhere; where it may not, the key has to go.
                if !(is_new && self.rest.blank(place, &mut self.blanked)) {
                    self.torn.extend(self.rest.drop_value(place));
                    self.torn.extend(self.rest.drop_key(place));
                }
                is_new
            }
        };
        if is_new && self.problems.len() < MOST_ERRORS {
            self.problems.push(problem);
        }
    }
}

impl Node {
    /// Removes the entry whose key stands at a place; the place of the map it was taken from.
    fn drop_key(&mut self, place: Place) -> Option<Place> {
        self.take_out(|map| map.retain(|_, entry| entry.key != place), |_| {})
    }

    /// Removes the entry or item whose value stands at a place; the place of what it was taken from.
    fn drop_value(&mut self, place: Place) -> Option<Place> {
        self.take_out(
            |map| map.retain(|_, entry| entry.node.place != place),
            |items| items.retain(|item| item.place != place),
        )
    }

    fn take_out(&mut self, from_map: impl Fn(&mut Map), from_list: impl Fn(&mut Vec<Self>)) -> Option<Place> {
        let mut torn = None;
        self.visit(&mut |node| {
            let before = node.len();
            match &mut node.kind {
                Kind::Map(map) => from_map(map),
                Kind::List(items) => from_list(items),
                _ => {}
            }
            if node.len() < before {
                torn = Some(node.place);
            }
        });
        torn
    }

    fn len(&self) -> usize {
        match &self.kind {
            Kind::Map(map) => map.len(),
            Kind::List(items) => items.len(),
            _ => 0,
        }
    }

    /// Leaves nothing of the value at a place, if one stands there. `blanked` takes its key.
    fn blank(&mut self, place: Place, blanked: &mut HashSet<(Place, String)>) -> bool {
        let mut found = false;
        self.visit(&mut |node| {
            if let Kind::Map(map) = &node.kind {
                let keys = map.iter().filter(|(_, entry)| entry.node.place == place).map(|(key, _)| key.clone());
                blanked.extend(keys.map(|key| (node.place, key)));
            }
            if node.place == place {
                node.kind = Kind::Null;
                found = true;
            }
        });
        found
    }

    fn visit(&mut self, change: &mut impl FnMut(&mut Self)) {
        change(self);
        match &mut self.kind {
            Kind::List(items) => items.iter_mut().for_each(|item| item.visit(change)),
            Kind::Map(map) => map.values_mut().for_each(|entry| entry.node.visit(change)),
            _ => {}
        }
    }
}

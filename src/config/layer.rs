//! One configuration out of several files: the presets below, the organisation's defaults on them, the repository's
//! file on top. Maps are merged key by key; everything else is replaced.

use super::{
    node::{Entry, Kind, Map, Node},
    problem::{Problem, shorten},
    schema,
};
use loopgate_core::GateName;

/// The gates that a tree speaks of.
pub(super) fn configured_gates(written: &Node) -> Vec<GateName> {
    let gates = written.get("gates").and_then(|gates| gates.node.as_map()).into_iter().flatten();
    let gates = gates.filter(|(_, entry)| !matches!(entry.node.kind, Kind::Null));
    gates.filter_map(|(name, _)| name.parse().ok()).collect()
}

/// One tree on another. `path` leads from the root to both, and is as before when this returns.
pub(super) fn merged(below: Node, above: Node, path: &mut Vec<String>) -> Node {
    match (below, above) {
        (below, Node { kind: Kind::Null, .. }) => below,
        (Node { kind: Kind::Map(mut map), .. }, Node { kind: Kind::Map(upper), place })
            if !is_one_thing(path, &upper) =>
        {
            for (key, entry) in upper {
                let Some(known) = map.get_mut(&key) else {
                    map.insert(key, entry);
                    continue;
                };
                let below = std::mem::replace(&mut known.node, Node { place, kind: Kind::Null });
                path.push(key);
                *known = Entry { key: entry.key, node: merged(below, entry.node, path) };
                path.pop();
            }
            Node { place, kind: Kind::Map(map) }
        }
        (_, above) => above,
    }
}

/// Maps that say one thing as a whole: a gate's condition, and a fixer of a new kind.
fn is_one_thing(path: &[String], above: &Map) -> bool {
    match path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["gates", _, "when"] => true,
        ["fixer"] | ["escalation", "senior"] => above.contains_key("kind"),
        _ => false,
    }
}

/// Locks of keys that do not exist would protect nothing.
pub(super) fn unknown_locks(organisation: &Node) -> Vec<Problem> {
    let unknown = locks(organisation).iter().filter_map(|lock| {
        let path = lock.as_text()?;
        let known_there = schema::unknown_part(path)?;
        let problem = Problem::wrong(lock.place, format!("there is no key `{}` to lock", shorten(path)));
        Some(problem.hint(known_there))
    });
    unknown.collect()
}

/// What is replaced as one thing is locked as one thing.
fn whole_of(lock: &str) -> &str {
    let one_thing = match lock.split('.').collect::<Vec<_>>().as_slice() {
        ["fixer", _, ..] => 1,
        ["escalation", "senior", _, ..] => 2,
        ["gates", _, "when", _, ..] => 3,
        _ => return lock,
    };
    let end = lock.match_indices('.').nth(one_thing - 1).map_or(lock.len(), |(at, _)| at);
    lock.get(..end).unwrap_or(lock)
}

fn locks(organisation: &Node) -> &[Node] {
    match organisation.get("policy").and_then(|policy| policy.node.get("locked")) {
        Some(Entry { node: Node { kind: Kind::List(paths), .. }, .. }) => paths,
        _ => &[],
    }
}

/// Takes out of the repository's tree what the organisation has locked.
pub(super) fn take_locked(organisation: &Node, repository: &mut Node) -> Vec<Problem> {
    let taken = locks(organisation).iter().filter_map(Node::as_text).filter_map(|path| {
        let entry = repository.take(whole_of(path))?;
        let problem = Problem::unreadable(entry.key, format!("`{}` is locked by the organisation", shorten(path)));
        Some(problem.hint("what is written here has no effect; remove it"))
    });
    taken.collect()
}

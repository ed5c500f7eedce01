//! Where in a document something stands: `testsuites/testsuite[2]("x")/testcase[0]/@time`.

use std::fmt;

/// The open elements of an XML document. Levels are reused, so that following a document allocates nothing per element.
#[derive(Default)]
pub(super) struct Place {
    /// The document itself, which has several elements if documents were put one behind the other, and those open.
    levels: Vec<OpenElement>,
    /// How many elements are open.
    pub depth: usize,
}

#[derive(Default)]
struct OpenElement {
    name: String,
    /// Position among the siblings of the same name, from 0.
    index: u32,
    /// What distinguishes it from its siblings for people, usually its `name` attribute.
    label: String,
    /// How many children of each name it has had. Names are few; the one just seen comes again.
    children: Vec<(String, u32)>,
}

/// Different child names counted per element; further ones share a count, which only blurs the index in a message.
const MAX_NAMES: usize = 32;
/// Bytes of a name or label in a path.
const MAX_SHOWN: usize = 80;

impl Place {
    pub fn open(&mut self, name: &str) {
        let name = &name[..name.floor_char_boundary(MAX_SHOWN)];
        self.levels
            .resize_with(self.levels.len().max(self.depth + 2), OpenElement::default);
        let children = &mut self.levels[self.depth].children;
        let index = match children.iter_mut().rfind(|(known, _)| known == name) {
            Some((_, count)) => {
                *count = count.saturating_add(1);
                *count - 1
            }
            None => {
                if children.len() < MAX_NAMES {
                    children.push((name.to_owned(), 1));
                }
                0
            }
        };
        self.depth += 1;
        let level = &mut self.levels[self.depth];
        level.name.clear();
        level.name.push_str(name);
        level.label.clear();
        level.index = index;
        level.children.clear();
    }

    /// The name of the innermost open element.
    pub fn name(&self) -> &str {
        &self.levels[self.depth].name
    }

    /// Names the innermost open element for people.
    pub fn label(&mut self, label: &str) {
        let level = &mut self.levels[self.depth];
        level.label.clear();
        level
            .label
            .push_str(&label[..label.floor_char_boundary(MAX_SHOWN)]);
    }

    /// The place of an attribute of the innermost open element.
    pub fn attribute(&self, name: &str) -> String {
        format!("{self}/@{name}")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.depth == 0 {
            return f.write_str("the top");
        }
        for (depth, level) in self.levels[1..=self.depth].iter().enumerate() {
            match (depth, level.index) {
                (0, 0) => f.write_str(&level.name)?,
                (0, index) => write!(f, "{}[{index}]", level.name)?,
                (_, index) => write!(f, "/{}[{index}]", level.name)?,
            }
            if !level.label.is_empty() {
                write!(f, "(\"{}\")", level.label.escape_debug())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_siblings_of_one_name() {
        let mut place = Place::default();
        assert_eq!(place.to_string(), "the top");
        place.open("testsuites");
        for label in ["a", "b", "x"] {
            place.open("testsuite");
            place.label(label);
            place.open("properties");
            place.depth -= 1;
            place.open("testcase");
            if label == "x" {
                break;
            }
            place.depth -= 2;
        }
        assert_eq!(
            place.attribute("time"),
            r#"testsuites/testsuite[2]("x")/testcase[0]/@time"#
        );
        assert_eq!((place.depth, place.name()), (3, "testcase"));
    }
}

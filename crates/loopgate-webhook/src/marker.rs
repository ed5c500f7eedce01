//! Hidden markers: how our own comments are found again.

/// What one of our comments is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marker {
    /// The sticky status comment.
    Status,
    /// A comment posted once for one cause.
    Post(String),
}

const OPEN: &str = "<!-- loopgate:";
const CLOSE: &str = " -->";
const STATUS: &str = "status";

impl Marker {
    /// The marker a body begins with. Ours stand first, so text from outside further down cannot forge one.
    pub fn of(body: &str) -> Option<Self> {
        let (key, _) = body.trim_start().strip_prefix(OPEN)?.split_once(CLOSE)?;
        let plain = key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ":-_.".contains(c));
        (plain && !key.is_empty()).then(|| {
            if key == STATUS {
                Self::Status
            } else {
                Self::Post(key.to_owned())
            }
        })
    }

    /// A body that begins with the marker, whether or not it did.
    pub fn on(&self, body: &str) -> String {
        if Self::of(body).as_ref() == Some(self) {
            return body.to_owned();
        }
        let key = match self {
            Self::Status => STATUS,
            Self::Post(key) => key,
        };
        format!("{OPEN}{key}{CLOSE}\n{body}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_found_where_we_put_it_and_nowhere_else() {
        let post = Marker::Post("gate:security:1".into());
        assert_eq!(post.on("text"), "<!-- loopgate:gate:security:1 -->\ntext");
        assert_eq!(Marker::of(&post.on("text")), Some(post.clone()));
        assert_eq!(post.on(&post.on("text")), post.on("text"), "once is enough");
        assert_eq!(Marker::of("<!-- loopgate:status -->"), Some(Marker::Status));
        for other in [
            "text\n<!-- loopgate:status -->",
            "<!-- loopgate: -->",
            "<!-- loopgate:a b -->",
            "",
        ] {
            assert_eq!(Marker::of(other), None, "{other}");
        }
    }
}

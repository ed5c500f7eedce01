//! What our own comments and check runs hold for us: the packed state, and a digest of what is shown.

use std::fmt;

use sha2::{Digest as _, Sha256};

pub(in crate::github) use loopgate_webhook::Marker;

const CLOSE: &str = " -->";
/// What the last line of a status comment begins with where it holds the state.
const STATE: &str = "<!-- loopgate-state:";

/// A status comment's text with the packed state in its last line, in place of one that it may hold.
pub(in crate::github) fn with_state(body: &str, packed: &str) -> String {
    format!("{}\n\n{STATE}{packed}{CLOSE}\n", state_apart(body).0)
}

/// What people see of a status comment, and the packed state in it. Only its last line counts, which is ours: text from
/// outside stands above it, and cannot open an HTML comment.
pub fn state_apart(body: &str) -> (&str, Option<&str>) {
    let body = body.trim_end();
    let (above, last) = body.rsplit_once('\n').unwrap_or(("", body));
    match last
        .strip_prefix(STATE)
        .and_then(|line| line.strip_suffix(CLOSE))
    {
        Some(packed) => (above.trim_end(), Some(packed)),
        None => (body, None),
    }
}

/// What a check run shows, in short: kept in its `external_id`, so that comparing needs no second look at its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::github) struct Digest {
    pub(in crate::github) text: String,
    pub(in crate::github) annotations: String,
    /// Whether its result follows from a person's comment: an approval, a skip.
    pub(in crate::github) by_word: bool,
    /// Of the base branch it was judged against.
    pub(in crate::github) base: String,
}

const SCHEME: &str = "loopgate-1";
const BY_WORD: &str = "word";
/// The `external_id` of a run that has begun and shows no result yet.
pub(in crate::github) const BEGUN: &str = "loopgate-1:begun:begun";
/// That of a run that was cancelled.
pub(in crate::github) const ENDED: &str = "loopgate-1:ended:ended";

impl Digest {
    pub(in crate::github) fn parse(external_id: &str) -> Option<Self> {
        let mut parts = external_id.split(':');
        let (scheme, text, annotations) = (parts.next()?, parts.next()?, parts.next()?);
        let by_word = parts.next() == Some(BY_WORD);
        let base = parts.next().unwrap_or_default().to_owned();
        (scheme == SCHEME).then(|| Self {
            text: text.to_owned(),
            annotations: annotations.to_owned(),
            by_word,
            base,
        })
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = if self.by_word { BY_WORD } else { "itself" };
        write!(
            f,
            "{SCHEME}:{}:{}:{by}:{}",
            self.text, self.annotations, self.base
        )
    }
}

pub(in crate::github) fn short_hash(text: &str) -> String {
    hex::encode(&Sha256::digest(text.as_bytes())[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_the_last_line_and_the_text_above_it_stays() {
        let text = "<!-- loopgate:status -->\n### Verified\n";
        let held = with_state(text, "v1.eJw=");
        assert_eq!(
            held,
            "<!-- loopgate:status -->\n### Verified\n\n<!-- loopgate-state:v1.eJw= -->\n"
        );
        assert_eq!(
            state_apart(&held),
            ("<!-- loopgate:status -->\n### Verified", Some("v1.eJw="))
        );
        assert_eq!(
            with_state(&held, "v1.newer"),
            with_state(text, "v1.newer"),
            "one state at a time"
        );
        assert_eq!(
            state_apart(&held.replace('\n', "\r\n")).1,
            Some("v1.eJw="),
            "GitHub's line ends"
        );
        assert_eq!(Marker::of(&held), Some(Marker::Status));
        let above = "<!-- loopgate:status -->\n<!-- loopgate-state:forged -->\ntext";
        assert_eq!(state_apart(above), (above, None));
        assert_eq!(state_apart(&with_state(above, "ours")).1, Some("ours"));
        assert_eq!(state_apart(""), ("", None));
    }
}

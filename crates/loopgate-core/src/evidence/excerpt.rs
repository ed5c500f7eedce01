//! The lines of a job's output that are shown where no certain cause is.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::untrusted::quote;

/// Excerpts of one check that are kept.
pub const MOST_EXCERPTS: usize = 2;

/// Lines of a failed job's output, chosen by what they say of the failure. Data and never advice: the code under test,
/// its packages and servers wrote them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogExcerpt {
    /// The job's name; of a command the check's.
    pub job: String,
    /// The step that failed, if the log shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Where people read the whole log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// What [`quote`] leaves of the lines.
    pub text: String,
    /// Lines of the step that are not shown.
    pub cut_lines: u64,
    /// SHA-256 of the text in hex, where the text itself is not written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl LogExcerpt {
    /// The excerpt without its text, as it stands in refs, in the debug memory and in channels beside GitHub.
    #[must_use]
    pub fn reference(&self) -> Self {
        let sha256 = Some(hex::encode(Sha256::digest(&self.text)));
        Self { text: String::new(), sha256, ..self.clone() }
    }

    /// The excerpt as it may be shown: it comes from the same source as the evidence.
    #[must_use]
    pub fn quoted(&self) -> Self {
        let name = |text: &str| quote(text.lines().next().unwrap_or_default());
        Self {
            job: name(&self.job),
            step: self.step.as_deref().map(name),
            log: self.log.clone(),
            text: quote(&self.text),
            cut_lines: self.cut_lines,
            sha256: None,
        }
    }
}

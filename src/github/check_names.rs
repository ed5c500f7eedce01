//! The two check runs that are ours.

/// One of our check runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OwnCheck {
    Verify,
    Gates,
}

impl OwnCheck {
    pub const ALL: [Self; 2] = [Self::Verify, Self::Gates];

    /// The name people see, and branch protection asks for.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Verify => "loopgate / verify",
            Self::Gates => "loopgate / gates",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        // A name that differs in case or blanks only would be taken for ours by a reader.
        let folded = |name: &str| name.split_whitespace().collect::<String>().to_lowercase();
        Self::ALL.into_iter().find(|check| folded(check.name()) == folded(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_like_ours_are_recognised() {
        assert_eq!(OwnCheck::named("loopgate / verify"), Some(OwnCheck::Verify));
        assert_eq!(OwnCheck::named("Loopgate/Gates"), Some(OwnCheck::Gates));
        assert_eq!(OwnCheck::named("verify"), None);
    }
}

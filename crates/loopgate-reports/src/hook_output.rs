//! What a program that runs hooks shows of their output: prek indents it below its own lines about the hook, where pre-commit
//! does not. Both take off the blanks in front of it, so that its first line shows which of them speaks.

/// Where a text is in what a hook printed.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum HookOutput {
    #[default]
    Plain,
    /// The lines about the hook, and the empty one below them.
    Ahead,
    Indented,
}

impl HookOutput {
    const MARGIN: &str = "  ";

    /// Whether the last line is one about a hook.
    pub fn is_ahead(self) -> bool {
        self == Self::Ahead
    }

    /// The line as the hook printed it.
    pub fn line<'l>(&mut self, line: &'l str) -> &'l str {
        let is_empty = line.is_empty();
        *self = match self {
            _ if line.starts_with("- hook id: ") => Self::Ahead,
            Self::Ahead if is_empty || line.starts_with("- ") => Self::Ahead,
            Self::Indented if is_empty => Self::Indented,
            Self::Ahead | Self::Indented if line.starts_with(Self::MARGIN) => Self::Indented,
            _ => Self::Plain,
        };
        match self {
            Self::Indented => line.strip_prefix(Self::MARGIN).unwrap_or(line),
            Self::Plain | Self::Ahead => line,
        }
    }
}

//! One form of line in which a tool names a place.

/// What a line that matches says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    /// A place; `fun`, if the row captures it, contains it.
    Frame,
    /// A place whose function, if captured, was called *from* it (PHP): it contains the frame before.
    Callee,
    /// The function of the place that the very next line names.
    Function,
    /// The function or file (`fun`, `file`) of a place further down.
    Heading,
}

/// The order in which a language prints its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    InnermostFirst,
    InnermostLast,
}

/// One form of line. The pattern's groups `file`, `line`, `col` and `fun` are what it captures.
pub(super) struct Line {
    pub pattern: &'static str,
    pub says: Says,
    pub order: Order,
}

impl Line {
    pub(super) const fn frame(pattern: &'static str) -> Self {
        Self { pattern, says: Says::Frame, order: Order::InnermostFirst }
    }

    pub(super) const fn function(pattern: &'static str) -> Self {
        Self { pattern, says: Says::Function, order: Order::InnermostFirst }
    }
}

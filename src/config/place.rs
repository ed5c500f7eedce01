//! Places in the texts that make up a configuration.

/// Which text something was written in; a later layer lies on top of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Layer {
    /// The presets that come with Loopgate.
    Builtin,
    /// The organisation's defaults.
    Organisation,
    /// The repository's own file.
    Repository,
}

/// Where something was written. Lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub layer: Layer,
    pub line: u32,
    pub column: u32,
}

impl Place {
    /// Files are capped, so that lines and columns fit.
    pub fn at(layer: Layer, line: usize, column: usize) -> Self {
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self { layer, line: small(line), column: small(column) }
    }

    /// Where a text begins.
    pub const fn start(layer: Layer) -> Self {
        Self { layer, line: 1, column: 1 }
    }
}

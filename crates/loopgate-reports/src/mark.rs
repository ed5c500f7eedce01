//! By what a report is recognised.

/// Names of keys, as far as the beginning of a report shows them.
pub(super) type Keys<'a> = [&'a str];

/// By what the beginning of a report is recognised.
pub(super) enum Mark {
    /// XML: the name of the outermost element, without its prefix, and its whole tag.
    Root(fn(&str, &str) -> bool),
    /// JSON: the beginning, and the keys of the first object in the outermost array.
    Array(fn(&str, &Keys<'_>) -> bool),
    /// JSON: the beginning, and the keys of the outermost object.
    Object(fn(&str, &Keys<'_>) -> bool),
    /// An object on each line, among other lines perhaps: the keys of one.
    JsonLines(fn(&Keys<'_>) -> bool),
    /// JSON in any of these forms, by keys as above.
    Json {
        array: fn(&Keys<'_>) -> bool,
        object: fn(&Keys<'_>) -> bool,
        line: fn(&Keys<'_>) -> bool,
    },
    /// Text: a line that only this format has.
    Line(fn(&str) -> bool),
    /// Text: lines that only this format has, and lines of which two do: one of them, a program may print.
    Lines {
        own: fn(&str) -> bool,
        pair: fn(&str) -> bool,
    },
    /// Text: a line that other formats have too; it counts where no other format is recognised.
    AnyLine(fn(&str) -> bool),
    /// Text of several tools: lines that only it has, and such that other formats have too.
    Text {
        own: fn(&str) -> bool,
        common: fn(&str) -> bool,
    },
    /// Only where it is configured.
    Configured,
}

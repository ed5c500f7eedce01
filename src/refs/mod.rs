//! Loop state in hidden git refs: save (compare-and-swap), load, recover.

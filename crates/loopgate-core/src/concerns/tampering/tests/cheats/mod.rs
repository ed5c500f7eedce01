//! Cheats of many kinds in many languages, by the comparison that finds them.

mod failed_before;
mod languages;
mod marked;
mod removed;
mod selection;

use super::*;

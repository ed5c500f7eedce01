//! Understanding a failure: what makes it the same as another, where it comes from, and what would mend it.

//! Decisions → what people read: comments, check runs, job summary, terminal.

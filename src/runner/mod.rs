//! Runs check commands: process groups, timeouts, capture, scheduling.

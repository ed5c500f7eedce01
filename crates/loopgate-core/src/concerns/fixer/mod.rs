//! Fixers that Loopgate asks for a fix: a senior fixer before a person is called, and one that works elsewhere.

pub mod fix_request;
pub mod senior_fixer;

//! Single values as they are written in the file, each checked on its own.

mod fixed;
mod numbers;
mod periods;
mod words;
mod written;

pub(super) use self::{
    fixed::{EnvValue, Version, Yes},
    numbers::{Target, UpTo, Whole},
    periods::{Period, Timeout},
    words::{EnvName, Handle, Transition, WrittenColour, WrittenRecipient},
    written::{Reader, Written, schema_of, written},
};

//! The cases of gates, each by its name: what becomes of the gate, and the sentence that people read about it.
//!
//! Everything between what GitHub shows and what people see is real: the configuration is read from its text, the
//! decision is made, the status comment is rendered, and the gate's lines are cut out of it.

mod binding;
mod documents;
mod elsewhere;
mod evasions;
mod kit;
mod people;
mod places;
mod sentences;
mod words;

//! The cases of gates, as conversations on a pull request.

mod binding;
mod objections;
mod people;
mod surface;
mod timeline;
mod words;

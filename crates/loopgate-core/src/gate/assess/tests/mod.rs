//! The cases of gates.md, "Cases that must hold", as conversations on a pull request.

mod binding;
mod objections;
mod people;
mod surface;
mod timeline;
mod words;

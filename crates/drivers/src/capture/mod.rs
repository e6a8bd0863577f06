//! What a journey reads from an answer for its later steps.
//!
//! Not here: keeping the values (see `plan::journey::Memory`), and what an answer must be (see `expect`).

mod compiled;
mod decode;
mod source;

#[cfg(test)]
mod tests;

pub use compiled::{Captures, Reading};

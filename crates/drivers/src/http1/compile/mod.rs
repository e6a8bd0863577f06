//! From the experiment file to a compiled operation, with every problem found on the way.
//!
//! The tables are those of the reference: `http` (`request`, `fields`, `payload`), `expect`, and
//! the paths of `items`.

pub mod expect;
pub mod fields;
pub mod parts;
pub mod payload;
pub mod request;

#[cfg(test)]
mod tests;

pub use request::operation;

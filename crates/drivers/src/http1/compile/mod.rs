//! From the experiment file to a compiled operation, with every problem found on the way.
//!
//! The tables are those of the reference: `http` (`request` with the files beside it), `expect`, and
//! the paths of `items`.

mod auth;
pub mod expect;
pub mod fields;
mod multipart;
pub mod parts;
pub mod payload;
mod pieces;
mod query;
pub mod request;

#[cfg(test)]
mod tests;

pub use request::operation;

//! From the experiment file to drafts of an operation's requests, with every problem found on the way.
//!
//! The tables are those of the reference: `http` (`request` with the files beside it), `expect`, and
//! the paths of `items`.

mod auth;
pub mod expect;
pub mod fields;
mod multipart;
pub mod parts;
pub mod payload;
pub mod pieces;
mod query;
pub mod request;
pub mod stream;

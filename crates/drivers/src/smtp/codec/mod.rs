//! Pure functions on bytes, right wherever the bytes are cut.
//!
//! `reply`: where a reply ends and what it says. `offers`: what a server offers after `EHLO`. `text`: lines that end
//! as the protocol wants them, and dots.
//!
//! Not here: streams and time.

pub mod offers;
pub mod reply;
pub mod text;

#[cfg(test)]
mod tests;

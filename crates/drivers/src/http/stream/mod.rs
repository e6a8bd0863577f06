//! An answer that is a stream of events: server-sent events, lines of JSON, or chunks.
//!
//! `framing` finds the events in the bytes, wherever these are cut. `reading` counts and times them as they come, and
//! says at the end whether the stream is what `rules` ask for.
//!
//! Not here: the keys of the experiment file (see `compile::stream`).

pub mod framing;
pub mod reading;
pub mod rules;
mod sse;

#[cfg(test)]
mod tests;

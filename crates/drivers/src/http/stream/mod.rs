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

/// Spans of a stream of events, in this order wherever a driver has them among its own ([`rules::StreamRules::spans`]).
pub(crate) const SPANS: [&str; 5] = ["first_event", "last_event", "gap", "longest_gap", "mean_gap"];
/// Place of the time to the first event among them.
const FIRST_EVENT: usize = 0;
/// Place of the time to the last event.
const LAST_EVENT: usize = 1;
/// Place of the times from each event to the next.
const GAP: usize = 2;
/// Place of the longest of them in an answer.
const LONGEST_GAP: usize = 3;
/// Place of their mean in an answer.
const MEAN_GAP: usize = 4;

#[cfg(test)]
mod tests;

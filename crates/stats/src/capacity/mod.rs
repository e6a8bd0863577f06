//! The highest rate that still meets its criteria, and what is known of the way there.
//!
//! In reading order: [`search`] says which rate to try next and for how long, once it is told how the last
//! trial ended; [`short_trials`] is the other way to judge a rate, by many short trials on a noisy host;
//! [`scalability`] fits the Universal Scalability Law to the steps. Not here: how a trial is carried out and
//! judged (see the binary and `judge`), and sentences.

pub mod scalability;
pub mod search;
pub mod short_trials;

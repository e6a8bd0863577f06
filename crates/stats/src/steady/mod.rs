//! Whether a trial was in a steady state: its windows say no more about its end than about its start.
//!
//! [`judge()`] looks for four departures, each with its size and its certainty: a start that is not over, a slow
//! drift, a step to another level, a backlog that grows; and, when none of them is there, for parts that differ in
//! any other way. Windows of a queue depend on each other, so that no test takes them for independent draws.
//! Not here: whether a steady state is required, and sentences (see `judge`).
//!
//! In reading order: `point` is what is looked at; `mser`, `change_points`, `slope`, `level` and
//! `homogeneity` are the tests; `judge` puts them together.

mod change_points;
mod homogeneity;
mod judge;
mod level;
mod mser;
mod point;
mod slope;
#[cfg(test)]
mod tests;

pub use change_points::change_points;
pub use homogeneity::Spread;
pub use judge::{Alarm, Floor, Measure, Steadiness, judge};
pub use level::LevelShift;
pub use mser::{Truncation, mser, mser5};
pub use point::{POINTS_LEAST, WindowPoint, group_length};
pub use slope::{SlopeChange, theil_sen};

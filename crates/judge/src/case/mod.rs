//! What criteria, validity and findings look at: the summary of a trial, with what a summary leaves out.
//!
//! In reading order: [`Shape`] keeps what the fine histograms show, [`OverTime`] what the windows show, and
//! [`SteadyStateTest`] whether there was a steady state; `facts` holds them together.

mod facts;
mod over_time;
mod shape;
mod steadiness;

pub(crate) use facts::RunView;
pub use facts::{Case, Facts, gave_up};
pub use over_time::{Burst, OverTime};
pub use shape::Shape;
pub(crate) use steadiness::Points;
pub use steadiness::{SteadyStateTest, departure};

//! The input of criteria, validity and findings: the summary of a trial, with the facts that a summary leaves out.
//!
//! In reading order: [`Shape`] keeps patterns of the fine histograms, [`OverTime`] patterns over the windows, and
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

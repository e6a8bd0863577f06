//! One file a subcommand.

pub mod audit;
pub mod calibrate;
pub mod check;
pub mod explain;
pub mod report;
pub mod run;
pub mod serve;

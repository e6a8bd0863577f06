//! One file for each subcommand.

pub mod agent;
pub mod audit;
pub mod calibrate;
pub mod capacity;
pub mod check;
pub mod compare;
pub mod doctor;
pub mod explain;
pub mod fleet;
pub mod import;
pub mod manual;
pub mod merge;
pub mod reflect;
pub mod report;
pub mod resume;
pub mod run;
pub mod serve;
pub mod welcome;

//! Makes a plan from the text of an experiment file, or reports everything that is wrong with it.
//!
//! Not here: the meaning of a protocol's own table (see the drivers), and how problems are shown
//! (see [`crate::diagnostic`]).

// In reading order: inputs, changes to the text, and the parts built from it.
mod arm;
mod build;
mod capture;
mod comparison;
mod condition;
mod confidential;
mod content;
mod design;
mod duet;
mod expectation;
mod factor;
mod fault;
mod journey;
mod load;
mod operation;
mod overrides;
mod placeholder;
mod process;
mod replay;
mod reported_names;
mod request;
mod resolve;
mod rows;
mod settings;
mod stages;
mod step;
mod target;
mod trace;
mod visibility;
mod workload;

pub use build::load;
pub use request::{
    BadSetting, Experiment, ExperimentContext, Inputs, InvalidExperiment, KnownNames, NoSystem,
    Options, ReportedNames, SettingError,
};

#[cfg(test)]
pub(crate) mod tests;

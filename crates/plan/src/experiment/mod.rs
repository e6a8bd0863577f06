//! From the text of an experiment file to a plan, or to everything that is wrong with it.
//!
//! Not here: what a protocol's own table means (see the drivers), and how problems are shown
//! (see [`crate::diagnostic`]).

// In reading order: what comes in, what is done to the text, what is built from it.
mod arm;
mod build;
mod comparison;
mod confidential;
mod design;
mod duet;
mod expectation;
mod factor;
mod fault;
mod load;
mod operation;
mod overrides;
mod placeholder;
mod process;
mod reported_names;
mod request;
mod resolve;
mod settings;
mod target;

pub use build::load;
pub use request::{
    BadSetting, Experiment, ExperimentContext, Inputs, InvalidExperiment, KnownNames, NoSystem,
    Options, ReportedNames, SettingError,
};

#[cfg(test)]
pub(crate) mod tests;

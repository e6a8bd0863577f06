//! Systems: their programs, the programs' descriptions, and how a run starts them.
//!
//! A program for systems is a file called `proofload-…`; `docs/reference/system-contract.md` specifies it. Not here:
//! any system.

mod description;
mod known;
mod programs;

use std::collections::BTreeMap;
use std::path::PathBuf;

use engine::process::Launcher;
use plan::plan::Arm;
use plan::process::Start;

use crate::problem::Problem;

pub use known::Systems;

/// The launcher for the processes of these arms.
///
/// Errors: an arm names a system that no program serves
pub fn launcher(arms: &[Arm]) -> Result<Launcher, Problem> {
    let systems = Systems::here();
    let of_arms = arms.iter().flat_map(|arm| {
        let observers = arm.observers.iter().filter_map(|observer| observer.start.as_ref());
        arm.system.iter().map(|system| &system.start).chain(observers)
    });
    let mut programs: BTreeMap<String, PathBuf> = BTreeMap::new();
    for start in of_arms {
        if let Start::Serve(name) = start
            && !programs.contains_key(name)
        {
            programs.insert(name.clone(), systems.locate(name)?);
        }
    }
    Ok(Launcher::new(programs, std::env::temp_dir(), Vec::new()))
}

//! `proofload check`: the whole plan, and with `--try` each operation once.

use crate::cli::CheckArgs;
use crate::exit::Exit;
use crate::loading::load_file;
use crate::message::Problem;
use crate::output;

/// Prints the plan; sends nothing unless asked to.
pub fn check(args: &CheckArgs) -> Result<Exit, Problem> {
    let loaded = load_file(&args.experiment, &args.plan)?;
    output::print(&loaded.experiment.plan.describe())?;
    Ok(Exit::Passed)
}

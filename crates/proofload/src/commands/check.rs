//! `proofload check`: the whole plan, and with `--try` each operation once.

use std::io::{Write, stderr};

use plan::diagnostic::Colour;
use plan::printable::printable_lines;

use crate::cli::CheckArgs;
use crate::exit::Exit;
use crate::loading::load_file;
use crate::problem::Problem;
use crate::try_once::try_arm;
use crate::{interrupt, output, redaction};

/// Prints the plan; sends nothing without `--try`.
pub fn check(args: &CheckArgs) -> Result<Exit, Problem> {
    let experiment = load_file(&args.experiment, &args.plan)?.experiment;
    if let Some(warned) = experiment.warned(Colour::Off) {
        // The terminal may be closed.
        let _ = writeln!(stderr(), "{warned}\n");
    }
    let plan = experiment.plan;
    output::print(&plan.describe())?;
    if !args.try_once {
        return Ok(Exit::Passed);
    }
    let stop = interrupt::listen()?;
    let mut all_succeeded = true;
    for (place, arm) in plan.arms.iter().enumerate() {
        let Some(trial) = plan.trials.iter().find(|trial| trial.arm == place) else { continue };
        let tried = try_arm(arm, trial, &stop)
            .map_err(|problem| redaction::of_problem(problem, &plan.secrets))?;
        all_succeeded &= tried.all_succeeded;
        let (name, text) = (plan.secrets.redact(&arm.name), plan.secrets.redact(&tried.text));
        // The text may contain bytes from the target.
        output::print(&printable_lines(&format!("\narm {name}\n\n{text}")))?;
    }
    Ok(if all_succeeded { Exit::Passed } else { Exit::Failed })
}

//! `proofload check`: the whole plan, and with `--try` each operation once; or what a script of k6 hardly means to do.

use std::path::Path;

use engine::file;
use plan::diagnostic::{Colour, Sources, render};
use plan::printable::{printable, printable_lines};

use crate::Exit;
use crate::cli::CheckArgs;
use crate::deep::with_stack;
use crate::loading::{LARGEST, load_file};
use crate::problem::Problem;
use crate::try_once::try_arm;
use crate::{interrupt, output, redaction};

/// Prints the plan; sends nothing without `--try`.
pub fn check(args: &CheckArgs) -> Result<Exit, Problem> {
    if import::k6::is_script(&args.experiment) {
        return check_script(args);
    }
    let experiment = load_file(&args.experiment, &args.plan)?.experiment;
    if let Some(warned) = experiment.warned(Colour::Off) {
        output::print_to_stderr(&format!("{warned}\n\n"));
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

/// Prints what a script of k6 hardly means to do; nothing of it is performed.
fn check_script(args: &CheckArgs) -> Result<Exit, Problem> {
    let name = &args.experiment;
    let shown = printable(name);
    if args.try_once {
        let what = format!("{shown} is a script, and scripts are not performed");
        return Err(
            Problem::usage(what).hint("leave --try out, or import it and try the experiment")
        );
    }
    let unreadable =
        |why: &dyn std::fmt::Display| Problem::usage(format!("cannot read {shown}: {why}"));
    let bytes = file::read(Path::new(name), LARGEST).map_err(|error| unreadable(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| unreadable(&"it is not UTF-8 text"))?;
    let warnings = with_stack(import::k6::STACK, || import::k6::check(name, &text))?
        .map_err(|problems| Problem::experiment(render(name, &text, &problems, Colour::Off)))?;
    if !warnings.is_empty() {
        let warned = Sources::new(name.as_str(), text.as_str()).warn(&warnings, Colour::Off);
        output::print_to_stderr(&format!("{}\n\n", printable_lines(&warned)));
    }
    let count = match warnings.len() {
        0 => "no warning".to_owned(),
        1 => "1 warning".to_owned(),
        several => format!("{several} warnings"),
    };
    let out = Path::new(name).with_extension("toml");
    let out = out.display().to_string();
    output::print(&format!(
        "{shown}: {count}\nmake an experiment of it: proofload import {shown} --out {}\n",
        printable(&out)
    ))?;
    Ok(Exit::Passed)
}

//! `proofload serve`: becomes the program that serves a system, or lists the available systems.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::Exit;
use crate::cli::ServeArgs;
use crate::output;
use crate::problem::Problem;
use crate::systems::Systems;

/// Serves until the system ends; without a name, lists the available systems.
///
/// Errors: no program serves the system, or any; or its program cannot be started
pub fn serve(args: &ServeArgs) -> Result<Exit, Problem> {
    let systems = Systems::here();
    let Some(system) = &args.system else { return list(&systems) };
    let program = systems.locate(system)?;
    let mut command = Command::new(&program);
    command.args([system, "--listen", &args.listen]);
    args.set.iter().for_each(|set| {
        command.args(["--set", set]);
    });
    // This process becomes the program, so the caller sees the system's process id, signals and exit status.
    let error = command.exec();
    Err(Problem::environment(format!("cannot start {}: {error}", program.display())))
}

fn list(systems: &Systems) -> Result<Exit, Problem> {
    let listed = systems.list();
    if listed.is_empty() {
        return Err(systems.none_found());
    }
    let of_all = || listed.iter().flat_map(|one| one.systems.iter().flatten());
    let width = of_all().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for one in &listed {
        let program = one.program.file_name().map(Path::new).unwrap_or(&one.program).display();
        match &one.systems {
            Ok(systems) => systems.iter().for_each(|(name, about)| {
                text += &format!("{name:<width$}  {about} ({program})\n");
            }),
            Err(why) => {
                output::print_to_stderr(&format!(
                    "note: {} cannot be asked: {why}\n",
                    one.program.display()
                ));
            }
        }
    }
    output::print(&text)?;
    Ok(Exit::Passed)
}

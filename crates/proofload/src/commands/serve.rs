//! `proofload serve`: becomes the program that serves a system, or lists those that there are.

use std::io::{Write, stderr};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::cli::ServeArgs;
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;
use crate::systems::Systems;

/// Serves until the system ends; without a name, lists what can be served.
///
/// Errors: no program serves it, or the one that does cannot be started
pub fn serve(args: &ServeArgs) -> Result<Exit, Problem> {
    let systems = Systems::here();
    let Some(system) = &args.system else { return list(&systems) };
    let program = systems.locate(system)?;
    let mut command = Command::new(&program);
    command.args([system, "--listen", &args.listen]);
    args.set.iter().for_each(|set| {
        command.args(["--set", set]);
    });
    // The process itself goes on as that program: its number, its signals and its end are those of the system.
    let error = command.exec();
    Err(Problem::environment(format!("cannot start {}: {error}", program.display())))
}

fn list(systems: &Systems) -> Result<Exit, Problem> {
    let listed = systems.list();
    if listed.is_empty() {
        systems.locate("NAME")?;
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
                // Where the terminal is gone, nobody reads it.
                let _ =
                    writeln!(stderr(), "note: {} cannot be asked: {why}", one.program.display());
            }
        }
    }
    output::print(&text)?;
    Ok(Exit::Passed)
}

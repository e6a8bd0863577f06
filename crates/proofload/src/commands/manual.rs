//! `proofload completions` and `proofload manual`: what shells and `man` show of the flags.

use clap::CommandFactory;
use clap_complete::Generator;
use clap_complete::shells::{Bash, Fish, Zsh};

use crate::Exit;
use crate::cli::{Cli, CompletionsArgs, ManualArgs, Shell};
use crate::output;
use crate::problem::Problem;

/// Prints the completions.
pub fn completions(args: &CompletionsArgs) -> Result<Exit, Problem> {
    output::print(&match args.shell {
        Shell::Bash => of(Bash),
        Shell::Zsh => of(Zsh),
        Shell::Fish => of(Fish),
    })?;
    Ok(Exit::Passed)
}

fn of(shell: impl Generator) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "proofload", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Writes a page for each command.
///
/// Errors: the folder cannot be written
pub fn manual(args: &ManualArgs) -> Result<Exit, Problem> {
    let folder = &args.folder;
    clap_mangen::generate_to(Cli::command(), folder).map_err(|error| {
        Problem::environment(format!("cannot write to {}: {error}", folder.display()))
            .hint("name a folder that exists")
    })?;
    Ok(Exit::Passed)
}

//! The binary: flags, subcommands, the execution of a run, messages, exit codes.
//!
//! Only this crate prints, parses flags, chooses files and sets exit codes. Not here: measuring
//! (see `engine`) and judging (see `judge`).

mod agenda;
mod calibration;
mod capacity_search;
mod charset;
mod cli;
mod commands;
mod console;
mod contact;
mod crew;
mod deep;
mod disk;
mod early_end;
mod execution;
mod interrupt;
mod judging;
mod live;
mod loading;
mod merging;
mod output;
mod problem;
mod publishing;
mod redaction;
mod remote;
mod scratch;
mod sharing;
mod shipping;
mod surroundings;
mod systems;
mod try_once;

use std::io::{Write, stderr};
use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use judge::verdict::Exit;
use problem::Problem;

/// musl's own allocator is slow.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(report_bug));
    let outcome = std::panic::catch_unwind(|| dispatch(&Cli::parse()));
    let exit = match outcome {
        Ok(Ok(exit)) => exit,
        Ok(Err(problem)) => {
            output::print_to_stderr(&format!("{problem}\n"));
            problem.exit
        }
        Err(_) => Exit::Bug,
    };
    ExitCode::from(exit as u8)
}

fn dispatch(cli: &Cli) -> Result<Exit, Problem> {
    let Some(command) = &cli.command else { return commands::welcome::welcome() };
    match command {
        Command::Run(args) => match &args.resume {
            Some(folder) => commands::resume::resume(
                folder,
                (&args.output, &args.watch, &args.share.fleet),
                args.generator,
            ),
            None => commands::run::run(args),
        },
        Command::Capacity(args) => commands::capacity::capacity(args),
        Command::Check(args) => commands::check::check(args),
        Command::Agent(args) => commands::agent::agent(args),
        Command::Fleet(args) => commands::fleet::fleet(args),
        Command::Merge(args) => commands::merge::merge(args),
        Command::Report(args) => commands::report::report(args),
        Command::Compare(args) => commands::compare::compare(args),
        Command::Audit(args) => commands::audit::audit(args),
        Command::Doctor => commands::doctor::doctor(),
        Command::Calibrate(args) => commands::calibrate::calibrate(args),
        Command::Serve(args) => commands::serve::serve(args),
        Command::Import(args) => commands::import::import(args),
        Command::Reflect(args) => commands::reflect::reflect(args),
        Command::Explain(args) => commands::explain::explain(args),
        Command::Completions(args) => commands::manual::completions(args),
        Command::Manual(args) => commands::manual::manual(args),
    }
}

/// Reports a panic as a bug in Proofload.
fn report_bug(panic: &std::panic::PanicHookInfo<'_>) {
    let message = panic.payload_as_str().unwrap_or("no message");
    let place = panic.location().map(|at| format!(" at {at}")).unwrap_or_default();
    // A closed terminal must not turn a panic into an abort.
    let _ = writeln!(
        stderr(),
        "error: a bug in proofload {}: {message}{place}\n  hint: please report it with the command \
         line and, if there is one, the run folder",
        env!("CARGO_PKG_VERSION")
    );
}

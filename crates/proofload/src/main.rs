//! The binary: flags, subcommands, the conduct of a run, messages, exit codes.
//!
//! Only this crate prints, parses flags, chooses files and sets exit codes. Not here: measuring
//! (see `engine`) and judging (see `report`).

mod agenda;
mod calibration;
mod cli;
mod commands;
mod conduct;
mod disk;
mod early_end;
mod exit;
mod inputs;
mod interrupt;
mod live;
mod loading;
mod message;
mod output;
mod redaction;
mod searching;
mod trying;

use std::io::{Write, stderr};
use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use exit::Exit;
use message::Problem;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(report_bug));
    let outcome = std::panic::catch_unwind(|| dispatch(&Cli::parse()));
    let exit = match outcome {
        Ok(Ok(exit)) => exit,
        Ok(Err(problem)) => {
            // Where the terminal is gone there is nobody to tell.
            let _ = writeln!(stderr(), "{problem}");
            problem.exit
        }
        Err(_) => Exit::Bug,
    };
    exit.into()
}

fn dispatch(cli: &Cli) -> Result<Exit, Problem> {
    match &cli.command {
        Command::Run(args) => commands::run::run(args),
        Command::Capacity(args) => commands::capacity::capacity(args),
        Command::Check(args) => commands::check::check(args),
        Command::Report(args) => commands::report::report(args),
        Command::Compare(args) => commands::compare::compare(args),
        Command::Audit(args) => commands::audit::audit(args),
        Command::Calibrate(args) => commands::calibrate::calibrate(args),
        Command::Serve(args) => commands::serve::serve(args),
        Command::Explain(args) => commands::explain::explain(args),
    }
}

/// Libraries that panic where a file of the user's makes no sense. Who called them catches that, and tells which
/// folder it is.
const READERS: [&str; 4] = ["redb", "model2vec-rs", "tokenizers", "safetensors"];

/// Whether this source is that of such a library: its folder is called after name and version.
fn reads_files(source: &str) -> bool {
    let is_version = |rest: &str| rest.starts_with(|first: char| first.is_ascii_digit());
    let version = |folder: &str| {
        READERS.iter().any(|name| {
            folder
                .strip_prefix(*name)
                .and_then(|rest| rest.strip_prefix('-'))
                .is_some_and(is_version)
        })
    };
    source.split('/').any(version)
}

/// A panic is a bug of ours, and says so.
fn report_bug(panic: &std::panic::PanicHookInfo<'_>) {
    let message = panic.payload_as_str().unwrap_or("no message");
    let place = panic.location().map(|at| format!(" at {at}")).unwrap_or_default();
    if panic.location().is_some_and(|at| reads_files(at.file())) {
        let _ = writeln!(stderr(), "note: a file could not be read: {message}{place}");
        return;
    }
    // Whoever closed the terminal must not turn a panic into an abort.
    let _ = writeln!(
        stderr(),
        "error: a bug in proofload {}: {message}{place}\n  hint: please report it with the command \
         line and, if there is one, the run folder",
        env!("CARGO_PKG_VERSION")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_reads_files_is_known_by_where_it_lies() {
        let known =
            |library| reads_files(&format!("/home/ada/.cargo/registry/src/x/{library}/src/lib.rs"));
        for library in
            ["redb-3.1.0", "model2vec-rs-0.4.0", "tokenizers-0.21.4", "safetensors-0.5.3"]
        {
            assert!(known(library), "{library}");
        }
        for other in ["hyper-1.8.1", "redbird-1.0.0", "tokenizers-extra-1.0.0", "tokio-1.48.0"] {
            assert!(!known(other), "{other}");
        }
        assert!(!reads_files("systems/search/src/guarded.rs"));
    }

    #[test]
    fn those_libraries_are_in_this_build() {
        let locked = include_str!("../../../Cargo.lock");
        for name in READERS {
            assert!(locked.contains(&format!("name = \"{name}\"\n")), "{name}");
        }
    }
}

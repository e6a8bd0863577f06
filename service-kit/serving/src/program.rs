//! A program that serves systems: its command line, its description in JSON, its messages and exit codes.
//!
//! `PROGRAM NAME [--listen ADDRESS] [--set KEY=VALUE …]` serves; with `--describe` it prints what is known of the system
//! beside these settings, or without a name of all its systems. `docs/reference/system-contract.md` is written for
//! programs that are not made with this crate.
//!
//! Not here: what a system does.

mod arguments;
mod description;
mod panics;

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::process::ExitCode;

use arguments::{Arguments, Wish};

use crate::error::{BadOption, BadOptions, Kind, ServeError};
use crate::options::Options;
use crate::orphans;
use crate::ready::Ready;
use crate::start::System;

/// musl's own allocator is slow, and takes one lock for all threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Does what the command line says with one of these systems, and gives the exit code: 0 for a system that was told to
/// stop, 2 for a wrong command line, 4 where the environment refuses, 101 for a bug.
pub fn run(systems: &[System]) -> ExitCode {
    std::panic::set_hook(Box::new(panics::report));
    let done = std::panic::catch_unwind(|| carry_out(systems, std::env::args().skip(1)));
    ExitCode::from(done.unwrap_or(101))
}

fn carry_out(systems: &[System], words: impl Iterator<Item = String>) -> u8 {
    let arguments = Arguments::read(words).map_err(Failure::usage);
    match arguments.and_then(|arguments| grant(systems, arguments)) {
        Ok(()) => 0,
        Err(Failure { text, code }) => {
            // Where the terminal is gone, nobody reads it.
            let _ = writeln!(io::stderr(), "error: {}", text.trim_end());
            code
        }
    }
}

fn grant(systems: &[System], arguments: Arguments) -> Result<(), Failure> {
    let Arguments { wish, system, options } = arguments;
    let system = system.map(|name| find(systems, &name)).transpose()?;
    match wish {
        Wish::Help => print(&usage(systems)),
        Wish::Version => print(VERSION),
        Wish::Describe => {
            let described = system.map_or_else(|| systems.iter().collect(), |system| vec![system]);
            print(&description::of(&described, &options));
        }
        Wish::Serve => {
            let missing = || format!("the name of a system is missing\n{}", usage(systems));
            serve(system.ok_or_else(|| Failure::usage(missing()))?, &options)?;
        }
    }
    Ok(())
}

fn serve(system: &System, options: &Options) -> Result<(), Failure> {
    take_name(system.name);
    let _below = orphans::adopt();
    system.serve(options, announce).map_err(|error| refused(system, &error))
}

const VERSION: &str = concat!("proofload ", env!("CARGO_PKG_VERSION"));

/// What ends the program: a text for people, and its exit code.
struct Failure {
    text: String,
    code: u8,
}

impl Failure {
    fn usage(text: impl ToString) -> Self {
        Self { text: text.to_string(), code: 2 }
    }
}

fn find<'s>(systems: &'s [System], name: &str) -> Result<&'s System, Failure> {
    systems.iter().find(|system| system.name == name).ok_or_else(|| {
        let names: Vec<&str> = systems.iter().map(|system| system.name).collect();
        Failure::usage(format!(
            "this program serves no system \"{name}\"\n  hint: it serves {}",
            names.join(", ")
        ))
    })
}

fn usage(systems: &[System]) -> String {
    let mut text = "usage: PROGRAM NAME [--listen ADDRESS] [--set KEY=VALUE ...]\n       \
                    PROGRAM [NAME] --describe [--set KEY=VALUE ...]\n\nNAME:\n"
        .to_owned();
    let width = systems.iter().map(|system| system.name.len()).max().unwrap_or(0);
    for System { name, about, .. } in systems {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {name:<width$}  {about}");
    }
    text
}

/// A reader that went away is no failure.
fn print(text: &str) {
    let _ = writeln!(io::stdout(), "{}", text.trim_end());
}

/// Lets the kernel call this process what it serves, so that the processes of a run can be told apart.
/// It keeps the first 15 characters.
fn take_name(system: &str) {
    // A process without a name of its own serves as well.
    let _ = fs::write("/proc/self/comm", system);
}

fn announce(ready: &Ready) {
    print(&ready.line());
}

/// Bad options are one line, as launchers expect it. Of other failures the first line says what is wrong, with where and
/// what to do below it.
fn refused(system: &System, error: &ServeError) -> Failure {
    let text = match error {
        ServeError::Options(bad) => format!("{bad}{}", where_to_look(system, bad)),
        ServeError::Stopped { doing, why, hint } => {
            format!("{why}\n  while: {doing}\n  hint: {hint}")
        }
        ServeError::Listen { .. } | ServeError::Io { .. } => error.to_string(),
    };
    Failure { text, code: error.exit_code() }
}

fn where_to_look(system: &System, bad: &BadOptions) -> String {
    let is_unknown = |one: &BadOption| matches!(one.kind, Kind::Unknown(_));
    match bad.problems.iter().any(is_unknown) {
        true => format!(" (the settings of {} are listed in {})", system.name, system.page),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use crate::start::Surface;

    fn check(options: &Options) -> Result<(), BadOptions> {
        let settings = Settings::new(&options.settings);
        settings.count("slots", 1, 1..=8);
        settings.finish("the test")
    }

    const SYSTEM: System = System {
        name: "test",
        about: "a test",
        page: "systems/test/README.md",
        surface: |_| Surface::default(),
        check,
        start: |_, _, _| Ok(()),
    };

    fn code(words: &[&str]) -> u8 {
        carry_out(&[SYSTEM], words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn each_end_has_its_exit_code() {
        // Serving ends all children of its process, here those of other tests, too: it is not tried here.
        for asked in [&["--describe"][..], &["test", "--describe"], &["--help"], &["--version"]] {
            assert_eq!(code(asked), 0, "{asked:?}");
        }
        for wrong in [&[][..], &["tset"], &["tset", "--describe"], &["test", "--sat", "a=1"]] {
            assert_eq!(code(wrong), 2, "{wrong:?}");
        }
    }

    #[test]
    fn who_serves_nothing_of_that_name_says_what_it_serves() {
        let failure = find(&[SYSTEM], "tset").unwrap_err();
        assert_eq!(failure.text, "this program serves no system \"tset\"\n  hint: it serves test");
        assert!(usage(&[SYSTEM]).ends_with("NAME:\n  test  a test\n"), "{}", usage(&[SYSTEM]));
    }

    #[test]
    fn unknown_settings_are_refused_in_one_line_with_the_page_that_lists_them() {
        let bad = check(&Options::default().with("slot", "1")).unwrap_err();
        let failure = refused(&SYSTEM, &bad.into());
        assert_eq!(failure.code, 2);
        assert_eq!(
            failure.text,
            "slot: no setting of the test; did you mean slots? (the settings of test are listed in \
             systems/test/README.md)"
        );
        let bad = check(&Options::default().with("slots", "9")).unwrap_err();
        assert!(refused(&SYSTEM, &bad.into()).text.ends_with("from 1 to 8, got \"9\""));
    }

    #[test]
    fn what_stops_a_start_is_told_with_where_and_what_to_do() {
        let why = "it is locked".to_owned();
        let error = ServeError::Stopped { doing: "open the store", why, hint: "unlock it" };
        let failure = refused(&SYSTEM, &error);
        assert_eq!(failure.text, "it is locked\n  while: open the store\n  hint: unlock it");
        assert_eq!(failure.code, 4);
    }
}

//! `proofload serve`: starts a bundled system, prints its ready line, serves until told to stop.

use std::fs;

use serving::error::ServeError;
use serving::options::Options;
use serving::ready::Ready;

use crate::cli::ServeArgs;
use crate::exit::Exit;
use crate::message::Problem;
use crate::output;

/// What serves a system.
type Serve = fn(&Options) -> Result<(), ServeError>;

/// The bundled systems and their companions.
const TABLE: &[(&str, Serve)] = &[
    ("truth", |options| truth::serve(options, announce)),
    ("registry", |options| registry::serve(options, announce)),
    ("mail", |options| mail::serve(options, announce)),
    ("mail-crowd", |options| mail::crowd::serve(options, announce)),
    ("search-front", |options| search::front::serve(options, announce)),
    ("registry-receivers", |options| registry::receivers::serve(options, announce)),
    ("search", |options| search::server::serve(options, announce)),
    ("search-embedder", |options| search::server::serve_embedder(options, announce)),
    ("search-index", |options| search::server::serve_index(options, announce)),
    ("search-judge", |options| search::judge::serve(options, announce)),
];

/// Their names.
pub const NAMES: &[&str] = &{
    let mut names = [""; TABLE.len()];
    let mut place = 0;
    while place < TABLE.len() {
        names[place] = TABLE[place].0;
        place += 1;
    }
    names
};

/// Serves until SIGTERM or SIGINT.
pub fn serve(args: &ServeArgs) -> Result<Exit, Problem> {
    let options = Options::parse(Some(&args.listen), &args.set)
        .map_err(|bad| refused(&ServeError::Options(bad)))?;
    let Some((_, serve)) = TABLE.iter().find(|(name, _)| *name == args.system) else {
        return Err(Problem::usage(format!("no system is called \"{}\"", args.system))
            .hint(format!("the bundled ones are: {}", NAMES.join(", "))));
    };
    take_name(&args.system);
    serve(&options).map_err(|error| refused(&error))?;
    Ok(Exit::Passed)
}

/// Lets the kernel call this process what it serves, so that the processes of a run can be told from each other.
/// It keeps the first 15 characters.
fn take_name(system: &str) {
    // A process without a name of its own serves as well.
    let _ = fs::write("/proc/self/comm", system);
}

/// Whoever started the system waits for this line; if it went away, there is nobody to tell.
fn announce(ready: &Ready) {
    let _ = output::print(&format!("{}\n", ready.line()));
}

/// What is wrong is one line, as launchers expect it, with where and what to do below it.
fn refused(error: &ServeError) -> Problem {
    match error {
        ServeError::Options(_) => Problem::usage(error.to_string()).hint(
            "settings are given as --set NAME=VALUE; the README of the system lists them and their units",
        ),
        ServeError::Stopped { doing, why, hint } => {
            Problem::environment(why).during(*doing).hint(*hint)
        }
        ServeError::Listen { .. } | ServeError::Io { .. } => Problem::environment(error.to_string()),
    }
}

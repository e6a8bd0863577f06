//! `proofload serve`: starts a bundled system, prints its ready line, serves until told to stop.

use serving::error::ServeError;
use serving::options::Options;
use serving::ready::Ready;

use crate::cli::ServeArgs;
use crate::exit::Exit;
use crate::message::Problem;
use crate::output;

/// Names of the bundled systems.
pub const NAMES: &[&str] = &["truth"];

/// Serves until SIGTERM or SIGINT.
pub fn serve(args: &ServeArgs) -> Result<Exit, Problem> {
    let options = Options::parse(Some(&args.listen), &args.set)
        .map_err(|bad| refused(&ServeError::Options(bad)))?;
    match args.system.as_str() {
        "truth" => truth::serve(&options, announce).map_err(|error| refused(&error))?,
        other => {
            return Err(Problem::usage(format!("no system is called \"{other}\""))
                .hint(format!("the bundled ones are: {}", NAMES.join(", "))));
        }
    }
    Ok(Exit::Passed)
}

/// Whoever started the system waits for this line; if it went away, there is nobody to tell.
fn announce(ready: &Ready) {
    let _ = output::print(&format!("{}\n", ready.line()));
}

/// A bad option is one line, as launchers expect it.
fn refused(error: &ServeError) -> Problem {
    if error.exit_code() == 2 {
        Problem::usage(error.to_string())
    } else {
        Problem::environment(error.to_string())
    }
}

//! `proofload report`: any page again, from the run folder.

use std::io;

use report::pages::{Format, terminal};

use crate::cli::ReportArgs;
use crate::commands::run::read_back;
use crate::disk::Disk;
use crate::exit::Exit;
use crate::message::Problem;
use crate::output;

/// Writes the run in the wanted format to stdout.
pub fn report(args: &ReportArgs) -> Result<Exit, Problem> {
    let disk = Disk::open(&args.run)?;
    let record = read_back(&disk)?;
    if args.format == "text" {
        output::print(&terminal::render(&record.summary, output::colour(args.no_color)))?;
        return Ok(Exit::Passed);
    }
    let Some(format) = Format::named(&args.format) else {
        return Err(Problem::usage(format!("no format is called \"{}\"", args.format)));
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = format.write(&record, &disk, &mut out).and_then(|()| io::Write::flush(&mut out));
    match written {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Problem::usage(error.to_string()).during(format!("making `{}`", args.format)))
        }
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Problem::environment(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(Exit::Passed),
    }
}

//! `proofload report`: makes any page again from the run folder.

use std::io::{self, Write};

use pages::{Format, unfinished};
use record::folder::{Folder, names};

use crate::Exit;
use crate::cli::ReportArgs;
use crate::disk::Disk;
use crate::output;
use crate::problem::Problem;
use crate::publishing::{print, read_back};

/// Writes the run in the wanted format to stdout.
pub fn report(args: &ReportArgs) -> Result<Exit, Problem> {
    let disk = Disk::open(&args.run)?;
    if !disk.exists(names::SUMMARY) {
        return unfinished(args, &disk);
    }
    let record = read_back(&disk)?;
    if args.format == "text" {
        print(&record, &disk, args.full, output::colour(args.no_color))?;
        return Ok(Exit::Passed);
    }
    let Some(format) = Format::named(&args.format) else {
        return Err(Problem::usage(format!("no format is called \"{}\"", args.format)));
    };
    finish(&args.format, |out| format.write(&record, &disk, out))
}

/// A killed run has no judged numbers, but everything that it had stored by then.
fn unfinished(args: &ReportArgs, disk: &Disk) -> Result<Exit, Problem> {
    if !unfinished::FORMATS.contains(&args.format.as_str()) {
        let run = args.run.display();
        return Err(Problem::usage(format!("{run} did not finish: it has no {}", names::SUMMARY))
            .during(format!("making `{}`", args.format))
            .hint(format!(
                "resume it (`proofload run --resume {run}`), or export what it had measured by \
                 then in one of these formats: {}",
                unfinished::FORMATS.join(", ")
            )));
    }
    finish(&args.format, |out| unfinished::write(&args.format, disk, out))
}

fn finish(
    format: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Exit, Problem> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Problem::usage(error.to_string()).during(format!("making `{format}`")))
        }
        // Page writers report read errors with these kinds; the system never uses them.
        Err(error) if matches!(error.kind(), io::ErrorKind::Other | io::ErrorKind::InvalidData) => {
            Err(Problem::usage(format!("cannot read the run: {error}"))
                .during(format!("making `{format}`"))
                .hint("this file is damaged; formats that do not need it can still be made"))
        }
        result => output::written(result).map(|()| Exit::Passed),
    }
}

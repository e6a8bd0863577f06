//! An access log, or results of a load tool: an experiment, its requests and their instants, in files beside each other.

use std::fs::{self, File};
use std::io::{BufRead, BufWriter};
use std::path::{Path, PathBuf};
use std::time::Duration;

use import::Options;
use import::access_log::{FileNames, LogSummary, SessionFile, convert};
use plan::printable::printable;
use plan::units::format_duration;

use crate::Exit;
use crate::cli::ImportArgs;
use crate::problem::Problem;

/// Reads the log once, and writes the experiment of `--out` and two files beside it; a third with sessions.
///
/// Errors: there is no `--out`, a file exists or cannot be written, or the log holds no request
pub(super) fn import(args: &ImportArgs, name: &str, log: impl BufRead) -> Result<Exit, Problem> {
    let Some(out) = &args.out else {
        let problem = Problem::usage("a log becomes several files");
        return Err(problem.hint("name the first with --out: --out replay.toml"));
    };
    let (requests, offsets) =
        (out.with_extension("requests.txt"), out.with_extension("offsets.csv"));
    let sessions = args.sessions.as_ref().map(|field| (out.with_extension("sessions.csv"), field));
    let made = Made::default();
    // Before the log is read, which may take minutes.
    let experiment = made.file(out)?;
    let summary = {
        let [mut requests, mut offsets] =
            [made.file(&requests)?, made.file(&offsets)?].map(BufWriter::new);
        let file = sessions.as_ref().map(|(path, _)| made.file(path)).transpose()?;
        let mut file = file.map(BufWriter::new);
        let sessions = file.as_mut().zip(sessions.as_ref()).map(|(file, (_, field))| SessionFile {
            field: Some((*field).clone()).filter(|field| !field.is_empty()),
            file,
        });
        let wanted = Options { hosts: args.hosts.clone() };
        convert(log, &wanted, &mut requests, &mut offsets, sessions)
    };
    let summary = summary
        .map_err(|error| Problem::environment(error.to_string()).during("copying the log"))?;
    let file_name =
        |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let sessions = sessions.map(|(path, _)| file_name(&path));
    let (requests, offsets) = (file_name(&requests), file_name(&offsets));
    let names = FileNames { requests: &requests, offsets: &offsets, sessions: sessions.as_deref() };
    let draft = summary.draft(&printable(name), names);
    let text = import::write(&draft, &printable(name));
    let length = Duration::from_secs(summary.length.div_ceil(1_000_000_000));
    let mut count = super::counted(summary.requests, "request");
    if let Some(sessions) = summary.sessions {
        count = format!("{count} of {}", super::counted(sessions, "session"));
    }
    let what = format!("{count} in {}", format_duration(length));
    super::say(&what, &draft, &printable(name), &text);
    if summary.requests == 0 {
        return Err(no_request(&summary, name));
    }
    let left_out: u64 = summary.left_out.values().map(|(count, _)| count).sum();
    if args.strict && !draft.notes.is_empty() {
        let lost = match left_out {
            0 => super::counted(draft.notes.len() as u64, "thing"),
            lines => super::counted(lines, "line"),
        };
        return Err(super::strict(&lost, name));
    }
    super::write(experiment, out, &text)?;
    made.keep();
    Ok(Exit::Passed)
}

fn no_request(summary: &LogSummary, name: &str) -> Problem {
    let what = format!("{} holds no request", printable(name));
    if summary.unwanted == 0 {
        return Problem::usage(what);
    }
    let others = super::counted(summary.unwanted, "other");
    let to = printable(&summary.unwanted_origin);
    let problem = Problem::usage(format!("{what} to this host: {others}, the first to {to}"));
    problem.hint("leave --host out, and write the host to send them to as `url` in the new file")
}

/// Files that are removed again unless all went well.
#[derive(Default)]
struct Made(std::cell::RefCell<Vec<PathBuf>>);

impl Made {
    fn file(&self, path: &Path) -> Result<File, Problem> {
        let file = super::create(path)?;
        self.0.borrow_mut().push(path.to_owned());
        Ok(file)
    }

    fn keep(&self) {
        self.0.borrow_mut().clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for path in self.0.get_mut() {
            // It may be gone already.
            let _ = fs::remove_file(path);
        }
    }
}

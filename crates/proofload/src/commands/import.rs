//! `proofload import`: an experiment file from what people have.

use std::fs::OpenOptions;
use std::io::{self, Write, stderr};
use std::path::Path;

use engine::file;
use import::draft::Draft;
use import::{Format, Options, Unreadable};
use plan::printable::printable;

use crate::cli::ImportArgs;
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;

/// Longer sources are refused; recordings of long visits with their answers are tens of megabytes.
const LONGEST: u64 = 1 << 30;
/// Notes that are printed; the file has all.
const NOTES_SHOWN: usize = 20;

/// Reads the source, and writes the experiment; what could not be taken over goes to stderr.
///
/// Errors: the source is not of its format, holds no request, or the file exists
pub fn import(args: &ImportArgs) -> Result<Exit, Problem> {
    let (name, text) = read(&args.source)?;
    let format = match &args.from {
        Some(from) => Format::parse(from),
        None => Format::guess(&name, &text),
    };
    let format = format.ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.into_iter().map(|(name, _)| name).collect();
        let what = format!("{} is of no known format", printable(&name));
        Problem::usage(what).hint(format!("name it with --from: {}", names.join(", ")))
    })?;
    let options = Options { hosts: args.hosts.clone() };
    let draft = import::read(format, &name, &text, &options);
    let draft = draft.map_err(|error| unreadable(&name, error))?;
    let written = import::write(&draft, &printable(&name));
    if args.strict && !draft.notes.is_empty() {
        say(&draft, &printable(&name), &written);
        let what = format!(
            "{} of {} cannot be taken over",
            counted(draft.notes.len(), "thing"),
            printable(&name)
        );
        return Err(Problem::usage(what).hint("remove them from the source, or leave --strict out"));
    }
    match &args.out {
        None => output::print(&written)?,
        Some(path) => write_new(path, &written)?,
    }
    say(&draft, &printable(&name), &written);
    Ok(Exit::Passed)
}

/// What the source is called, and its text.
fn read(source: &str) -> Result<(String, String), Problem> {
    if source.trim_start().starts_with("curl ") {
        return Ok(("a line of curl".to_owned(), source.to_owned()));
    }
    let path = Path::new(source);
    let (name, bytes) = match source {
        "-" => ("stdin".to_owned(), file::within(io::stdin().lock(), LONGEST)),
        _ => {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            (name.unwrap_or_else(|| source.to_owned()), file::read(path, LONGEST))
        }
    };
    let bytes = bytes
        .map_err(|error| Problem::usage(format!("cannot read {}: {error}", path.display())))?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| Problem::usage(format!("{} is not UTF-8", path.display())))?;
    Ok((name, text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned)))
}

fn unreadable(name: &str, error: Unreadable) -> Problem {
    let line = error.line.map(|line| format!(" line {line}")).unwrap_or_default();
    let problem = Problem::usage(error.what).during(format!("reading {}{line}", printable(name)));
    match error.hint {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}

fn write_new(path: &Path, text: &str) -> Result<(), Problem> {
    let during = format!("writing {}", path.display());
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| {
        let problem = Problem::environment(error.to_string()).during(&during);
        match error.kind() {
            io::ErrorKind::AlreadyExists => problem.hint("name another file with --out"),
            _ => problem,
        }
    })?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|error| Problem::environment(error.to_string()).during(during))
}

fn counted(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

/// What was made, what could not be taken over, and what to do next.
fn say(draft: &Draft, name: &str, written: &str) {
    let mut text = counted(draft.operations.len(), "operation");
    if !draft.journeys.is_empty() {
        text.push_str(&format!(" and {}", counted(draft.journeys.len(), "journey")));
    }
    text.push_str(&format!(" from {name}\n"));
    for note in draft.notes.iter().take(NOTES_SHOWN) {
        let line = note.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let what = draft.secrets.redact(&note.what);
        text.push_str(&format!("not taken over: {line}{}\n", printable(&what)));
    }
    if draft.notes.len() > NOTES_SHOWN {
        text.push_str(&format!(
            "and {} more, which the file lists\n",
            draft.notes.len() - NOTES_SHOWN
        ));
    }
    let variables = import::variables(written);
    if !variables.is_empty() {
        text.push_str(&format!("set before a run: {}\n", variables.join(", ")));
    }
    // The terminal may be closed.
    let _ = stderr().write_all(text.as_bytes());
}

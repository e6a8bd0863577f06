//! `proofload import`: an experiment file from what people have.

mod log;

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use engine::file;
use flate2::bufread::MultiGzDecoder;
use import::draft::Draft;
use import::{Format, Options, Unreadable, access_log};
use plan::printable::printable;

use crate::Exit;
use crate::cli::ImportArgs;
use crate::deep::with_stack;
use crate::output;
use crate::problem::Problem;

/// Longer sources are refused; recordings of long visits with their answers are tens of megabytes.
const LONGEST: u64 = 1 << 30;
/// Bytes by which a log is told from other formats.
const BEGINNING: usize = 1 << 16;
/// How files of gzip begin.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The name of access logs, which are read line by line.
pub const LOG: &str = "log";
/// Notes that are printed; the file has all.
const NOTES_SHOWN: usize = 20;

/// Reads the source, and writes the experiment; what could not be taken over goes to stderr.
///
/// Errors: the source is not of its format, holds no request, or a file exists
pub fn import(args: &ImportArgs) -> Result<Exit, Problem> {
    let Source { name, mut reader } = open(&args.source)?;
    let unread = |error| Problem::usage(format!("cannot read {}: {error}", printable(&name)));
    let beginning = reader.fill_buf().map_err(unread)?;
    let is_log = match args.from.as_deref() {
        None => access_log::seems(&String::from_utf8_lossy(beginning)),
        Some(from) => from == LOG,
    };
    if is_log {
        return log::import(args, &name, reader);
    }
    if args.sessions.is_some() {
        let problem =
            Problem::usage(format!("{} is no log, and --sessions is for logs", printable(&name)));
        return Err(problem.hint("leave it out; a recording becomes a journey without it"));
    }
    let bytes = file::within(reader, LONGEST).map_err(unread)?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| Problem::usage(format!("{} is not UTF-8", printable(&name))))?;
    import_text(args, &name, text.trim_start_matches('\u{feff}'))
}

fn import_text(args: &ImportArgs, name: &str, text: &str) -> Result<Exit, Problem> {
    let format = match &args.from {
        Some(from) => Format::parse(from),
        None => Format::guess(name.trim_end_matches(".gz"), text),
    };
    let format = format.ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.into_iter().map(|(name, _)| name).collect();
        let what = format!("{} is of no known format", printable(name));
        Problem::usage(what).hint(format!("name it with --from: {}, {LOG}", names.join(", ")))
    })?;
    let options = Options { hosts: args.hosts.clone() };
    let draft = with_stack(import::k6::STACK, || import::read(format, name, text, &options))?;
    let draft = draft.map_err(|error| unreadable(name, error))?;
    let written = import::write(&draft, &printable(name));
    if args.strict && !draft.notes.is_empty() {
        say(&made(&draft), &draft, &printable(name), &written);
        return Err(strict(&counted(draft.notes.len() as u64, "thing"), name));
    }
    match &args.out {
        None => output::print(&written)?,
        Some(path) => write(create(path)?, path, &written)?,
    }
    say(&made(&draft), &draft, &printable(name), &written);
    Ok(Exit::Passed)
}

fn strict(count: &str, name: &str) -> Problem {
    let what = format!("{count} of {} cannot be taken over", printable(name));
    Problem::usage(what).hint("remove them from the source, or leave --strict out")
}

/// What is imported.
struct Source {
    /// What it is called.
    name: String,
    reader: Box<dyn BufRead>,
}

fn open(source: &str) -> Result<Source, Problem> {
    if source.trim_start().starts_with("curl ") {
        let reader = Box::new(io::Cursor::new(source.to_owned()));
        return Ok(Source { name: "a line of curl".to_owned(), reader });
    }
    if source == "-" {
        let reader = unpacked(BufReader::new(io::stdin()));
        let reader = reader.map_err(|error| Problem::usage(format!("cannot read stdin: {error}")));
        return Ok(Source { name: "stdin".to_owned(), reader: reader? });
    }
    let path = Path::new(source);
    let opened = file::open(path);
    let opened = opened
        .map_err(|error| Problem::usage(format!("cannot read {}: {error}", path.display())))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| source.to_owned());
    let reader = unpacked(BufReader::with_capacity(BEGINNING, opened));
    let reader = reader
        .map_err(|error| Problem::usage(format!("cannot read {}: {error}", printable(&name))))?;
    Ok(Source { name, reader })
}

/// Logs that were put away are usually compressed with gzip.
fn unpacked(mut packed: impl BufRead + 'static) -> Result<Box<dyn BufRead>, io::Error> {
    if !packed.fill_buf()?.starts_with(&GZIP) {
        return Ok(Box::new(packed));
    }
    Ok(Box::new(BufReader::with_capacity(BEGINNING, MultiGzDecoder::new(packed))))
}

fn unreadable(name: &str, error: Unreadable) -> Problem {
    let line = error.line.map(|line| format!(" line {line}")).unwrap_or_default();
    let problem = Problem::usage(error.what).during(format!("reading {}{line}", printable(name)));
    match error.hint {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}

/// A file that was not there.
fn create(path: &Path) -> Result<File, Problem> {
    OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let what = format!("{} exists, and import replaces no file", path.display());
            Problem::environment(what).hint("name another one with --out, or remove it")
        }
        _ => cannot_write(path, &error),
    })
}

fn write(mut file: File, path: &Path, text: &str) -> Result<(), Problem> {
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &io::Error) -> Problem {
    Problem::environment(error.to_string()).during(format!("writing {}", path.display()))
}

fn counted(number: u64, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

/// How many operations and journeys there are.
fn made(draft: &Draft) -> String {
    let operations = counted(draft.operations.len() as u64, "operation");
    match draft.journeys.len() {
        0 => operations,
        journeys => format!("{operations} and {}", counted(journeys as u64, "journey")),
    }
}

/// What was made, what could not be taken over, and what to do next.
fn say(made: &str, draft: &Draft, name: &str, written: &str) {
    let mut text = format!("{made} from {name}\n");
    for note in draft.notes.iter().take(NOTES_SHOWN) {
        let line = note.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let what = draft.credentials.redact(&note.what);
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
    output::print_to_stderr(&text);
}

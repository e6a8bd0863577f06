//! Writes data to stdout, and what is said about it to stderr.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write, stderr, stdout};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;

use pages::terminal::Colour;

use crate::charset::for_terminal;
use crate::problem::Problem;

/// The error of a write to a closed terminal, on Linux.
const EIO: i32 = 5;

/// Writes the text to stdout. If the reader has gone (`| head`, a closed terminal), that is no
/// error.
///
/// Errors: stdout cannot be written, for example because the disk is full
pub fn print(text: &str) -> Result<(), Problem> {
    let mut out = stdout().lock();
    let text = if out.is_terminal() { for_terminal(text) } else { text.into() };
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Writes the text to stderr, unless that is a terminal that was closed.
pub fn print_to_stderr(text: &str) {
    let text = if stderr().is_terminal() { for_terminal(text) } else { text.into() };
    let _ = stderr().write_all(text.as_bytes()).and_then(|()| stderr().flush());
}

/// Converts the result of writing to stdout; a reader that has gone is no error.
///
/// Errors: stdout cannot be written for another reason
pub fn written(result: io::Result<()>) -> Result<(), Problem> {
    match result {
        Err(error) if !is_without_reader(&error) => {
            Err(Problem::environment(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

fn is_without_reader(error: &io::Error) -> bool {
    // For a regular file, the same error number means a failing disk.
    error.kind() == ErrorKind::BrokenPipe || error.raw_os_error() == Some(EIO) && is_device()
}

/// A closed terminal no longer counts as a terminal, but is still a device.
fn is_device() -> bool {
    let file = stdout().as_fd().try_clone_to_owned().map(File::from);
    let metadata = file.and_then(|file| file.metadata());
    metadata.is_ok_and(|found| found.file_type().is_char_device())
}

/// Colour, if stdout supports it and the user allows it.
pub fn colour(no_color: bool) -> Colour {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if no_color || refused || !stdout().is_terminal() { Colour::Off } else { Colour::On }
}

//! stdout: data, and nothing else.

use std::io::{ErrorKind, IsTerminal, Write, stdout};

use pages::terminal::Colour;

use crate::message::Problem;

/// Writes the text to stdout. A reader that went away (`| head`) is no error.
///
/// Errors: stdout cannot be written, for example because the disk is full
pub fn print(text: &str) -> Result<(), Problem> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Problem::environment(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Colour, where it is welcome on stdout.
pub fn colour(no_color: bool) -> Colour {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if no_color || refused || !stdout().is_terminal() { Colour::Off } else { Colour::On }
}

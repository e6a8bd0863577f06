//! Errors in a command.

/// The error of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandError {
    /// An unknown command.
    Unknown,
    /// A known command with invalid arguments.
    Syntax,
    /// An argument to a command that takes none.
    Argument,
    /// No path, or no mailbox in it.
    Path,
    /// A known parameter with an invalid value.
    Parameter,
    /// A size that is too large for a number.
    Size,
    /// A parameter that was not offered.
    UnknownParameter,
    /// `BDAT` without a size, so that the beginning of the next command is unknown.
    Chunk,
    /// Octets that no command may contain: control characters, or bytes that are not UTF-8.
    Octets,
}

//! What can be wrong with a command.

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandError {
    /// No command of this server.
    Unknown,
    /// A command, but its arguments are not.
    Syntax,
    /// An argument to a command without arguments.
    Argument,
    /// No path, or no mailbox in it.
    Path,
    /// A parameter that is known, with a value that is not.
    Parameter,
    /// A size beyond all numbers.
    Size,
    /// A parameter that was not offered.
    UnknownParameter,
    /// `BDAT` without a size, so that the beginning of the next command is unknown.
    Chunk,
    /// Octets that no command has: control characters, or bytes that are not UTF-8.
    Octets,
}

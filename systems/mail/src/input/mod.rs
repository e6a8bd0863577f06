//! Where the client's bytes are cut: command lines, and the content of `DATA`.
//!
//! Pure, and indifferent to how the bytes were split on their way. Only CRLF ends a line and only CRLF `.` CRLF ends
//! a message; a line feed or a carriage return alone is nothing that could be read in two ways, because it is an error.
//!
//! In reading order: [`mod@line`], [`content`].

pub mod content;
pub mod line;

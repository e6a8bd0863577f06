//! Splits the client's bytes: into command lines, and the content of `DATA`.
//!
//! Pure, and independent of how the network split the bytes. Only CRLF ends a line and only CRLF `.` CRLF ends a
//! message. A bare line feed or carriage return is an error, so no input can be read in two ways.
//!
//! In reading order: [mod@line], [`content`].

pub mod content;
pub mod line;

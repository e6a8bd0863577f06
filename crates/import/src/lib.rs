//! From what people have to an experiment file: each format is read into a [`Draft`](draft::Draft), which is written as
//! commented TOML.
//!
//! An import sends nothing and runs nothing. It writes no secret: credentials become `{{env.NAME}}`. What cannot be said
//! in an experiment file is a [`Note`](draft::Note) with its line.
//!
//! Not here: whether the result is a sound plan (see `plan::experiment`).

pub mod access_log;
mod braces;
mod credentials;
pub mod curl;
pub mod draft;
mod format;
pub mod har;
pub mod http_file;
pub mod hurl;
pub mod jmeter;
pub mod k6;
mod masks;
pub mod openapi;
pub mod postman;
mod request;
mod scan;
mod stamp;
#[cfg(test)]
mod tests;
mod text;
mod value;
pub mod vegeta;
mod write;

pub use format::{Format, Options, Unreadable, read};
pub use write::{variables, write};

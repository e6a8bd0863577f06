//! SMTP as a client speaks it: one message is one operation.
//!
//! Bytes first (`codec`): replies, dots, what a server offers. A connection moves bytes (`line`) after a session was
//! opened on it (`session`: greeting, `EHLO`, `STARTTLS`, `AUTH`) and keeps what it needs for the next message
//! (`conversation`). A message is made of an envelope (`envelope`) and a content (`content`), and handed over by its
//! operation (`operation`), as the table of the experiment file says (`compile`). `probe` does it once, for people.
//!
//! Not here: connecting and TLS itself (see `engine::transport`), queues and retries, servers.

use plan::protocol::{FileForm, FileKey, Scheme, TlsUse};

pub mod buffered_stream;
pub mod codec;
pub mod compile;
pub mod content;
pub mod conversation;
pub mod driver;
mod encoding;
pub mod envelope;
pub mod failure;
pub mod operation;
pub mod probe;
pub mod session;
pub mod span;

/// Schemes of its addresses.
pub const SCHEMES: [Scheme; 2] = [
    Scheme::at("smtp", 25, TlsUse::Later, CREDENTIALS),
    Scheme::at("smtps", 465, TlsUse::AtOnce, CREDENTIALS),
];
const CREDENTIALS: &str =
    "write auth = { user = \"…\", password = \"{{env.NAME}}\" } in the operation";

/// Keys that name files.
pub(crate) const FILES: [FileKey; 1] =
    [FileKey { key: "message_file", content: "message", form: FileForm::Text }];

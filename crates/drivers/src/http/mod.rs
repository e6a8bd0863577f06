//! What an exchange of HTTP means, for every version: requests from tables and templates, answers and what they are
//! held against.
//!
//! An operation is compiled to drafts of requests (`compile`), which each version turns into its own (`request` has the
//! pieces). `operation` sends one, follows redirects (`redirect`), carries the cookies of its journey (`cookies`), may go
//! to an address that an answer named (`address`), and checks the answer (`answer_check`). An answer may be a stream of
//! events (`stream`). How bytes travel is behind `carrier`.
//!
//! Not here: the bytes of a version (see `http1`, `http2`), connecting and TLS (see `engine::transport`).

use plan::document::Table;
use plan::protocol::{FileForm, FileKey};

pub mod address;
pub mod answer;
pub mod answer_check;
pub mod carrier;
pub mod compile;
pub mod cookies;
pub mod encoding;
pub mod field;
pub mod head;
pub mod operation;
pub mod probe;
pub mod progress;
pub mod protocol_error;
pub mod redirect;
pub mod reported_times;
pub mod request;
pub mod server_timing;
pub mod stream;
pub mod traceparent;

/// Keys that name files.
pub(crate) const FILES: [FileKey; 2] = [
    FileKey { key: "body_file", content: "body", form: FileForm::Text },
    FileKey { key: "multipart", content: "multipart", form: FileForm::Parts },
];

/// Spans of an operation.
pub(crate) const SPANS: &[&str] = &["first_byte", "redirects"];
/// Index of the `first_byte` span among them.
pub(crate) const FIRST_BYTE: usize = 0;
/// Index of the `redirects` span.
pub(crate) const REDIRECTS: usize = 1;

/// Spans of an operation whose answers are streams of events: those above, and these.
pub(crate) const STREAM_SPANS: &[&str] = &[
    SPANS[FIRST_BYTE],
    SPANS[REDIRECTS],
    stream::SPANS[0],
    stream::SPANS[1],
    stream::SPANS[2],
    stream::SPANS[3],
    stream::SPANS[4],
];
/// Index of the first of the events' spans.
pub(crate) const EVENTS: usize = 2;

/// Names of the spans that an operation with this table stamps.
pub(crate) fn spans(table: &Table) -> &'static [&'static str] {
    if compile::stream::is_stream(table) { STREAM_SPANS } else { SPANS }
}

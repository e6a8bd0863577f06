//! gRPC: unary and streaming calls on connections of HTTP/2, their messages known by descriptors alone.
//!
//! An operation is compiled from a .proto file or a set of descriptors (`compile`) to a request (`request`); a stream of
//! a connection (`stream`) sends it and reads messages (`frame`) and trailers (`answer`). `code` names the statuses,
//! `json` turns messages into JSON for rules and items, unless `count` finds too many in one, `reflection` asks a server for its descriptors.
//!
//! Not here: the connection (see `http2::handshake`), compression of messages, which is not offered to servers.

use plan::document::Table;

use crate::http::stream::SPANS as EVENT_SPANS;

pub mod answer;
pub mod code;
pub mod compile;
mod count;
pub mod driver;
pub mod frame;
pub mod json;
pub mod operation;
pub mod probe;
pub mod reflection;
pub mod request;
pub mod stream;

/// Names of its own spans: from the start to the head of the answer.
pub(crate) const SPANS: &[&str] = &["first_byte"];
/// Index of that one.
pub(crate) const FIRST_BYTE: usize = 0;
/// Those of a method that answers with a stream.
pub(crate) const STREAM_SPANS: &[&str] = &[
    SPANS[FIRST_BYTE],
    EVENT_SPANS[0],
    EVENT_SPANS[1],
    EVENT_SPANS[2],
    EVENT_SPANS[3],
    EVENT_SPANS[4],
];
/// Index of the first of the spans that messages of a stream have.
pub(crate) const EVENTS: usize = 1;

/// Names of the spans that an operation with this table stamps.
pub(crate) fn spans(table: &Table) -> &'static [&'static str] {
    if table.get(compile::STREAM).is_some() { STREAM_SPANS } else { SPANS }
}

//! HTTP/1.1, written out by hand because it is the hot path.
//!
//! An operation is compiled to bytes and templates (`compile`, `request`); a connection moves bytes
//! (`conversation`), reads an answer (`answer`, `codec`), and the operation checks it
//! (`operation`, `answer_check`, `expect`). Where the plan says so, the operation follows redirects (`redirect`), and
//! carries the cookies of its journey (`cookies`); it may go to an address that an answer named (`address`),
//! and carry a trace id (`traceparent`). `probe` does the same once, and shows everything.
//!
//! Not here: connecting and TLS (see `engine::transport`), HTTP/2.

pub mod address;
pub mod answer;
pub mod answer_check;
pub mod codec;
pub mod compile;
pub mod conversation;
pub mod cookies;
pub mod driver;
pub mod encoding;
pub mod operation;
pub mod probe;
pub mod redirect;
pub mod reported_times;
pub mod request;
pub mod traceparent;

/// This driver's own spans.
pub(crate) const SPANS: &[&str] = &["first_byte", "redirects"];
/// Index of the `first_byte` span among them.
pub(crate) const FIRST_BYTE: usize = 0;
/// Index of the `redirects` span.
pub(crate) const REDIRECTS: usize = 1;

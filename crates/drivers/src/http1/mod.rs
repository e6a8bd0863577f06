//! HTTP/1.1, written out by hand because it is the hot path.
//!
//! A request is compiled to bytes and templates (`compile`, `request`); a connection moves bytes (`conversation`) and
//! reads an answer (`answer`, `codec`). What both mean is in `http`. `probe` does the same once, and shows everything.
//!
//! Not here: connecting and TLS (see `engine::transport`), HTTP/2.

pub mod answer;
pub mod codec;
pub mod compile;
pub mod conversation;
pub mod driver;
pub mod probe;
pub mod request;

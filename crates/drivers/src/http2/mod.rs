//! HTTP/2 on the `h2` crate, many operations at a time on a connection.
//!
//! An operation says what `http` says, and is compiled from the same tables (`compile`) to what the crate takes
//! (`request`). A lane has a stream of its own on a connection (`line`), hands over its request and reads the answer
//! (`answer`), which the same judge judges as for HTTP/1.1 (`operation`). The connection's frames are moved by a task
//! of the crate, over the engine's transport (`wire`), and what ends it is told to all lanes (`ending`).
//!
//! Not here: connecting and TLS (see `engine::transport`), how many streams share a connection (see the engine's
//! workers), server push, which is switched off.

pub mod answer;
pub mod compile;
pub mod driver;
pub mod ending;
pub mod failure;
pub mod line;
pub mod operation;
pub mod probe;
pub mod request;
pub mod wire;

/// Index of the `first_byte` span among this driver's own.
const FIRST_BYTE: usize = 0;

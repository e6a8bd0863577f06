//! HTTP/2 on the `h2` crate, many operations at a time on a connection.
//!
//! An operation is compiled from the same tables as for `http` (`compile`) to the request type of the crate
//! (`request`). Each slot of a worker has a stream slot on a connection (`connection`), sends its request and reads the
//! answer (`answer`), which is checked as for HTTP/1.1 (`operation`). A task of the crate moves the connection's frames
//! over the engine's transport (`handshake`, `wire`); the end of the connection reaches all stream slots
//! (`connection_end`). `grpc` uses the same connections.
//!
//! Not here: connecting and TLS (see `engine::transport`), how many streams share a connection (see the engine's
//! workers), server push, which is switched off.

pub mod allowed_streams;
pub mod answer;
pub mod compile;
pub mod connection;
pub mod connection_end;
pub mod driver;
pub mod failure;
pub mod handshake;
pub mod operation;
pub mod probe;
pub mod request;
pub mod wire;

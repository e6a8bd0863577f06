//! The driver of gRPC against a peer in the same process, which answers as a test says.

mod calls;
mod malformed;
mod reflection;
mod stand;
mod streams;

//! HTTP/2 as the engine sees it: in memory and over sockets, on one stream and on many.

pub mod stand;

mod exchanges;
mod failures;
mod journey;
mod sockets;
mod trials;

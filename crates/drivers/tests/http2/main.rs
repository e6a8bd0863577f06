//! HTTP/2 as the engine sees it: in memory and over sockets, on one stream and on many.

#[path = "../planned/mod.rs"]
mod planned;
#[path = "../self_signed/mod.rs"]
mod self_signed;

mod stand;

mod exchanges;
mod failures;
mod journey;
mod sockets;
mod trials;

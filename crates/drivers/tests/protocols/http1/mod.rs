//! HTTP/1.1 as the engine sees it: in memory, over sockets, and beside hyper.

#[path = "../../stand/mod.rs"]
mod stand;

mod peer;

mod beside_hyper;
mod exchange;
mod journey;
mod probe;
mod reported_times;
mod sockets;

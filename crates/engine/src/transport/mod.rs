//! Transports: TCP, TLS, Unix sockets, and in-memory pipes for virtual time.
//!
//! Addresses are resolved once, before the run ([`Endpoint::resolve`]). During the run a
//! [`Network`] opens streams: the [`Kernel`]'s sockets, or a virtual network. Not here: the
//! protocols (see `drivers`), and time-outs (see `worker`).

mod cacert;
mod endpoint;
mod error;
mod failure;
mod kernel;
pub mod memory;
mod reachability;
mod stream;
#[cfg(test)]
mod tests;
mod tls;

use record::FailureKind;

pub use endpoint::{Address, Endpoint, no_target, with_origin};
pub use error::TransportError;
pub use failure::failure_kind;
pub use kernel::{Kernel, secure};
pub use memory::MemoryNetwork;
pub use reachability::check_reachable;
pub use stream::Stream;
pub use tls::Tls;

use crate::clock::Clock;
use crate::exchange::Exchange;

/// Opens streams, over real sockets or over the virtual network.
#[expect(async_fn_in_trait, reason = "workers are single-threaded: futures need not be Send")]
pub trait Network: Clone + 'static {
    /// Connects, stamping the `connect` and `tls` spans of the exchange.
    ///
    /// Errors: the kind of failure and what was seen
    async fn open<C: Clock>(
        &self,
        endpoint: &Endpoint,
        exchange: &mut Exchange<C>,
    ) -> Result<Stream, (FailureKind, String)>;
}

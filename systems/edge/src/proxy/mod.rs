//! The proxy: HTTP/1.1 and HTTP/2 in, in the clear or over TLS, pooled HTTP/1.1 out, and a cache between the two.
//!
//! What the cache does is RFC 9111 (freshness, validation, `Vary`, invalidation), RFC 9213 (`CDN-Cache-Control`) and RFC
//! 5861 (`stale-if-error`): see `policy` for what is stricter here. Equal requests at the same time are asked for once. A route whose upstream fails
//! too often is left alone for a while. How messages are framed, pooled, bounded and refused is [`proxying`]'s; where an
//! answer came from stands in its `x-cache`, and where its time went in its `Server-Timing`.
//!
//! Paths under `/_proxy/` are the proxy's own (`healthz`, `metrics`) and are not passed on.
//!
//! Not here: TLS or HTTP/2 to the upstream, choosing among upstreams, storing on disk, ranges of what is stored (they go
//! to the upstream), conditions for writing.
//!
//! In reading order: `settings`; the pure parts: what is said (`directives`, `dictionary`, `targeted`, `condition`), under what it is stored
//! (`key`), how long it serves (`policy`), when the upstream is left alone (`breaker`, `routes`); what is kept (`store`),
//! who waits for whom (`collapsing`); a request (`lookup`), the body of its answer (`outgoing`), what is answered instead
//! (`refusal`), all of it together (`handler`); what is reported (`tally`, `log`, `times` of an answer, `messages` to a
//! monitor); the answer as it is given (`delivery`) in streams (`streams`) of a client's connection (`connection`); and
//! the server.

mod breaker;
mod collapsing;
mod condition;
mod connection;
mod delivery;
mod dictionary;
mod directives;
mod handler;
mod key;
mod log;
mod lookup;
mod messages;
mod outgoing;
mod policy;
mod refusal;
mod routes;
mod server;
mod settings;
mod store;
mod streams;
mod tally;
mod targeted;
mod times;

pub use server::SYSTEM;
pub(crate) use server::{Bound, serve};
pub(crate) use settings::{Configuration, read_among};
pub use times::PARTS;

//! The core of a reverse proxy: forwards requests and answers, both streamed, within bounds.
//!
//! The caller has the server side, on hyper, of HTTP/1.1 or HTTP/2, and hands each request with its streaming body to
//! [`Proxy::forward`], which asks the upstream over HTTP/1.1; it gets an answer with a streaming body, or the
//! [`Failure`] to answer with. Between the two lie a pool of kept connections, a bounded queue before it, deadlines, and
//! the rules of RFC 9110 for intermediaries.
//!
//! Promises:
//!
//! - only a bounded piece of either body is held: a slow reader slows the other side down;
//! - a body that breaks off on one side breaks off on the other, and never looks complete; a client that has sent its whole
//!   request and closes its sending side gets its answer, and one that resets is given up;
//! - a request is sent a second time only if the first connection had been idle and was closed by its peer before
//!   a byte of the answer, and only if it was never written or is idempotent and without a body.
//!
//! The second of these, and that a request with two lengths is refused, need the client's stream to be a [`Socket`].
//!
//! Not passed on, by design: trailers, upgrades, and interim answers to clients over HTTP/2, whose server in h2
//! cannot send them.
//!
//! Not here: listening, TLS, choosing among upstreams, caching, and what any path means.
//!
//! In reading order: [`bounds`], [`failure`], [`counts`]; the upstream's address ([`authority`], [`upstream`]), the
//! [`client`], and what an intermediary does to heads (`heads`, and for what came by HTTP/2 `multiplex`); one connection
//! (`wire`, `pool`); interim answers (`interim`, `outbox`) and both bodies (`upload`, [`answer`]); all of it together ([`proxy`]); and a client's stream
//! ([`socket`], `scan`). A proxy's [`settings`] are read as those of the other systems.

pub mod answer;
pub mod authority;
pub mod bounds;
pub mod client;
pub mod counts;
pub mod failure;
mod heads;
mod interim;
mod multiplex;
mod outbox;
mod pool;
pub mod proxy;
mod scan;
pub mod settings;
pub mod socket;
mod upload;
pub mod upstream;
mod wire;

pub use answer::Answer;
pub use bounds::Bounds;
pub use client::Client;
pub use counts::Counts;
pub use failure::Failure;
pub use heads::{UntilClose, check, drop_fields, drop_twins, settle};
pub use proxy::Proxy;
pub use socket::{Handle, OverTcp, Socket};
pub use upstream::Upstream;

//! User records from one process to another: over HTTP, over a Unix socket, and over memory that
//! both have mapped.
//!
//! One [`producer`] serves all three at once; a [`transport`] fetches from it. Each request has a
//! nonce that must come back inside the data, and each answer a checksum over all of them.
//!
//! Not here: the instrument, and how the channel works (`foundation/shm-channel`).
//!
//! In reading order: what is asked ([`request`], [`refusal`]) and answered ([`records`], [`prepared`],
//! [`checksum`]); the [`producer`]; [`transport`] is what all of them promise, a [`payload`] or a [`failure`]; [`transports`] the three of them,
//! [`frame`] what goes over the Unix socket; a [`front`] that asks by any of them; and `race`, what was once taken for shared
//! memory.

pub mod checksum;
pub mod failure;
pub mod frame;
pub mod front;
pub mod payload;
pub mod prepared;
pub mod producer;
mod race;
pub mod records;
pub mod refusal;
pub mod request;
mod spin;
pub mod transport;
pub mod transports;

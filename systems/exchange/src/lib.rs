//! User records from one process to another: over HTTP, over a Unix socket, and over memory that
//! both have mapped.
//!
//! One [`producer`] serves all three at once; a [`way`] is how somebody asks it, and each exchange
//! says a nonce that must come back inside the data, with a checksum of all of it.
//!
//! Not here: the instrument, and how the channel works (`foundation/shm-channel`).

pub mod ask;
pub mod producer;
pub mod way;
pub mod ways;

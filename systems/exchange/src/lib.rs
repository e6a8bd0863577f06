//! User records from one process to another: over HTTP, over a Unix socket, and over memory that
//! both have mapped.
//!
//! One [`producer`] serves all three at once; a [`way`] is how somebody asks it. Each exchange says
//! a nonce that must come back inside the data, and has a checksum of all of them.
//!
//! Not here: the instrument, and how the channel works (`foundation/shm-channel`).
//!
//! In reading order: what is asked ([`ask`], [`refusal`]) and answered ([`records`], [`prepared`],
//! [`checksum`]); the [`producer`]; [`way`] is what all ways promise, [`ways`] the three of them,
//! [`frame`] what goes over the Unix socket.

pub mod ask;
pub mod checksum;
pub mod frame;
pub mod prepared;
pub mod producer;
pub mod records;
pub mod refusal;
pub mod way;
pub mod ways;

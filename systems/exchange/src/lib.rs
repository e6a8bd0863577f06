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
//! [`frame`] what goes over the Unix socket; a [`front`] that asks by any of them; and `race`, what was once taken for shared
//! memory.

pub mod ask;
pub mod checksum;
pub mod frame;
pub mod front;
pub mod prepared;
pub mod producer;
mod race;
pub mod records;
pub mod refusal;
mod spin;
pub mod way;
pub mod ways;

//! Vector search as a service: a text is embedded, its nearest rows are found, and their metadata joined.
//!
//! Not here: anything about the instrument, language understanding (the embedding hashes words; it is deterministic,
//! not semantic), distribution over machines.
//!
//! In reading order: what can go wrong ([`fault`]); text to vector ([`embed`]); vector to rows ([`index`]);
//! what may stand before all of it ([`front`]).

pub mod embed;
pub mod fault;
pub mod front;
pub mod index;

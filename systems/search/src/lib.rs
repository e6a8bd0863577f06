//! Vector search as a service: a text is embedded, its nearest rows are found, and their metadata joined.
//!
//! Not here: anything about the instrument, language understanding (the embedding hashes words; it is deterministic,
//! not semantic), distribution over machines.
//!
//! In reading order: what can go wrong ([`fault`]); what is searched ([`row`]); text to vector ([`embed`]); vector to
//! rows ([`index`]); what is known about rows ([`metadata`]); what was learned about queries ([`playbook`]); the public
//! HTTP over all of it ([`gateway`]); embedder and index as processes of their own ([`parts`]); what may stand before
//! it ([`front`]); who judges what was found ([`judge`]); rows and queries made from a seed ([`staffing`]).

pub mod embed;
pub mod fault;
pub mod front;
pub mod gateway;
mod guarded;
pub mod index;
pub mod judge;
pub mod metadata;
pub mod parts;
pub mod playbook;
pub mod row;
pub mod server;
mod settings;
pub mod staffing;
mod watched;

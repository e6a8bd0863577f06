//! Vector search as a service: a text is embedded, its nearest rows are found, and their metadata joined.
//!
//! Not here: anything about the instrument, language understanding (the embedding hashes words; it is deterministic,
//! not semantic), distribution over machines.
//!
//! In reading order: errors ([`api_error`]); rows ([`row`]); text to vector ([`embed`]); vector to
//! rows ([`index`]); [`metadata`]; boosts learned from queries ([`playbook`]); the public HTTP API
//! ([`gateway`]); embedder and index as separate processes ([`parts`]); a reverse proxy before the
//! service ([`front`]); [`recall_observer`]; rows and queries made from a seed ([`corpus`]).

pub mod api_error;
pub mod corpus;
pub mod embed;
pub mod front;
pub mod gateway;
mod guarded;
pub mod index;
pub mod metadata;
pub mod parts;
pub mod playbook;
pub mod recall_observer;
pub mod row;
pub mod server;
mod settings;
mod watched;

//! A monitor: receives casts over TCP, and over NATS if told so, counts each of them, keeps the
//! latest, and says what it saw.
//!
//! It is the observer of all casters: `received + dropped == cast`, where *received* is counted
//! here, and *dropped* and *cast* is what the casters say of themselves, in frames that stand behind
//! the casts that they count. Both sides are of one moment, so that a message that gets lost without
//! anybody knowing shows as an account that does not add up.
//!
//! Not here: durable storage, order between casters, clocks of several machines.
//!
//! In reading order: `sequence` tells what is new from what is late or comes again, `record` is what
//! is known of one caster, `recent` keeps the latest messages, [`ledger`] is all of it. `intake` and
//! `nats` bring frames, `api` answers over HTTP (with `figures`), `settings` and `server` put it together.

mod api;
mod figures;
mod intake;
pub mod ledger;
mod nats;
mod recent;
mod record;
mod sequence;
mod server;
mod settings;

pub use server::SYSTEM;

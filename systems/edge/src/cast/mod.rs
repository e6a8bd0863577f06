//! Messages to monitors, sent without waiting, and an exact account of what became of each.
//!
//! A [`Caster`] is shared by all threads. What is cast goes into a bounded buffer of each peer, in
//! lanes that threads of their own hardly ever share, and a task a peer carries it from there:
//! over TCP to a monitor of this crate ([`frame`] is what goes over the wire), or to a NATS server.
//! Where there is no room a message is dropped, and counted by its reason ([`account`]).
//!
//! **Promises.** Of each peer, `cast = taken + dropped + pending` at any moment, and nothing
//! is pending once it is [settled](Caster::settled). Over TCP *taken* is what the monitor said that
//! it counted: what it did not acknowledge is kept, within bounds, and sent again when a connection
//! breaks; the monitor says first how far it had come, so that nothing is counted twice. A monitor
//! that was started anew says so, and counts from then on. Over NATS *taken* means that the client
//! took it; what is lost after that shows as gaps where it should have arrived.
//!
//! Not here: order between threads, delivery to monitors that come later than the buffer is long.
//!
//! In reading order: the words ([`account`], [`frame`], [`settings`]), what threads meet at (`lane`,
//! `peer`), what is kept until it is acknowledged (`window`), who carries it (`connection`, `nats`), and
//! the [`Caster`] over all of it.

pub mod account;
mod address;
mod caster;
mod connection;
pub mod frame;
mod lane;
pub(crate) mod nats;
mod peer;
pub mod settings;
mod window;

pub use address::Address;
pub use caster::{Caster, PeerAccount};
pub use settings::Settings;

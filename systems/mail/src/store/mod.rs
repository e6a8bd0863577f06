//! Stores for messages: a [`Store`] receives a message in pieces, and promises at the end to keep it.
//!
//! In reading order: [`discard`] keeps nothing, [`memory`] keeps [`retained`] messages for the API,
//! [`maildir`] writes them to the disk, [`hook`] posts them to a URL.

pub mod discard;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod hook;
pub mod maildir;
pub mod memory;
pub mod retained;

use std::future::Future;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::envelope::Envelope;
use crate::refusal::Refusal;

/// A store for messages.
pub trait Store: Send + Sync + 'static {
    /// A message that is being received.
    type Draft: Draft;

    /// Begins a message, before any of its content is read.
    ///
    /// Errors: the reply instead of `354`
    fn begin(
        &self,
        envelope: Envelope,
    ) -> impl Future<Output = Result<Self::Draft, Refusal>> + Send;

    /// The effective configuration, for the ready line.
    fn effective(&self) -> Value;
}

/// A message that is being stored. If it is dropped before its end, nothing remains.
pub trait Draft: Send {
    /// Adds content in its original form: dots unstuffed, lines unchanged. May wait, so that reading from the network
    /// never gets ahead of the store; keeps a bounded amount in memory.
    ///
    /// Errors: no space, or the store has failed; the rest of the message is read and discarded
    fn write(&mut self, content: &[u8]) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// Ends the message; resolves once the store has kept its promise, and not before.
    ///
    /// Shape:  → the store's name for it, printable ASCII without spaces
    /// Errors: nothing of it is stored
    fn commit(self) -> impl Future<Output = Result<String, Refusal>> + Send;
}

/// Now, in milliseconds since 1970.
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

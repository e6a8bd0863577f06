//! What becomes of a message: a [`Store`] takes it piece by piece, and promises at the end.

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

/// Where messages go.
pub trait Store: Send + Sync + 'static {
    /// A message that is being received.
    type Draft: Draft;

    /// Begins a message, before a byte of its content was read.
    ///
    /// Errors: the reply instead of `354`
    fn begin(
        &self,
        envelope: Envelope,
    ) -> impl Future<Output = Result<Self::Draft, Refusal>> + Send;

    /// The configuration in force, for the ready line.
    fn effective(&self) -> Value;
}

/// A message on its way into a store. Dropped before its end it leaves nothing behind.
pub trait Draft: Send {
    /// Adds content as it was meant: dots unstuffed, lines as they came. May wait, so that what is read from the
    /// network never outruns the store; keeps a bounded amount in memory.
    ///
    /// Errors: no space, or the store has failed; the rest of the message is read and discarded
    fn write(&mut self, content: &[u8]) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// Ends the message; resolves when it is where the store promises it to be, and not before.
    ///
    /// Shape:  → the name under which the store knows it, printable ASCII without spaces
    /// Errors: nothing is kept of it
    fn commit(self) -> impl Future<Output = Result<String, Refusal>> + Send;
}

/// Now, in milliseconds since 1970.
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

//! Keeps nothing: accepted messages are counted and discarded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::{Draft, Store};
use crate::envelope::Envelope;
use crate::refusal::Refusal;

/// Accepts everything.
#[derive(Debug, Default)]
pub struct Discard {
    accepted: Arc<AtomicU64>,
}

impl Store for Discard {
    type Draft = DiscardDraft;

    async fn begin(&self, _: Envelope) -> Result<DiscardDraft, Refusal> {
        Ok(DiscardDraft { accepted: Arc::clone(&self.accepted) })
    }

    fn effective(&self) -> Value {
        json!({ "store": "discard" })
    }
}

/// A message that will be discarded.
#[derive(Debug)]
pub struct DiscardDraft {
    accepted: Arc<AtomicU64>,
}

impl Draft for DiscardDraft {
    async fn write(&mut self, _: &[u8]) -> Result<(), Refusal> {
        Ok(())
    }

    /// Its name is its number.
    async fn commit(self) -> Result<String, Refusal> {
        Ok((self.accepted.fetch_add(1, Ordering::Relaxed) + 1).to_string())
    }
}

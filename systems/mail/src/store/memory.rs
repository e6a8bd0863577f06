//! Keeps messages in memory for the HTTP API, until the process ends.

use hyper::body::Bytes;
use serde_json::{Value, json};

use super::retained::{MessageSummary, NewMessage, ReservedBytes, RetainedMessages, StoredContent};
use super::{Draft, Store, now_ms};
use crate::envelope::Envelope;
use crate::refusal::Refusal;

/// Smallest capacity that is reserved for content.
const SMALLEST: usize = 1 << 10;

/// A store that retains messages in memory.
#[derive(Debug)]
pub struct Memory {
    retained: RetainedMessages,
}

impl Memory {
    /// A store that fills this list.
    pub fn new(retained: RetainedMessages) -> Self {
        Self { retained }
    }
}

impl Store for Memory {
    type Draft = MemoryDraft;

    async fn begin(&self, envelope: Envelope) -> Result<MemoryDraft, Refusal> {
        let summary = MessageSummary::from(envelope);
        let reserved = self.retained.reserve(&summary)?;
        Ok(MemoryDraft { retained: self.retained.clone(), summary, reserved, content: Vec::new() })
    }

    fn effective(&self) -> Value {
        let bounds = self.retained.bounds();
        json!({
            "store": "memory",
            "store_messages": bounds.messages,
            "store_bytes": bounds.bytes,
            "store_full": bounds.full,
        })
    }
}

/// A message that will be kept in memory.
#[derive(Debug)]
pub struct MemoryDraft {
    retained: RetainedMessages,
    summary: MessageSummary,
    reserved: ReservedBytes,
    content: Vec<u8>,
}

impl Draft for MemoryDraft {
    async fn write(&mut self, content: &[u8]) -> Result<(), Refusal> {
        let wanted = self.content.len() + content.len();
        let there = self.content.capacity();
        if wanted > there {
            let capacity = wanted.max(2 * there).max(SMALLEST);
            self.reserved.more((capacity - there) as u64)?;
            self.content.reserve_exact(capacity - self.content.len());
        }
        self.content.extend_from_slice(content);
        Ok(())
    }

    async fn commit(mut self) -> Result<String, Refusal> {
        let too_much = self.content.capacity() - self.content.len();
        self.content.shrink_to_fit();
        self.reserved.less(too_much as u64);
        let arriving = NewMessage {
            id: None,
            received_at: now_ms(),
            summary: self.summary,
            size: self.content.len() as u64,
            content: StoredContent::Memory(Bytes::from(self.content)),
        };
        Ok(self.retained.put(arriving, Some(self.reserved)).to_string())
    }
}

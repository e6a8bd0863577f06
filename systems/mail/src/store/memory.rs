//! Keeps messages in memory: there for whoever asks at the door, gone with the process.

use hyper::body::Bytes;
use serde_json::{Value, json};

use super::shelf::{Arriving, Content, Reserved, Shelf, Slip};
use super::{Draft, Store, now_ms};
use crate::envelope::Envelope;
use crate::refusal::Refusal;

/// Smallest room that is taken for a content.
const SMALLEST: usize = 1 << 10;

/// Puts messages on a shelf.
#[derive(Debug)]
pub struct Memory {
    shelf: Shelf,
}

impl Memory {
    /// A store that fills this shelf.
    pub fn new(shelf: Shelf) -> Self {
        Self { shelf }
    }
}

impl Store for Memory {
    type Draft = Remembered;

    async fn begin(&self, envelope: Envelope) -> Result<Remembered, Refusal> {
        let slip = Slip::from(envelope);
        let reserved = self.shelf.reserve(&slip)?;
        Ok(Remembered { shelf: self.shelf.clone(), slip, reserved, content: Vec::new() })
    }

    fn effective(&self) -> Value {
        let bounds = self.shelf.bounds();
        json!({
            "store": "memory",
            "store_messages": bounds.messages,
            "store_bytes": bounds.bytes,
            "store_full": bounds.full,
        })
    }
}

/// A message that comes to be remembered.
#[derive(Debug)]
pub struct Remembered {
    shelf: Shelf,
    slip: Slip,
    reserved: Reserved,
    content: Vec<u8>,
}

impl Draft for Remembered {
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
        let arriving = Arriving {
            id: None,
            received_at: now_ms(),
            slip: self.slip,
            size: self.content.len() as u64,
            content: Content::Memory(Bytes::from(self.content)),
        };
        Ok(self.shelf.put(arriving, Some(self.reserved)).to_string())
    }
}

//! The other end of an in-memory connection, which answers from a script.

use drivers::http1::conversation::Conversation;
use drivers::http1::driver::Operation;
use engine::driver::Exchange;
use engine::transport::Stream;
use record::Outcome;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::http1::stand::{Ticks, call, exchange, run};

/// Both ends of an in-memory connection that holds `capacity` bytes in each direction.
pub fn memory(capacity: usize) -> (Conversation, Peer) {
    let (ours, theirs) = tokio::io::duplex(capacity);
    (Conversation::new(Stream::Memory(ours), "example.test:8080"), Peer(theirs))
}

/// Encodes and performs one operation.
pub async fn perform(
    operation: &Operation,
    conversation: &mut Conversation,
    exchange: &mut Exchange<Ticks>,
) -> Outcome {
    exchange.clear(operation.check.items.len());
    operation.encode(conversation, &call(0));
    exchange.started_at = exchange.now();
    operation.perform(conversation, exchange).await
}

/// The other end.
pub struct Peer(pub DuplexStream);

impl Peer {
    /// Reads to the end of a request's head; returns what was read.
    pub async fn read_head(&mut self) -> Vec<u8> {
        let mut seen = Vec::new();
        while !seen.ends_with(b"\r\n\r\n") {
            let byte = self.0.read_u8().await.expect("the request ends after its head");
            seen.push(byte);
        }
        seen
    }

    /// Sends each piece, and lets the other end read it before the next.
    pub async fn send(&mut self, pieces: &[&[u8]]) {
        for piece in pieces {
            // The other end may have seen enough and be gone.
            let _ = self.0.write_all(piece).await;
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        }
    }
}

/// Performs one operation against a peer that reads the head of the request, sends these pieces,
/// and then closes.
pub fn answered(operation: &Operation, pieces: &[&[u8]]) -> (Outcome, Exchange<Ticks>) {
    run(async {
        let (mut conversation, mut peer) = memory(64 * 1024);
        let mut exchange = exchange(operation);
        let serve = async move {
            peer.read_head().await;
            peer.send(pieces).await;
        };
        let ask = async {
            let outcome = perform(operation, &mut conversation, &mut exchange).await;
            // A peer with more to say is not kept waiting.
            drop(conversation);
            outcome
        };
        let (outcome, ()) = tokio::join!(ask, serve);
        (outcome, exchange)
    })
}

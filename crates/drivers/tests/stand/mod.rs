//! The test stand: a clock that ticks when it is read, operations from their text, and a peer that
//! answers from a script.
#![expect(dead_code, reason = "each test file uses its part of the stand")]

use std::cell::Cell;
use std::rc::Rc;

use drivers::http1::compile;
use drivers::http1::conversation::Conversation;
use drivers::http1::operation::Operation;
use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use engine::transport::Stream;
use plan::document::{self, Value};
use plan::operation::{Item, TargetOf};
use record::Outcome;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// A clock that advances by one nanosecond each time it is read.
#[derive(Debug, Clone, Default)]
pub struct Ticks(Rc<Cell<u64>>);

impl Clock for Ticks {
    fn now(&self) -> u64 {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }

    async fn sleep_until(&self, _at: u64) {
        std::future::pending().await
    }
}

/// An operation as planned, from the text of its table in an experiment file.
pub fn planned(text: &str) -> plan::operation::Operation {
    let (table, problems) = document::parse(text);
    assert_eq!(problems, [], "the text of the test is TOML");
    let inner = |key: &str| match table.get(key).map(|entry| &entry.node.value) {
        Some(Value::Table(table)) => Some(table.clone()),
        _ => None,
    };
    let items = inner("items").unwrap_or_default().entries.into_iter().map(|entry| Item {
        name: entry.key.clone(),
        path: entry.node.as_str().expect("a path").to_owned(),
        span: entry.node.span,
    });
    plan::operation::Operation {
        name: "test".into(),
        weight: 1.0,
        protocol: "http".into(),
        target: TargetOf::Fixed(0),
        table: inner("http").unwrap_or_default(),
        expect: inner("expect"),
        items: items.collect(),
        rows: None,
        requests: None,
        order: plan::operation::RowOrder::RoundRobin,
    }
}

/// A compiled operation.
pub fn operation(text: &str) -> Operation {
    compile::operation(&planned(text)).expect("the operation of the test compiles")
}

/// The k-th call.
pub fn call(sequence: u64) -> Call {
    Call { index: sequence, operation: 0, sequence, row: 0, trial: 1, seed: 7, now: 99 }
}

/// Both ends of an in-memory connection that holds `capacity` bytes in each direction.
pub fn memory(capacity: usize) -> (Conversation, Peer) {
    let (ours, theirs) = tokio::io::duplex(capacity);
    (Conversation::new(Stream::Memory(ours), "example.test:8080"), Peer(theirs))
}

/// An exchange ready for an operation.
pub fn exchange(operation: &Operation) -> Exchange<Ticks> {
    let mut exchange = Exchange::new(Ticks::default());
    exchange.clear(operation.items.len());
    exchange
}

/// Encodes and performs one operation.
pub async fn perform(
    operation: &Operation,
    conversation: &mut Conversation,
    exchange: &mut Exchange<Ticks>,
) -> Outcome {
    exchange.clear(operation.items.len());
    operation.encode(conversation, &call(0));
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

/// Runs a future on a runtime of one thread.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    runtime.expect("a runtime").block_on(future)
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
        let (outcome, ()) =
            tokio::join!(perform(operation, &mut conversation, &mut exchange), serve);
        (outcome, exchange)
    })
}

//! Counts the messages of any store, and answers as an observer.
//!
//! A message counts once the store has kept its promise, before the client gets 250. Refused,
//! aborted and lost messages never count.
//!
//! In reading order: `integrity` reads a message's nonce and digest, `account` adds up.

mod account;
mod integrity;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::Value;
use serving::metrics::{Counter, Histogram, Registry};
use serving::observed::Observed;
use timer::monotonic;

use crate::envelope::Envelope;
use crate::refusal::Refusal;
use crate::store::{Draft, Store};
pub use account::COUNTS;
use account::{Account, Stored};
use integrity::IntegrityReader;

/// Buckets of commit times in seconds.
const SECONDS: &[f64] = &[0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];

/// The counts; clones share them.
#[derive(Debug, Clone)]
pub struct Ledger {
    account: Arc<Mutex<Account>>,
    metrics: Metrics,
}

#[derive(Debug, Clone)]
struct Metrics {
    messages: Counter,
    bytes: Counter,
    refused_for_now: Counter,
    refused_for_good: Counter,
    commit_seconds: Histogram,
}

impl Ledger {
    /// Empty counts that are registered with a system's metrics.
    pub fn new(metrics: &Registry) -> Self {
        let refused = |class| {
            let help = "Messages refused by the store, by class of reply.";
            metrics.labelled_counter("mail_store_refusals_total", help, &[("class", class)])
        };
        let metrics = Metrics {
            messages: metrics.counter("mail_messages_total", "Messages stored."),
            bytes: metrics.counter("mail_bytes_total", "Bytes of messages stored."),
            refused_for_now: refused("4yz"),
            refused_for_good: refused("5yz"),
            commit_seconds: metrics.histogram(
                "mail_commit_seconds",
                "Time from a message's last byte to the store's promise.",
                SECONDS,
            ),
        };
        Self { account: Arc::default(), metrics }
    }

    /// The answer of `GET /observed`.
    pub fn observed(&self) -> Observed {
        self.account.lock().unwrap_or_else(PoisonError::into_inner).observed()
    }

    /// The answer of `GET /counts`.
    pub fn counts(&self) -> Value {
        self.account.lock().unwrap_or_else(PoisonError::into_inner).counts()
    }

    fn refused(&self, refusal: Refusal) -> Refusal {
        let metrics = &self.metrics;
        let is_transient = refusal.is_transient();
        let counter =
            if is_transient { &metrics.refused_for_now } else { &metrics.refused_for_good };
        counter.one();
        refusal
    }
}

/// A store whose messages are counted.
#[derive(Debug)]
pub struct CountedStore<S> {
    store: S,
    ledger: Ledger,
}

impl<S: Store> CountedStore<S> {
    /// Counts the messages of this store.
    pub fn new(store: S, ledger: Ledger) -> Self {
        Self { store, ledger }
    }
}

impl<S: Store> Store for CountedStore<S> {
    type Draft = CountedDraft<S::Draft>;

    async fn begin(&self, envelope: Envelope) -> Result<Self::Draft, Refusal> {
        let recipients = envelope.recipients.clone();
        let draft = self.store.begin(envelope).await;
        let draft = draft.map_err(|refusal| self.ledger.refused(refusal))?;
        let (marks, ledger) = (IntegrityReader::default(), self.ledger.clone());
        Ok(CountedDraft { draft, recipients, bytes: 0, marks, ledger })
    }

    fn effective(&self) -> Value {
        self.store.effective()
    }
}

/// A message that is counted once it is stored.
#[derive(Debug)]
pub struct CountedDraft<D> {
    draft: D,
    recipients: Vec<String>,
    bytes: u64,
    marks: IntegrityReader,
    ledger: Ledger,
}

impl<D: Draft> Draft for CountedDraft<D> {
    async fn write(&mut self, content: &[u8]) -> Result<(), Refusal> {
        self.bytes += content.len() as u64;
        self.marks.read(content);
        let written = self.draft.write(content).await;
        written.map_err(|refusal| self.ledger.refused(refusal))
    }

    async fn commit(self) -> Result<String, Refusal> {
        let Self { draft, recipients, bytes, marks, ledger } = self;
        let (nonce, body) = marks.end();
        let from = Instant::now();
        let name = draft.commit().await.map_err(|refusal| ledger.refused(refusal))?;
        let at_ns = monotonic();
        ledger.metrics.commit_seconds.record(from.elapsed().as_secs_f64());
        ledger.metrics.messages.one();
        ledger.metrics.bytes.add(bytes);
        let stored = Stored { bytes, recipients: &recipients, nonce, body, at_ns };
        ledger.account.lock().unwrap_or_else(PoisonError::into_inner).count(&stored);
        Ok(name)
    }
}

#[cfg(test)]
mod tests;

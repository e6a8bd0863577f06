//! A compiled operation, and how many streams peers allow it.

use std::sync::atomic::{AtomicUsize, Ordering};

use engine::clock::Clock;
use engine::driver::Exchange;
use record::Outcome;

use super::connection::StreamSlot;
use super::request::Request;

/// A compiled operation.
#[derive(Debug)]
pub struct Operation {
    /// What it means.
    pub meaning: crate::http::operation::Operation<Request>,
    /// The fewest streams at a time that a peer allowed where that was too few, over all workers.
    allowed: AtomicUsize,
}

impl Operation {
    /// An operation with this meaning.
    pub fn new(meaning: crate::http::operation::Operation<Request>) -> Self {
        Self { meaning, allowed: AtomicUsize::new(usize::MAX) }
    }

    /// Sends the encoded request, reads its answer, and checks it.
    ///
    /// The stream slot stays usable after a failed operation, unless the connection has ended.
    pub async fn perform<C: Clock>(
        &self,
        slot: &mut StreamSlot,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let outcome = self.meaning.perform(slot, exchange).await;
        if exchange.status.is_some()
            && let Some(allowed) = slot.too_few_allowed()
        {
            self.allowed.fetch_min(allowed, Ordering::Relaxed);
        }
        exchange.reusable = !slot.is_over();
        outcome
    }

    /// What was noticed beside the answers.
    pub fn note(&self) -> Option<String> {
        let allowed = self.allowed.load(Ordering::Relaxed);
        let waited = (allowed < usize::MAX).then(|| {
            format!(
                "the target allows {allowed} streams at a time on a connection, fewer than the load has: further \
                 requests waited in the connection, which is part of their service time"
            )
        });
        let reported = self.meaning.check.reported_times.note();
        let notes: Vec<String> = waited.into_iter().chain(reported).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

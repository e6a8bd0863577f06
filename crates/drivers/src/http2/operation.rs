//! A compiled operation: its requests, and what their answers are held against.

use std::sync::atomic::{AtomicUsize, Ordering};

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use record::Outcome;

use super::answer::Answer;
use super::connection::StreamSlot;
use super::request::Request;
use crate::http1::answer_check::{AnswerCheck, ReceivedAnswer};
use crate::http1::request::RenderContext;

/// A compiled operation.
#[derive(Debug)]
pub struct Operation {
    /// One, or one for each row of a target file.
    requests: Vec<Request>,
    /// What answers are held against, and what is read from them.
    pub check: AnswerCheck,
    /// The fewest streams at a time that a peer allowed where that was too few, over all workers.
    allowed: AtomicUsize,
}

impl Operation {
    /// An operation of these requests, whose answers are checked so.
    pub fn new(requests: Vec<Request>, check: AnswerCheck) -> Self {
        Self { requests, check, allowed: AtomicUsize::new(usize::MAX) }
    }

    /// Makes the request of this call.
    pub fn encode(&self, slot: &mut StreamSlot, call: &Call) {
        slot.clear();
        slot.call = *call;
        let request = &self.requests[if self.requests.len() > 1 { call.row } else { 0 }];
        let StreamSlot { origin, memory, prepared, .. } = slot;
        let (rows, authority) = (self.check.rows.as_deref(), origin.authority.as_str());
        *prepared = request.prepare(&RenderContext { call, rows, authority }, origin, memory);
    }

    /// Sends the encoded request, reads its answer, and checks it.
    ///
    /// The stream slot stays usable after a failed operation, unless the connection has ended.
    pub async fn perform<C: Clock>(
        &self,
        slot: &mut StreamSlot,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let outcome = match slot.exchange(self.check.keep(), exchange).await {
            Ok(answer) => {
                self.note_limit(slot);
                self.check.outcome(&received(&answer, slot), exchange)
            }
            Err(failure) => exchange.fail(failure.kind, || failure.detail),
        };
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
        let notes: Vec<String> =
            waited.into_iter().chain(self.check.reported_times.note()).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    fn note_limit(&self, slot: &mut StreamSlot) {
        if let Some(allowed) = slot.too_few_allowed() {
            self.allowed.fetch_min(allowed, Ordering::Relaxed);
        }
    }
}

/// A complete answer and the parts of it that the slot kept.
pub fn received<'a>(answer: &Answer, slot: &'a StreamSlot) -> ReceivedAnswer<'a> {
    let Answer { status, coding, size } = *answer;
    let StreamSlot { call, origin, kept_head, kept_body, .. } = slot;
    let authority = origin.authority.as_str();
    ReceivedAnswer { status, coding, size, head: kept_head, body: kept_body, call, authority }
}

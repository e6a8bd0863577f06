//! A compiled operation.

use engine::clock::Clock;
use engine::driver::Exchange;
use record::Outcome;

use super::allowed_streams::AllowedStreams;
use super::connection::StreamSlot;
use super::request::Request;

/// A compiled operation.
#[derive(Debug)]
pub struct Operation {
    /// What it means.
    pub meaning: crate::http::operation::Operation<Request>,
    /// Peers that allow too few.
    allowed: AllowedStreams,
}

impl Operation {
    /// An operation with this meaning.
    pub fn new(meaning: crate::http::operation::Operation<Request>) -> Self {
        Self { meaning, allowed: AllowedStreams::default() }
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
        if exchange.status.is_some() {
            self.allowed.look_at(&mut slot.handle);
        }
        exchange.reusable = !slot.handle.is_over();
        outcome
    }

    /// What was noticed beside the answers.
    pub fn note(&self) -> Option<String> {
        let reported = self.meaning.check.reported_times.note();
        let notes: Vec<String> = self.allowed.note().into_iter().chain(reported).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

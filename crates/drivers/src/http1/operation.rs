//! A compiled operation: its requests, and what their answers are held against.

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use record::Outcome;

use super::answer::{Answer, Keep, SentRequest};
use super::answer_check::{AnswerCheck, ReceivedAnswer};
use super::conversation::Conversation;
use super::request::{RenderContext, Request};

/// A compiled operation.
#[derive(Debug)]
pub struct Operation {
    /// One, or one for each row of a target file.
    pub requests: Vec<Request>,
    /// What answers are held against, and what is read from them.
    pub check: AnswerCheck,
}

impl Operation {
    /// Encodes the request of this call.
    ///
    /// Cost:   O(n) time; allocates only when a buffer of the conversation must grow
    pub fn encode(&self, conversation: &mut Conversation, call: &Call) {
        conversation.clear();
        conversation.call = *call;
        conversation.request = if self.requests.len() > 1 { call.row } else { 0 };
        let Conversation { authority, scratch, output, .. } = conversation;
        let context = RenderContext { call, rows: self.check.rows.as_deref(), authority };
        self.requests[conversation.request].encode(&context, scratch, &mut output.bytes);
    }

    /// Sends the encoded request, reads its answer, and checks it.
    pub async fn perform<C: Clock>(
        &self,
        conversation: &mut Conversation,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let sent_request = self.sent_request(conversation, exchange.started_at, self.check.keep());
        match conversation.exchange(&sent_request, exchange).await {
            Ok(answer) => self.outcome(&answer, conversation, exchange),
            Err(failure) => exchange.fail(failure.kind, || failure.detail),
        }
    }

    /// The encoded request, as far as reading its answer depends on it.
    pub fn sent_request(
        &self,
        conversation: &Conversation,
        began: u64,
        keep: Keep,
    ) -> SentRequest<'_> {
        let request = &self.requests[conversation.request];
        SentRequest { tail: request.tail(), is_head: request.is_head, keep, began }
    }

    /// Checks a complete answer against the expectations and reads the items.
    ///
    /// The connection stays usable even if an expectation fails: the answer was complete.
    pub fn outcome<C: Clock>(
        &self,
        answer: &Answer,
        conversation: &Conversation,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let outcome = self.check.outcome(&received(answer, conversation), exchange);
        exchange.reusable = answer.reusable;
        outcome
    }
}

/// A complete answer and what the conversation kept of it.
pub fn received<'a>(answer: &Answer, conversation: &'a Conversation) -> ReceivedAnswer<'a> {
    let Conversation { call, authority, kept_head, kept_body, .. } = conversation;
    let Answer { status, coding, size, .. } = *answer;
    ReceivedAnswer { status, coding, size, head: kept_head, body: kept_body, call, authority }
}

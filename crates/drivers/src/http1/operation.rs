//! A compiled operation: its requests, and what their answers are held against.

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use record::Outcome;

use super::answer::{Answer, Keep, Question};
use super::conversation::Conversation;
use super::judge::{Judge, Seen};
use super::request::{Context, Request};

/// A compiled operation.
#[derive(Debug)]
pub struct Operation {
    /// One, or one for each row of a target file.
    pub requests: Vec<Request>,
    /// What answers are held against, and what is read from them.
    pub judge: Judge,
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
        let context = Context { call, rows: self.judge.rows.as_deref(), authority };
        self.requests[conversation.request].encode(&context, scratch, &mut output.bytes);
    }

    /// Sends what was encoded, reads the answer, and judges it.
    pub async fn perform<C: Clock>(
        &self,
        conversation: &mut Conversation,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let question = self.question(conversation, exchange.started_at, self.judge.keep());
        match conversation.ask(&question, exchange).await {
            Ok(answer) => self.judge(&answer, conversation, exchange),
            Err(failure) => exchange.fail(failure.kind, || failure.detail),
        }
    }

    /// What is asked of the connection once the request is encoded.
    pub fn question(&self, conversation: &Conversation, began: u64, keep: Keep) -> Question<'_> {
        let request = &self.requests[conversation.request];
        Question { tail: request.tail(), is_head: request.is_head, keep, began }
    }

    /// Holds a complete answer against the expectations and reads the items.
    ///
    /// The connection may be used again whatever the verdict: the answer was complete.
    pub fn judge<C: Clock>(
        &self,
        answer: &Answer,
        conversation: &Conversation,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let outcome = self.judge.judge(&seen(answer, conversation), exchange);
        exchange.reusable = answer.reusable;
        outcome
    }
}

/// A complete answer and what the conversation kept of it.
pub fn seen<'a>(answer: &Answer, conversation: &'a Conversation) -> Seen<'a> {
    let Conversation { call, authority, kept_head, kept_body, .. } = conversation;
    let Answer { status, coding, size, .. } = *answer;
    Seen { status, coding, size, head: kept_head, body: kept_body, call, authority }
}

//! A compiled operation: its requests, what their answers are held against, and what is read from them.

use std::sync::Arc;

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use plan::rows::Rows;
use record::{FailureKind, Outcome};

use super::answer::{Answer, Keep, KeepBody, Question};
use super::conversation::Conversation;
use super::request::{Context, Request};
use super::told::Told;
use crate::expect::evidence::{self, Evidence, Undecodable};
use crate::expect::json::Path;
use crate::expect::rule::Rule;
use crate::statuses::Statuses;

/// A compiled operation.
#[derive(Debug)]
pub struct Operation {
    /// One, or one for each row of a target file.
    pub requests: Vec<Request>,
    /// Data that templates refer to.
    pub rows: Option<Arc<Rows>>,
    /// Statuses that mean success.
    pub statuses: Statuses,
    /// What else must hold.
    pub rules: Vec<Rule>,
    /// Where each declared number stands in the answer.
    pub items: Vec<Path>,
    /// Parts of the target whose times are read from the head.
    pub told: Told,
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
        let context = Context { call, rows: self.rows.as_deref(), authority };
        self.requests[conversation.request].encode(&context, scratch, &mut output.bytes);
    }

    /// Sends what was encoded, reads the answer, and judges it.
    pub async fn perform<C: Clock>(
        &self,
        conversation: &mut Conversation,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let question = self.question(conversation, exchange.started_at, self.keep());
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
        self.told.read(&conversation.kept_head, exchange);
        let outcome = match self.failure(answer, conversation, &mut exchange.items) {
            Some((kind, detail)) => exchange.fail(kind, || detail),
            None => Outcome::Succeeded,
        };
        exchange.reusable = answer.reusable;
        outcome
    }

    fn failure(
        &self,
        answer: &Answer,
        conversation: &Conversation,
        items: &mut [f64],
    ) -> Option<(FailureKind, String)> {
        if !self.statuses.contains(answer.status) {
            let detail = format!("status {}, expected {}", answer.status, self.statuses);
            return Some((FailureKind::Status, detail));
        }
        if self.rules.is_empty() && self.items.is_empty() {
            return None;
        }
        let decoded = match self.decoded(answer, conversation) {
            Ok(decoded) => decoded,
            Err(error) => return Some((undecodable(&error), error.to_string())),
        };
        let body = decoded.as_deref().unwrap_or(&conversation.kept_body);
        let evidence = self.evidence(answer, conversation, body);
        evidence.read(&self.items, items);
        evidence.violations(&self.rules).map(|what| (FailureKind::WrongContent, what))
    }

    /// The decompressed body, where it is compressed and something needs it.
    fn decoded(
        &self,
        answer: &Answer,
        conversation: &Conversation,
    ) -> Result<Option<Vec<u8>>, Undecodable> {
        match self.keep().body {
            KeepBody::Nothing => Ok(None),
            _ => evidence::decode(answer.coding, &conversation.kept_body),
        }
    }

    /// What the rules look at.
    pub fn evidence<'a>(
        &'a self,
        answer: &Answer,
        conversation: &'a Conversation,
        body: &'a [u8],
    ) -> Evidence<'a> {
        let Conversation { call, authority, kept_head, .. } = conversation;
        let context = Context { call, rows: self.rows.as_deref(), authority };
        Evidence::new(kept_head, answer.size, body, context)
    }

    fn keep(&self) -> Keep {
        let body = !self.items.is_empty() || self.rules.iter().any(Rule::needs_body);
        Keep {
            head: self.told.is_wanted() || self.rules.iter().any(Rule::needs_head),
            body: if body { KeepBody::All } else { KeepBody::Nothing },
        }
    }
}

fn undecodable(error: &Undecodable) -> FailureKind {
    match error {
        Undecodable::TooLong(fault) => fault.kind(),
        _ => FailureKind::WrongContent,
    }
}

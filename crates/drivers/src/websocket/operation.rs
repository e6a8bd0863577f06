//! A compiled operation: a handshake, or a message and what its answer must be.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use plan::rows::Rows;
use record::{FailureKind, Outcome};

use super::correlation::Correlation;
use super::failure::Failure;
use super::handshake::Handshake;
use super::opening::Opening;
use super::stream::AskStream;
use crate::expect::answer_view::AnswerView;
use crate::expect::json::Path;
use crate::expect::rule::AnswerRule;
use crate::http::request::{Payload, RenderContext};

/// Room that a stream without an operation keeps for the next answer.
const IDLE_LIMIT: usize = 1 << 20;

/// A compiled operation.
#[derive(Debug)]
pub struct Operation {
    /// How its socket is opened.
    pub handshake: Arc<Handshake>,
    /// Data that templates refer to.
    pub rows: Option<Arc<Rows>>,
    /// What it asks; none where it opens.
    pub ask: Option<Ask>,
}

/// A message, and what its answer must be.
#[derive(Debug)]
pub struct Ask {
    /// The message.
    pub message: Payload,
    /// Whether it travels as a binary message.
    pub is_binary: bool,
    /// Which message answers it.
    pub correlation: Arc<Correlation>,
    /// What the answer must be.
    pub rules: Vec<AnswerRule>,
    /// Where each declared number stands in the answer.
    pub items: Vec<Path>,
    /// Messages that came to its sockets and answered nothing.
    pub unasked: AtomicU64,
}

impl Operation {
    /// Opens a socket on a fresh connection.
    pub async fn open<C: Clock>(
        &self,
        stream: &mut Opening,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let opened = stream.open(&self.handshake, exchange).await;
        let outcome = match opened {
            Ok(()) => {
                exchange.status = stream.answer.status.into();
                Outcome::Succeeded
            }
            Err(failure) => end(failure, exchange),
        };
        exchange.reusable = false;
        outcome
    }

    /// Renders the handshake of this call.
    pub fn encode_opening(&self, stream: &mut Opening, call: &Call) {
        let Opening { authority, is_secure, .. } = stream;
        let request = self.handshake.request(call, self.rows.as_deref(), authority, *is_secure);
        stream.request = request;
    }
}

impl Ask {
    /// Renders the message of this call, and what its answer has in it.
    pub fn encode(&self, rows: Option<&Rows>, stream: &mut AskStream, call: &Call) {
        stream.call.clone_from(call);
        let AskStream { call, message, wanted, rendered, answer, .. } = stream;
        message.clear();
        let context = RenderContext { call, rows, authority: "", is_secure: false, location: "" };
        self.message.append(&context, rendered, message);
        self.correlation.render(call, rows, wanted);
        answer.clear();
        answer.shrink_to(IDLE_LIMIT);
    }

    /// Sends the encoded message, waits for its answer, and checks it.
    pub async fn perform<C: Clock>(
        &self,
        rows: Option<&Rows>,
        stream: &mut AskStream,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let answered = stream.exchange(self.is_binary, &self.correlation, exchange).await;
        let unasked = stream.take_unasked();
        if unasked > 0 {
            self.unasked.fetch_add(unasked, Ordering::Relaxed);
        }
        let outcome = match answered.and_then(|()| self.check(rows, stream, exchange)) {
            Ok(()) => Outcome::Succeeded,
            Err(failure) => end(failure, exchange),
        };
        exchange.reusable = stream.is_usable();
        outcome
    }

    fn check<C: Clock>(
        &self,
        rows: Option<&Rows>,
        stream: &AskStream,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        if self.rules.is_empty() && self.items.is_empty() {
            return Ok(());
        }
        let view = view(rows, stream);
        if let Some(detail) = view.too_long(&self.rules, &self.items) {
            return Err(Failure::new(FailureKind::TooLarge, detail));
        }
        view.read(&self.items, &mut exchange.items);
        match view.violations(&self.rules) {
            Some(detail) => Err(Failure::new(FailureKind::WrongContent, detail)),
            None => Ok(()),
        }
    }

    /// What was noticed beside the answers.
    pub fn note(&self) -> Option<String> {
        let unasked = self.unasked.load(Ordering::Relaxed);
        (unasked > 0).then(|| format!("{unasked} messages came that answered none of its own"))
    }
}

/// The answer, as rules see it.
pub fn view<'a>(rows: Option<&'a Rows>, stream: &'a AskStream) -> AnswerView<'a> {
    let AskStream { call, answer, .. } = stream;
    let context = RenderContext { call, rows, authority: "", is_secure: false, location: "" };
    AnswerView::new(&[], answer.len() as u64, answer, context)
}

fn end<C: Clock>(failure: Failure, exchange: &mut Exchange<C>) -> Outcome {
    exchange.status = failure.status;
    exchange.fail(failure.kind, || failure.detail)
}

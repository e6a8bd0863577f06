//! A compiled operation: its request and what the answer is held against.

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use prost_reflect::MessageDescriptor;
use record::{FailureKind, Outcome};

use super::code::{self, Code};
use super::request::Request;
use super::stream::CallStream;
use crate::http::answer::{Failure, Keep};
use crate::http::answer_check::{AnswerCheck, ReceivedAnswer};
use crate::http::head::Coding;
use crate::http::request::RenderContext;
use crate::http2::allowed_streams::AllowedStreams;

/// A compiled operation.
#[derive(Debug)]
pub struct Operation {
    /// The method as people write it: `shop.Cart/Add`.
    pub method: String,
    /// What is sent.
    pub request: Request,
    /// What each message of the answer is.
    pub answer: MessageDescriptor,
    /// Bytes of a message that is read, at most.
    pub max_message: usize,
    /// Statuses that mean success.
    pub codes: Vec<Code>,
    /// The other expectations; its statuses are not used.
    pub check: AnswerCheck,
    /// Peers that allow too few streams.
    pub allowed: AllowedStreams,
}

impl Operation {
    /// Renders the request of this call.
    pub fn encode(&self, stream: &mut CallStream, call: &Call) {
        let CallStream { handle, buffers, prepared, kept, call: own } = stream;
        own.clone_from(call);
        kept.clear();
        let origin = &handle.origin;
        let context = RenderContext {
            call,
            rows: self.check.rows.as_deref(),
            authority: origin.authority.as_str(),
            is_secure: origin.is_secure(),
            location: "",
        };
        *prepared = self.request.prepare(&context, origin, buffers);
    }

    /// Sends the encoded request, reads its answer, and checks it.
    ///
    /// The stream stays usable after a failed call, unless the connection has ended.
    pub async fn perform<C: Clock>(
        &self,
        stream: &mut CallStream,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        self.perform_keeping(self.check.keep(), stream, exchange).await
    }

    /// The same, keeping these parts of the answer.
    pub async fn perform_keeping<C: Clock>(
        &self,
        keep: Keep<'_>,
        stream: &mut CallStream,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let answered = stream.converse(self, keep, exchange).await;
        let outcome = match answered.and_then(|code| self.judge(code, stream)) {
            Ok(()) => self.check.outcome(&self.received(stream), exchange),
            Err(failure) => failure.end(exchange),
        };
        if exchange.status.is_some() {
            self.allowed.look_at(&mut stream.handle);
        }
        exchange.reusable = !stream.handle.is_over();
        outcome
    }

    /// The statuses that mean success, in words.
    pub fn expected_codes(&self) -> String {
        let names: Vec<String> = self.codes.iter().map(Code::to_string).collect();
        names.join(", ")
    }

    /// What status and number of messages say.
    fn judge(&self, code: Code, stream: &CallStream) -> Result<(), Failure> {
        if !self.codes.contains(&code) {
            let said = said(code, stream);
            let detail = match self.codes.as_slice() {
                [Code::OK] => said,
                _ => format!("{said}, expected {}", self.expected_codes()),
            };
            return Err(Failure { kind: FailureKind::Status, detail });
        }
        let malformed = |detail| Err(Failure { kind: FailureKind::Malformed, detail });
        if let Some((came, of)) = stream.kept.deframer.partial() {
            let detail = format!("the answer ended within a message, after {came} of {of} bytes");
            return malformed(detail);
        }
        if code == Code::OK && self.check.stream.is_none() && stream.kept.count == 0 {
            return malformed("status OK without a message".to_owned());
        }
        Ok(())
    }

    /// A complete answer, as the expectations see it.
    pub fn received<'a>(&self, stream: &'a CallStream) -> ReceivedAnswer<'a> {
        let CallStream { handle, kept, call, .. } = stream;
        ReceivedAnswer {
            status: 200,
            coding: Coding::Identity,
            size: kept.size,
            head: &kept.head,
            body: &kept.json,
            // Another status that is expected comes without messages.
            stream: (kept.code == Some(Code::OK)).then_some(&kept.stream),
            call,
            authority: handle.origin.authority.as_str(),
            is_secure: handle.origin.is_secure(),
        }
    }
}

/// The status and what the server says of it.
pub(super) fn said(code: Code, stream: &CallStream) -> String {
    let message = code::message(&stream.kept.message);
    let message = plan::printable::printable(&message);
    match message.is_empty() {
        true => code.to_string(),
        false => format!("{code}: {}", plan::printable::shortened(&message)),
    }
}

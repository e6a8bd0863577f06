//! A compiled operation: its message and the expectations.

use std::sync::Arc;

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use plan::rows::Rows;
use plan::template::Template;
use record::{FailureKind, Outcome};

use super::codec::acknowledgement::{self, Acknowledgement};
use super::codec::command::{Publication, is_subject};
use super::codec::{headers, server_error};
use super::failure::Failure;
use super::pending::Ending;
use super::session::Session;
use super::stream::{Encoded, MessageStream};
use crate::expect::answer_view::AnswerView;
use crate::expect::json::Path;
use crate::expect::rule::AnswerRule;
use crate::http::request::RenderContext;

/// Room that a stream without an operation keeps for messages.
const IDLE_LIMIT: usize = 1 << 20;
/// Bytes of all copies of a message: few beside those that may wait in a connection.
const COPIES_LIMIT: usize = 1 << 20;
/// Bytes of the longest subject: with the inbox and lengths it must fit into a control line.
const SUBJECT_LIMIT: usize = 2048;
/// The status of a request that no one is there to answer.
const NO_RESPONDERS: u16 = 503;
/// With this field a service says that it failed (ADR-32 of NATS).
const SERVICE_ERROR: &[u8] = b"Nats-Service-Error";
const SERVICE_ERROR_CODE: &[u8] = b"Nats-Service-Error-Code";

/// A compiled operation.
#[derive(Debug)]
pub struct Operation {
    /// How its connection is opened.
    pub session: Arc<Session>,
    /// What it is.
    pub action: Action,
    /// Where it is published to.
    pub subject: Template,
    /// Names and values of headers.
    pub headers: Vec<(String, Template)>,
    /// What is published.
    pub payload: Template,
    /// How many copies of a publication leave together.
    pub copies: usize,
    /// Data that templates refer to.
    pub rows: Option<Arc<Rows>>,
    /// What the payload of the reply must be.
    pub rules: Vec<AnswerRule>,
    /// Where each declared number stands in the reply.
    pub items: Vec<Path>,
}

/// What an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A message, which the server has read.
    Publish,
    /// A message, and the first reply to it.
    Request,
    /// A message for a stream of JetStream, which acknowledges it.
    JetStream,
}

impl Action {
    /// What ends it.
    pub fn ending(self) -> Ending {
        match self {
            Self::Publish => Ending::Pong,
            Self::Request | Self::JetStream => Ending::Reply,
        }
    }
}

impl Operation {
    /// Renders the message of this call.
    ///
    /// Cost:   O(n) time; allocates only when a buffer must grow
    pub fn encode(&self, stream: &mut MessageStream, call: &Call) {
        let MessageStream { connection, slot, encoded, reply, .. } = stream;
        stream.call.clone_from(call);
        stream.reply_headers = 0;
        encoded.clear();
        for buffer in [reply, &mut encoded.payload, &mut encoded.command] {
            buffer.clear();
            buffer.shrink_to(IDLE_LIMIT);
        }
        let rows = self.rows.as_deref();
        self.subject.render(call, rows, &mut encoded.subject);
        self.payload.render(call, rows, &mut encoded.payload);
        self.encode_headers(encoded, call);
        if !is_subject(&encoded.subject) || encoded.subject.len() > SUBJECT_LIMIT {
            let shown = server_error::shown(&encoded.subject);
            let detail = format!("{shown:?} is not a subject that can be published to");
            encoded.problem = Some(Failure::status("invalid_subject", detail));
        }
        if self.action.ending() == Ending::Reply {
            connection.reply_to(*slot, &mut encoded.reply_to);
        }
        let Encoded { command, subject, reply_to, headers, payload, .. } = encoded;
        Publication { subject, reply_to, headers, payload }.write(command);
        self.copy(encoded);
    }

    /// Puts the copies of the message behind it.
    fn copy(&self, encoded: &mut Encoded) {
        let Encoded { command, messages, problem, .. } = encoded;
        let one = command.len();
        *messages = self.copies;
        if self.copies == 1 || problem.is_some() {
            return;
        }
        let all = one.saturating_mul(self.copies);
        if all > COPIES_LIMIT {
            let copies = self.copies;
            let detail =
                format!("{copies} copies of {one} bytes each are more than {COPIES_LIMIT} bytes");
            *problem = Some(Failure::new(FailureKind::TooLarge, detail));
            return;
        }
        command.reserve(all - one);
        (1..self.copies).for_each(|_| command.extend_from_within(..one));
    }

    fn encode_headers(&self, encoded: &mut Encoded, call: &Call) {
        if self.headers.is_empty() {
            return;
        }
        let out = &mut encoded.headers;
        out.extend_from_slice(headers::VERSION);
        out.extend_from_slice(b"\r\n");
        for (name, value) in &self.headers {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            let begin = out.len();
            value.render(call, self.rows.as_deref(), out);
            if out[begin..].iter().any(|byte| matches!(byte, b'\r' | b'\n')) {
                let detail = format!("the value of header {name} has a line end");
                encoded.problem = Some(Failure::status("invalid_header", detail));
            }
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Sends the encoded message, waits for what ends the operation, and checks it.
    pub async fn perform<C: Clock>(
        &self,
        stream: &mut MessageStream,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let answered = stream.exchange(self.action.ending(), exchange).await;
        let checked = answered.and_then(|()| self.check(stream, exchange));
        let outcome = match checked {
            Ok(()) => Outcome::Succeeded,
            Err(failure) => {
                exchange.status = failure.status;
                exchange.fail(failure.kind, || failure.detail)
            }
        };
        exchange.reusable = stream.is_usable();
        outcome
    }

    fn check<C: Clock>(
        &self,
        stream: &MessageStream,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        let (headers, payload) = stream.reply();
        match self.action {
            Action::Publish => return Ok(()),
            Action::Request => check_headers(headers)?,
            Action::JetStream => {
                check_headers(headers)?;
                check_acknowledgement(payload)?;
            }
        }
        if self.rules.is_empty() && self.items.is_empty() {
            return Ok(());
        }
        let evidence = self.evidence(stream);
        if let Some(detail) = evidence.too_long(&self.rules, &self.items) {
            return Err(Failure::new(FailureKind::TooLarge, detail));
        }
        evidence.read(&self.items, &mut exchange.items);
        match evidence.violations(&self.rules) {
            Some(detail) => Err(Failure::new(FailureKind::WrongContent, detail)),
            None => Ok(()),
        }
    }

    /// The payload of the reply, as rules see it.
    pub fn evidence<'a>(&'a self, stream: &'a MessageStream) -> AnswerView<'a> {
        let (_, payload) = stream.reply();
        let context = RenderContext {
            call: &stream.call,
            rows: self.rows.as_deref(),
            authority: "",
            is_secure: false,
            location: "",
        };
        AnswerView::new(&[], payload.len() as u64, payload, context)
    }
}

/// Fails if the server or the service says so in a header.
fn check_headers(reply: &[u8]) -> Result<(), Failure> {
    if reply.is_empty() {
        return Ok(());
    }
    match headers::status(reply) {
        Some((NO_RESPONDERS, _)) => {
            return Err(Failure::status("no_responders", "no responders for the subject"));
        }
        Some((code, text)) if code >= 400 => {
            let detail = format!("{code} {}", server_error::shown(text));
            return Err(Failure::status(&code.to_string(), detail.trim_ascii_end()));
        }
        _ => {}
    }
    match headers::field(reply, SERVICE_ERROR_CODE) {
        Some(code) => {
            let text = headers::field(reply, SERVICE_ERROR).unwrap_or_default();
            Err(Failure::status(&server_error::shown(code), server_error::shown(text)))
        }
        None => Ok(()),
    }
}

fn check_acknowledgement(payload: &[u8]) -> Result<(), Failure> {
    match acknowledgement::read(payload) {
        Some(Acknowledgement::Stored) => Ok(()),
        Some(Acknowledgement::Refused(error)) => {
            let text = server_error::shown(error.description.as_bytes());
            Err(Failure::status(&error.name(), text))
        }
        None => {
            let detail = "the reply is no acknowledgement of JetStream";
            Err(Failure::new(FailureKind::WrongContent, detail))
        }
    }
}

impl Encoded {
    fn clear(&mut self) {
        for buffer in [&mut self.subject, &mut self.reply_to, &mut self.headers] {
            buffer.clear();
        }
        self.problem = None;
    }
}

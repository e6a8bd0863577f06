//! The driver: SMTP behind the engine's seam.

use engine::clock::Clock;
use engine::driver::{Call, CompileContext, Driver, Exchange, NewConnection};
use engine::transport::{Endpoint, Stream};
use plan::diagnostic::Diagnostic;
use plan::document::Table;
use plan::protocol::{FileKey, Scheme};
use record::{FailureKind, Outcome};

use super::compile;
use super::conversation::Conversation;
use super::operation::Operation;
use super::span;
use crate::single_stream::SingleStream;

/// SMTP over any stream, one message at a time on a connection.
///
/// What its stamps mean is said in [`span`]. Greeting, `EHLO`, `STARTTLS` and `AUTH` are part of connecting, and with
/// it of an operation's preparation; its service time begins with the first command of the message. Sizes are bytes
/// of the conversation; under TLS those of the plaintext.
#[derive(Debug, Clone, Copy, Default)]
pub struct Smtp;

impl Smtp {
    /// Names of its own spans.
    pub fn spans(_table: &Table) -> &'static [&'static str] {
        span::NAMES
    }
}

impl Driver for Smtp {
    type Operation = Operation;
    type Connection = SingleStream<Conversation>;
    type Stream = Conversation;

    fn schemes(&self) -> &'static [Scheme] {
        &super::SCHEMES
    }

    fn files(&self) -> &'static [FileKey] {
        &super::FILES
    }

    fn span_names(&self) -> &[&'static str] {
        span::NAMES
    }

    fn compile(&self, compile: CompileContext<'_>) -> Result<Operation, Vec<Diagnostic>> {
        compile::operation(&compile)
    }

    async fn connect<C: Clock>(
        &self,
        operation: &Operation,
        endpoint: &Endpoint,
        stream: Stream,
        exchange: &mut Exchange<C>,
    ) -> Result<NewConnection<SingleStream<Conversation>>, (FailureKind, String)> {
        let session = &operation.session;
        match session.open(endpoint, stream, exchange).await {
            Ok((line, offers)) => {
                let conversation = Conversation::new(line, offers);
                Ok(SingleStream::connected(conversation))
            }
            Err(failure) => {
                exchange.status = failure.code.into();
                Err((failure.kind, failure.detail))
            }
        }
    }

    fn open_stream(&self, connection: &mut SingleStream<Conversation>) -> Option<Conversation> {
        connection.take()
    }

    /// A session is as its first operation wanted it.
    fn shares_connection(&self, one: &Operation, other: &Operation) -> bool {
        one.session == other.session
    }

    fn encode(&self, operation: &Operation, stream: &mut Conversation, call: &Call) {
        stream.encode(operation, call);
    }

    async fn perform<C: Clock>(
        &self,
        operation: &Operation,
        stream: &mut Conversation,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        operation.perform(stream, exchange).await
    }

    async fn idle(&self, stream: &mut Conversation) {
        stream.line.idle().await;
    }
}

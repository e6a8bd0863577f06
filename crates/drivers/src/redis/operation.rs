//! A compiled operation: its command and the expectations.

use std::sync::Arc;

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use plan::rows::Rows;
use plan::template::Template;
use record::{FailureKind, Outcome};

use super::codec::{command, text};
use super::failure::Failure;
use super::session::Session;
use super::stream::CommandStream;
use crate::expect::answer_view::AnswerView;
use crate::expect::json::Path;
use crate::expect::rule::AnswerRule;
use crate::http::request::RenderContext;

/// Room that a stream without an operation keeps for the next reply.
const IDLE_LIMIT: usize = 1 << 20;

/// A compiled operation.
#[derive(Debug)]
pub struct Operation {
    /// How its connection is opened.
    pub session: Arc<Session>,
    /// The command.
    pub command: Vec<Piece>,
    /// Data that templates refer to.
    pub rows: Option<Arc<Rows>>,
    /// What the text of the reply must be.
    pub rules: Vec<AnswerRule>,
    /// Where each declared number stands in the reply.
    pub items: Vec<Path>,
}

/// A piece of a command.
#[derive(Debug)]
pub enum Piece {
    /// Its bytes are the same for every call.
    Fixed(Vec<u8>),
    /// A word that is rendered for each call.
    Word(Template),
}

impl Operation {
    /// Renders the command of this call.
    ///
    /// Cost:   O(n) time; allocates only when the buffer must grow
    pub fn encode(&self, stream: &mut CommandStream, call: &Call) {
        let CommandStream { command, rendered, reply, text, .. } = stream;
        stream.call.clone_from(call);
        command.clear();
        for piece in &self.command {
            match piece {
                Piece::Fixed(bytes) => command.extend_from_slice(bytes),
                Piece::Word(template) => {
                    rendered.clear();
                    template.render(call, self.rows.as_deref(), rendered);
                    command::word(rendered, command);
                }
            }
        }
        for buffer in [reply, text] {
            buffer.clear();
            buffer.shrink_to(IDLE_LIMIT);
        }
    }

    /// Sends the encoded command, waits for its reply, and checks it.
    pub async fn perform<C: Clock>(
        &self,
        stream: &mut CommandStream,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let answered = stream.exchange(exchange).await;
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
        stream: &mut CommandStream,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
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

    /// The text of the reply, as rules see it.
    pub fn evidence<'a>(&'a self, stream: &'a mut CommandStream) -> AnswerView<'a> {
        stream.text.clear();
        text::plain(&stream.reply, &mut stream.text);
        let context = RenderContext {
            call: &stream.call,
            rows: self.rows.as_deref(),
            authority: "",
            is_secure: false,
            location: "",
        };
        AnswerView::new(&[], stream.text.len() as u64, &stream.text, context)
    }
}

//! A compiled operation: one message, handed over and stamped phase by phase.

use std::sync::Arc;

use engine::clock::Clock;
use engine::driver::Exchange;
use plan::rows::Rows;
use record::{FailureKind, Outcome};

use super::buffered_stream::BufferedStream;
use super::codec::offers::Extension;
use super::codec::reply::{Class, Reply};
use super::content::{Content, LEAD};
use super::conversation::Conversation;
use super::envelope::Envelope;
use super::failure::Failure;
use super::session::{Session, command, want};
use super::span::{self, PhaseTimer};
use crate::statuses::Statuses;

/// A compiled operation.
#[derive(Debug)]
pub struct Operation {
    /// How its connections are opened.
    pub session: Arc<Session>,
    /// Who sends to whom.
    pub envelope: Envelope,
    /// What is sent.
    pub content: Content,
    /// Data that templates refer to.
    pub rows: Option<Arc<Rows>>,
    /// Codes that mean success.
    pub statuses: Statuses,
    /// Numbers that are wanted.
    pub items: Vec<MessageItem>,
    /// Whether commands go in one write where the server lets them.
    pub pipelining: bool,
    /// Whether the content goes by `BDAT` where the server lets it.
    pub chunking: bool,
    /// Whether `RSET` comes before each further message of a connection.
    pub reset: bool,
}

/// A number that the driver knows of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageItem {
    /// Recipients that the server took.
    Accepted,
    /// Recipients that it refused.
    Refused,
    /// Bytes of the message, dots not doubled.
    Size,
}

impl MessageItem {
    /// Every number there is.
    pub const ALL: [Self; 3] = [Self::Accepted, Self::Refused, Self::Size];

    /// What the experiment file calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "recipients.accepted",
            Self::Refused => "recipients.refused",
            Self::Size => "size",
        }
    }
}

/// A message under way.
struct Progress {
    phase: PhaseTimer,
    recipients: Recipients,
}

/// How the server answered for the recipients.
#[derive(Debug, Default)]
struct Recipients {
    accepted: u32,
    refused: u32,
    /// The refusal that decides if no recipient is accepted: the first transient one, else the first.
    worst: Option<Failure>,
}

impl Operation {
    /// Hands the encoded message over.
    ///
    /// A server that refuses is not asked again; the connection stays in use if both sides are in step.
    pub async fn perform<C: Clock>(
        &self,
        conversation: &mut Conversation,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let phase = PhaseTimer { since: exchange.started_at };
        let mut progress = Progress { phase, recipients: Recipients::default() };
        let result = self.hand_over(conversation, &mut progress, exchange).await;
        self.note_items(&progress.recipients, conversation.content.size, &mut exchange.items);
        let in_step = result.as_ref().map_or_else(|failure| failure.in_step, |_| true);
        let outcome = self.judge(result, exchange);
        exchange.reusable = in_step;
        if exchange.is_last && in_step {
            exchange.reusable = false;
            exchange.settled = Some(outcome);
            // The message has been accepted or refused; the farewell does not change that.
            if command(&mut conversation.line, "QUIT\r\n", Class::Done, exchange).await.is_ok() {
                progress.phase.end(span::QUIT, exchange);
            }
        }
        outcome
    }

    /// From the first command to the reply that decides.
    async fn hand_over<C: Clock>(
        &self,
        conversation: &mut Conversation,
        progress: &mut Progress,
        exchange: &mut Exchange<C>,
    ) -> Result<Reply, Failure> {
        self.possible(conversation)?;
        conversation.line.quiet("the first command", exchange).await?;
        let was_used = std::mem::replace(&mut conversation.used, true);
        debug_assert!(was_used || conversation.commands.reset == 0, "nothing to reset");
        conversation.unfinished = true;
        if conversation.commands.together {
            conversation.command_together(progress, exchange).await?;
        } else {
            conversation.command_in_turn(progress, exchange).await?;
        }
        let reply = self.send_content(conversation, &mut progress.phase, exchange).await?;
        // Any reply to the end of a content ends the message (RFC 5321 section 4.1.1.4).
        conversation.unfinished = false;
        want(Class::Done, "content", reply, &conversation.line)?;
        Ok(reply)
    }

    /// Whether the message can be sent at all on this connection.
    fn possible(&self, conversation: &Conversation) -> Result<(), Failure> {
        if let Some(fault) = conversation.fault {
            let failure = Failure::new(FailureKind::WrongContent, fault.to_string());
            return Err(Failure { in_step: true, ..failure });
        }
        if conversation.content.eight_bit && !conversation.offers.has(Extension::EightBit) {
            return Err(Failure::not_offered("8BITMIME"));
        }
        if self.envelope.utf8 && !conversation.offers.has(Extension::Utf8) {
            return Err(Failure::not_offered("SMTPUTF8"));
        }
        Ok(())
    }

    async fn send_content<C: Clock>(
        &self,
        conversation: &mut Conversation,
        phase: &mut PhaseTimer,
        exchange: &mut Exchange<C>,
    ) -> Result<Reply, Failure> {
        let Conversation { line, content, commands, .. } = conversation;
        let from = commands.chunk.unwrap_or(LEAD);
        let shared = self.content.shared(commands.chunk.is_none());
        let (before, after) = content.bytes.split_at(content.split);
        line.send_parts([&before[from..], &shared[..content.shared], after], exchange).await?;
        phase.end_at(span::CONTENT, exchange.now(), exchange);
        let reply = line.reply(exchange).await?;
        phase.end(span::ACCEPTED, exchange);
        Ok(reply)
    }

    fn judge<C: Clock>(
        &self,
        result: Result<Reply, Failure>,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let code = result.as_ref().map_or_else(|failure| failure.code, |reply| reply.code);
        exchange.status = code.into();
        let is_expected = self.statuses.contains(code);
        match result {
            Ok(_) if is_expected => Outcome::Succeeded,
            Err(failure) if is_expected && failure.is_refusal() => Outcome::Succeeded,
            Err(failure) => exchange.fail(failure.kind, || failure.detail),
            Ok(reply) => {
                let detail = || format!("status {}, expected {}", reply.code, self.statuses);
                exchange.fail(FailureKind::Status, detail)
            }
        }
    }

    fn note_items(&self, recipients: &Recipients, size: u64, items: &mut [f64]) {
        for (item, wanted) in items.iter_mut().zip(&self.items) {
            *item = match wanted {
                MessageItem::Accepted => f64::from(recipients.accepted),
                MessageItem::Refused => f64::from(recipients.refused),
                MessageItem::Size => size as f64,
            };
        }
    }
}

impl Conversation {
    /// Every command waits for the reply to the one before.
    async fn command_in_turn<C: Clock>(
        &mut self,
        progress: &mut Progress,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        let Self { line, commands, .. } = self;
        let Progress { phase, recipients } = progress;
        let bytes = &commands.bytes;
        if commands.reset > 0 {
            line.send(&bytes[..commands.reset], exchange).await?;
            let reply = line.reply(exchange).await?;
            phase.end(span::RESET, exchange);
            want(Class::Done, "RSET", reply, line)?;
        }
        line.send(&bytes[commands.reset..commands.mail], exchange).await?;
        let reply = line.reply(exchange).await?;
        phase.end(span::MAIL, exchange);
        want(Class::Done, "MAIL", reply, line)?;
        let since = *phase;
        let mut from = commands.mail;
        for &end in &commands.rcpts {
            line.send(&bytes[from..end], exchange).await?;
            let reply = line.reply(exchange).await?;
            // Once more with each: what a time-out leaves are the recipients so far.
            *phase = since;
            phase.end(span::RCPT, exchange);
            recipients.note(want(Class::Done, "RCPT", reply, line))?;
            from = end;
        }
        recipients.verdict()?;
        if commands.chunk.is_none() {
            line.send(&bytes[from..], exchange).await?;
            let reply = line.reply(exchange).await?;
            phase.end(span::DATA, exchange);
            want(Class::GoOn, "DATA", reply, line)?;
        }
        Ok(())
    }

    /// All commands in one write (RFC 2920), then their replies.
    async fn command_together<C: Clock>(
        &mut self,
        progress: &mut Progress,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        let Self { line, commands, .. } = self;
        let Progress { phase, recipients } = progress;
        line.send(&commands.bytes, exchange).await?;
        let mut refused = None;
        if commands.reset > 0 {
            let reply = line.reply(exchange).await?;
            phase.end(span::RESET, exchange);
            refused = goes_on(want(Class::Done, "RSET", reply, line))?;
        }
        let reply = line.reply(exchange).await?;
        phase.end(span::MAIL, exchange);
        refused = refused.or(goes_on(want(Class::Done, "MAIL", reply, line))?);
        let since = *phase;
        for _ in &commands.rcpts {
            let reply = line.reply(exchange).await?;
            *phase = since;
            phase.end(span::RCPT, exchange);
            recipients.note(want(Class::Done, "RCPT", reply, line))?;
        }
        let refused = refused.map_or_else(|| recipients.verdict(), Err);
        if commands.chunk.is_some() {
            return refused;
        }
        let reply = line.reply(exchange).await?;
        phase.end(span::DATA, exchange);
        let leave = want(Class::GoOn, "DATA", reply, line);
        match (refused, &leave) {
            // A server that accepts `DATA` without recipients waits for the end of the content (RFC 2920 section 3.1).
            (Err(refusal), Ok(())) => {
                let in_step = refusal.in_step && end_of_nothing(line, exchange).await.is_ok();
                Err(Failure { in_step, ..refusal })
            }
            (refused, _) => refused.and(leave),
        }
    }
}

/// Ends a message without recipients. The reply is awaited; its code does not matter.
async fn end_of_nothing<C: Clock>(
    line: &mut BufferedStream,
    exchange: &mut Exchange<C>,
) -> Result<(), Failure> {
    line.send(b".\r\n", exchange).await?;
    line.reply(exchange).await.map(drop)
}

/// A refusal after which the replies to what was sent along still come; others end it at once.
fn goes_on(result: Result<(), Failure>) -> Result<Option<Failure>, Failure> {
    match result {
        Ok(()) => Ok(None),
        Err(failure) if failure.in_step => Ok(Some(failure)),
        Err(failure) => Err(failure),
    }
}

impl Recipients {
    /// Counts the reply for a recipient.
    ///
    /// Errors: a failure that ends the message for all recipients
    fn note(&mut self, answer: Result<(), Failure>) -> Result<(), Failure> {
        match goes_on(answer)? {
            None => self.accepted += 1,
            Some(refusal) => {
                self.refused += 1;
                let is_worse = |worst: &Failure| {
                    refusal.kind == FailureKind::Transient && worst.kind != FailureKind::Transient
                };
                if self.worst.as_ref().is_none_or(is_worse) {
                    self.worst = Some(refusal);
                }
            }
        }
        Ok(())
    }

    /// Whether any recipient was accepted.
    fn verdict(&mut self) -> Result<(), Failure> {
        match self.worst.take() {
            Some(refusal) if self.accepted == 0 => Err(refusal),
            _ => Ok(()),
        }
    }
}

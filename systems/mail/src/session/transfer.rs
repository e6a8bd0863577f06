//! Content: starts with `DATA` or the first `BDAT`, is passed on in pieces, ends with acceptance or refusal.
//!
//! A message that will be refused is read to its end, so that the session can continue.

use super::machine::{Action, Advance, Hello, Session, State};
use super::transaction::{Rejection, Transaction};
use crate::envelope::{Content, Envelope};
use crate::faults::Phase;
use crate::input::content::{Found, Framing};
use crate::refusal::Refusal;

const TOO_LARGE: Refusal = Refusal::new(552, (5, 3, 4), "Message size exceeds limit");
const LINE_TOO_LONG: Refusal = Refusal::new(500, (5, 6, 0), "Line of text too long");
const HAS_NUL: Refusal = Refusal::new(554, (5, 6, 0), "Content has a NUL");

impl Session<'_> {
    /// The envelope of the message that is about to begin.
    pub fn envelope(&mut self) -> Envelope {
        let transaction = self.transaction.as_mut();
        let (from, recipients) = transaction.map_or_else(Default::default, |transaction| {
            transaction.held = 0;
            (std::mem::take(&mut transaction.from), std::mem::take(&mut transaction.to))
        });
        let parameters = self.transaction.as_ref().map(|transaction| transaction.parameters);
        let parameters = parameters.unwrap_or_default();
        Envelope {
            peer: self.origin.peer,
            client: self.client.clone(),
            user: self.user.clone(),
            tls: self.origin.tls,
            from,
            recipients,
            content: parameters.content,
            is_utf8: parameters.is_utf8,
            announced: parameters.size,
        }
    }

    /// The store's answer to [`Action::Begin`].
    pub fn begun(&mut self, result: Result<(), Refusal>) {
        let state = std::mem::replace(&mut self.state, State::Command);
        match (state, result) {
            (State::BeginningData, Ok(())) => {
                self.begin_content();
                self.replies.say("354 Start mail input; end with <CRLF>.<CRLF>");
                let limit = usize::try_from(self.settings.max_line).unwrap_or(usize::MAX);
                self.enter(State::Data(Framing::new(limit)));
            }
            (State::BeginningData, Err(refusal)) => self.refuse_message(&refusal),
            (State::BeginningChunk { size, is_last }, result) => {
                self.begin_content();
                self.rejection = result.err().map(Rejection::Refused);
                self.enter(State::Chunk { size, left: size, is_last });
            }
            (state, _) => self.state = state,
        }
    }

    /// The draft failed and is gone.
    pub fn failed(&mut self, refusal: Refusal) {
        self.rejection = Some(Rejection::Refused(refusal));
    }

    /// The store's answer to [`Action::End`].
    pub fn ended(&mut self, result: Result<String, Refusal>) {
        match result {
            Ok(name) => {
                self.counts.accepted.one();
                self.forgive();
                self.transaction = None;
                self.enter(State::Command);
                self.replies.say_parts(&["250 2.0.0 Message accepted for delivery: ", &name]);
            }
            Err(refusal) => self.refuse_message(&refusal),
        }
    }

    pub(super) fn data(&mut self) {
        if let Some(reply) = self.out_of_order() {
            return self.error(reply);
        }
        let is_chunked = self.transaction.as_ref().is_some_and(Transaction::has_begun);
        let content = self.transaction.as_ref().map(|transaction| transaction.parameters.content);
        if is_chunked || content == Some(Content::Binary) {
            return self.error("503 5.5.1 Use BDAT for this message");
        }
        if self.is_hit(Phase::Data) {
            return self.refuse_message(&self.settings.faults.refusal());
        }
        self.enter(State::BeginningData);
    }

    pub(super) fn bdat<'a>(&mut self, size: u64, is_last: bool) -> Option<Action<'a>> {
        let order = if self.hello == Hello::Ehlo { self.out_of_order() } else { Some(NO_EHLO) };
        if let Some(reply) = order {
            self.discard_chunk(size, reply);
            return None;
        }
        let so_far = self.transaction.as_ref().and_then(|transaction| transaction.content);
        let is_struck = so_far.is_none() && self.is_hit(Phase::Data);
        let is_too_large = so_far.unwrap_or(0).saturating_add(size) > self.settings.max_message;
        if is_struck || is_too_large {
            let refusal = if is_struck { self.settings.faults.refusal() } else { TOO_LARGE };
            self.rejection = Some(Rejection::Refused(refusal));
            self.enter(State::Chunk { size, left: size, is_last });
            return self.forget();
        }
        self.enter(match so_far {
            None => State::BeginningChunk { size, is_last },
            Some(_) => State::Chunk { size, left: size, is_last },
        });
        None
    }

    /// Reads a chunk without a message, and refuses it afterwards (RFC 3030, 2).
    pub(super) fn discard_chunk(&mut self, size: u64, reply: &'static str) {
        self.rejection = Some(Rejection::Astray(reply));
        self.enter(State::Chunk { size, left: size, is_last: false });
    }

    /// Why content cannot begin now.
    fn out_of_order(&self) -> Option<&'static str> {
        match &self.transaction {
            None => Some("503 5.5.1 Send MAIL first"),
            Some(transaction) if transaction.has_begun() => None,
            Some(transaction) if transaction.recipients() > 0 => None,
            Some(transaction) if transaction.has_tried => Some("554 5.5.1 No valid recipients"),
            Some(_) => Some("503 5.5.1 Send RCPT first"),
        }
    }

    fn begin_content(&mut self) {
        let is_doomed = self.is_hit(Phase::Content);
        self.rejection = None;
        if let Some(transaction) = &mut self.transaction {
            transaction.content = Some(0);
            transaction.is_doomed = is_doomed;
        }
    }

    pub(super) fn take_data<'a>(&mut self, input: &'a [u8]) -> Advance<'a> {
        let State::Data(framing) = &mut self.state else { return (0, None) };
        if input.is_empty() {
            return (0, Some(Action::Read));
        }
        let piece = framing.next(input);
        let fault = match (framing.is_line_too_long(), framing.has_nul()) {
            (true, _) => Some(LINE_TOO_LONG),
            (_, true) => Some(HAS_NUL),
            _ => None,
        };
        match piece.found {
            Found::More => {}
            Found::End => self.enter(State::Ending),
            Found::Bare => {
                self.counts.refused.one();
                self.transaction = None;
                self.replies.say("554 5.6.0 Lines end with CRLF, closing connection");
                self.enter(State::Closed);
                return (piece.used, None);
            }
        }
        (piece.used, self.pass(piece.run, fault))
    }

    pub(super) fn take_chunk<'a>(&mut self, input: &'a [u8]) -> Advance<'a> {
        let State::Chunk { size, left, is_last } = &mut self.state else { return (0, None) };
        let run = &input[..input.len().min(usize::try_from(*left).unwrap_or(usize::MAX))];
        *left -= run.len() as u64;
        let (size, is_over, is_last) = (*size, *left == 0, *is_last);
        if run.is_empty() && !is_over {
            return (0, Some(Action::Read));
        }
        // A refusal ends the transaction at the end of this chunk, even if it is not the last.
        let action = self.pass(run, None);
        if action == Some(Action::HangUp) || !is_over {
            return (run.len(), action);
        }
        match action {
            // The store's answer to this piece decides the reply to the chunk.
            Some(_) => {}
            None if is_last || self.rejection.is_some() => self.enter(State::Ending),
            None => {
                self.replies.say_parts(&["250 2.0.0 ", &size.to_string(), " octets received"]);
                self.enter(State::Command);
            }
        }
        (run.len(), action)
    }

    /// Passes content on, unless the message will be refused.
    fn pass<'a>(&mut self, run: &'a [u8], fault: Option<Refusal>) -> Option<Action<'a>> {
        self.counts.content_bytes.add(run.len() as u64);
        if self.rejection.is_some() {
            return None;
        }
        let transaction = self.transaction.as_mut()?;
        let content = transaction.content.get_or_insert(0);
        *content += run.len() as u64;
        if transaction.is_doomed {
            self.state = State::Closed;
            return Some(Action::HangUp);
        }
        let is_too_large = *content > self.settings.max_message;
        match if is_too_large { Some(TOO_LARGE) } else { fault } {
            Some(refusal) => {
                self.rejection = Some(Rejection::Refused(refusal));
                Some(Action::Abandon)
            }
            None => (!run.is_empty()).then_some(Action::Content(run)),
        }
    }

    /// After the content: sends the pending refusal, or asks the store.
    pub(super) fn finish<'a>(&mut self) -> Advance<'a> {
        if let Some(pause) = self.rest(Phase::Accept) {
            return (0, Some(pause));
        }
        match self.rejection.take() {
            Some(Rejection::Refused(refusal)) => {
                self.refuse_message(&refusal);
                return (0, None);
            }
            Some(Rejection::Astray(reply)) => {
                self.enter(State::Command);
                self.error(reply);
                return (0, None);
            }
            None => {}
        }
        if self.is_hit(Phase::Accept) {
            self.refuse_message(&self.settings.faults.refusal());
            return (0, Some(Action::Abandon));
        }
        (0, Some(Action::End))
    }

    /// Refuses the message and ends the transaction.
    fn refuse_message(&mut self, refusal: &Refusal) {
        self.counts.refused.one();
        self.transaction = None;
        self.enter(State::Command);
        self.refuse(refusal);
    }

    /// Sends a refusal; after 421 the server closes.
    pub(super) fn refuse(&mut self, refusal: &Refusal) {
        self.replies.refuse(refusal);
        if refusal.code == 421 {
            self.enter(State::Closed);
        }
    }
}

const NO_EHLO: &str = "503 5.5.1 Send EHLO first";

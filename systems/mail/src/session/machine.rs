//! The states of a session, and the transitions between them.

use std::net::SocketAddr;
use std::time::Duration;

use super::auth::{self, AuthExchange};
use super::counts::Counts;
use super::settings::Settings;
use super::transaction::{Rejection, Transaction};
use crate::command;
use crate::faults::Phase;
use crate::input::content::Framing;
use crate::input::line::{self, Line, Rest, Skipped};
use crate::reply::Replies;

/// Bytes of pending replies after which they must be written.
const BACKLOG: usize = 4_096;
/// Octets that `SIZE=` (RFC 1870), `BODY=` (6152) and `SMTPUTF8` (6531) add to the limit of `MAIL`.
const MAIL_EXTRA: usize = 26 + 17 + 10;
/// Octets that `AUTH=` adds to it (RFC 4954).
const MAIL_AUTH_EXTRA: usize = 500;

/// One session.
#[derive(Debug)]
pub struct Session<'s> {
    pub(super) settings: &'s Settings,
    pub(super) counts: &'s Counts,
    pub(super) origin: Origin,
    pub(super) replies: Replies,
    pub(super) state: State,
    pub(super) hello: Hello,
    /// The client's name for itself.
    pub(super) client: String,
    pub(super) user: Option<String>,
    pub(super) transaction: Option<Transaction>,
    /// Why the content that is being read will be refused.
    pub(super) rejection: Option<Rejection>,
    /// Whether the delay of the current phase is over.
    has_rested: bool,
    errors: u64,
    steps: u64,
}

/// The origin of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The client's address.
    pub peer: SocketAddr,
    /// The version of TLS, if there is any.
    pub tls: Option<&'static str>,
}

/// The next action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action<'a> {
    /// Write the replies, then call again with more bytes after the unused ones.
    Read,
    /// Write the replies, then call again.
    Flush,
    /// Write the replies, wait, then call again.
    Pause(Duration),
    /// Ask the store to begin with [`Session::envelope`], then call [`Session::begun`].
    Begin,
    /// Write this to the draft; if that fails, call [`Session::failed`].
    Content(&'a [u8]),
    /// Drop the draft.
    Abandon,
    /// Commit the draft, then call [`Session::ended`].
    End,
    /// Write the replies, switch to TLS, then call [`Session::secured`].
    Upgrade,
    /// Close at once, without writing pending replies.
    HangUp,
    /// Write the replies and close.
    Close,
}

/// The result of a session's step on its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<'a> {
    /// Bytes that were used.
    pub used: usize,
    /// The next action.
    pub action: Action<'a>,
}

/// The kind of input that a session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// A line.
    Command,
    /// Content.
    Content,
}

/// How the client introduced itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hello {
    None,
    /// `HELO`, without extensions.
    Helo,
    Ehlo,
}

/// The state of a session.
#[derive(Debug)]
pub(super) enum State {
    /// Before the greeting.
    Greeting,
    /// Before a command.
    Command,
    /// Within a line that is too long.
    Skipping(Rest),
    /// Before a response to `AUTH`.
    Proving(AuthExchange),
    /// Before the handshake.
    Upgrading,
    /// Waiting for the store to begin, for `DATA`.
    BeginningData,
    /// Waiting for the store to begin, for a chunk.
    BeginningChunk { size: u64, is_last: bool },
    /// Within content.
    Data(Framing),
    /// Within a chunk of `BDAT`; `left` bytes remain.
    Chunk { size: u64, left: u64, is_last: bool },
    /// After the end of the content.
    Ending,
    /// Over, at the client's request.
    Quit,
    /// Over.
    Closed,
}

/// The result of one state: bytes used, and an action unless the session can continue at once.
pub(super) type Advance<'a> = (usize, Option<Action<'a>>);

impl<'s> Session<'s> {
    /// A new session, before the greeting.
    pub fn new(settings: &'s Settings, counts: &'s Counts, origin: Origin) -> Self {
        Self {
            settings,
            counts,
            origin,
            replies: Replies::default(),
            state: State::Greeting,
            hello: Hello::None,
            client: String::new(),
            user: None,
            transaction: None,
            rejection: None,
            has_rested: false,
            errors: 0,
            steps: 0,
        }
    }

    /// Consumes input. Input may be split anywhere: unused bytes must be passed again.
    pub fn take<'a>(&mut self, input: &'a [u8]) -> Step<'a> {
        let mut used = 0;
        loop {
            let (more, action) = self.advance(&input[used..]);
            used += more;
            if let Some(action) = action {
                return Step { used, action };
            }
            if self.replies.bytes().len() > BACKLOG {
                return Step { used, action: Action::Flush };
            }
        }
    }

    /// The pending replies.
    pub fn replies(&mut self) -> &mut Replies {
        &mut self.replies
    }

    /// The kind of input to wait for after [`Action::Read`].
    pub fn waiting(&self) -> Waiting {
        match self.state {
            State::Data(_) | State::Chunk { .. } => Waiting::Content,
            _ => Waiting::Command,
        }
    }

    /// Whether the client sent `QUIT`, after which it sends nothing.
    pub fn has_quit(&self) -> bool {
        matches!(self.state, State::Quit)
    }

    /// Whether a message has begun and is neither accepted nor refused.
    pub fn is_receiving(&self) -> bool {
        self.transaction.as_ref().is_some_and(Transaction::has_begun)
    }

    /// Grows with every answered line; it restarts the time-out of commands.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Approximate bytes of the envelope.
    pub fn held(&self) -> usize {
        self.transaction.as_ref().map_or(0, Transaction::held)
    }

    /// Call it after a handshake, with the version: everything that was sent in the clear is forgotten (RFC 3207,
    /// 4.2).
    pub fn secured(&mut self, tls: &'static str) {
        self.origin.tls = Some(tls);
        self.hello = Hello::None;
        self.client = String::new();
        self.user = None;
        self.transaction = None;
        if matches!(self.state, State::Upgrading) {
            self.enter(State::Command);
        }
    }

    /// Ends the session from outside, for example with `4.4.2` and "Command timeout"; the client gets 421.
    pub fn end(&mut self, status: &str, reason: &str) {
        let hostname = &self.settings.hostname;
        self.replies.say_parts(&[
            "421 ",
            status,
            " ",
            hostname,
            " ",
            reason,
            ", closing connection",
        ]);
        self.enter(State::Closed);
    }

    fn advance<'a>(&mut self, input: &'a [u8]) -> Advance<'a> {
        match self.state {
            State::Greeting => self.greet(),
            State::Command | State::Proving(_) => self.next_line(input),
            State::Skipping(_) => self.skip(input),
            State::Upgrading => (0, Some(Action::Upgrade)),
            State::BeginningData | State::BeginningChunk { .. } => (0, Some(Action::Begin)),
            State::Data(_) => self.take_data(input),
            State::Chunk { .. } => self.take_chunk(input),
            State::Ending => self.finish(),
            State::Quit | State::Closed => (0, Some(Action::Close)),
        }
    }

    fn greet<'a>(&mut self) -> Advance<'a> {
        if let Some(pause) = self.rest(Phase::Greeting) {
            return (0, Some(pause));
        }
        if self.is_hit(Phase::Greeting) {
            self.replies.refuse(&self.settings.faults.refusal());
            self.enter(State::Closed);
            return (0, None);
        }
        self.replies.say_parts(&["220 ", &self.settings.hostname, " ", &self.settings.greeting]);
        self.enter(State::Command);
        (0, None)
    }

    fn next_line<'a>(&mut self, input: &'a [u8]) -> Advance<'a> {
        match line::first(input, self.limit(input)) {
            Line::Incomplete => (0, Some(Action::Read)),
            Line::Whole(line) => self.take_line(line, &input[line.len()..]),
            Line::TooLong => {
                self.state = State::Skipping(Rest::default());
                (0, None)
            }
            Line::BareLineFeed => self.refuse_bare(input),
        }
    }

    fn take_line<'a>(&mut self, line: &'a [u8], rest: &[u8]) -> Advance<'a> {
        let state = std::mem::replace(&mut self.state, State::Command);
        if let State::Proving(exchange) = state {
            self.prove(exchange, line);
            self.steps += 1;
            return (line.len(), None);
        }
        let command = command::parse(line, self.offers());
        if let Some(pause) = command.as_ref().ok().and_then(phase).and_then(|at| self.rest(at)) {
            return (0, Some(pause));
        }
        self.has_rested = false;
        self.steps += 1;
        let action = match command {
            Ok(command::Command::StartTls) => self.start_tls(rest),
            Ok(command) => self.execute(command),
            Err(fault) => self.refuse_fault(fault),
        };
        (line.len(), action)
    }

    fn skip<'a>(&mut self, input: &'a [u8]) -> Advance<'a> {
        let State::Skipping(rest) = &mut self.state else { return (0, None) };
        match rest.skip(input) {
            Skipped::All => (input.len(), Some(Action::Read)),
            Skipped::BareLineFeed => self.refuse_bare(input),
            Skipped::Ended(used) => {
                self.enter(State::Command);
                self.error("500 5.5.2 Line too long");
                (used, None)
            }
        }
    }

    fn refuse_bare<'a>(&mut self, input: &[u8]) -> Advance<'a> {
        self.counts.errors.one();
        self.replies.say("500 5.5.2 Lines end with CRLF, closing connection");
        self.enter(State::Closed);
        (input.len(), None)
    }

    /// Most octets of the line at the start of the input.
    fn limit(&self, input: &[u8]) -> usize {
        let most = self.settings.max_command as usize;
        let begins = |verb: &[u8]| {
            input.get(..verb.len()).is_some_and(|start| start.eq_ignore_ascii_case(verb))
        };
        if matches!(self.state, State::Proving(_)) || begins(b"AUTH ") {
            return auth::LONGEST_LINE;
        }
        match begins(b"MAIL ") {
            true if self.offers().auth => most + MAIL_EXTRA + MAIL_AUTH_EXTRA,
            true => most + MAIL_EXTRA,
            false => most,
        }
    }

    /// The delay of a phase, once per state.
    pub(super) fn rest<'a>(&mut self, phase: Phase) -> Option<Action<'a>> {
        if self.has_rested {
            return None;
        }
        let delay = self.settings.faults.delay(phase)?;
        self.has_rested = true;
        Some(Action::Pause(delay))
    }

    /// Whether a fault is injected.
    pub(super) fn is_hit(&self, phase: Phase) -> bool {
        self.counts.draws.hits(&self.settings.faults, phase)
    }

    /// Enters a state; time-outs start again.
    pub(super) fn enter(&mut self, state: State) {
        self.state = state;
        self.has_rested = false;
        self.steps += 1;
    }

    /// A valid message resets the count of errors: if the `MAIL` of a pipelined group is refused, the group causes
    /// several errors, although the client is not broken.
    pub(super) fn forgive(&mut self) {
        self.errors = 0;
    }

    /// Replies with an error; too many errors end the session.
    pub(super) fn error(&mut self, reply: &str) {
        self.errors += 1;
        self.counts.errors.one();
        if self.errors < self.settings.max_errors {
            self.replies.say(reply);
        } else {
            self.end("4.7.0", "Too many errors");
        }
    }
}

/// The phase that a command begins.
fn phase(command: &command::Command<'_>) -> Option<Phase> {
    match command {
        command::Command::Mail(..) => Some(Phase::Mail),
        command::Command::Rcpt(_) => Some(Phase::Rcpt),
        command::Command::Data => Some(Phase::Data),
        _ => None,
    }
}

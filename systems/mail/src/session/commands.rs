//! Each command: its allowed order, its effect, its reply.

use super::auth::{AuthExchange, AuthStep};
use super::machine::{Action, Hello, Session, State};
use super::settings::Policy;
use super::transaction::Transaction;
use crate::command::{Command, CommandError, Mechanism, OfferedExtensions, Parameters};
use crate::faults::Phase;

/// Extensions that are always offered. `SIZE`, `STARTTLS` and `AUTH` depend on the settings.
const EXTENSIONS: &str = "250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250-CHUNKING\r\n\
                          250-BINARYMIME\r\n250-ENHANCEDSTATUSCODES";

impl Session<'_> {
    /// The offered extensions that affect the grammar.
    pub(super) fn offers(&self) -> OfferedExtensions {
        let is_covered = self.origin.tls.is_some() || self.settings.auth_in_clear;
        OfferedExtensions { auth: self.settings.auth != Policy::None && is_covered }
    }

    pub(super) fn execute<'a>(&mut self, command: Command<'_>) -> Option<Action<'a>> {
        let needs_tls = self.settings.tls == Policy::Required && self.origin.tls.is_none();
        let is_free = matches!(command, Command::Ehlo(_) | Command::Noop | Command::Quit);
        if needs_tls && !is_free {
            return self.refuse_order(&command, "530 5.7.0 Send STARTTLS first");
        }
        match command {
            Command::Helo(client) => return self.hello(client, Hello::Helo),
            Command::Ehlo(client) => return self.hello(client, Hello::Ehlo),
            Command::Mail(from, parameters) => self.mail(from, parameters),
            Command::Rcpt(to) => self.rcpt(to),
            Command::Data => self.data(),
            Command::Bdat { size, is_last } => return self.bdat(size, is_last),
            Command::Auth { mechanism, initial } => self.auth(mechanism, initial),
            Command::StartTls => {}
            Command::Rset => {
                self.replies.say("250 2.0.0 Reset OK");
                return self.forget();
            }
            Command::Noop => self.replies.say("250 2.0.0 OK"),
            Command::Help => self.replies.say("214 2.0.0 See RFC 5321"),
            Command::Lookup => self.error("502 5.5.1 Not implemented"),
            Command::Quit => {
                self.replies.say_parts(&[
                    "221 2.0.0 ",
                    &self.settings.hostname,
                    " closing connection",
                ]);
                self.enter(State::Quit);
            }
        }
        None
    }

    /// `STARTTLS`. Bytes after it came in the clear and must never be treated as if they came over TLS.
    pub(super) fn start_tls<'a>(&mut self, rest: &[u8]) -> Option<Action<'a>> {
        if self.settings.tls == Policy::None {
            self.error("502 5.5.1 STARTTLS not available");
        } else if self.origin.tls.is_some() {
            self.error("502 5.5.1 TLS already active");
        } else if self.hello != Hello::Ehlo {
            self.error("503 5.5.1 Send EHLO first");
        } else if !rest.is_empty() {
            self.counts.errors.one();
            self.replies.say("554 5.5.0 Commands behind STARTTLS, closing connection");
            self.enter(State::Closed);
        } else {
            self.replies.say("220 2.0.0 Ready to start TLS");
            let abandon = self.forget();
            self.enter(State::Upgrading);
            return abandon;
        }
        None
    }

    pub(super) fn refuse_fault<'a>(&mut self, fault: CommandError) -> Option<Action<'a>> {
        self.error(match fault {
            CommandError::Chunk => {
                self.counts.errors.one();
                self.replies.say("501 5.5.4 Chunk of unknown size, closing connection");
                self.enter(State::Closed);
                return None;
            }
            CommandError::Unknown => "500 5.5.1 Unknown command",
            CommandError::Octets => "500 5.5.2 Control characters or bad UTF-8",
            CommandError::Syntax => "501 5.5.4 Syntax error",
            CommandError::Argument => "501 5.5.4 No argument allowed",
            CommandError::Path => "501 5.1.3 Bad address",
            CommandError::Parameter => "501 5.5.4 Bad parameter",
            CommandError::Size => "552 5.3.4 Message size exceeds limit",
            CommandError::UnknownParameter => "555 5.5.4 Parameter not offered",
        });
        None
    }

    /// Ends the transaction, if there is one.
    pub(super) fn forget<'a>(&mut self) -> Option<Action<'a>> {
        let had_draft = self.transaction.take().is_some_and(|transaction| transaction.has_begun());
        had_draft.then_some(Action::Abandon)
    }

    /// Refuses a command that is out of order; the bytes after `BDAT` are content even then.
    fn refuse_order<'a>(
        &mut self,
        command: &Command<'_>,
        reply: &'static str,
    ) -> Option<Action<'a>> {
        match command {
            Command::Bdat { size, .. } => self.discard_chunk(*size, reply),
            _ => self.error(reply),
        }
        None
    }

    fn hello<'a>(&mut self, client: &str, hello: Hello) -> Option<Action<'a>> {
        self.hello = hello;
        client.clone_into(&mut self.client);
        let hostname = &self.settings.hostname;
        if hello == Hello::Helo {
            self.replies.say_parts(&["250 ", hostname, " Hello ", client]);
            return self.forget();
        }
        self.replies.say_parts(&["250-", hostname, " Hello ", client]);
        self.replies.say(EXTENSIONS);
        if self.settings.tls != Policy::None && self.origin.tls.is_none() {
            self.replies.say("250-STARTTLS");
        }
        if self.offers().auth {
            self.replies.say("250-AUTH PLAIN LOGIN");
        }
        self.replies.say_parts(&["250 SIZE ", &self.settings.max_message.to_string()]);
        self.forget()
    }

    fn mail(&mut self, from: &str, parameters: Parameters) {
        if self.hello == Hello::None {
            return self.error("503 5.5.1 Send HELO or EHLO first");
        }
        if self.settings.auth == Policy::Required && self.user.is_none() {
            return self.error("530 5.7.0 Authentication required");
        }
        if self.transaction.is_some() {
            return self.error("503 5.5.1 Sender already given");
        }
        if self.hello == Hello::Helo && parameters != Parameters::default() {
            return self.error("555 5.5.4 Send EHLO to have parameters");
        }
        if !from.is_ascii() && !parameters.is_utf8 {
            return self.error("553 5.6.7 Address needs SMTPUTF8");
        }
        if parameters.size.is_some_and(|size| size > self.settings.max_message) {
            return self.replies.say("552 5.3.4 Message size exceeds limit");
        }
        if self.is_hit(Phase::Mail) {
            return self.refuse(&self.settings.faults.refusal());
        }
        self.transaction = Some(Transaction::new(from, parameters));
        self.replies.say_parts(&["250 2.1.0 Sender <", from, "> OK"]);
    }

    fn rcpt(&mut self, to: &str) {
        let most = self.settings.max_recipients;
        let Some(transaction) = &mut self.transaction else {
            return self.error("503 5.5.1 Send MAIL first");
        };
        if transaction.has_begun() {
            return self.error("503 5.5.1 Content already begun");
        }
        transaction.has_tried = true;
        if !to.is_ascii() && !transaction.parameters.is_utf8 {
            self.counts.recipients_refused.one();
            return self.error("553 5.6.7 Address needs SMTPUTF8");
        }
        if transaction.recipients() as u64 >= most {
            // Not an error: a client may send all recipients and get this for each one too many (RFC 5321,
            // 4.5.3.1.10).
            self.counts.recipients_refused.one();
            return self.replies.say("452 4.5.3 Too many recipients");
        }
        if self.is_hit(Phase::Rcpt) {
            self.counts.recipients_refused.one();
            return self.refuse(&self.settings.faults.refusal());
        }
        if let Some(transaction) = &mut self.transaction {
            transaction.add(to);
        }
        self.counts.recipients.one();
        self.replies.say_parts(&["250 2.1.5 Recipient <", to, "> OK"]);
    }

    fn auth(&mut self, mechanism: Mechanism, initial: Option<&str>) {
        if self.settings.auth == Policy::None {
            return self.error("502 5.5.1 AUTH not available");
        }
        if self.hello != Hello::Ehlo {
            return self.error("503 5.5.1 Send EHLO first");
        }
        if self.user.is_some() || self.transaction.is_some() {
            return self.error("503 5.5.1 Not now");
        }
        if !self.offers().auth {
            return self.error("538 5.7.11 Encryption required");
        }
        let (exchange, prompt) = match mechanism {
            Mechanism::Plain => (AuthExchange::Plain, "334 "),
            Mechanism::Login => (AuthExchange::Name, "334 VXNlcm5hbWU6"),
            Mechanism::Unknown => return self.error("504 5.5.4 Unknown mechanism"),
        };
        match initial {
            None => {
                self.replies.say(prompt);
                self.enter(State::Proving(exchange));
            }
            // `=` means an empty response, which would otherwise be invisible.
            Some("=") => self.check_auth_answer(exchange, ""),
            Some(initial) => self.check_auth_answer(exchange, initial),
        }
    }

    /// Handles a response of the client on a line of its own.
    pub(super) fn prove(&mut self, exchange: AuthExchange, line: &[u8]) {
        let text = line.strip_suffix(b"\r\n").and_then(|text| std::str::from_utf8(text).ok());
        match text {
            Some("*") => self.error("501 5.7.0 Authentication cancelled"),
            Some(text) => self.check_auth_answer(exchange, text),
            None => self.error("501 5.5.2 No base64"),
        }
    }

    fn check_auth_answer(&mut self, exchange: AuthExchange, answer: &str) {
        match exchange.answer(answer, &self.settings.users) {
            AuthStep::Ask(exchange, prompt) => {
                self.replies.say_parts(&["334 ", prompt]);
                self.enter(State::Proving(exchange));
            }
            AuthStep::Proved(name) => {
                self.counts.authenticated.one();
                self.user = Some(name);
                self.replies.say("235 2.7.0 Authentication successful");
            }
            AuthStep::Wrong => {
                self.counts.authentication_failed.one();
                self.error("535 5.7.8 Authentication credentials invalid");
            }
            AuthStep::Malformed => self.error("501 5.5.2 No answer to what was asked"),
        }
    }
}

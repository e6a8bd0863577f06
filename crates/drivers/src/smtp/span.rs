//! What is stamped: every phase of a message, each from the end of the one before.
//!
//! The phases of one message add up to its service time exactly, to the nanosecond: a phase ends when the last byte
//! of its reply was read, and the next one begins there. With `pipelining` several commands are on their way at once;
//! then a phase is the time by which its reply came later than the one before, and may be 0.

use engine::clock::Clock;
use engine::driver::Exchange;

/// Names of the spans, in order.
pub const NAMES: &[&str] = &[
    "greeting", "ehlo", "starttls", "ehlo_tls", "auth", "reset", "mail", "rcpt", "data", "content",
    "accepted", "quit",
];

/// From the open transport to the server's greeting.
pub const GREETING: usize = 0;
/// `EHLO`, and `HELO` where the server does not know it.
pub const EHLO: usize = 1;
/// `STARTTLS` to its reply; the handshake after it is the engine's span `tls`.
pub const STARTTLS: usize = 2;
/// `EHLO` again, under TLS.
pub const EHLO_TLS: usize = 3;
/// `AUTH` to the verdict.
pub const AUTH: usize = 4;
/// `RSET` before a further message.
pub const RESET: usize = 5;
/// `MAIL`.
pub const MAIL: usize = 6;
/// `RCPT`, all of them together.
pub const RCPT: usize = 7;
/// `DATA` to the leave to send.
pub const DATA: usize = 8;
/// Sending the content, until all of it was handed over to the transport.
pub const CONTENT: usize = 9;
/// From there to the server's word that it has accepted the message.
pub const ACCEPTED: usize = 10;
/// `QUIT`.
pub const QUIT: usize = 11;

/// Where the phase at hand began.
#[derive(Debug, Clone, Copy)]
pub struct PhaseTimer {
    /// On the trial's clock, in nanoseconds.
    pub since: u64,
}

impl PhaseTimer {
    /// Ends the phase with this span at the last read, where the next one begins.
    pub fn end<C: Clock>(&mut self, span: usize, exchange: &mut Exchange<C>) {
        self.end_at(span, exchange.read_at, exchange);
    }

    /// Ends the phase with this span at this instant, where the next one begins.
    pub fn end_at<C: Clock>(&mut self, span: usize, at: u64, exchange: &mut Exchange<C>) {
        exchange.stamp(span, at - self.since);
        self.since = at;
    }
}

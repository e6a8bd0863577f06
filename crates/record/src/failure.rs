//! The kinds of failure: one table, from which pages and documentation derive.

use serde::{Deserialize, Serialize};

macro_rules! failure_kinds {
    ($($variant:ident $name:literal $meaning:literal),+ $(,)?) => {
        /// Why an operation failed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum FailureKind { $(#[doc = $meaning] $variant),+ }

        impl FailureKind {
            /// Every kind, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Their names, in the same order.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The name used in `summary.json`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// One sentence on what it means.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning),+ }
            }
        }
    };
}

failure_kinds! {
    Timeout "timeout" "No complete answer within the time-out, counted from the start of the operation.",
    ConnectTimeout "connect_timeout" "No connection within the time-out.",
    GreetingTimeout "greeting_timeout" "Connected, but not greeted within the time-out.",
    Refused "refused" "Nothing accepts connections at the address.",
    Unreachable "unreachable" "The network or host cannot be reached, or the address cannot be used.",
    Resolve "resolve" "The host name has no address.",
    Tls "tls" "The TLS handshake failed.",
    Reset "reset" "The peer reset the connection.",
    Closed "closed" "The peer closed the connection before the answer was complete.",
    StreamReset "stream_reset" "The peer reset the operation's stream on the connection (HTTP/2).",
    StreamRefused "stream_refused" "The peer refused the stream without processing it (HTTP/2).",
    GoingAway "going_away" "The peer is closing the connection and did not process the operation (GOAWAY of HTTP/2).",
    Malformed "malformed" "The answer breaks the rules of the protocol.",
    TooLarge "too_large" "The answer, its head, or one of its lines is too long.",
    Status "status" "The answer carries a status that means failure.",
    Transient "transient" "The server refused for now; a later attempt may succeed (4yz in SMTP).",
    Permanent "permanent" "The server refused permanently (5yz in SMTP).",
    WrongContent "wrong_content" "A complete answer that does not meet an expectation.",
    LocalLimit "local_limit" "This machine ran out of file descriptors, ports or memory.",
    Process "process" "The process under test ended.",
    Capture "capture" "A value that a later step needs is not in the answer, or is too long.",
    Redirect "redirect" "An address in an answer that could not be followed: missing, no target of the run, or one redirect too many.",
    CutShort "cut_short" "A stream of events ended before it was complete.",
    TooSlow "too_slow" "A complete stream that took longer than the operation allows (`within`).",
}

impl FailureKind {
    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Its place in `ALL`, for counting without a map.
    pub fn index(self) -> usize {
        self as usize
    }
}

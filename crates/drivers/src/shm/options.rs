//! How a request is sent and its answer awaited.

/// Memory, time and stamps for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerOptions {
    /// Bytes of memory for it; at least those of one slot of the channel.
    pub room: usize,
    /// Nanoseconds to poll for it before the worker turns to others.
    pub spin: u64,
    /// Whether the producer reports when it took the request and when its answer was ready.
    pub times: bool,
}

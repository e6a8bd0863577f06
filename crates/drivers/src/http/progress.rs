//! One operation in progress over a stream.

use engine::driver::Call;

use super::answer::KeptAnswer;
use super::redirect::Redirection;

/// What was asked, how far it was redirected, and what is kept of its answer.
#[derive(Debug, Default)]
pub struct Progress {
    /// What `encode` was given.
    pub call: Call,
    /// Index of the request that was encoded.
    pub request: usize,
    /// How far it was redirected.
    pub redirection: Redirection,
    /// What is kept of the last answer.
    pub kept: KeptAnswer,
}

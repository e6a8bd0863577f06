//! The expectations of an operation, compiled.

use super::json::Path;
use super::rule::AnswerRule;
use crate::capture::Captures;
use crate::http::stream::rules::StreamRules;
use crate::statuses::Statuses;

/// What an answer must be, and the numbers to read from it.
#[derive(Debug, Default)]
pub struct Expectations {
    /// Statuses that mean success.
    pub statuses: Statuses,
    /// What else must hold.
    pub rules: Vec<AnswerRule>,
    /// Path of each declared number.
    pub items: Vec<Path>,
    /// What a stream must be, if the answer is one.
    pub stream: Option<StreamRules>,
    /// What a journey reads from it.
    pub captures: Captures,
}

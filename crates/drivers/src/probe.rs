//! What one operation sent, received and was held against, for `check --try`.

use record::Outcome;

/// One operation, shown whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Every byte sent.
    pub request: Vec<u8>,
    /// Head of the answer as received; empty where there was none.
    pub head: Vec<u8>,
    /// Body of the answer without framing and compression.
    pub body: Vec<u8>,
    /// Whether the body is only its beginning.
    pub is_truncated: bool,
    /// How the operation ended.
    pub outcome: Outcome,
    /// What exactly failed.
    pub detail: Option<String>,
    /// Each expectation, met or not; empty without a complete answer.
    pub checks: Vec<CheckedExpectation>,
}

/// One expectation held against an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedExpectation {
    /// What was expected.
    pub text: String,
    /// Whether it is so.
    pub holds: bool,
    /// What was seen.
    pub seen: String,
}

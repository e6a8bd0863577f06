//! What is wrong with an experiment file: all problems at once, each with line and caret.

/// A stretch of the source, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, lower case, with the offending text.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What stands under the caret: what was expected there.
    pub label: String,
    /// One thing to do, if we know one.
    pub hint: Option<String>,
}

//! Templates: text with placeholders, compiled once, rendered for each operation without
//! allocating.

use crate::diagnostic::{Diagnostic, Span};
use crate::rows::Rows;

/// One operation about to be performed: everything that its templates may refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Place in the schedule, k of the k-th arrival.
    pub index: u64,
    /// Which operation of the mix.
    pub operation: usize,
    /// How many of this operation came before it.
    pub sequence: u64,
    /// Row of the operation's data, 0 where there is none.
    pub row: usize,
    /// Number of the trial.
    pub trial: u32,
    /// Seed of the trial.
    pub seed: u64,
    /// CLOCK_MONOTONIC nanoseconds just before encoding, for `{{nonce}}`.
    pub now: u64,
}

/// A compiled template.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {}

impl Template {
    /// Compiles `text`, whose first byte stands at `span.start` of the experiment file.
    ///
    /// Errors: each unknown placeholder, bad range or unknown column, with its span
    pub fn compile(
        _text: &str,
        _span: Span,
        _rows: Option<&Rows>,
    ) -> Result<Self, Vec<Diagnostic>> {
        todo!()
    }

    /// The text, if it holds no placeholder.
    pub fn literal(&self) -> Option<&str> {
        todo!()
    }

    /// Appends the text of this call to `out`. Allocates only when `out` must grow.
    pub fn render(&self, _call: &Call, _rows: Option<&Rows>, _out: &mut Vec<u8>) {
        todo!()
    }
}

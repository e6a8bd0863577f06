//! What a comparison comes to: a difference, its intervals, and how surprising it would be by chance.

use crate::interval::Interval;

/// A difference, candidate less baseline: of logarithms, so that it is a ratio, or of shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// What was seen.
    pub estimate: f64,
    /// 95 % interval; `None` where so few trials have none.
    pub interval: Option<Interval>,
    /// 90 % interval: inside a margin it shows equivalence at 5 % (two one-sided tests).
    pub inner: Option<Interval>,
    /// Two-sided p-value of no difference at all, not corrected.
    pub p: f64,
}

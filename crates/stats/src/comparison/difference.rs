//! What a comparison comes to: a difference, its intervals, and how surprising it would be by chance.

/// Lower and upper end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// As far as `half` on both sides of `middle`.
    pub(super) fn around(middle: f64, half: f64) -> Self {
        Self { low: middle - half, high: middle + half }
    }

    /// From end to end.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }

    /// Whether it lies wholly on one side of 0, and there at least so far from it.
    pub fn is_beyond(&self, margin: f64) -> bool {
        self.low > margin || self.high < -margin
    }

    /// Whether it lies wholly nearer to 0 than the margin.
    pub fn is_within(&self, margin: f64) -> bool {
        self.low > -margin && self.high < margin
    }
}

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

//! What an estimate is claimed to lie between.

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
    pub(crate) fn around(middle: f64, half: f64) -> Self {
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

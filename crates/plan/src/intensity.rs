//! Cumulative intensity Λ(t) of an arrival process: the expected number of arrivals until t. Its
//! inverse turns operational time (one expected arrival per unit) into seconds.
//!
//! Source: Cinlar 1975, inverse-transform construction of an inhomogeneous Poisson process

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) const NS_PER_SECOND: f64 = 1e9;

/// A linear ramp to `to`; a plateau if `to` equals the rate before it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Rate at its end.
    pub to: f64,
    /// Its length.
    pub over: Duration,
}

/// Λ in pieces. Times in seconds, rates per second.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Intensity {
    /// Linear pieces; the last rate continues for ever.
    Pieces { pieces: Vec<Piece>, last_rate: f64 },
    /// `rate` for `on`, then 0 for the rest of `period`, repeated.
    Cycle { rate: f64, on: f64, period: f64 },
}

/// An interval in which the rate changes linearly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Piece {
    /// When it begins.
    start: f64,
    length: f64,
    /// Rate at its beginning.
    from: f64,
    /// Change of the rate per second.
    slope: f64,
    /// Λ at its beginning.
    before: f64,
}

impl Piece {
    /// Arrivals expected in its first `t` seconds: at + bt²/2.
    fn expected(&self, t: f64) -> f64 {
        self.from * t + self.slope * t * t / 2.0
    }

    /// The solution t of at + bt²/2 = x, in the form without cancellation.
    fn solve(&self, x: f64) -> f64 {
        let root = (self.from * self.from + 2.0 * self.slope * x).max(0.0).sqrt();
        if x <= 0.0 { 0.0 } else { (2.0 * x / (self.from + root)).min(self.length) }
    }
}

impl Intensity {
    pub(crate) fn constant(rate: f64) -> Self {
        Self::Pieces { pieces: Vec::new(), last_rate: rate }
    }

    pub(crate) fn stages(from: f64, stages: &[Stage]) -> Self {
        let (mut rate, mut start, mut before) = (from, 0.0, 0.0);
        let mut pieces = Vec::with_capacity(stages.len());
        for stage in stages.iter().filter(|stage| !stage.over.is_zero()) {
            let length = stage.over.as_secs_f64();
            let slope = (stage.to - rate) / length;
            let piece = Piece { start, length, from: rate, slope, before };
            pieces.push(piece);
            start += length;
            before += piece.expected(length);
            rate = stage.to;
        }
        let last_rate = stages.last().map_or(from, |stage| stage.to);
        Self::Pieces { pieces, last_rate }
    }

    pub(crate) fn burst(rate: f64, on: Duration, off: Duration) -> Self {
        Self::Cycle { rate, on: on.as_secs_f64(), period: (on + off).as_secs_f64() }
    }

    /// Λ(t): arrivals expected before second `t`.
    pub(crate) fn cumulative(&self, t: f64) -> f64 {
        match self {
            Self::Pieces { pieces, last_rate } => {
                let piece = pieces.iter().rev().find(|piece| piece.start <= t);
                match piece {
                    Some(piece) if t <= piece.start + piece.length => {
                        piece.before + piece.expected(t - piece.start)
                    }
                    _ => {
                        let (end, before) = end_of(pieces);
                        before + (t - end) * last_rate
                    }
                }
            }
            Self::Cycle { rate, on, period } => {
                let cycles = (t / period).floor();
                rate * (cycles * on + (t - cycles * period).min(*on))
            }
        }
    }

    /// Λ⁻¹(x): the second at which `x` arrivals are expected; `None` if that never happens.
    pub(crate) fn inverse(&self, x: f64) -> Option<f64> {
        match self {
            Self::Pieces { pieces, last_rate } => {
                let (end, before) = end_of(pieces);
                if x >= before {
                    return (*last_rate > 0.0).then(|| end + (x - before) / last_rate);
                }
                let piece = pieces.iter().rev().find(|piece| piece.before <= x)?;
                Some(piece.start + piece.solve(x - piece.before))
            }
            Self::Cycle { rate, on, period } => {
                // A whole number of bursts may be slightly too small because of rounding.
                let cycles = (x / (rate * on) + 1e-12).floor();
                let rest = (x - cycles * rate * on).max(0.0);
                Some(cycles * period + rest / rate)
            }
        }
    }
}

/// End of the last piece, and Λ there.
fn end_of(pieces: &[Piece]) -> (f64, f64) {
    pieces.last().map_or((0.0, 0.0), |last| {
        (last.start + last.length, last.before + last.expected(last.length))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(to: f64, seconds: u64) -> Stage {
        Stage { to, over: Duration::from_secs(seconds) }
    }

    #[test]
    fn the_inverse_undoes_the_integral() {
        let intensity =
            Intensity::stages(0.0, &[stage(100.0, 10), stage(100.0, 5), stage(20.0, 4)]);
        // 500 + 500 + 240, then 20/s for ever.
        assert!((intensity.cumulative(19.0) - 1240.0).abs() < 1e-9);
        assert!((intensity.cumulative(29.0) - 1440.0).abs() < 1e-9);
        for step in 1..290 {
            let t = f64::from(step) / 10.0;
            let back = intensity.inverse(intensity.cumulative(t)).unwrap();
            assert!((back - t).abs() < 1e-9, "{t} came back as {back}");
        }
    }

    #[test]
    fn bursts_leave_the_pause_empty() {
        let intensity = Intensity::burst(100.0, Duration::from_secs(1), Duration::from_secs(9));
        assert!((intensity.cumulative(5.0) - 100.0).abs() < 1e-9);
        assert!((intensity.cumulative(10.5) - 150.0).abs() < 1e-9);
        assert_eq!(intensity.inverse(100.0), Some(10.0));
        assert_eq!(intensity.inverse(50.0), Some(0.5));
    }

    #[test]
    fn a_load_that_ends_at_rate_zero_has_a_last_arrival() {
        let intensity = Intensity::stages(10.0, &[stage(0.0, 2)]);
        assert_eq!(intensity.inverse(11.0), None);
    }
}

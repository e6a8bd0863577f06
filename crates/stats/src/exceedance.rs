//! Which side of a bound a quantile lies on, by the operations beyond the bound and beyond thresholds below it.

#[cfg(test)]
mod tests;

use crate::dispersion::{Around, Dispersion, WindowCount, shares};
use crate::proportion::{Side, decide, deciding_factor, upper_bound};

/// Quantiles of a sample whose values serve as thresholds below a bound.
pub const LOWER: [f64; 4] = [0.5, 0.75, 0.9, 0.95];
/// The same for a drift: the late operations may all be above a low one, and few be above a high one.
pub const LOWER_OF_DRIFT: [f64; 6] = [0.5, 0.75, 0.8, 0.85, 0.9, 0.95];

/// A threshold, and what windows say of it.
#[derive(Debug, Clone, Copy)]
pub struct Level<'a> {
    /// The threshold, in any unit.
    pub value: u64,
    /// Windows in order of time, the same for every threshold.
    pub windows: &'a [WindowCount],
}

/// What is held against a limit: a share of a sample, seen over time.
#[derive(Debug, Clone)]
pub struct Exceedances {
    /// Operations beyond the bound.
    above: u64,
    /// All operations.
    total: u64,
    /// At the bound alone.
    own: Dispersion,
    /// Not below what thresholds under the bound show.
    carried: Dispersion,
    /// What extrapolates beyond the bound.
    anchor: Option<Anchor>,
    /// What shows a bound to be far above a drift as a whole: where nearly all operations of a time are above a threshold,
    /// nothing can be extrapolated from it.
    whole: Option<Anchor>,
}

/// A threshold of which enough events are known.
#[derive(Debug, Clone)]
struct Anchor {
    /// Independent operations, all and those above.
    total: f64,
    above: f64,
    /// The share above, with the number of operations of which it is expected: of all, or of each window of a drift.
    parts: Vec<(f64, f64)>,
    /// The bound in multiples of the threshold.
    ratio: f64,
}

impl Exceedances {
    /// Of `total` operations `above` lie beyond the bound, of which `limit` is the share that is allowed.
    ///
    /// Shape:  `lower` ascending; those not below the bound are passed over; `limit` in (0, 1)
    pub fn new(
        (above, total): (u64, u64),
        lower: &[Level<'_>],
        bound: Level<'_>,
        limit: f64,
        around: Around<'_>,
    ) -> Self {
        let below = lower.iter().filter(|level| level.value < bound.value);
        let windows: Vec<&[WindowCount]> = below.clone().map(|level| level.windows).collect();
        let lowest = below.clone().next().filter(|_| matches!(around, Around::Drift(_)));
        let anchors = below.rev().filter_map(|level| Anchor::of(*level, bound.value, around));
        let anchor =
            anchors.reduce(|higher, lower| if higher.is_known_well() { higher } else { lower });
        Self {
            above,
            total,
            own: Dispersion::around(bound.windows, around),
            carried: Dispersion::of_tail_at(&windows, bound.windows, limit, around),
            anchor,
            whole: lowest.and_then(|level| Anchor::of(*level, bound.value, Around::Mean)),
        }
    }

    /// Dispersion at the bound.
    pub fn dispersion(&self) -> &Dispersion {
        &self.carried
    }

    /// The side of `limit` on which the share beyond the bound lies.
    ///
    /// With few events beyond the bound, φ is that of lower thresholds, carried, by which counts alone cannot tell "far
    /// below" from "missed". Values can: what the φ at the bound shows to be below is below, if an exponential tail,
    /// which is that of a queue, gets below it as well from a threshold that is known well.
    pub fn judge(&self, limit: f64, confidence: f64) -> Side {
        match self.decide(1.0, limit, confidence) {
            Some(side) => side,
            None => Side::Undecided {
                factor: deciding_factor(|factor| self.decide(factor, limit, confidence).is_some()),
            },
        }
    }

    fn decide(&self, factor: f64, limit: f64, confidence: f64) -> Option<Side> {
        let with = |phi: f64| {
            let (above, total) = (self.above as f64, self.total as f64);
            decide(above * factor / phi, total * factor / phi, limit, confidence)
        };
        with(self.carried.phi).or_else(|| {
            let falls = |anchor: &Anchor| anchor.falls(factor, limit, confidence);
            let is_far = |whole: &Anchor| whole.beyond(factor, confidence) < limit.powi(3);
            let falls =
                self.anchor.as_ref().is_some_and(falls) || self.whole.as_ref().is_some_and(is_far);
            with(self.own.phi).filter(|side| falls && *side == Side::Below)
        })
    }
}

impl Anchor {
    /// Effective events from which the share beyond a threshold is known well.
    const EVENTS_ENOUGH: f64 = 30.0;
    /// Effective events with fewer of which it is not known at all.
    const EVENTS_LEAST: f64 = 3.0;

    fn of(level: Level<'_>, bound: u64, around: Around<'_>) -> Option<Self> {
        let phi = Dispersion::around(level.windows, around).phi;
        let total = |window: &WindowCount| f64::from(window.total);
        let all: f64 = level.windows.iter().map(total).sum();
        let above: f64 = level.windows.iter().map(|window| f64::from(window.above)).sum();
        if above / phi < Self::EVENTS_LEAST {
            return None;
        }
        let parts = match around {
            Around::Drift(trials) if above < all => {
                level.windows.iter().map(total).zip(shares(level.windows, trials)).collect()
            }
            _ => vec![(all, above / all)],
        };
        let ratio = bound as f64 / level.value.max(1) as f64;
        Some(Self { total: all / phi, above: above / phi, parts, ratio })
    }

    fn is_known_well(&self) -> bool {
        self.above >= Self::EVENTS_ENOUGH
    }

    /// Whether the tail from here is below the limit at the bound. From a threshold that is known badly it must fall
    /// twice as far, to the square of the limit: then the bound is so remote that it does not matter how badly.
    fn falls(&self, factor: f64, limit: f64, confidence: f64) -> bool {
        let depth = if self.is_known_well() { 1 } else { 2 };
        self.beyond(factor, confidence) < limit.powi(depth)
    }

    /// Upper bound of the share beyond the bound, were the tail exponential from nought, at any time of a drift. One that
    /// begins later, or falls faster, has less.
    ///
    /// Source: waiting time of a single-server queue under heavy load, after Kingman 1962
    fn beyond(&self, factor: f64, confidence: f64) -> f64 {
        let most = upper_bound(self.above * factor, self.total * factor, confidence);
        let more = most * self.total / self.above;
        let all: f64 = self.parts.iter().map(|(total, _)| total).sum();
        let beyond = |(total, share): &(f64, f64)| total * (share * more).min(1.0).powf(self.ratio);
        self.parts.iter().map(beyond).sum::<f64>() / all
    }
}

//! Which side of a bound a quantile lies on, by the operations beyond the bound and beyond thresholds below it.

#[cfg(test)]
mod tests;

use crate::dispersion::{Around, Dispersion, WindowCount, shares};
use crate::proportion::{LimitSide, decide, deciding_factor, upper_bound};

/// A level below a bound, and what windows say of it.
#[derive(Debug, Clone, Copy)]
pub struct ThresholdLevel<'a> {
    /// The threshold in each window, in any unit.
    pub thresholds: &'a [u64],
    /// Windows in order of time, the same for every level.
    pub windows: &'a [WindowCount],
}

/// A bound, and what windows say of it.
#[derive(Debug, Clone, Copy)]
pub struct Bound<'a> {
    /// The bound, in the unit of the thresholds.
    pub value: u64,
    /// Windows in order of time, the same as those of the levels.
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
    /// Not below what levels under the bound show.
    carried: Dispersion,
    /// What extrapolates beyond the bound.
    anchor: Option<Anchor>,
}

/// A level of which enough events are known.
#[derive(Debug, Clone)]
struct Anchor {
    /// Independent operations, all and those above.
    total: f64,
    above: f64,
    /// Of each window: its operations, the share of them that is expected above, and the bound in multiples of the threshold.
    parts: Vec<Part>,
}

/// What a window adds to a tail.
#[derive(Debug, Clone, Copy)]
struct Part {
    total: f64,
    share: f64,
    ratio: f64,
}

impl Exceedances {
    /// Of `total` operations `above` lie beyond the bound, of which `limit` is the share that is allowed.
    ///
    /// Shape:  `levels` ascending, the first of them the median (see [`LEVELS`](crate::running_median::LEVELS));
    /// `limit` in (0, 1)
    pub fn new(
        (above, total): (u64, u64),
        levels: &[ThresholdLevel<'_>],
        bound: Bound<'_>,
        limit: f64,
        around: Around<'_>,
    ) -> Self {
        // How times vary around their middle is a matter of scale; how they vary on the way to the bound is not.
        let carrying: Vec<&[WindowCount]> =
            levels.iter().skip(1).map(|level| level.windows).collect();
        let anchors = levels.iter().rev();
        let anchors = anchors.filter_map(|level| Anchor::of(*level, bound.value, around));
        let anchor =
            anchors.reduce(|higher, lower| if higher.is_known_well() { higher } else { lower });
        Self {
            above,
            total,
            own: Dispersion::around(bound.windows, around),
            carried: Dispersion::of_tail_at(&carrying, bound.windows, limit, around),
            anchor,
        }
    }

    /// Dispersion at the bound.
    pub fn dispersion(&self) -> &Dispersion {
        &self.carried
    }

    /// The side of `limit` on which the share beyond the bound lies.
    ///
    /// With few events beyond the bound, φ is that of lower levels, carried, by which counts alone cannot tell "far
    /// below" from "missed". Values can: what the φ at the bound shows to be below is below, if the tail gets below it
    /// as well from a level that is known well.
    pub fn judge(&self, limit: f64, confidence: f64) -> LimitSide {
        match self.side(limit, confidence) {
            Some(side) => side,
            None => LimitSide::Undecided {
                factor: deciding_factor(|factor| self.decide(factor, limit, confidence).is_some()),
            },
        }
    }

    /// The same without the length that would decide, which takes longer to find than the side.
    pub fn side(&self, limit: f64, confidence: f64) -> Option<LimitSide> {
        self.decide(1.0, limit, confidence)
    }

    fn decide(&self, factor: f64, limit: f64, confidence: f64) -> Option<LimitSide> {
        let with = |phi: f64| {
            let (above, total) = (self.above as f64, self.total as f64);
            decide(above * factor / phi, total * factor / phi, limit, confidence)
        };
        with(self.carried.phi).or_else(|| {
            let falls = |anchor: &Anchor| anchor.falls(factor, limit, confidence);
            let falls = self.anchor.as_ref().is_some_and(falls);
            with(self.own.phi).filter(|side| falls && *side == LimitSide::Below)
        })
    }
}

impl Anchor {
    /// Effective events from which the share beyond a threshold is known well.
    const EVENTS_ENOUGH: f64 = 30.0;
    /// Effective events with fewer of which it is not known at all.
    const EVENTS_LEAST: f64 = 3.0;
    /// How steep the tail beyond a threshold is taken to be, in parts of an exponential one from nought.
    ///
    /// Mixtures of tails, as where the rate changes by plan, fall more slowly than the tail of one queue: with 0.9 they
    /// pass wrongly in 5 % of runs, with 1 in 8 %.
    const STEEPNESS: f64 = 0.8;

    fn of(level: ThresholdLevel<'_>, bound: u64, around: Around<'_>) -> Option<Self> {
        let phi = Dispersion::around(level.windows, around).phi;
        let total = |window: &WindowCount| f64::from(window.total);
        let all: f64 = level.windows.iter().map(total).sum();
        let above: f64 = level.windows.iter().map(|window| f64::from(window.above)).sum();
        if above / phi < Self::EVENTS_LEAST {
            return None;
        }
        let shares = match around {
            Around::Drift(trials) if above < all => shares(level.windows, trials),
            _ => vec![above / all; level.windows.len()],
        };
        let parts = level.windows.iter().zip(shares).zip(level.thresholds);
        let parts = parts.map(|((window, share), &threshold)| Part {
            total: total(window),
            share,
            ratio: bound as f64 / threshold.max(1) as f64,
        });
        Some(Self { total: all / phi, above: above / phi, parts: parts.collect() })
    }

    fn is_known_well(&self) -> bool {
        self.above >= Self::EVENTS_ENOUGH
    }

    /// Whether the tail from here is below the limit at the bound. From a level that is known badly it must fall
    /// twice as far, to the square of the limit: then the bound is so remote that it does not matter how badly.
    fn falls(&self, factor: f64, limit: f64, confidence: f64) -> bool {
        let depth = if self.is_known_well() { 1 } else { 2 };
        self.beyond(factor, confidence) < limit.powi(depth)
    }

    /// Upper bound of the share beyond the bound, with a tail nearly as steep as an exponential one from nought, at
    /// any time of a drift. One that begins later, or falls faster, has less.
    ///
    /// Source: waiting time of a single-server queue under heavy load, after Kingman 1962
    fn beyond(&self, factor: f64, confidence: f64) -> f64 {
        let most = upper_bound(self.above * factor, self.total * factor, confidence);
        let more = most * self.total / self.above;
        let all: f64 = self.parts.iter().map(|part| part.total).sum();
        let beyond = |part: &Part| {
            let fall = 1.0 + (part.ratio - 1.0) * Self::STEEPNESS;
            part.total * (part.share * more).min(1.0).powf(fall)
        };
        self.parts.iter().map(beyond).sum::<f64>() / all
    }
}

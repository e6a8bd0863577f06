//! Failures that come with neighbours: a share that grows with the rate as 1 − exp(−λ·w).

use crate::interval::Interval;
use crate::proportion::wilson;
use crate::special::{chi_squared_quantile, normal_quantile};

/// Failures at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dose {
    /// Operations per second; above 0.
    pub rate: f64,
    /// Those that failed; fewer than begun.
    pub failed: f64,
    /// All.
    pub begun: f64,
}

/// The race that fits some doses best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Race {
    /// An operation fails where another one comes within so many seconds.
    pub window: f64,
    /// What else the window may be, at 95 %.
    pub interval: Interval,
    /// χ² of the doses about the race; 0 of one dose.
    pub misfit: f64,
    /// χ² of the doses about one share for all of them; 0 of one dose.
    pub misfit_of_a_constant_share: f64,
    /// Doses beyond the first.
    more: usize,
}

/// Failures below which a share is too little known.
const FEWEST: f64 = 5.0;
/// The greatest rate over the least, from which a race can be told.
const SPREAD: f64 = 2.0;
/// What fits is rarely this far off.
const FITS: f64 = 0.95;
/// A constant share must be farther off than chance would nearly ever make it.
const RULED_OUT: f64 = 0.999;
/// Of the intervals.
const CONFIDENCE: f64 = 0.95;

impl Dose {
    /// Of the operations begun, in [0, 1).
    pub fn share(&self) -> f64 {
        self.failed / self.begun
    }

    /// −ln(1−p)/λ, in seconds.
    pub fn window(&self) -> f64 {
        window(self.share(), self.rate)
    }

    /// What the window may be, from Wilson's interval of the share.
    fn interval(&self) -> Interval {
        let Interval { low, high } = wilson(self.failed, self.begun, CONFIDENCE);
        Interval { low: window(low, self.rate), high: window(high, self.rate) }
    }

    /// χ² about this share.
    fn misfit(&self, share: f64) -> f64 {
        let expected = self.begun * share;
        (self.failed - expected).powi(2) / (expected * (1.0 - share))
    }
}

fn window(share: f64, rate: f64) -> f64 {
    -(-share).ln_1p() / rate
}

/// The share of failures at this rate in a race with this window.
fn share(window: f64, rate: f64) -> f64 {
    -(-rate * window).exp_m1()
}

impl Race {
    /// The window of greatest likelihood; `None` where nothing failed at any rate.
    pub fn fit(doses: &[Dose]) -> Option<Self> {
        let sum = |of: &dyn Fn(&Dose) -> f64| doses.iter().map(of).sum::<f64>();
        let failed = sum(&|dose| dose.failed);
        if failed <= 0.0 {
            return None;
        }
        let window = most_likely(doses);
        let pooled = failed / sum(&|dose| dose.begun);
        let interval = match doses {
            [one] => one.interval(),
            _ => {
                // By Fisher's information, about the logarithm, since a window is above 0.
                let information = sum(&|dose| {
                    let share = share(window, dose.rate);
                    dose.begun * dose.rate * dose.rate * (1.0 - share) / share
                });
                let z = normal_quantile(1.0 - (1.0 - CONFIDENCE) / 2.0);
                let factor = (z / (window * information.sqrt())).exp();
                Interval { low: window / factor, high: window * factor }
            }
        };
        let several = if doses.len() > 1 { 1.0 } else { 0.0 };
        Some(Self {
            window,
            interval,
            misfit: several * sum(&|dose| dose.misfit(share(window, dose.rate))),
            misfit_of_a_constant_share: several * sum(&|dose| dose.misfit(pooled)),
            more: doses.len() - 1,
        })
    }

    /// The window that fits; `None` where it does not, where a constant share fits, too, or where rates and failures
    /// are too few to tell.
    pub fn of(doses: &[Dose]) -> Option<Self> {
        let rates = || doses.iter().map(|dose| dose.rate);
        let (slow, fast) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
        let few = doses.iter().any(|dose| dose.failed < FEWEST);
        if doses.len() < 2 || few || fast < SPREAD * slow {
            return None;
        }
        Self::fit(doses)
            .filter(|race| race.fits() && race.misfit_of_a_constant_share >= race.bound(RULED_OUT))
    }

    /// Whether one window explains all doses; of one dose it always does.
    pub fn fits(&self) -> bool {
        self.more == 0 || self.misfit <= self.bound(FITS)
    }

    /// Whether one share for all of several doses explains them as well.
    pub fn is_constant(&self) -> bool {
        self.more > 0 && self.misfit_of_a_constant_share <= self.bound(FITS)
    }

    /// The share of failures at this rate.
    pub fn share_at(&self, rate: f64) -> f64 {
        share(self.window, rate)
    }

    fn bound(&self, p: f64) -> f64 {
        chi_squared_quantile(self.more as f64, p)
    }
}

/// Where the derivative of the likelihood, Σ xλ/(exp(λw) − 1) − Σ (n−x)λ, which falls, is 0. Since exp(λw) − 1 is λw or
/// more, that is at Σx / Σ(n−x)λ or below.
fn most_likely(doses: &[Dose]) -> f64 {
    let sum = |of: &dyn Fn(&Dose) -> f64| doses.iter().map(of).sum::<f64>();
    let unharmed = sum(&|dose| (dose.begun - dose.failed) * dose.rate);
    let (mut low, mut high) = (0.0, sum(&|dose| dose.failed) / unharmed);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        let rises = sum(&|dose| dose.failed * dose.rate / (dose.rate * middle).exp_m1()) > unharmed;
        if rises { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doses(doses: &[(f64, f64, f64)]) -> Vec<Dose> {
        doses.iter().map(|&(rate, failed, begun)| Dose { rate, failed, begun }).collect()
    }

    fn race(of: &[(f64, f64, f64)]) -> Option<Race> {
        Race::of(&doses(of))
    }

    #[test]
    fn a_race_has_its_window() {
        // 1 − exp(−λ·4 ms) of 20,000 at 10, 50 and 100/s: 3.92, 18.13 and 32.97 %.
        let doses = [(10.0, 784.0, 2e4), (50.0, 3_625.0, 2e4), (100.0, 6_594.0, 2e4)];
        let found = race(&doses).unwrap();
        assert!((found.window - 0.004).abs() < 1e-5, "{found:?}");
        assert!((found.share_at(50.0) - 0.181_27).abs() < 1e-3, "{found:?}");
        let Interval { low, high } = found.interval;
        assert!(low < 0.004 && 0.004 < high && high / low < 1.06, "{found:?}");
    }

    #[test]
    fn one_rate_says_what_to_expect_at_others() {
        // 4.81 % at 12.26/s: −ln(0.9519)/12.26 = 4.021 ms, and Wilson's 4.41 – 5.25 % are 3.68 – 4.40 ms.
        let found = Race::fit(&doses(&[(12.26, 481.0, 1e4)])).unwrap();
        assert!((found.window - 0.004_021).abs() < 1e-6, "{found:?}");
        for (rate, share) in [(50.0, 0.182), (100.0, 0.331), (250.0, 0.634)] {
            assert!(
                (found.share_at(rate) - share).abs() < 5e-4,
                "{rate}: {}",
                found.share_at(rate)
            );
        }
        let Interval { low, high } = found.interval;
        assert!((low - 0.003_68).abs() < 2e-5 && (high - 0.004_40).abs() < 2e-5, "{found:?}");
        assert!(found.fits() && !found.is_constant());
        assert_eq!(Race::fit(&doses(&[(12.26, 0.0, 1e4)])), None);
    }

    #[test]
    fn a_rate_without_failures_is_held_against_the_others() {
        let fits = |few: f64| Race::fit(&doses(&[(1.0, few, 100.0), (100.0, 330.0, 1e3)])).unwrap();
        assert!(fits(0.0).fits(), "0.4 are expected");
        assert!(!fits(33.0).fits() && fits(33.0).is_constant());
    }

    #[test]
    fn the_interval_holds_the_window_as_often_as_it_says() {
        // Two rates, 400 operations each; drawn by a fixed generator.
        let mut state = 9_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut drawn = |rate: f64| {
            let failed = (0..400).filter(|_| uniform() < share(0.004, rate)).count();
            Dose { rate, failed: failed as f64, begun: 400.0 }
        };
        let held = (0..1_000).filter(|_| {
            let Interval { low, high } = Race::fit(&[drawn(20.0), drawn(60.0)]).unwrap().interval;
            (low..high).contains(&0.004)
        });
        let held = held.count();
        assert!((930..=970).contains(&held), "{held} of 1,000");
    }

    #[test]
    fn a_constant_share_or_a_steeper_growth_is_no_race() {
        assert_eq!(race(&[(10.0, 800.0, 2e4), (50.0, 820.0, 2e4), (100.0, 790.0, 2e4)]), None);
        assert_eq!(race(&[(10.0, 100.0, 2e4), (50.0, 3e3, 2e4), (100.0, 1.5e4, 2e4)]), None);
    }

    #[test]
    fn rates_too_near_and_failures_too_few_tell_nothing() {
        assert!(race(&[(50.0, 3_625.0, 2e4), (100.0, 6_594.0, 2e4)]).is_some());
        assert_eq!(race(&[(51.0, 3_625.0, 2e4), (100.0, 6_594.0, 2e4)]), None);
        assert_eq!(race(&[(50.0, 4.0, 2e4), (100.0, 6_594.0, 2e4)]), None);
        assert_eq!(race(&[(100.0, 6_594.0, 2e4)]), None);
    }
}

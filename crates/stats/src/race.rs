//! Failures that come with neighbours: a share that grows with the rate as 1 − exp(−λ·w).

use crate::special::chi_squared_quantile;

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

/// A race that fits, where no constant share does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Race {
    /// An operation fails where another one comes within so many seconds.
    pub window: f64,
    /// χ² of the doses about the race.
    pub misfit: f64,
    /// χ² of the doses about one share for all of them.
    pub misfit_of_a_constant_share: f64,
}

/// Failures below which a share is too little known.
const FEWEST: f64 = 5.0;
/// The greatest rate over the least, from which a race can be told.
const SPREAD: f64 = 2.0;
/// A race that fits is rarely this far off.
const FITS: f64 = 0.95;
/// A constant share must be farther off than chance would nearly ever make it.
const RULED_OUT: f64 = 0.999;

impl Dose {
    fn share(&self) -> f64 {
        self.failed / self.begun
    }

    /// −ln(1−p)/λ
    fn window(&self) -> f64 {
        -(1.0 - self.share()).ln() / self.rate
    }

    /// One over the variance of the window, by the binomial variance of p.
    fn certainty(&self) -> f64 {
        let share = self.share();
        (1.0 - share) * self.begun * self.rate * self.rate / share
    }
}

impl Race {
    /// The window by weighted least squares over the doses; `None` where it does not fit, where a constant share fits,
    /// too, or where rates and failures are too few to tell.
    pub fn of(doses: &[Dose]) -> Option<Self> {
        let rates = || doses.iter().map(|dose| dose.rate);
        let (slow, fast) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
        let few = doses.iter().any(|dose| dose.failed < FEWEST);
        if doses.len() < 2 || few || fast < SPREAD * slow {
            return None;
        }
        let sum = |of: &dyn Fn(&Dose) -> f64| doses.iter().map(of).sum::<f64>();
        let window = sum(&|dose| dose.window() * dose.certainty()) / sum(&Dose::certainty);
        let misfit = sum(&|dose| (dose.window() - window).powi(2) * dose.certainty());
        let pooled = sum(&|dose| dose.failed) / sum(&|dose| dose.begun);
        let constant = sum(&|dose| {
            let expected = dose.begun * pooled;
            (dose.failed - expected).powi(2) / (expected * (1.0 - pooled))
        });
        let bound = |p| chi_squared_quantile(doses.len() as f64 - 1.0, p);
        (misfit <= bound(FITS) && constant >= bound(RULED_OUT)).then_some(Self {
            window,
            misfit,
            misfit_of_a_constant_share: constant,
        })
    }

    /// The share of failures at this rate.
    pub fn share_at(&self, rate: f64) -> f64 {
        -(-rate * self.window).exp_m1()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn race(doses: &[(f64, f64, f64)]) -> Option<Race> {
        let dose = |&(rate, failed, begun): &(f64, f64, f64)| Dose { rate, failed, begun };
        Race::of(&doses.iter().map(dose).collect::<Vec<_>>())
    }

    #[test]
    fn a_race_has_its_window() {
        // 1 − exp(−λ·4 ms) of 20,000 at 10, 50 and 100/s: 3.92, 18.13 and 32.97 %.
        let doses = [(10.0, 784.0, 2e4), (50.0, 3_625.0, 2e4), (100.0, 6_594.0, 2e4)];
        let found = race(&doses).unwrap();
        assert!((found.window - 0.004).abs() < 1e-5, "{found:?}");
        assert!((found.share_at(50.0) - 0.181_27).abs() < 1e-3, "{found:?}");
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

//! Shapes of times, with a mean of one.

use std::fmt;

use super::Randomness;

#[derive(Clone, Copy)]
pub enum Times {
    Exponential,
    /// The logarithm has this standard deviation.
    Lognormal(f64),
    /// With this exponent, above 1.
    Pareto(f64),
    /// Exponential, but this share takes so many times as long as the others.
    Bimodal {
        share: f64,
        factor: f64,
    },
}

impl Times {
    pub(super) fn draw(self, randomness: &mut Randomness) -> f64 {
        match self {
            Self::Exponential => randomness.exponential(1.0),
            Self::Lognormal(sigma) => (sigma * randomness.normal() - sigma * sigma / 2.0).exp(),
            Self::Pareto(exponent) => {
                (exponent - 1.0) / exponent * (1.0 - randomness.uniform()).powf(-1.0 / exponent)
            }
            Self::Bimodal { share, factor } => {
                let is_slow = randomness.uniform() < share;
                usual(share, factor)
                    * randomness.exponential(1.0)
                    * if is_slow { factor } else { 1.0 }
            }
        }
    }

    /// Bisects the share above.
    pub(super) fn quantile(self, q: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1e6);
        for _ in 0..200 {
            let middle = (low + high) / 2.0;
            if self.above(middle) > 1.0 - q { low = middle } else { high = middle }
        }
        low
    }

    fn above(self, time: f64) -> f64 {
        match self {
            Self::Exponential => (-time).exp(),
            Self::Lognormal(sigma) => 1.0 - normal(time.ln() / sigma + sigma / 2.0),
            Self::Pareto(exponent) => ((exponent - 1.0) / exponent / time).min(1.0).powf(exponent),
            Self::Bimodal { share, factor } => {
                let time = time / usual(share, factor);
                (1.0 - share) * (-time).exp() + share * (-time / factor).exp()
            }
        }
    }
}

/// The mean of those that are not slow.
fn usual(share: f64, factor: f64) -> f64 {
    1.0 / (1.0 + share * (factor - 1.0))
}

/// The normal distribution function, by bisecting its inverse.
fn normal(z: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if stats::normal_quantile(middle) < z { low = middle } else { high = middle }
    }
    low
}

impl fmt::Display for Times {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exponential => write!(out, "exponential"),
            Self::Lognormal(sigma) => write!(out, "lognormal, σ = {sigma}"),
            Self::Pareto(exponent) => write!(out, "Pareto, α = {exponent}"),
            Self::Bimodal { share, factor } => {
                write!(out, "{} % take {factor}×", 100.0 * share)
            }
        }
    }
}

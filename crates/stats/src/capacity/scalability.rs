//! The Universal Scalability Law: throughput against concurrency, with what holds it back.
//!
//! X(N) = λN / (1 + σ(N−1) + κN(N−1)). σ is the share of work that cannot be done side by side, κ what
//! each pair of operations costs the other; with κ > 0 throughput has a peak and falls beyond it.
//!
//! Source: Gunther, Guerrilla Capacity Planning, 2007; Schwartz, Practical Scalability Analysis, 2015

use crate::chance::Chance;

/// Fewest points that a fit is made of.
pub const FEWEST: usize = 6;
/// A peak farther than this beyond the greatest concurrency seen is a guess.
const FARTHEST: f64 = 1.5;
/// Refits behind an interval.
const REFITS: usize = 1_000;
/// A coefficient below this is nought: no machine shows a cost of one in a thousand million.
const NOUGHT: f64 = 1e-9;

/// One step: how much was under way on average, and what came of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadPoint {
    /// Operations in flight (N), by Little's law in an open load.
    pub concurrency: f64,
    /// Operations completed a second (X).
    pub throughput: f64,
}

/// The three coefficients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UslModel {
    /// Serial share, in [0, 1].
    pub sigma: f64,
    /// Crosstalk, ≥ 0.
    pub kappa: f64,
    /// Throughput of one at a time, per second.
    pub lambda: f64,
}

/// Where throughput is greatest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// Concurrency, a whole number.
    pub concurrency: f64,
    /// Operations a second.
    pub throughput: f64,
}

/// A model with how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// The coefficients.
    pub model: UslModel,
    /// 95 % interval of σ.
    pub sigma: (f64, f64),
    /// 95 % interval of κ.
    pub kappa: (f64, f64),
    /// Greatest concurrency among the points.
    pub seen: f64,
}

impl UslModel {
    /// Operations a second with so many in flight.
    pub fn throughput(&self, concurrency: f64) -> f64 {
        self.lambda * concurrency / self.penalty(concurrency)
    }

    /// Where throughput is greatest; `None` where it never falls.
    pub fn peak(&self) -> Option<Peak> {
        let concurrency = ((1.0 - self.sigma) / self.kappa).sqrt().floor();
        let is_there = self.kappa > NOUGHT && concurrency >= 1.0;
        is_there.then(|| Peak { concurrency, throughput: self.throughput(concurrency) })
    }

    /// Least squares over the points, from (0.1, 0.01, max X/N); `None` with fewer than [`FEWEST`].
    ///
    /// Shape:  concurrency and throughput above 0
    /// Source: Levenberg 1944, Marquardt 1963; σ and κ are kept within their bounds by projection
    pub fn fit(points: &[LoadPoint]) -> Option<Self> {
        let usable = |point: &LoadPoint| point.concurrency > 0.0 && point.throughput > 0.0;
        if points.len() < FEWEST || !points.iter().all(usable) {
            return None;
        }
        let ratio = |point: &LoadPoint| point.throughput / point.concurrency;
        let lambda = points.iter().map(ratio).fold(0.0, f64::max);
        Some(Self { sigma: 0.1, kappa: 0.01, lambda }.refined(points))
    }

    /// Goes on from here to the least sum of squares.
    fn refined(self, points: &[LoadPoint]) -> Self {
        const ROUNDS: usize = 500;
        const STUCK: f64 = 1e12;
        let (mut model, mut damping) = (self, 1e-3);
        let mut error = model.squares(points);
        for _ in 0..ROUNDS {
            let Some(next) = model.step(points, damping) else { break };
            let tried = next.squares(points);
            if tried <= error {
                let settled = error - tried <= 1e-14 * error;
                (model, error, damping) = (next, tried, damping / 10.0);
                if settled {
                    break;
                }
            } else {
                damping *= 10.0;
                if damping > STUCK {
                    break;
                }
            }
        }
        model
    }

    /// One damped step: (JᵀJ + d·diag JᵀJ) δ = Jᵀr.
    fn step(self, points: &[LoadPoint], damping: f64) -> Option<Self> {
        let (mut square, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
        for point in points {
            let slope = self.slope(point.concurrency);
            let rest = point.throughput - self.throughput(point.concurrency);
            for row in 0..3 {
                right[row] += slope[row] * rest;
                for column in 0..3 {
                    square[row][column] += slope[row] * slope[column];
                }
            }
        }
        for (place, row) in square.iter_mut().enumerate() {
            row[place] *= 1.0 + damping;
        }
        let [sigma, kappa, lambda] = solve(square, right)?;
        Some(Self {
            sigma: (self.sigma + sigma).clamp(0.0, 1.0),
            kappa: (self.kappa + kappa).max(0.0),
            lambda: (self.lambda + lambda).max(f64::MIN_POSITIVE),
        })
    }

    /// Derivatives of the throughput by σ, κ and λ.
    fn slope(&self, concurrency: f64) -> [f64; 3] {
        let n = concurrency;
        let penalty = self.penalty(n);
        let by_penalty = -self.lambda * n / (penalty * penalty);
        [by_penalty * (n - 1.0), by_penalty * n * (n - 1.0), n / penalty]
    }

    fn penalty(&self, n: f64) -> f64 {
        1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0)
    }

    fn squares(&self, points: &[LoadPoint]) -> f64 {
        let rest = |point: &LoadPoint| point.throughput - self.throughput(point.concurrency);
        points.iter().map(|point| rest(point).powi(2)).sum()
    }
}

impl Fit {
    /// The model with intervals by refitting to resampled residuals; `None` with fewer than [`FEWEST`] points.
    ///
    /// Source: Efron & Tibshirani 1993, section 9.4; percentile interval
    pub fn of(points: &[LoadPoint], seed: u64) -> Option<Self> {
        let model = UslModel::fit(points)?;
        let rest = residuals(&model, points);
        let mut chance = Chance::new(seed);
        let (mut sigmas, mut kappas) = (Vec::new(), Vec::new());
        for _ in 0..REFITS {
            let refit = model.refined(&resampled(&model, points, &rest, &mut chance));
            sigmas.push(refit.sigma);
            kappas.push(refit.kappa);
        }
        let seen = points.iter().map(|point| point.concurrency).fold(0.0, f64::max);
        Some(Self { model, sigma: middle(sigmas), kappa: middle(kappas), seen })
    }

    /// The peak, where it may be told: within reach of what was seen, and with κ told from nought.
    pub fn peak(&self) -> Option<Peak> {
        let peak = self.model.peak()?;
        (self.kappa.0 > NOUGHT && peak.concurrency <= FARTHEST * self.seen).then_some(peak)
    }
}

/// Residuals about their mean, widened for the three coefficients that were fitted.
fn residuals(model: &UslModel, points: &[LoadPoint]) -> Vec<f64> {
    let rest: Vec<f64> =
        points.iter().map(|point| point.throughput - model.throughput(point.concurrency)).collect();
    let count = rest.len() as f64;
    let mean = rest.iter().sum::<f64>() / count;
    let widening = (count / (count - 3.0)).sqrt();
    rest.iter().map(|one| (one - mean) * widening).collect()
}

fn resampled(
    model: &UslModel,
    points: &[LoadPoint],
    rest: &[f64],
    chance: &mut Chance,
) -> Vec<LoadPoint> {
    let drawn = |point: &LoadPoint| {
        let throughput = model.throughput(point.concurrency) + rest[chance.below(rest.len())];
        LoadPoint { throughput, ..*point }
    };
    points.iter().map(drawn).collect()
}

/// The middle 95 %.
fn middle(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    (at(0.025), at(0.975))
}

/// Three equations by elimination with pivots; `None` where they do not determine the three.
fn solve(mut square: [[f64; 3]; 3], mut right: [f64; 3]) -> Option<[f64; 3]> {
    for column in 0..3 {
        let pivot = (column..3)
            .max_by(|a, b| square[*a][column].abs().total_cmp(&square[*b][column].abs()))?;
        square.swap(column, pivot);
        right.swap(column, pivot);
        if square[column][column].abs() < f64::MIN_POSITIVE {
            return None;
        }
        let lead = square[column];
        for row in column + 1..3 {
            let factor = square[row][column] / lead[column];
            square[row].iter_mut().zip(lead).for_each(|(cell, above)| *cell -= factor * above);
            right[row] -= factor * right[column];
        }
    }
    let mut solution = [0.0; 3];
    for row in (0..3).rev() {
        let known: f64 = (row + 1..3).map(|column| square[row][column] * solution[column]).sum();
        solution[row] = (right[row] - known) / square[row][row];
    }
    solution.iter().all(|value| value.is_finite()).then_some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Throughput at concurrency 1 to 32 of a Cisco router, from Schwartz's book.
    const CISCO: [f64; 32] = [
        955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61,
        8278.71, 8646.7, 9047.84, 9426.55, 9645.37, 9897.24, 10097.6, 10240.5, 10532.39, 10798.52,
        11151.43, 11518.63, 11806.0, 12089.37, 12075.41, 12177.29, 12211.41, 12158.93, 12155.27,
        12118.04, 12140.4, 12074.39,
    ];

    fn points(throughput: impl Fn(f64) -> f64, concurrency: &[f64]) -> Vec<LoadPoint> {
        let point = |n: &f64| LoadPoint { concurrency: *n, throughput: throughput(*n) };
        concurrency.iter().map(point).collect()
    }

    fn cisco() -> Vec<LoadPoint> {
        let numbered = (1..).zip(CISCO);
        numbered.map(|(n, x)| LoadPoint { concurrency: f64::from(n), throughput: x }).collect()
    }

    fn near(seen: f64, known: f64) {
        assert!((seen - known).abs() <= known * 2e-4, "{seen} is not {known} within 0.02 %");
    }

    #[test]
    fn the_router_has_the_coefficients_of_the_book() {
        let model = UslModel::fit(&cisco()).unwrap();
        near(model.sigma, 0.026_715_91);
        near(model.kappa, 7.690_945e-4);
        near(model.lambda, 995.648_6);
        let peak = model.peak().unwrap();
        near(peak.concurrency, 35.0);
        near(peak.throughput, 12_341.0);
    }

    #[test]
    fn the_routers_peak_may_be_told() {
        let fit = Fit::of(&cisco(), 1).unwrap();
        assert!(fit.kappa.0 < fit.model.kappa && fit.model.kappa < fit.kappa.1, "{fit:?}");
        assert!(fit.sigma.0 < fit.model.sigma && fit.model.sigma < fit.sigma.1, "{fit:?}");
        assert_eq!(fit.peak(), fit.model.peak());
    }

    #[test]
    fn a_peak_out_of_reach_is_not_told() {
        // Exact points, so that κ is known: only the distance speaks against the peak, at 22.
        let model = UslModel { sigma: 0.02, kappa: 0.002, lambda: 100.0 };
        assert_eq!(model.peak().unwrap().concurrency, 22.0);
        let near = points(|n| model.throughput(n), &[1.0, 2.0, 4.0, 6.0, 8.0, 15.0]);
        let far = points(|n| model.throughput(n), &[1.0, 2.0, 4.0, 6.0, 8.0, 14.0]);
        assert_eq!(Fit::of(&near, 1).unwrap().peak().unwrap().concurrency, 22.0);
        assert_eq!(Fit::of(&far, 1).unwrap().peak(), None);
    }

    #[test]
    fn a_queue_without_crosstalk_has_no_peak() {
        // M/M/1: X = μN/(1+N), which is the law with σ = 1/2, κ = 0, λ = μ/2.
        let steps = [0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 9.0];
        let fit = Fit::of(&points(|n| 1_000.0 * n / (1.0 + n), &steps), 1).unwrap();
        assert!((fit.model.sigma - 0.5).abs() < 1e-3, "{fit:?}");
        assert!((fit.model.lambda - 500.0).abs() < 0.5, "{fit:?}");
        assert_eq!(fit.peak(), None);
    }

    #[test]
    fn noise_does_not_make_a_peak() {
        let mut sign = 1.0;
        let mut noisy = points(|n| 1_000.0 * n / (1.0 + n), &[0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 9.0]);
        for point in &mut noisy {
            point.throughput *= 1.0 + 0.02 * sign;
            sign = -sign;
        }
        let fit = Fit::of(&noisy, 3).unwrap();
        assert_eq!(fit.peak(), None, "{fit:?}");
    }

    #[test]
    fn too_few_points_or_none_at_all_make_no_fit() {
        assert_eq!(UslModel::fit(&cisco()[..5]), None);
        let mut empty = cisco();
        empty[3].throughput = 0.0;
        assert_eq!(UslModel::fit(&empty), None);
    }
}

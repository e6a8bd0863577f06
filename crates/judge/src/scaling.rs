//! Closed loads of different sizes: the throughput with more connections or users.
//!
//! In reading order: [`of`] finds the arms that differ only in size; [`law`] fits the Universal Scalability Law.

use std::collections::{BTreeMap, BTreeSet};

use record::summary::{
    Arm, Model, Scalability, ScalabilityPeak, Scaling, ScalingPoint, TrialSummary, Validity,
};
use serde_json::Value;
use stats::capacity::scalability::{Fit, LoadPoint};

use crate::concurrency;

/// Levels from which a fit of the law's three coefficients is more than a line through the points.
pub const LEVELS: usize = 4;
/// A worker that uses more than this share of its core limits the throughput itself.
const BUSY: f64 = 0.9;

/// One for each factor that sets the size of a closed load, and each combination of the others; with two sizes or
/// more. Levels with a `crowded` trial (by its number) are left out of the law.
pub fn of(arms: &[Arm], seed: u64, crowded: &BTreeSet<u32>) -> Vec<Scaling> {
    let mut found: Vec<(Scaling, Vec<LoadPoint>)> = Vec::new();
    let mut factors: Vec<&String> = arms.iter().flat_map(|arm| arm.factors.keys()).collect();
    factors.sort_unstable();
    factors.dedup();
    for factor in factors {
        let from = found.len();
        for arm in arms {
            let Some((actors, point, trials)) = point(arm, crowded) else { continue };
            let stratum = without(&arm.factors, factor);
            let known = found[from..].iter_mut().find(|(one, _)| one.stratum == stratum);
            match known {
                Some((one, all)) if are_alike(&one.actors, actors) => {
                    // One stream per connection is a level of streams.
                    if actors == "streams" {
                        one.actors = actors.to_owned();
                    }
                    one.points.push(point);
                    all.extend(trials);
                }
                Some(_) => {}
                None => {
                    let (factor, actors) = (factor.clone(), actors.to_owned());
                    let one = Scaling { factor, stratum, actors, points: vec![point], law: None };
                    found.push((one, trials));
                }
            }
        }
    }
    found.retain_mut(|(one, _)| {
        one.points.sort_by_key(|point| point.concurrency);
        let distinct = one.points.windows(2).all(|pair| pair[0].concurrency < pair[1].concurrency);
        distinct && one.points.len() > 1
    });
    let fitted = found.into_iter().map(|(one, points)| {
        let levels = one.points.iter().filter(|point| !point.crowded).count();
        let law = (levels >= LEVELS).then(|| law(&points, seed)).flatten();
        Scaling { law, ..one }
    });
    fitted.collect()
}

/// Whether both limit the number in flight: connections with one stream each may be compared with some with several.
fn are_alike(one: &str, other: &str) -> bool {
    one == other || (one != "users" && other != "users")
}

/// The Universal Scalability Law through these points; none if there are too few.
pub fn law(points: &[LoadPoint], seed: u64) -> Option<Scalability> {
    let fit = Fit::of(points, seed)?;
    Some(Scalability {
        sigma: fit.model.sigma,
        sigma_low: fit.sigma.0,
        sigma_high: fit.sigma.1,
        kappa: fit.model.kappa,
        kappa_low: fit.kappa.0,
        kappa_high: fit.kappa.1,
        lambda: fit.model.lambda,
        peak: fit.peak().map(|peak| ScalabilityPeak {
            concurrency: peak.concurrency,
            throughput: peak.throughput,
        }),
    })
}

/// The throughput of an arm with a closed load, over all and in each of the trials that are not invalid.
fn point(
    arm: &Arm,
    crowded: &BTreeSet<u32>,
) -> Option<(&'static str, ScalingPoint, Vec<LoadPoint>)> {
    let trials: Vec<&TrialSummary> =
        arm.counted().filter(|trial| trial.validity != Validity::Invalid).collect();
    let load = &trials.first()?.load;
    let (actors, concurrency) = match load.model {
        Model::Closed if load.streams.is_some() => ("streams", concurrency::limit(load)),
        Model::Closed => ("connections", load.connections),
        Model::Users => ("users", load.users?),
        Model::Open => return None,
    };
    let goodputs = || trials.iter().map(|trial| trial.rates.goodput);
    let goodput = goodputs().sum::<f64>() / trials.len() as f64;
    let (count, sum) = trials.iter().fold((0_u64, 0_u128), |(count, sum), trial| {
        let times = &trial.total.service_time;
        (count + times.count, sum + u128::from(times.mean_ns) * u128::from(times.count))
    });
    let service_mean_ns = u64::try_from(sum / u128::from(count.max(1))).unwrap_or(u64::MAX);
    let point = ScalingPoint {
        concurrency,
        trials: u32::try_from(trials.len()).unwrap_or(u32::MAX),
        goodput,
        least: goodputs().fold(f64::INFINITY, f64::min),
        greatest: goodputs().fold(0.0, f64::max),
        service_mean_ns,
        generator_bound: trials.iter().any(|trial| trial.generator.cpu_ratio > BUSY),
        crowded: trials.iter().any(|trial| crowded.contains(&trial.index)),
    };
    let each = goodputs().filter(|_| !point.crowded);
    let each = each.map(|throughput| LoadPoint { concurrency: f64::from(concurrency), throughput });
    (goodput > 0.0).then(|| (actors, point, each.collect()))
}

fn without(factors: &BTreeMap<String, Value>, one: &str) -> BTreeMap<String, Value> {
    let others = factors.iter().filter(|(name, _)| *name != one);
    others.map(|(name, level)| (name.clone(), level.clone())).collect()
}

#[cfg(test)]
mod tests {
    use record::summary::CountsFor;

    use super::*;
    use crate::example;

    /// Arms of the 2 × N design with goodput by the law; the factor sets the load.
    fn arms(levels: &[u32], trials: u32, goodput: impl Fn(u32, u32) -> f64) -> Vec<Arm> {
        let mut arm = example::summary().arms.remove(0);
        let trial = arm.trials.remove(0);
        let made = |&level: &u32| {
            let one = |index: u32| {
                let mut trial = trial.clone();
                trial.load.model = Model::Closed;
                trial.load.connections = level;
                trial.rates.goodput = goodput(level, index);
                trial
            };
            let factors = BTreeMap::from([
                ("connections".to_owned(), level.into()),
                ("path".to_owned(), "front".into()),
            ]);
            Arm {
                name: format!("{level}"),
                factors,
                values: Default::default(),
                trials: (0..trials).map(one).collect(),
            }
        };
        levels.iter().map(made).collect()
    }

    #[test]
    fn the_law_is_found_again_from_the_arms_of_a_sweep() {
        // σ = 0.05, κ = 0.002, λ = 1,000: the peak is at √(0.95/0.002) = 21.8.
        let law = |n: u32, _| {
            let n = f64::from(n);
            1_000.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.002 * n * (n - 1.0))
        };
        let found = of(&arms(&[64, 1, 2, 4, 8, 16, 32], 2, law), 1, &BTreeSet::new());
        // The path has one level only.
        assert_eq!(found.len(), 1);
        let one = &found[0];
        assert_eq!((one.factor.as_str(), one.actors.as_str()), ("connections", "connections"));
        assert_eq!(one.stratum, BTreeMap::from([("path".to_owned(), "front".into())]));
        let sizes: Vec<u32> = one.points.iter().map(|point| point.concurrency).collect();
        assert_eq!(sizes, [1, 2, 4, 8, 16, 32, 64]);
        let law = one.law.unwrap();
        assert!((law.sigma - 0.05).abs() < 1e-4 && (law.kappa - 0.002).abs() < 1e-5, "{law:?}");
        assert!((law.lambda - 1_000.0).abs() < 1.0, "{law:?}");
        assert_eq!(law.peak.unwrap().concurrency, 21.0);
    }

    #[test]
    fn the_interval_holds_the_truth_of_noisy_trials() {
        // Without crosstalk, with each trial up to 3 % off the law.
        let noisy = |n: u32, trial: u32| {
            let n = f64::from(n);
            let noise = [0.97, 1.01, 1.03, 0.99][(trial as usize + n as usize) % 4];
            noise * 500.0 * n / (1.0 + 0.1 * (n - 1.0))
        };
        let law = of(&arms(&[1, 2, 4, 8, 16, 32], 4, noisy), 1, &BTreeSet::new())[0].law.unwrap();
        assert!(law.sigma_low < 0.1 && 0.1 < law.sigma_high, "{law:?}");
        assert!(law.sigma_high - law.sigma_low < 0.1, "{law:?}");
        assert_eq!(law.peak, None, "no crosstalk, no peak");
    }

    #[test]
    fn one_stream_a_connection_is_a_level_of_streams() {
        for order in [[1, 10, 100], [10, 1, 100]] {
            let mut sweep = arms(&order, 2, |n, _| f64::from(n));
            for (arm, level) in sweep.iter_mut().zip(order) {
                for trial in &mut arm.trials {
                    (trial.load.connections, trial.load.streams) =
                        (1, (level > 1).then_some(level));
                }
            }
            let found = of(&sweep, 1, &BTreeSet::new());
            let sizes: Vec<u32> = found[0].points.iter().map(|point| point.concurrency).collect();
            assert_eq!((found[0].actors.as_str(), sizes), ("streams", vec![1, 10, 100]));
        }
    }

    #[test]
    fn a_level_in_a_crowd_has_no_part_in_the_law() {
        let law = |n: u32| 1_000.0 * f64::from(n) / (1.0 + 0.05 * f64::from(n - 1));
        let swept = |levels: &[u32], last: u32| {
            let held_up = |n: u32, _| if n == last { 10.0 } else { law(n) };
            let mut sweep = arms(levels, 2, held_up);
            sweep.last_mut().unwrap().trials[0].index = 77;
            of(&sweep, 1, &BTreeSet::from([77])).remove(0)
        };
        let six = swept(&[1, 2, 4, 8, 16, 32], 32);
        let crowded: Vec<bool> = six.points.iter().map(|point| point.crowded).collect();
        assert_eq!(crowded, [false, false, false, false, false, true]);
        assert!((six.law.unwrap().sigma - 0.05).abs() < 1e-4, "{:?}", six.law);
        assert_eq!(swept(&[1, 2, 4, 8], 8).law, None, "three levels are left");
    }

    #[test]
    fn few_levels_have_points_and_no_law() {
        let flat = |_, _| 400.0;
        let two = of(&arms(&[1, 10], 5, flat), 1, &BTreeSet::new());
        assert_eq!((two.len(), two[0].law), (1, None));
        let four = of(&arms(&[1, 2, 4, 8], 1, flat), 1, &BTreeSet::new());
        assert_eq!(four[0].law, None, "four trials are fewer than six");
        assert_eq!(of(&arms(&[10], 5, flat), 1, &BTreeSet::new()), []);
    }

    #[test]
    fn open_loads_and_trials_that_do_not_count_are_left_out() {
        let mut sweep = arms(&[1, 10], 2, |n, _| f64::from(n));
        sweep[0].trials[1].counts_for = CountsFor::Nothing;
        sweep[0].trials[1].rates.goodput = 99.0;
        assert_eq!(of(&sweep, 1, &BTreeSet::new())[0].points[0].goodput, 1.0);
        sweep[1].trials.iter_mut().for_each(|trial| trial.load.model = Model::Open);
        assert_eq!(of(&sweep, 1, &BTreeSet::new()), []);
    }
}
